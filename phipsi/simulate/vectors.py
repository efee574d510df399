"""Vectors of numbers of a graph, with the arithmetic that arrays have.

So one formula serves arrays and graphs:

>>> from phipsi.graph.graph import Graph
>>> graph = Graph()
>>> v = Numbers([graph.input("x"), graph.input("y")])
>>> print(*(2.0 * v + v * v), sep=", ")
((x * 2.0) + (x * x)), ((y * 2.0) + (y * y))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, mul, sub, truediv
from typing import Any

import numpy as np

from phipsi import scalars


class Numbers(tuple):
    """A vector of scalars: arithmetic entry by entry, with a vector, one entry or a scalar."""

    __array_ufunc__ = None  # an array on the left hands the operation to us

    def __add__(self, other: Any) -> Numbers:
        return self._with(add, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Numbers:
        return self._with(sub, other)

    def __rsub__(self, other: Any) -> Numbers:
        return -self + other

    def __mul__(self, other: Any) -> Numbers:
        return self._with(mul, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Numbers:
        return self._with(truediv, other)

    def __rtruediv__(self, other: Any) -> Numbers:
        return self._with(lambda x, y: y / x, other)

    def __neg__(self) -> Numbers:
        return Numbers(-x for x in self)

    def _with(self, act: Callable, other: Any) -> Numbers:
        others = other if isinstance(other, (tuple, np.ndarray)) else (other,)
        n = max(len(self), len(others))
        pairs = zip(*(x if len(x) == n else [*x] * n for x in (self, others)), strict=True)
        return Numbers(act(x, y) for x, y in pairs)


Vector = np.ndarray | Numbers


def combined(weights: Sequence[float], vectors: Sequence[Any]) -> Any:
    """The sum of vectors with weights, those of weight zero left out."""
    terms = [w * x for w, x in zip(weights, vectors, strict=True) if w]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def dot(x: Any, y: Any) -> Any:
    """The sum of products over the last axis, one entry."""
    if isinstance(x, Numbers):
        return Numbers([sum((a * b for a, b in zip(x, y, strict=True)), 0.0)])
    return np.sum(x * y, axis=-1, keepdims=True)


def each(function: Callable, *vectors: Any) -> Any:
    """A function of scalars, such as `scalars.minimum`, entry by entry."""
    if any(isinstance(x, Numbers) for x in vectors):
        return Numbers(function(*x) for x in zip(*vectors, strict=True))
    return function(*vectors)


def limited(x: Any, largest: Any) -> Any:
    """x, but no entry beyond its largest size."""
    return each(scalars.maximum, each(scalars.minimum, x, largest), -largest)
