"""Published numbers, from tests/references/*.json: what others computed and printed.

    puma560.json      Corke's Robotics Toolbox (MATLAB and Python): unit tests of the Puma 560;
                      parameters of Corke & Armstrong-Helouvry, ICRA 1994
    small_cases.json  RBDL's DynamicsTests, the Toolbox's two-link arm, and two tops

Each test names its source and takes the tolerance of the file: values are
printed to four decimals, or to six digits where they are larger.
"""

import json
from math import pi
from pathlib import Path

import machines
import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import phipsi as pp
from phipsi import joints
from phipsi.operators import C, D, H, I, J, K, M, Mass, T, beta, f0, phi, psi

REFERENCES = Path(__file__).parent / "references"
PUMA = json.loads((REFERENCES / "puma560.json").read_text())
SMALL = json.loads((REFERENCES / "small_cases.json").read_text())
STEP = 1e-30

Mass_inv = (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K)
QN, MATLAB = PUMA["expected_qn"], PUMA["expected_matlab_q"]
CONFIGURATIONS = {
    "qn": (QN, np.array([0, pi / 4, pi, 0, pi / 4, 0])),
    "matlab_q": (MATLAB, np.array([0, pi / 4, -pi, 1, pi / 4, 0])),
}


@pytest.fixture(scope="module")
def puma():
    return pp.examples.puma560()


@pytest.fixture(params=CONFIGURATIONS)
def expected_and_q(request):
    """What the Toolbox expects at one of its two configurations, and that configuration."""
    expected, q = CONFIGURATIONS[request.param]
    text = expected["q"].replace("pi", str(pi)).strip("[]")
    assert np.allclose([eval(x) for x in text.split(",")], q)  # as the file writes it
    return expected, q


def assert_printed(value, printed, tolerance):
    """Equal to what was printed: within the tolerance, or half a unit of the sixth digit."""
    np.testing.assert_allclose(value, printed, rtol=5e-6, atol=tolerance)


def inverse_dynamics(model, q, v, rates):
    v, rates = np.array(v, float), np.array(rates, float)
    return pp.as_matrix(model, Mass @ T + C, q, v, T=rates)


def friction(v):
    """The Toolbox's rule, as the file states it: |G| (B |G| qd + Tc(sign qd))."""
    gear, v = np.abs(PUMA["G"]), np.array(v, float)
    plus, minus = np.array(PUMA["Tc_plus_minus"]).T
    coulomb = np.where(v > 0, plus, np.where(v < 0, minus, 0.0))
    return gear * (np.array(PUMA["B"]) * gear * v + coulomb)


# -- Puma 560 --------------------------------------------------------------------------


def test_example_machine_has_the_published_parameters(puma):
    """Source: petercorke/robotics-toolbox-matlab@bd7a9d7 models/mdl_puma560.m.

    The Toolbox places frame i at the END of link i (standard Denavit-Hartenberg),
    phipsi at its inboard joint: parameters are compared in the Toolbox's frames.
    """
    here = np.eye(4)
    alpha = [eval(x, {"pi": pi}) for x in PUMA["alpha"]]
    for k, (body, joint) in enumerate(zip(puma.bodies, puma.joints, strict=True)):
        assert isinstance(joint.kind, joints.Revolute) and joint.kind.axis == (0, 0, 1)
        np.testing.assert_allclose(joint.placement.matrix, here, atol=1e-15)
        c, s = np.cos(alpha[k]), np.sin(alpha[k])
        here = np.array(
            [[1, 0, 0, PUMA["a"][k]], [0, c, -s, 0], [0, s, c, PUMA["d"][k]], [0, 0, 0, 1]]
        )
        turn = here[:3, :3]
        com = turn.T @ (np.array(body.inertia.com) - here[:3, 3])
        assert body.inertia.mass == PUMA["m"][k]
        if body.inertia.mass:
            np.testing.assert_allclose(com, PUMA["r"][k], atol=1e-15)
        moments = turn.T @ np.array(body.inertia.rotational) @ turn
        np.testing.assert_allclose(moments, np.diag(PUMA["Idiag"][k]), atol=1e-15)
        assert (joint.rotor_inertia, joint.gear_ratio) == (PUMA["Jm"][k], PUMA["G"][k])
    np.testing.assert_allclose(puma.frame("flange").placement.matrix, here, atol=1e-15)


def test_puma_gravity_load(puma, expected_and_q):
    """Source: SerialLinkTest.m and test_DHRobot.py, gravload: the torques that hold the arm."""
    expected, q = expected_and_q
    load = pp.as_matrix(puma, C, q, np.zeros(6))
    assert_printed(load, expected["gravload"], expected["tol"])


def test_puma_mass_matrix(puma, expected_and_q):
    """Source: SerialLinkTest.m and test_DHRobot.py, inertia; with the motors' G^2 Jm."""
    expected, q = expected_and_q
    assert_printed(pp.as_matrix(puma, Mass, q), expected["M"], expected["tol"])


def test_puma_without_motors_is_not_the_published_one(puma):
    """The motors are a large share: M(6,6) is 0.1941 with them and 0.00004 without."""
    bodies = pp.as_matrix(puma, H @ phi @ M @ phi.T @ H.T, CONFIGURATIONS["qn"][1])
    assert abs(bodies[5, 5] - 4e-5) < 1e-12
    assert QN["M"][5][5] > 0.19


@pytest.mark.parametrize("name", ["qn", "matlab_q"])
def test_puma_coriolis_matrix(puma, name):
    """Source: SerialLinkTest.m and test_DHRobot.py, coriolis.

    C(i,j) = sum_k 1/2 (D_k M_ij + D_j M_ik - D_i M_jk) qd_k, the Christoffel
    symbols from complex steps of the mass matrix.
    """
    expected, q = CONFIGURATIONS[name]
    key, v = {
        "qn": ("C_qd_1_2_3_1_2_3", np.array([1.0, 2, 3, 1, 2, 3])),
        "matlab_q": ("C_qd_half", np.full(6, 0.5)),
    }[name]
    steps = q + 1j * STEP * np.eye(6)
    slopes = pp.as_matrix(puma, Mass, steps).imag / STEP  # [k, i, j] = D_k M_ij
    symbols = 0.5 * (
        np.einsum("kij->ijk", slopes)
        + np.einsum("jik->ijk", slopes)
        - np.einsum("ijk->ijk", slopes)
    )
    coriolis = symbols @ v
    assert_printed(coriolis, expected[key], expected["tol"])
    gravity = pp.as_matrix(puma, C, q, np.zeros(6))
    np.testing.assert_allclose(coriolis @ v, pp.as_matrix(puma, C, q, v) - gravity, atol=1e-12)


@pytest.mark.parametrize(
    ("case", "v", "rates"),
    [
        ("qd0_qdd0", 0, 0),
        ("qd0_qdd1", 0, 1),
        ("qd1_qdd1_WITH_FRICTION", 1, 1),
        ("qd1_qdd0_WITH_FRICTION", 1, 0),
    ],
)
def test_puma_inverse_dynamics(puma, case, v, rates):
    """Source: test_DHRobot.py, rne; friction added by the rule of the file where it says so."""
    v, rates = np.full(6, v), np.full(6, rates)
    torques = inverse_dynamics(puma, CONFIGURATIONS["qn"][1], v, rates)
    if case.endswith("WITH_FRICTION"):
        torques = torques + friction(v)
    assert_printed(torques, QN["rne"][case], QN["tol"])


def test_puma_inertial_torque(puma):
    """Source: test_DHRobot.py, itorque: Mass qdd."""
    rates = np.array([1.0, 2, 3, 1, 2, 3])
    torques = pp.as_matrix(puma, Mass @ T, CONFIGURATIONS["qn"][1], T=rates)
    assert_printed(torques, QN["itorque_qdd_1_2_3_1_2_3"], QN["tol"])


def test_puma_holding_an_external_force(puma):
    """Source: test_DHRobot.py, rne with fext = [1, 2, 3, 1, 2, 3], forces first, in tool axes.

    fext is what the tool exerts on the environment: the papers' f(0), T = C + J* f(0).
    """
    force, moment = np.array([1.0, 2, 3]), np.array([1.0, 2, 3])
    flange = pp.point("flange")
    torques = pp.as_matrix(
        puma,
        C + J(flange).T @ f0,
        CONFIGURATIONS["qn"][1],
        np.zeros(6),
        f0=np.concatenate([moment, force]),
    )
    assert_printed(torques, QN["rne"]["fext_1_2_3_1_2_3_static"], QN["tol"])


def test_puma_cartesian_mass_matrix(puma):
    """Source: test_DHRobot.py, inertia_x: J^-T Mass J^-1, velocities first, at the flange."""
    flange = pp.point("flange")
    q = CONFIGURATIONS["qn"][1]
    jacobian = pp.as_matrix(puma, J, q, axes="world", points=[flange])
    jacobian = np.roll(jacobian, 3, axis=0)  # the Toolbox puts the linear part first
    inverse = np.linalg.inv(jacobian)
    cartesian = inverse.T @ pp.as_matrix(puma, Mass, q) @ inverse
    assert_printed(cartesian, QN["Mx_cartesian"], QN["tol"])


def test_puma_forward_dynamics_with_friction(puma):
    """Source: test_DHRobot.py, accel; by the innovations factorization of the inverse."""
    case = QN["accel_WITH_FRICTION"]
    v = np.array(case["qd"])
    torques = np.array(case["tau"]) - friction(v)
    rates = pp.as_matrix(puma, Mass_inv @ (T - C), CONFIGURATIONS["qn"][1], v, T=torques)
    assert_printed(rates, case["qdd"], QN["tol"])


# -- RBDL ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", machines.rbdl_cases())
def test_rbdl_accelerations_from_rest(case):
    """Source: rbdl/rbdl@d2ca037 tests/DynamicsTests.cc: unit masses falling from rest.

    zyx is Featherstone's spatial_v1 result: a body behind massless intermediate bodies.
    """
    model, q, expected = machines.rbdl_cases()[case]
    zero = np.zeros(model.nv)
    rates = pp.as_matrix(model, Mass_inv @ (T - C), q, zero, T=zero)
    np.testing.assert_allclose(rates, expected, rtol=1e-12, atol=1e-12)
    solved = np.linalg.solve(pp.as_matrix(model, Mass, q), -pp.as_matrix(model, C, q, zero))
    np.testing.assert_allclose(rates, solved, rtol=1e-12, atol=1e-12)


# -- the Toolbox's two-link arm --------------------------------------------------------


def two_link(gravity=9.81):
    """mdl_twolink: 1 m, 1 kg at the centre of each link, in a vertical plane."""
    builder = pp.ModelBuilder("twolink", gravity=(0.0, 0.0, -gravity))
    lift = joints.Revolute((0.0, -1.0, 0.0))
    builder.add_body("first", joint=lift, mass=1.0, com=(0.5, 0, 0))
    builder.add_body("second", "first", lift, position=(1, 0, 0), mass=1.0, com=(0.5, 0, 0))
    builder.add_frame("tip", "second", (1, 0, 0))
    return builder.build()


@pytest.mark.parametrize(
    ("case", "q"), [("tau_00", [0, 0]), ("tau_0_90", [0, pi / 2]), ("tau_90_0", [pi / 2, 0])]
)
def test_two_link_gravity_load(case, q):
    """Source: robotics-toolbox-matlab, unit_test rne_test with mdl_twolink."""
    printed = SMALL["twolink"][case]
    expected = eval(printed.replace("g*", "9.81*np.array(") + ")") if "g*" in printed else printed
    load = pp.as_matrix(two_link(), C, q, [0, 0])
    np.testing.assert_allclose(load, expected, atol=1e-12)


def test_two_link_external_force():
    """Source: as above: a unit force across the tip, outstretched, without gravity."""
    model = two_link(gravity=0.0)
    across = [0, 0, 0, 0, 0, 1]
    torques = pp.as_matrix(model, C + J.T @ f0, [0, 0], [0, 0], points=[pp.point("tip")], f0=across)
    np.testing.assert_allclose(torques, SMALL["twolink"]["fext_y1"], atol=1e-12)


# -- tops ------------------------------------------------------------------------------


def spinning_body(joint, moments, mass=2.0, com=(0, 0, 0), gravity=(0, 0, 0)):
    builder = pp.ModelBuilder("top", gravity=gravity)
    builder.add_body("top", joint=joint, mass=mass, com=com, inertia=moments)
    return builder.build()


def accelerations(model, q, v):
    return pp.as_matrix(model, Mass_inv @ (T - C), q, v, T=np.zeros(model.nv))


@pytest.mark.parametrize("joint", [joints.Spherical(), joints.Free()], ids=["spherical", "free"])
def test_dzhanibekov_rates_are_those_of_the_elliptic_solution(joint):
    """Source: Landau & Lifshitz, Mechanics, sec. 37: a free body near its middle axis.

    The file's formulas, their derivatives by sn' = cn dn, cn' = -sn dn, dn' = -k^2 sn cn,
    against forward dynamics at times over a whole period 4 K(k) / rate.
    """
    I1, I2, I3 = moments = np.array([1.0, 2.0, 2.5])
    omega0 = np.array([0.05, 1.3, 1.2])
    energy2, momentum2 = moments @ omega0**2, moments**2 @ omega0**2  # 2E and M^2
    assert momentum2 > energy2 * I2
    rate = np.sqrt((I3 - I2) * (momentum2 - energy2 * I1) / (I1 * I2 * I3))
    modulus = (I2 - I1) * (energy2 * I3 - momentum2) / ((I3 - I2) * (momentum2 - energy2 * I1))
    times = np.linspace(0, 4 * ellipk(modulus) / rate, 25)
    sn, cn, dn, _ = ellipj(rate * times, modulus)
    size = np.sqrt(
        [
            (energy2 * I3 - momentum2) / (I1 * (I3 - I1)),
            (energy2 * I3 - momentum2) / (I2 * (I3 - I2)),
            (momentum2 - energy2 * I1) / (I3 * (I3 - I1)),
        ]
    )
    omega = size * np.stack([cn, sn, dn], axis=-1)
    slope = rate * size * np.stack([-sn * dn, cn * dn, -modulus * sn * cn], axis=-1)
    np.testing.assert_allclose(moments @ (omega**2).T, energy2)
    np.testing.assert_allclose(omega[0], omega[-1], atol=1e-12)

    model = spinning_body(joint, moments)
    rng = np.random.default_rng(0)
    q = np.array([model.random(rng) for _ in times])  # a free body does not mind its orientation
    v = np.zeros((len(times), model.nv))
    v[:, :3] = omega
    rates = accelerations(model, q, v)
    np.testing.assert_allclose(rates[:, :3], slope, atol=1e-12 * np.abs(slope).max())
    np.testing.assert_allclose(rates[:, 3:], 0, atol=1e-12)


def test_axisymmetric_body_precesses_at_its_rate():
    """Source: drake multibody/benchmarks/free_body: omega turns about the axis in body axes.

    With I1 = I2 = I, I3 = J: w1' = -s w2, w2' = s w1, w3' = 0, s = w3 (J - I) / I.
    """
    across, along = 0.04, 0.02
    model = spinning_body(joints.Free(), (across, across, along))
    rng = np.random.default_rng(1)
    for _ in range(5):
        v = rng.normal(size=6)
        v[3:] = 0
        s = v[2] * (along - across) / across
        rates = accelerations(model, model.random(rng), v)
        np.testing.assert_allclose(rates[:3], [-s * v[1], s * v[0], 0.0], atol=1e-12)


def heavy_top():
    top = SMALL["heavy_top"]
    gravity = (0, 0, -9.81)
    assert top["g"] == "9.81 -z"
    return spinning_body(joints.Spherical(), top["I_com"], top["m"], top["com"], gravity)


def heavy_top_states(model, n=8):
    """The published initial speed, then random ones, at random orientations."""
    rng = np.random.default_rng(2)
    omega0 = np.array(SMALL["heavy_top"]["omega0"])
    for i in range(n):
        yield model.random(rng), omega0 if i < 2 else rng.normal(size=3) * [10, 100, 10]


def test_heavy_top_follows_euler():
    """Source: EXUDYN TestModels/heavyTop.py (Bruls, Cardona, Arnold 2012).

    I_O omega' + omega x I_O omega = c x m R* g about the fixed point, in body axes.
    """
    model, top = heavy_top(), SMALL["heavy_top"]
    m, c = top["m"], np.array(top["com"])
    I_O = np.diag(top["I_com"]) + m * (c @ c * np.eye(3) - np.outer(c, c))
    for q, omega in heavy_top_states(model):
        rotation = np.array(model.joints[0].kind.transform(q)[0])
        torque = np.cross(c, m * rotation.T @ [0, 0, -9.81])
        expected = np.linalg.solve(I_O, torque - np.cross(omega, I_O @ omega))
        rates = accelerations(model, q, omega)
        np.testing.assert_allclose(rates, expected, atol=1e-12 * np.linalg.norm(omega) ** 2)


def test_heavy_top_conserves_energy_and_vertical_and_axial_momentum():
    """Source: as above: no trajectory is tabulated, but three first integrals are known.

    Their rates along the computed accelerations vanish, by a complex step.
    """
    model, top = heavy_top(), SMALL["heavy_top"]
    m, c = top["m"], np.array(top["com"])
    I_O = np.diag(top["I_com"]) + m * (c @ c * np.eye(3) - np.outer(c, c))
    for q, omega in heavy_top_states(model):
        rates = accelerations(model, q, omega)
        moved = pp.integrate(model, q, 1j * STEP * omega)
        speeds = omega + 1j * STEP * rates
        R = np.array(model.joints[0].kind.transform(moved)[0])
        kinetic = 0.5 * pp.as_matrix(model, beta.T @ Mass @ beta, moved, speeds)
        potential = m * 9.81 * (R @ c)[2]
        vertical = (R @ I_O @ speeds)[2]
        axial = (I_O @ speeds)[1]
        scale = np.linalg.norm(I_O @ omega) * np.linalg.norm(omega)
        assert abs(kinetic.imag / STEP) > 1e-9 * scale  # each share changes, the sum does not
        assert abs((kinetic + potential).imag / STEP) < 1e-12 * scale * np.linalg.norm(omega)
        assert abs(vertical.imag / STEP) < 1e-12 * scale
        assert abs(axial.imag / STEP) < 1e-12 * scale
