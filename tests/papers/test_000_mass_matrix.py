"""[000] section 4: the sensitivity of the mass matrix, and its form for any joint.

Mass includes Jm, which does not change with the configuration.
"""

import pytest
from equations import MARGIN, TOLERANCE, directions, mismatch, random_state
from paper_000 import (
    ANY,
    MACHINES,
    ONE_DOF,
    SOME_REVOLUTE,
    at_least,
    joint_maps,
    of_kinds,
    revolutes,
    sensitivities,
    sensitivity_mismatch,
    turning,
    value,
)

from phipsi import joints
from phipsi.operators import (
    E,
    E_phi,
    Gamma_delta,
    H,
    HH_delta,
    HH_s,
    I,
    Jm,
    K,
    M,
    Mass,
    P,
    operator,
    phi,
    phi_tilde,
)

W = operator("W", "body", "body")
NO_ROTORS = tuple(name for name in SOME_REVOLUTE if name != "reflected_rotors")


def composite_4_42(i, a):
    """[phi HH_delta + HH_s] phi M phi* - phi M phi* [HH_delta phi* + HH_s], as printed."""
    left = (phi @ HH_delta(i, a) + HH_s(i, a)) @ phi @ M @ phi.T
    return left - phi @ M @ phi.T @ (HH_delta(i, a) @ phi.T + HH_s(i, a))


def mass_4_43(i, a):
    """H phi [HH_delta phi M - M phi* HH_delta] phi* H*, as printed."""
    return H @ phi @ (HH_delta(i, a) @ phi @ M - M @ phi.T @ HH_delta(i, a)) @ phi.T @ H.T


def mass_one_dof(i, a):
    """H phi [HH_delta phi M + M phi* HH_delta*] phi* H*: (4.43) corrected for one-dof joints."""
    return H @ phi @ (HH_delta(i, a) @ phi @ M + M @ phi.T @ HH_delta(i, a).T) @ phi.T @ H.T


def mass_any_joint(i, a):
    """[H phi~ HH_delta + Gamma_delta*] phi M phi* H* + (.)*, the form for any joint."""
    half = (H @ phi_tilde @ HH_delta(i, a) + Gamma_delta(i, a).T) @ phi @ M @ phi.T @ H.T
    return half + half.T


# -- Lemma 4.1 -------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOME_REVOLUTE)
def test_lemma_4_1_sensitivity_of_phi_M_phi(name):
    """(4.42): D_i (phi M phi*)
    = [phi HH_delta + HH_s] phi M phi* - phi M phi* [HH_delta phi* + HH_s].

    Revolute i among any joints, any tree, world axes.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    along = revolutes(model)
    assert sensitivity_mismatch(model, q, phi @ M @ phi.T, composite_4_42, along) < TOLERANCE


def test_lemma_4_1_for_turning_joints_of_several_speeds():
    """(4.42) holds along every speed of joints that only turn."""
    model = MACHINES["tree_rotational"]()
    q, _ = random_state(model)
    assert sensitivity_mismatch(model, q, phi @ M @ phi.T, composite_4_42) < TOLERANCE


def test_lemma_4_1_fails_for_prismatic_joints():
    """(4.42) fails along a prismatic joint."""
    model = MACHINES["serial_revolute_prismatic"]()
    q, _ = random_state(model)
    along = of_kinds(model, joints.Prismatic)
    assert sensitivity_mismatch(model, q, phi @ M @ phi.T, composite_4_42, along) > 0.1


@pytest.mark.parametrize("name", ANY)
def test_lemma_4_1_for_any_joint(name):
    """Departure: D_ia (phi M phi*) = [phi~ HH_delta + W] phi M phi* + (.)*, any joint, any tree.

    W is the turning part of HH^i, as in `test_lemmas_3_4_and_3_5_for_any_joint`.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    maps = joint_maps(model, q)

    def evaluated(i, a):
        half = (phi_tilde @ HH_delta(i, a) + W) @ phi @ M @ phi.T
        turn = turning(maps[i][:3, a])
        given = [turn * at_least(model, i, k) for k in range(len(model.bodies))]
        return value(model, half + half.T, q, axes="world", W=given)

    assert sensitivity_mismatch(model, q, phi @ M @ phi.T, evaluated) < TOLERANCE


# -- Lemma 4.2 -------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["link", "world"])
@pytest.mark.parametrize("name", SOME_REVOLUTE)
def test_lemma_4_2_sensitivity_of_the_mass_matrix(name, axes):
    """(4.43): D_i Mass = H phi [HH_delta phi M - M phi* HH_delta] phi* H*.

    Revolute i among any joints, any tree, rotor inertia, any axes.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    assert sensitivity_mismatch(model, q, Mass, mass_4_43, revolutes(model), axes) < TOLERANCE


@pytest.mark.parametrize("name", ["serial_revolute_prismatic", "tree_one_dof"])
def test_lemma_4_2_needs_a_star_for_prismatic_joints(name):
    """(4.43) along prismatic and helical joints: + M phi* HH_delta*, printed - M phi* HH_delta.

    For revolute joints HH_delta is skew and both are the same.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    along = of_kinds(model, joints.Prismatic, joints.Helical)
    assert sensitivity_mismatch(model, q, Mass, mass_4_43, along) > 0.1
    assert sensitivity_mismatch(model, q, Mass, mass_one_dof, along) < TOLERANCE


@pytest.mark.parametrize("name", ONE_DOF)
def test_lemma_4_2_corrected_holds_for_all_one_dof_joints(name):
    """(4.43) corrected: H phi [HH_delta phi M + M phi* HH_delta*] phi* H*. One-dof joints."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    assert sensitivity_mismatch(model, q, Mass, mass_one_dof) < TOLERANCE


@pytest.mark.parametrize("axes", ["link", "world"])
@pytest.mark.parametrize("name", ANY)
def test_lemma_4_2_for_any_joint(name, axes):
    """Beyond the paper: D_ia Mass = [H phi~ HH_delta + Gamma_delta*] phi M phi* H* + (.)*.

    Any joint, any tree, rotor inertia, any axes.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    assert sensitivity_mismatch(model, q, Mass, mass_any_joint, axes=axes) < TOLERANCE


def test_lemma_4_2_for_several_speeds_needs_phi_tilde_and_Gamma():
    """With phi for phi~ the form for any joint fails on spherical joints; without Gamma on
    universal ones. So do (4.43) as printed and as corrected for one-dof joints."""

    def without_Gamma(i, a):
        half = H @ phi_tilde @ HH_delta(i, a) @ phi @ M @ phi.T @ H.T
        return half + half.T

    model = MACHINES["tree_rotational"]()
    q, _ = random_state(model)
    spherical = of_kinds(model, joints.Spherical)
    assert sensitivity_mismatch(model, q, Mass, without_Gamma, spherical) < TOLERANCE
    assert sensitivity_mismatch(model, q, Mass, mass_4_43, spherical) > 0.1
    assert sensitivity_mismatch(model, q, Mass, mass_one_dof, spherical) > 0.1
    turning_maps = of_kinds(model, joints.Universal, joints.SphericalEuler)
    assert sensitivity_mismatch(model, q, Mass, without_Gamma, turning_maps) > 0.1
    assert sensitivity_mismatch(model, q, Mass, mass_4_43, turning_maps) > 0.1


# -- Lemma 4.3 -------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in ANY if "rotors" not in name])
def test_lemma_4_3_phi_M_phi_H_by_articulated_inertias(name):
    """Lemma 4.3: phi M phi* H* = [I + phi K H] P phi* H*. Any tree, any joint, no rotor inertia."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    right = (I + phi @ K @ H) @ P @ phi.T @ H.T
    assert mismatch(model, phi @ M @ phi.T @ H.T, right, q) < TOLERANCE


@pytest.mark.parametrize("name", ["reflected_rotors", "rotors_multidof"])
def test_lemma_4_3_with_rotor_inertia_gains_phi_K_Jm(name):
    """Lemma 4.3 fails with rotor inertia; phi M phi* H* = [I + phi K H] P phi* H* + phi K Jm."""
    model = MACHINES[name]()
    q, _ = random_state(model)
    printed = (I + phi @ K @ H) @ P @ phi.T @ H.T
    assert mismatch(model, phi @ M @ phi.T @ H.T, printed, q) > MARGIN
    assert mismatch(model, phi @ M @ phi.T @ H.T, printed + phi @ K @ Jm, q) < TOLERANCE


def mass_4_3(i, a):
    """H phi [HH_delta (I + phi K H) P - P (I + phi K H)* HH_delta] phi* H*, as printed."""
    filtered = HH_delta(i, a) @ (I + phi @ K @ H) @ P
    other = P @ (I + phi @ K @ H).T @ HH_delta(i, a)
    return H @ phi @ (filtered - other) @ phi.T @ H.T


@pytest.mark.parametrize("name", NO_ROTORS)
def test_lemma_4_3_sensitivity_by_articulated_inertias(name):
    """Lemma 4.3: D_i Mass = H phi [HH_delta (I + phi K H) P - P (I + phi K H)* HH_delta] phi* H*.

    Revolute i among any joints, any tree, no rotor inertia.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    assert sensitivity_mismatch(model, q, Mass, mass_4_3, revolutes(model)) < TOLERANCE


@pytest.mark.parametrize("name", ["reflected_rotors", "rotors_multidof"])
def test_lemma_4_3_with_rotor_inertia(name):
    """Lemma 4.3 with rotor inertia, any joint, any tree: printed fails, this holds:

    D_ia Mass = [H phi~ HH_delta + Gamma_delta*] {(I + phi K H) P phi* H* + phi K Jm} + (.)*
    """

    def corrected(i, a):
        inner = (I + phi @ K @ H) @ P @ phi.T @ H.T + phi @ K @ Jm
        half = (H @ phi_tilde @ HH_delta(i, a) + Gamma_delta(i, a).T) @ inner
        return half + half.T

    model = MACHINES[name]()
    q, _ = random_state(model)
    assert sensitivity_mismatch(model, q, Mass, corrected) < TOLERANCE
    if name == "reflected_rotors":  # has rotors outboard of revolute joints
        assert sensitivity_mismatch(model, q, Mass, mass_4_3, revolutes(model)) > MARGIN


# -- link axes, which the paper does not use -------------------------------------------


@pytest.mark.parametrize("name", ANY)
def test_in_link_axes_only_the_joints_own_blocks_change(name):
    """D_ia phi(p,i) = phi(p,i) S[s], D_ia H*(i) = Gamma, D_ia M = 0.

    At a root, D_ia phi*(world,i) = -s~ phi*: E carries it. Any joint, any tree.
    """
    model = MACHINES[name]()
    q, _ = random_state(model)
    steps, roots, maps = (sensitivities(model, q, x, axes="link") for x in (E_phi, E, H.T))
    for n, (i, a) in enumerate(directions(model)):
        own = HH_delta(i, a)
        assert mismatch(model, steps[n], E_phi @ own, q, scale=1.0) < TOLERANCE
        assert mismatch(model, roots[n], own.T @ E, q, scale=1.0) < TOLERANCE
        assert mismatch(model, maps[n], Gamma_delta(i, a), q, scale=1.0) < TOLERANCE
    assert not sensitivities(model, q, M, axes="link").any()
    assert sensitivities(model, q, M, axes="world").any()
