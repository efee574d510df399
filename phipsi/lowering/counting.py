"""A scalar that counts what is done to it.

A step, a joint map or a whole program run with `Counted` numbers tells its cost
exactly, zeros of the structure left out:

>>> from phipsi.lowering import blocks
>>> with counting() as tally:
...     z = [0, 0, tally.number(), 0, 0, 0]
...     x = [tally.number() for _ in range(6)]
...     _ = blocks.cross_motion(z, x)
>>> tally.multiply, tally.add
(4, 0)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from phipsi import scalars
from phipsi.scalars import Scalar


@dataclass
class Tally:
    """How many operations of each kind there were.

    A negation is no flop: it changes the sign of the sum or product it goes
    into, and hardware adds, subtracts and fuses with either sign alike.
    """

    add: int = 0  # and subtract
    multiply: int = 0
    divide: int = 0
    sqrt: int = 0
    sincos: int = 0  # a sine and a cosine are two
    other: int = 0  # exp, arctan, arctan2, powers that are no whole numbers
    negate: int = 0  # and |x|, which only changes a sign too
    compare: int = 0  # and the smaller or larger of two
    select: int = 0
    open: bool = field(default=True, init=False, repr=False, compare=False)

    @property
    def flops(self) -> int:
        """Sums, products, quotients and square roots; sines and cosines are listed apart."""
        return self.add + self.multiply + self.divide + self.sqrt

    def number(self) -> Counted:
        """A number whose operations are counted here."""
        return Counted(self)

    def count(self, kind: str, times: int = 1) -> Counted:
        """Note operations of a kind, if the block of `counting` still runs; their result."""
        if self.open:
            setattr(self, kind, getattr(self, kind) + times)
        return Counted(self)

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        kinds = [kind.name for kind in fields(Tally) if kind.compare]
        return Tally(**{kind: getattr(self, kind) + getattr(other, kind) for kind in kinds})


@contextmanager
def counting() -> Iterator[Tally]:
    """A tally of the operations, within the block, on the numbers that come from it."""
    tally = Tally()
    try:
        yield tally
    finally:
        tally.open = False


class Counted:
    """A number without a value: what is made of it is counted, and is Counted too.

    Truth values as well: `less` of a Counted is one, for `where` to choose by.
    """

    __slots__ = ("tally",)
    __array_ufunc__ = None  # an array on the left hands the operation to us

    def __init__(self, tally: Tally):
        self.tally = tally

    def _count(self, kind: str, other: Scalar) -> Counted:
        """An operation with another number; NotImplemented with what knows better, as a Dual."""
        if isinstance(other, Counted):
            assert other.tally is self.tally, "numbers of two tallies met"
        elif not isinstance(other, (int, float, complex, np.ndarray, np.generic)):
            return NotImplemented
        return self.tally.count(kind)

    def __add__(self, other: Scalar) -> Counted:
        return self._count("add", other)

    def __mul__(self, other: Scalar) -> Counted:
        return self._count("multiply", other)

    def __truediv__(self, other: Scalar) -> Counted:
        return self._count("divide", other)

    __radd__ = __sub__ = __rsub__ = __add__
    __rmul__ = __mul__
    __rtruediv__ = __truediv__

    def __neg__(self) -> Counted:
        return self.tally.count("negate")

    def __pow__(self, exponent: float) -> Counted:
        """A whole power by repeated squaring; x**0 costs nothing, x**-n one division more."""
        if not isinstance(exponent, (int, float)):
            return NotImplemented
        if exponent != int(exponent):
            return self.tally.count("other")
        n = abs(int(exponent))
        if exponent < 0:
            self.tally.count("divide")
        squares, products = max(n.bit_length() - 1, 0), max(n.bit_count() - 1, 0)
        return self.tally.count("multiply", squares + products)

    def __bool__(self) -> bool:
        raise TypeError("a Counted has no truth value; choose by scalars.where, not by `if`")

    def __repr__(self) -> str:
        return "Counted()"


def _count_functions() -> None:
    """Register the functions of one number, and of two."""
    kinds = {"sin": "sincos", "cos": "sincos", "sqrt": "sqrt", "exp": "other", "arctan": "other"}
    for name, kind in (kinds | {"absolute": "negate"}).items():
        function: Any = getattr(scalars, name)
        function.register(Counted, lambda x, kind=kind: x.tally.count(kind))
    for name, kind in {"arctan2": "other", "minimum": "compare", "maximum": "compare"}.items():
        function = getattr(scalars, name)
        function.register(Counted, lambda x, y, kind=kind: _of_either(kind, x, y))


def _of_either(kind: str, x: Scalar, y: Scalar) -> Counted:
    """An operation on two numbers, at least one of which is counted."""
    return (x if isinstance(x, Counted) else y).tally.count(kind)


_count_functions()


@scalars.less.register
def _(x: Counted, y: Scalar) -> Counted:
    return x.tally.count("compare")


@scalars.select.register
def _(condition: Counted, x: Scalar, y: Scalar) -> Counted:
    return condition.tally.count("select")
