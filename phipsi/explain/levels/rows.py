"""Spaces of the user's own: their rows are made one by one, and told once for all.

z_1(k) = ... e_1        z_2(k) = ... e_2        becomes        z_i(k) = ... e_i, i = 1 ... 2
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from phipsi.algebra.node import Inverse, Node
from phipsi.algebra.walk import walk
from phipsi.errors import LoweringError

MOST_ROWS = 60  # of matrices of a space of the user's: each row is a sweep of its own
FEW = 3  # rows that are written one by one


def check_rows(expressions: Sequence[Node]) -> None:
    """LoweringError for matrices of large spaces, whose rows would all be told."""
    made = [x for x in expressions if not x.is_vector]
    made += [x for node in expressions for x in walk(node) if isinstance(x, Inverse)]
    for node in made:
        for space in (node.source, node.target):
            if space is not None and space.is_own and (space.size or 0) > MOST_ROWS:
                raise LoweringError(
                    f"`{node}` is of {space.name!r} and has {space.size} rows, each of which has a "
                    f"line of its own; at most {MOST_ROWS} are told. Apply it to a vector, or "
                    "choose a smaller space"
                )


Row = TypeVar("Row")


def folded(rows: Sequence[Row], text_of: Callable[[Row], str]) -> list[tuple[Row, str, int]]:
    """Rows that differ by a number alone, as one: the first of them, its text, and how many.

    Of those that are alike, the number is `i` in the text.

    >>> folded(["z_1 = e_1", "z_2 = e_2", "z_3 = e_3", "z_4 = e_4"], str)
    [('z_1 = e_1', 'z_i = e_i', 4)]
    """
    groups: dict[str, list[int]] = {}
    numbers: dict[str, int] = {}
    for at, row in enumerate(rows):
        for number in {int(x) for x in _NUMBER.findall(text_of(row))}:
            template = _with_letter(text_of(row), number)
            expected = numbers.get(template, 0) + 1
            if number == expected:
                numbers[template] = number
                groups.setdefault(template, []).append(at)
    told: dict[int, tuple[str, int]] = {}
    gone: set[int] = set()
    for template, places in sorted(groups.items(), key=lambda x: -len(x[1])):
        if len(places) > FEW and not gone & set(places):
            told[places[0]] = template, len(places)
            gone.update(places)
    result = []
    for at, row in enumerate(rows):
        if at in told:
            result.append((row, *told[at]))
        elif at not in gone:
            result.append((row, text_of(row), 1))
    return result


_NUMBER = re.compile(r"(?:(?<=_)|(?<=row )|(?<=column ))(\d+)\b")


def _with_letter(text: str, number: int) -> str:
    return _NUMBER.sub(lambda x: "i" if int(x[1]) == number else x[0], text)
