"""Quantities of a program as expressions of the algebra, in letters and in each other's names.

Nothing is solved here. A recursion's expression is what its slot keeps, z = psi K (T - H f); that
of any other quantity is the formula of its step, of what the quantities in it are called. Columns
have the operators whose columns they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from phipsi.algebra import operators as op
from phipsi.algebra.alphabet import PAPERS
from phipsi.algebra.families import Family
from phipsi.algebra.node import (
    Diagonal,
    Identity,
    Inverse,
    Node,
    Product,
    Scaled,
    Sum,
    Symbol,
    Transpose,
    add,
    compose,
)
from phipsi.algebra.rewriting.normal import joined
from phipsi.algebra.spaces import BODY, Causality
from phipsi.algebra.stars import starred
from phipsi.algebra.walk import walk
from phipsi.lowering.factor import factor_left
from phipsi.lowering.origins import NoOriginError, expression_of
from phipsi.lowering.program import Effect, Slot
from phipsi.lowering.structure import step_of

if TYPE_CHECKING:
    from phipsi.explain.levels.notation import Notation, Quantity


def express_parts(notation: Notation) -> dict[str, Node]:
    """Of the quantities, by name, their expressions; those without one are left out."""
    found: dict[str, Node] = {}
    for quantity in notation.quantities:
        expression = _express(notation, quantity)
        if expression is not None:
            found[quantity.name] = _fold_letters(expression)
    return found


def _express(notation: Notation, quantity: Quantity) -> Node | None:
    slot, origin = quantity.slot, notation.program.origins.get(quantity.slot)
    if slot in notation.letters:
        return notation.letters[slot]
    kept = None if origin is None else origin.expression
    if quantity.statement.effect is Effect.EMIT:
        return kept
    line = _by_step(notation, slot)
    solves = kept is not None and notation.uses.is_recursive(slot) and is_solution(kept)
    if line is not None and not solves and notation.node_of(slot) not in set(walk(line)):
        return line
    if kept is None:
        return None
    driven = None if line is None else _driven(kept.factors[0], line, notation.node_of(slot))
    return _Folding(_names(notation, slot, kept)).fold(kept) if driven is None else driven


def _driven(propagator: Node, line: Node, z: Node) -> Node | None:
    """(I - N)^-1 r of a line z = N z + r that reads so; None for other lines."""
    if not is_propagator(propagator):
        return None
    inward, outward = step_of(propagator), step_of(starred(propagator))
    N = inward if inward is not None else None if outward is None else starred(outward)
    rest = [x for x in line.terms if N is None or x != N @ z]
    if not rest or len(rest) != len(line.terms) - 1 or any(z in set(walk(x)) for x in rest):
        return None
    return propagator @ reduce(add, rest)


def is_solution(expression: Node) -> bool:
    """Whether an expression is what a recursion solves: led by a propagator, or a block of one."""
    inner = expression.children[0] if isinstance(expression, Diagonal) else expression
    return is_propagator(inner.factors[0])


def is_propagator(factor: Node) -> bool:
    """Whether a factor is phi, psi, a star of these, or another recursion (I - N)^-1."""
    letter = factor.children[0] if isinstance(factor, Transpose) else factor
    if letter in (op.phi, op.psi):
        return True
    return isinstance(letter, Inverse) and letter.causality is not Causality.MEMORYLESS


def passes_free_joints(expression: Node) -> bool:
    """Whether an expression is led by a recursion inward through joints that give way: psi."""
    first = expression.factors[0]
    if not is_propagator(first) or first.causality is not Causality.CAUSAL:
        return False
    letters = (x for x in walk(first) if isinstance(x, Symbol) and not x.free)
    return any(x.record in (op.tau_bar.record, op.G.record) for x in letters)


def _by_step(notation: Notation, slot: Slot) -> Node | None:
    """The formula of the step that makes a slot; None where the algebra has none."""
    maker, applied = notation.maker_of(slot), notation.applied(slot)
    if applied is not None:
        letter, star, x = applied
        argument = _argument(notation, x)
        return None if argument is None else (letter.T if star else letter) @ argument
    try:
        return expression_of(maker, [_argument(notation, x.slot) for x in maker.arguments])
    except NoOriginError:
        return None


def _argument(notation: Notation, slot: Slot) -> Node | None:
    """What an argument is called; what it is, if it has no name."""
    if notation.is_named(slot):
        return notation.node_of(slot)
    line, origin = _by_step(notation, slot), notation.program.origins.get(slot)
    if line is None and origin is not None:
        return origin.shortest
    return line


# -- names in the place of what they name -------------------------------------------------------


def _names(notation: Notation, slot: Slot, kept: Node) -> dict[Node, Node]:
    """Of what other quantities are, what they are called; not of those that need this one."""
    own = notation.uses.cycle(slot)
    names: dict[Node, Node] = {}
    for other in notation.quantities:
        origin = notation.program.origins.get(other.slot)
        if origin is None or other.slot == slot or origin.expression == kept:
            continue
        is_letter = other.slot in notation.letters or isinstance(origin.expression, Symbol)
        if other.slot in own and not is_letter:
            continue
        symbol = notation.node_of(other.slot)
        for node in (origin.letter, origin.expression):
            if node is not None and (node.source, node.target) == (symbol.source, symbol.target):
                names.setdefault(node, symbol)
    return names


class _Folding:
    """Names put in the place of the expressions that they stand for.

    Args:
        names: of expressions, what they are called.
    """

    def __init__(self, names: Mapping[Node, Node]):
        self.names = names
        self.sums = [(set(x.terms), name) for x, name in names.items() if isinstance(x, Sum)]
        self.memo: dict[Node, Node] = {}

    def fold(self, node: Node) -> Node:
        """An expression, in names as far as there are any."""
        if node not in self.memo:
            self.memo[node] = self.names.get(node) or self._inside(node)
        return self.memo[node]

    def _inside(self, node: Node) -> Node:
        if isinstance(node, Product):
            for i in range(1, len(node.factors) - 1):
                rest = self.names.get(reduce(compose, node.factors[i:]))
                if rest is not None:
                    return reduce(compose, (*map(self.fold, node.factors[:i]), rest))
        if isinstance(node, Sum):
            for terms, name in self.sums:
                if terms < set(node.terms):
                    others = [self.fold(x) for x in node.terms if x not in terms]
                    return reduce(add, (name, *others))
            factored = factor_left(node.terms, walks=not node.is_vector)
            if len(factored) < len(node.terms):
                return self.fold(reduce(add, (joined(*x) for x in factored)))
        if isinstance(node, Symbol) and node.record is op.tau_bar.record and node.arguments:
            return self._passed(node)
        if not node.children:
            return node
        return node.rebuild(tuple(map(self.fold, node.children)))

    def _passed(self, tau_bar: Symbol) -> Node:
        """tau_bar of another family, I - G L, where its G has a name."""
        family = tau_bar.arguments[0]
        G = self.names.get(family.letter(op.G)) if isinstance(family, Family) else None
        return tau_bar if G is None else add(Identity(BODY), -(G @ self.fold(family.L)))


# -- letters in the place of their definitions ---------------------------------------------------

PAIRS = {  # letters of one step by their definitions: E_phi @ G is K
    side.factors: letter
    for one in PAPERS.letters.values()
    if isinstance(one, Symbol) and one.record.one_step and one.definition is not None
    for side, letter in ((one.definition, one), (starred(one.definition), one.T))
}


def _fold_letters(node: Node) -> Node:
    """E_phi @ G as K, E_phi @ tau_bar as E_psi; stars on letters, no zeros beside other terms."""
    if isinstance(node, Transpose):
        node = starred(node.children[0])
    if isinstance(node, Sum):
        others = [x for x in node.terms if not (isinstance(x, Scaled) and x.factor == 0)]
        node = reduce(add, others or node.terms)
    if node.children:
        node = node.rebuild(tuple(map(_fold_letters, node.children)))
    return reduce(compose, _joined(node.factors)) if isinstance(node, Product) else node


def _joined(factors: Sequence[Node]) -> list[Node]:
    joined = list(factors)
    i = 0
    while i < len(joined) - 1:
        one = PAIRS.get((joined[i], joined[i + 1]))
        if one is not None:
            joined[i : i + 2] = [one]
        i += 1
    return joined
