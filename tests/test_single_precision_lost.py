"""Digits that single precision loses to joints in between: no state is wrong without a word."""

import numpy as np
import pytest

import phipsi as pp
from phipsi.joints import Free, Prismatic, Revolute, Spherical, Universal
from phipsi.operators import C, J, Mass, T, beta

FALL = Mass.inv @ (T - C)
X, Y, Z = np.eye(3)
TWO_DIGITS = 0.01
STATES = 150

both = pytest.mark.parametrize("unroll", [True, False])


def accepted(model, expression, arguments, unroll, parameters=()):
    """Errors of the states that floats do not complain of, of all states as computed, and double.

    Each error is relative to the largest entry of the result.
    """
    how = {"backend": "llvm", "unroll": unroll, "parameters": parameters}
    made = pp.compile(model, expression, dtype=np.float32, lanes=1, **how)
    exact = pp.compile(model, expression, **how)
    right = exact(*(x.astype(float) for x in arguments))
    size = np.abs(right).reshape(len(right), -1).max(axis=1)

    def error(found):
        return np.abs(found - right).reshape(len(right), -1).max(axis=1) / size

    way = made._compiled_at(made._lists(())).way(1)
    positions = [np.float32(made._positions(()))] if len(way.plan.inputs) > len(arguments) else []
    complains, found = [], []
    for state in zip(*arguments, strict=True):
        before = way.counter[0]
        found.append(way.gufunc(*state, *positions))
        complains.append(way.counter[0] != before)
    return error(np.array(found))[~np.array(complains)], error(made(*arguments))


def states_of(model, seed=0):
    rng = np.random.default_rng(seed)
    q = np.array([model.random(rng) for _ in range(STATES)])
    return [np.float32(x) for x in (q, *rng.normal(size=(2, STATES, model.nv)))]


def wrist(inertia):
    """A heavy point at the end of three axes that meet: hardly anything resists the first."""
    builder = pp.ModelBuilder("wrist")
    builder.add_body("arm", joint=Revolute(Y), mass=5.0, com=(0.2, 0, 0), inertia=0.1 * np.eye(3))
    builder.add_body("first", "arm", Revolute(Z), position=(0.5, 0, 0))
    builder.add_body("second", "first", Revolute(X))
    builder.add_body(
        "tool", "second", Revolute(Y), mass=1.0, com=(0.3, 0.4, 0.5), inertia=inertia * np.eye(3)
    )
    return builder.build()


@both
@pytest.mark.parametrize("inertia", [1e-2, 1e-4, 1e-5, 1e-6, 1e-7])
@pytest.mark.parametrize("expression", [FALL, Mass.inv], ids=str)
def test_a_wrist_with_a_small_heavy_tool(inertia, expression, unroll):
    model = wrist(inertia)
    arguments = states_of(model)[: 3 if expression is FALL else 1]
    passed, final = accepted(model, expression, arguments, unroll)
    assert passed.max(initial=0.0) < TWO_DIGITS and final.max() < TWO_DIGITS
    if inertia < 3e-6:  # nothing passes: all is computed in doubles, and rounded
        assert passed.size == 0 and final.max() < 1e-7
    if inertia > 1e-3:
        assert passed.size > 0.9 * STATES


@both
def test_a_tool_whose_mass_is_an_argument(unroll):
    """Sizes are those of the numbers that are passed: light tools pass, heavy ones do not."""
    model = wrist(1e-7)
    masses = np.float32(np.geomspace(1e-6, 10.0, STATES))
    arguments = [*states_of(model), masses]
    passed, final = accepted(model, FALL, arguments, unroll, ["tool.mass"])
    assert passed.max() < TWO_DIGITS and final.max() < TWO_DIGITS
    assert 0 < passed.size < STATES


KINDS = {
    "revolute": ([Revolute(Z), Revolute(X), Revolute(Y)], 6, 3),
    "spherical": ([Revolute(Z), Revolute(X), Spherical()], 3, 1),
    "universal": ([Universal()], 3, 1),
    "free": ([Free(), Spherical()], 2, 0),
    "sliding": ([Revolute(Z), Prismatic(X), Revolute(Y)], 6, 2),
}


def arm(kind, inertia, rng):
    """Of random lengths, points for masses; the last joints meet in one place."""
    joints, n, meeting = KINDS[kind]
    builder, parent = pp.ModelBuilder(kind), "world"
    for k in range(n):
        position = rng.normal(size=3) if k < n - meeting else (0, 0, 0)
        body = {"mass": 1.0, "com": rng.normal(size=3), "inertia": inertia * np.eye(3)}
        if n - meeting <= k < n - 1:
            body = {}
        builder.add_body(f"b{k}", parent, joints[k % len(joints)], position=position, **body)
        parent = f"b{k}"
    return builder.build()


@both
@pytest.mark.parametrize("kind", KINDS)
def test_arms_with_tools_like_points(kind, unroll):
    rng = np.random.default_rng(5)
    for inertia in (1e-2, 1e-5, 1e-7):
        model = arm(kind, inertia, rng)
        passed, final = accepted(model, FALL, states_of(model), unroll)
        assert passed.max(initial=0.0) < TWO_DIGITS and final.max() < TWO_DIGITS
        assert inertia < 1e-2 or passed.size > 0.7 * STATES


TIP = pp.point("link6")
OPERATIONAL = (J(TIP) @ Mass.inv @ J(TIP).T).inv


@both
@pytest.mark.parametrize("expression", [OPERATIONAL, OPERATIONAL @ J(TIP) @ beta], ids=str)
def test_operational_inertia_near_singular_states(expression, unroll):
    """The inverse, and the solve, of the Puma; some wrists and elbows are nearly straight."""
    model, rng = pp.examples.puma560(), np.random.default_rng(0)
    q = rng.uniform(-np.pi, np.pi, size=(4 * STATES, 6))
    q[::4, 4] = 10.0 ** rng.uniform(-4, 0, STATES)
    q[1::4, 2] = -np.pi / 2 + 10.0 ** rng.uniform(-4, 0, STATES)
    v = rng.normal(size=q.shape)
    arguments = [np.float32(x) for x in (q, v)][: 1 if expression is OPERATIONAL else 2]
    passed, final = accepted(model, expression, arguments, unroll)
    assert passed.max() < TWO_DIGITS and final.max() < TWO_DIGITS
    assert passed.size > STATES


@both
@pytest.mark.parametrize("model", [pp.examples.puma560(), pp.chain(30)], ids=lambda x: x.name)
def test_ordinary_machines_cause_no_alarm(model, unroll):
    """Nor do long chains, though little of their inertia resists the first joint."""
    passed, final = accepted(model, FALL, states_of(model), unroll)
    assert passed.size == STATES and final.max() < 1e-3
