"""as_matrix: inverses and roots that do not exist, and how exact those are that do."""

import machines
import numpy as np
import pytest
from refusals import Q2, refusal
from symbols import A, assert_close

import phipsi as pp
from phipsi import joints
from phipsi.lowering.dense import as_matrix
from phipsi.operators import D, I, J, Jm, K, Mass, Omega, P, S, S_q, T, V, Y, phi, psi, tau


def massless_tip():
    builder = pp.ModelBuilder("massless tip", strict=False)
    builder.add_body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.add_body("tip", "arm", joints.Revolute((0, 1, 0)), position=(1, 0, 0))
    return builder.build()


@pytest.mark.parametrize("expression", [P, D, D.inv, psi, K, Y, Omega], ids=str)
def test_vanishing_pivot_names_the_joint(expression):
    assert refusal(massless_tip(), expression, [0.1, 0.2], error=pp.SolveError) == (
        "the articulated inertia D of joint 'tip_joint' vanishes: nothing outboard of it resists "
        "its motion; give its bodies mass, or the joint a rotor inertia"
    )


def test_massless_machine_still_has_what_needs_no_pivot():
    model = massless_tip()
    mass = as_matrix(model, Mass, [0.1, 0.2])
    assert not mass[1].any()
    assert refusal(model, Mass.inv, [0.1, 0.2], error=pp.SolveError) == (
        "`Mass` is singular at this configuration: it hardly resists the motion of joint "
        "'tip_joint'"
    )


def test_machine_without_any_mass_is_singular_too():
    builder = pp.ModelBuilder("nothing", strict=False)
    builder.add_body("ghost")
    message = refusal(builder.build(), Mass.inv, [[0.1], [0.2]], error=pp.SolveError)
    assert message.endswith("it hardly resists the motion of joint 'ghost_joint'")


def test_singular_mass_of_independent_coordinates_names_the_joint_that_leads():
    builder = pp.ModelBuilder("idle pair", strict=False)
    builder.add_body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    builder.add_body("lead", "arm")
    builder.add_body("follow", "arm", mimic=("lead_joint", 2.0, 0.0))
    message = refusal(builder.build(), (S_q.T @ Mass @ S_q).inv, [[0.1, 0.2]], error=pp.SolveError)
    assert message.endswith("it hardly resists the motion of joint 'lead_joint'")


def test_pivot_that_vanishes_at_one_state_of_a_batch_is_found():
    """A point mass swung onto the axis of the hub that carries it: nothing resists the hub."""
    builder = pp.ModelBuilder("swing")
    builder.add_body("hub", joint=joints.Revolute((0, 0, 1)))
    builder.add_body("point", "hub", joints.Revolute((0, 1, 0)), mass=1.0, com=(0.1, 0.0, 0.3))
    model = builder.build()
    fine, onto_the_axis = [0.0, 0.0], [0.0, -np.arctan2(0.1, 0.3)]
    inverse = as_matrix(model, D.inv, fine)
    assert_close(inverse, np.diag([1 / 0.1**2, 1 / (0.1**2 + 0.3**2)]))
    message = refusal(model, D.inv, [fine, onto_the_axis], error=pp.SolveError)
    assert message.startswith("the articulated inertia D of joint 'hub_joint' vanishes")


def test_pivot_that_is_roundoff_counts_as_vanishing():
    builder = pp.ModelBuilder("point on its axis")
    builder.add_body("point", joint=joints.Revolute((1, 2, 3)), mass=2.0, com=(0.1, 0.2, 0.3))
    message = refusal(builder.build(), D, [0.4], error=pp.SolveError)
    assert "joint 'point_joint' vanishes" in message


@pytest.mark.parametrize(("length", "mass"), [(1e-9, 1e-24), (1e-3, 1e-6), (1e9, 1e20)])
def test_pivots_do_not_mind_units(length, mass):
    """Small is not singular: D of a tiny machine is that of a large one, scaled."""
    one, other = pp.chain(4), pp.chain(4, length, mass)
    q = one.random(np.random.default_rng(0))
    assert_close(as_matrix(other, D, q) / (mass * length**2), as_matrix(one, D, q))


def test_light_joint_of_a_heavy_body_is_not_singular():
    """A tonne that turns as easily as a coin: mass does not resist a rotation about it."""
    builder = pp.ModelBuilder("top")
    builder.add_body("top", mass=1e3, inertia=(1e-12, 1e-12, 1e-12))
    assert_close(as_matrix(builder.build(), D, [0.3]), [[1e-12]])


def test_gimbal_lock_is_named():
    builder = pp.ModelBuilder("gyroscope")
    builder.add_body("wheel", joint=joints.SphericalEuler("zyx"), mass=1.0, inertia=(1, 1, 1.5))
    message = refusal(builder.build(), D, [0.1, np.pi / 2, 0.2], error=pp.SolveError)
    assert message.startswith("the articulated inertia D of joint 'wheel_joint' is singular")
    assert message.endswith("speeds are not independent at this configuration, as at gimbal lock")


def test_singular_block_is_named():
    model = machines.MARKET["reflected_rotors"]()
    without = next(joint.name for joint in model.joints if joint.rotor_inertia == 0.0)
    assert refusal(model, Jm.inv, model.neutral(), error=pp.SolveError) == (
        f"`Jm` at joint {without!r} is singular at this configuration"
    )


@pytest.mark.parametrize("seed", range(5))
def test_singular_inverse_is_found_also_where_roundoff_hides_it(seed):
    """Six dimensions of a point by five joints: J Mass^-1 J* has rank 5."""
    model = pp.chain(5)
    q = model.random(np.random.default_rng(seed))
    compliance = J @ Mass.inv @ J.T
    message = refusal(model, compliance.inv, q, points=[pp.point("link5")], error=pp.SolveError)
    assert message == "`J @ Mass.inv @ J.T` is singular at this configuration"


def test_inverse_times_a_vector_is_as_exact_as_a_solve():
    """|Mass y - x| is roundoff of |Mass| |y| where Mass is ill-conditioned and y small.

    The explicit inverse times x is not: it loses the condition number, here 1e6.
    """
    model = pp.chain(40)
    q = model.neutral()
    mass = as_matrix(model, Mass, q)
    forces = mass @ np.random.default_rng(0).normal(size=40)

    def residual(y):
        return np.linalg.norm(mass @ y - forces) / np.linalg.norm(mass) / np.linalg.norm(y)

    assert residual(as_matrix(model, Mass.inv @ T, q, T=forces)) < 1e-15
    assert residual(as_matrix(model, Mass.inv, q) @ forces) > 1e-14


def test_inverse_does_not_mind_units():
    """Small is not singular: blocks of 1e-30 and 1e30 are inverted."""
    model = pp.chain(2)
    blocks = [1e-30 * np.eye(6), 1e30 * np.eye(6)]
    inverse = as_matrix(model, (A @ (I + 0 * phi)).inv, model.neutral(), A=blocks)
    assert_close(inverse @ np.diag([1e-30] * 6 + [1e30] * 6), np.eye(12))


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        (tau, "`tau` at body 'link1' has no square root: it is not symmetric"),
        (-1 * D, "`-D` at joint 'joint1' has no square root: it is not positive definite"),
        (D - D, "`D - D` at joint 'joint1' has no square root: it is not positive definite"),
        (S[V], "`S[V]` at body 'link1' has no square root: it is not symmetric"),
    ],
    ids=str,
)
def test_operator_without_a_root_is_named(arm, expression, why):
    assert refusal(arm, expression.sqrt, Q2, [0.1, 0.2], error=pp.SolveError) == why
