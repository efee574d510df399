"""How callers see an entry: names, memory of theirs, shapes, arguments that states share."""

import numpy as np
import pytest
from entry_cases import XS, ZS, X, Z, as_tuple, entry_of, plan_of
from hand_kernels import WIDTHS, expected, mixed, mixed_plan

from phipsi.backends.entry import Callers

every_width = pytest.mark.parametrize("lanes", WIDTHS)


def entry_for(lanes=1, **more):
    names = "x", "z"
    return entry_of(plan_of(lanes=lanes), inputs=names, callers=Callers(**{"names": names, **more}))


@every_width
def test_arguments_go_by_place_or_by_name(lanes):
    entry = entry_for(lanes)
    for x, z in ((X, Z), (XS, ZS)):
        right = entry(x, z)
        assert np.array_equal(right, 2.0 * x + 1.0)
        spelt = {"".join(["x"]): x, "".join(["z"]): z}  # strings that Python has not interned
        for found in (entry(x, z=z), entry(z=z, x=x), entry(**spelt), entry(x, z, out=None)):
            assert np.array_equal(found, right)


def test_names_need_not_be_interned():
    name = "mass of the {} link".format("third")
    other = "mass of the " + str(["third"][0]) + " link"
    assert name == other and name is not other
    plan = plan_of()
    entry = entry_of(plan, inputs=("x", name), callers=Callers(("x", name)))
    assert np.array_equal(entry(X, **{other: Z}), 3.0 * X)
    assert entry(X, **{other[:-1]: Z}) is None


@every_width
def test_results_go_to_memory_of_the_callers(lanes):
    entry = entry_for(lanes)
    for x, z in ((X, Z), (XS, ZS), (XS.reshape(3, 3, 7), ZS.reshape(3, 3, 2)), (XS, Z)):
        out = np.full(x.shape, np.nan)
        assert entry(x, z, out=out) is out
        assert np.array_equal(out, 2.0 * x + 1.0)
        out.fill(np.nan)
        assert entry(out=out, z=z, x=x) is out
        assert np.array_equal(out, 2.0 * x + 1.0)


@every_width
@pytest.mark.parametrize("batch", [(), (1,), (9,), (2, 3)])
def test_several_results_go_to_a_tuple_of_arrays(lanes, batch):
    inputs, outputs = ((7,), (2,)), ((7,), (), (2, 2))
    entry = entry_of(mixed_plan(inputs, outputs, "host", lanes, 1))
    rng = np.random.default_rng(0)
    x, z = rng.random((*batch, 7)), rng.random((*batch, 2))
    out = tuple(np.full((*batch, *shape), np.nan) for shape in outputs)
    assert entry(x, z, out=out) is out
    for found, right in zip(out, as_tuple(entry(x, z)), strict=True):
        assert np.array_equal(found, right)
    for wrong in (out[:2], (*out, out[0]), list(out), (out[0], None, out[2])):
        assert entry(x, z, out=wrong) is None
    if batch:  # results must not meet each other
        memory = np.empty(40 * 9)
        first = memory[: out[0].size].reshape(out[0].shape)
        second = memory[out[0].size - 1 :][: out[1].size].reshape(out[1].shape)
        assert entry(x, z, out=(first, second, out[2])) is None


@every_width
def test_states_share_what_has_no_batch(lanes):
    inputs, outputs = ((7,), (2,), (3,)), ((4,),)
    entry = entry_of(mixed_plan(inputs, outputs, "host", lanes, 1))
    rng = np.random.default_rng(1)
    for batch in ((1,), (9,), (4, 5), (2, 1, 3)):
        for which in range(1, 7):
            arrays = [
                rng.random((*batch, *shape) if which >> i & 1 else shape)
                for i, shape in enumerate(inputs)
            ]
            whole = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays]
            flat = [x.reshape(-1, x.shape[-1]) for x in whole]
            (right,) = expected(mixed(inputs, outputs), inputs, outputs, *flat)
            found = entry(*arrays)
            assert found.shape == (*batch, 4)
            assert np.array_equal(found.reshape(-1, 4), right)


def test_batches_that_differ_are_left_to_numpy():
    entry = entry_for()
    assert entry(XS, ZS[:3]) is None
    assert entry(XS.reshape(3, 3, 7), ZS) is None
    assert entry(XS.reshape(3, 3, 7), ZS.reshape(9, 1, 2)) is None


@every_width
def test_callers_may_see_other_shapes_than_kernels(lanes):
    inputs, outputs = ((12,), (6,)), ((12,), (2, 3))
    plan = mixed_plan(inputs, outputs, "host", lanes, 1)
    callers = Callers(("a", "b"), {"a": (2, 6), "b": (3, 1, 2)}, ((3, 2, 2), (6,)))
    entry = entry_of(plan, inputs=("a", "b"), callers=callers)
    flat = entry_of(plan)
    rng = np.random.default_rng(2)
    for batch in ((), (5,), (2, 2)):
        a, b = rng.random((*batch, 2, 6)), rng.random((*batch, 3, 1, 2))
        found = entry(a, b)
        right = flat(a.reshape(*batch, 12), b.reshape(*batch, 6))
        assert [x.shape for x in found] == [(*batch, 3, 2, 2), (*batch, 6)]
        for x, y in zip(found, right, strict=True):
            assert np.array_equal(x.ravel(), y.ravel())
        assert entry(a.reshape(*batch, 12), b) is None


def test_arguments_of_all_states_have_no_batch():
    """A list of blocks has their number first, where a batch would stand."""
    entry = entry_for(alone=("z",))
    assert entry(XS, Z) is not None
    assert entry(XS, ZS) is None and entry(X, ZS) is None


def test_ignored_arguments_are_none_or_missing():
    names = "x", "v", "z"
    entry = entry_of(plan_of(), inputs=("x", "z"), callers=Callers(names))
    assert np.array_equal(entry(X, None, Z), 3.0 * X)
    assert np.array_equal(entry(X, z=Z), 3.0 * X)
    assert np.array_equal(entry(X, v=None, z=Z), 3.0 * X)
    assert entry(X, Z, Z) is None and entry(X, z=Z, v=Z) is None
