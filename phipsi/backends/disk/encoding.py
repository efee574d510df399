"""Records as bytes that can be read without trust: nothing in them is run.

    length of the table, 4 bytes | table, JSON | bytes, one after the other

The table is a list. An item is a number, a text, a truth value or null, which stands for
itself, or a list: the places of arguments, which are earlier items, and the name of their maker.
Makers are those named here and no others: classes whose arguments are their fields, and functions
by which expressions and graphs are made again. The value is the last item.

>>> decode(encode({"lanes": (1, 4), "code": b"..."}))
{'lanes': (1, 4), 'code': b'...'}
>>> encode(print)
Traceback (most recent call last):
    ...
phipsi.backends.disk.encoding.NotStorableError: no record holds a builtin_function_or_method
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields
from enum import Enum
from functools import cache
from importlib import import_module
from itertools import chain
from typing import Any

from phipsi.algebra.alphabet import Alphabet, alphabet_of

_LENGTH = struct.Struct("<I")

# Which functions and classes a record may call, by module.
MAKERS = {
    "phipsi.algebra.alphabet": ("Letter", "Steps", "_record"),
    "phipsi.algebra.families": ("Family",),
    "phipsi.algebra.node": (
        *("Bracket", "Diagonal", "Identity", "Inverse", "Product", "Root", "Scaled", "Sum"),
        *("Symbol", "Transpose"),
    ),
    "phipsi.algebra.own": ("ArticulatedLetter", "CallableLetter", "OpeningLetter"),
    "phipsi.algebra.spaces": ("Causality", "as_space", "own_space"),
    "phipsi.backends.machine_code": ("Straight",),
    "phipsi.backends.partition": ("Spreading",),
    "phipsi.backends.pieces": ("Draft", "Drawn", "Pieces"),
    "phipsi.backends.rolled": ("ListFormat", "RowFormat"),
    "phipsi.graph.graph": ("_graph_of", "_node_at"),
    "phipsi.lowering.program": (
        *("At", "Columns", "Direction", "Domain", "Effect", "Guard", "Loop", "Origin", "Output"),
        *("Program", "Read", "Shape", "Slot", "Statement"),
    ),
    "phipsi.lowering.sides": ("Side",),
    "phipsi.lowering.templates": ("Address",),
    "phipsi.model.model": ("Point",),
}
# Classes that say themselves which of these makes them, by `__reduce__`.
FOUND_AGAIN = {"phipsi.algebra.spaces": ("Space",), "phipsi.graph.graph": ("Graph", "Node")}

_MODULES = {name: module for module, names in MAKERS.items() for name in names}
_ATOMS = (type(None), bool, int, float, str)


class NotStorableError(TypeError):
    """A value of a kind that no record holds."""


# -- writing -----------------------------------------------------------------------------------


def encode(value: Any) -> bytes:
    """A value as bytes.

    Raises:
        NotStorableError: some part of it has no maker.
    """
    writer = _Writer()
    try:
        writer.place(value)
        table = json.dumps(writer.items, separators=(",", ":")).encode()
    except (RecursionError, ValueError) as error:  # nested too deeply; a number of too many digits
        raise NotStorableError(str(error)) from None
    return b"".join((_LENGTH.pack(len(table)), table, *writer.blobs))


class _Writer:
    """A table that grows: what a value is made of stands before it, and each object once."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.blobs: list[bytes] = []
        self._atoms: dict[str, int] = {}
        self._others: dict[int, tuple[int, Any]] = {}  # the place, and what keeps the id taken

    def place(self, x: Any) -> int:
        """Where a value stands in the table."""
        if type(x) in _ATOMS:
            if repr(x) not in self._atoms:
                self._atoms[repr(x)] = self._add(x)
            return self._atoms[repr(x)]
        if id(x) not in self._others:
            self._others[id(x)] = self._add(self._item(x)), x
        return self._others[id(x)][0]

    def _item(self, x: Any) -> list[Any]:
        if type(x) is bytes:
            self.blobs.append(x)
            return [len(x), "bytes"]
        maker, arguments = _taken_apart(x)
        return [*map(self.place, arguments), maker]

    def _add(self, item: Any) -> int:
        self.items.append(item)
        return len(self.items) - 1


def _taken_apart(x: Any) -> tuple[str, Sequence[Any]]:
    """The name of a maker, and the arguments of which it makes such a value."""
    kind = type(x)
    if kind in (tuple, list):
        return kind.__name__, x
    if kind in (dict, Counter):
        return kind.__name__, [*chain.from_iterable(x.items())]
    if kind is Alphabet:
        return "alphabet", (x.name, x.module)
    known = MAKERS.get(kind.__module__, ()) + FOUND_AGAIN.get(kind.__module__, ())
    if kind.__name__ not in known:
        raise NotStorableError(f"no record holds a {kind.__name__}")
    if isinstance(x, Enum):
        return kind.__name__, (x.value,)
    if isinstance(x, tuple):
        return kind.__name__, tuple(x)
    if any("__reduce__" in vars(base) for base in kind.__mro__[:-1]):
        maker, arguments = x.__reduce__()
        assert maker.__name__ in MAKERS[maker.__module__], "named above"
        return maker.__name__, arguments
    return kind.__name__, [getattr(x, field.name) for field in fields(x)]


# -- reading -----------------------------------------------------------------------------------


def decode(data: bytes) -> Any:
    """The value of which these bytes were made.

    Raises:
        Exception: of any kind, if there is none.
    """
    (length,) = _LENGTH.unpack_from(data)
    end = _LENGTH.size + length
    values: list[Any] = []
    add, at = values.append, values.__getitem__
    for item in json.loads(data[_LENGTH.size : end]):
        if type(item) is not list:
            add(item)
        elif (name := item.pop()) == "tuple":  # most are
            add(tuple(map(at, item)))
        elif name == "bytes":
            start, end = end, end + item[0]
            add(data[start:end])
        else:
            add(_maker(name)(*map(at, item)))
    return values[-1]


@cache
def _maker(name: str) -> Callable[..., Any]:
    """What makes values, by its name in a record; KeyError for all but those named here."""
    if name in _OF_PYTHON:
        return _OF_PYTHON[name]
    maker: Callable[..., Any] = getattr(import_module(_MODULES[name]), name)
    return maker


def _alphabet(name: str, module: str) -> Alphabet:
    """An alphabet that is at hand, or one of our own: no other module is imported for it."""
    found = alphabet_of(name)
    if found.module != module:
        raise ValueError(f"the alphabet {name!r} is of {found.module}, not of {module}")
    return found


_OF_PYTHON: dict[str, Callable[..., Any]] = {
    "list": lambda *x: [*x],
    "dict": lambda *x: dict(zip(x[::2], x[1::2], strict=True)),
    "Counter": lambda *x: Counter(dict(zip(x[::2], x[1::2], strict=True))),
    "alphabet": _alphabet,
}
