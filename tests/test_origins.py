"""What slots keep is what they hold: every expression, evaluated densely, is the slot's value.

The program of each expression of the market is run by the interpreter, statement by statement;
beside it stands the explicit matrix of what each slot says it came from.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from expressions import FAMILIES, points_on, values_for
from machines import prismatic, random_machine, random_state, revolute, spherical, universal

import phipsi as pp
from phipsi.algebra.spaces import BODY, JOINT, POINTS, POSE
from phipsi.algebra.walk import letters_of
from phipsi.compile import make_program, make_readable
from phipsi.explain.levels.record import Recorder
from phipsi.lowering.dense import DenseMachine
from phipsi.lowering.inputs import Inputs
from phipsi.lowering.program import FRAME
from phipsi.operators import C, G, H, M, Mass, P, T, V, Y, phi, psi, tau_bar

MACHINES = {
    "rotors": lambda: random_machine(3, 4, [revolute, universal], rotors="reflected"),
    "mimics": lambda: random_machine(22, 5, [revolute, prismatic, spherical], mimics=True),
}
# nothing of the algebra: q, the share of each body in U, an axis of one joint and what it turns,
# e_j at every body and the rows of steps that are made of it
WITHOUT = {"coordinates", "potential", "base_potential", "axis", "turn_outward", "unit_entry"}
BY_AXES = {"add", "subtract", "cross_motion"}  # the same, where they are made of axes
BY_ENTRIES = {"outward", "apply_transposed", "scale"}


@cache
def state(name):
    model, rng = MACHINES[name](), np.random.default_rng(7)
    assert model.has_mimics == (name == "mimics")
    return model, *random_state(model, rng), values_for(model, rng), points_on(model)


def given(expressions, values):
    return {x.name: values[x.name] for x in letters_of(expressions) if x.free}


def programs(name, families):
    """The programs of expressions that can be lowered, each with its run."""
    model, q, v, values, points = state(name)
    for expression in [x for family in families for x in FAMILIES[family].values()]:
        try:
            program = make_readable([expression], plain=not model.has_mimics)
            inputs = Inputs(model, expression, q, v, points, given([expression], values))
            slots = [x.target for x in program.statements() if x.target is not None]
            run = Recorder(program, inputs, slots)
            run.run()
        except (pp.LoweringError, pp.SolveError):
            continue
        yield expression, program, run


# -- which block is which ------------------------------------------------------------------------


def slices(model, space):
    if space is JOINT:
        return [x.rows for x in model.joints]
    size = 16 if space is POSE or space == FRAME.rows else 6
    return [slice(size * k, size * k + size) for k in range(max(len(model.bodies), 5))]


def block_of(model, slot, dense, key):
    """The block of a dense matrix that a slot holds at a place."""
    rows, columns = slot.shape.rows, slot.shape.columns
    if rows == 10:  # a rigid body, by ten numbers
        rows = columns = BODY
    if slot.domain.kind == "world":
        return dense
    if slot.domain.kind == "column":
        i, j = (key[1], key[1]) if rows is POINTS else key  # still at the point, not at its body
        return dense[slices(model, rows)[i], slices(model, slot.columns.space)[j]]
    if rows == "inboard":  # from body k to its parent
        rows, columns = BODY, BODY
        parent = model.tree.parent[key]
        here = slices(model, BODY)[key]
        return None if parent < 0 else dense[slices(model, BODY)[parent], here]
    own = slices(model, rows)[key]
    return dense[own] if columns is None else dense[own, slices(model, columns)[key]]


def by_number(model, slot, recorded):
    """What was recorded, by the numbers of bodies, joints and points instead of names."""
    names = [[x.name for x in model.bodies], [x.name for x in model.joints]]

    def number(key):
        found = [x.index(key) for x in names if key in x]
        return found[0] if found else int(key.split(":")[0])

    if slot.domain.kind == "column":
        return {(number(k), number(j)): x for (k, j), x in recorded.items()}
    return {None if k == "world" else number(k): x for k, x in recorded.items()}


def multiplied_out(factor):
    """D of its factors: L, unit lower triangular, below the diagonal, and 1/D on it."""
    L, D = np.tril(factor, -1) + np.eye(len(factor)), np.diag(1 / np.diag(factor))
    return L @ D @ L.T


def is_held_otherwise(slot, step):
    """By sines and cosines; by factors in private axes."""
    return step == "transform" or (step == "pivot_factor" and slot.shape.rows is BODY)


# -- the oracle ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("rotors", ["letters", "vectors of the papers", "inverses applied", "scalars", "vectors"]),
        ("rotors", ["matrices of the papers", "matrices", "inverses"]),
        ("mimics", ["starred letters", "the user's own", "at points", "scalars"]),
    ],
)
def test_every_slot_is_the_value_of_the_expression_that_it_keeps(name, families):
    model, q, v, values, points = state(name)
    ran = list(programs(name, families))
    kept = [x.expression for _, program, _ in ran for x in program.origins.values()]
    dense = DenseMachine(Inputs(model, kept, q, v, points, given(kept, values)), "link")
    compared, without = 0, {}
    for expression, program, run in ran:
        for x in program.statements():
            slot = x.target
            if slot is None or is_held_otherwise(slot, x.step):
                continue
            if slot not in program.origins:
                without.setdefault(x.step, (str(expression), str(slot)))
                continue
            held = by_number(model, slot, run.public(slot))
            if x.step == "pivot_factor":
                held = {key: multiplied_out(block) for key, block in held.items()}
            origin = program.origins[slot]
            for node in {origin.expression, origin.shortest}:
                whole = dense.matrix(node)
                size = max(1.0, np.abs(whole).max(initial=0))
                for key, block in held.items():
                    expected = block_of(model, slot, whole, key)
                    if expected is None:  # what a root holds of the way to the world
                        continue
                    error = np.ravel(block) - np.ravel(expected)
                    assert np.abs(error).max(initial=0) < 1e-8 * size, (expression, slot, node)
                compared += 1
    assert compared > 300
    assert set(without) <= WITHOUT | BY_AXES | BY_ENTRIES, without


# -- what is kept --------------------------------------------------------------------------------


def origins(expression):
    return make_program([expression]).origins.values()


def test_letters_are_kept_as_letters():
    letters = {x.letter for x in origins(Mass.inv @ (T - C))}
    assert {P, G, V} <= letters
    assert Y in {x.letter for x in origins(psi.T @ H.T @ G.T @ G @ H @ psi + pp.operators.Omega)}
    assert Y not in {x.letter for x in origins(psi.T @ M @ psi)}


def test_recursions_keep_what_they_solve():
    kept = {x.expression for x in origins(H @ psi @ M @ V)}
    assert psi @ M @ phi.T @ H.T @ pp.operators.beta in kept
    assert tau_bar @ P in kept


def test_origins_are_no_part_of_what_a_program_is():
    program = make_program([Mass @ T])
    bare = replace(program, origins={})
    assert program.origins
    assert not bare.origins
    assert (bare, hash(bare)) == (program, hash(program))
