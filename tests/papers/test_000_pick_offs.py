"""[000] section 2.3: the pick-off operators, and the angular velocities made of them."""

import numpy as np
import pytest
from equations import (
    TOLERANCE,
    assemble,
    block,
    diagonal,
    directions,
    mismatch,
    random_blocks,
    random_state,
    tangent_derivative,
    value,
)
from paper_000 import (
    ALL_REVOLUTE,
    ALL_TURNING,
    ANY,
    BRANCHED,
    MACHINES,
    UNBRANCHED,
    above,
    force_cross,
    joint_maps,
    motions,
    of_kinds,
    rates,
    sensitivity_mismatch,
    turning,
)

from phipsi import joints
from phipsi.model.tree import WORLD
from phipsi.operators import (
    HH,
    E_phi,
    H,
    HH_delta,
    HH_s,
    S,
    blockdiag,
    cross,
    operator,
    phi,
    vector,
)

A, Z = operator("A", "body", "body"), operator("Z", "body", "body")
x, e = vector("x", "body"), vector("e", "joint")
AXES = ("link", "world")


@pytest.mark.parametrize("name", ANY)
def test_pick_off_2_11_is_S_of_the_joint_map(name):
    """(2.11): HH(i) = S[H*(i)]; printed as S*[H*(i)].

    What decides: D_{ia} phi(p,i) = phi(p,i) S[H*(i) e_a] in link axes, for any
    joint. With S* it fails by 200% for a revolute joint.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    good, bad = 0.0, np.inf
    for i, a in directions(model):
        if model.tree.parent[i] == WORLD:
            continue
        unit = np.zeros(model.joints[-1].rows.stop)
        unit[model.joints[i].rows.start + a] = 1.0
        left = tangent_derivative(model, E_phi, q, i, a)
        good = max(good, mismatch(model, left, E_phi @ S[H.T @ e], q, e=unit))
        good = max(good, mismatch(model, HH_delta(i, a), S[H.T @ e], q, e=unit))
        bad = min(bad, mismatch(model, left, E_phi @ S[H.T @ e].T, q, e=unit))
    assert good < TOLERANCE
    assert bad > 0.1


@pytest.mark.parametrize("name", ALL_REVOLUTE)
def test_pick_off_2_11_of_a_revolute_joint(name):
    """(2.11): HH(i) = [[h~, 0], [0, h~]]. Revolute joints, world axes."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    for i, h in enumerate(joint_maps(model, q)):
        expected = diagonal(model, lambda k, i=i, h=h: turning(h[:3, 0]) if k == i else None)
        assert mismatch(model, HH_delta(i), expected, q, axes="world") < TOLERANCE


@pytest.mark.parametrize("name", ALL_REVOLUTE)
def test_pick_off_2_12_acts_outboard(name):
    """(2.12): HH_s(k,k) = HH(i) for k < i, 0 for k >= i; printed the other way round.

    What decides: D_i H* = HH_s H* (3.39). Revolute joints, world axes.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    HH_ = [turning(h[:3, 0]) for h in joint_maps(model, q)]
    H_star = value(model, H.T, q, axes="world")

    def outboard(i):
        return diagonal(model, lambda k: HH_[i] if above(model, i, k) else None)

    def inboard(i):
        return diagonal(model, lambda k: HH_[i] if above(model, k, i) else None)

    for i, a in directions(model):
        assert mismatch(model, HH_s(i, a), outboard(i), q, axes="world", scale=1.0) < TOLERANCE
    corrected = sensitivity_mismatch(model, q, H.T, lambda i, a: outboard(i) @ H_star)
    printed = sensitivity_mismatch(model, q, H.T, lambda i, a: inboard(i) @ H_star)
    assert corrected < TOLERANCE
    assert printed > 0.1


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("name", ANY)
def test_pick_off_2_14_is_a_sum(name, axes):
    """(2.14): HH^i = HH_s^i + HH_delta^i. Any tree, any joint."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    for i, a in directions(model):
        assert mismatch(model, HH(i, a), HH_s(i, a) + HH_delta(i, a), q, axes=axes) < TOLERANCE


def test_pick_off_2_14_is_shifted_on_chains_only():
    """(2.14): HH_s^i = S* HH^i S. Chains; on a tree S* . S couples siblings and it fails.

    On trees its blocks on the diagonal still agree: HH_s^i = blockdiag(S* HH^i S).
    """
    for name in UNBRANCHED:
        model = MACHINES[name]()
        q, _ = random_state(model)
        for i, a in directions(model):
            assert mismatch(model, HH_s(i, a), S.T @ HH(i, a) @ S, q, scale=1.0) < TOLERANCE
    for name in BRANCHED:
        model = MACHINES[name]()
        q, _ = random_state(model)
        assert len(model.tree.children[0]) > 1
        assert mismatch(model, HH_s(0), S.T @ HH(0) @ S, q) > 0.1
        for i, a in directions(model):
            right = blockdiag(S.T @ HH(i, a) @ S)
            assert mismatch(model, HH_s(i, a), right, q, scale=1.0) < TOLERANCE


@pytest.mark.parametrize("letter", [HH, HH_s, HH_delta], ids=str)
def test_pick_offs_are_skew_for_turning_joints_only(letter):
    """After (2.14): HH^i, HH_s^i, HH_delta^i are skew. Joints that turn; not prismatic ones."""
    for name in ALL_TURNING:
        model = MACHINES[name]()
        q, _ = random_state(model)
        for i, a in directions(model):
            skew = mismatch(model, letter(i, a).T, -letter(i, a), q, scale=1.0)
            assert skew < TOLERANCE
    model = MACHINES["serial_revolute_prismatic"]()
    q, _ = random_state(model)
    slides = of_kinds(model, joints.Prismatic)
    assert min(mismatch(model, letter(i, a).T, -letter(i, a), q) for i, a in slides) > 0.1


def left_product(model, h, X, rows):
    """The matrix with blocks h X(k,j) for k of the given rows, 0 elsewhere."""
    return assemble(model, lambda k, j: h @ block(model, X, k, j) if k in rows else None)


def right_product(model, X, h, columns):
    """The matrix with blocks X(k,j) h for j of the given columns, 0 elsewhere."""
    return assemble(model, lambda k, j: block(model, X, k, j) @ h if j in columns else None)


def product_through(model, X, i, h, Y):
    """The matrix with blocks X(k,i) h Y(i,j)."""
    return assemble(model, lambda k, j: block(model, X, k, i) @ h @ block(model, Y, i, j))


@pytest.mark.parametrize("name", ["serial_revolute", "tree_multidof", "forest", "free_base_tree"])
def test_lemma_2_4_composition_with_pick_offs(name):
    """Lemma 2.4, (2.15): [HH X](k,j) = HH(i) X(k,j), [X HH](k,j) = X(k,j) HH(i) where the
    delta of (2.12), (2.13) says so; [X HH_delta Y](k,j) = X(k,i) HH(i) Y(i,j).

    Any tree, any joint, world axes; HH(i) = S[H*(i) e_a] from the rates of the poses.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    rng = np.random.default_rng(3)
    given = {"A": random_blocks(model, rng), "Z": random_blocks(model, rng)}
    world = {"axes": "world", "scale": 1.0, **given}
    X, Y = phi @ A @ phi.T, phi.T @ Z @ phi
    X_, Y_ = (value(model, side, q, axes="world", **given) for side in (X, Y))
    maps, bodies = joint_maps(model, q), range(len(model.bodies))
    for i, a in directions(model):
        h = force_cross(maps[i][:, a])
        outboard = {k for k in bodies if above(model, i, k)}
        for letter, where in ((HH_s, outboard), (HH, outboard | {i}), (HH_delta, {i})):
            left, right = left_product(model, h, X_, where), right_product(model, X_, h, where)
            assert mismatch(model, letter(i, a) @ X, left, q, **world) < TOLERANCE
            assert mismatch(model, X @ letter(i, a), right, q, **world) < TOLERANCE
        both = product_through(model, X_, i, h, Y_)
        assert mismatch(model, X @ HH_delta(i, a) @ Y, both, q, **world) < TOLERANCE


# -- angular velocities ----------------------------------------------------------------


@pytest.mark.parametrize("name", ALL_TURNING)
def test_angular_velocities_2_16(name):
    """(2.16): Omega~ = sum_i HH^i theta_dot(i) has the blocks [[omega~, 0], [0, omega~]](k).

    Also Omega~_s, whose block k is Omega~ of the parent. Joints that turn, any tree.
    """
    model = MACHINES[name]()
    q, v = random_state(model)
    omega = [moving.omega for moving in motions(model, q, v)]
    own = diagonal(model, lambda k: turning(omega[k]))
    parent = model.tree.parent
    outer = diagonal(model, lambda k: turning(omega[parent[k]]) if parent[k] != WORLD else None)
    assert mismatch(model, rates(model, HH, v), own, q, axes="world") < TOLERANCE
    assert mismatch(model, rates(model, HH_s, v), outer, q, axes="world") < TOLERANCE


def test_angular_velocities_2_16_fail_for_prismatic_joints():
    """(2.16) asks for joints that turn: HH(i) of a prismatic joint is no part of omega~."""
    model = MACHINES["serial_revolute_prismatic"]()
    q, v = random_state(model)
    omega = [moving.omega for moving in motions(model, q, v)]
    own = diagonal(model, lambda k: turning(omega[k]))
    assert mismatch(model, rates(model, HH, v), own, q, axes="world") > 0.1


@pytest.mark.parametrize("name", ALL_TURNING)
def test_angular_velocities_2_17_are_a_cross_product(name):
    """(2.17): Omega~ is the spatial cross product of Omega(k) = [omega(k); 0]."""
    model = MACHINES[name]()
    q, v = random_state(model)
    stacked = np.concatenate([[*moving.omega, 0, 0, 0] for moving in motions(model, q, v)])
    assert mismatch(model, rates(model, HH, v), cross[x], q, axes="world", x=stacked) < TOLERANCE


def test_angular_velocities_2_18():
    """(2.18): Omega~ = Omega~_s + Omega~_delta on any tree; Omega~_s = S* Omega~ S on chains."""
    for name in ALL_TURNING:
        model = MACHINES[name]()
        q, v = random_state(model)
        whole, shifted, own = (rates(model, letter, v) for letter in (HH, HH_s, HH_delta))
        assert mismatch(model, whole, shifted + own, q, axes="world") < TOLERANCE
        difference = mismatch(model, shifted, S.T @ whole @ S, q, axes="world")
        assert difference < TOLERANCE if name == "serial_revolute" else difference > 0.1
