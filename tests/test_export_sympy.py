"""Expressions as formulas: exact, simplified, and those of the books."""

import sys

import machines
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phipsi as pp
from phipsi.backends.exports import sympy as target
from phipsi.backends.job import Job
from phipsi.compile import make_program
from phipsi.errors import BackendError, SolveError
from phipsi.function.exported import exported
from phipsi.lowering.machine import Machine
from phipsi.lowering.parameters import Parameters
from phipsi.operators import C, D, H, I, J, K, Mass, T, phi, psi, scalar

sympy = pytest.importorskip("sympy")
from phipsi.backends.exports.exact import Exact, exact_angle, exact_number, made_exact  # noqa: E402
from phipsi.backends.exports.trigonometry import simplified  # noqa: E402

cos, sin, R = sympy.cos, sympy.sin, sympy.Rational
q0, q1, q2, v0, v1 = sympy.symbols("q0 q1 q2 v0 v1")
CLOSE = 1e-12


def point_masses(m1=2.0, m2=3.0, l1=0.5, l2=0.25):
    """Two massless rods in a vertical plane, each with a point mass at its end."""
    builder = pp.ModelBuilder("double pendulum", gravity=(0.0, -9.8, 0.0))
    builder.add_body("upper", joint=pp.joints.Revolute((0, 0, 1)), mass=m1, com=(l1, 0, 0))
    builder.add_body(
        "lower",
        "upper",
        pp.joints.Revolute((0, 0, 1)),
        position=(l1, 0, 0),
        mass=m2,
        com=(l2, 0, 0),
    )
    return builder.build()


def assert_agrees(formulas, function, **named):
    """By substitution, to 1e-12 of the largest number."""
    numbers = {}
    for name, value in named.items():
        value = np.asarray(value)
        for i, x in enumerate(value.ravel()):
            symbol = sympy.Symbol(f"{name}{i}" if value.shape else name)
            numbers[symbol] = sympy.Float(repr(float(x)), 30)
    assert {x.name for x in formulas.free_symbols} <= {x.name for x in numbers}
    found = np.array(formulas.evalf(25, subs=numbers), float)
    wanted = np.asarray(function(**named))
    error = np.abs(found.reshape(wanted.shape) - wanted).max()
    assert error <= CLOSE * max(np.abs(wanted).max(), 1e-3)


# -- formulas of the books ---------------------------------------------------------------------


def test_mass_matrix_of_two_point_masses():
    """J. Craig, Introduction to Robotics, 6.7: the two-link manipulator, masses at the ends.

    M = [[l2^2 m2 + 2 l1 l2 m2 c2 + l1^2 (m1 + m2), l2^2 m2 + l1 l2 m2 c2], [., l2^2 m2]]
    """
    m1, m2, l1, l2 = R(2), R(3), R(1, 2), R(1, 4)
    c2 = cos(q1)
    a = l2**2 * m2 + 2 * l1 * l2 * m2 * c2 + l1**2 * (m1 + m2)
    b, d = l2**2 * m2 + l1 * l2 * m2 * c2, l2**2 * m2
    found = pp.export(point_masses(), Mass, to="sympy")
    assert found == sympy.Matrix([[a, b], [b, d]]).expand()
    assert str(found[0, 1]) == "3*cos(q1)/8 + 3/16"


def test_masses_and_lengths_are_symbols_where_they_are_arguments():
    """The same formula, in letters: parameters of a machine become symbols."""
    arm = point_masses()
    program = make_program((Mass,))
    parameters = Parameters(arm, ["upper.mass", "lower.mass", "lower_joint.position"])
    machine = Machine(arm, program.shifted, parameters)
    job = Job(program, machine, {}, {"q": (2,), **parameters.shapes}, ((2, 2),), "f", "Mass")
    m1, m2, l1, y, z = map(
        sympy.Symbol, ["upper.mass", "lower.mass", *(f"lower_joint.position{i}" for i in range(3))]
    )
    # The mass of the upper rod stays where it is, half a metre out.
    l2, c2 = R(1, 4), cos(q1)
    b = l2**2 * m2 + l1 * l2 * m2 * c2
    a = b + l1 * l2 * m2 * c2 + l1**2 * m2 + m1 / 4
    found = target.export(job, arm, "f").subs({y: 0, z: 0})
    assert found.expand() == sympy.Matrix([[a, b], [b, l2**2 * m2]]).expand()


def test_bias_of_two_point_masses():
    """The same example: Coriolis, centrifugal and gravity terms, angles from the horizontal."""
    m1, m2, l1, l2, g = R(2), R(3), R(1, 2), R(1, 4), R(49, 5)
    s2, c1, c12 = sin(q1), cos(q0), cos(q0 + q1)
    wanted = sympy.Matrix(
        [
            -m2 * l1 * l2 * s2 * v1**2
            - 2 * m2 * l1 * l2 * s2 * v0 * v1
            + m2 * l2 * g * c12
            + (m1 + m2) * l1 * g * c1,
            m2 * l1 * l2 * s2 * v0**2 + m2 * l2 * g * c12,
        ]
    )
    assert pp.export(point_masses(), C, to="sympy").expand() == wanted.expand()


def test_inverse_of_two_point_masses():
    """By Cramer's rule; det M = m2 l1^2 l2^2 (m1 + m2 sin^2)."""
    m1, m2, l1, l2 = R(2), R(3), R(1, 2), R(1, 4)
    arm = point_masses()
    M, inverse = (pp.export(arm, x, to="sympy") for x in (Mass, Mass.inv))
    det = m2 * l1**2 * l2**2 * (m1 + m2 * (1 - cos(q1) ** 2))
    wanted = sympy.Matrix([[M[1, 1], -M[0, 1]], [-M[0, 1], M[0, 0]]]) / det
    assert (inverse - wanted).applyfunc(sympy.cancel) == sympy.zeros(2)
    assert inverse[0, 0] == 4 / (5 - 3 * cos(q1) ** 2)


def test_arm_of_two_rods_as_one_would_write_it():
    """Rods of 1 kg and 1 m, their moment 1/12 and a little for their thickness."""
    arm = pp.examples.planar_arm(2)
    a = exact_number(arm.bodies[0].inertia.rotational[1][1]) + R(1, 4)  # about the joint
    M = pp.export(arm, Mass, to="sympy")
    c = cos(q1)
    assert sympy.Matrix([[2 * a + 1 + c, a + c / 2], [a + c / 2, a]]) == M
    inverse = pp.export(arm, Mass.inv, to="sympy")
    assert (M * inverse).applyfunc(simplified) == sympy.eye(2)


def test_factors_of_the_mass_matrix_are_formulas():
    """(I + H phi K) D (I + H phi K)* = H phi M phi* H*, as formulas [001 (45), X.C]."""
    arm = pp.examples.planar_arm(2)
    left, d = pp.export(arm, [I + H @ phi @ K, D], to="sympy")
    product = (left * d * left.T).applyfunc(simplified)
    assert product == pp.export(arm, Mass, to="sympy")
    assert left[1, 0] == 0 or left[0, 1] == 0


def test_inverse_factors_of_the_mass_matrix_are_formulas():
    """Mass^-1 = (I - H psi K)* D^-1 (I - H psi K) [001 (47), X.B]."""
    arm = pp.examples.planar_arm(2)
    left, d = pp.export(arm, [I - H @ psi @ K, D], to="sympy")
    product = (left.T * d.inv() * left).applyfunc(simplified)
    assert product == pp.export(arm, Mass.inv, to="sympy")


# -- numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        *(pp.joints.Prismatic((0.6, 0.0, 0.8)), pp.joints.Helical((0, 0, 1), 0.1)),
        *(pp.joints.Cylindrical((0, 1, 0)), pp.joints.Universal((1, 0, 0), (0, 1, 0))),
        *(pp.joints.Planar((0, 0, 1)), pp.joints.Spherical(), pp.joints.SphericalEuler("zyx")),
        *(pp.joints.Free(), pp.joints.Custom(machines.rocker, 2)),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_formulas_as_they_are_found(kind):
    """Not simplified, of joints of every kind, against the interpreter."""
    builder = pp.ModelBuilder("body")
    body = {"mass": 1.5, "com": (0.1, 0.2, 0.3), "inertia": (0.5, 0.6, 0.7)}
    builder.add_body("body", joint=kind, position=(0.5, 0.0, 0.1), **body)
    model = builder.build()
    rng = np.random.default_rng(0)
    q, v = model.random(rng), rng.normal(size=model.nv)
    formulas = pp.export(model, C, to="sympy", simplify=False)
    assert_agrees(formulas, pp.compile(model, C), q=q, v=v)


@pytest.mark.parametrize(
    "expression", [Mass, C, Mass.inv, Mass.inv @ (T - C), scalar("k") * Mass, J(pp.point("link2"))]
)
def test_simplified_formulas_agree(expression):
    model = pp.chain(2)
    function = pp.compile(model, expression)
    rng = np.random.default_rng(1)
    named = {x: rng.normal(size=shape) for x, shape in exported(function).inputs.items()}
    assert_agrees(pp.export(model, expression, to="sympy"), function, **named)


def test_simplified_formulas_agree_with_machine_code():
    model = pp.examples.planar_arm(3)
    q = np.array([0.3, -0.7, 1.1])
    function = pp.compile(model, Mass.inv, backend="llvm")
    assert_agrees(pp.export(model, Mass.inv, to="sympy"), function, q=q)


def test_positions_of_points_are_symbols():
    model = pp.examples.planar_arm(2)
    found = pp.export(model, J, to="sympy", points=["link2"])
    p = np.array([0.3, 0.1, -0.2])
    function = pp.compile(model, J)
    wanted = function([0.2, 0.4], None, points=[pp.point("link2", tuple(p))])
    assert_agrees(found, lambda **named: wanted, q=np.array([0.2, 0.4]), points=p)


def test_several_expressions_are_a_tuple():
    first, second = pp.export(pp.examples.planar_arm(1), [Mass, C], to="sympy")
    assert first.shape == second.shape == (1, 1)
    assert second[0, 0].has(q0)


def test_what_is_no_polynomial_stays_as_it_is():
    choice = sympy.Piecewise((sin(q0) ** 2, q0 < 0), (cos(q0), True))
    for formula in (sympy.sqrt(2 + sin(q0)) + sin(q0), choice + sin(q0)):
        assert simplified(formula).equals(formula)


# -- exact numbers -----------------------------------------------------------------------------


@given(st.integers(-(10**6), 10**6), st.integers(1, 1000))
def test_short_fractions_and_decimals_are_recognised(n, d):
    assert exact_number(n / d) == R(n, d)
    assert exact_number(float(f"{n}e-4")) == R(n, 10**4)


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9))
def test_no_number_is_moved_by_more_than_roundoff(x):
    assert abs(float(exact_number(x)) - x) <= 1e-15 * abs(x)
    assert abs(float(exact_angle(x)) - x) <= 1e-15 * abs(x)


def test_roots_and_fractions_of_pi():
    assert exact_number(-np.sqrt(2) / 2) == -sympy.sqrt(2) / 2
    assert exact_angle(-3 * np.pi / 4) == -3 * sympy.pi / 4
    assert exact_angle(0.0) == 0


def test_arithmetic_of_exact_numbers():
    x = Exact(sympy.Symbol("x"))
    assert ((1 - x) * 0.1 + 2.0 / x - abs(-x)).value == (
        (1 - x.value) / 10 + 2 / x.value - sympy.Abs(x.value)
    )
    assert (x**2).value == x.value**2
    assert repr(x) == "Exact(x)"
    with pytest.raises(ZeroDivisionError):
        x / Exact(sympy.S.Zero)
    with pytest.raises(ZeroDivisionError):
        1.0 / Exact(sympy.S.Zero)
    assert made_exact((0.5, 0, 1)) == (Exact(R(1, 2)), 0, 1)


# -- refusals ----------------------------------------------------------------------------------


def test_machines_too_large_are_refused(monkeypatch):
    with pytest.raises(
        BackendError,
        match=r"'chain of 6' is too large to be simplified: it takes \d+ operations, "
        r"and 160 are the limit; with simplify=False up to 5000 are possible",
    ):
        pp.export(pp.chain(6), Mass.inv, to="sympy")
    with pytest.raises(BackendError, match=r"300 are the limit"):
        pp.export(pp.chain(9), Mass, to="sympy")
    with pytest.raises(BackendError, match=r"too large for formulas: .* 5000 are the limit$"):
        pp.export(pp.chain(60), Mass, to="sympy", simplify=False)
    monkeypatch.setattr(target, "LARGEST", 10)
    with pytest.raises(BackendError, match="it takes more than 100 operations"):
        pp.export(pp.chain(60), Mass, to="sympy", simplify=False)


def test_what_has_no_value_or_no_package_is_refused(monkeypatch):
    builder = pp.ModelBuilder("nothing", strict=False)
    builder.add_body("body", joint=pp.joints.Revolute((0, 0, 1)), mass=0.0)
    with pytest.raises(SolveError, match="no value in any state of 'nothing'"):
        pp.export(builder.build(), Mass.inv, to="sympy")
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(BackendError, match=r"needs sympy: pip install 'phipsi\[export\]'"):
        pp.export(pp.chain(2), Mass, to="sympy")


def test_angles_that_begin_at_no_part_of_a_turn_are_left_as_they_are():
    """As those of files, where a right angle has eleven digits."""
    builder = pp.ModelBuilder("rounded")
    body = {"mass": 1.0, "com": (0.3, 0.2, 0.1), "inertia": (0.1, 0.2, 0.3)}
    for k in range(4):
        s, c = np.sin(1.57079632679), np.cos(1.57079632679)
        place = {"rotation": [[c, -s, 0], [s, c, 0], [0, 0, 1]], "position": (0.5, 0.1 * k, 0)}
        joint = pp.joints.Revolute((1, k % 2, 1))
        builder.add_body(f"b{k}", f"b{k - 1}" if k else "world", joint, **place, **body)
    model = builder.build()
    with pytest.raises(BackendError, match=f"and {target.ODD} are the limit; with simplify=False"):
        pp.export(model, Mass, to="sympy")
    formulas = pp.export(model, Mass, to="sympy", simplify=False)
    q = np.array([0.1, 0.2, 0.3, 0.4])
    found = np.array(formulas.subs({f"q{i}": x for i, x in enumerate(q)}), float)
    assert np.abs(found - pp.mass_matrix(model, q)).max() < 1e-12


def test_c_has_its_own_way():
    with pytest.raises(pp.InputError, match="export_c"):
        pp.export(pp.chain(2), Mass, to="c")
