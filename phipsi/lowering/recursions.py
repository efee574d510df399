"""Quantities of the bodies that are recursions themselves, and what every body has.

R     tip_to_base   composite inertia, R = W + blockdiag(E R F*)
P     tip_to_base   articulated inertia, by the Riccati equation; D, G, tau_bar with it
Y     base_to_tip   Upsilon, Y = W + blockdiag(E* Y F)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from phipsi.algebra import operators as op
from phipsi.algebra.families import Family
from phipsi.algebra.node import Identity, Node, Sum, Symbol, Transpose, scale
from phipsi.algebra.rewriting.normal import joined, number_and_factors
from phipsi.algebra.spaces import BODY, JOINT
from phipsi.algebra.stars import starred
from phipsi.lowering.lower import SPATIAL, SQUARE, Lowering
from phipsi.lowering.origins import upsilon_of
from phipsi.lowering.program import FRAME, At, Effect, Read, Shape, Slot
from phipsi.lowering.settle import settle
from phipsi.lowering.structure import (
    UNIT_ENTRY,
    composite_of,
    is_one_step,
    is_positive,
    is_symmetric,
)

RIGID = Shape(10)  # mass, first moment, rotational inertia
INBOARD = Shape("inboard", BODY)  # from a body to its parent


# -- what every body has -----------------------------------------------------------------


def coordinates(low: Lowering) -> Slot:
    """q(k)."""
    return low.emit("coordinates", (), Shape("q"), name="q")


def transform(low: Lowering) -> Slot:
    """The numbers of phi(p(k),k) that depend on q."""
    return low.emit("transform", (coordinates(low),), Shape("transform"), name="X")


def joint_map(low: Lowering) -> Slot:
    """H*(k)."""
    return low.emit("joint_map", (transform(low),), Shape(BODY, JOINT), name="H*")


def pose(low: Lowering) -> Slot:
    """Axes and origin of the private frame in the world, base_to_tip."""
    slot, is_new = low.promise(("pose",), "pose", FRAME)
    if is_new:
        made = low.emit("pose", (transform(low), Read(slot, At.PARENT)), FRAME)
        slot = low.define(slot, made)
        low.note_origin(slot, op.pose, first=True)
    return slot


def link_pose(low: Lowering) -> Slot:
    """Axes and origin of the link frame in the world."""
    placed = low.emit("link_pose", (pose(low),), FRAME)
    low.note_origin(placed, op.pose, first=True)
    return placed


# -- composite and articulated inertias, Upsilon -----------------------------------------


def articulated(low: Lowering, family: Family) -> Slot:
    """P = W + blockdiag(E tau_bar P E*), tip_to_base [001 (35)]."""
    P, is_new = low.promise(("articulated", family), "P", SQUARE)
    if is_new:
        carried = carry(low, family.E, relieved(low, family), family.E)
        made = low.emit("add_blocks", (carried, low.block(family.W)), SQUARE, (True,), name="P")
        P = low.define(P, made)
        low.note_origin(P, family.letter(op.P), first=True)
    return P


def composite(low: Lowering, E: Node, W: Node, F: Node) -> Slot:
    """R = W + blockdiag(E R F*), tip_to_base: a composite inertia [000 (5.44)]."""
    if (op.E_phi, op.M, op.E_phi) == (E, W, F):
        return _composite_rigid(low)
    shape = Shape(BODY, BODY, E == F and is_symmetric(W))
    R, is_new = low.promise(("composite", E, W, F), "R", shape)
    if is_new:
        carried, options = carry(low, E, R, F), (shape.symmetric,)
        made = low.emit("add_blocks", (carried, low.block(W)), shape, options, name="R")
        R = low.define(R, made)
        low.note_origin(R, composite_of(E, W, F), first=True)
    return R


def _composite_rigid(low: Lowering) -> Slot:
    """R of rigid bodies locked together: a rigid body, so ten numbers instead of twenty-one."""
    R, is_new = low.promise(("composite rigid",), "R", RIGID)
    if is_new:
        carried = low.emit("carry_rigid", (transform(low), R), RIGID, effect=Effect.PUSH)
        R = low.define(R, low.emit("add", (carried, low.emit("rigid_body", (), RIGID)), RIGID))
        low.note_origin(R, op.R, first=True)
    return low.emit("rigid_matrix", (R,), SQUARE, name="R")


def upsilon(low: Lowering, E: Node | None, W: Node, F: Node | None) -> Slot:
    """Y = W + blockdiag(E* Y F), base_to_tip [002 (A.3)]; W alone without E or F."""
    if E is None or F is None:
        return low.block(W)
    shape = Shape(BODY, BODY, E == F and is_symmetric(W))
    Y, is_new = low.promise(("upsilon", E, W, F), "Y", shape)
    if is_new:
        carried, options = carry_back(low, E, Y, F), (shape.symmetric,)
        made = low.emit("add_blocks", (carried, low.block(W)), shape, options, name="Y")
        Y = low.define(Y, made)
        low.note_origin(Y, upsilon_of(E, W, F), first=True)
    return Y


# -- blocks carried between bodies -------------------------------------------------------


def carry(low: Lowering, E: Node, W: Slot, F: Node) -> Slot:
    """blockdiag(E W F*) of one-step operators: pushed to the parent.

    A letter may know a quick way for W between itself and its star, as E_phi does; any other
    E and F are multiplied as blocks.
    """
    symmetric, shape = E == F and W.shape.symmetric, Shape(BODY, BODY, E == F and W.shape.symmetric)
    one, other = _parts(E), _parts(F)
    if one is not None and other is not None and one.step == other.step:
        quick = one.step.record.steps.carry
        if quick is not None:
            W = quick(low, _between(low, one.after, W, other.after, symmetric))
            return _between(low, one.before, W, other.before, symmetric)
    A = inboard(low, E)
    if symmetric:
        return low.emit("carry_by", (A, W), shape, effect=Effect.PUSH)
    return low.emit("carry_by_both", (A, W, inboard(low, F)), shape, effect=Effect.PUSH)


def carry_back(low: Lowering, E: Node, W: Slot, F: Node) -> Slot:
    """blockdiag(E* W F) of one-step operators: pulled from the parent."""
    symmetric, shape = E == F and W.shape.symmetric, Shape(BODY, BODY, E == F and W.shape.symmetric)
    one, other = _parts(E), _parts(F)
    if one is not None and other is not None and one.step == other.step:
        quick = one.step.record.steps.carry_back
        if quick is not None and not one.before and not other.before:
            stars = [tuple(starred(x) for x in reversed(y.after)) for y in (one, other)]
            return _between(low, stars[0], quick(low, W), stars[1], symmetric)
    A, of_parent = inboard(low, E), Read(W, At.PARENT)
    if symmetric:
        return low.emit("carry_back_by", (A, of_parent), shape)
    return low.emit("carry_back_by_both", (A, of_parent, inboard(low, F)), shape)


def inboard(low: Lowering, E: Node) -> Slot:
    """The block of a one-step operator at (p(k), k): its rows are E* e_j, e_j at every body."""
    rows = [low.vector(settle(starred(E)) @ UNIT_ENTRY(j)) for j in range(SPATIAL)]
    return low.emit("inboard_block", rows, INBOARD, (E,))


def _between(
    low: Lowering, left: Sequence[Node], W: Slot, right: Sequence[Node], symmetric: bool
) -> Slot:
    """A W B* of memoryless products A and B."""
    shape = Shape(BODY, BODY, symmetric)
    if symmetric and left:
        A = joined(1, left)
        if isinstance(A, Transpose):
            arguments = (low.block(A.children[0]), W)
            return low.emit("congruence_transposed", arguments, shape)
        return low.emit("congruence", (low.block(A), W), shape)
    if left:
        W = low.emit("compose", (low.block(joined(1, left)), W), shape)
    if right:
        star = low.block(starred(joined(1, right)))
        W = low.emit("compose", (W, star), shape)
    return W


# -- the free joint ----------------------------------------------------------------------


def hinge(low: Lowering, family: Family) -> tuple[Slot, Slot]:
    """L* and N of a family, at every body."""
    L_star = joint_map(low) if family.L == op.H else low.block(starred(family.L))
    space = family.L.target
    assert space is not None
    shape = Shape(space, space, symmetric=True)
    if family.N is None:
        return L_star, low.emit("zeros", (), shape, (space, space))
    return L_star, low.block(family.N)


def pivot(low: Lowering, family: Family) -> Slot:
    """D = L P L* + N [002 (3.2)]."""
    P = articulated(low, family)
    L_star, N = hinge(low, family)
    shape = N.shape
    moved = low.emit("congruence_transposed", (L_star, P), shape)
    D = low.emit("add_blocks", (moved, N), shape, (True,), name="D")
    low.note_origin(D, family.letter(op.D), first=True)
    return D


def pivot_factor(low: Lowering, family: Family) -> Slot | None:
    """The LDL' factor of D, watched; None where D may be of any sign, of a user's own W and N."""
    if not all(is_positive(x) for x in (family.W, family.N) if x is not None):
        return None
    D, P = pivot(low, family), articulated(low, family)
    L_star, _ = hinge(low, family)
    shape = replace(D.shape, symmetric=False)
    return low.emit("pivot_factor", (D, P, L_star), shape, name="F")


def pivot_inverse(low: Lowering, family: Family) -> Slot:
    """D^-1."""
    factor, D = pivot_factor(low, family), pivot(low, family)
    if factor is not None:
        return low.emit("pivot_inverse", (factor,), D.shape, name="D^-1")
    space = family.L.target
    assert space is not None
    letter = Symbol("D", space, space)  # for the message
    return low.emit("general_inverse", (D,), D.shape, (letter,), name="D^-1")


def pivot_solve(low: Lowering, family: Family, x: Slot) -> Slot:
    """D^-1 x."""
    factor = pivot_factor(low, family)
    if factor is None:
        return low.emit("apply", (pivot_inverse(low, family), x), x.shape)
    return low.emit("pivot_solve", (factor, x), x.shape)


def gain(low: Lowering, family: Family) -> Slot:
    """G = P L* D^-1 [002 (3.2)]."""
    P, (L_star, N), factor = articulated(low, family), hinge(low, family), pivot_factor(low, family)
    shape = Shape(BODY, N.shape.rows)
    if factor is None:
        G = low.emit("gain_any", (P, L_star, pivot_inverse(low, family)), shape, name="G")
    else:
        G = low.emit("gain", (P, L_star, N, factor), shape, name="G")
    low.note_origin(G, family.letter(op.G), first=True)
    return G


def relieved(low: Lowering, family: Family) -> Slot:
    """tau_bar P: the inertia felt through the joint [001 (39)]."""
    P, (L_star, N), factor = articulated(low, family), hinge(low, family), pivot_factor(low, family)
    G = gain(low, family)
    if factor is None:
        P_plus = low.emit("relieve_any", (P, L_star, G), SQUARE, name="P+")
    else:
        P_plus = low.emit("relieve", (P, L_star, N, factor, G), SQUARE, name="P+")
    low.note_origin(P_plus, family.letter(op.tau_bar) @ family.letter(op.P), first=True)
    return P_plus


@dataclass(frozen=True)
class _Parts:
    """A one-step operator A @ E @ B: what is before its step, the step, and what is after."""

    before: tuple[Node, ...]
    step: Symbol
    after: tuple[Node, ...]


def _parts(E: Node) -> _Parts | None:
    """A one-step operator by its parts; None for a sum of several."""
    number, factors = number_and_factors(E)
    place = next((i for i, x in enumerate(factors) if is_one_step(x)), None)
    if isinstance(E, Sum) or place is None:
        return None
    before, after = factors[:place], factors[place + 1 :]
    step = factors[place]
    assert isinstance(step, Symbol)
    if number != 1:
        after = (scale(number, after[0] if after else Identity(BODY)), *after[1:])
    return _Parts(before, step, after)
