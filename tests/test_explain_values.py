"""Values of explanations, against dense matrices: every quantity, and every line.

Two oracles. A quantity is told as an expression of letters and of other quantities; its dense
meaning is its value. And each line, read as the text that is printed, its right side evaluated
densely with the other quantities as they were recorded, gives its left side: so the recursions that
are printed are those that run, Riccati equations included.
"""

import re
from functools import cache

import numpy as np
import pytest
from expressions import FAMILIES, points_on, values_for
from machines import MARKET, random_state

import phipsi as pp
from phipsi.algebra.node import Symbol
from phipsi.algebra.spaces import BODY, JOINT, POSE, SCALAR
from phipsi.algebra.walk import letters_of, walk
from phipsi.compile import make_readable
from phipsi.explain.levels.explain import explain
from phipsi.explain.levels.notation import Notation
from phipsi.explain.levels.part_expressions import express_parts
from phipsi.explain.levels.record import MOST_BLOCKS, recorded
from phipsi.lowering.dense import DenseMachine
from phipsi.lowering.inputs import Inputs
from phipsi.lowering.origins import rewrite
from phipsi.lowering.program import FRAME
from phipsi.operators import (
    C,
    H,
    J,
    M,
    Mass,
    Omega,
    T,
    V,
    phi,
    pose,
    psi,
)

FD = Mass.inv @ (T - C)
CASES = [  # machines, and which expressions on them
    ("tree_of_every_kind", "vectors of the papers"),
    ("reflected_rotors", "matrices of the papers"),
    ("reflected_rotors", "inverses applied"),
    ("mimics", "inverses applied"),
    ("star_of_free_bodies", "at points"),
    ("rotor_bodies", "vectors"),
    ("tree_one_dof", "matrices"),
    ("forest", "scalars"),
    ("welded", "letters"),
]


@cache
def state(name):
    model, rng = MARKET[name](), np.random.default_rng(5)
    q, v = random_state(model, rng)
    return model, q, v, values_for(model, rng), points_on(model)


def arguments(expression, values):
    return {x.name: values[x.name] for x in letters_of([expression]) if x.free}


def told(name, expression):
    """The notation of an expression on a machine, and its recorded values; None without any."""
    model, q, v, values, points = state(name)
    try:
        notation = Notation(make_readable([expression], plain=not model.has_mimics))
        inputs = Inputs(model, expression, q, v, points, arguments(expression, values))
        return notation, recorded(notation, inputs)
    except (pp.LoweringError, pp.SolveError):
        return None


def slices(model, space):
    if space is JOINT:
        return [x.rows for x in model.joints]
    size = 16 if space is POSE or space == FRAME.rows else 6
    return [slice(size * k, size * k + size) for k in range(max(len(model.bodies), 5))]


def pairs(model, quantity, recorded, dense):
    """Blocks as recorded, and the same blocks of a dense matrix or vector."""
    slot, kind = quantity.slot, quantity.slot.domain.kind
    if kind == "world":
        yield np.squeeze(recorded["world"]), np.squeeze(dense)
        return
    space = BODY if slot.shape.rows == 10 else slot.shape.rows
    rows = slices(model, space)
    names = [x.name for x in (model.joints if space is JOINT else model.bodies)]
    for key, block in recorded.items():
        if kind == "column":
            i, columns = names.index(key[0]), slot.columns
            starts = [x.name for x in (model.joints if columns.space is JOINT else model.bodies)]
            j = int(key[1].split(":")[0]) if columns.points is not None else starts.index(key[1])
            yield block, dense[rows[i], slices(model, columns.space)[j]]
        elif kind == "point":
            e = rows[int(key.split(":")[0])]
            yield block, dense[e] if dense.ndim == 1 else dense[e, e]
        else:
            places = [x.name for x in model.joints] if key not in names else names
            k = places.index(key)
            across = slices(model, slot.shape.columns or BODY)[k]
            yield block, dense[rows[k], across] if quantity.is_block else dense[rows[k]]


def assert_same(model, quantity, recorded, dense):
    size = max(1.0, np.abs(dense).max(initial=0))
    for got, expected in pairs(model, quantity, recorded, dense):
        np.testing.assert_allclose(got, expected, atol=1e-9 * size, err_msg=quantity.line)


# -- the two oracles ------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "family"), CASES)
def test_values_are_the_dense_meaning_of_the_expressions_of_parts(name, family):
    """The names in them stand for what their slots keep."""
    model, q, v, values, points = state(name)
    cases = []
    for expression in FAMILIES[family].values():
        found = told(name, expression)
        if found is None:
            continue
        notation, got = found
        kept = notation.program.origins
        named = [x for x in notation.quantities if x.slot in kept]
        meant = {notation.node_of(x.slot): kept[x.slot].expression for x in named}
        unknown = {notation.node_of(x.slot) for x in notation.quantities if x.slot not in kept}
        parts, memo = express_parts(notation), {}
        for x in notation.quantities:
            if x.name in parts and not unknown & set(walk(parts[x.name])):
                cases.append((x, got[x.name], rewrite(parts[x.name], meant.get, memo)))
    expressions = [node for *_, node in cases]
    given = {x.name: values[x.name] for x in letters_of(expressions) if x.free}
    dense = DenseMachine(Inputs(model, expressions, q, v, points, given), "link")
    for quantity, seen, node in cases:
        whole = dense.matrix(node)
        assert_same(model, quantity, seen, whole[:, 0] if node.is_vector else whole)
    assert len(cases) > 20


# -- the text of the lines ------------------------------------------------------------------------

STEPS = {"phi(k,c)": "E_phi", "psi(k,c)": "E_psi", "S(k,c)": "S", "E(k)": "E"}
STEPS |= {
    f"{x}*{place}": f"{x_}*"
    for x, x_ in (("phi", "E_phi"), ("psi", "E_psi"), ("S", "S"))
    for place in ("(k,c)", "(p,k)")
}
STEPS |= {"phi(p,k)": "E_phi", "psi(p,k)": "E_psi"}


def as_typed(line, names):
    """The right side of a line as an expression: places left out, transitions by their letters.

    Args:
        names: of the quantities, and what they are called in the expression.
    """
    text = line.partition(" = ")[2]
    text = re.sub(r"\bsum_c ", "", text)
    for name in sorted(names, key=len, reverse=True):
        mark = r"(?<![\w+])" + re.escape(name) + r"((?:\^-1)?\*?)\((?:k|c|p)\)"
        text = re.sub(mark, names[name] + r"\1", text)
    for step in sorted(STEPS, key=len, reverse=True):
        text = text.replace(step, f"{STEPS[step]} ")
    text = re.sub(r"\((?:k|c|p)\)", "", text)
    text = re.sub(r"sqrt\*\((\w+)\)", r"sqrt(\1)*", text)
    kept = re.split(r"((?:\bS|\bcross|\bQ)\[[^\[\]]*\])", text)
    return "".join(
        x if i % 2 else x.replace("[", "(").replace("]", ")") for i, x in enumerate(kept)
    )


@pytest.mark.parametrize("name", ["reflected_rotors", "mimics", "tree_of_every_kind"])
def test_lines_say_what_runs_as_they_are_printed(name):
    """Read as text, each line gives its left side from the recorded values beside it.

    Also those of other families than the mass operator's.
    """
    model, q, v, values, points = state(name)
    cases = [FD, Mass @ pp.operators.beta_dot + C, (H @ phi @ M @ phi.T @ H.T).inv @ T]
    for family in ("inverses applied", "vectors of the papers"):
        cases += list(FAMILIES[family].values())[::4]
    compared = articulated = 0
    for expression in cases:
        found = told(name, expression)
        if found is None:
            continue
        notation, got = found
        free = [
            x for x in letters_of([expression]) if x.free and x not in (T, pp.operators.beta_dot)
        ]
        quantities = [x for x in notation.quantities if x.slot.domain.kind == "body"]
        others = {x.name for x in notation.quantities} - {x.name for x in quantities}
        letters, given = {}, {x.name: values[x.name] for x in letters_of([expression]) if x.free}
        for number, x in enumerate(quantities):
            own = notation.node_of(x.slot)
            letters[x.name] = Symbol(f"given{number}", own.source, own.target, free=True)
            places = list(got[x.name].values())
            given[f"given{number}"] = places if own.source is not SCALAR else np.concatenate(places)
        names = {x: letter.name for x, letter in letters.items()}
        for x in quantities:
            words = set(re.findall(r"[\w+]+", x.line))
            if "(e)" in x.line or "e_" in x.line or words & {*others, "blockdiag", "moved"}:
                continue
            right = pp.parse(as_typed(x.line, names), symbols=[*letters.values(), *free])
            used = {y.name: given[y.name] for y in letters_of([right]) if y.free}
            dense = pp.as_matrix(model, right, q, v, points=points, **used)
            assert_same(model, x, got[x.name], dense)
            compared += 1
            articulated += x.name.startswith("P_")
    assert compared > 50
    assert articulated > 0


# -- what the user sees ---------------------------------------------------------------------------


def test_values_by_name_and_body():
    model, q, v, values, _ = state("reflected_rotors")
    seen = explain(FD, model, q, v, inspect=True, T=values["T"]).values
    bodies, joints = [x.name for x in model.bodies], [x.name for x in model.joints]
    for name in ("P", "G", "V", "z", "phi(p,k)", "psi(p,k)"):
        assert list(seen[name]) == bodies
    for name in ("D", "eps", "nu", "beta_dot", "T", "q", "beta", "H"):
        assert list(seen[name]) == joints
    acceleration = np.concatenate(list(seen["beta_dot"].values()))
    expected = pp.forward_dynamics(model, q, v, values["T"])
    np.testing.assert_allclose(acceleration, expected, atol=1e-9 * np.abs(expected).max())


def test_transitions_and_maps_are_in_link_frames():
    model, q, v, values, _ = state("tree_of_every_kind")
    seen = explain(FD, model, q, v, inspect=True, T=values["T"]).values
    E_phi, E_psi, maps = (
        pp.as_matrix(model, x, q) for x in (pp.operators.E_phi, pp.operators.E_psi, H)
    )
    for k, body in enumerate(model.bodies):
        rows, own = slices(model, BODY)[body.parent], slices(model, BODY)[k]
        joint = model.joints[k]
        np.testing.assert_allclose(seen["H"][joint.name], maps[joint.rows, own], atol=1e-12)
        if body.parent >= 0:
            np.testing.assert_allclose(seen["phi(p,k)"][body.name], E_phi[rows, own], atol=1e-12)
            np.testing.assert_allclose(seen["psi(p,k)"][body.name], E_psi[rows, own], atol=1e-9)


def test_columns_are_seen_by_body_and_start():
    model, q, *_ = state("tree_one_dof")
    seen = explain(Omega, model, q, inspect=True).values
    dense, names = pp.as_matrix(model, psi, q), [x.name for x in model.bodies]
    for (i, j), block in seen["psi"].items():
        rows, columns = (slices(model, BODY)[names.index(x)] for x in (i, j))
        np.testing.assert_allclose(block, dense[rows, columns], atol=1e-9)
    assert len(seen["psi"]) == sum(len(list(model.tree.path(k))) for k in range(len(names)))


def test_poses_are_those_of_link_frames():
    model, q, *_ = state("tree_of_every_kind")
    seen = explain(pose, model, q, inspect=True).values["pose"]
    for body, place in zip(model.bodies, pp.body_poses(model, q), strict=True):
        np.testing.assert_allclose(seen[body.name], place.ravel(), atol=1e-12)


def test_points_are_seen_by_number_and_frame():
    model, q, v, _, points = state("free_base_tree")
    seen = explain(J @ pp.operators.beta, model, q, v, points=points, inspect=True).values
    (name,) = [x for x in seen if x.startswith("x_C") or x.endswith("_C")]
    dense = pp.as_matrix(model, J @ pp.operators.beta, q, v, points=points)
    assert [key.split(": ")[1] for key in seen[name]] == [x.frame for x in points[:-1]] + ["world"]
    for e, block in enumerate(seen[name].values()):
        np.testing.assert_allclose(block, dense[6 * e : 6 * e + 6], atol=1e-12)


def test_scalars_are_seen_once():
    model, q, v, *_ = state("forest")
    seen = explain(0.5 * V.T @ M @ V, model, q, v, inspect=True).values
    assert float(np.squeeze(seen["energy"]["world"])) == pytest.approx(
        float(pp.kinetic_energy(model, q, v))
    )


def test_long_chains_need_no_dense_matrices():
    """2000 bodies: as a matrix, psi alone would fill a gigabyte."""
    n = 2000
    model = pp.chain(n)
    rng = np.random.default_rng(0)
    q = rng.normal(size=n)
    seen = explain(FD, model, q, T=np.zeros(n), inspect=True)
    assert len(seen.values["P"]) == n
    assert f"... {n - 8} more" in seen.numbers
    with pytest.raises(pp.InputError, match=r"columns of this matrix have 2001000 blocks"):
        explain(psi, model, q, inspect=True)
    assert "2001000 blocks" in explain(phi, model, q).numbers
    assert n * (n + 1) // 2 > MOST_BLOCKS
