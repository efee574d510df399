"""Writing to what viser draws, and to its inputs, whether or not they are still there."""

from __future__ import annotations

from typing import Any


def put(handle: Any, **values: Any) -> None:
    """Set attributes of a node of the scene, or of an input; of one that was removed, none.

    Args:
        handle: of viser.
        values: by name.
    """
    for name, value in values.items():
        try:
            setattr(handle, name, value)
        except RuntimeError:  # as viser says that it is removed
            if not handle._impl.removed:
                raise
            return
