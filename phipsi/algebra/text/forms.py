"""Arguments of letters that a room further on has made, such as a point on a body.

The algebra does not know what they are; who makes them says by `add_form` how they are
written, and `arguments` writes and reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

FORMS: dict[str, Callable[..., Hashable]] = {}
WRITTEN: dict[type, tuple[str, Callable[[Any], tuple]]] = {}


def add_form(
    name: str,
    make: Callable[..., Hashable],
    kind: type | None = None,
    parts: Callable[[Any], tuple] | None = None,
) -> None:
    """Have `name(...)` be an argument of letters, wherever expressions are read.

    Args:
        name: what is written before the parenthesis.
        make: gives the argument from what stands in it: names, numbers and tuples of numbers.
        kind: whose instances are written so in Unicode and LaTeX.
        parts: what is written in the parentheses for one of them.
    """
    FORMS[name] = make
    if kind is not None and parts is not None:
        WRITTEN[kind] = name, parts
