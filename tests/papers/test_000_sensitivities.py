"""[000] Lemmas 3.2, 3.4 and 3.5: how M, H and phi change along one joint, in world axes.

The paper has revolute joints. Its sensitivities hold for a revolute joint i
among joints of any kind, on any tree; for every other joint
`test_lemmas_3_4_and_3_5_for_any_joint` has what holds.
"""

import numpy as np
import pytest
from equations import (
    TOLERANCE,
    assemble,
    block,
    diagonal,
    phi_by_products,
    random_state,
    relative_difference,
    tangent_derivative,
    value,
)
from paper_000 import (
    ANY,
    MACHINES,
    SOME_REVOLUTE,
    above,
    at_least,
    joint_maps,
    of_kinds,
    revolutes,
    sensitivity_mismatch,
    turning,
)

from phipsi import joints
from phipsi.operators import (
    HH,
    Delta_phi,
    E_phi,
    Gamma_delta,
    H,
    HH_delta,
    HH_s,
    M,
    operator,
    phi,
    phi_tilde,
)

W = operator("W", "body", "body")


# -- Lemma 3.2: sensitivities, body by body --------------------------------------------


@pytest.mark.parametrize("name", SOME_REVOLUTE)
def test_lemma_3_2_sensitivity_of_phi_3_25(name):
    """(3.25): D_i phi(k+1,k) = [HH(i) phi(k+1,k) - phi(k+1,k) HH(i)] delta_{k<i}.

    Printed with a delta that is lost; any other reading fails. Revolute i
    among any joints, any tree.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    along, h = revolutes(model), [turning(h[:3, 0]) for h in joint_maps(model, q)]
    phi_ = value(model, E_phi, q, axes="world")

    def sensitivity(i, holds):
        def at(p, k):
            step = block(model, phi_, p, k)
            return h[i] @ step - step @ h[i] if holds(i, k) else None

        return assemble(model, at)

    def difference(holds):
        return sensitivity_mismatch(model, q, E_phi, lambda i, a: sensitivity(i, holds), along)

    assert difference(lambda i, k: above(model, i, k)) < TOLERANCE
    for other in (
        lambda i, k: at_least(model, i, k),
        lambda i, k: above(model, k, i),
        lambda i, k: at_least(model, k, i),
    ):
        assert difference(other) > 0.1


@pytest.mark.parametrize("name", SOME_REVOLUTE)
def test_lemma_3_2_sensitivity_of_joint_map_3_26(name):
    """(3.26): D_i H*(k) = HH(i) H*(k) delta_{k<i}, [h~(i) h(k); 0] for revolute k.

    Revolute i among any joints, any tree.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    maps = joint_maps(model, q)
    for i, a in revolutes(model):
        left = tangent_derivative(model, H.T, q, i, a, axes="world")
        h = maps[i][:3, 0]
        for k in range(len(model.bodies)):
            expected = turning(h) @ maps[k] * above(model, i, k)
            own = block(model, left, k, k, "body", "joint")
            assert relative_difference(own, expected, scale=1.0) < TOLERANCE
            if isinstance(model.joints[k].kind, joints.Revolute) and above(model, i, k):
                turned = np.array([*np.cross(h, maps[k][:3, 0]), 0.0, 0.0, 0.0])
                assert relative_difference(own, turned[:, None], scale=1.0) < TOLERANCE


@pytest.mark.parametrize("name", SOME_REVOLUTE)
def test_lemma_3_2_sensitivity_of_inertia_3_27(name):
    """(3.27): D_i M(k) = [HH(i) M(k) - M(k) HH(i)] delta_{k<=i}.

    Revolute i among any joints, any tree.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    h = [turning(h[:3, 0]) for h in joint_maps(model, q)]
    M_ = value(model, M, q, axes="world")

    def formula(i, a):
        def at(k):
            M_k = block(model, M_, k, k)
            return h[i] @ M_k - M_k @ h[i] if at_least(model, i, k) else None

        return diagonal(model, at)

    assert sensitivity_mismatch(model, q, M, formula, revolutes(model)) < TOLERANCE


# -- Lemmas 3.4 and 3.5: sensitivities of the operators --------------------------------

PRINTED = {
    "(3.35)": (Delta_phi, lambda i, a: HH_s(i, a) @ Delta_phi - Delta_phi @ HH_s(i, a)),
    "(3.36)": (E_phi, lambda i, a: HH(i, a) @ E_phi - E_phi @ HH_s(i, a)),
    "(3.37)": (
        phi,
        lambda i, a: phi @ HH_delta(i, a) @ phi - phi @ HH(i, a) + HH_s(i, a) @ phi,
    ),
    "(3.37) in its proof": (
        phi,
        lambda i, a: phi @ HH(i, a) @ phi_tilde - phi_tilde @ HH_s(i, a) @ phi,
    ),
    "(3.39)": (H.T, lambda i, a: HH_s(i, a) @ H.T),
    "(3.40)": (M, lambda i, a: HH(i, a) @ M - M @ HH(i, a)),
    "(3.41)": (H @ phi, lambda i, a: H @ phi @ (HH_delta(i, a) @ phi - HH(i, a))),
}


@pytest.mark.parametrize("name", SOME_REVOLUTE)
@pytest.mark.parametrize("equation", PRINTED)
def test_lemmas_3_4_and_3_5_operator_sensitivities(equation, name):
    """Lemma 3.4 and Lemma 3.5 as printed, revolute i among joints of any kind, any tree:

    (3.35) D_i Delta_phi = HH_s Delta_phi - Delta_phi HH_s
    (3.36) D_i E_phi = HH E_phi - E_phi HH_s
    (3.37) D_i phi = phi HH_delta phi - phi HH + HH_s phi = phi HH phi~ - phi~ HH_s phi
    (3.39) D_i H* = HH_s H*
    (3.40) D_i M = HH M - M HH
    (3.41) D_i (H phi) = H phi [HH_delta phi - HH]
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    expression, formula = PRINTED[equation]
    assert sensitivity_mismatch(model, q, expression, formula, revolutes(model)) < TOLERANCE


@pytest.mark.parametrize("equation", PRINTED)
def test_lemmas_3_4_and_3_5_fail_for_prismatic_joints(equation):
    """None of (3.35)-(3.41) holds along a prismatic joint i, with HH(i) = S[H*(i)]."""
    model = MACHINES["serial_revolute_prismatic"]()
    q, _ = random_state(model)
    expression, formula = PRINTED[equation]
    along = of_kinds(model, joints.Prismatic)
    assert sensitivity_mismatch(model, q, expression, formula, along) > 0.1


@pytest.mark.parametrize("equation", PRINTED)
def test_lemmas_3_4_and_3_5_for_turning_joints_of_several_speeds(equation):
    """Along a speed of a spherical, universal or Euler joint the lines without H hold.

    (3.39) and (3.41) do not: the joint's other axes turn too.
    """
    model = MACHINES["tree_rotational"]()
    q, _ = random_state(model)
    expression, formula = PRINTED[equation]
    difference = sensitivity_mismatch(model, q, expression, formula)
    assert difference > 0.1 if equation in ("(3.39)", "(3.41)") else difference < TOLERANCE


@pytest.mark.parametrize("name", SOME_REVOLUTE)
def test_lemma_3_4_sensitivity_of_phi_by_blocks(name):
    """(3.38): D_i phi(k,j) = [phi(k,i) HH(i) phi(i,j) delta_{k>=i} - phi(k,j) HH(i)
    + HH(i) phi(k,j) delta_{k<i}] delta_{j<i}. Revolute i among any joints, any tree."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    h = [turning(h[:3, 0]) for h in joint_maps(model, q)]
    step, zero = phi_by_products(model, q, axes="world"), np.zeros((6, 6))

    def formula(i, a):
        def at(k, j):
            if not above(model, i, j):
                return None
            through = step[k, i] @ h[i] @ step[i, j] if at_least(model, k, i) else 0.0
            whole = step.get((k, j), zero)
            return through - whole @ h[i] + (h[i] @ whole if above(model, i, k) else 0.0)

        return assemble(model, at)

    assert sensitivity_mismatch(model, q, phi, formula, revolutes(model)) < TOLERANCE


# With W the turning part of HH: [[omega~, 0], [0, omega~]] of H*(i) e_a, at i and outboard.
FOR_ANY_JOINT = {
    "E_phi": (E_phi, lambda i, a: W @ E_phi - E_phi @ W + E_phi @ HH_delta(i, a)),
    "phi": (phi, lambda i, a: phi_tilde @ HH_delta(i, a) @ phi - phi @ W + W @ phi),
    "H*": (H.T, lambda i, a: W @ H.T + Gamma_delta(i, a)),
    "M": (M, lambda i, a: W @ M - M @ W),
    "H phi": (
        H @ phi,
        lambda i, a: (H @ phi_tilde @ HH_delta(i, a) + Gamma_delta(i, a).T) @ phi - H @ phi @ W,
    ),
}


@pytest.mark.parametrize("name", ANY)
@pytest.mark.parametrize("operator_name", FOR_ANY_JOINT)
def test_lemmas_3_4_and_3_5_for_any_joint(operator_name, name):
    """Departure from Lemmas 3.4 and 3.5: what holds for any joint, any tree, in world axes.

    D_ia E_phi   = W E_phi - E_phi W + E_phi HH_delta
    D_ia phi     = phi~ HH_delta phi - phi W + W phi
    D_ia H*      = W H* + Gamma_delta
    D_ia M       = W M - M W
    D_ia (H phi) = [H phi~ HH_delta + Gamma_delta*] phi - H phi W

    For a revolute joint W = HH and HH_delta H* = 0: the printed lines.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    maps = joint_maps(model, q)
    expression, formula = FOR_ANY_JOINT[operator_name]

    def evaluated(i, a):
        turn = turning(maps[i][:3, a])
        given = [turn * at_least(model, i, k) for k in range(len(model.bodies))]
        return value(model, formula(i, a), q, axes="world", W=given)

    assert sensitivity_mismatch(model, q, expression, evaluated) < TOLERANCE
