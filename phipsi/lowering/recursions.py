"""Quantities of the bodies that are recursions themselves, and what every body has.

R     tip_to_base   composite inertia, R = W + blockdiag(E R F*)
P     tip_to_base   articulated inertia, by the Riccati equation; D, G, tau_bar with it
Y     base_to_tip   Upsilon, Y = W + blockdiag(E* Y F)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from phipsi.algebra import operators as op
from phipsi.algebra.families import Family
from phipsi.algebra.node import Identity, Node, Sum, Symbol, Transpose, scale
from phipsi.algebra.rewriting.normal import joined, number_and_factors
from phipsi.algebra.spaces import BODY, JOINT
from phipsi.algebra.stars import starred
from phipsi.errors import LoweringError
from phipsi.lowering.lower import SQUARE, Lowering
from phipsi.lowering.origins import composite_of, upsilon_of
from phipsi.lowering.program import FRAME, At, Effect, Read, Shape, Slot
from phipsi.lowering.structure import STEPS, is_positive, is_symmetric

RIGID = Shape(10)  # mass, first moment, rotational inertia


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
        carried, options = _carry_back(low, E, Y, F), (shape.symmetric,)
        made = low.emit("add_blocks", (carried, low.block(W)), shape, options, name="Y")
        Y = low.define(Y, made)
        low.note_origin(Y, upsilon_of(E, W, F), first=True)
    return Y


# -- blocks carried between bodies -------------------------------------------------------


def carry(low: Lowering, E: Node, W: Slot, F: Node) -> Slot:
    """blockdiag(E W F*) of one-step operators: pushed to the parent."""
    (before, way, after), (left, other, right) = _parts(E), _parts(F)
    symmetric = E == F and W.shape.symmetric
    W = _between(low, after, W, right, symmetric)
    step = {("E_phi", "E_phi"): "carry" if symmetric else "carry_any"}.get((way, other))
    if step is None and way == other == "S":
        step = "turn_carry_any"
    if step is None:
        raise LoweringError(
            f"cannot carry a block by `{E}` on one side and `{F}` on the other; "
            "pp.as_matrix evaluates it densely"
        )
    shape = Shape(BODY, BODY, symmetric)
    W = low.emit(step, (transform(low), W), shape, effect=Effect.PUSH)
    return _between(low, before, W, left, symmetric)


def _carry_back(low: Lowering, E: Node, W: Slot, F: Node) -> Slot:
    """blockdiag(E* W F) of one-step operators: pulled from the parent."""
    (before, way, after), (left, other, right) = _parts(E), _parts(F)
    if (way, other) != ("E_phi", "E_phi") or before or left:
        raise LoweringError(
            f"cannot carry a block outward by `{E}` and `{F}`; pp.as_matrix evaluates it densely"
        )
    symmetric = E == F and W.shape.symmetric
    step = "carry_back" if symmetric else "carry_back_any"
    shape = Shape(BODY, BODY, symmetric)
    W = low.emit(step, (transform(low), Read(W, At.PARENT)), shape)
    stars = [tuple(starred(x) for x in reversed(side)) for side in (after, right)]
    return _between(low, stars[0], W, stars[1], symmetric)


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


def pull_block(low: Lowering, W: Slot) -> Slot:
    """phi* W phi of the parent's W."""
    shape = Shape(BODY, BODY, W.shape.symmetric)
    step = "carry_back" if shape.symmetric else "carry_back_any"
    return low.emit(step, (transform(low), Read(W, At.PARENT)), shape)


def _parts(E: Node) -> tuple[tuple[Node, ...], str, tuple[Node, ...]]:
    """A one-step operator A @ E_phi @ B as what is before, the step, and what is after."""
    number, factors = number_and_factors(E)
    place = next((i for i, x in enumerate(factors) if x in STEPS), None)
    if isinstance(E, Sum) or place is None:
        raise LoweringError(f"`{E}` moves by more than one kind of step; pp.as_matrix is dense")
    before, after = factors[:place], factors[place + 1 :]
    step = factors[place]
    assert isinstance(step, Symbol)
    if number != 1:
        after = (scale(number, after[0] if after else Identity(BODY)), *after[1:])
    return before, step.name, after
