"""What each step of a program says, as a formula of one body.

`SAID` has one entry for every step of the lowering: a function of the formulas of its arguments,
of the statement, and of the place where it stands. Steps that only hand on what they hold, such
as the ten numbers of a rigid body and its matrix, say the same as their argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phipsi.algebra import operators as op
from phipsi.algebra.spaces import COORDINATES, JOINT, POINTS
from phipsi.explain.levels.formula import (
    ZERO,
    Around,
    Atom,
    Formula,
    Number,
    Over,
    inverse,
    plus,
    root,
    times,
)
from phipsi.explain.levels.places import (
    FORCE,
    MOTION,
    Place,
    across,
    base,
    entry,
    identity,
    inertia,
    joint_map,
    lever,
    map_rate,
    phi,
    point_axes,
    point_lever,
    rotor_inertia,
    selection,
    turn,
    unit,
)
from phipsi.explain.levels.rows import FEW
from phipsi.lowering.program import Statement

Formulas = Sequence[Formula]
Said = Callable[[Formulas, Statement, Place], Formula]

# -- what needs more than a line -------------------------------------------------------------


def _where(x: Statement, at: Place) -> str:
    return {"body": at.here, "point": "(e)", "world": ""}[x.domain.kind]


def _given(a: Formulas, x: Statement, at: Place) -> Formula:
    letter, kind = x.options
    assert x.target is not None
    alike = letter.target is COORDINATES and x.target.shape.rows is JOINT  # no joint follows
    node = op.S_q @ letter if alike else letter
    return Atom(letter.name, _where(x, at), node, letter.record.unit, (kind or None, None))


def _given_block(a: Formulas, x: Statement, at: Place) -> Formula:
    letter, target, source = x.options
    return Atom(letter.name, _where(x, at), letter, None, (target, source))


def _own_vector(a: Formulas, x: Statement, at: Place) -> Formula:
    letter, kind = x.options
    return Atom(letter.name, at.here, letter, None, (kind, None))


def _own_block(a: Formulas, x: Statement, at: Place) -> Formula:
    letter, target, source = x.options
    return Atom(letter.name, at.here, letter, None, (target, source), letter.symmetric)


def _map_derivative(a: Formulas, x: Statement, at: Place) -> Formula:
    letter = op.Gamma_delta(*x.options)
    return Atom(str(letter), at.here, letter, (0, 0), (MOTION, None))


def _axis(a: Formulas, x: Statement, at: Place) -> Formula:
    """H*(i) e_a at joint i, zero elsewhere: no letter of the algebra."""
    name = f"h({', '.join(map(repr, x.options))})"
    return Atom(name, at.here, None, (0, 0), (MOTION, None))


def _unit(a: Formulas, x: Statement, at: Place) -> Formula:
    assert x.domain.columns is not None
    space, kind = x.options[0], x.domain.columns.kind
    start = f"[j on {at.own}] I" if space is POINTS else f"[j = {at.own}] I"
    return Atom(start, "", unit(space), (0, 0), (kind, None))


def _gyroscopic(V: Formula, at: Place) -> Formula:
    return times(Around("S", V, (FORCE, FORCE)), inertia(at), V)


def _axes(x: Statement) -> Atom:
    """X of the points of a statement, or of those where its columns start."""
    columns = x.domain.columns
    if columns is not None:
        return point_axes(columns.points, "(j)")
    return point_axes(x.domain.points)


def _from_points(a: Formulas, x: Statement, at: Place) -> Formula:
    return Over("e", times(point_lever(x.options[0], f"({at.own},e)"), a[0]))


def _from_column(a: Formulas, x: Statement, at: Place) -> Formula:
    assert x.domain.columns is not None
    return times(point_lever(x.domain.columns.points, f"({at.own},j)"), a[0])


def _load(a: Formulas, x: Statement, at: Place) -> Formula:
    arm = point_lever(x.options[0], f"({at.own},e)")
    return Over("e", times(arm, a[0], arm.star()))


def _convective(a: Formulas, x: Statement, at: Place) -> Formula:
    points = x.domain.points
    return Atom("[0; omega x v]", "(e)", op.c(*points) if points else op.c, (0, -2))


def _potential(a: Formulas, x: Statement, at: Place) -> Formula:
    place = "(world)" if x.step == "base_potential" else at.here
    return times(Number(-1), Atom("m g.x", place, None, (1, -2)))


def _stacked(a: Formulas, x: Statement, at: Place) -> Formula:
    inside = [str(a[0]), "...", str(a[-1])] if len(a) > FEW else map(str, a)
    return Atom(f"[{', '.join(inside)}]", "", None, a[0].unit)


# -- every step ------------------------------------------------------------------------------

SAID: dict[str, Said] = {
    # at hand
    "coordinates": lambda a, x, at: Atom("q", at.here),
    "transform": lambda a, x, at: Atom("q", at.here),
    "speeds": lambda a, x, at: Atom("beta", at.here, op.beta, (0, -1)),
    "given": _given,
    "given_block": _given_block,
    "own_vector": _own_vector,
    "own_vector_of_q": _own_vector,
    "own_block": _own_block,
    "own_block_of_q": _own_block,
    "gravity": lambda a, x, at: Atom("gravity", "", op.gravity, (0, -2)),
    "inertia": lambda a, x, at: inertia(at),
    "rigid_body": lambda a, x, at: inertia(at),
    "rotor_inertia": lambda a, x, at: rotor_inertia(at),
    "joint_map": lambda a, x, at: joint_map(at),
    "map_rate": lambda a, x, at: map_rate(at),
    "map_derivative": _map_derivative,
    "axis": _axis,
    "identity": lambda a, x, at: identity(x.options[0]),
    "zeros": lambda a, x, at: ZERO,
    "one": lambda a, x, at: Number(1),
    "unit": _unit,
    "unit_vector": lambda a, x, at: entry(x.options[1]),
    # hands on what it holds
    "pivot_factor": lambda a, x, at: a[0],
    "rigid_matrix": lambda a, x, at: a[0],
    "link_pose": lambda a, x, at: a[0],
    "gather": lambda a, x, at: a[0],
    "spread": lambda a, x, at: a[0],
    "spread_block": lambda a, x, at: Around("blockdiag", a[0]),
    # arithmetic
    "add": lambda a, x, at: plus((1, a[0]), (1, a[1])),
    "add_blocks": lambda a, x, at: plus((1, a[0]), (1, a[1])),
    "subtract": lambda a, x, at: plus((1, a[0]), (-1, a[1])),
    "subtract_blocks": lambda a, x, at: plus((1, a[0]), (-1, a[1])),
    "scale": lambda a, x, at: times(Number(x.options[0]), a[0]),
    "scale_block": lambda a, x, at: times(Number(x.options[0]), a[0]),
    "scale_by": lambda a, x, at: times(a[0], a[1]),
    "scale_block_by": lambda a, x, at: times(a[0], a[1]),
    "apply": lambda a, x, at: times(a[0], a[1]),
    "apply_transposed": lambda a, x, at: times(a[0].star(), a[1]),
    "compose": lambda a, x, at: times(a[0], a[1]),
    "congruence": lambda a, x, at: times(a[0], a[1], a[0].star()),
    "congruence_transposed": lambda a, x, at: times(a[0].star(), a[1], a[0]),
    "transpose": lambda a, x, at: a[0].star(),
    "dot": lambda a, x, at: times(a[0].star(), a[1]),
    "outer": lambda a, x, at: times(a[0], a[1].star()),
    "row": lambda a, x, at: times(a[0].star(), entry(x.options[0])),
    "column": lambda a, x, at: times(a[0], entry(x.options[0])),
    "stacked": _stacked,
    "reciprocal": lambda a, x, at: inverse(a[0]),
    "symmetric_inverse": lambda a, x, at: inverse(a[0]),
    "general_inverse": lambda a, x, at: inverse(a[0]),
    "pivot_inverse": lambda a, x, at: inverse(a[0]),
    "pivot_solve": lambda a, x, at: times(inverse(a[0]), a[1]),
    "dense_inverse": lambda a, x, at: inverse(a[0]),
    "dense_solve": lambda a, x, at: times(inverse(a[0]), a[1]),
    "root": lambda a, x, at: root(a[0]),
    "cholesky": lambda a, x, at: root(a[0]),
    # brackets
    "cross_motion": lambda a, x, at: times(Around("cross", a[0], (MOTION, MOTION)), a[1]),
    "cross_force": lambda a, x, at: times(Around("S", a[0], (FORCE, FORCE)), a[1]),
    "cross_adjoint": lambda a, x, at: times(Around("Q", a[0], (FORCE, MOTION)), a[1]),
    "cross_motion_matrix": lambda a, x, at: Around("cross", a[0], (MOTION, MOTION)),
    "cross_force_matrix": lambda a, x, at: Around("S", a[0], (FORCE, FORCE)),
    "cross_adjoint_matrix": lambda a, x, at: Around("Q", a[0], (FORCE, MOTION)),
    # the body
    "momentum": lambda a, x, at: times(inertia(at), a[0]),
    "gyroscopic": lambda a, x, at: _gyroscopic(a[0], at),
    "newton_euler": lambda a, x, at: plus(
        (1, times(inertia(at), a[0])), (1, _gyroscopic(a[1], at))
    ),
    "rotor": lambda a, x, at: times(rotor_inertia(at), a[0]),
    # from body to body; the first argument is the transform
    "inward": lambda a, x, at: times(phi(at), a[1]),
    "outward": lambda a, x, at: times(phi(at).star(), a[1]),
    "turn_inward": lambda a, x, at: times(turn(at), a[1]),
    "turn_outward": lambda a, x, at: times(turn(at).star(), a[1]),
    "lever_inward": lambda a, x, at: times(lever(at), a[1]),
    "lever_outward": lambda a, x, at: times(lever(at).star(), a[1]),
    "lever_matrix": lambda a, x, at: lever(at),
    "carry": lambda a, x, at: times(phi(at), a[1], phi(at).star()),
    "carry_any": lambda a, x, at: times(phi(at), a[1], phi(at).star()),
    "carry_rigid": lambda a, x, at: times(phi(at), a[1], phi(at).star()),
    "carry_back": lambda a, x, at: times(phi(at).star(), a[1], phi(at)),
    "carry_back_any": lambda a, x, at: times(phi(at).star(), a[1], phi(at)),
    "turn_carry_any": lambda a, x, at: times(turn(at), a[1], turn(at).star()),
    # the free joint: of P, L*, N, D, G and what is passed
    "gain": lambda a, x, at: times(a[0], a[1], inverse(a[3])),
    "gain_any": lambda a, x, at: times(a[0], a[1], a[2]),
    "relieve": lambda a, x, at: plus((1, a[0]), (-1, times(a[4], a[1].star(), a[0]))),
    "relieve_any": lambda a, x, at: plus((1, a[0]), (-1, times(a[2], a[1].star(), a[0]))),
    "pass_force": lambda a, x, at: times(across(a[0], a[1], at), a[3]),
    "pass_motion": lambda a, x, at: times(across(a[0], a[1], at).star(), a[3]),
    "pass_matrix": lambda a, x, at: across(a[0], a[1], at),
    # the world
    "from_base": lambda a, x, at: times(base(at), a[1]),
    "to_base": lambda a, x, at: times(base(at).star(), a[1]),
    "block_to_base": lambda a, x, at: times(base(at).star(), a[1], base(at)),
    "pose": lambda a, x, at: Atom(f"pose({at.parent}) moved by [R, l]", at.step, op.pose),
    "potential": _potential,
    "base_potential": _potential,
    # points
    "to_point": lambda a, x, at: times(point_lever(x.domain.points, f"({at.own},e)").star(), a[0]),
    "from_points": _from_points,
    "from_column": _from_column,
    "load": _load,
    "convective": _convective,
    "to_world_axes": lambda a, x, at: times(_axes(x), a[1]),
    "from_world_axes": lambda a, x, at: times(_axes(x).star(), a[1]),
    "axes_matrix": lambda a, x, at: _axes(x),
    # coordinates
    "follow": lambda a, x, at: times(selection(at), a[0]),
    "lead": lambda a, x, at: times(selection(at).star(), a[0]),
}
