"""The number that counts what is done to it."""

import numpy as np
import pytest
from machines import ALL_KINDS

from phipsi import joints, scalars
from phipsi.lowering.counting import Counted, Tally, counting
from phipsi.scalars import Dual, less, where

ARRAY = np.array([1.0, 2.0])
OTHERS = {"float": 2.0, "int": 3, "complex": 1j, "float64": np.float64(2.0), "array": ARRAY}

every_other = pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)


def count(function, n=1):
    with counting() as tally:
        result = function(*(tally.number() for _ in range(n)))
    assert isinstance(result, Counted)
    return tally


@every_other
def test_arithmetic_with_any_number_on_either_side_counts_once(other):
    assert count(lambda x: x + other) == count(lambda x: other + x) == Tally(add=1)
    assert count(lambda x: x - other) == count(lambda x: other - x) == Tally(add=1)
    assert count(lambda x: x * other) == count(lambda x: other * x) == Tally(multiply=1)
    assert count(lambda x: x / other) == count(lambda x: other / x) == Tally(divide=1)


def test_arithmetic_of_two_counts_once():
    assert count(lambda x, y: x + y, 2) == Tally(add=1)
    assert count(lambda x, y: x - y, 2) == Tally(add=1)
    assert count(lambda x, y: x * y, 2) == Tally(multiply=1)
    assert count(lambda x, y: x / y, 2) == Tally(divide=1)


def test_negation_is_counted_and_is_no_flop():
    tally = count(lambda x: -x)
    assert tally == Tally(negate=1)
    assert tally.flops == 0


@pytest.mark.parametrize(
    ("exponent", "expected"),
    [
        (0, Tally()),
        (1, Tally()),
        (2, Tally(multiply=1)),
        (3, Tally(multiply=2)),
        (4, Tally(multiply=2)),
        (7, Tally(multiply=4)),
        (2.0, Tally(multiply=1)),
        (-1, Tally(divide=1)),
        (-2, Tally(multiply=1, divide=1)),
        (1.5, Tally(other=1)),
    ],
)
def test_power_costs_its_squarings_and_products(exponent, expected):
    assert count(lambda x: x**exponent) == expected


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sin", "sincos"),
        ("cos", "sincos"),
        ("sqrt", "sqrt"),
        ("exp", "other"),
        ("arctan", "other"),
    ],
)
def test_function_of_one_number_is_counted_as_its_kind(name, kind):
    assert count(getattr(scalars, name)) == Tally(**{kind: 1})


def test_choice_counts_a_comparison_and_a_selection():
    assert count(lambda x: where(less(x, 0.0), -x, x)) == Tally(compare=1, negate=1, select=1)
    assert count(lambda x, y: where(less(x, y), 1.0, 2.0), 2) == Tally(compare=1, select=1)


def test_choice_without_counted_numbers_in_its_condition_costs_nothing():
    assert count(lambda x: where(less(1.0, 2.0), x, 0.0)) == Tally()


def test_flops_are_sums_products_quotients_and_roots():
    tally = Tally(1, 10, 100, 1000, sincos=7, other=7, negate=7, compare=7, select=7)
    assert (tally.add, tally.multiply, tally.divide, tally.sqrt) == (1, 10, 100, 1000)
    assert tally.flops == 1111


def test_tallies_add_up_kind_by_kind():
    kinds = ("add", "multiply", "divide", "sqrt", "sincos", "other", "negate", "compare", "select")
    x = Tally(**{kind: i for i, kind in enumerate(kinds)})
    y = Tally(**{kind: 10 * i for i, kind in enumerate(kinds)})
    assert x + y == Tally(**{kind: 11 * i for i, kind in enumerate(kinds)})
    assert x + y != x
    with pytest.raises(TypeError):
        x + 1


def test_operations_after_the_block_are_not_counted():
    with counting() as tally:
        x = tally.number()
        y = x * x
    assert isinstance(y * x + 1.0, Counted)
    assert tally == Tally(multiply=1)


def test_tally_of_a_block_that_fails_is_closed():
    with pytest.raises(KeyError), counting() as tally:
        x = tally.number()
        raise KeyError
    _ = x + x
    assert tally == Tally()


def test_numbers_of_two_tallies_do_not_mix():
    with counting() as one, counting() as other, pytest.raises(AssertionError, match="tallies"):
        one.number() + other.number()


def test_branch_on_a_counted_number_is_refused():
    with counting() as tally:
        x = tally.number()
        with pytest.raises(TypeError, match="where"):
            assert less(x, 0.0)
        with pytest.raises(TypeError):
            x < 0.0  # noqa: B015
        with pytest.raises(TypeError):
            less(0.0, x)  # the variable belongs on the left
        with pytest.raises(TypeError):
            np.sin(x)


def test_arithmetic_with_what_is_no_number_is_refused():
    with counting() as tally:
        for wrong in (lambda x: x + "1", lambda x: x * None, lambda x: [1] / x, lambda x: x ** "2"):
            with pytest.raises(TypeError):
                wrong(tally.number())
    assert tally == Tally()


def test_dual_of_counted_numbers_costs_value_and_derivatives():
    """(x y)' = x' y + x y'; a Counted on either side of a Dual leaves the operation to it."""

    def value(z):
        assert isinstance(z, Dual)
        return z.value

    product, total = Tally(add=1, multiply=3), Tally(add=2)
    assert count(lambda x, y: value(Dual(x, (y,)) * Dual(x, (y,))), 2) == product
    assert count(lambda x, y: value(x * Dual(x, (y,))), 2) == product
    assert count(lambda x, y: value(Dual(x, (y,)) * x), 2) == product
    assert count(lambda x, y: value(x + Dual(x, (y,))), 2) == total


def test_rotation_of_a_revolute_joint_takes_one_sine_and_one_cosine():
    with counting() as tally:
        joints.Revolute((0.6, 0.0, 0.8)).transform([tally.number()])
    assert tally.sincos == 2
    assert tally.other == tally.divide == tally.sqrt == 0


@pytest.mark.parametrize("make", ALL_KINDS, ids=lambda make: make.__name__)
def test_every_joint_kind_passes_counted_numbers(make):
    kind = make(np.random.default_rng(0))
    with counting() as tally:
        q = [tally.number() for _ in range(kind.nq)]
        kind.transform(q), kind.motion_map(q), kind.map_derivatives(q)
        moved = kind.integrate(q, [tally.number() for _ in range(kind.nv)])
    assert all(isinstance(x, Counted) for x in moved)
    assert tally.flops > 0


def test_counted_number_shows_what_it_is():
    assert repr(Tally(add=2).number()) == "Counted()"
