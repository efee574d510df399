"""What a page may say, and all that is said beside it."""

from __future__ import annotations

import math
from dataclasses import fields

import msgspec
import pytest
from callers import (
    CAMERA,
    EVERY_MESSAGE,
    change,
)

from phipsi.view.hearing import can_be, heard


class Input:
    """As viser's handle of an input."""

    def __init__(self, value: object, **properties: object):
        self.value = value
        self.__dict__.update(properties)


@pytest.mark.parametrize(
    ("touched", "values", "others"),
    [
        (Input(True), [True, False], [1, 0, "on", None, [], 1.0]),
        (
            Input(0.5, min=-1.0, max=1.0),
            [-1, 0.25, 1.0, 1.0 + 1e-9],
            [1.1, -2, math.nan, math.inf, "0", True, None, [0.1], {}, 2**70],
        ),
        (Input(1, min=0, max=3), [0, 3], [4, -1, "1"]),
        (
            Input("all", options=("all", "none")),
            ["all", "none"],
            ["some", 1, None, ["all"], b"all"],
        ),
        (Input("text"), [], ["text", 1]),
        (Input(None), [], [None, b"file"]),
    ],
)
def test_input_takes_what_it_can_be(touched, values, others):
    assert [can_be(touched, value) for value in values] == [True] * len(values)
    assert [can_be(touched, value) for value in others] == [False] * len(others)


def test_only_the_value_of_an_input_is_changed():
    """viser would set any attribute: whether the input is there, whom it calls."""
    inputs = {"a": Input(0.5, min=0.0, max=1.0)}
    assert heard(change("a", value=0.75), inputs) == change("a", value=0.75)
    for updates in ({"removed": True}, {"update_cb": []}, {"value": 0.1, "removed": True}, {}):
        assert heard(change("a", **updates), inputs) is None
    assert heard(change("b", value=0.75), inputs) is None


def test_camera_is_heard_without_what_comes_along():
    raw = msgspec.msgpack.encode(CAMERA | {"owner": "x", "__class__": 1})
    assert msgspec.msgpack.decode(heard(raw, {})) == CAMERA


@pytest.mark.parametrize(
    "wrong",
    [
        *({"wxyz": [1.0]}, {"position": [0, 0, math.nan]}, {"fov": math.inf}, {"look_at": "xyz"}),
        *({"image_height": "3"}, {"far": None}, {"position": [[0], [0], [0]]}),
    ],
)
def test_camera_that_is_none_is_not_heard(wrong):
    assert heard(msgspec.msgpack.encode(CAMERA | wrong), {}) is None


@pytest.mark.parametrize("kind", EVERY_MESSAGE, ids=lambda kind: kind.__name__)
def test_no_other_message_is_heard(kind):
    """Uploads, drags, renders, storage, what servers say to pages: all of viser's messages."""
    said = {"type": kind.__name__} | {each.name: "a" for each in fields(kind)}
    assert heard(msgspec.msgpack.encode(said), {"a": Input(True)}) is None


@pytest.mark.parametrize(
    "raw",
    [b"", b"\xc1", "text", b"\x80", msgspec.msgpack.encode([1]), msgspec.msgpack.encode({1: 2})]
    + [
        b"\x91" * 10_000 + b"\x90",
        b"\xdd\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\x81\xc0\xc0",
    ]
    + [msgspec.msgpack.encode({"type": x}) for x in (None, 1, [], "", "GuiUpdateMessage")],
)
def test_what_is_no_message_is_not_heard(raw):
    assert heard(raw, {}) is None
