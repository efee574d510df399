"""Arrays whose memory a function is bound to: what they must be, and how their states lie."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from phipsi.backends.job import Shape
from phipsi.errors import InputError, array_count_problem


class Buffers:
    """Inputs and outputs of a function, checked once and for all.

    Each holds the numbers of one state, or of a batch of them: `(*batch, *shape)`. Inputs
    broadcast over the batch. The numbers of a state lie side by side, and states at one distance
    from each other, as in rows of a larger array; or all at one place.

    Attributes:
        inputs: arrays by name.
        outputs: arrays.
        batch: of all together; () for one state.
        strides: of each array, the bytes from state to state.
        shapes: of one state of each array.

    Args:
        shapes: of one state of the inputs, by name.
        inputs: arrays by the same names.
        results: shapes of one state of the outputs.
        outputs: arrays, or None for new ones.
        kind: of the numbers.

    Raises:
        InputError: says which array is not as expected.

    >>> q, v = np.zeros((2, 7)), np.zeros(6)
    >>> Buffers({"q": (7,), "v": (6,)}, {"q": q, "v": v}, [(6, 6)]).outputs[0].shape
    (2, 6, 6)
    """

    def __init__(
        self,
        shapes: Mapping[str, Shape],
        inputs: Mapping[str, np.ndarray],
        results: Sequence[Shape],
        outputs: Sequence[np.ndarray] | None = None,
        kind: np.dtype | type = np.float64,
    ):
        kind = np.dtype(kind)
        for name, shape in shapes.items():
            _check_array(name, inputs[name], shape, kind)
        self.inputs = {name: inputs[name] for name in shapes}
        self.shapes = (*shapes.values(), *results)
        self.batch = self._batch()
        self.outputs = self._checked(results, outputs, kind)
        self.strides = [_stride(name, array, len(shape), self.batch) for name, array, shape in self]
        self._check_overlaps()
        self._held = [weakref.ref(x) for _, array, _ in self for x in _owners(array)]

    def __iter__(self) -> Iterator[tuple[str, np.ndarray, Shape]]:
        """Of each argument name, array, and shape of one state: inputs first."""
        names = [*self.inputs, *(["out"] * len(self.outputs))]
        return iter(zip(names, (*self.inputs.values(), *self.outputs), self.shapes, strict=True))

    def _batch(self) -> Shape:
        given = zip(self.inputs.items(), self.shapes, strict=False)
        batches = {name: x.shape[: x.ndim - len(shape)] for (name, x), shape in given}
        try:
            return np.broadcast_shapes(*batches.values())
        except ValueError:
            said = ", ".join(f"{name} {batch}" for name, batch in batches.items() if batch)
            raise InputError(f"the batches do not fit together: {said}") from None

    def _checked(
        self, results: Sequence[Shape], outputs: Sequence[np.ndarray] | None, kind: np.dtype
    ) -> tuple[np.ndarray, ...]:
        if outputs is None:
            return tuple(np.zeros((*self.batch, *shape), kind) for shape in results)
        if len(outputs) != len(results):
            raise InputError(array_count_problem(len(results), len(outputs)))
        for array, shape in zip(outputs, results, strict=True):
            _check_array("out", array, shape, kind)
            if array.shape != (*self.batch, *shape):
                raise InputError(f"out has shape {array.shape}; expected {(*self.batch, *shape)}")
            if not array.flags.writeable:
                raise InputError("out: the array is read-only")
        return tuple(outputs)

    def _check_overlaps(self) -> None:
        """Results that are written while numbers of their own memory are still to be read."""
        arguments = list(self)
        for i in range(len(self.inputs), len(arguments)):
            _, out, shape = arguments[i]
            if prod(self.batch) > 1 and abs(self.strides[i]) < out.itemsize * prod(shape):
                raise InputError("out: its states share memory; expected memory for each")
            for name, array, _ in arguments[:i]:
                if np.shares_memory(array, out):
                    what = f"with {name}" if name != "out" else "between two outputs"
                    raise InputError(f"out shares memory {what}; expected memory of its own")


def _check_array(name: str, array: Any, shape: Shape, kind: np.dtype) -> None:
    """An array of such numbers, those of a state side by side, or InputError."""
    if type(array) is not np.ndarray:
        raise InputError(
            f"{name}: expected a numpy.ndarray, whose memory is bound, got {type(array).__name__}"
        )
    if array.dtype != kind:
        raise InputError(
            f"{name}: expected an array of {kind}, got {array.dtype}: bound arrays are read where "
            "they lie, and not converted"
        )
    rank = len(shape)
    if array.shape[array.ndim - rank :] != shape or array.ndim < rank:
        raise InputError(
            f"{name} has shape {array.shape}; expected {shape}, behind the axes of a batch if any"
        )
    if not array.flags.aligned or not _lies_straight(array, rank):
        raise InputError(
            f"{name}: expected the numbers of a state side by side, C-contiguous and aligned; "
            "bind a copy, np.ascontiguousarray"
        )


def _lies_straight(array: np.ndarray, rank: int) -> bool:
    """Whether the numbers along the last axes follow each other in memory."""
    ends = zip(reversed(array.shape), reversed(array.strides), strict=True)
    step = array.itemsize
    for size, stride in [*ends][:rank]:
        if size > 1 and stride != step and array.size:
            return False
        step *= size
    return True


def _stride(name: str, array: np.ndarray, rank: int, batch: Shape) -> int:
    """Bytes from state to state, if that is one number; else InputError."""
    core = array.shape[array.ndim - rank :]
    strides = np.broadcast_to(array, (*batch, *core)).strides[: len(batch)]
    axes = [(size, stride) for size, stride in zip(batch, strides, strict=True) if size > 1]
    if any(outer != inner * size for (_, outer), (size, inner) in pairwise(axes)):
        raise InputError(
            f"{name}: the states of shape {array.shape} do not lie at one distance from each "
            f"other over the batch {batch}; bind a copy that does, as "
            f"np.broadcast_to({name}, {(*batch, *core)}).copy()"
        )
    return axes[-1][1] if axes else 0


def _owners(array: np.ndarray) -> Iterator[np.ndarray]:
    """An array and those whose memory it looks into: none of them is resized while it is held.

    NumPy resizes no array that has a weak reference, even where it is told not to look.
    """
    owner: Any = array
    while isinstance(owner, np.ndarray):
        yield owner
        owner = owner.base
