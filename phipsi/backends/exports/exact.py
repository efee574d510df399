"""Numbers without rounding: SymPy expressions that floats join as the fractions they stand for.

The interpreter runs on them as on any scalar. The constants of a machine are made
exact one by one, before they meet: a float is taken for what a person would have
written, 0.1 for 1/10, 0.7071067811865476 for sqrt(2)/2, and with all its digits where
nothing short is near.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from math import isfinite, pi
from typing import Any

import sympy

from phipsi import scalars
from phipsi.model.inertia import HERE
from phipsi.scalars import Scalar

DIGITS = 12  # of a decimal number that is meant as it stands
DENOMINATOR = 100_000  # of a fraction that is meant; a float is near one by chance in 10^5
SQUARE = 1_000  # of the square of a root that is meant
NEAR = 4e-16  # how near, relative


def exact_number(x: float) -> Any:
    """A float as the SymPy number that it stands for.

    >>> [exact_number(x) for x in (0.1, 1 / 3, 3**0.5 / 2, 2.0, -0.0)]
    [1/10, 1/3, sqrt(3)/2, 2, 0]
    >>> exact_number(0.1234567890123456)
    19290123283179/156250000000000
    """
    if x == 0.0:
        return sympy.S.Zero
    if float(f"{x:.{DIGITS}g}") == x:
        return sympy.Rational(f"{x:.{DIGITS}g}")
    near = Fraction(x).limit_denominator(DENOMINATOR)
    if _is_near(float(near), x):
        return sympy.Rational(near.numerator, near.denominator)
    square = Fraction(x * x).limit_denominator(SQUARE)
    if _is_near(float(square) ** 0.5, abs(x)):
        root = sympy.sqrt(sympy.Rational(square.numerator, square.denominator))
        return root if x > 0.0 else -root
    return sympy.Rational(repr(x))


def exact_angle(x: float) -> Any:
    """An angle in rad likewise, a fraction of pi where it is one.

    >>> exact_angle(3.141592653589793 / 4), exact_angle(0.5)
    (pi/4, 1/2)
    """
    turns = Fraction(x / pi).limit_denominator(360)
    if x != 0.0 and _is_near(float(turns) * pi, x):
        return sympy.Rational(turns.numerator, turns.denominator) * sympy.pi
    return exact_number(x)


def _is_near(x: float, y: float) -> bool:
    return x != 0.0 and abs(x - y) <= NEAR * abs(y)


class Exact:
    """A SymPy expression as a scalar of the interpreter."""

    __slots__ = ("value",)
    __array_ufunc__ = None  # an array on the left hands the operation to us

    def __init__(self, value: Any):
        self.value = value

    def __add__(self, other: Scalar) -> Exact:
        return Exact(self.value + value_of(other))

    def __sub__(self, other: Scalar) -> Exact:
        return Exact(self.value - value_of(other))

    def __rsub__(self, other: Scalar) -> Exact:
        return Exact(value_of(other) - self.value)

    def __mul__(self, other: Scalar) -> Exact:
        return Exact(self.value * value_of(other))

    def __truediv__(self, other: Scalar) -> Exact:
        return Exact(self.value / _nonzero(value_of(other)))

    def __rtruediv__(self, other: Scalar) -> Exact:
        return Exact(value_of(other) / _nonzero(self.value))

    def __pow__(self, exponent: float) -> Exact:
        return Exact(self.value ** value_of(exponent))

    def __neg__(self) -> Exact:
        return Exact(-self.value)

    def __abs__(self) -> Exact:
        return Exact(sympy.Abs(self.value))

    def __eq__(self, other: object) -> bool:
        return bool(self.value == value_of(other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"Exact({self.value})"

    __radd__ = __add__
    __rmul__ = __mul__


def value_of(x: Any) -> Any:
    """The SymPy expression of a scalar: an exact one, or a float or int."""
    if isinstance(x, Exact):
        return x.value
    return sympy.Integer(x) if isinstance(x, int) else exact_number(float(x))


def _nonzero(value: Any) -> Any:
    if value == 0:
        raise ZeroDivisionError("division by a number that is zero in every state")
    return value


class Condition:
    """Whether one expression is less than another."""

    def __init__(self, relation: Any):
        self.relation = relation


def _of_one(function: Any) -> Callable[[Exact], Exact]:
    return lambda x: Exact(function(x.value))


for _function, _of_sympy in (
    (scalars.sin, sympy.sin),
    (scalars.cos, sympy.cos),
    (scalars.sqrt, sympy.sqrt),
    (scalars.exp, sympy.exp),
    (scalars.arctan, sympy.atan),
    (scalars.absolute, sympy.Abs),
):
    _function.register(Exact, _of_one(_of_sympy))


@scalars.arctan2.register(Exact)
def _(y: Scalar, x: Scalar) -> Exact:
    return Exact(sympy.atan2(value_of(y), value_of(x)))


@scalars.minimum.register(Exact)
def _(x: Scalar, y: Scalar) -> Exact:
    return Exact(sympy.Min(value_of(x), value_of(y)))


@scalars.maximum.register(Exact)
def _(x: Scalar, y: Scalar) -> Exact:
    return Exact(sympy.Max(value_of(x), value_of(y)))


@scalars.less.register
def _(x: Exact, y: Scalar) -> Condition:
    return Condition(sympy.Lt(x.value, value_of(y)))


@scalars.select.register
def _(condition: Condition, x: Scalar, y: Scalar) -> Exact:
    return Exact(sympy.Piecewise((value_of(x), condition.relation), (value_of(y), True)))


def made_exact(x: Any, angle: bool = False) -> Any:
    """What holds floats, with exact numbers in their place: links, inertias, factors.

    The ints 0 and 1 of the structure stay, and so does what says that a frame is no other.

    Args:
        x: a number, a tuple or list of those, or a dataclass.
        angle: whether numbers are angles.
    """
    if isinstance(x, float):
        assert isfinite(x), "a machine has finite numbers"
        return Exact(exact_angle(x) if angle else exact_number(x))
    if isinstance(x, (tuple, list)):
        return type(x)(made_exact(y, angle) for y in x)
    if is_dataclass(x) and not isinstance(x, type) and x is not HERE:
        held = ((field.name, getattr(x, field.name)) for field in fields(x) if field.init)
        return replace(x, **{name: made_exact(y, name.startswith("theta")) for name, y in held})
    return x
