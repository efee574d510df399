"""Numbers of an explanation: every quantity, body by body, in link frames."""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import product

import numpy as np

from phipsi.explain.levels.layout import WIDTH
from phipsi.explain.levels.record import Key, Values
from phipsi.lowering.letters import SPATIAL

ROUNDING = 1e-14  # relative: some fifty units in the last place
MOST_VECTORS, MOST_BLOCKS = 8, 3  # places whose values are shown; of more the first and the last


def numbers_text(values: Values, given: Container[str] = ()) -> str:
    """A table of values, rounded; of many places the first and the last.

    Args:
        values: by name and place.
        given: names of what is shown as it was passed; of the others, what is left by rounding
            errors beside larger numbers of the same unit is shown as 0.
    """
    return "\n".join(
        _quantity(name, places, name in given) for name, places in values.items() if places
    )


def _quantity(name: str, places: dict[Key, np.ndarray], is_given: bool) -> str:
    keys = list(places)
    is_block = places[keys[0]].ndim > 1
    most = MOST_BLOCKS if is_block else MOST_VECTORS
    shown: Sequence[Key | None] = keys
    if len(keys) > most:
        head = most - most // 2
        shown = [*keys[:head], None, *keys[len(keys) - most // 2 :]]
    width = max(len(_key(x)) for x in shown if x is not None)
    lines = [name]
    for key in shown:
        if key is None:
            lines.append(f"  ... {len(keys) - most} more")
            continue
        rows = _rows(places[key] if is_given else without_rounding(places[key]))
        lines.append(f"  {_key(key):<{width}}  {rows[0]}".rstrip())
        lines += [" " * (width + 4) + row for row in rows[1:]]
    return "\n".join(lines)


def _key(key: Key) -> str:
    return key if isinstance(key, str) else f"{key[0]}, {key[1]}"


def without_rounding(value: np.ndarray) -> np.ndarray:
    """A spatial vector or block, 0 where it is 1e-14 of the largest number beside it, or less.

    Rotation and translation apart, since their units differ; other arrays as they are.

    >>> without_rounding(np.array([1.0, 1e-17, 0.0, 1e-17, 0.0, 0.0]))
    array([1.e+00, 0.e+00, 0.e+00, 1.e-17, 0.e+00, 0.e+00])
    """
    clean = np.array(value)
    if value.ndim == 0 or not set(value.shape) <= {SPATIAL}:
        return clean
    halves = (slice(0, 3), slice(3, 6))
    for part in product(halves, repeat=value.ndim):
        inside = clean[part]
        inside[np.abs(inside) <= ROUNDING * np.abs(inside).max()] = 0.0
    return clean


def _rows(value: np.ndarray) -> list[str]:
    """An array as lines of aligned numbers."""
    texts = np.vectorize(lambda x: f"{x:.4g}", otypes=[object])(value)
    if value.ndim == 0:
        return [str(texts[()])]
    matrix = texts if texts.ndim > 1 else texts[None, :]
    if matrix.size == 0:
        return ["(none)"]
    width = max(len(x) for x in matrix.flat)
    lines = ["  ".join(f"{x:>{width}}" for x in row) for row in matrix]
    return [line if len(line) <= WIDTH - 30 else f"{line[: WIDTH - 34]} ..." for line in lines]
