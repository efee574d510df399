"""The algebra: what expressions are, how they look, what each letter means, and the axioms."""

import copy
import functools
import io
import pickle
import tokenize
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import machines
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phipsi as pp
import phipsi.algebra
from phipsi import operators
from phipsi.algebra.node import Identity, Node, Symbol
from phipsi.algebra.spaces import (
    BASE,
    BODY,
    COORDINATES,
    JOINT,
    POINTS,
    SCALAR,
    SPACES,
    Causality,
    as_space,
)
from phipsi.algebra.walk import walk
from phipsi.model.tree import WORLD
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    Delta_phi,
    E,
    E_phi,
    E_psi,
    G,
    Gamma_delta,
    H,
    HH_delta,
    HH_s,
    I,
    J,
    Jm,
    K,
    M,
    Mass,
    Omega,
    P,
    Q,
    R,
    S,
    S_q,
    T,
    V,
    Y,
    a,
    alpha,
    b,
    beta,
    beta_dot,
    blockdiag,
    cross,
    f,
    f0,
    gravity,
    phi,
    phi_tilde,
    psi,
    psi_tilde,
    tau,
    tau_bar,
)

STEP = 1e-30  # of the complex step
A = operators.operator("A", "body", "body")
N = operators.operator("N", "joint", "joint")
L = operators.operator("L", "body", "joint")
x = operators.vector("x", "body")
y = operators.vector("y", "joint")
k = operators.scalar("k")
m = operators.scalar("m")
TIP = pp.point("body0", (0.1, -0.2, 0.3))

LETTERS = {
    name: letter
    for name in operators.__all__
    if isinstance(letter := getattr(operators, name), Node) and letter != I
}
# The letters of a joint have a meaning only with it: here the first joint.
OF_A_JOINT = {"HH": HH(0), "HH_s": HH_s(0), "HH_delta": HH_delta(0), "Gamma_delta": Gamma_delta(0)}
MEANT = {name: OF_A_JOINT.get(name, letter) for name, letter in LETTERS.items()}
NAMES = {
    **{name: getattr(operators, name) for name in operators.__all__},
    **{"A": A, "N": N, "L": L, "x": x, "y": y, "k": k, "m": m, "Point": pp.Point},
}


def dense(model, expression, q, v=None, axes="link", points=(TIP,), **values):
    """as_matrix with the values that the expression asks for."""
    free = {node.name for node in walk(expression) if isinstance(node, Symbol) and node.free}
    values = {name: value for name, value in values.items() if name in free}
    return pp.as_matrix(model, expression, q, v, axes=axes, points=points or None, **values)


def assert_close(left, right, scale=None, tolerance=1e-10):
    """Equal within the tolerance relative to the larger side, or to a stated scale."""
    if scale is None:
        scale = max(np.linalg.norm(left), np.linalg.norm(right))
    assert left.shape == right.shape
    assert np.linalg.norm(left - right) <= tolerance * scale


# -- random well-typed expressions -----------------------------------------------------

SYMBOLIC = [*LETTERS.values(), *OF_A_JOINT.values(), HH("elbow", 1), B(TIP), J(TIP)]
SYMBOLIC += [A, N, L, x, y, k, m]
WITH_VALUES = [
    letter
    for letter in [*MEANT.values(), B(TIP), J(TIP), A, N, L, x, y, k, m]
    if COORDINATES not in (letter.source, letter.target)
]
INVERTIBLE = {
    BODY: [M, P, R, phi, psi, I - E_phi],
    JOINT: [D, Mass, I - H @ psi @ K, I + H @ phi @ K],
}
NUMBERS = st.one_of(st.integers(-3, 3), st.sampled_from([0.5, -1.5, 1e-3, 1 / 3, -2.0]))


@st.composite
def expressions(draw, letters, source, target, depth, functions=True):
    """A random expression from one space to another, of the given letters.

    With `functions` also inverses, roots and diagonals of anything that types;
    without, only inverses that exist.
    """

    def part(source, target, depth=depth - 1):
        return draw(expressions(letters, source, target, depth, functions))

    leaves = [x for x in letters if (x.source, x.target) == (source, target)]
    leaves += [x.T for x in letters if (x.target, x.source) == (source, target)]
    if source is target:
        leaves.append(I)
    kinds = ["sum", "difference", "product", "scaled", "times", "transpose"]
    if leaves:
        kinds += ["leaf", "leaf"] if depth > 0 else []
        kinds = kinds if depth > 0 else ["leaf"]
    if depth > 0 and source is target and source in INVERTIBLE:
        kinds.append("inverse")
    if depth > 0 and source is BODY is target:
        kinds.append("bracket")
    if depth > 0 and source is target and functions:
        kinds += ["diagonal", "any inverse", "root"]
    match draw(st.sampled_from(kinds)):
        case "leaf":
            return draw(st.sampled_from(leaves))
        case "sum":
            return part(source, target) + part(source, target)
        case "difference":
            return part(source, target) - part(source, target)
        case "product":
            middle = draw(st.sampled_from([BODY, JOINT, SCALAR] if depth > 0 else [BODY]))
            return part(middle, target) @ part(source, middle)
        case "scaled":
            return draw(NUMBERS) * part(source, target)
        case "times":
            factor = part(SCALAR, SCALAR)
            operand = part(source, target)
            return factor * operand if factor.source is SCALAR else operand
        case "transpose":
            return part(target, source).T
        case "inverse":
            return draw(st.sampled_from(INVERTIBLE[source])).inv
        case "bracket":
            bracket = draw(st.sampled_from([S, Q, cross]))
            return bracket[part(SCALAR, BODY)]
        case "diagonal":
            return blockdiag(part(source, target))
        case "any inverse":
            return part(source, target).inv
        case "root":
            return blockdiag(part(source, target)).sqrt


PAIRS = [(s, t) for s in (BODY, JOINT, SCALAR, POINTS) for t in (BODY, JOINT, SCALAR, POINTS)]


@st.composite
def typed_expressions(draw, depth=3):
    """Any expression, to be looked at and not evaluated."""
    source, target = draw(st.sampled_from(PAIRS))
    return draw(expressions(SYMBOLIC, source, target, depth))


@st.composite
def situations(draw, max_bodies=4):
    """(evaluate, expression strategy) on a random machine at a random state."""
    model, q, v = draw(machines.machines_with_states(max_bodies=max_bodies))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    bodies, joints = range(len(model.bodies)), model.joints
    values = {
        "A": [rng.normal(size=(6, 6)) for _ in bodies],
        "N": [rng.normal(size=(joint.kind.nv, joint.kind.nv)) for joint in joints],
        "L": [rng.normal(size=(joint.kind.nv, 6)) for joint in joints],
        "x": rng.normal(size=6 * len(bodies)),
        **{name: rng.normal(size=joints[-1].rows.stop) for name in ("y", "T", "beta_dot")},
        **{"k": rng.normal(), "m": rng.normal(), "f0": rng.normal(size=6)},
    }

    def evaluate(expression):
        return dense(model, expression, q, v, **values)

    return model, evaluate


def evaluable(source, target, depth=2):
    """Expressions that have a value on every machine."""
    return expressions(WITH_VALUES, source, target, depth, functions=False)


def norm(matrix):
    return np.linalg.norm(matrix) + 1e-300


# -- immutable, hashed, compared -------------------------------------------------------


def test_expressions_cannot_be_changed():
    expression = H @ phi + H
    for name in ("source", "children", "anything"):
        with pytest.raises(AttributeError, match=r"immutable: cannot set .* of `H @ phi \+ H`"):
            setattr(expression, name, None)
    with pytest.raises(AttributeError, match="immutable: cannot delete 'source'"):
        del expression.source
    assert expression.source is BODY
    assert isinstance(expression.children, tuple)


@settings(max_examples=100)
@given(typed_expressions())
def test_expressions_built_twice_are_equal_hash_alike_and_look_alike(expression):
    again = expression.rebuild(expression.children) if expression.children else expression
    assert again == expression
    assert hash(again) == hash(expression)
    assert {again: 1}[expression] == 1
    assert str(again) == repr(expression)


def test_different_expressions_differ():
    market = [H, H.T, phi, phi.T, phi.inv, H @ phi, phi @ M, M @ phi, M + P, P + M, 2 * M, 3 * M]
    market += [k * M, m * M, S[V], Q[V], S[a], blockdiag(phi), D.sqrt, D, HH(0), HH(1), HH("0")]
    market += [
        J,
        J(TIP),
        B(TIP),
        B(pp.point("body0")),
        A,
        operators.operator("A", "joint", "joint"),
    ]
    assert len(set(market)) == len(market)
    assert all((p == q) == (p is q) for p in market for q in market)
    assert H != "H" and H != 1 and (H == None) is False  # noqa: E711
    assert not np.any(np.zeros(2) == H)


@settings(max_examples=50)
@given(typed_expressions())
def test_copies_and_pickles_are_equal_and_keep_types(expression):
    for other in (
        copy.copy(expression),
        copy.deepcopy(expression),
        pickle.loads(pickle.dumps(expression)),
    ):
        assert other == expression
        assert hash(other) == hash(expression)
        assert other.source is expression.source
        assert other.target is expression.target
        assert other.causality is expression.causality
    for node in walk(pickle.loads(pickle.dumps(expression))):
        assert node.source in {None, *SPACES.values()}


def test_unpickled_expression_has_the_same_meaning():
    model = machines.MARKET["tree_one_dof"]()
    q, v = machines.random_state(model, np.random.default_rng(0))
    expression = Mass.inv @ (T - C)
    loaded = pickle.loads(pickle.dumps(expression))
    values = {"T": np.ones(model.nv)}
    assert np.array_equal(
        pp.as_matrix(model, expression, q, v, **values), pp.as_matrix(model, loaded, q, v, **values)
    )


# -- what folds, and what stays as typed -----------------------------------------------


def test_transposes_and_inverses_undo_themselves():
    assert phi.T.T is phi
    assert phi.inv.inv is phi
    assert (phi @ M).T.T == phi @ M  # noqa: SIM300
    assert phi.T.inv.inv == phi.T
    assert phi.T.inv != phi.inv.T  # equal in meaning, not in form


def test_identity_vanishes_in_products():
    assert I @ H is H
    assert H @ I is H
    assert I @ x is x
    assert I.T is I and I.inv is I and I @ I is I
    assert (I - H @ psi @ K) @ I == I - H @ psi @ K


def test_scalars_fold_among_themselves():
    assert 1 * H is H
    assert 2 * (3 * H) == 6 * H
    assert -(-1 * H) == H
    assert 2 * (0.5 * H) == H
    assert H / 4 == 0.25 * H
    assert H * 2 == 2 * H
    assert H * k == k * H
    assert (2 * k) * H != 2 * (k * H)  # numbers fold, expressions stay as typed


def test_numbers_of_every_kind_scale():
    for two in (2, 2.0, np.float64(2), np.float32(2), np.int64(2), Fraction(2)):
        for scaled in (two * H, H * two, H / (1 / two)):
            assert scaled == 2 * H
            assert type(scaled.factor) in (int, float)


def test_sums_and_products_are_flat():
    assert (M + P) + R == M + (P + R) == sum([M, P, R])
    assert (H @ phi) @ M == H @ (phi @ M)
    assert len((M + P + R).children) == 3
    assert sum([H]) is H
    assert H + 0 is H and 0 + H is H and H - 0 is H and 0 - H == -H


def test_order_of_a_sum_stays_as_typed():
    assert str(P + M) == "P + M"
    assert M + P != P + M


@pytest.mark.parametrize(
    "text",
    [
        "H @ phi @ M @ phi.T @ H.T",
        "(I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K)",
        "2 * H @ phi",
        "2 * (H @ phi)",
        "-H @ phi",
        "-(H @ phi)",
        "M - 2 * P - (R + M)",
        "k * m * M",
        "k * (m * M)",
        "k * (2 * M)",
        "2 * (k * M)",
        "-(k * M)",
        "M - k * P",
        "M + -k * P",
        "H @ (2 * phi)",
        "beta.T @ beta * M @ phi",
        "(k + m) * M",
        "(2 * M).inv",
        "(M + P).T",
        "D.sqrt.T",
        "S[V] @ M @ V - Q[M @ V] @ V",
        "cross[H.T @ beta]",
        "blockdiag(phi @ M @ phi.T)",
        "HH('elbow', 1)",
        "B(Point(frame='body0', position=(0.1, -0.2, 0.3)))",
        "M.inv.T",
        "I + I",
    ],
)
def test_expression_prints_as_typed(text):
    assert str(eval(text, dict(NAMES))) == text


@settings(max_examples=300)
@given(typed_expressions())
def test_text_of_an_expression_reads_back_as_the_same_expression(expression):
    assert eval(str(expression), dict(NAMES)) == expression


def test_letters_print_as_their_names():
    for name, letter in LETTERS.items():
        assert str(letter) == name
    assert repr(Q) == "Q[.]"


# -- spaces and causality --------------------------------------------------------------

SIGNATURES = {
    "H": (BODY, JOINT, "memoryless"),
    "M": (BODY, BODY, "memoryless"),
    "Jm": (JOINT, JOINT, "memoryless"),
    "E_phi": (BODY, BODY, "causal"),
    "S": (BODY, BODY, "causal"),
    "Delta_phi": (BODY, BODY, "memoryless"),
    "E": (BASE, BODY, "anticausal"),
    "B": (POINTS, BODY, "memoryless"),
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
    **{name: (SCALAR, JOINT, None) for name in ("beta", "beta_dot", "T", "C")},
    **{name: (SCALAR, BODY, None) for name in ("a", "b", "V", "alpha", "f")},
    "f0": (SCALAR, POINTS, None),
    "gravity": (SCALAR, BASE, None),
}
OPERATORS = {name for name, (source, _, _) in SIGNATURES.items() if source is not SCALAR}


def test_every_letter_has_its_spaces_and_causality():
    assert set(SIGNATURES) == set(LETTERS)
    for name, (source, target, causality) in SIGNATURES.items():
        letter = LETTERS[name]
        assert (letter.source, letter.target) == (source, target), name
        assert causality in (None, letter.causality.value), name
        assert letter.is_vector == (source is SCALAR), name


def test_letter_with_arguments_keeps_spaces_and_takes_them_into_its_definition():
    for letter in (B, J, HH, HH_s, HH_delta, Gamma_delta):
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


def directions(model, node, matrix, points):
    """Which of 'same', 'inward', 'outward', 'across' the nonzero blocks of a matrix lie."""
    found = set()
    size = norm(matrix)
    for row, i in places(model, node.target, points):
        for column, j in places(model, node.source, points):
            if np.linalg.norm(matrix[row, column]) > 1e-11 * size:
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
    found = directions(model, node, evaluate(node), [])
    assert found <= ALLOWED[node.causality]


# -- what each letter means: against constructions that use no operator ----------------


class Witness:
    """A machine at a state, from poses and masses alone, by loops and complex steps."""

    def __init__(self, model, q, v, rates):
        self.model, self.q, self.v, self.rates = model, q, v, rates
        self.n = len(model.bodies)
        self.poses = self.poses_at(q)
        self.jacobians = self.body_jacobians(q)  # V_k = jacobian_k v
        self.masses = [self.spatial_inertia(body) for body in model.bodies]
        self.Jm = np.diag(
            [j.gear_ratio**2 * j.rotor_inertia for j in model.joints for _ in range(j.kind.nv)]
        )
        self.Mass = self.Jm + sum(
            X.T @ M @ X for X, M in zip(self.jacobians, self.masses, strict=True)
        )

    def poses_at(self, q):
        """World pose of each body, 4 x 4."""
        poses = []
        for body, joint in zip(self.model.bodies, self.model.joints, strict=True):
            rotation, position = joint.kind.transform(list(q[joint.q]))
            local = np.eye(4, dtype=q.dtype)
            local[:3, :3] = np.array(rotation)
            local[:3, 3] = np.array(position)
            pose = joint.placement.matrix @ local
            poses.append(pose if body.parent == WORLD else poses[body.parent] @ pose)
        return poses

    def twists(self, q, dq):
        """Rate of each pose along dq as [omega; v] in link axes."""
        rates = self.poses_at(pp.integrate(self.model, q, 1j * STEP * dq))
        twists = []
        for pose, rate in zip(self.poses_at(q), rates, strict=True):
            local = np.linalg.inv(pose) @ (rate.imag / STEP)
            twists.append([local[2, 1], local[0, 2], local[1, 0], *local[:3, 3]])
        return np.array(twists)

    def body_jacobians(self, q):
        columns = [self.twists(q, unit) for unit in np.eye(self.model.nv)]
        return list(np.moveaxis(np.array(columns), 0, -1))

    @staticmethod
    def spatial_inertia(body):
        mass, (x, y, z) = body.inertia.mass, body.inertia.com
        c = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        J = np.array(body.inertia.rotational) - mass * c @ c
        return np.block([[J, mass * c], [-mass * c, mass * np.eye(3)]])

    def carry(self, i, k):
        """phi(i, k) by the poses of both; i may be WORLD."""
        pose = self.poses[k] if i == WORLD else np.linalg.inv(self.poses[i]) @ self.poses[k]
        return force_transform(pose)

    def turn(self, i, k):
        """The axes of k as seen from i, twice on the diagonal."""
        rotation = self.carry(i, k)[:3, :3]
        return np.kron(np.eye(2), rotation)

    def outboard(self, k):
        return range(k, self.model.tree.end[k])

    def H_star(self, k):
        return self.jacobians[k][:, self.model.joints[k].v]

    def P(self, k):
        """The inertia felt at k when all joints outboard of it are free: a Schur complement.

        The mass matrix of the free body k with what it carries, in (V_k, speeds),
        is [[R, X], [X*, N]]; no force acts at the free joints, so P = R - X N^-1 X*.
        """
        free = slice(
            self.model.joints[k].rows.stop, self.model.joints[self.outboard(k)[-1]].rows.stop
        )
        R = X = 0.0
        for j in self.outboard(k):
            R = R + self.carry(k, j) @ self.masses[j] @ self.carry(k, j).T
            X = X + self.carry(k, j) @ self.masses[j] @ self.jacobians[j][:, free]
        return R - X @ np.linalg.solve(self.Mass[free, free], X.T)

    def D(self, k):
        """What joint k feels when those outboard are free and those inboard locked."""
        own = self.model.joints[k].rows
        free = slice(own.stop, self.model.joints[self.outboard(k)[-1]].rows.stop)
        X = self.Mass[own, free]
        return self.Mass[own, own] - X @ np.linalg.solve(self.Mass[free, free], X.T)

    def G(self, k):
        return self.P(k) @ self.H_star(k) @ np.linalg.inv(self.D(k))

    def psi(self, i, k):
        """Product along the path of phi(p, k) (I - G H)(k)."""
        result = np.eye(6)
        while k != i:
            p = self.model.tree.parent[k]
            step = self.carry(p, k) @ (np.eye(6) - self.G(k) @ self.H_star(k).T)
            result, k = step @ result, p
        return result

    def slope(self, function):
        """d/dt of function(q, v) along the motion.

        By central differences with Richardson extrapolation to sixth order:
        velocities are complex steps already, and these do not nest.
        """

        def along(h):
            q = pp.integrate(self.model, self.q, h * self.v)
            return function(q, self.v + h * self.rates)

        h = 2e-3
        coarse, fine, finest = ((along(x) - along(-x)) / (2 * x) for x in (h, h / 2, h / 4))
        return (16 * (4 * finest - fine) / 3 - (4 * fine - coarse) / 3) / 15

    def accelerations(self):
        """A: the componentwise rate of each V in link axes, one row per body."""
        return self.slope(self.twists)

    def momentum_rates(self):
        """The rate of each body's momentum in the world, brought back to its link frame."""

        def momenta(q, v):
            masses, V = self.masses, self.twists(q, v)
            return np.array(
                [
                    force_transform(T) @ M @ x
                    for T, M, x in zip(self.poses_at(q), masses, V, strict=True)
                ]
            )

        rates = self.slope(momenta)
        return [np.linalg.solve(self.carry(WORLD, k), rates[k]) for k in range(self.n)]

    def felt(self):
        """Accelerations with the base's -[0; g]: what alpha is, one row per body."""
        g = np.array(self.model.gravity)
        pseudo = [np.concatenate([np.zeros(3), -pose[:3, :3].T @ g]) for pose in self.poses]
        return self.accelerations() + pseudo

    def body_matrix(self, block):
        return self.matrix(block, [slice(6 * i, 6 * i + 6) for i in range(self.n)])

    def matrix(self, block, rows, columns=None):
        """The matrix with block(i, k) at i inboard of or equal to k, zero elsewhere."""
        columns = rows if columns is None else columns
        result = np.zeros((rows[-1].stop, columns[-1].stop))
        for i, row in enumerate(rows):
            for k, column in enumerate(columns):
                if self.model.tree.is_inboard(i, k):
                    result[row, column] = block(i, k)
        return result


def tilde(z):
    return np.array([[0, -z[2], z[1]], [z[2], 0, -z[0]], [-z[1], z[0], 0]])


def force_transform(pose):
    """phi of a pose: [[R, l~ R], [0, R]]."""
    R, l = pose[:3, :3], pose[:3, 3]
    return np.block([[R, tilde(l) @ R], [np.zeros((3, 3)), R]])


def force_cross(z):
    return np.block([[tilde(z[:3]), tilde(z[3:])], [np.zeros((3, 3)), tilde(z[:3])]])


def block_diagonal(*blocks):
    rows, columns = (sum(x.shape[i] for x in blocks) for i in (0, 1))
    result, i, j = np.zeros((rows, columns)), 0, 0
    for block in blocks:
        result[i : i + block.shape[0], j : j + block.shape[1]] = block
        i, j = i + block.shape[0], j + block.shape[1]
    return result


WITNESSED = ["serial_multidof", "forest", "free_base_tree", "reflected_rotors"]


@pytest.fixture(scope="module", params=WITNESSED)
def witness(request):
    model = machines.MARKET[request.param]()
    assert all(joint.mimic is None for joint in model.joints)
    rng = np.random.default_rng(2)
    q, v = machines.random_state(model, rng)
    return Witness(model, q, v, rng.normal(size=model.nv))


def meaning(w, letter, **values):
    points = [pp.point(w.model.bodies[i].name, (0.1, -0.2, 0.3)) for i in (0, -1)]
    return dense(w.model, letter, w.q, w.v, points=points, beta_dot=w.rates, **values)


def test_machine_letters_mean_poses_masses_and_motors(witness):
    """H, M, Jm, E_phi, E, B: blocks of poses, masses, complex-step twists."""
    w = witness
    n = range(w.n)
    assert_close(meaning(w, H), block_diagonal(*(w.H_star(k).T for k in n)))
    assert_close(meaning(w, M), block_diagonal(*w.masses))
    assert np.array_equal(meaning(w, Jm), w.Jm)
    parent = w.model.tree.parent

    def step(i, k):
        return w.carry(i, k) if parent[k] == i else np.zeros((6, 6))

    assert_close(meaning(w, E_phi), w.body_matrix(step))
    base = [w.carry(WORLD, k).T if parent[k] == WORLD else np.zeros((6, 6)) for k in n]
    assert_close(meaning(w, E), np.concatenate(base))
    place = np.eye(4)
    place[:3, 3] = 0.1, -0.2, 0.3
    at_point = force_transform(place)
    expected = np.zeros((6 * w.n, 12))
    expected[:6, :6] = expected[-6:, 6:] = at_point
    assert_close(meaning(w, B), expected)


def test_shift_turns_without_a_lever(witness):
    """S at (p(k), k) is the turn alone, and E_phi = S Delta_phi [000 (3.28)]."""
    w = witness
    parent = w.model.tree.parent

    def turn(i, k):
        return w.turn(i, k) if parent[k] == i else np.zeros((6, 6))

    assert_close(meaning(w, S), w.body_matrix(turn))
    levers = [w.turn(parent[k], k).T @ w.carry(parent[k], k) for k in range(w.n)]
    assert_close(meaning(w, Delta_phi), block_diagonal(*levers))


def test_phi_means_the_rigid_transformation_between_any_two_bodies_of_a_path(witness):
    w = witness
    rigid = w.body_matrix(w.carry)
    assert_close(meaning(w, phi), rigid)
    assert_close(meaning(w, phi_tilde), rigid - np.eye(6 * w.n))


def test_mass_means_kinetic_energy_of_bodies_and_motors(witness):
    """Mass = sum_k J_k* M_k J_k + Jm, with J_k from complex steps of the poses."""
    assert_close(meaning(witness, Mass), witness.Mass)


def test_composite_inertia_means_the_outboard_bodies_welded(witness):
    w = witness
    R_k = [
        sum(w.carry(k, j) @ w.masses[j] @ w.carry(k, j).T for j in w.outboard(k))
        for k in range(w.n)
    ]
    assert_close(meaning(w, R), block_diagonal(*R_k))


def test_articulated_letters_mean_schur_complements_of_the_mass_matrix(witness):
    """P, D, G, tau, tau_bar, K, E_psi, psi, psi_tilde, with rotor inertia too."""
    w = witness
    n = range(w.n)
    joints = [joint.rows for joint in w.model.joints]
    P_k, D_k, G_k = [w.P(k) for k in n], [w.D(k) for k in n], [w.G(k) for k in n]
    tau_k = [G_k[k] @ w.H_star(k).T for k in n]
    parent = w.model.tree.parent
    assert_close(meaning(w, P), block_diagonal(*P_k))
    assert_close(meaning(w, D), block_diagonal(*D_k))
    assert_close(meaning(w, G), block_diagonal(*G_k))
    assert_close(meaning(w, tau), block_diagonal(*tau_k))
    assert_close(meaning(w, tau_bar), block_diagonal(*(np.eye(6) - x for x in tau_k)))

    def gain(i, k):
        return w.carry(i, k) @ G_k[k] if parent[k] == i else np.zeros(G_k[k].shape)

    def step(i, k):
        return w.psi(i, k) if parent[k] == i else np.zeros((6, 6))

    bodies = [slice(6 * i, 6 * i + 6) for i in n]
    assert_close(meaning(w, K), w.matrix(gain, bodies, joints))
    assert_close(meaning(w, E_psi), w.body_matrix(step))
    free = w.body_matrix(w.psi)
    assert_close(meaning(w, psi), free)
    assert_close(meaning(w, psi_tilde), free - np.eye(6 * w.n))


def test_omega_means_the_compliance_of_all_bodies(witness):
    """Omega = J Mass^-1 J* with J the stacked Jacobians of the bodies; Y is its diagonal."""
    w = witness
    J_all = np.concatenate(w.jacobians)
    compliance = J_all @ np.linalg.solve(w.Mass, J_all.T)
    assert_close(meaning(w, Omega), compliance)
    diagonal = [compliance[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] for k in range(w.n)]
    assert_close(meaning(w, Y), block_diagonal(*diagonal))


def test_jacobian_means_the_velocity_of_points(witness):
    """J v = the twist of a frame at each point, by a complex step of its pose."""
    w = witness
    expected = []
    at_point = np.eye(4)
    at_point[:3, 3] = 0.1, -0.2, 0.3
    for k in (0, w.n - 1):
        expected.append(force_transform(at_point).T @ w.jacobians[k])
    assert_close(meaning(w, J), np.concatenate(expected))


def test_motion_letters_mean_rates_of_the_poses(witness):
    """beta, V, alpha, a: velocities by complex steps, accelerations by differences of these."""
    w = witness
    assert np.array_equal(meaning(w, beta), w.v)
    assert_close(meaning(w, V), np.concatenate([X @ w.v for X in w.jacobians]))
    assert_close(meaning(w, gravity), -np.array([0, 0, 0, *w.model.gravity]))
    assert_close(meaning(w, alpha), w.felt().ravel(), tolerance=1e-9)
    A_k = w.accelerations()
    coriolis = []
    for k, p in enumerate(w.model.tree.parent):
        inboard = 0.0 if p == WORLD else w.carry(p, k).T @ A_k[p]
        coriolis.append(A_k[k] - inboard - w.H_star(k) @ w.rates[w.model.joints[k].v])
    assert_close(meaning(w, a), np.concatenate(coriolis), tolerance=1e-8)


def test_force_letters_mean_newton_and_euler(witness):
    """b, f, C: rates of momentum, summed outboard, projected on the joints."""
    w = witness
    n = range(w.n)
    A_k, felt = w.accelerations(), w.felt()
    gyroscopic = [rate - w.masses[k] @ A_k[k] for k, rate in enumerate(w.momentum_rates())]
    assert_close(meaning(w, b), np.concatenate(gyroscopic), tolerance=1e-8)
    needed = [w.masses[k] @ felt[k] + gyroscopic[k] for k in n]
    passed = [sum(w.carry(k, j) @ needed[j] for j in w.outboard(k)) for k in n]
    assert_close(meaning(w, f), np.concatenate(passed), tolerance=1e-9)
    virtual_power = sum(X.T @ force for X, force in zip(w.jacobians, needed, strict=True))
    inertial = (w.Mass - w.Jm) @ w.rates
    assert_close(meaning(w, C), virtual_power - inertial, tolerance=1e-8)


def test_free_letters_mean_what_is_passed(witness):
    w = witness
    forces = np.arange(float(w.model.nv))
    assert np.array_equal(meaning(w, T, T=forces), forces)
    assert np.array_equal(meaning(w, beta_dot), w.rates)
    assert np.array_equal(meaning(w, f0, f0=np.arange(12)), np.arange(12.0))


def test_pick_off_letters_mean_the_cross_product_with_the_joint_axis(witness):
    """HH(i, a) = S[H*(i) e_a], in the axes of each body; Gamma_delta = D_{ia} H* at i."""
    w = witness
    zero = np.zeros((6, 6))
    for i in (0, w.n // 2):
        for axis in range(w.model.joints[i].kind.nv):
            pick = force_cross(w.H_star(i)[:, axis])

            def at(bodies, pick=pick, i=i):
                turned = {k: w.turn(i, k).T @ pick @ w.turn(i, k) for k in bodies}
                return block_diagonal(*(turned.get(k, zero) for k in range(w.n)))

            out = w.outboard(i)
            assert_close(meaning(w, HH(i, axis)), at(out))
            assert_close(meaning(w, HH_s(i, axis)), at(out[1:]))
            assert_close(meaning(w, HH_delta(i, axis)), at(out[:1]))
            along = np.zeros(w.model.nv)
            along[w.model.joints[i].v.start + axis] = STEP
            moved = dense(w.model, H.T, pp.integrate(w.model, w.q, 1j * along)).imag / STEP
            assert_close(meaning(w, Gamma_delta(i, axis)), moved, scale=1.0)


def test_joints_are_named_by_number_joint_or_body(witness):
    w = witness
    joint, body = w.model.joints[0].name, w.model.bodies[0].name
    by_number = meaning(w, HH(0))
    assert np.any(by_number)
    assert np.array_equal(by_number, meaning(w, HH(joint)))
    assert np.array_equal(by_number, meaning(w, HH(body)))
    assert np.array_equal(by_number, meaning(w, HH(np.int64(0), 0)))


def test_brackets_mean_cross_products(witness):
    """S[z] = [[x~, y~], [0, x~]], Q[z] = [[x~, y~], [y~, 0]], cross[z] = -S[z]*."""
    w = witness
    z = np.random.default_rng(3).normal(size=6 * w.n)
    parts = z.reshape(w.n, 6)
    adjoint = [
        np.block([[tilde(p[:3]), tilde(p[3:])], [tilde(p[3:]), np.zeros((3, 3))]]) for p in parts
    ]
    force = [force_cross(p) for p in parts]
    assert np.array_equal(meaning(w, S[x], x=z), block_diagonal(*force))
    assert np.array_equal(meaning(w, Q[x], x=z), block_diagonal(*adjoint))
    assert np.array_equal(meaning(w, cross[x], x=z), block_diagonal(*(-p.T for p in force)))


def test_diagonal_keeps_the_blocks_on_it_and_drops_the_rest(witness):
    w = witness
    whole = meaning(w, Omega)
    kept = [whole[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] for k in range(w.n)]
    assert np.array_equal(meaning(w, blockdiag(Omega)), block_diagonal(*kept))
    whole, joints = meaning(w, H @ Omega), w.model.joints
    kept = [whole[joint.rows, 6 * k : 6 * k + 6] for k, joint in enumerate(joints)]
    assert np.array_equal(meaning(w, blockdiag(H @ Omega)), block_diagonal(*kept))
    whole = meaning(w, J @ J.T)
    assert np.array_equal(
        meaning(w, blockdiag(J @ J.T)), block_diagonal(whole[:6, :6], whole[6:, 6:])
    )


# -- the axioms, on random expressions over random machines ----------------------------

AXIOM = settings(max_examples=40)
SHAPES = st.sampled_from(
    [(BODY, BODY), (BODY, JOINT), (JOINT, BODY), (SCALAR, BODY), (JOINT, POINTS)]
)


@AXIOM
@given(st.data())
def test_product_is_the_matrix_product_and_associative(data):
    _, value = data.draw(situations())
    source, target = data.draw(SHAPES)
    first = data.draw(evaluable(JOINT, target))
    second = data.draw(evaluable(BODY, JOINT))
    third = data.draw(evaluable(source, BODY))
    factors = ((first, JOINT), (second, BODY), (third, source))
    A_, B_, C_ = (as_columns(value, node, space) for node, space in factors)
    scale = norm(A_) * norm(B_) * norm(C_)
    left, right = (first @ second) @ third, first @ (second @ third)
    assert left == right
    whole = as_columns(value, left, source)
    assert_close(whole, A_ @ (B_ @ C_), scale)
    assert_close(whole, (A_ @ B_) @ C_, scale)


@AXIOM
@given(st.data())
def test_product_distributes_over_the_sum(data):
    _, value = data.draw(situations())
    source, target = data.draw(SHAPES)
    outer = data.draw(evaluable(BODY, target))
    first, second = data.draw(evaluable(source, BODY)), data.draw(evaluable(source, BODY))
    scale = norm(closed(value, outer, BODY)) * (
        norm(closed(value, first, source)) + norm(closed(value, second, source))
    )
    left, right = outer @ (first + second), outer @ first + outer @ second
    assert_close(closed(value, left, source), closed(value, right, source), scale)
    inner = data.draw(evaluable(source, BODY))
    first, second = data.draw(evaluable(BODY, target)), data.draw(evaluable(BODY, target))
    scale = norm(closed(value, inner, source)) * (
        norm(closed(value, first, BODY)) + norm(closed(value, second, BODY))
    )
    left, right = (first + second) @ inner, first @ inner + second @ inner
    assert_close(closed(value, left, source), closed(value, right, source), scale)


@AXIOM
@given(st.data())
def test_sum_commutes_in_meaning(data):
    _, value = data.draw(situations())
    source, target = data.draw(SHAPES)
    first, second = data.draw(evaluable(source, target)), data.draw(evaluable(source, target))
    scale = norm(closed(value, first, source)) + norm(closed(value, second, source))
    left, right = first + second, second + first
    assert_close(closed(value, left, source), closed(value, right, source), scale)
    zero = closed(value, first - first, source)
    assert np.linalg.norm(zero) <= 1e-14 * scale


@AXIOM
@given(st.data())
def test_transpose_of_a_product_is_the_product_of_transposes_reversed(data):
    """(A B)* = B* A*."""
    _, value = data.draw(situations())
    first, second = data.draw(evaluable(BODY, JOINT)), data.draw(evaluable(JOINT, BODY))
    scale = norm(value(first)) * norm(value(second))
    assert_close(value((first @ second).T), value(second.T @ first.T), scale)
    assert_close(value((first @ second).T), value(first @ second).T, scale)


@AXIOM
@given(st.data())
def test_transpose_is_linear(data):
    _, value = data.draw(situations())
    first, second = data.draw(evaluable(BODY, JOINT)), data.draw(evaluable(BODY, JOINT))
    scale = norm(value(first)) + 2 * norm(value(second))
    assert_close(value((first - 2 * second).T), value(first.T - 2 * second.T), scale)


@AXIOM
@given(st.data())
def test_inverse_of_a_product_is_the_product_of_inverses_reversed(data):
    """(A B)^-1 = B^-1 A^-1, and A A^-1 = I; A and B nonsingular."""
    _, value = data.draw(situations())
    space = data.draw(st.sampled_from([BODY, JOINT]))
    first, second = (data.draw(st.sampled_from(INVERTIBLE[space])) for _ in range(2))
    left, right = value((first @ second).inv), value(second.inv @ first.inv)
    scale = norm(value(first.inv)) * norm(value(second.inv))
    assert_close(left, right, scale, tolerance=1e-8)
    unit = np.eye(len(value(first)))
    assert_close(value(first @ first.inv), unit, norm(value(first)) * norm(value(first.inv)))
    assert_close(value(first.inv @ first), unit, norm(value(first)) * norm(value(first.inv)))


@AXIOM
@given(st.data())
def test_inverse_of_the_transpose_is_the_transpose_of_the_inverse(data):
    """(A*)^-1 = (A^-1)*; A nonsingular."""
    _, value = data.draw(situations())
    operator = data.draw(st.sampled_from([x for of in INVERTIBLE.values() for x in of]))
    assert_close(value(operator.T.inv), value(operator.inv.T))


@AXIOM
@given(st.data(), NUMBERS, NUMBERS)
def test_scalars_act_linearly(data, p, q):
    """(p + q) A = p A + q A, p (A B) = (p A) B = A (p B), and the same for scalar symbols."""
    _, value = data.draw(situations())
    first, second = data.draw(evaluable(BODY, JOINT)), data.draw(evaluable(JOINT, BODY))
    size = norm(value(first))
    assert_close(value((p + q) * first), value(p * first + q * first), 10 * size)
    assert_close(value((k + m) * first), value(k * first + m * first), 10 * size)
    assert_close(value(p * first), p * value(first), 10 * size)
    assert_close(value(k * first), value(k) * value(first), 10 * size)
    scale = 10 * size * norm(value(second))
    for factor in (p, k, m * k):
        whole = value(factor * (first @ second))
        assert_close(value((factor * first) @ second), whole, scale)
        assert_close(value(first @ (factor * second)), whole, scale)


@AXIOM
@given(st.data())
def test_root_of_a_symmetric_positive_operator_squares_to_it(data):
    """D = D.sqrt D.sqrt*, lower triangular with positive diagonal in each block."""
    _, value = data.draw(situations())
    for operator in (D, M, R, P, blockdiag(Mass), beta.T @ beta):
        root = value(operator.sqrt)
        assert_close(value(operator.sqrt @ operator.sqrt.T), value(operator))
        if root.ndim:
            assert np.array_equal(root, np.tril(root))
            assert np.all(np.diag(root) > 0)


@AXIOM
@given(st.data())
def test_identity_is_neutral(data):
    _, value = data.draw(situations())
    node = data.draw(evaluable(BODY, JOINT))
    twice = (2 * I) @ node @ (0.5 * I)
    assert_close(value(twice), value(node), norm(value(node)))
    assert_close(value(node @ (I - M + M)), value(node), norm(value(node)) * norm(value(M)))


def closed(value, node, space):
    """The matrix of a node whose identities, if still open, are on the space."""
    return value(node.at(space))


def as_columns(value, node, space):
    """`closed`, with a vector as one column."""
    matrix = closed(value, node, space)
    return matrix[:, None] if node.is_vector else matrix


# -- block sizes belong to the body ----------------------------------------------------


def test_no_size_of_a_block_is_written_in_the_algebra():
    """The numbers in the sources of phipsi.algebra are 0, 1 and 2 (counts of children)."""
    for path in Path(phipsi.algebra.__file__).parent.glob("*.py"):
        tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
        numbers = {token.string for token in tokens if token.type == tokenize.NUMBER}
        assert numbers <= {"0", "1", "2"}, path.name


def test_expressions_are_evaluated_with_the_block_sizes_of_the_bodies():
    """Bodies of 3, 8 and 5 coordinates: products, inverses, transposes and diagonals follow."""
    model = pp.chain(3)
    sizes = [3, 8, 5]
    bodies = tuple(replace(x, size=n) for x, n in zip(model.bodies, sizes, strict=True))
    model = replace(model, bodies=bodies)
    rng = np.random.default_rng(4)
    blocks = [rng.normal(size=(n, n)) for n in sizes]
    maps = [rng.normal(size=(1, n)) for n in sizes]
    vector = rng.normal(size=sum(sizes))
    value = pp.as_matrix(
        model, L @ (I + A).inv @ blockdiag(A.T) @ x, model.neutral(), A=blocks, L=maps, x=vector
    )
    A_, L_ = block_diagonal(*blocks), block_diagonal(*maps)
    assert_close(value, L_ @ np.linalg.solve(np.eye(sum(sizes)) + A_, A_.T @ vector))


def test_spaces_are_single_objects():
    for name, space in SPACES.items():
        assert as_space(name) is space is as_space(space) is pickle.loads(pickle.dumps(space))
        assert copy.deepcopy(space) is space
        assert str(space) == f"{name} space"


def test_open_identity_takes_the_space_of_its_neighbour():
    expression = I - H @ psi @ K
    assert expression.children[0] == Identity(JOINT)
    assert (I + I).source is None
    assert ((I + I) @ H).target is JOINT
    assert (2 * I + k * I).at(BODY).source is BODY
    assert (I + k).source is SCALAR
