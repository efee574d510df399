"""What is no joint: every impossible kind says why and what to do."""

import math

import numpy as np
import pytest
from joint_motions import every_kind
from machines import cam, rocker

from phipsi import joints, spatial
from phipsi.joints import (
    Continuous,
    Custom,
    Cylindrical,
    Fixed,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    SphericalEuler,
    Universal,
)

NAN = float("nan")


def reflected(q):
    return [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]], [q[0], 0.0, 0.0]


def undifferentiable(q):
    c, s = math.cos(q[0]), math.sin(q[0])
    return [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0, 0.0]


def stretched(q):
    """Differentiable, and a rotation, at q = 0 alone."""
    return [[1.0 + q[0], 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0, 0.0]


def array_pose(q):
    """Right for one state: a NumPy array cannot hold batches beside plain numbers."""
    R, l = cam(q)
    return np.array(R), np.array(l)


PROBLEMS = {
    "zero axis": (Revolute((0, 0, 0)), "the axis of a Revolute joint has length zero; give a"),
    "zero prismatic axis": (Prismatic((0, 0, 0)), "Prismatic joint has length zero"),
    "zero helical axis": (Helical((0, 0, 0)), "Helical joint has length zero"),
    "zero cylindrical axis": (Cylindrical((0, 0, 0)), "Cylindrical joint has length zero"),
    "zero normal": (Planar((0, 0, 0)), "the normal of a Planar joint has length zero"),
    "zero first axis": (Universal((0, 0, 0), joints.X), "the first of a Universal joint has"),
    "zero second axis": (Universal(joints.X, (0, 0, 0)), "the second of a Universal joint has"),
    "parallel axes": (Universal((0, 0, 1), (0, 0, -2)), "joint are parallel; they must differ"),
    "nearly parallel axes": (Universal((0, 0, 1), (1e-12, 0, 1)), "joint are parallel"),
    "NaN in an axis": (Revolute((0, NAN, 1)), "(0.0, nan, 1.0); expected finite numbers"),
    "infinite axis": (Continuous((math.inf, 0, 0)), "Continuous joint is (inf, 0.0, 0.0)"),
    "short axis": (Revolute((0, 1)), "is (0.0, 1.0); expected three numbers, as (0, 0, 1)"),
    "no axis": (Revolute(None), "is None; expected three numbers"),
    "letter for an axis": (Revolute("z"), "is 'z'; expected three numbers"),
    "digits for an axis": (Revolute("123"), "is '123'; expected three numbers"),
    "tuple of letters for an axis": (Revolute(("x", 0, 1)), "expected three numbers"),
    "axis too large for floats": (Revolute((10**400, 0, 1)), "expected three numbers"),
    "huge pitch": (Helical(joints.Z, 1e200), "the pitch of a Helical joint is 1e+200"),
    "pitch too large for floats": (Helical(joints.Z, 10**400), "expected a finite number of"),
    "true pitch": (Helical(joints.Z, True), "the pitch of a Helical joint is True"),
    "infinite pitch": (Helical(joints.Z, math.inf), "the pitch of a Helical joint is inf"),
    "text pitch": (Helical(joints.Z, "5 mm"), "is '5 mm'; expected a finite number of metres"),
    "Euler repeats": (SphericalEuler("zzx"), "'zzx' of a SphericalEuler joint does not span"),
    "Euler letters": (SphericalEuler("abc"), "give three of x, y, z"),
    "Euler length": (SphericalEuler("zy"), "give three of x, y, z"),
    "Euler number": (SphericalEuler(123), "give three of x, y, z"),
    "no pose": (Custom(None, 1), "needs a callable pose(q) -> (R, l) and an integer size"),
    "no size": (Custom(cam, 0), "and an integer size, 1 to 6"),
    "text size": (Custom(cam, "1"), "and an integer size, 1 to 6"),
    "true size": (Custom(cam, True), "and an integer size, 1 to 6"),
    "seven freedoms": (Custom(cam, 7), "and an integer size, 1 to 6"),
    "methods of q": (Custom(lambda q: (q[0].matrix(), [0.0] * 3), 1), "fails at q = 0 ('float'"),
    "rotation at 0 alone": (Custom(stretched, 1), "which fails at q = [0.001]"),
    "arrays": (Custom(array_pose, 1), "cannot take a batch, an array for each of q ("),
    "pose that raises": (Custom(rocker, 1), "fails at q = 0 (not enough values to unpack"),
    "pose of nothing": (Custom(lambda q: None, 1), "fails at q = 0"),
    "R too small": (Custom(lambda q: ([[1.0]], [0.0] * 3), 1), "a 3x3 matrix and a 3-vector"),
    "l too short": (Custom(lambda q: (spatial.IDENTITY3, [0.0]), 1), "and a 3-vector"),
    "reflection": (Custom(reflected, 1), "returns an R that is no rotation; R R* must be I"),
    "NaN in l": (
        Custom(lambda q: (spatial.IDENTITY3, [NAN, 0.0, 0.0]), 1),
        "returns the position [nan, 0.0, 0.0]; expected finite numbers",
    ),
    "functions of math": (
        Custom(undifferentiable, 1),
        "cannot be differentiated at q = 0 (must be real number, not Dual); write it with sin",
    ),
}


@pytest.mark.parametrize(("kind", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_impossible_kind_says_why_and_what_to_do(kind, problem):
    assert problem in kind.problem()


@every_kind
def test_possible_kinds_have_no_problem(make):
    assert make(np.random.default_rng(8)).problem() is None
    assert Fixed().problem() is None
