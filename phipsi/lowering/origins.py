"""What every slot of a program is the value of: a letter, or an expression of the algebra.

The lowering notes the expression for which it makes a slot, and the letter that was typed for it.
A recursion's is what it solves: z = x + E_phi z is phi @ x. What is made on the way has the
formula of its step, of what its arguments are. So each slot of a finished program has a dense
meaning, on any machine, and whoever explains the program reads it.

    vector      at bodies, joints, points, or of the whole machine: the vector itself
    block       a memoryless operator; what comes from other bodies as blockdiag(...)
    column      the operator whose columns they are

The numbers of `transform` hold E_phi, the factors of `pivot_factor` hold D, ten numbers of a rigid
body hold its inertia: the origin is what is held. q, and what only one joint has, have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from phipsi.algebra import operators as op
from phipsi.algebra.families import Family, bare, family_of
from phipsi.algebra.node import (
    Diagonal,
    Identity,
    Node,
    Symbol,
    add,
)
from phipsi.algebra.spaces import BODY, COORDINATES, JOINT, POSE, SCALAR, Causality, Space
from phipsi.algebra.stars import starred
from phipsi.errors import PhipsiError
from phipsi.lowering.program import FRAME, Effect, Origin, Slot, Statement
from phipsi.lowering.structure import is_internal, propagator
from phipsi.lowering.visitor import FORMULAS


class NoOriginError(Exception):
    """What the algebra has no expression for."""


# -- letters that only a lowering knows ------------------------------------------------------


def rewrite(node: Node, replace: Callable[[Node], Node | None], memo: dict[Node, Node]) -> Node:
    """An expression with some of its parts replaced, from the inside, without recursion.

    Args:
        node: the expression.
        replace: of a part, its replacement; None for one that stays.
        memo: of what has been replaced.
    """
    pending = [node]
    while pending:
        at = pending[-1]
        if at in memo:
            pending.pop()
            continue
        other = replace(at)
        if other is not None:
            memo[at] = other
            continue
        missing = [x for x in at.children if x not in memo]
        if missing:
            pending += missing
            continue
        children = tuple(memo[x] for x in at.children)
        same = all(x is y for x, y in zip(children, at.children, strict=True))
        memo[at] = at if same else at.rebuild(children)
    return memo[node]


def upsilon_of(E: Node | None, W: Node, F: Node | None) -> Node:
    """Y = W + blockdiag(E* Y F), solved: blockdiag((I - E)^-* W (I - F)^-1)."""
    if E is None or F is None:
        return W
    E_psi = op.E_phi @ op.tau_bar
    if (E_psi, E_psi) == (E, F) and op.H.T @ op.D.inv @ op.H == W:
        return op.Y
    return Diagonal(starred(propagator(E)) @ W @ propagator(F))


def _publish(solutions: Mapping[Node, Node], memo: dict[Node, Node]) -> Callable[[Any], Any]:
    """What makes of an expression, or a family, of the lowering one of the algebra."""

    def public(x: Any) -> Any:
        if isinstance(x, Family):
            N = None if x.N is None else public(x.N)
            return Family(public(x.L), public(x.E), public(x.W), N)
        return rewrite(x, replace, memo)

    def replace(node: Node) -> Node | None:
        if node in solutions:
            found: Node = public(solutions[node])
            return found
        if not isinstance(node, Symbol):
            return None
        if is_internal(node):
            if node.record.stands_for is None:
                raise NoOriginError(node.name)
            return node.record.stands_for(node, public)
        if node.definition is None and node.arguments and isinstance(node.arguments[0], Family):
            return public(node.arguments[0]).letter(bare(node))
        return None

    return public


# -- formulas of steps -----------------------------------------------------------------------


def expression_of(statement: Statement, arguments: Sequence[Node | None]) -> Node:
    """What a statement computes of these arguments, or NoOriginError.

    The formula of its step, of the whole machine: what is pushed to parents, or gathered, is
    summed by the operators in it.
    """
    formula, slot = FORMULAS.get(statement.step), statement.target
    if slot is None or formula is None:
        raise NoOriginError(statement.step)
    names = formula.bind([*arguments, *statement.options])
    if not formula.text:
        raise NoOriginError(statement.step)
    try:
        return fitted(formula.evaluate(_letters(statement, names) | names), slot)
    except (PhipsiError, TypeError, AttributeError, NameError) as error:
        raise NoOriginError(statement.step) from error


def _letters(statement: Statement, names: Mapping[str, Any]) -> dict[str, Any]:
    """The letters of a formula, those at points with their points."""
    columns = statement.domain.columns
    points = statement.domain.points if columns is None else columns.points
    points = names.get("points", points)
    letters: dict[str, Any] = {**op.LETTERS, "blockdiag": Diagonal, "SCALAR": SCALAR}
    if points:
        letters |= {letter.name: letter(*points) for letter in (op.B, op.X, op.c)}
    if "L_star" in names and "G" in names:
        letters["tau_bar"] = _passed(names["G"], names["L_star"])
    return letters


def _passed(G: Node | None, L_star: Node | None) -> Node | None:
    """tau_bar of a gain: the letter of its family, or I - G L."""
    if G is None or L_star is None:
        return None
    if isinstance(G, Symbol) and G.record is op.G.record:
        family = family_of(G)
        if starred(family.L) == L_star:
            return family.letter(op.tau_bar)
    return add(Identity(BODY), -(G @ starred(L_star)))


def fitted(node: Node | None, slot: Slot) -> Node:
    """An expression between the spaces of a slot, or NoOriginError.

    Coordinates are kept with the joints where none follows another; S_q turns one into the other.
    """
    if not isinstance(node, Node) or slot.shape.rows == "q":
        raise NoOriginError(str(node))
    target, source = spaces_of(slot)
    if (node.target, target) == (COORDINATES, JOINT):
        node = op.S_q @ node
    elif (node.target, target) == (JOINT, COORDINATES):
        node = starred(op.S_q) @ node
    if source in (JOINT, COORDINATES) and node.source in (JOINT, COORDINATES):
        if (node.source, source) == (COORDINATES, JOINT):
            node = node @ starred(op.S_q)
        elif (node.source, source) == (JOINT, COORDINATES):
            node = node @ op.S_q
    if node.target is not target or node.source is not source:
        raise NoOriginError(f"{node} does not fit {slot}")
    is_block = slot.domain.kind == "body" and source is not SCALAR
    if is_block and slot.shape.rows not in BETWEEN and not _is_memoryless(node):
        return Diagonal(node)
    return node


BETWEEN = ("transform", "inboard")  # rows of what a body holds of the way to its parent


def spaces_of(slot: Slot) -> tuple[Space, Space]:
    """Between which spaces the origin of a slot maps."""
    rows, columns = slot.shape.rows, slot.shape.columns
    if rows in (10, "transform", "inboard"):
        return BODY, BODY
    if slot.shape == FRAME:
        return POSE, SCALAR
    target = rows if isinstance(rows, Space) else SCALAR
    if slot.domain.kind == "column":
        return target, slot.columns.space
    return target, columns if isinstance(columns, Space) else SCALAR


def _is_memoryless(node: Node) -> bool:
    return node.causality is Causality.MEMORYLESS


# -- all slots of a program ------------------------------------------------------------------


def find_origins(
    statements: Sequence[Statement],
    noted: Mapping[int, Iterable[Node]],
    letters: Mapping[int, Symbol],
    solutions: Mapping[Node, Node],
) -> dict[Slot, Origin]:
    """Of the slots that statements make, what they are the value of.

    Args:
        statements: of a program.
        noted: for which expressions slots were made, by their numbers, the best first.
        letters: that were typed for slots, by their numbers.
        solutions: of the symbols that stand for recursions while these are lowered, what they are.
    """
    memo: dict[Node, Node] = {}
    public = _publish(solutions, memo)
    found: dict[Slot, Origin] = {}
    pending: list[Statement] = []
    for x in statements:
        if x.target is None or x.target in found:
            continue
        known = _first(noted.get(x.target.number, ()), public, x.target)
        if known is None:
            pending.append(x)
        else:
            found[x.target] = _origin(known, letters.get(x.target.number))
    while pending:  # in the order in which they were written; a recursion may be used ahead of it
        left = [x for x in pending if not _derive(x, letters, found)]
        if len(left) == len(pending):
            return found
        pending = left
    return found


def _origin(expression: Node, typed: Symbol | None) -> Origin:
    letter = expression if typed is None or is_internal(typed) else typed
    if isinstance(letter, Symbol) and not letter.free:
        return Origin(expression, letter)
    return Origin(expression)


def _first(nodes: Iterable[Node], public: Callable[[Node], Node], slot: Slot) -> Node | None:
    """The first of some expressions that the algebra has."""
    for node in nodes:
        try:
            return fitted(public(node), slot)
        except (NoOriginError, PhipsiError):
            continue
    return None


def _derive(statement: Statement, letters: Mapping[int, Symbol], found: dict[Slot, Origin]) -> bool:
    """Note what a statement makes, if its formula says so by what is known of its arguments."""
    slot = statement.target
    if slot is None or statement.effect is Effect.EMIT:
        return False
    known = [found.get(x.slot) for x in statement.arguments]
    try:
        expressions = [None if x is None else x.shortest for x in known]
        found[slot] = _origin(expression_of(statement, expressions), letters.get(slot.number))
    except NoOriginError:
        return False
    return True
