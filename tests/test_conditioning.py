"""Forward dynamics keeps the digits that its input has, on the machines that are worst for it.

The bars are ratios between errors of the same run, so that none is a matter of luck: an
error of roundoff varies by a small factor with the platform's sin, cos and BLAS.
"""

import importlib.util
import re
import sys
from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from machines import MARKET, random_state
from reference_dynamics import Exact, ExactMachine, precise, relative_error

import phipsi as pp
from phipsi import joints
from phipsi.operators import C, Mass, T
from phipsi.scalars import cos, sin

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "conditioning.py"
spec = importlib.util.spec_from_file_location("conditioning", SCRIPT)
conditioning = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conditioning)

WORST = {"icub": 4, "tiago_dual": 2, "chain(300)": 1}  # and at how many states


@cache
def measure(name):
    """Without our own Cholesky: Pinocchio's solve of a mass matrix is much quicker today."""
    return conditioning.errors(name, WORST[name], ("FD4", "FD3", "FD1"))


@pytest.fixture(params=WORST)
def measured(request):
    return measure(request.param)


# -- the reference ---------------------------------------------------------------------


def has_reference(model):
    return model.joints == model.leaders and not any(
        isinstance(joint.kind, joints.Custom) for joint in model.joints
    )


@precise
def test_sine_and_cosine_have_fifty_digits():
    """Of 1 as published; of 7 by the formula for the sum of two angles."""
    one = sin(Exact(1.0)), cos(Exact(1.0))
    published = (
        "0.84147098480789650665250232163029899962256306079837",
        "0.54030230586813971740093660744297660373231042061792",
    )
    for ours, theirs in zip(one, published, strict=True):
        assert abs(ours.value - Decimal(theirs)) < Decimal("1e-48")
    s, c = one
    for _ in range(6):
        s, c = s * one[1] + c * one[0], c * one[1] - s * one[0]
    assert abs(s.value - sin(Exact(7.0)).value) < Decimal("1e-46")
    assert abs(c.value - cos(Exact(7.0)).value) < Decimal("1e-46")


@pytest.mark.parametrize("name", [name for name in MARKET if has_reference(MARKET[name]())])
def test_reference_is_the_dense_meaning_to_the_digits_of_a_double(name):
    model = MARKET[name]()
    rng = np.random.default_rng(3)
    q, v = random_state(model, rng)
    tau = rng.normal(size=model.nv)
    dense = pp.as_matrix(model, Mass.inv @ (T - C), q, v, T=tau)
    assert relative_error(dense, ExactMachine(model).forward_dynamics(q, v, tau)) < 1e-12


def test_reference_satisfies_the_equations_of_motion(measured):
    """By Newton and Euler, who know no mass matrix: to 1e-30, and 42 digits are measured."""
    assert measured["residual"].max() < 1e-30


# -- the algorithms --------------------------------------------------------------------


def test_FD4_errs_no_more_than_rounding_its_input_does(measured):
    """By at most 20 times; 1 to 4 are measured, and 1,000 for FD1 on the chain."""
    unavoidable = np.maximum(measured["numbers"], measured["inertias"])
    assert np.all(measured["FD4"] <= 20 * np.maximum(unavoidable, conditioning.UNIT))


def test_FD4_keeps_as_many_digits_as_the_articulated_bodies_of_pinocchio(measured):
    """In the mean over the states: less than one digit apart; a factor of 2 is measured."""
    ratio = np.log10(measured["FD4"] / measured["aba"])
    assert ratio.mean() < np.log10(5)


def test_filtering_the_bias_keeps_digits_that_the_mass_matrix_loses():
    """A chain of 300: T - C, rounded to doubles and else exact, errs more than all of FD4 does.

    By a factor of 100; FD1 by one of 400, solving with the mass matrix by 10,000.
    """
    found = measure("chain(300)")
    assert np.all(10 * found["FD4"] < found["force"])
    assert np.all(30 * found["FD4"] < found["FD1"])
    assert np.all(30 * found["FD3"] < found["FD1"])
    assert np.all(300 * found["FD4"] < found["crba"])


@pytest.mark.parametrize("sines", conditioning.SINES, ids=str)
def test_private_frames_cost_less_than_a_digit(sines):
    """Beside origins that stay, however parallel the axes; a factor of 4 is measured at worst."""
    found = conditioning.frame_errors(*sines)
    assert found["bounded"].max() < 10 * found["stay"].max()


def test_the_bound_on_slides_keeps_digits_that_distant_origins_lose():
    """Axes 0.001 to 0.002 from parallel: a factor of 7 is measured."""
    found = conditioning.frame_errors(*conditioning.SINES[-1])
    assert 2 * found["bounded"].max() < found["unbounded"].max()


# -- the page --------------------------------------------------------------------------


def rows(text):
    """Tables of numbers but those of single precision: {first cell: [the others]}."""
    text = re.sub(r"<!-- single.*<!-- end single", "", text, flags=re.DOTALL)
    cells = [line.strip("| \n").split(" | ") for line in text.splitlines() if line[:2] == "| "]
    return {name: values for name, *values in cells}


def test_page_shows_what_is_measured():
    """All machines; and the numbers of a chain to within a digit, on any platform."""
    published = rows(conditioning.PAGE.read_text(encoding="utf-8"))
    assert set(published) >= {*conditioning.MACHINES, "0.1 to 0.2"}
    (name, measured), *_ = rows(conditioning.error_row("chain(30)")).items()
    ratios = np.array(measured, float) / np.array(published[name], float)
    assert np.all(np.abs(np.log10(ratios)) < 1.0)


def test_script_writes_between_the_markers_only(tmp_path, monkeypatch, capsys):
    page = tmp_path / "accuracy.md"
    before = conditioning.PAGE.read_text(encoding="utf-8")
    page.write_text(before, encoding="utf-8")
    monkeypatch.setattr(conditioning, "PAGE", page)
    monkeypatch.setattr(conditioning, "MACHINES", ("ur5",))
    monkeypatch.setattr(conditioning, "SINES", ((0.3, 0.4),))
    monkeypatch.setattr(sys, "argv", ["conditioning.py", "--write"])
    conditioning.main()
    after = page.read_text(encoding="utf-8")
    assert set(rows(after)) == {"machine", "ur5", "sine between axes", "0.3 to 0.4"}
    assert rows(after) == rows(capsys.readouterr().out)
    tables = re.compile(r"^\|.*\n", re.MULTILINE)
    assert tables.sub("", after) == tables.sub("", before)


def test_script_refuses_an_unknown_machine(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["conditioning.py", "ur6"])
    with pytest.raises(SystemExit):
        conditioning.main()
    assert "no machine 'ur6'; there are ur5, panda" in capsys.readouterr().err


@pytest.mark.parametrize(
    "kind",
    [joints.SphericalEuler("xyz"), joints.Spherical(), joints.Universal((1, 0, 0), (0, 0.6, 0.8))],
    ids=lambda kind: type(kind).__name__,
)
def test_ball_joint_with_a_distant_mass_keeps_its_digits(kind):
    """A kilogram a metre behind a joint of several speeds; all other inertias are 1e-6 of it.

    P - G L P by multiplying with D^-1 lost half of all digits here (errors of
    1e-5); eliminated by LDL' it keeps as many as a dense Cholesky solve.
    """
    builder = pp.ModelBuilder("ball joint")
    small = {"mass": 1e-3, "inertia": (1e-6,) * 3}
    builder.add_body("a", joint=joints.Revolute((0.6, 0, 0.8)), com=(1e-3, 0, 0), **small)
    builder.add_body("b", "a", kind, position=(1e-3, 2e-3, 0), **small)
    builder.add_body(
        "c",
        "b",
        joints.Prismatic((0, 0.6, 0.8)),
        position=(1.0, 0.3, 0.2),
        mass=1.0,
        inertia=(1e-6,) * 3,
    )
    model, rng = builder.build(), np.random.default_rng(0)
    q, v = random_state(model, rng)
    tau = 1e-6 * rng.normal(size=model.nv)
    exact = ExactMachine(model).forward_dynamics(q, v, tau)
    assert relative_error(pp.forward_dynamics(model, q, v, tau), exact) < 1e-8
