"""Numbers of an explanation: every quantity, body by body, in link frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phipsi.explain.levels.layout import WIDTH
from phipsi.explain.levels.record import Key, Values

MOST_VECTORS, MOST_BLOCKS = 8, 3  # places whose values are shown; of more the first and the last


def numbers_text(values: Values) -> str:
    """A table of values, rounded; of many places the first and the last."""
    return "\n".join(_quantity(name, places) for name, places in values.items() if places)


def _quantity(name: str, places: dict[Key, np.ndarray]) -> str:
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
        rows = _rows(places[key])
        lines.append(f"  {_key(key):<{width}}  {rows[0]}".rstrip())
        lines += [" " * (width + 4) + row for row in rows[1:]]
    return "\n".join(lines)


def _key(key: Key) -> str:
    return key if isinstance(key, str) else f"{key[0]}, {key[1]}"


def _rows(value: np.ndarray) -> list[str]:
    """An array as lines of aligned numbers."""
    small = np.abs(value) < 1e-12 * max(1.0, float(np.abs(value).max(initial=0)))
    clean = np.where(small, 0.0, value)
    texts = np.vectorize(lambda x: f"{x:.4g}", otypes=[object])(clean)
    if value.ndim == 0:
        return [str(texts[()])]
    matrix = texts if texts.ndim > 1 else texts[None, :]
    if matrix.size == 0:
        return ["(none)"]
    width = max(len(x) for x in matrix.flat)
    lines = ["  ".join(f"{x:>{width}}" for x in row) for row in matrix]
    return [line if len(line) <= WIDTH - 30 else f"{line[: WIDTH - 34]} ..." for line in lines]
