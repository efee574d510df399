"""Loops over the bodies: how many, what stands in them, what is shared."""

import machines
import numpy as np
import pytest
from expressions import FAMILIES, MARKET, r
from expressions_of_papers import FD1, FD3, FD4, INVERSE_DYNAMICS
from symbols import A, N, assert_close, k, x, y

import phipsi as pp
from phipsi.algebra.spaces import BODY
from phipsi.compile import make_program
from phipsi.lowering.program import BODIES, At, Direction, Effect, Read, Shape, Slot, Statement
from phipsi.lowering.schedule import schedule
from phipsi.lowering.verify import verify
from phipsi.operators import (
    B,
    C,
    D,
    E,
    E_phi,
    H,
    I,
    J,
    K,
    M,
    Mass,
    Omega,
    P,
    R,
    T,
    U,
    V,
    X,
    Y,
    a,
    alpha,
    b,
    beta,
    beta_dot,
    blockdiag,
    c,
    f,
    gravity,
    phi,
    pose,
    psi,
    psi_tilde,
    tau_bar,
)

INWARD, OUTWARD = Direction.TIP_TO_BASE, Direction.BASE_TO_TIP


def directions(*expressions):
    """The directions of the loops that some expressions need."""
    return [loop.direction for loop in make_program(expressions).loops if loop.statements]


def count(*expressions):
    return sum(1 for _ in make_program(expressions).statements())


# -- how many loops ------------------------------------------------------------------------

FD = Mass.inv @ (T - C)
whiten = I - H @ psi @ K

ONE_SWEEP = {
    "joint forces": T,
    "velocities": V,
    "poses": pose,
    "potential energy": U,
    "kinetic energy": 0.5 * V.T @ M @ V,
    "momentum of a force": phi @ x,
    "motion": phi.T @ x,
    "mass matrix": Mass,
    "composite inertias": R,
    "articulated inertias": P,
    "pivots": D,
    "Jacobian": J,
    "whitening": whiten @ y,
    "whitening as a matrix": whiten,
    "whitening, starred and a matrix": whiten.T,
    "gyroscopic forces": b,
    "accelerations": alpha,
    "phi M phi*": phi @ M @ phi.T,
}
TWO_SWEEPS = {
    "inverse dynamics": INVERSE_DYNAMICS,
    "bias": C,
    "body forces": f,
    "Jacobian in world axes": X @ J,
    "Upsilon": Y,
    "Mass applied": Mass @ y,
    "momentum": E.T @ phi @ M @ V,
    "whitening starred": whiten.T @ y,
}
THREE_SWEEPS = {
    "FD as typed": FD,
    "FD1": FD1,
    "FD3": FD3,
    "FD4": FD4,
    "inverse of the mass matrix": Mass.inv,
    "Omega": Omega,
    "compliance": J @ Mass.inv @ J.T,
    "compliance in world axes": X @ J @ Mass.inv @ J.T @ X.T,
    "FD with a tip force": Mass.inv @ (T - C - J.T @ pp.operators.f0),
    "body accelerations": phi.T @ (H.T @ FD + a + E @ gravity),
    "point accelerations": X @ (B.T @ phi.T @ (H.T @ FD + a) + c),
}
SWEEPS = {1: ONE_SWEEP, 2: TWO_SWEEPS, 3: THREE_SWEEPS}


@pytest.mark.parametrize(
    ("number", "name"), [(n, name) for n, members in SWEEPS.items() for name in members]
)
def test_number_of_sweeps(number, name):
    assert make_program([SWEEPS[number][name]]).sweeps == number


def test_velocity_free_forward_dynamics_takes_two_sweeps():
    assert directions(Mass.inv @ y) == [INWARD, OUTWARD]
    assert directions(whiten.T @ D.inv @ whiten @ y) == [INWARD, OUTWARD]


@pytest.mark.parametrize(
    ("expression", "ways"),
    [
        (phi @ x, [INWARD]),
        (phi.T @ x, [OUTWARD]),
        (phi @ M @ phi.T @ x, [OUTWARD, INWARD]),
        (phi.T @ M @ phi @ x, [INWARD, OUTWARD]),
        (E_phi @ x, [INWARD]),
        (psi.T @ x, [INWARD, OUTWARD]),
        (phi.T @ phi @ phi.T @ x, [OUTWARD, INWARD, OUTWARD]),
        (phi @ A @ psi @ x, [INWARD]),
        (FD, [OUTWARD, INWARD, OUTWARD]),
    ],
    ids=str,
)
def test_directions(expression, ways):
    assert directions(expression) == ways


def test_what_needs_no_neighbour_costs_no_loop_of_its_own():
    assert directions(M @ A @ phi @ (A @ x), H.T @ y, D) == [INWARD]


def test_step_outward_of_what_was_pushed_inward_waits_for_the_next_loop():
    """E_phi* E_phi x: the parent's sum is complete only when all its children have pushed."""
    expression = E_phi.T @ E_phi @ x
    assert make_program([expression]).sweeps == 2
    model, rng = machines.MARKET["rbdl_tree_3d"](), np.random.default_rng(0)
    q, value = model.random(rng), rng.normal(size=30)
    found = pp.compile(model, expression)(q, None, value)
    assert_close(found, pp.as_matrix(model, expression, q, x=value))


def test_scalars_of_the_whole_machine_separate_loops_of_one_direction():
    """(x* phi x) phi x: the first loop must end before the second one starts."""
    expression = (x.T @ phi @ x) * (phi @ (k * x)) + (y.T @ H @ phi @ x) * x
    assert make_program([(x.T @ phi @ x) * (psi @ (y.T @ H @ phi @ x * x))]).sweeps == 2
    model, rng = machines.MARKET["rbdl_tree_3d"](), np.random.default_rng(1)
    q, values = model.random(rng), {"x": rng.normal(size=30), "y": rng.normal(size=5), "k": 0.5}
    found = pp.compile(model, expression)(q=q, **values)
    assert_close(found, pp.as_matrix(model, expression, q, **values))


# -- what stands in them -------------------------------------------------------------------


SAMPLE = [
    *("vectors of the papers: FD", "vectors of the papers: FD4", "vectors of the papers: ID"),
    *("vectors of the papers: constrained accelerations", "vectors: many sweeps"),
    *("inverses: Mass.inv", "inverses: own hinges", "inverses applied: causal, phi A psi @ vector"),
    *("matrices: sum of everything", "at points: compliance in world axes", "letters: Y"),
    *("matrices: Mass Mass", "scalars: total energy", "matrices: derivative of Mass"),
]


@pytest.mark.parametrize("name", SAMPLE)
def test_statements_of_a_recursion_share_a_loop(name):
    """Whatever depends on itself, through parents or children, is in one loop."""
    program = make_program([MARKET[name]])
    home, uses = {}, {}
    for at, loop in enumerate(program.loops):
        for statement in (*loop.before, *loop.statements):
            if statement.target is not None:
                home[statement.target] = at
                read = {argument.slot for argument in statement.arguments}
                uses[statement.target] = uses.get(statement.target, set()) | read
    reached = {slot: reach(slot, uses) for slot in uses}
    recursive = [slot for slot in uses if slot in reached[slot]]
    for slot in recursive:
        assert {home[x] for x in reached[slot] if slot in reached[x]} == {home[slot]}
    assert recursive


def reach(slot, uses):
    """All slots that one depends on."""
    found, pending = set(), list(uses[slot])
    while pending:
        other = pending.pop()
        if other not in found:
            found.add(other)
            pending.extend(uses.get(other, ()))
    return found


@pytest.mark.parametrize("name", SAMPLE)
def test_every_statement_is_needed(name):
    program = make_program([MARKET[name]])
    read = {argument.slot for statement in program.statements() for argument in statement.arguments}
    for statement in program.statements():
        assert statement.target is None or statement.target in read


@pytest.mark.parametrize("name", SAMPLE)
def test_no_statement_is_made_twice(name):
    statements = [
        (x.step, x.arguments, x.options, x.effect, x.domain)
        for x in make_program([MARKET[name]]).statements()
        if x.effect is not Effect.EMIT
    ]
    assert len(set(statements)) == len(statements)


@pytest.mark.parametrize("family", FAMILIES)
def test_programs_of_the_market_are_legal(family):
    for name, expression in FAMILIES[family].items():
        if f"{family}: {name}" not in ("matrices: E E*", "the user's own: Z"):
            verify(make_program([expression]))


def test_parents_are_read_on_the_way_out_or_after():
    for name in SAMPLE:
        made = set()
        for loop in make_program([MARKET[name]]).loops:
            for statement in loop.statements:
                for read in statement.arguments:
                    if read.at is At.PARENT:
                        assert loop.direction is OUTWARD or read.slot in made
            made |= {x.target for x in (*loop.before, *loop.statements)}


# -- what is shared --------------------------------------------------------------------------


def test_several_expressions_share_what_they_share():
    several = [FD, INVERSE_DYNAMICS, C, Mass, 0.5 * V.T @ M @ V, X @ J]
    assert count(*several) < 0.7 * sum(count(expression) for expression in several)
    assert make_program(several).sweeps == 3


def test_the_same_expression_twice_costs_an_output_more():
    assert count(FD, FD) == count(FD) + 1
    assert count(Mass @ beta_dot + C, Mass @ beta_dot + C) == count(Mass @ beta_dot + C) + 1


def test_definitions_and_letters_are_the_same():
    assert count(V, phi.T @ H.T @ beta) == count(V) + 1
    assert count(f, phi @ (M @ alpha + b)) == count(f) + 1


def test_matrix_that_is_solved_with_twice_is_assembled_once():
    inner = (J @ Mass.inv @ J.T + I).inv
    once, twice = count(inner @ r), count(inner @ r + inner @ X @ r)
    assert twice - once <= 8


def test_forward_dynamics_typed_as_in_the_papers_costs_the_same_as_its_shortest_form():
    """FD4 as printed, with psi and psi~, needs no more statements than Mass^-1 (T - C)."""
    printed = D.inv @ (T - H @ (psi @ (K @ T + b) + psi_tilde @ P @ (a + E @ gravity)))
    printed = whiten.T @ printed - K.T @ psi.T @ tau_bar.T @ (a + E @ gravity)
    assert count(FD4) <= count(FD)
    assert make_program([printed]).sweeps == 3


def test_program_prints_its_loops():
    text = str(make_program([phi @ x]))
    assert "tip_to_base" in text
    assert "base_to_tip" not in text
    assert "inward" in text


def test_program_does_not_depend_on_the_machine():
    models = [machines.MARKET[name]() for name in ("serial_revolute", "tree_of_every_kind")]
    for model in models:
        model.functions.clear()  # of other tests, whose programs may be forgotten by now
    first, second = (pp.compile(model, Mass.inv @ (T - C)).program for model in models)
    assert first is second


def test_columns_of_one_matrix_do_not_wait_for_those_of_another():
    """A matrix that a scalar depends on is filled in a loop before the one it scales."""
    expression = (r.T @ (J @ Mass.inv @ J.T + I).inv @ r) * J
    assert make_program([expression]).sweeps == 4
    assert make_program([J, blockdiag(Omega), N]).sweeps <= 3


# -- what cannot be scheduled ------------------------------------------------------------------


def test_recursion_in_both_directions_is_refused():
    """z depends on its parent's z, and on what its children push."""
    z, pushed = (Slot(i, name, Shape(BODY)) for i, name in enumerate(["z", "pushed"]))
    statements = [
        Statement("add", (Read(z, At.PARENT), Read(pushed)), z, BODIES),
        Statement("inward", (Read(z),), pushed, BODIES, Effect.PUSH),
    ]
    with pytest.raises(pp.LoweringError, match=r"what both its children and its parent know \(.*"):
        schedule(statements)


def test_recursion_at_one_body_is_refused():
    one, other = (Slot(i, name, Shape(BODY)) for i, name in enumerate(["one", "other"]))
    statements = [
        Statement("scale", (Read(other),), one, BODIES, options=(2.0,)),
        Statement("scale", (Read(one),), other, BODIES, options=(0.5,)),
    ]
    with pytest.raises(pp.LoweringError, match=r"own result at the same body; pp\.as_matrix"):
        schedule(statements)
