"""Spaces of the user's own: the closed-chain equation, and every other way to meet one.

The oracles are systems of equations written out by NumPy, and the dense meaning.
"""

import operator as python
import pickle
from functools import reduce

import machines
import numpy as np
import pytest
from symbols import assert_close, free_names

import phipsi as pp
from phipsi.algebra.spaces import Causality, Space, own_space
from phipsi.backends.disk.identity import of_expressions
from phipsi.lowering.settle import settle
from phipsi.lowering.words import shortened
from phipsi.operators import (
    B,
    C,
    D,
    E,
    H,
    I,
    J,
    M,
    Mass,
    S,
    S_q,
    T,
    X,
    beta,
    blockdiag,
    f0,
    gravity,
    operator,
    phi,
    pose,
    psi,
    scalar,
    space,
    vector,
)

LOOP, TIES = space("loop", 3), space("ties", 2)
A = operator("A", "point", LOOP)
A_t = operator("A_t", TIES, "point")
L = operator("L", "joint", LOOP)
L_t = operator("L_t", LOOP, "joint")
Q_c = operator("Q_c", "coordinate", LOOP)
Q_b = operator("Q_b", "body", LOOP)
Q_t = operator("Q_t", LOOP, "body")
Q_p = operator("Q_p", "pose", LOOP)
Q_0 = operator("Q_0", "base", LOOP)
W = operator("W", LOOP, LOOP)
Z = operator("Z", LOOP, TIES)
u, w = vector("u", LOOP), vector("w", TIES)
x, y, r, s = (
    vector(*p) for p in zip("xyrs", ("body", "joint", "point", "coordinate"), strict=True)
)
k = scalar("k")

CLOSED = Mass.inv @ (
    T - C - J.T @ A.T @ (A @ J @ Mass.inv @ J.T @ A.T).inv @ (A @ J @ Mass.inv @ (T - C) - u)
)  # [002 (3.13)]

EXPRESSIONS = [
    # letters and vectors, and their stars
    *(u, A, A_t, L, L_t, Q_c, Q_b, Q_t, Q_p, Q_0, W, Z),
    *(A.T, L.T, Q_c.T, Q_b.T, Q_t.T, Q_p.T, Q_0.T, I.at(LOOP), W + I, k * W - 2 * W.T),
    # the space alone
    *(W @ u, W.inv @ u, W.inv, (W + 4 * I).inv @ Z.T @ w, (W @ W.T).sqrt, (W @ W.T).sqrt.T @ u),
    *(blockdiag(W @ Z.T @ Z), blockdiag(W @ Z.T @ Z) @ u, Z @ W @ Z.T, u @ u.T, W - W),
    *(u.T @ W @ u, k * (W @ u) + 2 * u, (u @ u.T + W @ W.T).inv @ u, (W - W + I).inv @ u),
    # joints
    *(L @ y, L.T @ u, L @ Mass.inv @ L.T, (L @ Mass.inv @ L.T + W @ W.T).inv @ u, u @ y.T),
    *(L.T @ L @ y + L_t @ W @ u, Mass - 2 * L.T @ L, k * L.T @ L, u.T @ L @ beta, y @ u.T @ L),
    *(blockdiag(Mass - L.T @ W @ L), (u.T @ u) * Mass),
    Mass.inv @ L.T @ (L @ Mass.inv @ L.T + W @ W.T).inv @ L @ Mass.inv,
    # bodies and poses
    *(Q_b @ phi.T @ x, phi @ Q_b.T @ u, Q_t @ W @ Q_b @ phi.T @ x, phi @ Q_b.T, Q_p @ pose),
    *(Q_b @ phi.T @ M @ phi @ Q_b.T, blockdiag(phi @ Q_b.T @ Q_t.T @ phi.T)),
    S[phi @ Q_b.T @ u] @ x,
    # points
    *(A @ J, A @ J @ Mass.inv, J.T @ A.T @ u, X @ A.T @ u, A @ r, A @ f0, A_t @ w + r, A_t @ w),
    *(A @ A_t, A_t.T @ A_t, A.T @ A + I, J @ Mass.inv @ J.T + A.T @ A, B @ A.T @ u),
    (J @ Mass.inv @ J.T + A.T @ A + I).inv @ r,
    *((A @ J + L) @ Mass.inv @ (A @ J + L).T, ((A @ J + L) @ (A @ J + L).T + W @ W.T).inv),
    # coordinates and the base
    *(Q_c @ s, Q_c.T @ u, Q_c @ S_q.T @ y, S_q @ Q_c.T @ u, S_q.T @ Mass @ S_q + Q_c.T @ Q_c),
    *(Q_c @ (S_q.T @ Mass @ S_q).inv @ Q_c.T, (S_q.T @ Mass @ S_q + Q_c.T @ Q_c).inv @ s),
    *(Q_0 @ E.T @ phi @ x, E @ Q_0.T @ u, Q_0 @ gravity),
    Q_0.T @ Q_0 + E.T @ phi @ M @ phi.T @ E,
    CLOSED,
    (A @ J @ Mass.inv @ J.T @ A.T + I + W).inv @ u,
]
IN_CODE = [
    CLOSED,
    Mass.inv @ L.T @ (L @ Mass.inv @ L.T + W @ W.T).inv @ (u - L @ Mass.inv @ T),
    Q_t @ W @ Q_b @ phi.T @ x + phi @ Q_b.T @ u,
    (J @ Mass.inv @ J.T + A.T @ A + I).inv @ (r - A_t @ w),
    A @ J @ Mass.inv,
    L.T @ W @ L + Mass,
]


def machine(mimics, bodies=6):
    kinds = machines.ONE_DOF_KINDS if mimics or bodies < 6 else machines.ALL_KINDS
    return machines.random_machine(3, bodies, kinds, shape="tree", mimics=mimics)


def points_on(model):
    last, middle = model.bodies[-1].name, model.bodies[2].name
    places = [(last, (0.1, 0.2, 0.3)), (middle, (0.1, 0.2, -0.3)), (last, (0.0, 0.2, 0.3))]
    return [pp.point(*place) for place in (*places, ("world", (0.0, 0.2, 0.3)))]


def values_for(model, rng, batch=()):
    """A value of every free symbol; W is near the identity."""
    bodies, joints = len(model.bodies), sum(joint.kind.nv for joint in model.joints)
    sizes = {"body": 6 * bodies, "joint": joints, "point": 24, "coordinate": model.nv}
    sizes |= {"base": 6, "pose": 16 * bodies, "loop": 3, "ties": 2, "scalar": 1}
    values = {}
    for letter in (A, A_t, L, L_t, Q_c, Q_b, Q_t, Q_p, Q_0, W, Z, u, w, x, y, r, s, k, T, f0):
        rows, columns = sizes[letter.target.name], sizes[letter.source.name]
        value = rng.normal(size=(*batch, rows, columns))
        if letter.source.name == "scalar":
            value = value[..., 0]
        values[letter.name] = value[..., 0] if letter is k else value
    values["W"] = 0.2 * values["W"] + np.eye(3)
    return values


def state(model, rng, batch=()):
    q = np.array([model.random(rng) for _ in range(int(np.prod(batch)))])
    return q.reshape(*batch, model.nq), rng.normal(size=(*batch, model.nv))


def called(function, q, v, points, values):
    given = {name: values[name] for name in function.inputs if name in values}
    more = {"points": points} if "points" in function.inputs else {}
    return function(q, v, **given, **more)


@pytest.mark.parametrize("mimics", [False, True], ids=["plain", "mimics"])
@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_lowered_equals_dense(expression, mimics):
    model, rng = machine(mimics), np.random.default_rng(0)
    (q, v), values = state(model, rng), values_for(model, rng)
    given = {name: values[name] for name in free_names(expression)}
    expected = pp.as_matrix(model, expression, q, v, points=points_on(model), **given)
    found = called(pp.compile(model, expression), q, v, points_on(model), values)
    assert_close(found, expected)


@pytest.mark.parametrize("how", [{"unroll": True}, {"unroll": False}], ids=["unrolled", "rolled"])
@pytest.mark.parametrize("mimics", [False, True], ids=["plain", "mimics"])
def test_machine_code_equals_dense_on_batches(how, mimics):
    """All together, so that one module is compiled for each way."""
    model, rng = machine(mimics, bodies=4), np.random.default_rng(1)
    points = points_on(model)
    (q, v), values = state(model, rng, (3,)), values_for(model, rng, (3,))
    function = pp.compile(model, IN_CODE, backend="llvm", lanes=2, **how)
    found = called(function, q, v, points, values)
    for result, expression in zip(found, IN_CODE, strict=True):
        given = {name: values[name] for name in free_names(expression)}
        expected = pp.as_matrix(model, expression, q, v, points=points, **given)
        assert_close(result, expected)


def test_closed_chain_solves_the_equations_of_motion_with_multipliers():
    """[[Mass, Jc*], [Jc, 0]] [beta_dot; f] = [T - C; u], Jc = A J."""
    model, rng = (
        machines.random_machine(5, 8, machines.ONE_DOF_KINDS, "chain"),
        np.random.default_rng(2),
    )
    loop = space("loop", 5)
    A5, u5 = operator("A", "point", loop), vector("u", loop)
    Jc = A5 @ J
    inner = (Jc @ Mass.inv @ Jc.T).inv @ (Jc @ Mass.inv @ (T - C) - u5)
    (q, v), n = state(model, rng), model.nv
    points = [pp.point(model.bodies[k].name, (0.1, 0.2, 0.3)) for k in (7, 6)]
    force, constraints, wanted = rng.normal(size=n), rng.normal(size=(5, 12)), rng.normal(size=5)
    function = pp.compile(model, Mass.inv @ (T - C - Jc.T @ inner))
    found = function(q, v, T=force, A=constraints, u=wanted, points=points)
    G = constraints @ pp.as_matrix(model, J, q, points=points)
    system = np.block([[pp.as_matrix(model, Mass, q), G.T], [G, np.zeros((5, 5))]])
    right = np.concatenate([force - pp.as_matrix(model, C, q, v), wanted])
    assert_close(found, np.linalg.solve(system, right)[:n], tolerance=1e-9)


def test_a_system_in_an_own_space_is_solved_in_a_few_sweeps_whatever_its_size():
    sweeps = []
    for size in (1, 4):
        Jc = operator("Jc", "joint", space("ties", size))
        inner = (Jc @ Mass.inv @ Jc.T).inv @ vector("u", space("ties", size))
        sweeps.append(pp.compile(pp.chain(9), Mass.inv @ Jc.T @ inner).program.sweeps)
    assert sweeps == [4, 4]


def test_what_is_multiplied_out_costs_fewer_recursions():
    """A J Mass^-1 J* A* is applied as A B* psi* H* D^-1 H psi B A*, half as many."""
    inner = A @ J @ Mass.inv @ J.T @ A.T
    written = A @ B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B @ A.T
    model, points = pp.chain(6), points_on(pp.chain(6))
    flops = [pp.compile(model, x.inv @ u).info(points).flops for x in (inner, written)]
    assert flops[0] == flops[1]
    assert shortened(settle(inner + I)) == settle(written) + I.at(LOOP)
    many = reduce(python.add, [W] * 30)  # 30^2 words, too many to be short
    assert shortened(settle(many @ many)) == many @ many


def test_a_singular_system_is_named():
    twice = operator("Jc", "joint", LOOP)
    model, expression = pp.chain(4), (twice @ Mass.inv @ twice.T).inv @ u
    function = pp.compile(model, expression)
    equal_rows = np.ones((3, 4))
    for call in (
        lambda: function(model.neutral(), Jc=equal_rows, u=np.ones(3)),
        lambda: pp.as_matrix(model, expression, model.neutral(), Jc=equal_rows, u=np.ones(3)),
    ):
        with pytest.raises(pp.SolveError, match=r"`Jc @ Mass.inv @ Jc.T` is singular"):
            call()


# -- what a space is -----------------------------------------------------------------------


def test_the_same_name_and_size_are_one_space():
    assert space("loop", 3) is LOOP is own_space("loop", np.int64(3))
    assert space("loop", 4) is not LOOP
    assert space("loop", 4) != LOOP
    assert vector("u", LOOP) == u
    assert vector("u", space("loop", 4)) != u
    assert vector("u", Space("loop", LOOP.blocks, 3)) == u


def test_spaces_and_expressions_survive_pickling():
    assert pickle.loads(pickle.dumps(LOOP)) is LOOP
    assert pickle.loads(pickle.dumps(CLOSED)) == CLOSED


def test_the_cache_tells_sizes_apart():
    of_size = [of_expressions((vector("u", space("loop", n)),)) for n in (3, 4, 3)]
    assert of_size[0] == of_size[2] != of_size[1]
    assert None not in of_size


def test_a_dense_operator_is_mixed_and_one_of_a_space_to_itself_memoryless():
    assert A.causality is L_t.causality is Z.causality is Causality.MIXED
    assert W.causality is Causality.MEMORYLESS
    assert str(LOOP) == "loop space of size 3"


# -- refusals ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [
        ("body", 3, "the name 'body' is a space of the algebra; choose another one"),
        ("my space", 3, "a space needs a name that is an identifier, got 'my space'"),
        (5, 3, "a space needs a name that is an identifier, got 5"),
        ("loop", 0, "the space 'loop' needs a size of 1 or more, got 0"),
        ("loop", -2, "the space 'loop' needs a size of 1 or more, got -2"),
        ("loop", 2.5, "the space 'loop' needs a size of 1 or more, got 2.5"),
        ("loop", True, "the space 'loop' needs a size of 1 or more, got True"),
    ],
)
def test_what_is_no_space_is_refused(name, size, message):
    with pytest.raises(pp.InputError) as caught:
        space(name, size)
    assert str(caught.value) == message


def test_an_own_space_is_not_found_by_its_name():
    with pytest.raises(pp.InputError, match="no space 'loop'"):
        operator("A", "point", "loop")


def test_sizes_that_do_not_meet_are_refused_with_both():
    with pytest.raises(pp.SpaceError, match=r"W starts from loop space of size 3") as caught:
        W @ vector("v4", space("loop", 4))
    assert "v4 is a vector of loop space of size 4" in str(caught.value)


def test_two_sizes_of_one_name_in_one_expression_are_refused():
    other = operator("L4", "joint", space("loop", 4))
    expression = L.T @ L + other.T @ other
    message = "two spaces of one expression: loop space of size 3, and loop space of size 4"
    model = pp.chain(2)
    with pytest.raises(pp.InputError, match=message):
        pp.compile(model, expression)
    with pytest.raises(pp.InputError, match=message):
        pp.as_matrix(model, expression, model.neutral(), L=np.ones((3, 2)), L4=np.ones((4, 2)))


@pytest.mark.parametrize("value", [np.ones((4, 3)), np.ones(12), [np.ones((3, 4))] * 2, 1.0])
def test_a_value_of_the_wrong_shape_is_refused(value):
    """The last one of a list of blocks would pass as a batch, if it fitted."""
    model = pp.chain(4)
    if np.shape(value) == (2, 3, 4):
        assert pp.as_matrix(model, L, model.neutral(), L=value).shape == (2, 3, 4)
        return
    with pytest.raises(pp.InputError) as caught:
        pp.as_matrix(model, L, model.neutral(), L=value)
    assert str(caught.value) == (
        f"L has shape {np.shape(value)}; expected (*batch, 3, 4), L is a matrix that maps joint "
        f"space to loop space of size 3 of {model.name!r}"
    )


def test_a_vector_of_the_wrong_size_is_refused():
    model = pp.chain(2)
    with pytest.raises(pp.InputError, match=r"u has shape \(4,\); expected \(\*batch, 3\)"):
        pp.as_matrix(model, W @ u, model.neutral(), W=np.eye(3), u=np.ones(4))


def test_bound_functions_take_matrices():
    model, rng = pp.chain(4), np.random.default_rng(3)
    function = pp.compile(model, L @ Mass.inv @ T, backend="llvm")
    arrays = {"q": model.random(rng), "L": rng.normal(size=(3, 4)), "T": rng.normal(size=4)}
    bound = function.bind(**arrays)
    arrays["L"][:] = rng.normal(size=(3, 4))
    assert_close(bound(), function(arrays["q"], None, arrays["L"], arrays["T"]))
