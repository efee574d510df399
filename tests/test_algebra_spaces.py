"""Spaces and causality: what every letter and combination claims, and that it is true."""

import copy
import functools
import pickle

import machines
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_expressions import evaluable, situations, size
from symbols import LETTERS, OF_A_JOINT, TIP, N, dense, k, x, y

import phipsi as pp
from phipsi.algebra.spaces import (
    BASE,
    BODY,
    COORDINATES,
    JOINT,
    POINTS,
    POSE,
    SCALAR,
    SPACES,
    Causality,
    as_space,
)
from phipsi.model.tree import WORLD
from phipsi.operators import (
    HH,
    B,
    D,
    Gamma_delta,
    H,
    HH_delta,
    HH_s,
    I,
    J,
    Jm,
    M,
    S,
    S_q,
    V,
    X,
    blockdiag,
    c,
    phi,
    psi,
)

# -- spaces and causality --------------------------------------------------------------

SIGNATURES = {
    "H": (BODY, JOINT, "memoryless"),
    "H_dot": (BODY, JOINT, "memoryless"),
    "M": (BODY, BODY, "memoryless"),
    "Jm": (JOINT, JOINT, "memoryless"),
    "E_phi": (BODY, BODY, "causal"),
    "S": (BODY, BODY, "causal"),
    "Delta_phi": (BODY, BODY, "memoryless"),
    "E": (BASE, BODY, "anticausal"),
    "B": (POINTS, BODY, "memoryless"),
    "X": (POINTS, POINTS, "memoryless"),
    "S_q": (COORDINATES, JOINT, "mixed"),
    "phi": (BODY, BODY, "causal"),
    "phi_tilde": (BODY, BODY, "causal"),
    "J": (JOINT, POINTS, "anticausal"),
    "Mass": (JOINT, JOINT, "mixed"),
    "R": (BODY, BODY, "memoryless"),
    "P": (BODY, BODY, "memoryless"),
    "D": (JOINT, JOINT, "memoryless"),
    "G": (JOINT, BODY, "memoryless"),
    "tau": (BODY, BODY, "memoryless"),
    "tau_bar": (BODY, BODY, "memoryless"),
    "K": (JOINT, BODY, "causal"),
    "E_psi": (BODY, BODY, "causal"),
    "psi": (BODY, BODY, "causal"),
    "psi_tilde": (BODY, BODY, "causal"),
    "Omega": (BODY, BODY, "mixed"),
    "Y": (BODY, BODY, "memoryless"),
    "HH": (BODY, BODY, "memoryless"),
    "HH_s": (BODY, BODY, "memoryless"),
    "HH_delta": (BODY, BODY, "memoryless"),
    "Gamma_delta": (JOINT, BODY, "memoryless"),
    "at": (BODY, BODY, "memoryless"),
    "at_joint": (JOINT, JOINT, "memoryless"),
    **{name: (SCALAR, JOINT, None) for name in ("beta", "beta_dot", "T", "C")},
    **{name: (SCALAR, BODY, None) for name in ("a", "b", "V", "alpha", "f")},
    **{name: (SCALAR, POINTS, None) for name in ("f0", "c")},
    "gravity": (SCALAR, BASE, None),
    "pose": (SCALAR, POSE, None),
    "U": (SCALAR, SCALAR, None),
}
OPERATORS = {name for name, (source, _, _) in SIGNATURES.items() if source is not SCALAR}


def test_every_letter_has_its_spaces_and_causality():
    assert set(SIGNATURES) == set(LETTERS)
    for name, (source, target, causality) in SIGNATURES.items():
        letter = LETTERS[name]
        assert (letter.source, letter.target) == (source, target), name
        assert causality in (None, letter.causality.value), name
        assert letter.is_vector == (source is SCALAR and target is not SCALAR), name
        assert letter.is_scalar == (source is SCALAR and target is SCALAR), name


def test_letter_with_arguments_keeps_spaces_and_takes_them_into_its_definition():
    for letter in (B, J, X, c, HH, HH_s, HH_delta, Gamma_delta):
        own = letter("elbow", 1)
        assert (own.source, own.target, own.causality) == (
            letter.source,
            letter.target,
            letter.causality,
        )
    assert J(TIP).definition == B(TIP).T @ phi.T @ H.T
    assert J.definition == B.T @ phi.T @ H.T


@pytest.mark.parametrize(
    ("expression", "causality"),
    [
        (M + phi, "causal"),
        (M @ phi.T, "anticausal"),
        (phi + phi.T, "mixed"),
        (phi.inv, "causal"),
        (phi.T.inv, "anticausal"),
        (2 * psi, "causal"),
        (k * psi, "causal"),
        (blockdiag(phi @ M @ phi.T), "memoryless"),
        (S[V], "memoryless"),
        (D.sqrt, "memoryless"),
        (x @ x.T, "mixed"),  # an outer product fills every block
        (H @ x @ y.T @ N, "mixed"),
        (x.T @ phi @ x, "memoryless"),  # a scalar is a single block
        ((V.T @ M @ V).sqrt, "memoryless"),
        (I, "memoryless"),
    ],
)
def test_causality_of_combinations(expression, causality):
    assert expression.causality.value == causality


def places(model, space, points):
    """(slice, body) of each block of a space; the base counts as WORLD, inboard of all."""
    if space is BODY:
        return [(slice(6 * i, 6 * i + 6), i) for i in range(len(model.bodies))]
    if space is JOINT:
        return [(joint.rows, i) for i, joint in enumerate(model.joints)]
    if space is POINTS:
        on = [model.locate(point)[0] for point in points]
        return [(slice(6 * i, 6 * i + 6), body) for i, body in enumerate(on)]
    assert space is BASE
    return [(slice(0, 6), WORLD)]


def is_inboard(model, i, j):
    return i == WORLD or (j != WORLD and model.tree.is_inboard(i, j))


def directions(model, node, matrix, points, scale=None):
    """Which of 'same', 'inward', 'outward', 'across' the nonzero blocks of a matrix lie."""
    found = set()
    scale = np.linalg.norm(matrix) if scale is None else scale
    for row, i in places(model, node.target, points):
        for column, j in places(model, node.source, points):
            if np.linalg.norm(matrix[row, column]) > 1e-11 * scale:
                inward, outward = is_inboard(model, i, j), is_inboard(model, j, i)
                found.add(
                    {
                        (True, True): "same",
                        (True, False): "inward",
                        (False, True): "outward",
                        (False, False): "across",
                    }[inward, outward]
                )
    return found


ALLOWED = {
    Causality.MEMORYLESS: {"same"},
    Causality.CAUSAL: {"same", "inward"},
    Causality.ANTICAUSAL: {"same", "outward"},
    Causality.MIXED: {"same", "inward", "outward", "across"},
}
REACHED = {
    Causality.MEMORYLESS: {"same"},
    Causality.CAUSAL: {"inward"},
    Causality.ANTICAUSAL: {"outward"},
    Causality.MIXED: {"inward", "outward"},
}


@functools.cache
def grown(shape):
    """A tree or a forest with joints of one, two and three dofs."""
    kinds = [machines.prismatic, machines.universal, machines.spherical]
    model = machines.random_machine(8, 14, kinds, shape)
    assert (len(model.tree.roots) > 1) == (shape == "forest")
    return model


@pytest.mark.parametrize("shape", ["tree", "forest"])
@pytest.mark.parametrize("name", sorted(OPERATORS - {"S_q", "Jm"}))
def test_claimed_causality_is_true_and_no_smaller_one_is(name, shape):
    """Blocks outside the claimed pattern vanish; the pattern is reached in its direction.

    HH, HH_s and HH_delta are those of a joint with bodies outboard, Gamma_delta
    that of a joint whose map turns.
    """
    model = grown(shape)
    q, v = machines.random_state(model, np.random.default_rng(1))
    branching = next(i for i, kids in enumerate(model.tree.children) if len(kids) > 1)
    turning, axis = next(
        (i, 1)
        for i, joint in enumerate(model.joints)
        if isinstance(joint.kind, pp.joints.Universal)
    )
    letter, joint = LETTERS[name], (turning, axis) if name == "Gamma_delta" else (branching,)
    node = letter(*joint) if name in OF_A_JOINT else letter
    points = [pp.point(body.name, (0.1, 0.2, 0.3)) for body in model.bodies[::4]]
    found = directions(model, node, dense(model, node, q, v, points=points), points)
    assert found <= ALLOWED[node.causality]
    assert found >= REACHED[node.causality]
    if name in ("E_phi", "S", "phi_tilde", "psi_tilde", "K", "E_psi"):
        assert found == {"inward"}  # strictly


def test_rotor_inertia_is_memoryless():
    model = machines.MARKET["reflected_rotors"]()
    assert directions(model, Jm, dense(model, Jm, model.neutral(), points=[]), []) == {"same"}


def test_mimic_map_reaches_joints_that_no_path_joins():
    """S_q is mixed: a mimic's row stands at the speed of the joint that leads, wherever it is."""
    model = machines.MARKET["mimics"]()
    matrix = pp.as_matrix(model, S_q, model.neutral())
    follows = [(i, joint) for i, joint in enumerate(model.joints) if joint.mimic is not None]
    assert follows
    for i, joint in follows:
        lead = model.joints[joint.mimic.source]
        assert lead is not joint and lead.mimic is None
        expected = np.zeros(model.nv)
        expected[lead.v] = joint.mimic.ratio
        assert np.array_equal(matrix[model.joints[i].rows][0], expected)
    related = {
        model.tree.is_inboard(i, joint.mimic.source) or model.tree.is_inboard(joint.mimic.source, i)
        for i, joint in follows
    }
    assert False in related


@settings(max_examples=60)
@given(st.data())
def test_claimed_causality_of_random_expressions_is_true(data):
    model, evaluate = data.draw(situations(max_bodies=6))
    source, target = data.draw(st.sampled_from([(BODY, BODY), (BODY, JOINT), (JOINT, JOINT)]))
    node = data.draw(evaluable(source, target))
    node = node.at(source)
    found = directions(model, node, evaluate(node), [], size(evaluate, node))
    assert found <= ALLOWED[node.causality]


def test_spaces_are_single_objects():
    for name, space in SPACES.items():
        assert as_space(name) is space is as_space(space) is pickle.loads(pickle.dumps(space))
        assert copy.deepcopy(space) is space
        assert str(space) == f"{name} space"
