"""[000] sections 5.1, 5.2: composite inertias, inertial frame, elements of the sensitivity."""

import numpy as np
import pytest
from equations import (
    TOLERANCE,
    assemble,
    block,
    diagonal,
    directions,
    mismatch,
    phi_by_products,
    random_state,
    relative_difference,
    value,
)
from paper_000 import (
    ALL_REVOLUTE,
    ANY,
    MACHINES,
    ONE_DOF,
    SOME_REVOLUTE,
    Inertial,
    above,
    adjoint_cross,
    at_least,
    force_cross,
    inertias,
    joint_maps,
    motions,
    of_kinds,
    phi_from_inertial,
    phi_of,
    revolutes,
    sensitivities,
    sensitivity_mismatch,
    tilde,
)

from phipsi import joints
from phipsi.operators import (
    E,
    Gamma_delta,
    H,
    HH_delta,
    Jm,
    M,
    Mass,
    R,
    blockdiag,
    phi,
    phi_tilde,
)

# -- composite inertias ----------------------------------------------------------------


@pytest.mark.parametrize("name", ANY)
def test_composite_inertias_5_44(name):
    """(5.44): R(k) = phi(k,k-1) R(k-1) phi*(k,k-1) + M(k), a sum over the children on trees.

    It is the inertia at O_k of all bodies outboard of k welded together: the
    sum of phi(k,j) M(j) phi*(k,j). So R = blockdiag(phi M phi*). Any tree.
    """
    model = MACHINES[name]()
    q, v = random_state(model)
    place, M_ = [moving.p for moving in motions(model, q, v)], inertias(model, q)

    def welded(k):
        outboard = range(k, model.tree.end[k])
        arms = [phi_of(place[j] - place[k]) for j in outboard]
        return sum(arm @ M_[j] @ arm.T for arm, j in zip(arms, outboard, strict=True))

    assert mismatch(model, R, diagonal(model, welded), q, axes="world") < TOLERANCE
    assert mismatch(model, R, blockdiag(phi @ M @ phi.T), q) < TOLERANCE


@pytest.mark.parametrize("name", ANY)
def test_lemma_5_1_decomposition_of_the_mass_matrix(name):
    """Lemma 5.1, (5.45): Mass = H R H* + H phi~ R H* + H R phi~* H* (+ Jm). Any tree."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    right = H @ R @ H.T + H @ phi_tilde @ R @ H.T + H @ R @ phi_tilde.T @ H.T + Jm
    assert mismatch(model, Mass, right, q) < TOLERANCE


@pytest.mark.parametrize("name", ANY)
def test_lemma_5_1_elements_of_the_mass_matrix(name):
    """(5.46): Mass(i,j) = H(i) phi(i,j) R(j) H*(j) for i >= j, its transpose for i < j.

    Any tree: 0 if neither is inboard of the other; Jm on the diagonal.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    step = phi_by_products(model, q)
    H_, R_ = value(model, H, q), value(model, R, q)

    def inward(i, j):
        H_i, H_j = (block(model, H_, k, k, "joint", "body") for k in (i, j))
        return H_i @ step[i, j] @ block(model, R_, j, j) @ H_j.T

    def element(i, j):
        if at_least(model, i, j):
            return inward(i, j)
        return inward(j, i).T if at_least(model, j, i) else None

    expected = assemble(model, element, "joint", "joint") + value(model, Jm, q)
    assert mismatch(model, Mass, expected, q) < TOLERANCE


# -- the inertial frame ----------------------------------------------------------------


@pytest.mark.parametrize("name", ALL_REVOLUTE)
def test_inertial_joint_map_5_47(name):
    """(5.47): H_I*(k) = phi*(k,I) H*(k) = [h; lambda], lambda = l~(I,k) h. Revolute joints.

    phi(I,k) is block k of E* phi, and phi(k,I) its inverse.
    """
    model = MACHINES[name]()
    q, v = random_state(model)
    place, maps = [moving.p for moving in motions(model, q, v)], joint_maps(model, q)
    to_inertial = value(model, E.T @ phi, q, axes="world")
    H_star = value(model, H.T, q, axes="world")
    for k, l in enumerate(place):
        phi_k = np.linalg.inv(to_inertial[:, 6 * k : 6 * k + 6])
        left = phi_k.T @ block(model, H_star, k, k, "body", "joint")[:, 0]
        h = maps[k][:3, 0]
        assert relative_difference(left, np.concatenate([h, tilde(l) @ h])) < TOLERANCE


@pytest.mark.parametrize("name", ANY)
def test_inertial_pick_off_5_48(name):
    """(5.48): HH_I(k) = S[H_I*(k)] = phi(I,k) HH(k) phi(k,I). Any joint, any tree.

    For a revolute joint it is [[h~, lambda~], [0, h~]].
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    inertial, to_inertial = Inertial(model, q), phi_from_inertial(model, q)
    for i, a in directions(model):
        own = block(model, value(model, HH_delta(i, a), q, axes="world"), i, i)
        moved = to_inertial[i] @ own @ np.linalg.inv(to_inertial[i])
        assert relative_difference(inertial.HH(i, a), moved) < TOLERANCE
        h, slide = np.split(inertial.H_star[i][:, a], 2)
        by_blocks = np.block([[tilde(h), tilde(slide)], [np.zeros((3, 3)), tilde(h)]])
        assert relative_difference(moved, by_blocks) < TOLERANCE


@pytest.mark.parametrize("name", ANY)
def test_inertial_pick_off_5_49(name):
    """(5.49): HH_I(i) X = -Q[X] H_I*(i) for any X; HH_I(i) = phi(I,i) HH(i) phi(i,I)."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    inertial, to_inertial = Inertial(model, q), phi_from_inertial(model, q)
    X = np.random.default_rng(4).normal(size=6)
    for i, a in directions(model):
        own = block(model, value(model, HH_delta(i, a), q, axes="world"), i, i)
        left = to_inertial[i] @ own @ np.linalg.inv(to_inertial[i]) @ X
        right = -adjoint_cross(X) @ inertial.H_star[i][:, a]
        assert relative_difference(left, right) < TOLERANCE


@pytest.mark.parametrize("name", ANY)
def test_inertial_composite_inertia_5_50(name):
    """(5.50): R_I(k) = phi(I,k) R(k) phi*(I,k); printed with phi(n,k), n the base body.

    R_I(k) is the inertia about the world's origin of all that is outboard of k,
    the sum of every body's own. With phi(n,k) it is about the base's joint. Any tree.
    """
    model = MACHINES[name]()
    q, v = random_state(model)
    moving = motions(model, q, v)
    about_origin = []
    for body, at in zip(model.bodies, moving, strict=True):
        m, c = body.inertia.mass, tilde(at.p + at.R @ body.inertia.com)
        J = at.R @ np.array(body.inertia.rotational) @ at.R.T - m * c @ c
        about_origin.append(np.block([[J, m * c], [-m * c, m * np.eye(3)]]))
    outboard = [sum(about_origin[k : model.tree.end[k]]) for k in range(len(moving))]

    R_, to_inertial = value(model, R, q, axes="world"), phi_from_inertial(model, q)
    own = [block(model, R_, k, k) for k in range(len(moving))]
    corrected = [x @ R_k @ x.T for x, R_k in zip(to_inertial, own, strict=True)]
    assert relative_difference(outboard, corrected) < TOLERANCE

    step = phi_by_products(model, q, axes="world")
    base = [list(model.tree.path(k))[-1] for k in range(len(moving))]
    printed = [step[n, k] @ own[k] @ step[n, k].T for k, n in enumerate(base)]
    assert relative_difference(outboard, printed) > 0.1


# -- Lemma 5.2 -------------------------------------------------------------------------


def mass_5_51(i, a):
    """H {phi [HH_d R - R HH_d] phi* + phi HH_d phi~ R - R phi~* HH_d phi*} H*, as printed."""
    own = HH_delta(i, a)
    inner = phi @ (own @ R - R @ own) @ phi.T + phi @ own @ phi_tilde @ R
    return H @ (inner - R @ phi_tilde.T @ own @ phi.T) @ H.T


def mass_5_51_one_dof(i, a):
    """(5.51) with + R HH_delta* for - R HH_delta."""
    own = HH_delta(i, a)
    inner = phi @ (own @ R + R @ own.T) @ phi.T + phi @ own @ phi_tilde @ R
    return H @ (inner + R @ phi_tilde.T @ own.T @ phi.T) @ H.T


@pytest.mark.parametrize("name", SOME_REVOLUTE)
def test_lemma_5_2_sensitivity_by_composite_inertias(name):
    """(5.51): D_i Mass = H {phi [HH_delta R - R HH_delta] phi* + phi HH_delta phi~ R
    - R phi~* HH_delta phi*} H*. Revolute i among any joints, any tree, rotor inertia."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    assert sensitivity_mismatch(model, q, Mass, mass_5_51, revolutes(model)) < TOLERANCE


@pytest.mark.parametrize("name", ["serial_revolute_prismatic", "tree_one_dof"])
def test_lemma_5_2_needs_a_star_for_prismatic_joints(name):
    """(5.51) fails along prismatic and helical joints; with + R HH_delta* it holds."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    along = of_kinds(model, joints.Prismatic, joints.Helical)
    assert sensitivity_mismatch(model, q, Mass, mass_5_51, along) > 0.1
    assert sensitivity_mismatch(model, q, Mass, mass_5_51_one_dof, along) < TOLERANCE


# -- Lemma 5.3 -------------------------------------------------------------------------


def elements_5_52(model, q):
    """The first form of (5.52), as printed: formula(i, a) as a whole matrix."""
    step = phi_by_products(model, q, axes="world")
    maps, R_ = joint_maps(model, q), value(model, R, q, axes="world")

    def formula(i, a):
        HH, R_i = force_cross(maps[i][:, a]), block(model, R_, i, i)

        def element(k, j):
            inner = np.zeros((6, 6))
            if above(model, k, i) and above(model, j, i):
                inner += step[k, i] @ (HH @ R_i - R_i @ HH) @ step[j, i].T
            if at_least(model, i, j) and above(model, k, i):
                inner += step[k, i] @ HH @ step[i, j] @ block(model, R_, j, j)
            if at_least(model, i, k) and above(model, j, i):
                inner -= block(model, R_, k, k) @ step[i, k].T @ HH @ step[j, i].T
            return maps[k].T @ inner @ maps[j]

        return assemble(model, element, "joint", "joint")

    return formula


def elements_5_52_inertial(model, q):
    """The second form of (5.52), as printed: by the inertial frame's H_I, HH_I and R_I."""
    at = Inertial(model, q)

    def formula(i, a):
        HH, R_i = at.HH(i, a), at.R[i]

        def element(j, k):
            inner = np.zeros((6, 6))
            if at_least(model, i, k) and above(model, j, i):
                inner += HH @ at.R[k]
            if at_least(model, i, j) and above(model, k, i):
                inner += at.R[j] @ HH.T
            if above(model, k, i) and above(model, j, i):
                inner += HH @ R_i + R_i @ HH.T
            return at.H_star[j].T @ inner @ at.H_star[k]

        return assemble(model, element, "joint", "joint")

    return formula


@pytest.mark.parametrize("name", SOME_REVOLUTE)
def test_lemma_5_3_elements_of_the_sensitivity(name):
    """(5.52), first form: D_i Mass(j,k) = H(k) [phi(k,i) [HH R - R HH](i) phi*(j,i) delta_{k,j>i}
    + phi(k,i) HH(i) phi(i,j) R(j) delta_{j<=i<k} - R(k) phi*(i,k) HH(i) phi*(j,i) delta_{k<=i<j}]
    H*(j). Revolute i among any joints, any tree."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    formula = elements_5_52(model, q)
    assert sensitivity_mismatch(model, q, Mass, formula, revolutes(model)) < TOLERANCE


def test_lemma_5_3_first_form_fails_for_prismatic_joints():
    """The first form of (5.52) has HH for -HH*: it fails along prismatic and helical joints."""
    for name in ("serial_revolute_prismatic", "tree_one_dof"):
        model = MACHINES[name]()
        q, _ = random_state(model)
        along = of_kinds(model, joints.Prismatic, joints.Helical)
        assert sensitivity_mismatch(model, q, Mass, elements_5_52(model, q), along) > 0.1


@pytest.mark.parametrize("name", ONE_DOF)
def test_lemma_5_3_elements_in_the_inertial_frame(name):
    """(5.52), second form: D_i Mass(j,k) = H_I(j) [HH_I(i) R_I(k) delta_{k<=i<j}
    + R_I(j) HH_I*(i) delta_{j<=i<k} + {HH_I(i) R_I(i) + R_I(i) HH_I*(i)} delta_{k,j>i}] H_I*(k).

    Any one-dof joint, any tree; the third form is this one case by case.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    assert sensitivity_mismatch(model, q, Mass, elements_5_52_inertial(model, q)) < TOLERANCE


@pytest.mark.parametrize("name", ["serial_constant_maps", "spacecraft", "star_of_free_bodies"])
def test_lemma_5_3_elements_in_the_inertial_frame_for_several_speeds(name):
    """The second form of (5.52) holds for every joint whose H* is constant in its own axes."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    assert sensitivity_mismatch(model, q, Mass, elements_5_52_inertial(model, q)) < TOLERANCE


def test_lemma_5_3_fails_where_the_joint_map_turns():
    """The second form of (5.52) fails for universal and Euler joints, whose Gamma is not 0."""
    model = MACHINES["tree_rotational"]()
    q, _ = random_state(model)
    along = of_kinds(model, joints.Universal, joints.SphericalEuler)
    assert sensitivity_mismatch(model, q, Mass, elements_5_52_inertial(model, q), along) > 0.1


@pytest.mark.parametrize("name", ALL_REVOLUTE)
def test_lemma_5_3_sensitivity_vanishes_inboard(name):
    """(5.52), third form: D_i Mass(j,k) = 0 for j, k <= i; and it does not for j > i >= k."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    changes = sensitivities(model, q, Mass)
    n = range(model.nv)
    size = np.linalg.norm(changes)
    zero = [
        changes[i, j, k]
        for i in n
        for j in n
        for k in n
        if at_least(model, i, j) and at_least(model, i, k)
    ]
    rest = [
        changes[i, j, k]
        for i in n
        for j in n
        for k in n
        if above(model, j, i) and at_least(model, i, k)
    ]
    assert np.linalg.norm(zero) < TOLERANCE * size
    assert np.linalg.norm(rest) > 0.1 * size


@pytest.mark.parametrize("name", ANY)
def test_elements_of_the_sensitivity_for_any_joint(name):
    """Beyond the paper: the elements of D_ia Mass from composite inertias, in link axes.

    With j inboard of or at k:
    i strictly outboard of k: H(j) phi(j,i) [HH R(i) + R(i) HH*] phi*(k,i) H*(k);
    j strictly inboard of i, i inboard of or at k: H(j) phi(j,i) HH phi(i,k) R(k) H*(k),
        for k = i also H(j) phi(j,i) R(i) Gamma;
    i = j, k strictly outboard: Gamma* phi(i,k) R(k) H*(k);
    i = j = k: Gamma* R H* + H R Gamma; otherwise 0. Any joint, any tree.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    step = phi_by_products(model, q)
    H_, R_ = value(model, H, q), value(model, R, q)
    H_ = [block(model, H_, k, k, "joint", "body") for k in range(len(model.bodies))]
    R_ = [block(model, R_, k, k) for k in range(len(model.bodies))]

    def formula(i, a):
        HH = block(model, value(model, HH_delta(i, a), q), i, i)
        Gamma = block(model, value(model, Gamma_delta(i, a), q), i, i, "body", "joint")

        def inward(j, k):
            if above(model, k, i):
                moved = HH @ R_[i] + R_[i] @ HH.T
                return H_[j] @ step[j, i] @ moved @ step[k, i].T @ H_[k].T
            if i == j == k:
                return Gamma.T @ R_[i] @ H_[i].T + H_[i] @ R_[i] @ Gamma
            if i == j:
                return Gamma.T @ step[i, k] @ R_[k] @ H_[k].T
            if above(model, j, i) and at_least(model, i, k):
                own = H_[j] @ step[j, i] @ R_[i] @ Gamma if k == i else 0.0
                return H_[j] @ step[j, i] @ HH @ step[i, k] @ R_[k] @ H_[k].T + own
            return None

        def element(j, k):
            if at_least(model, j, k):
                return inward(j, k)
            turned = inward(k, j) if at_least(model, k, j) else None
            return None if turned is None else turned.T

        return assemble(model, element, "joint", "joint")

    assert sensitivity_mismatch(model, q, Mass, formula, axes="link") < TOLERANCE
