"""as_matrix: what it refuses, how it broadcasts, and that its numbers are physics."""

import tracemalloc

import machines
import numpy as np
import pytest

import phipsi as pp
from phipsi import joints
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.walk import walk
from phipsi.lowering import dense
from phipsi.lowering.dense import as_matrix
from phipsi.model.tree import WORLD
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    E_phi,
    Gamma_delta,
    H,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    P,
    Q,
    S,
    S_q,
    T,
    V,
    Y,
    a,
    alpha,
    b,
    beta,
    beta_dot,
    blockdiag,
    f,
    f0,
    operator,
    phi,
    psi,
    scalar,
    tau,
    vector,
)

STEP = 1e-30
Q2 = [0.3, -0.5]
A = operator("A", "body", "body")
L = operator("L", "body", "joint")
x = vector("x", "body")
k = scalar("k")


@pytest.fixture(scope="module")
def arm():
    return pp.examples.planar_arm(2)


def refusal(*arguments, error=pp.InputError, **keywords):
    """The message with which as_matrix refuses."""
    with pytest.raises(error) as caught:
        as_matrix(*arguments, **keywords)
    return str(caught.value)


def assert_close(left, right, tolerance=1e-10, scale=0.0):
    size = max(np.linalg.norm(left), np.linalg.norm(right), scale)
    assert np.shape(left) == np.shape(right)
    assert np.linalg.norm(left - right) <= tolerance * size


# -- what is refused -------------------------------------------------------------------


def test_model_and_expression_must_be_what_they_are_called(arm):
    assert refusal("arm", H, Q2) == "as_matrix: expected a Model, got str"
    assert refusal(arm, "H", Q2) == "as_matrix: expected an expression, got str"
    assert refusal(arm, Q, Q2) == "as_matrix: expected an expression, got Opener"
    assert refusal(arm, np.eye(2), Q2) == "as_matrix: expected an expression, got ndarray"


def test_open_identity_has_no_matrix(arm):
    advice = "is open; compose it with an operator"
    assert refusal(arm, I, Q2) == f"as_matrix: the space of `I` {advice}"
    assert refusal(arm, 2 * I + I, Q2) == f"as_matrix: the space of `2 * I + I` {advice}"


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ([0.0], "q has shape (1,); expected (*batch, 2), nq of 'planar arm of 2' being 2"),
        (0.0, "q has shape (); expected (*batch, 2), nq of 'planar arm of 2' being 2"),
        (None, "q has shape ()"),
        (np.zeros((2, 3)), "q has shape (2, 3)"),
        ([0.0, np.nan], "q[1] is nan; expected finite numbers"),
        ([[0.0, 1.0], [np.inf, 0.0]], "q[1, 0] is inf; expected finite numbers"),
        (["a", "b"], "q: expected numbers, got ['a', 'b']"),
        ([[0.0, 1.0], [2.0]], "q: expected numbers, got [[0.0, 1.0], [2.0]]"),
        ([object(), 1.0], "q: expected numbers, got "),
    ],
)
def test_configuration_that_is_none_is_refused(arm, q, message):
    assert refusal(arm, H, q).startswith(message)


def test_quaternion_must_have_length_one():
    craft = pp.examples.spacecraft()
    q = craft.neutral()
    q[:4] *= 2.0
    message = refusal(craft, H, q)
    assert message.startswith("q: the quaternion of joint 'root' has length 2; expected 1")


@pytest.mark.parametrize(
    ("v", "message"),
    [
        ([1.0], "v has shape (1,); expected (*batch, 2), nv of 'planar arm of 2' being 2"),
        ([1.0, np.nan], "v[1] is nan; expected finite numbers"),
        ("fast", "v: expected numbers, got 'fast'"),
    ],
)
def test_speeds_that_are_none_are_refused(arm, v, message):
    assert refusal(arm, V, Q2, v) == message


@pytest.mark.parametrize("expression", [beta, V, a, b, C, Mass @ T - C, S[V]], ids=str)
def test_missing_speeds_are_asked_for(arm, expression):
    values = {"T": np.zeros(2)} if "T" in str(expression) else {}
    assert refusal(arm, expression, Q2, **values) == (
        f"`{expression}` depends on the speeds: pass v=..."
    )


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        (T, "a vector of joint space"),
        (phi @ x, "a vector of body space"),
        (k * M, "a number"),
        (H @ A, "a block-diagonal map of body space to body space"),
        (L @ phi, "a block-diagonal map of body space to joint space"),
    ],
    ids=str,
)
def test_missing_value_is_asked_for(arm, expression, kind):
    name = next(n.name for n in walk(expression) if isinstance(n, Symbol) and n.free)
    assert refusal(arm, expression, Q2) == (
        f"`{expression}` needs a value for {name}, {kind}: pass {name}=..."
    )


def test_first_of_several_missing_values_is_asked_for(arm):
    """Deterministic: the order of the expression, not of a hash."""
    names = [f"z{i}" for i in range(8)]
    expression = sum(vector(name, "joint") for name in names)
    assert "needs a value for z0," in refusal(arm, expression, Q2)
    values = dict.fromkeys(names[:5], np.zeros(2))
    assert "needs a value for z5," in refusal(arm, expression, Q2, **values)


def test_unknown_value_lists_the_free_symbols(arm):
    message = refusal(arm, T - C, Q2, [0, 0], T=[0, 0], tau=[0, 0])
    assert message == "`T - C` has no free symbol 'tau'; Valid names: 'T'"
    assert refusal(arm, H, Q2, M=3).endswith("Valid names: (none)")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            [0.0],
            "T has shape (1,); expected (*batch, 2), the size of joint space of "
            "'planar arm of 2' being 2",
        ),
        (0.0, "T has shape ()"),
        (None, "T has shape ()"),
        ([np.nan, 0.0], "T[0] is nan; expected finite numbers"),
        ("no", "T: expected numbers, got 'no'"),
    ],
)
def test_vector_value_that_is_none_is_refused(arm, value, message):
    assert refusal(arm, T, Q2, T=value).startswith(message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            [np.eye(6)],
            "A: expected 2 blocks, one for each block of body space of 'planar arm of 2', got 1",
        ),
        (
            3.0,
            "A: expected 2 blocks, one for each block of body space of "
            "'planar arm of 2', got float",
        ),
        (np.zeros((3, 6, 6)), "A: expected 2 blocks, one for each"),
        ([np.eye(6), np.eye(5)], "A[1] has shape (5, 5); expected (*batch, 6, 6), the block"),
        ([np.eye(6), 1.0], "A[1] has shape (); expected (*batch, 6, 6)"),
        ([np.eye(6), np.full((6, 6), np.nan)], "A[1][0, 0] is nan; expected finite numbers"),
        ("AB", "A[0]: expected numbers, got 'A'"),
        (
            [np.zeros((2, 6, 6)), np.zeros((3, 6, 6))],
            "the batches do not broadcast: A[0] (2,), A[1] (3,)",
        ),
    ],
)
def test_blocks_that_do_not_fit_are_refused(arm, value, message):
    assert refusal(arm, A, Q2, A=value).startswith(message)


def test_scalar_value_that_is_none_is_refused(arm):
    assert refusal(arm, k * M, Q2, k="two") == "k: expected numbers, got 'two'"
    assert refusal(arm, k * M, Q2, k=np.nan) == "k[] is nan; expected finite numbers"


def test_two_symbols_of_one_name_are_refused(arm):
    """Also where a letter of the algebra has the name of none: only free ones can clash."""
    expression = H @ x + vector("x", "joint")
    assert refusal(arm, expression, Q2, x=np.zeros(12)) == (
        "two symbols are called 'x': a vector of body space, and a vector of joint space; "
        "rename one"
    )


@pytest.mark.parametrize("axes", ["World", "body", "", None, 3])
def test_unknown_axes_are_refused(arm, axes):
    message = refusal(arm, H, Q2, axes=axes)
    assert message.startswith(f"axes: unknown {axes!r}; ")
    assert message.endswith("Valid names: 'link', 'world'")


def test_batches_that_do_not_broadcast_are_refused(arm):
    message = refusal(arm, V, np.zeros((2, 2)), np.zeros((3, 2)))
    assert message == "the batches do not broadcast: q (2,), v (3,)"
    message = refusal(arm, Mass @ T, np.zeros((2, 2)), T=np.zeros((3, 2)))
    assert message == "the batches do not broadcast: q (2,), T (3,)"


# -- points and joints by name ---------------------------------------------------------


@pytest.mark.parametrize("expression", [B, J, J @ Mass.inv @ J.T, B @ f0], ids=str)
def test_points_must_be_passed_or_written(arm, expression):
    values = {"f0": np.zeros(6)} if "f0" in str(expression) else {}
    assert refusal(arm, expression, Q2, **values) == (
        "B and J stand for points: pass points=[pp.point(...), ...] or write B(pp.point(...))"
    )


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], "points: the list is empty; pass points=[pp.point(...), ...]"),
        (
            pp.point("tip"),
            "points: expected a list of pp.point(...), got Point(frame='tip', "
            "position=(0.0, 0.0, 0.0))",
        ),
        (5, "points: expected a list of pp.point(...), got 5"),
        (["tip"], "points: expected pp.point(body_or_frame, position), got 'tip'"),
        ([[0, 0, 0]], "points: expected pp.point(body_or_frame, position), got [0, 0, 0]"),
        ([None], "points: expected pp.point(body_or_frame, position), got None"),
    ],
)
def test_points_that_are_none_are_refused(arm, points, message):
    assert refusal(arm, J, Q2, points=points) == message


def test_letter_at_something_else_than_points_is_refused(arm):
    message = refusal(arm, J("tip"), Q2)
    assert message == "points: expected pp.point(body_or_frame, position), got 'tip'"


def test_unknown_frame_of_a_point_lists_the_known_ones(arm):
    for expression, points in ((J, [pp.point("tpi")]), (J(pp.point("tpi")), None)):
        assert refusal(arm, expression, Q2, points=points) == (
            "'planar arm of 2' has no frame 'tpi'; did you mean 'tip'? "
            "Valid names: 'tip', 'link1', 'link2'"
        )


def test_point_space_without_points_has_no_size(arm):
    message = "the expression maps point space: pass points=[pp.point(...), ...]"
    assert refusal(arm, f0, Q2, f0=np.zeros(6)) == message
    Z = operator("Z", "point", "point")
    assert refusal(arm, Z, Q2, Z=[np.eye(6)]) == message


def test_different_numbers_of_points_do_not_mix(arm):
    tip, elbow = pp.point("tip"), pp.point("link2")
    mixed = J(tip) + J(tip, elbow)
    assert refusal(arm, mixed, Q2) == f"`{mixed}` mixes letters at different numbers of points"
    mixed = B(tip) @ J(tip, elbow)
    assert refusal(arm, mixed, Q2) == f"`{mixed}` mixes letters at different numbers of points"
    unclear = B(tip) @ f0 + B(tip, elbow) @ f0
    assert refusal(arm, unclear, Q2, f0=np.zeros(6)) == (
        "the size of point space is not clear: the expression has letters at 1 and 2 points"
    )


def test_letters_at_different_points_mix_where_the_spaces_allow(arm):
    tip, elbow = pp.point("tip"), pp.point("link2")
    both = as_matrix(arm, J, Q2, points=[tip, elbow])
    assert np.array_equal(as_matrix(arm, J(tip, elbow), Q2), both)
    assert_close(as_matrix(arm, J(tip) @ J(tip, elbow).T, Q2), both[:6] @ both.T)
    assert_close(as_matrix(arm, J(tip) - J(elbow), Q2), both[:6] - both[6:])
    bare_and_own = as_matrix(arm, J - J(elbow), Q2, points=[tip])
    assert_close(bare_and_own, both[:6] - both[6:])
    assert_close(as_matrix(arm, I + J(tip) @ J(elbow).T, Q2), np.eye(6) + both[:6] @ both[6:].T)


def test_points_on_one_body_are_coupled(arm):
    """B* M B is memoryless, yet joins two points of one body: inverse and root see both."""
    points = [pp.point("link2"), pp.point("tip")]
    Z = operator("Z", "point", "point")
    coupled = Z + B.T @ M @ B
    assert coupled.causality.value == "memoryless"
    known = {"points": points, "Z": [np.eye(6), 2 * np.eye(6)]}
    matrix = as_matrix(arm, coupled, Q2, **known)
    assert matrix[:6, 6:].any()
    assert_close(as_matrix(arm, coupled.inv, Q2, **known), np.linalg.inv(matrix))
    root = as_matrix(arm, coupled.sqrt, Q2, **known)
    assert_close(root @ root.T, matrix)


def test_points_on_the_world_do_not_move():
    model = machines.MARKET["welded"]()
    on_world = [frame.name for frame in model.frames if frame.body == WORLD]
    assert on_world == ["stand"]
    q = model.random(np.random.default_rng(0))
    points = [pp.point("stand", (1.0, 2.0, 3.0)), pp.point("tip")]
    for axes in ("link", "world"):
        matrix = as_matrix(model, J, q, axes=axes, points=points)
        assert not matrix[:6].any()
        assert matrix[6:].any()


@pytest.mark.parametrize(
    ("letter", "message"),
    [
        (
            HH,
            "HH, HH_s, HH_delta and Gamma_delta belong to a joint and one of its speeds: "
            "write HH(joint) or HH(joint, axis)",
        ),
        (Gamma_delta, "HH, HH_s, HH_delta and Gamma_delta belong to a joint"),
        (HH(0, 0, 0), "HH, HH_s, HH_delta and Gamma_delta belong to a joint"),
        (
            HH("joint3"),
            "'planar arm of 2' has no joint or body 'joint3'; did you mean 'joint2'? "
            "Valid names: 'joint1', 'joint2', 'link1', 'link2'",
        ),
        (HH(2), "no joint 2; expected a name or a number from 0 to 1"),
        (HH(-1), "no joint -1; expected a name or a number from 0 to 1"),
        (HH(1.5), "no joint 1.5; expected a name or a number from 0 to 1"),
        (HH(None), "no joint None; expected a name or a number from 0 to 1"),
        (HH(0, 1), "joint 'joint1' has no speed 1; expected a number from 0 to 0"),
        (Gamma_delta(0, -1), "joint 'joint1' has no speed -1; expected a number from 0 to 0"),
        (HH(0, "x"), "joint 'joint1' has no speed 'x'; expected a number from 0 to 0"),
    ],
    ids=str,
)
def test_joint_or_speed_that_is_none_is_refused(arm, letter, message):
    assert refusal(arm, letter, Q2).startswith(message)


# -- too large -------------------------------------------------------------------------


def test_machine_too_large_for_matrices_is_refused_before_memory_is_taken():
    model = pp.chain(100_000)
    q = model.neutral()
    blocks = [np.zeros((6, 6))] * len(model.bodies)
    for expression, values in ((Mass, {}), (Jm, {}), (A @ phi, {"A": blocks})):
        tracemalloc.start()
        message = refusal(model, expression, q, **values)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert message.startswith("as_matrix: 100000 bodies and batch () ask for up to ")
        assert message.endswith("matrices of 2.88e+03 GB each; use a smaller machine or batch")
        assert peak < 200e6


def test_batch_too_large_for_matrices_is_refused(arm):
    q = np.zeros((2_000_000, 2))
    message = refusal(arm, Mass, q)
    assert message.startswith("as_matrix: 2 bodies and batch (2000000,) ask for up to ")
    many = np.zeros((2_000_000, 2))
    assert "batch (2000000,) ask for up to" in refusal(arm, Mass @ T, Q2, T=many)


def test_limit_is_about_memory_not_about_bodies():
    """A hundred bodies are a small machine."""
    model = pp.chain(100)
    assert as_matrix(model, H @ phi, model.neutral()).shape == (100, 600)
    assert dense.LARGEST < 1e10


# -- singular --------------------------------------------------------------------------


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
    assert "`Mass` is singular" in refusal(model, Mass.inv, [0.1, 0.2], error=pp.SolveError)


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


# -- numbers in, numbers out -----------------------------------------------------------

MANY = [H, phi, Mass, P, D.sqrt, Omega, Y, S[V], C, Mass.inv @ (T - C), J, beta.T @ Mass @ beta]
MANY += [HH(0), Gamma_delta(0), alpha, blockdiag(phi @ M @ phi.T), S_q, B @ f0]


def values_of(expression, model, rng, batch=()):
    """Random values of the free symbols in an expression."""
    sizes = {"T": model.joints[-1].rows.stop, "beta_dot": model.joints[-1].rows.stop, "f0": 6}
    free = {node.name for node in walk(expression) if isinstance(node, Symbol) and node.free}
    return {name: rng.normal(size=(*batch, sizes[name])) for name in free}


@pytest.mark.parametrize("machine", ["branching_tree", "forest", "mimics", "spacecraft"])
@pytest.mark.parametrize("axes", ["link", "world"])
def test_batch_equals_a_loop_over_its_states(machine, axes):
    """q (3, 1, nq), v (2, nv) and values (2,): the result has batch (3, 2)."""
    model = machines.MARKET[machine]()
    rng = np.random.default_rng(0)
    q = np.array([machines.random_state(model, rng)[0] for _ in range(3)])[:, None]
    v = rng.normal(size=(2, model.nv))
    points = [pp.point(model.bodies[-1].name, (0.1, 0.2, 0.3))]
    for expression in MANY:
        values = values_of(expression, model, rng, (2,))
        whole = as_matrix(model, expression, q, v, axes=axes, points=points, **values)
        assert whole.shape[:2] == (3, 2)
        for i in range(3):
            for j in range(2):
                own = {name: value[j] for name, value in values.items()}
                one = as_matrix(model, expression, q[i, 0], v[j], axes=axes, points=points, **own)
                assert_close(whole[i, j], one, tolerance=1e-12, scale=1e-12)


def test_shapes_are_of_the_batch_and_of_the_spaces(arm):
    q = np.zeros((4, 3, 2))
    assert as_matrix(arm, H, q).shape == (4, 3, 2, 12)
    assert as_matrix(arm, M, q).shape == (4, 3, 12, 12)  # constant, but one for each state
    assert as_matrix(arm, T, q, T=[1.0, 2.0]).shape == (4, 3, 2)
    assert as_matrix(arm, T, Q2, T=np.zeros((5, 2))).shape == (5, 2)
    assert as_matrix(arm, beta.T @ beta, q, [1.0, 2.0]).shape == (4, 3)
    assert as_matrix(arm, k * beta.T @ beta, Q2, [1.0, 2.0], k=[1.0, 2.0]).tolist() == [5.0, 10.0]
    assert as_matrix(arm, V.T, Q2, [1.0, 2.0]).shape == (1, 12)
    assert as_matrix(arm, Mass.inv, np.zeros((0, 2))).shape == (0, 2, 2)
    assert np.ndim(as_matrix(arm, beta.T @ beta, Q2, [1.0, 2.0])) == 0


def test_user_operators_come_by_blocks_with_their_own_batch(arm):
    rng = np.random.default_rng(0)
    blocks = [rng.normal(size=(5, 6, 6)), rng.normal(size=(6, 6))]
    whole = as_matrix(arm, A, Q2, A=blocks)
    assert whole.shape == (5, 12, 12)
    for i in range(5):
        expected = np.block([[blocks[0][i], np.zeros((6, 6))], [np.zeros((6, 6)), blocks[1]]])
        assert np.array_equal(whole[i], expected)
    maps = rng.normal(size=(2, 1, 6))
    matrix = as_matrix(arm, L, Q2, L=maps)
    assert np.array_equal(matrix, [[*maps[0, 0], *np.zeros(6)], [*np.zeros(6), *maps[1, 0]]])
    Z = operator("Z", "point", "point")
    points = [pp.point("tip"), pp.point("link1")]
    weights = [np.diag(np.arange(6.0)), 2 * np.eye(6)]
    weighted = as_matrix(arm, J.T @ Z @ J, Q2, points=points, Z=weights)
    jacobian = as_matrix(arm, J, Q2, points=points)
    both = jacobian[:6].T @ weights[0] @ jacobian[:6] + 2 * jacobian[6:].T @ jacobian[6:]
    assert_close(weighted, both)


@pytest.mark.parametrize(
    "layout",
    [
        lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
        lambda x: np.asfortranarray(x),
        lambda x: x[::-1].copy()[::-1],
        lambda x: np.moveaxis(np.moveaxis(x, 0, -1).copy(), -1, 0),
        lambda x: x.tolist(),
    ],
    ids=["strided", "fortran", "reversed", "transposed", "list"],
)
def test_layout_of_the_arrays_does_not_matter(layout):
    model = machines.MARKET["serial_multidof"]()
    rng = np.random.default_rng(1)
    q = np.array([machines.random_state(model, rng)[0] for _ in range(3)])
    v, forces = rng.normal(size=(2, 3, model.nv))
    expression = Mass.inv @ (T - C)
    expected = as_matrix(model, expression, q, v, T=forces)
    result = as_matrix(model, expression, layout(q), layout(v), T=layout(forces))
    assert np.array_equal(result, expected)


def test_inputs_are_not_written_and_results_not_shared():
    model = machines.MARKET["tree_one_dof"]()
    rng = np.random.default_rng(2)
    q, v = machines.random_state(model, rng)
    forces = rng.normal(size=model.nv)
    blocks = [np.eye(6) for _ in model.bodies]
    for array in (q, v, forces, *blocks):
        array.flags.writeable = False
    cases = [(T, {"T": forces}), (A, {"A": blocks}), (beta, {}), (M, {}), (H, {}), (Mass, {})]
    for expression, values in cases:
        first = as_matrix(model, expression, q, v, **values)
        again = first.copy()
        assert not any(np.shares_memory(first, x) for x in (q, v, forces, *blocks))
        first[...] = np.nan  # ours to spoil
        assert np.array_equal(as_matrix(model, expression, q, v, **values), again)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8, bool, object])
def test_numbers_of_any_kind_are_computed_with_in_double(dtype, arm):
    q, v, forces = (np.array(x, dtype) for x in ([0, 1], [1, 0], [1, 1]))
    result = as_matrix(arm, Mass.inv @ (T - C), q, v, T=forces)
    assert result.dtype == np.float64
    assert np.array_equal(
        result, as_matrix(arm, Mass.inv @ (T - C), [0.0, 1.0], [1.0, 0.0], T=[1.0, 1.0])
    )


def test_long_doubles_are_refused_and_not_rounded(arm):
    if np.longdouble is np.float64 or np.finfo(np.longdouble).eps == np.finfo(float).eps:
        pytest.skip("long double is double here")
    message = refusal(arm, phi, np.array(Q2, np.longdouble))
    assert message.startswith("`phi` is evaluated in double precision, not in ")
    assert "not in" in refusal(arm, T, Q2, T=np.zeros(2, np.longdouble))


def test_complex_numbers_give_complex_results_of_real_value(arm):
    real = as_matrix(arm, Mass, Q2)
    result = as_matrix(arm, Mass, np.array(Q2, complex))
    assert result.dtype == np.complex128
    assert_close(result, real)
    forces = np.array([1.0 + 2.0j, 0.0])
    assert_close(as_matrix(arm, Mass.inv @ T, Q2, T=forces), np.linalg.solve(real, forces))


# -- complex steps ---------------------------------------------------------------------


@pytest.mark.parametrize("machine", ["serial_multidof", "forest", "reflected_rotors", "mimics"])
@pytest.mark.parametrize("expression", [phi, Mass, P, D.sqrt, Omega, C, Mass.inv @ T, J], ids=str)
def test_complex_step_is_the_derivative(machine, expression):
    """Against central differences with one Richardson step, 1e-8 relative."""
    model = machines.MARKET[machine]()
    rng = np.random.default_rng(3)
    q, v = machines.random_state(model, rng)
    along = rng.normal(size=model.nv)
    deepest = model.bodies[np.argmax(model.tree.depth)]
    points = [pp.point(deepest.name, (0.1, 0.2, 0.3))]
    values = values_of(expression, model, rng)

    def value(step):
        moved = pp.integrate(model, q, step * along)
        return as_matrix(model, expression, moved, v, points=points, **values)

    def slope(h):
        return (value(h) - value(-h)) / (2 * h)

    exact = value(1j * STEP).imag / STEP
    h = 1e-3
    assert_close(exact, (4 * slope(h / 2) - slope(h)) / 3, tolerance=1e-8)
    assert np.linalg.norm(exact) > 1e-6 * np.linalg.norm(value(0.0))


def test_complex_step_passes_through_the_cholesky_factor():
    """d(L L*) = dL L* + L dL*, dL lower triangular; NumPy's own factor would conjugate."""
    model = machines.MARKET["serial_multidof"]()
    rng = np.random.default_rng(4)
    q, _ = machines.random_state(model, rng)
    moved = pp.integrate(model, q, 1j * STEP * rng.normal(size=model.nv))
    root, step = as_matrix(model, D.sqrt, q), as_matrix(model, D.sqrt, moved).imag / STEP
    rate = as_matrix(model, D, moved).imag / STEP
    assert_close(step @ root.T + root @ step.T, rate)
    assert np.array_equal(step, np.tril(step))


# -- world axes ------------------------------------------------------------------------


def poses(model, q):
    """World pose of each body by homogeneous matrices; mimic joints follow their leaders."""
    result = []
    for body, joint in zip(model.bodies, model.joints, strict=True):
        own = q[joint.q]
        if joint.mimic is not None:
            own = joint.mimic.ratio * own + joint.mimic.offset
        local = np.eye(4, dtype=q.dtype)
        rotation, position = joint.kind.transform(list(own))
        local[:3, :3], local[:3, 3] = np.array(rotation), np.array(position)
        pose = joint.placement.matrix @ local
        result.append(pose if body.parent == WORLD else result[body.parent] @ pose)
    return result


def axes_of(model, q, points):
    """X of each space: body and point blocks turned into world axes."""
    turns = [np.kron(np.eye(2), pose[:3, :3]) for pose in poses(model, q)]
    on = [turns[model.locate(point)[0]] for point in points]
    spaces = {"body": turns, "point": on}
    return {name: _diagonal(blocks) for name, blocks in spaces.items()}


def _diagonal(blocks):
    size = sum(len(block) for block in blocks)
    result, at = np.zeros((size, size)), 0
    for block in blocks:
        result[at : at + len(block), at : at + len(block)] = block
        at += len(block)
    return result


TURNED = [
    H,
    M,
    E_phi,
    phi,
    P,
    K,
    psi,
    Omega,
    Y,
    S,
    HH(0),
    B,
    J,
    V,
    S[V],
    f,
    C,
    Mass,
    S_q,
    D.sqrt,
    f0,
]


@pytest.mark.parametrize("machine", ["branching_tree", "forest", "mimics"])
def test_world_axes_turn_every_block(machine):
    """A_world = X A_link X*, X = diag(R_k, R_k); D.sqrt, C and Mass have no axes to turn.

    A value of a free symbol is in the axes asked for, so it stays.
    """
    model = machines.MARKET[machine]()
    rng = np.random.default_rng(5)
    q, v = machines.random_state(model, rng)
    points = [pp.point(model.bodies[i].name, (0.1, 0.2, 0.3)) for i in (0, -1)]
    X = axes_of(model, q, points)
    values = {"beta_dot": rng.normal(size=model.joints[-1].rows.stop), "f0": rng.normal(size=12)}
    for expression in TURNED:
        free = {n.name for n in walk(expression) if isinstance(n, Symbol) and n.free}
        own = {name: values[name] for name in free}
        link, world = (
            as_matrix(model, expression, q, v, axes=axes, points=points, **own)
            for axes in ("link", "world")
        )
        if expression is f0:
            assert np.array_equal(link, world)
            continue
        left = X.get(expression.target.name)
        right = X.get(expression.source.name)
        turned = link if left is None else left @ link
        turned = turned if right is None else turned @ right.T
        assert_close(world, turned)


def test_world_accelerations_are_those_of_the_papers():
    """alpha in world axes is X (A + [0; omega x v]): the rate of the world velocity."""
    model = machines.MARKET["tree_of_every_kind"]()
    rng = np.random.default_rng(6)
    q, v = machines.random_state(model, rng)
    rates = rng.normal(size=model.nv)
    X = axes_of(model, q, [])["body"]
    A_link = as_matrix(model, alpha, q, v, beta_dot=rates)
    velocity = as_matrix(model, V, q, v).reshape(-1, 6)
    convective = np.array([[0, 0, 0, *np.cross(w[:3], w[3:])] for w in velocity]).ravel()
    world = as_matrix(model, alpha, q, v, axes="world", beta_dot=rates)
    assert_close(world, X @ (A_link + convective))
    moved, speeds = pp.integrate(model, q, 1j * STEP * v), v + 1j * STEP * rates
    rate = as_matrix(model, V, moved, speeds, axes="world").imag / STEP
    felt = np.tile([0, 0, 0, *(-np.array(model.gravity))], len(model.bodies))
    assert_close(world, rate + felt)


# -- physics: mimics, rotors, points ---------------------------------------------------


def body_jacobians(model, q):
    """V_k = jacobian_k v by complex steps of the poses: no operator takes part."""
    jacobians = np.zeros((len(model.bodies), 6, model.nv))
    here = poses(model, q)
    for i, unit in enumerate(np.eye(model.nv)):
        moved = poses(model, pp.integrate(model, q, 1j * STEP * unit))
        for body, (pose, rate) in enumerate(zip(here, moved, strict=True)):
            local = np.linalg.inv(pose) @ rate.imag / STEP
            jacobians[body, :, i] = local[2, 1], local[0, 2], local[1, 0], *local[:3, 3]
    return jacobians


@pytest.mark.parametrize("machine", ["mimics", "rotor_bodies", "reflected_rotors"])
def test_projected_mass_is_the_kinetic_energy_in_independent_speeds(machine):
    """S_q* Mass S_q = sum_k J_k* M_k J_k + the motors' share, J_k from the poses alone."""
    model = machines.MARKET[machine]()
    q, _ = machines.random_state(model, np.random.default_rng(7))
    expected = np.zeros((model.nv, model.nv))
    for body, jacobian in zip(model.bodies, body_jacobians(model, q), strict=True):
        expected += jacobian.T @ body.inertia.matrix @ jacobian
    for joint in model.joints:
        ratio = 1.0 if joint.mimic is None else joint.mimic.ratio
        for i in range(joint.v.start, joint.v.stop):
            expected[i, i] += ratio**2 * joint.gear_ratio**2 * joint.rotor_inertia
    assert_close(as_matrix(model, S_q.T @ Mass @ S_q, q), expected)


@pytest.mark.parametrize("machine", ["mimics", "rotor_bodies", "reflected_rotors"])
def test_projected_motion_without_forces_conserves_energy(machine):
    """vdot = (S_q* Mass S_q)^-1 (-S_q* C); d/dt (kinetic + potential) = 0 along it."""
    model = machines.MARKET[machine]()
    q, v = machines.random_state(model, np.random.default_rng(8))
    mass = as_matrix(model, S_q.T @ Mass @ S_q, q)
    rates = np.linalg.solve(mass, -as_matrix(model, S_q.T @ C, q, v))

    def energies(q, v):
        kinetic = 0.5 * as_matrix(model, beta.T @ Mass @ beta, q, v)
        heights = [
            body.inertia.mass * (pose @ [*body.inertia.com, 1.0])[:3]
            for body, pose in zip(model.bodies, poses(model, q), strict=True)
        ]
        return kinetic, -np.sum(heights @ np.array(model.gravity))

    moved = pp.integrate(model, q, 1j * STEP * v)
    kinetic, potential = (x.imag / STEP for x in energies(moved, v + 1j * STEP * rates))
    assert abs(kinetic) > 1e-3
    assert abs(kinetic + potential) < 1e-10 * abs(kinetic)


@pytest.mark.parametrize("machine", ["mimics", "rotor_bodies"])
def test_velocities_follow_the_joints_that_lead(machine):
    model = machines.MARKET[machine]()
    q, v = machines.random_state(model, np.random.default_rng(9))
    assert_close(as_matrix(model, V, q, v), (body_jacobians(model, q) @ v).ravel())


@pytest.mark.parametrize(
    "machine", ["welded", "tree_of_every_kind", "forest", "mimics", "rotor_bodies", "spacecraft"]
)
@pytest.mark.parametrize("axes", ["link", "world"])
def test_jacobian_is_the_derivative_of_the_points(machine, axes):
    """J v (J S_q v with mimics) = [omega; v] of the point, by a complex step of its position."""
    model = machines.MARKET[machine]()
    q, v = machines.random_state(model, np.random.default_rng(10))
    names = [model.bodies[0].name, model.bodies[-1].name]
    names += [frame.name for frame in model.frames if frame.body != WORLD]
    points = [pp.point(name, (0.3, -0.1, 0.2)) for name in names]
    moved = poses(model, pp.integrate(model, q, 1j * STEP * v))
    expected = []
    for point in points:
        frame = model.frame(point.frame)
        local = frame.placement.matrix @ [*point.position, 1.0]
        pose = moved[frame.body]
        turn = pose[:3, :3].real
        spin = turn.T @ pose[:3, :3].imag / STEP
        omega = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        velocity = (pose @ local)[:3].imag / STEP
        expected += [turn @ omega, velocity] if axes == "world" else [omega, turn.T @ velocity]
    result = as_matrix(model, J @ S_q, q, axes=axes, points=points) @ v
    assert_close(result, np.concatenate(expected))


def test_every_expression_of_the_list_is_an_expression():
    """The lists above hold what they claim, so that no test passes by looking at nothing."""
    assert all(isinstance(x, Node) for x in [*MANY, *TURNED])
    assert len(set(MANY)) == len(MANY) and len(set(TURNED)) == len(TURNED)
    assert beta_dot in set(walk(alpha))
