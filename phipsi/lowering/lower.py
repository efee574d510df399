"""Expressions applied to vectors become statements on bodies.

`Lowering` turns a settled vector expression into slots, one statement per
block operation. What an operator does to a vector depends on its causality:

    memoryless    y(k) = A(k) x(k)
    E_phi         y(p) += phi(p,k) x(k), pushed to the parent
    E_phi*        y(k) = phi*(p,k) x(p), pulled from the parent
    (I - N)^-1    z = x + N z: a recursion, whose own slot z appears on both sides

Sums are factored from the left before they become statements, so that
`psi @ x + psi @ y` is one sweep, `w - G @ H @ w + G @ T` is `w + G @ (T - H @ w)`,
and FD4 typed as in the papers costs what FD4 written by hand costs. Equal
statements are made once: several expressions share what they share.
What a letter does stands in its record, what bodies have of themselves is in `recursions`,
operators as matrices are in `matrices`.

In which loop a statement runs is not decided here but in `schedule`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import reduce
from typing import Any

from phipsi.algebra.alphabet import FORCE, MOTION, PAPERS, Steps
from phipsi.algebra.node import (
    Bracket,
    Diagonal,
    Identity,
    Inverse,
    Node,
    Product,
    Root,
    Scaled,
    Sum,
    Symbol,
    Transpose,
    add,
    compose,
    scale,
)
from phipsi.algebra.own import MachineLetter
from phipsi.algebra.rewriting.normal import joined, number_and_factors
from phipsi.algebra.spaces import (
    BASE,
    BODY,
    COORDINATES,
    JOINT,
    POINTS,
    POSE,
    SCALAR,
    Causality,
    Space,
    is_dense,
)
from phipsi.algebra.stars import starred
from phipsi.algebra.walk import walk
from phipsi.errors import LoweringError
from phipsi.lowering.factor import factor_left, split_strict
from phipsi.lowering.program import (
    BODIES,
    WORLD,
    Domain,
    Effect,
    Guard,
    Shape,
    Slot,
    home_of,
)
from phipsi.lowering.settle import settle
from phipsi.lowering.structure import (
    UNIT_BLOCK,
    UNIT_ENTRY,
    UNIT_VECTOR,
    balanced,
    has_cancelled,
    is_memoryless,
    is_pointwise,
    is_positive,
    is_small,
    is_symmetric,
    load_points,
)
from phipsi.lowering.writer import NUMBER, Writer, block_shape

VECTOR_OF = {space: Shape(space) for space in (BODY, JOINT, POINTS, BASE, COORDINATES, POSE)}
SQUARE = Shape(BODY, BODY, symmetric=True)
SPATIAL = 6  # numbers of a body vector
LONG = 20  # factors of a product that are lowered at once


class TooManyTermsError(Exception):
    """Sums that are multiplied out from the left have no end: see `factor_left`."""


class Lowering(Writer, ABC):
    """The statements of some expressions.

    Args:
        plain: whether the machine has no mimic joints: coordinates are then
            joint space, and S_q costs nothing.
        kinds: of the free letters, what their body vectors are; see `covariance`.
        typed: of settled expressions, how the user typed them; for messages.
        covariant: whether the origins of frames may move.
        guard: what pivots are held against.
        most_opened: terms of all sums together that are multiplied out from the left; None
            where every factor is applied as it stands.
    """

    def __init__(
        self,
        plain: bool = True,
        kinds: Mapping[Symbol, tuple[str, str]] | None = None,
        typed: Mapping[Node, Node] | None = None,
        covariant: bool = False,
        guard: Guard = Guard.NUMBERS,
        most_opened: int | None = None,
    ):
        super().__init__()
        self.covariant, self.guard = covariant, guard
        self.plain, self.kinds, self.typed = plain, kinds or {}, typed or {}
        self.most_opened, self._opened = most_opened, 0
        self._vectors: dict[Node, Slot] = {}
        self._blocks: dict[Node, Slot] = {}

    @abstractmethod
    def diagonal(self, operator: Node) -> Slot:
        """blockdiag(A) as a block of each body."""

    @abstractmethod
    def magnitude(self, node: Node) -> Slot:
        """How large the entries of a block may have been before they cancelled."""

    @abstractmethod
    def assemble(self, operator: Node) -> Slot:
        """A matrix of a small space, as one block for the whole machine."""

    def settle(self, node: Node) -> Node:
        """An expression as `vector` and `block` take it."""
        return settle(node, self.plain)

    # -- vectors -----------------------------------------------------------------------

    def vector(self, node: Node) -> Slot:
        """The slot of a settled vector expression.

        The steps of a letter may pass what is not settled yet in front of what is.
        """
        if node not in self._vectors:
            ready = self._ready(node.factors[0])
            if ready is not None:
                rest = node.factors[1:]
                return self.vector(reduce(compose, (*ready.factors, *rest)))
            slot = self._vectors[node] = self._vector(node)
            self.note_origin(slot, node)
            typed = self._as_typed(node)
            if isinstance(typed, Symbol) and not typed.free:
                self.note_letter(slot, typed)
        return self.resolve(self._vectors[node])

    def _ready(self, head: Node) -> Node | None:
        """What a factor is when it is settled; None where it is."""
        letter = head.children[0] if isinstance(head, Transpose) else head
        match letter:
            case Symbol():
                own = letter.definition is None or (letter.record.kept and not letter.arguments)
                is_ready = own and letter.record.swept is None
            case Inverse():
                two_sided = letter.causality is Causality.MIXED and not is_small(letter.target)
                is_ready = letter is head and not two_sided
            case _:
                is_ready = letter is head or isinstance(letter, Root)
        return None if is_ready else settle(head, self.plain)

    def _vector(self, node: Node) -> Slot:
        match node:
            case Symbol():
                return self._vector_letter(node)
            case Scaled():
                x = self.vector(node.children[-1])
                if isinstance(node.factor, Node):
                    return self.emit("scale_by", (self.scalar(node.factor), x), x.shape)
                return self.emit("scale", (x,), x.shape, (float(node.factor),))
            case Sum():
                return self._sum(node.children)
            case Product():
                factors = node.factors
                for i in range(len(factors) - LONG, 1, -LONG):  # a long one, in pieces from behind
                    if _rest(factors, i).is_vector:
                        self.vector(_rest(factors, i))
                return self._apply(factors[0], _rest(factors, 1))
        raise AssertionError(f"no vector: {type(node).__name__}")

    def _sum(self, terms: Sequence[Node]) -> Slot:
        """Terms factored from the left, then added one by one."""
        walks = any(self._domain_of(term).kind == "column" for term in terms)
        self._opened += len(terms)
        if self.most_opened is not None and self._opened > self.most_opened:
            raise TooManyTermsError
        factored = factor_left(terms, walks, self.most_opened is not None)
        if len(factored) == 1:
            number, factors = factored[0]
            return self.vector(joined(number, factors))
        nodes = [joined(1, x) for _, x in factored]
        parts = [(number, self.vector(x)) for (number, _), x in zip(factored, nodes, strict=True)]
        return self.add_up(self._newton_euler(parts, nodes))

    def _newton_euler(
        self, parts: list[tuple[float, Slot]], nodes: Sequence[Node]
    ) -> list[tuple[float, Slot]]:
        """M A and b side by side as one force: they share the moment of the mass centre."""
        made = {}
        for (number, slot), node in zip(parts, nodes, strict=True):
            maker = self.maker(slot)
            if maker is not None:
                made[number, maker.step] = slot, maker.arguments, node
        for number in (1, -1):
            momentum, bias = (made.get((number, step)) for step in ("momentum", "gyroscopic"))
            if momentum is not None and bias is not None:
                reads = momentum[1] + bias[1]
                force = self.emit("newton_euler", reads, momentum[0].shape, name="f")
                self.note_origin(force, momentum[2] + bias[2])
                gone = (number, momentum[0]), (number, bias[0])
                return [(number, force), *(x for x in parts if x not in gone)]
        return parts

    def _vector_letter(self, node: Symbol) -> Slot:
        if node.free:
            return self._given(node)
        if isinstance(node, MachineLetter):
            step = "own_vector_of_q" if node.varies else "own_vector"
            options = (node, self._kinds(node)[0])
            return self.emit(step, (), Shape(node.target), options, name=node.name)
        return _made(node, "vector", self, node)

    def _given(self, node: Symbol) -> Slot:
        space = node.target
        held, options = self._held_as(space), (node, self._kinds(node)[0])
        where = home_of(held)
        return self.emit("given", (), Shape(held), options, domain=where, name=node.name)

    def _kinds(self, letter: Symbol) -> tuple[str, str]:
        """What the body vectors of a user's letter are.

        One that only the steps of another letter mention has no wires in the expression.
        """
        known, told = self.kinds.get(letter), letter.record.carries
        if known is not None:
            return known
        if told is not None:
            return told[0] or FORCE, told[1] or FORCE
        if letter.source is letter.target is BODY and letter.record.symmetric:
            return FORCE, MOTION
        if self.covariant and BODY in (letter.source, letter.target):
            raise LoweringError(
                f"cannot lower {letter}, which the steps of another letter mention: its record "
                "does not tell `carries=`, whether its body vectors are forces or motions"
            )
        return FORCE, FORCE

    def _held_as(self, space: Space) -> Space:
        """Where vectors of a space are kept: coordinates with the joints, if none follows."""
        return JOINT if space is COORDINATES and self.plain else space

    def scalar(self, node: Node) -> Slot:
        """The slot of a scalar expression: one number for the whole machine."""
        if node not in self._vectors:
            slot = self._vectors[node] = self._scalar(node)
            self.note_origin(slot, node)
        return self._vectors[node]

    def _scalar(self, node: Node) -> Slot:
        match node:
            case Symbol() if node.free:
                return self.emit("given", (), NUMBER, (node, ""), domain=WORLD, name=node.name)
            case Symbol():
                return self._vector_letter(node)
            case Identity():
                return self.emit("one", (), NUMBER, domain=WORLD)
            case Sum():
                slots = [self.scalar(x) for x in node.children]
                return reduce(lambda x, y: self.emit("add", (x, y), NUMBER), slots)
            case Scaled():
                x = self.scalar(node.children[-1])
                if isinstance(node.factor, Node):
                    return self.emit("scale_by", (self.scalar(node.factor), x), NUMBER)
                return self.emit("scale", (x,), NUMBER, (float(node.factor),))
            case Inverse():
                operand = node.children[0]
                options = (self._as_typed(operand),)
                return self.emit("reciprocal", (self.scalar(operand),), NUMBER, options)
            case Root():
                operand = node.children[0]
                options = (self._as_typed(operand),)
                return self.emit("root", (self.scalar(operand),), NUMBER, options)
            case Diagonal():
                return self.scalar(node.children[0])
            case Product():
                return self._scalar_product(node)
        raise AssertionError(f"no scalar: {type(node).__name__}")

    def _scalar_product(self, node: Product) -> Slot:
        """x* (A y): one dot product over all bodies; or scalars times scalars."""
        factors = node.factors
        if factors[0].is_scalar:
            rest = self.scalar(reduce(compose, factors[1:]))
            return self.emit("scale_by", (self.scalar(factors[0]), rest), NUMBER)
        cut = next((i for i, x in enumerate(factors) if i and x.source is SCALAR), None)
        assert cut is not None
        inner = balanced(factors[:cut])
        x = self.vector(starred(reduce(compose, factors[:inner])))
        y = self.vector(reduce(compose, factors[inner : cut + 1]))
        if x.domain.kind == y.domain.kind == "world":
            value = self.emit("dot", (x, y), NUMBER)
        else:
            value = self.emit("dot", (x, y), NUMBER, effect=Effect.GATHER)
        if cut + 1 == len(factors):
            return value
        rest = self.scalar(reduce(compose, factors[cut + 1 :]))
        return self.emit("scale_by", (rest, value), NUMBER)

    # -- operators applied to vectors ----------------------------------------------------

    def _apply(self, head: Node, rest: Node) -> Slot:
        """head @ rest for a vector rest."""
        match head:
            case Sum():
                return self.vector(reduce(add, (term @ rest for term in head.children)))
            case Scaled():
                return self.vector(scale(head.factor, head.children[-1] @ rest))
            case Product():
                return self.vector(reduce(compose, (*head.factors, rest)))
            case Inverse():
                return self._apply_inverse(head, rest)
            case Bracket():
                x, z = self.vector(rest), self.vector(head.children[0])
                return self.emit(head.opened.step, (z, x), x.shape)
            case Diagonal() | Root():
                return self._apply_block(head, rest)
            case Symbol() if head.source is SCALAR:  # x @ (a scalar)
                x = self.vector(head)
                return self.emit("scale_by", (self.scalar(rest), x), x.shape)
            case Transpose() if isinstance(head.children[0], Symbol):
                letter, star = head.children[0], True
            case Transpose() if isinstance(head.children[0], Root):
                return self._apply_block(head, rest)
            case Symbol():
                letter, star = head, False
            case _ if is_memoryless(head):
                return self._apply_block(head, rest)
            case _:
                raise AssertionError(f"no step for {head}")
        if letter.free and is_dense(letter.source, letter.target):
            return self._apply_dense(letter, star, rest)
        if letter.record.steps.applied is None and letter.causality is Causality.MEMORYLESS:
            return self._apply_block(head, rest)
        slot = _made(letter, "applied", self, letter, star, rest)
        if letter.record.alphabet is not PAPERS:
            self.note_applied(slot, letter, star, self.vector(rest))
        return slot

    def _apply_block(self, head: Node, rest: Node) -> Slot:
        """y(k) = A(k) x(k) with the block A(k) itself."""
        x = self.vector(rest)
        assert head.target is not None
        is_star = isinstance(head, Transpose)
        A = self.block(head.children[0] if is_star else head)
        step = "apply_transposed" if is_star else "apply"
        shape = Shape(head.target)
        if A.domain.kind != "world":
            return self.emit(step, (A, x), shape)
        return self._spread(self.emit(step, (A, self._whole(x)), shape), x)

    def _apply_dense(self, letter: Symbol, star: bool, rest: Node) -> Slot:
        """A x of a matrix from or to a space of the user's: what each body or point adds to it."""
        A = self.block(letter)
        start, end = (letter.target, letter.source) if star else (letter.source, letter.target)
        shape = Shape(self._held_as(end))
        if isinstance(rest, Symbol) and rest.record is UNIT_VECTOR.record:
            (i,) = rest.arguments
            return self.emit("row" if star else "column", (A,), shape, (i,))
        x = self.vector(rest)
        step = "apply_transposed" if star else "apply"
        gathers = end.is_own and home_of(self._held_as(start)).kind != "world"
        return self.emit(step, (A, x), shape, effect=Effect.GATHER if gathers else Effect.SET)

    def _apply_inverse(self, head: Inverse, rest: Node) -> Slot:
        """A^-1 x: by small blocks, by a recursion, or by a dense matrix of a small space."""
        operand = head.children[0]
        if isinstance(operand, Symbol) and operand.record.steps.solve is not None:
            return _made(operand, "solve", self, operand, rest)
        if is_memoryless(operand) or operand.target is POSE:
            return self._apply_block(head, rest)
        if is_small(head.target):
            if self._domain_of(rest).kind == "column":
                if is_pointwise(operand):
                    return self._apply_block(head, rest)
                raise LoweringError(
                    f"cannot make a matrix of what `{head}` is multiplied with: it is a dense "
                    "matrix of all its space; apply it to vectors, or use pp.as_matrix"
                )
            A, x = self.assemble(operand), self.vector(rest)
            assert head.target is not None
            options = (is_positive(operand), self._as_typed(operand))
            shape = Shape(head.target)
            return self._spread(self.emit("dense_solve", (A, self._whole(x)), shape, options), x)
        own, strict = split_strict(operand, self._as_typed(operand))
        return self.recur(head @ rest, rest, strict, own)

    def _whole(self, x: Slot) -> Slot:
        """A vector of a small space as one block for the whole machine."""
        if x.domain.kind == "world":
            return x
        space = COORDINATES if x.shape.rows is JOINT else x.shape.rows  # of plain machines
        options = (space, "force")
        return self.emit("gather", (x,), Shape(space), options, effect=Effect.GATHER)

    def _spread(self, whole: Slot, like: Slot) -> Slot:
        """A vector of the whole machine where another one lives."""
        if like.domain.kind == "world":
            return whole
        return self.emit("spread", (whole,), like.shape, domain=like.domain)

    def recur(
        self, solution: Node, rest: Node, strict: Sequence[Node], own: Node | None = None
    ) -> Slot:
        """z with `own z + strict z = rest`; own is the identity if there is none.

        The symbol of z may be used before its slot is known. `solution` is what z is.
        """
        assert rest.target is not None
        self._slots += 1
        z = Symbol(f"z{self._slots}", SCALAR, rest.target)
        slot = self.new_slot("z", VECTOR_OF[rest.target], self._domain_of(rest))
        self._vectors[z], self._solutions[z] = slot, solution
        inside = reduce(add, (rest, *(-(term @ z) for term in strict)))
        if own is not None and not isinstance(own, Identity):
            inside = Inverse(own) @ inside
        self._alias[slot] = self.vector(inside)
        self.note_origin(slot, solution, first=True)
        return self.resolve(slot)

    def _domain_of(self, node: Node) -> Domain:
        """Columns where a column's unit appears; else bodies."""
        symbols = [x for x in walk(node) if isinstance(x, Symbol)]
        domains = [self._vectors[x].domain for x in symbols if x in self._vectors]
        units = [x for x in symbols if x.record is UNIT_BLOCK.record]
        domains += [Domain("column", x.arguments[0]) for x in units]
        walking = [x for x in domains if x.kind == "column"]
        return reduce(self._meet, walking, BODIES)

    # -- blocks ------------------------------------------------------------------------

    def block(self, node: Node) -> Slot:
        """The slot of a memoryless operator: one block per body."""
        if node not in self._blocks:
            ready = self._ready(node)
            if ready is not None:
                return self.block(ready)
            slot = self._blocks[node] = self._block(node)
            self.note_origin(slot, node)
        return self.resolve(self._blocks[node])

    def _block(self, node: Node) -> Slot:
        shape = block_shape(node)
        match node:
            case Identity():
                return self.emit("identity", (), shape, (node.source,), domain=home_of(node.source))
            case Sum():
                total: Slot | None = None
                for term in node.children:
                    number, factors = number_and_factors(term)
                    x = self.block(joined(1, factors))
                    if number not in (1, -1) or (total is None and number != 1):
                        x = self.emit("scale_block", (x,), block_shape(term), (float(number),))
                        number = 1
                    if total is not None:
                        step = "add_blocks" if number == 1 else "subtract_blocks"
                        x = self.emit(step, (total, x), shape, (shape.symmetric,))
                    total = x
                assert total is not None
                return total
            case Scaled():
                x = self.block(node.children[-1])
                if isinstance(node.factor, Node):
                    return self.emit("scale_block_by", (self.scalar(node.factor), x), shape)
                return self.emit("scale_block", (x,), shape, (float(node.factor),))
            case Product():
                return self._block_product(node)
            case Transpose():
                return self.emit("transpose", (self.block(node.children[0]),), shape)
            case Inverse():
                return self._block_inverse(node.children[0], shape)
            case Root():
                operand = node.children[0]
                return self.emit(
                    "cholesky", (self.block(operand),), shape, (self._as_typed(operand),)
                )
            case Bracket():
                z = self.vector(node.children[0])
                return self.emit(f"{node.opened.step}_matrix", (z,), shape)
            case Diagonal():
                return self.diagonal(node.children[0])
            case Symbol() if node.free:
                return self._given_block(node)
            case MachineLetter():
                step = "own_block_of_q" if node.varies else "own_block"
                options = (node, *self._kinds(node))
                return self.emit(step, (), shape, options, name=node.name)
            case Symbol():
                return self._block_letter(node)
        raise AssertionError(f"no block for {type(node).__name__}")

    def _block_letter(self, letter: Symbol) -> Slot:
        """The block that a letter tells; of bodies also that of its columns A e_j."""
        steps = letter.record.steps
        is_applied = steps.applied is not None and is_memoryless(letter)
        if steps.block is not None or not is_applied or letter.source is not BODY:
            return _made(letter, "block", self, letter)
        columns = [self.vector(letter @ UNIT_ENTRY(j)) for j in range(SPATIAL)]
        return self.emit("stacked", columns, block_shape(letter))

    def _given_block(self, letter: Symbol) -> Slot:
        """A free operator: its block at a body, joint or point, or all of it."""
        shape, home = block_shape(letter), home_of(letter.source)
        if is_dense(letter.source, letter.target):
            target, source = map(self._held_as, (letter.target, letter.source))
            shape, home = Shape(target, source), home_of(source if target.is_own else target)
        options = (letter, *self._kinds(letter))
        return self.emit("given_block", (), shape, options, domain=home, name=letter.name)

    def _block_inverse(self, operand: Node, shape: Shape) -> Slot:
        """A^-1, of a small block, or of a dense matrix of a small space."""
        if is_small(operand.target) and not is_pointwise(operand):
            options = (is_positive(operand), self._as_typed(operand))
            return self.emit("dense_inverse", (self.assemble(operand),), shape, options)
        if isinstance(operand, Symbol) and operand.record.steps.inverse is not None:
            return _made(operand, "inverse", self, operand)
        if self.guard is not Guard.NOTHING and has_cancelled(operand):
            reads = self.block(operand), self.magnitude(operand)
            options = (is_positive(operand), self._as_typed(operand))
            return self.emit("inverse_beside", reads, shape, options)
        step = "symmetric_inverse" if is_positive(operand) else "general_inverse"
        return self.emit(step, (self.block(operand),), shape, (self._as_typed(operand),))

    def _as_typed(self, node: Node) -> Node:
        """An expression as the user knows it."""
        return self.typed.get(node, node)

    def _block_product(self, node: Product) -> Slot:
        """A B ...; what reads alike from both sides is computed once per pair of entries."""
        factors, shape = load_points(node.factors), block_shape(node)
        middle = len(factors) // 2
        if shape.symmetric and len(factors) > 1:
            left = joined(1, factors[:middle]) if middle else None
            if len(factors) % 2 and left is not None and is_symmetric(factors[middle]):
                W = self.block(factors[middle])
                if isinstance(left, Transpose):  # A* W A, A as it is held
                    A = self.block(left.children[0])
                    return self.emit("congruence_transposed", (A, W), shape)
                return self.emit("congruence", (self.block(left), W), shape)
        if len(factors) == 1:
            return self.block(factors[0])
        first, second = self.block(factors[0]), self.block(joined(1, factors[1:]))
        return self.emit("compose", (first, second), shape)


# -- parts of products, steps of letters --------------------------------------------------


def _rest(factors: Sequence[Node], start: int) -> Node:
    """The product of the last factors."""
    return Product(*factors[start:]) if start < len(factors) - 1 else factors[-1]


def _made(letter: Symbol, fact: str, *arguments: Any) -> Slot:
    """What the steps of a letter make; LoweringError where its record does not tell them."""
    make = getattr(letter.record.steps, fact)
    if make is None:
        told = [x.name for x in fields(Steps) if callable(getattr(letter.record.steps, x.name))]
        wanted = f"`{fact}=`"
        if fact == "block" and letter.source is BODY and "applied" not in told:
            wanted = "`block=` or `applied=`"  # columns A e_j make the block
        raise LoweringError(
            f"cannot lower {letter}: its record does not tell {wanted}, which this expression "
            f"needs; it tells {', '.join(f'`{x}=`' for x in told) or 'no step'}. "
            "pp.as_matrix evaluates what tells `dense=`"
        )
    made = make(*arguments)
    if not isinstance(made, Slot):
        raise LoweringError(
            f"cannot lower {letter}: its `{fact}=` returned {made!r}; expected a slot, as "
            "low.vector(...), low.block(...) or low.emit(...) returns"
        )
    return made
