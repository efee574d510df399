"""Dynamics over batches: each state by itself, whatever the shape, and nothing shared."""

import asked
import machines
import numpy as np
import pytest

ON = ["star_of_free_bodies", "mimics"]  # every point can move anyhow; joints follow others


def results(name, model, arguments):
    """The value of a function as a tuple of arrays."""
    found = asked.function(name)(model, **arguments)
    return found if isinstance(found, tuple) else (found,)


CASES = [
    (machine, name)
    for machine in ON
    for name in asked.NAMES
    if (machine, name) != ("mimics", "operational_inertia")
]


@pytest.fixture(params=CASES, ids="-".join)
def case(request):
    machine, name = request.param
    return name, machines.MARKET[machine]()


def taken(arguments, i):
    """The arguments at one place of the batch."""

    def one(x):
        if isinstance(x, dict):
            return {key: y[i] for key, y in x.items()}
        return x[i] if isinstance(x, np.ndarray) else x

    return {key: one(x) for key, x in arguments.items()}


def test_batch_is_each_state_by_itself(case):
    name, model = case
    arguments = asked.arguments(name, model, (2, 3)) | asked.options(name, model, (2, 3))
    for i in np.ndindex(2, 3):
        alone = results(name, model, taken(arguments, i))
        for whole, part in zip(results(name, model, arguments), alone, strict=True):
            assert whole.shape == (2, 3, *part.shape)
            np.testing.assert_allclose(whole[i], part, rtol=1e-9, atol=1e-9)


def test_arguments_broadcast_against_each_other(case):
    """Each argument in turn with a batch, the others without one."""
    name, model = case
    single = asked.arguments(name, model) | asked.options(name, model)
    many = asked.arguments(name, model, (4,), 5) | asked.options(name, model, (4,), 6)
    for key in single:
        if key == "points":
            continue
        mixed = single | {key: many[key]}
        for whole, *parts in zip(
            results(name, model, mixed),
            *(results(name, model, single | {key: taken(many, i)[key]}) for i in range(4)),
            strict=True,
        ):
            np.testing.assert_allclose(whole, np.array(parts), rtol=1e-9, atol=1e-9)


def test_empty_batch_gives_empty_results(case):
    name, model = case
    empty = asked.arguments(name, model, (0, 2)) | asked.options(name, model, (0, 2))
    full = results(name, model, asked.arguments(name, model))
    for nothing, one in zip(results(name, model, empty), full, strict=True):
        assert nothing.shape == (0, 2, *one.shape)
        assert nothing.dtype == float


def test_results_are_fresh_floats_and_arguments_stay(case):
    name, model = case
    arguments = asked.arguments(name, model) | asked.options(name, model)
    kept = {key: np.copy(x) for key, x in arguments.items() if isinstance(x, np.ndarray)}
    first = results(name, model, arguments)
    copies = [np.copy(x) for x in first]
    for x in first:
        assert isinstance(x, np.ndarray)
        assert x.dtype == float
        x[...] = np.nan  # what a user does with a result is no one else's business
    for again, copy in zip(results(name, model, arguments), copies, strict=True):
        np.testing.assert_array_equal(again, copy)
    for key, x in kept.items():
        np.testing.assert_array_equal(arguments[key], x)


def test_strides_and_lists_do_not_matter(case):
    name, model = case
    arguments = asked.arguments(name, model, (3,))
    views = {}
    for key, x in arguments.items():
        if isinstance(x, np.ndarray):
            wide = np.repeat(x, 2, axis=-1)
            views[key] = wide[..., ::2]
        else:
            views[key] = x
    lists = {key: x.tolist() if isinstance(x, np.ndarray) else x for key, x in arguments.items()}
    for want, view, plain in zip(
        results(name, model, arguments),
        results(name, model, views),
        results(name, model, lists),
        strict=True,
    ):
        np.testing.assert_array_equal(view, want)
        np.testing.assert_array_equal(plain, want)
