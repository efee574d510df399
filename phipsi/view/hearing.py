"""What a page may say: where its camera is, and what its sliders, boxes and buttons were set to.

viser understands many more messages, and one of them sets whatever attribute of an input it names:
whether it still exists, whom it calls. Here a message is read as one of two, checked, and written
anew; nothing else of it goes on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import msgspec
from viser import _messages as messages

LONGEST_MESSAGE = 2**14  # bytes; a page sends less than one thousand
SLACK = 1e-6  # of the length of a slider: pages round


def heard(raw: bytes | str, inputs: Mapping[str, Any]) -> bytes | None:
    """A message as viser is to have it; None if no page would say it.

    Args:
        raw: as it came.
        inputs: sliders, boxes and buttons of the page, as viser names them.
    """
    if not isinstance(raw, bytes):
        return None
    try:
        said = msgspec.msgpack.decode(raw, type=dict[str, Any])
        match said.pop("type", None):
            case "ViewerCameraMessage":
                message = _camera(said)
            case "GuiUpdateMessage":
                message = _change(said, inputs)
            case _:
                return None
    except (ValueError, TypeError, RecursionError):  # msgspec's errors are ValueErrors
        return None
    return None if message is None else msgspec.msgpack.encode(message)


def _camera(said: dict[str, Any]) -> dict[str, Any] | None:
    """Where the camera is, in finite numbers."""
    camera = asdict(msgspec.convert(said, messages.ViewerCameraMessage))
    if not all(map(_is_finite, camera.values())):
        return None
    return {"type": "ViewerCameraMessage", **camera}


def _change(said: dict[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any] | None:
    """A value that an input can have."""
    change = msgspec.convert(said, messages.GuiUpdateMessage)
    touched = inputs.get(change.uuid)
    if touched is None or list(change.updates) != ["value"]:
        return None
    if not can_be(touched, change.updates["value"]):
        return None
    return {"type": "GuiUpdateMessage", "uuid": change.uuid, "updates": change.updates}


def can_be(touched: Any, value: Any) -> bool:
    """Whether an input can have a value: one of its options, on or off, a number within its ends.

    Args:
        touched: viser's handle of the input.
        value: that a page asks for.
    """
    options = getattr(touched, "options", None)
    if options is not None:
        return isinstance(value, str) and value in options
    if isinstance(touched.value, bool) or isinstance(value, bool):
        return isinstance(touched.value, bool) and isinstance(value, bool)
    low, high = getattr(touched, "min", None), getattr(touched, "max", None)
    if low is None or high is None or not isinstance(value, int | float):
        return False
    slack = SLACK * (high - low)
    return low - slack <= value <= high + slack  # no number that is not finite


def _is_finite(value: float | Iterable[float]) -> bool:
    parts = value if isinstance(value, Iterable) else (value,)
    return all(map(math.isfinite, parts))
