"""Operators as matrices: every word becomes columns that walk inward, and meet.

    causal word       column j starts at body j and fills block (i, j) of each body
                      i that it passes: for k, for j on the path of k
    anticausal word   the star of a causal one
    both              l Phi* m Psi r: block (i, j) = x_i* Y(c) y_j where the columns
                      x = Phi l* and y = Psi r meet, c their nearest common
                      ancestor, with Y = m + blockdiag(E* Y F) [002 (A.5), corrected]
    l A^-1 r          with a dense A of a small space, as J* (J Mass^-1 J*)^-1 J: l and r
                      as matrices, multiplied; A is inverted once for all columns
    x @ y*            an outer product of two vectors
    l A r             through a space of the user's: so many outer products; from or to
                      one: so many vectors

Nothing is computed by running a whole sweep for each column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import takewhile
from typing import Any

from phipsi.algebra import operators as op
from phipsi.algebra.node import Identity, Inverse, Node, Symbol, Transpose, invert
from phipsi.algebra.rewriting.terms import Term, joined
from phipsi.algebra.spaces import BASE, BODY, COORDINATES, JOINT, POINTS, SCALAR, Space
from phipsi.algebra.stars import starred
from phipsi.errors import LoweringError
from phipsi.lowering.covariance import DUAL
from phipsi.lowering.factor import split_strict
from phipsi.lowering.program import BODIES, WORLD, Columns, Domain, Effect, Shape, Slot
from phipsi.lowering.recursions import RecursionLowering
from phipsi.lowering.sides import Side, points_of
from phipsi.lowering.structure import (
    UNIT_BLOCK,
    UNIT_VECTOR,
    find_cut,
    is_memoryless,
    is_own,
    is_pointwise,
    is_small_square,
    is_whole,
    step_of,
)
from phipsi.lowering.words import (
    is_anticausal,
    is_causal,
    is_propagator,
    is_step,
    product,
    shortened,
    words_of,
)


class MatrixLowering(RecursionLowering):
    """Lowering that can make matrices, too.

    Attributes:
        matrix: the number of the slot that is being filled, 0 for an output.
    """

    def __init__(self, *arguments: Any, **named: Any):
        super().__init__(*arguments, **named)
        self.matrix = 0
        self._assembled: dict[Node, Slot] = {}
        self._factors: dict[tuple[Node, Kinds], Slot | None] = {}

    def diagonal(self, operator: Node) -> Slot:
        return _diagonal(self, operator)

    def assemble(self, operator: Node) -> Slot:
        if operator in self._assembled:
            return self._assembled[operator]
        space, outside = operator.target, self.matrix
        assert space is not None
        if space.is_own:
            short = shortened(operator)
            lines = [self.vector(short @ unit_vector(space, j)) for j in each(space)]
            slot = self._assembled[operator] = self.emit("stacked", lines, Shape(space, space))
            self.note_origin(slot, self._as_typed(operator))
            return slot
        slot = self.new_slot("A", Shape(space, space), replace(WORLD, points=points_of(operator)))
        self._assembled[operator] = slot
        self.note_origin(slot, self._as_typed(operator))
        if not self._fill(slot, operator, FORCES):  # all its terms cancel
            outside, self.matrix = self.matrix, slot.number
            first = len(self.statements)
            nothing = Term(0, (), (Identity(space),))
            _emit_small(self, 0, nothing, False, points_of(operator))
            self._redirect(slot, first)
            self.matrix = outside
        return slot

    def factor(self, operator: Node, points: tuple | None, kinds: Kinds) -> Slot | None:
        """A factor of a product of matrices, as one block for the whole machine; None for zero.

        Args:
            operator: from or to a small space.
            points: of point space, where the operator does not tell.
            kinds: what its vectors are.
        """
        if is_whole(operator) and isinstance(operator, Inverse):
            return self.block(operator)
        key = operator, kinds
        if key not in self._factors:
            assert operator.target is not None
            lists = [points_of(operator, target) for target in (True, False)]
            here, across = (points if x is None else x for x in lists)
            shape = Shape(operator.target, operator.source)
            slot = self.new_slot("A", shape, Domain("world", points=here, across=across))
            self.note_origin(slot, operator)
            self._factors[key] = slot if self._fill(slot, operator, kinds) else None
        return self._factors[key]

    def _fill(self, slot: Slot, operator: Node, kinds: Kinds) -> bool:
        """Statements that fill a slot of the whole machine; whether there are any."""
        outside, self.matrix = self.matrix, slot.number
        first = len(self.statements)
        emit_matrix(self, 0, operator, kinds)
        self.matrix = outside
        return self._redirect(slot, first)

    def _redirect(self, slot: Slot, first: int) -> bool:
        """Of the statements from `first` on, have those of an output fill a slot."""
        found = False
        for i, statement in enumerate(self.statements[first:], first):
            if statement.effect is Effect.EMIT and statement.target in (None, slot):
                self.statements[i] = replace(statement, target=slot)
                found = True
        return found


def unit(columns: Columns) -> Symbol:
    """The vector that is the identity where each column starts, zero elsewhere."""
    what = UNIT_BLOCK.name, SCALAR, columns.space
    return Symbol(*what, arguments=(columns,), record=UNIT_BLOCK.record)


def each(space: Space) -> range:
    """The numbers of a space of the user's."""
    assert space.size is not None
    return range(space.size)


def unit_vector(space: Space, j: int) -> Symbol:
    """e_j of a space of the user's."""
    return Symbol(UNIT_VECTOR.name, SCALAR, space, arguments=(j,), record=UNIT_VECTOR.record)


Kinds = tuple[str, str]  # of the target and of the source, where they are body space
FORCES: Kinds = ("force", "force")


def emit_vector(low: MatrixLowering, number: int, node: Node, kinds: Kinds = FORCES) -> None:
    """A vector or scalar expression as output `number`."""
    slot = low.scalar(node) if node.is_scalar else low.vector(node)
    low.sink("emit", (slot,), (number, node.target, kinds[0]), slot.domain)


def emit_matrix(low: MatrixLowering, number: int, operator: Node, kinds: Kinds = FORCES) -> None:
    """An operator as output `number`; a covector as the vector whose star it is."""
    if operator.target is SCALAR:
        emit_vector(low, number, starred(operator), (DUAL[kinds[1]], DUAL[kinds[0]]))
        return
    if is_own(operator.source) or is_own(operator.target):
        _emit_lines(low, number, operator, kinds)
        return
    words = words_of(operator)
    taken = set()
    for w, word in enumerate(words):
        if w in taken:
            continue
        mirrored = False
        cut = _cut(word)
        if cut is not None:
            _emit_product(low, number, word, cut, kinds)
            continue
        if operator.is_square and word.star != word:
            partner = next((i for i, x in enumerate(words) if x == word.star and i > w), None)
            if partner is not None:
                taken.add(partner)
                mirrored = True
        word = word if word.factors else _unit_word(word, operator)
        if all(map(is_small_square, word.factors)):
            _emit_small(low, number, word, mirrored, points_of(operator))
        elif all(map(is_memoryless, word.factors)):
            _emit_diagonal(low, number, word, mirrored, kinds)
        else:
            _emit_word(low, number, word, mirrored, kinds)


def _unit_word(word: Term, operator: Node) -> Term:
    """The identity of a space, named."""
    assert operator.source is not None
    return Term(word.number, word.scalars, (Identity(operator.source),))


def _emit_lines(low: MatrixLowering, number: int, operator: Node, kinds: Kinds) -> None:
    """An operator from or to a space of the user's: each column, or row, as a vector."""
    is_star, kind = not is_own(operator.source), kinds[0]
    if is_star:
        operator, kind = starred(operator), DUAL[kinds[1]]
    space, target, operator = operator.source, operator.target, shortened(operator)
    assert space is not None
    for j in each(space):
        slot = low.vector(operator @ unit_vector(space, j))
        low.sink("emit_line", (slot,), (number, target, kind, j, is_star), slot.domain)


def _emit_word(low: MatrixLowering, number: int, word: Term, mirrored: bool, kinds: Kinds) -> None:
    """One word's share of an output."""
    if any(x.source is SCALAR or is_own(x.source) for x in word.factors):
        _emit_outer(low, number, word, mirrored, kinds)
        return
    inward = [is_causal(x) for x in word.factors]
    outward = [is_anticausal(x) for x in word.factors]
    if any(inward) and any(outward):
        _emit_pairs(low, number, word, mirrored, kinds)
    elif any(outward):
        dual = DUAL[kinds[1]], DUAL[kinds[0]]
        _emit_columns(low, number, word.star, mirrored, dual, is_star=True)
    else:
        _emit_columns(low, number, word, mirrored, kinds, is_star=False)


def _emit_diagonal(
    low: MatrixLowering, number: int, word: Term, mirrored: bool, kinds: Kinds
) -> None:
    """A memoryless word between bodies and joints: its blocks as they are."""
    operator = product(word.factors)
    slot = _scaled_block(low, word, low.block(operator))
    options = (number, mirrored, operator.target, operator.source, kinds)
    low.sink("emit_diagonal", (slot,), options, BODIES)


def _emit_small(
    low: MatrixLowering, number: int, word: Term, mirrored: bool, points: tuple | None
) -> None:
    """A word of point, coordinate or base space: block by block, or a small dense matrix."""
    alone = [is_pointwise(x) for x in word.factors]
    if any(alone) and not all(alone):
        slots = [low.assemble(x) if is_pointwise(x) else low.block(x) for x in word.factors]
        slot = reduce(lambda x, y: low.emit("compose", (x, y), x.shape), slots)
    else:
        slot = low.block(product(word.factors))
    slot = _scaled_block(low, word, slot)
    there = slot.domain
    if slot.domain.kind == "point" and points is not None:
        there = replace(slot.domain, points=points)
    low.sink("emit_block", (slot,), (number, mirrored), there)


def _emit_columns(
    low: MatrixLowering, number: int, word: Term, mirrored: bool, kinds: Kinds, is_star: bool
) -> None:
    """A causal word: block (i, j) at each body i that column j passes."""
    left, core, right = _sides(word, kinds)
    columns = Columns(_column_space(right), right.points, right.kind, low.matrix)
    slot = _column(low, (*core, *_cap(right)), columns)
    slot = _scaled(low, word, slot)
    arguments = [slot]
    if left.outer is not None:
        arguments.append(low.block(left.outer))
    if left.space is BASE:
        arguments.append(low.transform())
    options = (number, left, right, mirrored, is_star)
    low.sink("emit_column", arguments, options, Domain("column", columns))


def _column(low: MatrixLowering, atoms: Sequence[Node], columns: Columns) -> Slot:
    """A causal string of atoms applied to the unit of a column."""
    start = unit(columns)
    return low.vector(product(atoms) @ start if atoms else start)


def _emit_pairs(low: MatrixLowering, number: int, word: Term, mirrored: bool, kinds: Kinds) -> None:
    """An anticausal word behind a causal one: a block where two columns meet."""
    left, core, right = _sides(word, (DUAL[kinds[0]], kinds[1]))
    first = max(i for i, x in enumerate(core) if is_anticausal(x)) + 1
    last = min(i for i, x in enumerate(core) if is_causal(x))
    outer = tuple(starred(x) for x in reversed(core[:first]))
    x, E, rows = _walker(low, word, outer, left)
    y, F, columns = _walker(low, word, core[last:], right)
    middle = product(core[first:last])
    if not isinstance(middle, Identity):
        assert is_memoryless(middle)
    Y = low.upsilon(E, middle, F)
    symmetric = (x, rows, left) == (y, columns, right) and Y.shape.symmetric
    options = (number, left, right, rows, columns, mirrored, symmetric)
    low.sink("emit_pair", (x, _scaled_block(low, word, Y), y), options, Domain("pair", columns[0]))


def _walker(
    low: MatrixLowering, word: Term, core: Sequence[Node], side: Side
) -> tuple[Slot, Node | None, tuple[Columns, int]]:
    """The column (I - E)^-1 r of a causal string r of finitely many steps.

    Returns:
        Its slot, E (None where there is no recursion), the columns, and the
        number of steps in r: so many bodies inward the column becomes active,
        that is no longer zero by structure.
    """
    E = step_of(core[0])
    rest = core[1:] if E is not None else core
    if any(is_causal(x) and not is_step(x) for x in rest):
        raise LoweringError(
            f"cannot make a matrix of `{product(word.factors)}` in O(1) per block: two recursions "
            "follow each other on one side of the blocks' common ancestor; apply it to vectors, "
            "or use pp.as_matrix"
        )
    delay = sum(map(is_step, rest))
    columns = Columns(_column_space(side), side.points, side.kind, low.matrix)
    return _column(low, (*core, *_cap(side)), columns), E, (columns, delay)


def _cut(word: Term) -> int | None:
    """Which factors of a word are the left one of two matrices; None if it is one matrix.

    A matrix of a small space stands inside it, or a small space where neither columns
    begin nor rows end: B(here) B(there)*.
    """
    if any(x.source is SCALAR or is_own(x.source) for x in word.factors):
        return None
    if len(word.factors) == 1:
        return find_cut(word.factors[0].factors)
    if all(map(is_small_square, word.factors)):
        return None
    _, atoms = _take_side(tuple(starred(x) for x in reversed(word.factors)), BODY)
    before = len(atoms)
    _, atoms = _take_side(tuple(starred(x) for x in reversed(atoms)), BODY)
    for i, atom in enumerate(atoms, before - len(atoms)):
        for place, space in ((i, atom.target), (i + 1, atom.source)):
            if space not in (BODY, JOINT) and 0 < place < len(word.factors):
                return place
    return None


def _emit_product(low: MatrixLowering, number: int, word: Term, cut: int, kinds: Kinds) -> None:
    """A word cut in two at a small space: both sides as matrices, multiplied."""
    factors = word.factors[0].factors if len(word.factors) == 1 else word.factors
    left, right = product(factors[:cut]), product(factors[cut:])
    points = points_of(left, False)
    points = points_of(right) if points is None else points
    if is_whole(left):  # numbers go where they are multiplied with columns
        right = joined(word.number, (right,), word.scalars)
    else:
        left = joined(word.number, (left,), word.scalars)
    A = low.factor(left, points, (kinds[0], "force"))
    B = low.factor(right, points, ("force", kinds[1]))
    if A is not None and B is not None:
        low.sink("emit_product", (A, B), (number,), WORLD)


def _emit_outer(low: MatrixLowering, number: int, word: Term, mirrored: bool, kinds: Kinds) -> None:
    """x @ y*: both vectors of the whole machine, multiplied entry by entry."""
    for x, y in _outer_factors(word):
        slots = []
        for vector, kind in ((x, kinds[0]), (y, DUAL[kinds[1]])):
            slot = low.vector(vector)
            assert vector.target is not None
            options, shape = (vector.target, kind), Shape(vector.target)
            slots.append(low.emit("gather", (slot,), shape, options, Effect.GATHER))
        slots[0] = _scaled(low, word, slots[0])
        low.sink("emit_outer", slots, (number, mirrored), WORLD)


def _outer_factors(word: Term) -> list[tuple[Node, Node]]:
    """x and y of x @ y*; each pair of x @ y* + ..., one for each number of a space in between."""
    cut = next(i for i, x in enumerate(word.factors) if x.source is SCALAR or is_own(x.source)) + 1
    left, right = product(word.factors[:cut]), starred(product(word.factors[cut:]))
    space = left.source
    assert space is not None
    if not space.is_own:
        return [(left, right)]
    units = [unit_vector(space, j) for j in each(space)]
    return [(left @ unit, right @ unit) for unit in units]


def _scaled(low: MatrixLowering, word: Term, slot: Slot) -> Slot:
    """The slot times the word's number and scalars."""
    if word.number != 1:
        slot = low.emit("scale", (slot,), slot.shape, (float(word.number),))
    for scalar in word.scalars:
        slot = low.emit("scale_by", (low.scalar(scalar), slot), slot.shape)
    return slot


def _scaled_block(low: MatrixLowering, word: Term, block: Slot) -> Slot:
    """A block times the word's number and scalars."""
    if word.number != 1:
        block = low.emit("scale_block", (block,), block.shape, (float(word.number),))
    for scalar in word.scalars:
        block = low.emit("scale_block_by", (low.scalar(scalar), block), block.shape)
    return block


# -- the sides of a matrix ---------------------------------------------------------------


def _sides(word: Term, kinds: Kinds) -> tuple[Side, tuple[Node, ...], Side]:
    """What stands outermost on either side, and the rest, between bodies and joints."""
    first, last = word.factors[0].target, word.factors[-1].source
    assert first is not None and last is not None
    right, atoms = _take_side(tuple(reversed([starred(x) for x in word.factors])), last)
    left, atoms = _take_side(tuple(starred(x) for x in reversed(atoms)), first)
    for atom in atoms:
        inner = {atom.source, atom.target} - {BODY, JOINT}
        if inner:
            raise LoweringError(
                f"cannot make a matrix of `{product(word.factors)}`: `{atom}` stands inside it; "
                "apply it to vectors, or use pp.as_matrix"
            )
    left, right = (
        replace(side, kind=kind) if side.space is BODY else side
        for side, kind in zip((left, right), kinds, strict=True)
    )
    return left, atoms, right


def _take_side(atoms: tuple[Node, ...], space: Space) -> tuple[Side, tuple[Node, ...]]:
    """The left side of a product, which is of this space, and what is left of the product."""
    if not atoms:
        return Side(space), ()
    outer = tuple(takewhile(is_pointwise, atoms))
    rest = atoms[len(outer) :]
    if rest and isinstance(rest[0], Transpose) and _is_letter(rest[0], op.B):
        points = points_of(rest[0])
        if all(points_of(x) in (None, points) for x in outer):
            return Side(POINTS, points, product(outer) if outer else None), rest[1:]
        return Side(POINTS), atoms  # axes of other points: a matrix of its own
    if atoms[0] == op.S_q.T:
        return Side(COORDINATES), atoms[1:]
    if atoms[0] == op.E.T:
        return Side(BASE), atoms[1:]
    return Side(space), atoms[1:] if isinstance(atoms[0], Identity) else atoms


def _is_letter(node: Node, letter: Symbol) -> bool:
    """Whether a node is a letter, or its star, whatever its arguments."""
    node = node.children[0] if isinstance(node, Transpose) else node
    return isinstance(node, Symbol) and node.record is letter.record


def _column_space(side: Side) -> Space:
    """The space whose blocks start the columns of a side."""
    assert side.space is not BASE, "what starts at the base goes outward: its star is emitted"
    return JOINT if side.space is COORDINATES else side.space


def _cap(side: Side) -> tuple[Node, ...]:
    """The letters from a side into body space, as they act on a column's unit."""
    if side.points is None:
        return ()
    B = op.B(*side.points) if side.points else op.B
    return (B,) if side.outer is None else (B, *starred(side.outer).factors)


# -- the diagonal ------------------------------------------------------------------------


def _diagonal(low: MatrixLowering, operator: Node) -> Slot:
    """blockdiag(A) as a block of each body."""
    if operator.target in (COORDINATES, BASE) or is_own(operator.target):  # one block
        return low.assemble(operator)
    assert operator.target is not None
    if operator.target is POINTS:
        there, shape = Domain("point", points=points_of(operator)), Shape(POINTS, POINTS)
        return low.emit("spread_block", (low.assemble(operator),), shape, domain=there)
    shape = Shape(operator.target, operator.source)
    total: Slot | None = None
    for word in words_of(operator):
        block = _word_diagonal(low, word, operator.target)
        if block is None:
            continue
        block = _scaled_block(low, word, block)
        total = block if total is None else low.emit("add_blocks", (total, block), shape, (False,))
    if total is None:
        return low.emit("zeros", (), shape, (operator.target, operator.source))
    return total


def _word_diagonal(low: MatrixLowering, word: Term, space: Space) -> Slot | None:
    """The diagonal blocks of a word; None where they vanish."""
    atoms = word.factors
    if any(x.source is SCALAR or is_own(x.source) for x in atoms):
        pairs = [map(low.vector, pair) for pair in _outer_factors(word)]
        outer = [low.emit("outer", (x, y), Shape(x.shape.rows, y.shape.rows)) for x, y in pairs]
        return reduce(lambda x, y: low.emit("add_blocks", (x, y), x.shape, (False,)), outer)
    for atom in (x for word_atom in atoms for x in word_atom.factors):
        if not {atom.source, atom.target} <= {BODY, JOINT}:
            raise LoweringError(
                f"cannot take the blocks of `{product(atoms)}` in O(N): `{atom}` stands inside "
                "it; pp.as_matrix evaluates it densely"
            )
    inward, outward = any(map(is_causal, atoms)), any(map(is_anticausal, atoms))
    if not (inward and outward):  # triangular: the diagonal of a product is the product
        if any(is_step(x) or is_step(starred(x)) for x in atoms):
            return None
        return low.block(product([_own_part(x) for x in atoms], space))
    return _meeting_diagonal(low, word)


def _own_part(atom: Node) -> Node:
    """The diagonal blocks of a causal or anticausal atom without a step."""
    if is_memoryless(atom):
        return atom
    assert atom.source is not None
    if is_propagator(atom) or is_propagator(starred(atom)):
        return Identity(atom.source)
    if not isinstance(atom, Inverse):
        raise LoweringError(
            f"cannot take the diagonal blocks of a product with `{atom}`; pp.as_matrix "
            "evaluates it densely"
        )
    own, _ = split_strict(atom.children[0])
    return invert(own)


def _meeting_diagonal(low: MatrixLowering, word: Term) -> Slot | None:
    """Block (k, k) of l Phi* m Psi r: l* Y r at k, or Y of the parent carried out to k."""
    core = word.factors
    first = max(i for i, x in enumerate(core) if is_anticausal(x)) + 1
    last = min(i for i, x in enumerate(core) if is_causal(x))
    outer = tuple(starred(x) for x in reversed(core[:first]))
    sides = []
    for string in (outer, core[last:]):
        E = step_of(string[0])
        rest = string[1:] if E is not None else string
        if any(is_causal(x) and not is_step(x) for x in rest) or sum(map(is_step, rest)) > 1:
            raise LoweringError(
                f"cannot take the blocks of `{product(core)}` in O(N); pp.as_matrix is dense"
            )
        sides.append((E, rest))
    delays = [sum(map(is_step, rest)) for _, rest in sides]
    Y = low.upsilon(sides[0][0], product(core[first:last]), sides[1][0])
    strings = []
    for (E, rest), delay in zip(sides, delays, strict=True):
        if delay < max(delays):
            if E is None:
                return None
            rest = (*E.factors, *rest)
        strings.append(rest)
    if max(delays) == 1:
        return _pulled(low, Y, strings)
    left, right = (product(x) for x in strings)
    return _bordered(low, starred(left), Y, right)


def _pulled(low: MatrixLowering, Y: Slot, strings: Sequence[Sequence[Node]]) -> Slot:
    """l* Y(p) r for l and r with one step each."""
    before, steps, after = [], [], []
    for string in strings:
        place = next(i for i, x in enumerate(string) if is_step(x))
        before.append(product(string[:place]))
        steps.append(string[place])
        after.append(product(string[place + 1 :]))
    Y = _bordered(low, starred(before[0]), Y, before[1])
    Y = low.carry_back(steps[0], Y, steps[1])
    return _bordered(low, starred(after[0]), Y, after[1])


def _bordered(low: MatrixLowering, left: Node, Y: Slot, right: Node) -> Slot:
    """left Y right of blocks."""
    if not isinstance(left, Identity):
        assert left.target is not None
        shape = Shape(left.target, Y.shape.columns)
        Y = low.emit("compose", (low.block(left), Y), shape)
    if not isinstance(right, Identity):
        shape = Shape(Y.shape.rows, right.source)
        Y = low.emit("compose", (Y, low.block(right)), shape)
    return Y
