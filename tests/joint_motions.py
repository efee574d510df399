"""How tests move a joint of any kind: poses, twists, complex steps, random tangents.

`every_kind` and `every_group` run a test on each kind, `for_random_numbers` with
generators that hypothesis finds.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import ALL_KINDS, free, planar, spherical
from numpy.testing import assert_allclose

from phipsi import spatial
from phipsi.model.joints import Free, Planar, Spherical

GROUPS = [planar, spherical, free]  # kinds whose coordinates are no vector space
STEP = 1e-30

every_kind = pytest.mark.parametrize("make", ALL_KINDS, ids=lambda make: make.__name__)
every_group = pytest.mark.parametrize("make", GROUPS, ids=lambda make: make.__name__)


def for_random_numbers(test):
    """Run a test with 25 generators `rng`, found by hypothesis: for each kind, so not 100."""
    seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
    return settings(max_examples=25)(given(rng=seeds)(test))


def pose(kind, q):
    """The 4 x 4 matrix of the child frame in the joint frame."""
    R, l = kind.transform(q)
    matrix = np.eye(4, dtype=np.result_type(*R[0], *R[1], *R[2], *l, float))
    matrix[:3, :3], matrix[:3, 3] = R, l
    return matrix


def body_velocity(matrix, rate):
    """V = [vee(R* dR); R* dl] of a moving pose, in the moved axes."""
    spin = matrix[:3, :3].T @ rate[:3, :3]
    assert_allclose(spin, -spin.T, atol=1e-12)
    return np.array([spin[2, 1], spin[0, 2], spin[1, 0], *(matrix[:3, :3].T @ rate[:3, 3])])


def twist(V):
    matrix = np.zeros((4, 4))
    matrix[:3, :3], matrix[:3, 3] = spatial.tilde(V[:3]), V[3:]
    return matrix


def complex_step(kind, q, a):
    """q moved by an imaginary step along tangent direction a."""
    return kind.integrate(q, [1j * STEP * (a == b) for b in range(kind.nv)])


def tangent(kind, rng, rotation=3.0):
    """A random tangent whose rotation, where it has one, is shorter than half a turn."""
    d = rng.uniform(-1.0, 1.0, kind.nv)
    n = {Planar: 1, Spherical: 3, Free: 3}.get(type(kind), 0)
    if n:
        d[:n] *= rng.uniform(0.0, rotation) / np.linalg.norm(d[:n])
    return d


def same(kind, q0, q1, tolerance=1e-12):
    """Two configurations are one: the coordinates agree, a quaternion up to its sign."""
    q0, q1 = np.array(q0, float), np.array(q1, float)
    if kind.quaternion is not None and q0[kind.quaternion] @ q1[kind.quaternion] < 0.0:
        q1[kind.quaternion] *= -1.0
    if isinstance(kind, Planar):  # its angle is one of many
        q1[0] += 2 * math.pi * round((q0[0] - q1[0]) / (2 * math.pi))
    assert_allclose(q0, q1, atol=tolerance)
