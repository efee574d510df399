"""Quantities of a program as expressions of the algebra again: the way back.

A formula of one body becomes an operator expression: phi(k,c) is E_phi, a sum over children is
what E_phi does. A recursion is solved for itself:

    z(k) = sum_c phi(k,c) z(c) + x(k)                     z = phi x
    Y(k) = psi*(p,k) Y(p) psi(p,k) + W(k)                 Y = blockdiag(psi* W psi)

So every line of an explanation has a meaning that can be tested: `as_matrix` of its operator form
is what the program computes. Riccati equations are no linear recursions: P stays a letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce

from phipsi.algebra import operators as op
from phipsi.algebra.node import (
    Bracket,
    Diagonal,
    Identity,
    Node,
    Product,
    Scaled,
    Sum,
    Symbol,
    add,
    compose,
    scale,
)
from phipsi.algebra.spaces import BODY, SCALAR
from phipsi.algebra.walk import walk
from phipsi.errors import SpaceError
from phipsi.explain.levels.formula import Around, Atom, Formula, Number, Over, Plus, Times
from phipsi.explain.levels.notation import Notation, Quantity
from phipsi.explain.levels.places import unit
from phipsi.lowering.program import Effect, Slot


class NoFormError(Exception):
    """A formula that the algebra has no expression for."""


# -- one formula ---------------------------------------------------------------------------


def operator_form(formula: Formula, is_block: bool = False) -> Node:
    """A formula of one body as an expression of the whole machine, or NoFormError.

    Args:
        formula: at body k.
        is_block: whether it is a block of each body; blocks that come from other bodies are
            then those on the diagonal.
    """
    node = _form(formula, is_block)
    if not isinstance(node, Node):
        raise NoFormError("a number alone")
    return node


def _form(formula: Formula, is_block: bool) -> Node | float:
    match formula:
        case Number():
            return int(formula.value) if formula.value == round(formula.value) else formula.value
        case Atom():
            if formula.node is None:
                raise NoFormError(formula.text())
            node = formula.node.inv if formula.is_inverse else formula.node
            return node.T if formula.is_starred else node
        case Over():
            return _form(formula.body, is_block)
        case Plus():
            terms = [_form(x, is_block) for _, x in formula.terms]
            signs = [sign for sign, _ in formula.terms]
            return reduce(_added, (_scaled(s, x) for s, x in zip(signs, terms, strict=True)))
        case Times():
            moves = any(isinstance(x, Atom) and x.moves for x in formula.factors)
            inner = is_block and not moves
            parts = [_form(x, inner) for x in formula.factors]
            product = reduce(_times, parts)
            return (
                Diagonal(product) if is_block and moves and isinstance(product, Node) else product
            )
        case Around():
            return _around(formula, is_block)
    raise AssertionError(f"no form of {type(formula).__name__}")


def _around(formula: Around, is_block: bool) -> Node:
    inside = _form(formula.body, is_block)
    if not isinstance(inside, Node):
        raise NoFormError(formula.text())
    if formula.name == "inv":
        return inside.inv
    if formula.name == "blockdiag":
        return Diagonal(inside)
    if formula.name in ("sqrt", "sqrt*"):
        return inside.sqrt if formula.name == "sqrt" else inside.sqrt.T
    return Bracket(formula.name, inside)


def _scaled(number: float, node: Node | float) -> Node | float:
    return scale(number, node) if isinstance(node, Node) else number * node


def _added(left: Node | float, right: Node | float) -> Node:
    if not isinstance(left, Node):
        left = scale(left, Identity(SCALAR))
    return add(left, right if isinstance(right, Node) else scale(right, Identity(SCALAR)))


def _times(left: Node | float, right: Node | float) -> Node | float:
    if isinstance(left, Node) and isinstance(right, Node):
        if left.is_scalar or (right.is_scalar and not left.is_vector):
            return scale(left, right)
        return compose(left, right)
    if isinstance(left, Node):
        return scale(right, left)
    return _scaled(left, right)


# -- recursions --------------------------------------------------------------------------------


def operator_forms(notation: Notation) -> dict[str, Node]:
    """Of the quantities, by name, their operator forms, in letters and each other's names.

    A column's is that of the vector which starts as `unit`; see `as_operator`. Those without one
    are left out.
    """
    forms: dict[str, Node] = {}
    for quantity in notation.quantities:
        form = _own_form(notation, quantity)
        if form is not None:
            forms[quantity.name] = _tidy(form)
    return forms


def public_forms(notation: Notation, forms: Mapping[str, Node]) -> dict[str, Node]:
    """The same, of columns as the operators that they are columns of."""
    found: dict[str, Node] = {}
    for x in notation.quantities:
        form = forms.get(x.name)
        if form is not None and x.slot.domain.kind == "column":
            form = as_operator(form)
        if form is not None:
            found[x.name] = form
    return found


def _own_form(notation: Notation, quantity: Quantity) -> Node | None:
    slot = quantity.slot
    if slot in notation.letters:
        return notation.letters[slot]
    if quantity.statement.effect is Effect.EMIT:
        return notation.uses.assembled(slot)
    try:
        right = operator_form(quantity.formula, quantity.is_block)
        own = notation.node_of(slot)
        if own not in set(walk(right)) and _cycle(notation, slot) is None:
            return right
        return _solved(notation, quantity, right)
    except (NoFormError, SpaceError):
        return None


def _cycle(notation: Notation, slot: Slot) -> list[Slot] | None:
    """The named slots of a recursion, if this one is solved for it; None for the others.

    The one that is solved for is what bodies hand to each other.
    """
    around = notation.uses.cycle(slot)
    cycle = [x.slot for x in notation.quantities if x.slot in around]
    heads = [x for x in cycle if notation.is_handed_on(x)]
    heads.sort(key=lambda x: x.shape.rows is not BODY)
    return cycle if slot in heads[:1] else None


def _solved(notation: Notation, quantity: Quantity, right: Node) -> Node:
    """z of z = N z + r, with the other slots of the recursion put into it."""
    around = notation.uses.cycle(quantity.slot)
    cycle = [x for x in notation.quantities if x.slot in around]
    if quantity.is_block:
        return _solved_block(notation.node_of(quantity.slot), right)
    equations: dict[Node, Node] = {}
    for one in cycle:
        equations[notation.node_of(one.slot)] = operator_form(one.formula)
    own = notation.node_of(quantity.slot)
    for other in [x for x in equations if x != own]:
        solution = _linear(equations.pop(other), other)
        equations = {x: _substituted(y, {other: solution}) for x, y in equations.items()}
    return _linear(equations[own], own)


def _linear(right: Node, z: Node) -> Node:
    """z of z = N z + r: (I - N)^-1 r."""
    coefficient, rest = collect(right, z)
    if coefficient is None:
        return right
    if rest is None:
        raise NoFormError("nothing drives the recursion")
    return _propagator(coefficient) @ rest


def _propagator(N: Node) -> Node:
    """(I - N)^-1, by its letter where it has one."""
    words = set(_words(N))
    for letter, steps in KNOWN.items():
        if words in steps:
            return letter
        if {(n, tuple(x.T for x in reversed(word))) for n, word in words} in steps:
            return letter.T
    terms: list[Node] = [op.I, *(scale(-n, reduce(compose, x)) for n, x in _words(N) if x)]
    return reduce(add, terms).inv


Words = set[tuple[float, tuple[Node, ...]]]
KNOWN: dict[Node, list[Words]] = {  # the sums of words N of (I - N)^-1
    op.phi: [{(1, (op.E_phi,))}],
    op.psi: [
        {(1, (op.E_psi,))},
        {(1, (op.E_phi, op.tau_bar))},
        {(1, (op.E_phi,)), (-1, (op.E_phi, op.G, op.H))},
    ],
}


def _words(node: Node) -> list[tuple[float, tuple[Node, ...]]]:
    """An operator multiplied out: numbers and products of letters."""
    match node:
        case Identity():
            return [(1, ())]
        case Sum():
            return [word for x in node.children for word in _words(x)]
        case Scaled() if not isinstance(node.factor, Node):
            return [(node.factor * n, word) for n, word in _words(node.children[-1])]
        case Product():
            words: list[tuple[float, tuple[Node, ...]]] = [(1, ())]
            for factor in node.factors:
                words = [(m * n, x + y) for m, x in words for n, y in _words(factor)]
            return words
        case _:
            return [(1, (node,))]


Pair = tuple[Node | None, Node | None]


def collect(node: Node, z: Node) -> Pair:
    """N and r of node = N z + r; None for what is zero. NoFormError if z is not linear in it."""
    if z not in set(walk(node)):
        return None, node
    match node:
        case Symbol():
            assert node.target is not None
            return Identity(node.target), None
        case Sum():
            parts = [collect(x, z) for x in node.children]
            return _total([N for N, _ in parts]), _total([r for _, r in parts])
        case Scaled() if not isinstance(node.factor, Node) or z not in set(walk(node.factor)):
            factor = node.factor
            return _mapped(lambda x: scale(factor, x), collect(node.children[-1], z))
        case Product() if all(z not in set(walk(x)) for x in node.factors[:-1]):
            head = reduce(compose, node.factors[:-1])
            return _mapped(lambda x: head @ x, collect(node.factors[-1], z))
    raise NoFormError(f"{z} is not linear in {node}")


def _total(terms: Sequence[Node | None]) -> Node | None:
    found = [x for x in terms if x is not None]
    return reduce(add, found) if found else None


def _mapped(change: Callable[[Node], Node], pair: Pair) -> Pair:
    N, r = pair
    return None if N is None else change(N), None if r is None else change(r)


def _solved_block(Y: Node, right: Node) -> Node:
    """Y of Y = blockdiag(E Y F) + W: blockdiag((I - E)^-1 W (I - F)^-1)."""
    around: list[Node] = []
    rest: list[Node] = []
    for term in right.terms:
        (around if Y in set(walk(term)) else rest).append(term)
    if len(around) != 1 or not rest:
        raise NoFormError("no linear recursion of blocks")
    inner = around[0].children[0] if isinstance(around[0], Diagonal) else around[0]
    factors = inner.factors
    if factors.count(Y) != 1:
        raise NoFormError("no linear recursion of blocks")
    at = factors.index(Y)
    E, F = reduce(compose, factors[:at]), reduce(compose, factors[at + 1 :])
    return Diagonal(_propagator(E) @ reduce(add, rest) @ _propagator(F))


# -- substitution ----------------------------------------------------------------------------


def full_form(name: str, forms: Mapping[str, Node], symbols: Mapping[str, Node]) -> Node | None:
    """A quantity in letters alone; None where some quantity in it has no form.

    Args:
        name: of the quantity.
        forms: of all quantities, in each other's names.
        symbols: what each quantity is called in them.
    """
    whole: dict[str, Node | None] = {}

    def expand(name: str) -> Node | None:
        if name in whole:
            return whole[name]
        whole[name] = None  # a circle has no form
        form = forms.get(name)
        if form is None:
            return None
        inside = {x: y for y, x in symbols.items() if y != name or x != form}
        found = [inside[x] for x in walk(form) if x in inside and inside[x] != name]
        values: dict[Node, Node] = {}
        for other in found:
            if symbols[other] == forms.get(other):  # a letter
                continue
            value = expand(other)
            if value is None:
                return None
            values[symbols[other]] = value
        if symbols[name] != form and symbols[name] in set(walk(form)):
            return None
        whole[name] = _substituted(form, values)
        return whole[name]

    return expand(name)


def _substituted(node: Node, values: Mapping[Node, Node]) -> Node:
    if node in values:
        return values[node]
    if not node.children:
        return node
    return node.rebuild(tuple(_substituted(x, values) for x in node.children))


def as_operator(node: Node) -> Node | None:
    """A column's form as the operator that it is: the unit that it starts from taken off."""
    for letter in walk(node):
        if isinstance(letter, Symbol) and letter.name == "unit" and letter == unit(letter.target):
            try:
                coefficient, rest = collect(node, letter)
            except NoFormError:
                return None
            return coefficient if rest is None else None
    return None


# -- how it reads --------------------------------------------------------------------------------


def _tidy(node: Node) -> Node:
    """E_phi @ G as K, E_phi @ tau_bar as E_psi."""
    if node.children:
        node = node.rebuild(tuple(map(_tidy, node.children)))
    if isinstance(node, Product):
        return reduce(compose, _joined(node.factors))
    return node


PAIRS = {
    (op.E_phi, op.G): op.K,
    (op.G.T, op.E_phi.T): op.K.T,
    (op.E_phi, op.tau_bar): op.E_psi,
    (op.tau_bar.T, op.E_phi.T): op.E_psi.T,
}


def _joined(factors: Sequence[Node]) -> list[Node]:
    joined = list(factors)
    i = 0
    while i < len(joined) - 1:
        one = PAIRS.get((joined[i], joined[i + 1]))
        if one is not None:
            joined[i : i + 2] = [one]
        i += 1
    return joined


def printed(node: Node) -> str:
    """An expression as the papers print it: `psi K (T - H f)`; names in quotes as they are."""
    parts = re.split(r"('[^']*')", str(node))
    return "".join(x if i % 2 else _without_dots(x) for i, x in enumerate(parts))


def _without_dots(text: str) -> str:
    text = text.replace(" * ", " ").replace(" @ ", " ")
    text = text.replace(".T", "*").replace(".inv", "^-1").replace(".sqrt", "^1/2")
    return re.sub(r"(?<![\w.])(\d+)\.0(?!\d)", r"\1", text)
