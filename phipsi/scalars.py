"""The functions of one number, for any kind of number.

Transforms, joint maps and integrators are written once, over an abstract
scalar: a float, a complex number (complex-step derivatives), a NumPy array (a
batch of scalars), a `Dual` (a number that carries its derivatives) or a node of
a graph (machine code). Arithmetic comes with the type itself; the functions come
from here. Each is a `singledispatch` function, so a new kind of scalar registers
its own version in the file that defines it:

    @scalars.sin.register
    def _(x: MyScalar) -> MyScalar: ...

A function of two numbers goes by the kind of the first, or by that of the
second where the first is an ordinary number: `minimum(1.0, x)` of a graph
node x is one. What is registered takes both as they stand.

Choices are made by `where(less(a, b), x, y)`, never by `if`: a batch has no
single truth value, and a graph none at all. A kind whose comparisons are no
NumPy truth values registers `less` by the kind of a, and `select` by the kind
of what `less` returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import singledispatch, wraps
from typing import Any

import numpy as np

Scalar = Any  # float | complex | np.ndarray | Dual | a graph node
HUGE = 1e60  # no quantity in SI units is larger; products of a few stay finite


@singledispatch
def sin(x: Scalar) -> Scalar:
    """Sine of a scalar of any kind."""
    return np.sin(x)


@singledispatch
def cos(x: Scalar) -> Scalar:
    """Cosine of a scalar of any kind."""
    return np.cos(x)


@singledispatch
def sqrt(x: Scalar) -> Scalar:
    """Square root of a scalar of any kind."""
    return np.sqrt(x)


@singledispatch
def exp(x: Scalar) -> Scalar:
    """Exponential of a scalar of any kind."""
    return np.exp(x)


@singledispatch
def arctan(x: Scalar) -> Scalar:
    """Inverse tangent, in (-pi/2, pi/2), of a scalar of any kind."""
    return np.arctan(x)


@singledispatch
def absolute(x: Scalar) -> Scalar:
    """|x|; of a complex number by its real part: x or -x, so that a derivative survives."""
    return select(less(x, 0.0), -x, x) if np.iscomplexobj(x) else np.abs(x)


def _by_either(function: Callable[[Scalar, Scalar], Scalar]) -> Any:
    """`singledispatch` for two numbers: on the first that has a version of its own.

    A dual, which may hold numbers of any other kind, comes before all others.
    """
    versions = singledispatch(function)

    @wraps(function)
    def of_two(first: Scalar, second: Scalar, /) -> Scalar:
        version = versions.dispatch(type(first))
        if version is function or isinstance(second, Dual):
            version = versions.dispatch(type(second))
        return version(first, second)

    of_two.register = versions.register  # type: ignore[attr-defined]
    return of_two


@_by_either
def arctan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), in [-pi, pi].

    Of complex numbers continued from their real parts a of x and b of y:
    `arctan2(b, a) + arctan((y a - x b) / (x a + y b))`.
    """
    if not (np.iscomplexobj(y) or np.iscomplexobj(x)):
        return _of_reals(np.arctan2, y, x)
    a, b = np.real(x), np.real(y)
    return np.arctan2(b, a) + np.arctan((y * a - x * b) / (x * a + y * b))


@_by_either
def minimum(x: Scalar, y: Scalar) -> Scalar:
    """The smaller of two numbers, of complex ones by the real part."""
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        return select(less(y, x), y, x)
    return _of_reals(np.minimum, x, y)


@_by_either
def maximum(x: Scalar, y: Scalar) -> Scalar:
    """The larger of two numbers, of complex ones by the real part."""
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        return select(less(x, y), y, x)
    return _of_reals(np.maximum, x, y)


def _of_reals(function: np.ufunc, x: Scalar, y: Scalar) -> Scalar:
    """A function of two real numbers or arrays; of floats a float."""
    value = function(x, y)
    return float(value) if isinstance(x, (float, int)) and isinstance(y, (float, int)) else value


@singledispatch
def less(x: Scalar, y: Scalar) -> Any:
    """Whether x < y, by the real part (a step into the complex plane changes no branch).

    Dispatches on x: let the variable stand on the left, the bound on the right.
    """
    return less(x, y.value) if isinstance(y, Dual) else np.real(x) < np.real(y)


def where(condition: Any, x: Scalar, y: Scalar) -> Scalar:
    """x where the condition holds, y elsewhere; both are evaluated."""
    if isinstance(x, Dual) or isinstance(y, Dual):
        return Dual.choose(condition, x, y)
    return select(condition, x, y)


@singledispatch
def select(condition: Any, x: Scalar, y: Scalar) -> Scalar:
    """`where` by the kind of the condition, for scalars that are no duals."""
    return np.where(condition, x, y)


for _function, _of_float in (
    (sin, math.sin),
    (cos, math.cos),
    (sqrt, math.sqrt),
    (exp, math.exp),
    (arctan, math.atan),
    (absolute, math.fabs),
):
    _function.register(float, _of_float)
    _function.register(int, _of_float)


@select.register(bool)
@select.register(np.bool_)
def _(condition: bool, x: Scalar, y: Scalar) -> Scalar:
    return x if condition else y


class Dual:
    """A number and its derivatives along n directions: `value + sum_a d_a eps_a`.

    Value and derivatives are scalars of any kind, duals too: a dual of duals
    carries second derivatives. Custom joints get their map `H*` and its rate
    from their transform this way.

    >>> x = Dual(2.0, (1.0,))
    >>> (x * x * x).derivatives
    (12.0,)
    """

    __slots__ = ("derivatives", "value")
    __array_ufunc__ = None  # an array on the left hands the operation to us

    def __init__(self, value: Scalar, derivatives: Iterable[Scalar]):
        self.value = value
        self.derivatives = tuple(derivatives)

    @staticmethod
    def variables(values: list[Scalar]) -> list[Dual]:
        """The coordinates themselves: the i-th has derivative 1 along direction i."""
        n = range(len(values))
        return [Dual(x, tuple(float(i == j) for j in n)) for i, x in enumerate(values)]

    @staticmethod
    def choose(condition: Any, x: Scalar, y: Scalar) -> Dual:
        """`where` for duals: value and derivatives are chosen together."""
        x, y = Dual.lift_both(x, y)
        return x.or_else(y, condition, where(condition, x.value, y.value))

    def or_else(self, other: Dual, condition: Any, value: Scalar) -> Dual:
        """The value, with our derivatives where the condition holds, elsewhere the other's."""
        pairs = zip(self.derivatives, other.derivatives, strict=True)
        return Dual(value, [where(condition, a, b) for a, b in pairs])

    @staticmethod
    def lift_both(x: Scalar, y: Scalar) -> tuple[Dual, Dual]:
        """Two numbers as duals, at least one of which is a dual."""
        n = len(x.derivatives if isinstance(x, Dual) else y.derivatives)
        return Dual.lift(x, n), Dual.lift(y, n)

    @staticmethod
    def lift(x: Scalar, n: int) -> Dual:
        """A constant as a dual with n zero derivatives."""
        return x if isinstance(x, Dual) else Dual(x, (0.0,) * n)

    def chain(self, value: Scalar, slope: Scalar) -> Dual:
        """f(self), given f and f' at the value."""
        return Dual(value, [slope * d for d in self.derivatives])

    def __neg__(self) -> Dual:
        return Dual(-self.value, [-d for d in self.derivatives])

    def __add__(self, other: Scalar) -> Dual:
        other = Dual.lift(other, len(self.derivatives))
        pairs = zip(self.derivatives, other.derivatives, strict=True)
        return Dual(self.value + other.value, [a + b for a, b in pairs])

    def __mul__(self, other: Scalar) -> Dual:
        other = Dual.lift(other, len(self.derivatives))
        pairs = zip(self.derivatives, other.derivatives, strict=True)
        product = [a * other.value + self.value * b for a, b in pairs]
        return Dual(self.value * other.value, product)

    def __truediv__(self, other: Scalar) -> Dual:
        other = Dual.lift(other, len(self.derivatives))
        quotient = self.value / other.value
        pairs = zip(self.derivatives, other.derivatives, strict=True)
        return Dual(quotient, [(a - quotient * b) / other.value for a, b in pairs])

    def __pow__(self, exponent: float) -> Dual:
        slope = exponent * self.value ** (exponent - 1) if exponent else 0.0  # 0^-1 is no number
        return self.chain(self.value**exponent, slope)

    def __sub__(self, other: Scalar) -> Dual:
        return self + (-other)

    def __rsub__(self, other: Scalar) -> Dual:
        return -self + other

    def __rtruediv__(self, other: Scalar) -> Dual:
        return Dual.lift(other, len(self.derivatives)) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {self.derivatives!r})"


@sin.register
def _(x: Dual) -> Dual:
    return x.chain(sin(x.value), cos(x.value))


@cos.register
def _(x: Dual) -> Dual:
    return x.chain(cos(x.value), -sin(x.value))


@sqrt.register
def _(x: Dual) -> Dual:
    root = sqrt(x.value)
    return x.chain(root, 0.5 / root)


@exp.register
def _(x: Dual) -> Dual:
    value = exp(x.value)
    return x.chain(value, value)


@arctan.register
def _(x: Dual) -> Dual:
    return x.chain(arctan(x.value), 1.0 / (1.0 + x.value * x.value))


@absolute.register
def _(x: Dual) -> Dual:
    return (-x).or_else(x, less(x.value, 0.0), absolute(x.value))


@arctan2.register(Dual)
def _(y: Scalar, x: Scalar) -> Dual:
    y, x = Dual.lift_both(y, x)
    square = x.value * x.value + y.value * y.value
    pairs = zip(y.derivatives, x.derivatives, strict=True)
    slopes = [(x.value * dy - y.value * dx) / square for dy, dx in pairs]
    return Dual(arctan2(y.value, x.value), slopes)


# Of a difference: a comparison needs the variable on its left, and either may be one.


@minimum.register(Dual)
def _(x: Scalar, y: Scalar) -> Dual:
    x, y = Dual.lift_both(x, y)
    return y.or_else(x, less(y.value - x.value, 0.0), minimum(x.value, y.value))


@maximum.register(Dual)
def _(x: Scalar, y: Scalar) -> Dual:
    x, y = Dual.lift_both(x, y)
    return y.or_else(x, less(x.value - y.value, 0.0), maximum(x.value, y.value))


@less.register
def _(x: Dual, y: Scalar) -> Any:
    return less(x.value, y.value if isinstance(y, Dual) else y)
