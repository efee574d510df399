"""Quantities of the bodies that are recursions themselves, and what every body has.

R     tip_to_base   composite inertia, R = W + blockdiag(E R F*)
P     tip_to_base   articulated inertia, by the Riccati equation; D, G, tau_bar with it
Y     base_to_tip   Upsilon, Y = W + blockdiag(E* Y F)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from phipsi.algebra import operators as op
from phipsi.algebra.families import MASS, Family, family_of
from phipsi.algebra.node import (
    Identity,
    Node,
    Product,
    Scaled,
    Sum,
    Symbol,
    Transpose,
    scale,
)
from phipsi.algebra.rewriting.normal import joined, number_and_factors
from phipsi.algebra.spaces import BODY, JOINT
from phipsi.algebra.stars import starred
from phipsi.lowering.lower import SPATIAL, SQUARE, Lowering
from phipsi.lowering.origins import upsilon_of
from phipsi.lowering.program import FRAME, At, Guard, Read, Shape, Slot
from phipsi.lowering.settle import settle
from phipsi.lowering.structure import (
    AXIS,
    UNIT_ENTRY,
    composite_of,
    is_memoryless,
    is_one_step,
    is_positive,
    is_symmetric,
)
from phipsi.lowering.writer import block_shape

RIGID = Shape(10)  # mass, first moment, rotational inertia
INBOARD = Shape("inboard", BODY)  # from a body to its parent


class RecursionLowering(Lowering):
    """Lowering that knows what every body has, and quantities that are recursions themselves.

    Pivots are held against what P was made of, which takes as long as P itself. Those of the
    mass operator are held against P and numbers of the machine first, which costs nothing; what is
    in doubt then is run again by a program that holds them against all of it, too: see `Guard`.
    """

    # -- what every body has -----------------------------------------------------------

    def coordinates(self) -> Slot:
        """q(k)."""
        return self.emit("coordinates", (), Shape("q"), name="q")

    def transform(self) -> Slot:
        """The numbers of phi(p(k),k) that depend on q."""
        return self.emit("transform", (self.coordinates(),), Shape("transform"), name="X")

    def joint_map(self) -> Slot:
        """H*(k)."""
        return self.emit("joint_map", (self.transform(),), Shape(BODY, JOINT), name="H*")

    def map_rate(self) -> Slot:
        """dH*/dt = sum_a Gamma_a beta_a."""
        reads = self.coordinates(), self.vector(op.beta)
        return self.emit("map_rate", reads, Shape(BODY, JOINT), name="dH*")

    def velocity(self) -> Slot:
        """V = phi* H* beta [001 (21)]."""
        V = self.vector(self.settle(op.V))
        self.note_letter(V, op.V)
        return V

    def pose(self) -> Slot:
        """Axes and origin of the private frame in the world, base_to_tip."""
        slot, is_new = self.promise(("pose",), "pose", FRAME)
        if is_new:
            made = self.emit("pose", (self.transform(), Read(slot, At.PARENT)), FRAME)
            slot = self.define(slot, made)
            self.note_origin(slot, op.pose, first=True)
        return slot

    def link_pose(self) -> Slot:
        """Axes and origin of the link frame in the world."""
        placed = self.emit("link_pose", (self.pose(),), FRAME)
        self.note_origin(placed, op.pose, first=True)
        return placed

    def axis(self, letter: Symbol) -> Node:
        """Of a letter of a joint i and its speed a: H*(i) e_a at body i, zero elsewhere."""
        return AXIS(*letter.arguments)

    # -- composite and articulated inertias, Upsilon -----------------------------------

    def family_of(self, letter: Symbol) -> Family:
        """The family that P, D, G or tau_bar belongs to."""
        return family_of(letter)

    def articulated(self, family: Family) -> Slot:
        """P = W + blockdiag(E tau_bar P E*), tip_to_base [001 (35)]."""
        P, is_new = self.promise(("articulated", family), "P", SQUARE)
        if is_new:
            carried = self.carry(family.E, self.relieved(family), family.E)
            made = self.emit(
                "add_blocks", (carried, self.block(family.W)), SQUARE, (True,), name="P"
            )
            P = self.define(P, made)
            self.note_origin(P, family.letter(op.P), first=True)
        return P

    def composite(self, E: Node, W: Node, F: Node) -> Slot:
        """R = W + blockdiag(E R F*), tip_to_base: a composite inertia [000 (5.44)]."""
        if (op.E_phi, op.M, op.E_phi) == (E, W, F):
            return self._composite_rigid()
        shape = Shape(BODY, BODY, E == F and is_symmetric(W))
        R, is_new = self.promise(("composite", E, W, F), "R", shape)
        if is_new:
            carried, options = self.carry(E, R, F), (shape.symmetric,)
            made = self.emit("add_blocks", (carried, self.block(W)), shape, options, name="R")
            R = self.define(R, made)
            self.note_origin(R, composite_of(E, W, F), first=True)
        return R

    def _composite_rigid(self) -> Slot:
        """R of rigid bodies locked together: a rigid body, so ten numbers instead of twenty-one."""
        R, is_new = self.promise(("composite rigid",), "R", RIGID)
        if is_new:
            carried = self.push("carry_rigid", (self.transform(), R), RIGID)
            R = self.define(
                R, self.emit("add", (carried, self.emit("rigid_body", (), RIGID)), RIGID)
            )
            self.note_origin(R, op.R, first=True)
        return self.emit("rigid_matrix", (R,), SQUARE, name="R")

    def upsilon(self, E: Node | None, W: Node, F: Node | None) -> Slot:
        """Y = W + blockdiag(E* Y F), base_to_tip [002 (A.3)]; W alone without E or F."""
        if E is None or F is None:
            return self.block(W)
        shape = Shape(BODY, BODY, E == F and is_symmetric(W))
        Y, is_new = self.promise(("upsilon", E, W, F), "Y", shape)
        if is_new:
            carried, options = self.carry_back(E, Y, F), (shape.symmetric,)
            made = self.emit("add_blocks", (carried, self.block(W)), shape, options, name="Y")
            Y = self.define(Y, made)
            self.note_origin(Y, upsilon_of(E, W, F), first=True)
        return Y

    # -- blocks carried between bodies -------------------------------------------------

    def carry(self, E: Node, W: Slot, F: Node) -> Slot:
        """blockdiag(E W F*) of one-step operators: pushed to the parent.

        A letter may know a quick way for W between itself and its star, as E_phi does; any other
        E and F are multiplied as blocks.
        """
        symmetric = E == F and W.shape.symmetric
        shape = Shape(BODY, BODY, symmetric)
        one, other = _parts(E), _parts(F)
        if one is not None and other is not None and one.step == other.step:
            quick = one.step.record.steps.carry
            if quick is not None:
                W = quick(self, self._between(one.after, W, other.after, symmetric))
                return self._between(one.before, W, other.before, symmetric)
        A = self.inboard(E)
        if symmetric:
            return self.push("carry_by", (A, W), shape)
        return self.push("carry_by_both", (A, W, self.inboard(F)), shape)

    def carry_back(self, E: Node, W: Slot, F: Node) -> Slot:
        """blockdiag(E* W F) of one-step operators: pulled from the parent."""
        symmetric = E == F and W.shape.symmetric
        shape = Shape(BODY, BODY, symmetric)
        one, other = _parts(E), _parts(F)
        if one is not None and other is not None and one.step == other.step:
            quick = one.step.record.steps.carry_back
            if quick is not None and not one.before and not other.before:
                stars = [tuple(starred(x) for x in reversed(y.after)) for y in (one, other)]
                return self._between(stars[0], quick(self, W), stars[1], symmetric)
        A, of_parent = self.inboard(E), Read(W, At.PARENT)
        if symmetric:
            return self.emit("carry_back_by", (A, of_parent), shape)
        return self.emit("carry_back_by_both", (A, of_parent, self.inboard(F)), shape)

    def inboard(self, E: Node) -> Slot:
        """The block of a one-step operator at (p(k), k): its rows are E* e_j, e_j at every body."""
        rows = [self.vector(settle(starred(E)) @ UNIT_ENTRY(j)) for j in range(SPATIAL)]
        return self.emit("inboard_block", rows, INBOARD, (E,))

    def _between(
        self, left: Sequence[Node], W: Slot, right: Sequence[Node], symmetric: bool
    ) -> Slot:
        """A W B* of memoryless products A and B."""
        shape = Shape(BODY, BODY, symmetric)
        if symmetric and left:
            A = joined(1, left)
            if isinstance(A, Transpose):
                arguments = (self.block(A.children[0]), W)
                return self.emit("congruence_transposed", arguments, shape)
            return self.emit("congruence", (self.block(A), W), shape)
        if left:
            W = self.emit("compose", (self.block(joined(1, left)), W), shape)
        if right:
            star = self.block(starred(joined(1, right)))
            W = self.emit("compose", (W, star), shape)
        return W

    # -- the free joint ----------------------------------------------------------------

    def hinge(self, family: Family) -> tuple[Slot, Slot]:
        """L* and N of a family, at every body."""
        L_star = self.joint_map() if family.L == op.H else self.block(starred(family.L))
        space = family.L.target
        assert space is not None
        shape = Shape(space, space, symmetric=True)
        if family.N is None:
            return L_star, self.emit("zeros", (), shape, (space, space))
        return L_star, self.block(family.N)

    def pivot(self, family: Family) -> Slot:
        """D = L P L* + N [002 (3.2)]."""
        P = self.articulated(family)
        L_star, N = self.hinge(family)
        shape = N.shape
        moved = self.emit("congruence_transposed", (L_star, P), shape)
        D = self.emit("add_blocks", (moved, N), shape, (True,), name="D")
        self.note_origin(D, family.letter(op.D), first=True)
        return D

    def bound(self, family: Family) -> Slot:
        """N = t(P) + blockdiag(E tau_bar N tau_bar* E*), tip_to_base: see `lowering.pivots`."""
        N, is_new = self.promise(("bound", family), "bound", SQUARE)
        if is_new:
            L_star, rotors = self.hinge(family)
            own = self.emit("bound_entries", (self.articulated(family),), SQUARE)
            reads = self.gain(family), L_star, rotors, N, own
            carried = self.carry(family.E, self.emit("pass_bound", reads, SQUARE), family.E)
            made = self.emit("add_blocks", (carried, own), SQUARE, (True,), name="bound")
            N = self.define(N, made)
        return N

    def magnitude(self, node: Node) -> Slot:
        """How large the entries of a block may have been before they cancelled.

        Of sums and products by their parts, of articulated letters by the bound of P.
        """
        shape = replace(block_shape(node), symmetric=False)
        match node:
            case Sum():
                parts = [self.magnitude(x) for x in node.children]
                return reduce(lambda x, y: self.emit("add_blocks", (x, y), shape, (False,)), parts)
            case Scaled() if not isinstance(node.factor, Node):
                part = self.magnitude(node.children[-1])
                return self.emit("scale_block", (part,), shape, (abs(float(node.factor)),))
            case Product() if all(map(is_memoryless, node.factors)):
                first, *others = node.factors
                rest = self.magnitude(joined(1, others))
                return self.emit("compose", (self.magnitude(first), rest), shape)
            case Transpose():
                return self.emit("transpose", (self.magnitude(node.children[0]),), shape)
            case Symbol() if node.record is op.P.record:
                return self.emit("bound_between", (self.bound(self.family_of(node)),), shape)
            case Symbol() if node.record.articulated:
                formula = self.family_of(node).formula(node)
                if formula is not None:
                    return self.magnitude(formula)
        return self.emit("magnitudes", (self.block(node),), shape)

    def pivot_factor(self, family: Family) -> Slot | None:
        """The LDL' factor of D, watched; None where D may have any sign: of a user's W and N.

        What is small in the mass operator is looked at again: see `RecursionLowering`.
        """
        if not all(is_positive(x) for x in (family.W, family.N) if x is not None):
            return None
        D, (L_star, _) = self.pivot(family), self.hinge(family)
        shape = replace(D.shape, symmetric=False)
        if self.guard is Guard.NOTHING or (family == MASS and self.guard is Guard.NUMBERS):
            reads = D, self.articulated(family), L_star
            return self.emit("pivot_factor", reads, shape, name="F")
        return self.emit("pivot_factor_beside", (D, self.bound(family), L_star), shape, name="F")

    def pivot_inverse(self, family: Family) -> Slot:
        """D^-1."""
        factor, D = self.pivot_factor(family), self.pivot(family)
        if factor is not None:
            return self.emit("pivot_inverse", (factor,), D.shape, name="D^-1")
        space = family.L.target
        assert space is not None
        letter = Symbol("D", space, space)  # for the message
        if self.guard is Guard.NOTHING:
            return self.emit("general_inverse", (D,), D.shape, (letter,), name="D^-1")
        reads = D, self.bound(family), self.hinge(family)[0]
        return self.emit("pivot_inverse_beside", reads, D.shape, (letter,), name="D^-1")

    def pivot_solve(self, family: Family, x: Slot) -> Slot:
        """D^-1 x."""
        factor = self.pivot_factor(family)
        if factor is None:
            return self.emit("apply", (self.pivot_inverse(family), x), x.shape)
        return self.emit("pivot_solve", (factor, x), x.shape)

    def gain(self, family: Family) -> Slot:
        """G = P L* D^-1 [002 (3.2)]."""
        P, factor = self.articulated(family), self.pivot_factor(family)
        L_star, N = self.hinge(family)
        shape = Shape(BODY, N.shape.rows)
        if factor is None:
            G = self.emit("gain_any", (P, L_star, self.pivot_inverse(family)), shape, name="G")
        else:
            G = self.emit("gain", (P, L_star, N, factor), shape, name="G")
        self.note_origin(G, family.letter(op.G), first=True)
        return G

    def relieved(self, family: Family) -> Slot:
        """tau_bar P: the inertia felt through the joint [001 (39)]."""
        P, factor = self.articulated(family), self.pivot_factor(family)
        L_star, N = self.hinge(family)
        G = self.gain(family)
        if factor is None:
            P_plus = self.emit("relieve_any", (P, L_star, G), SQUARE, name="P+")
        else:
            P_plus = self.emit("relieve", (P, L_star, N, factor, G), SQUARE, name="P+")
        self.note_origin(P_plus, family.letter(op.tau_bar) @ family.letter(op.P), first=True)
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
