"""One function of one number, for every kind of number, the user's own too."""

import cmath
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import ALL_KINDS, rocker
from numpy.testing import assert_allclose, assert_array_equal

from phipsi import joints, scalars, spatial
from phipsi.lowering.counting import Counted, Tally, counting
from phipsi.scalars import Dual, less, where

# name: (a domain, the second derivative)
FUNCTIONS = {
    "sin": ((-7.0, 7.0), lambda x: -math.sin(x)),
    "cos": ((-7.0, 7.0), lambda x: -math.cos(x)),
    "sqrt": ((0.1, 9.0), lambda x: -0.25 * x**-1.5),
    "exp": ((-3.0, 3.0), math.exp),
    "arctan": ((-9.0, 9.0), lambda x: -2.0 * x / (1.0 + x * x) ** 2),
}
STEP = 1e-30

every_function = pytest.mark.parametrize("name", FUNCTIONS)


def complex_step(f, x):
    """f'(x) to machine precision, for an f that is analytic."""
    return f(complex(x, STEP)).imag / STEP


def samples(name, n=7):
    low, high = FUNCTIONS[name][0]
    return np.random.default_rng(0).uniform(low, high, n)


@every_function
def test_function_of_a_float_is_that_of_math_and_a_float(name):
    f, reference = getattr(scalars, name), getattr(math, name.replace("arctan", "atan"))
    for x in samples(name):
        assert f(float(x)) == reference(x)
        assert type(f(float(x))) is float
    assert f(2) == reference(2)


@every_function
def test_function_of_a_complex_number_is_that_of_cmath(name):
    f, reference = getattr(scalars, name), getattr(cmath, name.replace("arctan", "atan"))
    for x in samples(name):
        assert_allclose(f(complex(x, 0.3)), reference(complex(x, 0.3)), rtol=1e-14)


@every_function
def test_function_of_an_array_is_that_of_each_entry(name):
    f, x = getattr(scalars, name), samples(name, 12).reshape(3, 4)
    assert_allclose(f(x), [[f(float(y)) for y in row] for row in x], rtol=1e-15)


@every_function
def test_dual_derivative_equals_complex_step(name):
    f = getattr(scalars, name)
    for x in samples(name):
        y = f(Dual(float(x), (1.0, -2.0)))
        assert y.value == f(float(x))
        slope = complex_step(f, x)
        assert_allclose(y.derivatives, [slope, -2.0 * slope], rtol=1e-13)


@every_function
def test_dual_of_duals_gives_the_second_derivative(name):
    f, second = getattr(scalars, name), FUNCTIONS[name][1]
    for x in samples(name):
        y = f(Dual(Dual(float(x), (1.0,)), (1.0,)))
        assert_allclose(y.derivatives[0].derivatives[0], second(x), rtol=1e-13)


@every_function
def test_dual_of_arrays_is_a_batch_of_duals(name):
    f, x = getattr(scalars, name), samples(name)
    y = f(Dual(x, (np.ones_like(x),)))
    each = [f(Dual(float(z), (1.0,))) for z in x]
    assert_allclose(y.value, [z.value for z in each], rtol=1e-15)
    assert_allclose(y.derivatives[0], [z.derivatives[0] for z in each], rtol=1e-15)


ARITHMETIC = {
    "negative": lambda x, y: -x,
    "sum": lambda x, y: x + y,
    "difference": lambda x, y: x - y,
    "product": lambda x, y: x * y,
    "quotient": lambda x, y: x / y,
    "square": lambda x, y: x**2 + y**3,
    "first and zeroth power": lambda x, y: x**1 * y**0,
    "reciprocal power": lambda x, y: x**-2,
    "constants on the left": lambda x, y: 2.0 + 3.0 * x - (1.0 - y) / 2.0 + 4.0 / y,
    "constants on the right": lambda x, y: (x + 2.0) * 3.0 - (y - 1.0) / 2.0,
    "integers": lambda x, y: (2 - x) * 3 + 1 / y,
    "NumPy scalars": lambda x, y: np.float64(2.0) * x + np.float64(3.0) / y - np.float64(1.0),
    "zero-dimensional arrays": lambda x, y: np.array(2.0) * x - np.array(3.0) / y,
}


@pytest.mark.parametrize("operation", ARITHMETIC.values(), ids=ARITHMETIC)
def test_dual_arithmetic_equals_complex_step(operation):
    x, y = 1.7, -0.6
    result = operation(*Dual.variables([x, y]))
    assert_allclose(result.value, operation(x, y), rtol=1e-15)
    expected = [
        operation(complex(x, STEP), complex(y)).imag / STEP,
        operation(complex(x), complex(y, STEP)).imag / STEP,
    ]
    assert_allclose(result.derivatives, expected, rtol=1e-14)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3])
def test_power_of_a_dual_of_duals_at_zero_is_a_number(exponent):
    """x^n has all its derivatives at 0: the second one is 2 for n = 2, else 0."""
    y = Dual(Dual(0.0, (1.0,)), (1.0,)) ** exponent
    slope = Dual.lift(y.derivatives[0], 1)
    assert (slope.value, slope.derivatives) == (float(exponent == 1), (2.0 * (exponent == 2),))


def test_arrays_on_the_left_of_a_dual_broadcast_into_it():
    left = np.array([1.0, 2.0, 3.0])
    product = left * Dual(2.0, (1.0,))
    assert isinstance(product, Dual)
    assert_array_equal(product.value, 2.0 * left)
    assert_array_equal(product.derivatives[0], left)


@given(st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_mixed_second_derivatives_agree_with_finite_differences(x, y):
    def f(a, b):
        return scalars.sin(a * b) / (2.0 + scalars.cos(b)) + scalars.exp(0.3 * a) * b

    inner = Dual.variables([x, y])
    outer = f(*Dual.variables(inner))
    hessian = [[outer.derivatives[i].derivatives[j] for j in range(2)] for i in range(2)]
    h = 1e-4
    e = h * np.eye(2)
    z = np.array([x, y])
    differences = [
        [
            (f(*(z + u + w)) - f(*(z + u - w)) - f(*(z - u + w)) + f(*(z - u - w))) / (4 * h * h)
            for w in e
        ]
        for u in e
    ]
    assert_allclose(hessian, differences, atol=1e-6)
    assert_allclose(hessian[0][1], hessian[1][0], atol=1e-14)


# -- choices ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lift",
    [
        float,
        np.float64,
        lambda x: complex(x, 5.0),
        lambda x: Dual(x, (1.0,)),
        lambda x: Dual(Dual(x, (1.0,)), (1.0,)),
    ],
    ids=["float", "NumPy", "complex", "dual", "nested dual"],
)
def test_less_compares_real_values_on_either_side(lift):
    for x, y in ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0)):
        assert bool(less(lift(x), lift(y))) == (x < y)
        assert bool(less(lift(x), y)) == (x < y)
        assert bool(less(x, lift(y))) == (x < y)


def test_where_chooses_entry_by_entry():
    x = np.array([-1.0, 2.0, -3.0])
    assert_array_equal(where(less(x, 0.0), -x, x), np.abs(x))
    assert where(less(-1.0, 0.0), "first", "second") == "first"
    assert where(less(1.0, 0.0), "first", "second") == "second"


def test_where_chooses_value_and_derivatives_together():
    x = Dual(np.array([-2.0, 3.0]), (np.ones(2),))
    absolute = where(less(x, 0.0), -x, x)
    assert_array_equal(absolute.value, [2.0, 3.0])
    assert_array_equal(absolute.derivatives[0], [-1.0, 1.0])


@pytest.mark.parametrize("value", [-2.0, 3.0])
def test_where_lifts_a_constant_beside_a_dual(value):
    x = Dual(value, (1.0, 0.5))
    clipped = where(less(x, 0.0), 0.0, x)
    assert clipped.value == max(value, 0.0)
    assert clipped.derivatives == ((0.0, 0.0) if value < 0.0 else (1.0, 0.5))


# -- functions of two numbers, and the size of one -----------------------------------------

OF_TWO = {
    "arctan2": (scalars.arctan2, math.atan2),
    "minimum": (scalars.minimum, min),
    "maximum": (scalars.maximum, max),
}
PAIRS = [(0.3, 1.1), (0.3, -1.1), (-0.3, -1.1), (-2.0, 1.1), (2.0, 0.0), (0.0, 2.0), (1.0, -1.0)]

of_two = pytest.mark.parametrize(("f", "reference"), OF_TWO.values(), ids=OF_TWO)


@of_two
def test_function_of_two_floats_is_a_float(f, reference):
    for x, y in PAIRS:
        assert f(x, y) == reference(x, y)
        assert type(f(x, y)) is type(f(1, y)) is type(f(np.float64(x), 2)) is float
    assert f(1, 2) == reference(1, 2)


@of_two
def test_function_of_two_takes_arrays_on_either_side(f, reference):
    x, y = np.array(PAIRS).T
    expected = [reference(a, b) for a, b in PAIRS]
    assert_allclose(f(x, y), expected, rtol=1e-15)
    for a, b in PAIRS:
        assert_allclose(f(x, b), [reference(z, b) for z in x], rtol=1e-15)
        assert_allclose(f(a, y), [reference(a, z) for z in y], rtol=1e-15)


@of_two
def test_function_of_two_keeps_what_is_no_number(f, reference):
    """NaN on either side is NaN, as in NumPy."""
    assert math.isnan(f(math.nan, 1.0))
    assert math.isnan(f(1.0, math.nan))


SLOPES = {  # by the first and by the second
    "arctan2": lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y)),
    "minimum": lambda x, y: (float(x <= y), float(x > y)),
    "maximum": lambda x, y: (float(x >= y), float(x < y)),
}


@pytest.mark.parametrize("name", OF_TWO)
def test_complex_step_of_a_function_of_two_equals_its_slopes(name):
    f, reference = OF_TWO[name]
    for x, y in PAIRS:
        steps = f(complex(x, STEP), y), f(x, complex(y, STEP))
        assert_allclose([z.real for z in steps], reference(x, y), rtol=1e-15)
        assert_allclose([np.imag(z) / STEP for z in steps], SLOPES[name](x, y), rtol=1e-14)
    batch = f(np.array([x for x, _ in PAIRS]) + 1j * STEP, np.array([y for _, y in PAIRS]))
    slopes = [SLOPES[name](x, y)[0] for x, y in PAIRS]
    assert_allclose(batch.imag / STEP, slopes, rtol=1e-14)


def test_complex_angle_is_the_continuation_of_the_real_one():
    """tan of it is y/x, and its cosine has the sign of x: far from the real axis too."""
    for y, x in PAIRS:
        y, x = complex(y, 0.2), complex(x, -0.4)
        angle = scalars.arctan2(y, x)
        radius = cmath.sqrt(x * x + y * y)
        assert_allclose([radius * cmath.cos(angle), radius * cmath.sin(angle)], [x, y], rtol=1e-13)


@pytest.mark.parametrize("name", OF_TWO)
def test_dual_of_a_function_of_two_carries_both_slopes(name):
    f, reference = OF_TWO[name]
    for x, y in PAIRS:
        slopes = SLOPES[name](x, y)
        first, second = Dual.variables([x, y])
        for result, expected in (
            (f(first, second), slopes),
            (f(first, y), (slopes[0], 0.0)),
            (f(x, second), (0.0, slopes[1])),
        ):
            assert result.value == reference(x, y)
            assert_allclose(result.derivatives, expected, rtol=1e-14)


@pytest.mark.parametrize("name", OF_TWO)
def test_dual_of_arrays_of_a_function_of_two_is_a_batch_of_duals(name):
    f, _ = OF_TWO[name]
    x, y = np.array(PAIRS).T
    result = f(*Dual.variables([x, y]))
    expected = [f(*Dual.variables([a, b])) for a, b in PAIRS]
    assert_allclose(result.value, [z.value for z in expected], rtol=1e-15)
    assert_allclose(np.array(result.derivatives).T, [z.derivatives for z in expected], rtol=1e-14)


@given(st.floats(-2.0, 2.0), st.floats(0.1, 2.0))
def test_second_derivatives_of_the_angle_are_those_of_a_potential(y, x):
    """The angle is harmonic, and its mixed derivative is (y^2 - x^2) / r^4."""
    angle = scalars.arctan2(*Dual.variables(Dual.variables([y, x])))
    (yy, yx), (xy, xx) = [row.derivatives for row in angle.derivatives]
    assert_allclose(yy + xx, 0.0, atol=1e-12 * (abs(yy) + 1.0))
    expected = (y * y - x * x) / (x * x + y * y) ** 2
    assert_allclose([yx, xy], [expected, expected], rtol=1e-11, atol=1e-11)


def test_absolute_of_any_scalar():
    for x in (-1.5, 0.0, 2.0):
        assert scalars.absolute(x) == abs(x)
        assert type(scalars.absolute(x)) is type(scalars.absolute(-2)) is float
    x = np.array([-1.5, 0.0, 2.0])
    assert_array_equal(scalars.absolute(x), np.abs(x))


@pytest.mark.parametrize(("value", "slope"), [(-1.5, -1.0), (2.0, 1.0)])
def test_absolute_goes_by_the_real_part(value, slope):
    """|x| of x + i h is -x - i h for a negative x: a complex step survives."""
    stepped = scalars.absolute(complex(value, STEP))
    assert (stepped.real, stepped.imag / STEP) == (abs(value), slope)
    assert_array_equal(scalars.absolute(np.array([value + 3.0j])), [slope * (value + 3.0j)])
    dual = scalars.absolute(Dual(value, (1.0, 2.0)))
    assert (dual.value, dual.derivatives) == (abs(value), (slope, 2.0 * slope))


def test_counted_number_may_be_either_of_two():
    for name, kind in {"arctan2": "other", "minimum": "compare", "maximum": "compare"}.items():
        f, _ = OF_TWO[name]
        for arguments in (lambda n: (n(), n()), lambda n: (n(), 2.0), lambda n: (2.0, n())):
            with counting() as tally:
                assert isinstance(f(*arguments(tally.number)), Counted)
            assert tally == Tally(**{kind: 1})
            assert tally.flops == 0
    with counting() as tally:
        assert isinstance(scalars.absolute(tally.number()), Counted)
    assert tally == Tally(negate=1)


def test_dual_comes_before_what_it_may_hold():
    """A counted number on the left of a dual of counted numbers: the dual takes over."""
    with counting() as tally:
        dual = Dual(tally.number(), (tally.number(),))
        for f, _ in OF_TWO.values():
            assert isinstance(f(tally.number(), dual), Dual)
            assert isinstance(f(dual, tally.number()), Dual)


def test_kind_of_the_user_may_be_either_of_two():
    for f, reference in OF_TWO.values():
        f.register(Taped, lambda x, y, f=f: Taped.apply(f.__name__, f, x, y))
        for result in (f(Taped(1.0), 2.0), f(1.0, Taped(2.0)), f(Taped(1.0), Taped(2.0))):
            assert (result.value, result.made_by) == (reference(1.0, 2.0), f.__name__)


# -- a scalar type that phipsi has never heard of --------------------------------------


class Taped:
    """A number that remembers its making; as little as a user's own type may offer."""

    __array_ufunc__ = None

    def __init__(self, value, made_by="input"):
        self.value, self.made_by = value, made_by

    @staticmethod
    def apply(name, operation, *arguments):
        plain = [x.value if isinstance(x, Taped) else x for x in arguments]
        assert all(isinstance(x, (int, float)) for x in plain), (name, plain)
        return Taped(operation(*plain), name)

    def __add__(self, other):
        return Taped.apply("add", lambda x, y: x + y, self, other)

    def __sub__(self, other):
        return Taped.apply("subtract", lambda x, y: x - y, self, other)

    def __rsub__(self, other):
        return Taped.apply("subtract", lambda x, y: y - x, self, other)

    def __mul__(self, other):
        return Taped.apply("multiply", lambda x, y: x * y, self, other)

    def __truediv__(self, other):
        return Taped.apply("divide", lambda x, y: x / y, self, other)

    def __rtruediv__(self, other):
        return Taped.apply("divide", lambda x, y: y / x, self, other)

    def __neg__(self):
        return Taped.apply("negate", lambda x: -x, self)

    def __bool__(self):
        raise TypeError("a recorded number has no truth value")

    __radd__, __rmul__ = __add__, __mul__


class TapedTruth:
    """What `less` of recorded numbers gives: no truth value either."""

    def __init__(self, value):
        self.value = value

    def __bool__(self):
        raise TypeError("a recorded comparison has no truth value")


@scalars.less.register
def _(x: Taped, y):
    return TapedTruth(x.value < (y.value if isinstance(y, Taped) else y))


@scalars.select.register
def _(condition: TapedTruth, x, y):
    return Taped.apply("select", lambda a, b: a if condition.value else b, x, y)


for _name in FUNCTIONS:
    _function = getattr(scalars, _name)
    _function.register(Taped, lambda x, f=_function: Taped.apply(f.__name__, f, x))


def values(result):
    """Numbers, lists and matrices with the recording removed."""
    if isinstance(result, (list, tuple)):
        return [values(x) for x in result]
    return result.value if isinstance(result, Taped) else result


def taped(numbers):
    return [Taped(x) for x in numbers]


def kind_samples():
    rng = np.random.default_rng(3)
    kinds = [make(rng) for make in ALL_KINDS] + [joints.Custom(rocker, 2)]
    return [pytest.param(kind, id=type(kind).__name__) for kind in kinds]


@pytest.mark.parametrize("kind", kind_samples())
def test_every_joint_runs_on_a_scalar_type_of_the_user(kind):
    rng = np.random.default_rng(4)
    q, other = kind.random(rng), kind.random(rng)
    for size in (1.0, 1e-3):  # both sides of each choice between series and closed form
        step = [size * x for x in rng.uniform(-1.0, 1.0, kind.nv).tolist()]
        near = kind.integrate(q, step)
        assert values(kind.integrate(taped(q), taped(step))) == values(near)
        for q1 in (near, other):
            assert values(kind.difference(taped(q), taped(q1))) == kind.difference(q, q1)
    assert values(kind.transform(taped(q))) == values(kind.transform(q))
    assert values(kind.motion_map(taped(q))) == values(kind.motion_map(q))
    assert values(kind.map_derivatives(taped(q))) == values(kind.map_derivatives(q))


def test_choices_are_recorded_not_taken():
    """The toy type really travels through less and where, or the test above shows nothing."""
    assert spatial.sinc(Taped(0.0)).made_by == "select"
    with pytest.raises(TypeError, match="no truth value"):
        bool(less(Taped(0.0), 1.0))
