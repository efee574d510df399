"""Expressions made ready for lowering: definitions unfolded, stars on letters, inverses found.

After `settle` an expression consists of sums, products and factors of

    letters       primitive ones, and phi, psi, G, D, tau_bar, which have steps of their own
    stars         of letters and roots only; letters that are their own star have none
    inverses      of memoryless operators (small blocks), and of causal or anticausal
                  ones, which are recursions; in point, coordinate and own spaces of anything

The inverse of the mass operator, however it is disguised, becomes its
innovations form (I - H psi K)* D^-1 (I - H psi K) [003 Lemma 3]. Identities that are used here
are those of the register, by their names.

This is no second normal form: of an expression and of its normal form, the same is left, but for
the axioms. Inverses are distributed by the function that the normal form uses; but nothing that
may be singular cancels here, and what is left to invert becomes an algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial, reduce
from typing import NamedTuple

from phipsi.algebra import operators as op
from phipsi.algebra.families import MASS, Family, family_of
from phipsi.algebra.identities import IDENTITIES
from phipsi.algebra.node import (
    Diagonal,
    Identity,
    Inverse,
    Node,
    Product,
    Root,
    Symbol,
    Transpose,
    add,
    compose,
    invert,
)
from phipsi.algebra.rewriting.normal import inverted, number_and_factors, terms_of, tidied
from phipsi.algebra.rewriting.singular import ZERO, why_singular
from phipsi.algebra.rewriting.terms import Term, is_zero, joined, totals
from phipsi.algebra.spaces import (
    BASE,
    BODY,
    COORDINATES,
    JOINT,
    POINTS,
    SCALAR,
    Causality,
)
from phipsi.algebra.stars import starred
from phipsi.algebra.walk import replace_letters
from phipsi.errors import LoweringError, SolveError
from phipsi.lowering.structure import (
    P_PLUS,
    is_memoryless,
    is_pointwise,
    is_small,
    is_symmetric,
    known_propagator,
    load_points,
    step_of,
)

MEMORYLESS, CAUSAL, ANTICAUSAL, MIXED = (
    Causality.MEMORYLESS,
    Causality.CAUSAL,
    Causality.ANTICAUSAL,
    Causality.MIXED,
)


# -- families --------------------------------------------------------------------------


def locked(family: Family) -> Node:
    """(I - E)^-1, phi of a family."""
    return known_propagator(Inverse(add(Identity(BODY), -family.E)))


def freed(family: Family) -> Node:
    """(I - E tau_bar)^-1, psi of a family."""
    if family == MASS:
        return op.psi
    return Inverse(add(Identity(BODY), -(family.E @ family.letter(op.tau_bar))))


def sides_of(name: str, family: Family = MASS) -> tuple[Node, Node]:
    """Both sides of an identity of the mass operator, with the letters of a family.

    Args:
        name: of the identity.
        family: whose L, phi, psi, K, D stand for H, phi, psi, K, D.
    """
    equation = IDENTITIES[name]
    G, D, space = family.letter(op.G), family.letter(op.D), family.L.target
    assert space is not None
    words: dict[Node, Node] = {op.H: family.L, op.phi: locked(family), op.psi: freed(family)}
    words |= {op.K: family.E @ G, op.D: D, Identity(JOINT): Identity(space)}
    left, right = (replace_letters(x, words) for x in (equation.left, equation.right))
    return left, right


def inverse_of(family: Family) -> Node:
    """(I - L psi E G)* D^-1 (I - L psi E G) [003 Lemma 3]."""
    return sides_of("Lemma 3", family)[1]


# -- settling --------------------------------------------------------------------------


class Settled(NamedTuple):
    """Expressions of one function, ready for lowering.

    Attributes:
        nodes: the settled expressions, in order.
        typed: of each part of them, how it was typed; for messages.
    """

    nodes: tuple[Node, ...]
    typed: Mapping[Node, Node]


def settle_expressions(expressions: Sequence[Node], plain: bool = True) -> Settled:
    """Expressions of one function ready for lowering; `plain` as for `settle`."""
    memo: dict[Node, Node] = {}
    nodes = tuple(settle(x, plain, memo) for x in expressions)
    return Settled(nodes, {after: before for before, after in memo.items()})


def settle(node: Node, plain: bool = True, memo: dict[Node, Node] | None = None) -> Node:
    """An expression ready for lowering.

    Args:
        node: the expression.
        plain: whether the machine has no mimic joints, so that S_q turns
            coordinates into joint space one by one.
        memo: of what has been settled, shared between expressions.
    """
    memo = {} if memo is None else memo

    def visit(node: Node) -> Node:
        if node not in memo:
            memo[node] = _settle(node, visit, plain)
        return memo[node]

    return visit(node)


def _settle(node: Node, visit: Callable[[Node], Node], plain: bool) -> Node:
    match node:
        case Symbol():
            if node.record.swept is not None:
                return visit(node.record.swept)
            if node.definition is None or (node.record.kept and not node.arguments):
                return node
            return visit(node.definition)
        case Transpose():
            return starred(visit(node.children[0]))
        case Inverse():
            return inverse(visit(node.children[0]), plain, node.children[0])
        case Root():
            operand = visit(node.children[0])
            return Root(operand if operand.causality is MEMORYLESS else Diagonal(operand))
        case Diagonal():
            operand = visit(node.children[0])
            return operand if _is_diagonal(operand) else Diagonal(operand)
        case Product():
            return _joined(node.rebuild(tuple(visit(x) for x in node.children)), plain)
        case _ if node.children:
            return node.rebuild(tuple(visit(child) for child in node.children))
        case _:
            return node


def _is_diagonal(operand: Node) -> bool:
    """Whether blockdiag(A) is A: points of one body see each other, other blocks are alone."""
    target = operand.target
    assert target is not None
    return (
        target in (COORDINATES, BASE, SCALAR)
        or target.is_own
        or (is_pointwise(operand) if operand.target is POINTS else operand.causality is MEMORYLESS)
    )


def _joined(node: Node, plain: bool) -> Node:
    """A product with neighbours joined that are better known as one: S @ Delta_phi is E_phi."""
    pairs = PAIRS | PLAIN_PAIRS if plain else PAIRS
    factors = node.factors
    for i in range(len(factors) - 1):
        if factors[i : i + 2] in pairs:
            one = pairs[factors[i], factors[i + 1]]
            return _joined(reduce(compose, (*factors[:i], one, *factors[i + 2 :])), plain)
    return _relieved(node)


STEP = IDENTITIES["shift and lever"]  # E_phi = S Delta_phi [000 (3.29)]
PAIRS = {
    STEP.right.factors: STEP.left,
    starred(STEP.right).factors: starred(STEP.left),
}
PLAIN_PAIRS = {  # where no joint follows another
    (op.S_q, op.S_q.T): Identity(JOINT),
    (op.S_q.T, op.S_q): Identity(COORDINATES),
}


def _relieved(node: Node) -> Node:
    """Each tau_bar @ P, and each P @ tau_bar*, as the one symmetric operator it is.

    It has zeros that tau_bar and P have not.
    """
    factors = list(node.factors)
    for i in range(len(factors) - 1):
        left, right = factors[i : i + 2]
        if isinstance(right, Transpose) and isinstance(left, Symbol):
            left, right = right.children[0], left
        if isinstance(left, Symbol) and isinstance(right, Symbol):
            records = left.record, right.record
            is_pair = records == (op.tau_bar.record, op.P.record)
            if is_pair and left.arguments == right.arguments:
                factors[i : i + 2] = [family_of(left).letter(P_PLUS)]
                return _relieved(reduce(compose, factors))
    return node


# -- inverses --------------------------------------------------------------------------


def inverse(node: Node, plain: bool = True, typed: Node | None = None) -> Node:
    """A^-1 of a settled operator; `typed` is how the user wrote it."""
    why = why_singular(node)
    if (why and why != ZERO) or is_zero(node):  # other zero blocks are told by joint and body
        raise SolveError(f"`{typed or node}` is singular on every machine: {why or ZERO}")

    def invert_factor(factor: Node) -> Node:
        return _find_inverse(factor, plain, typed if factor is node else None)

    return inverted(node, invert_factor, partial(reduce, compose))


def _find_inverse(node: Node, plain: bool, typed: Node | None) -> Node:
    """The inverse of what is no product, multiple or turn, in sweeps and small systems.

    The normal form leaves it as it is: what is found here is an algorithm, in letters that
    `derive` reaches by the identities.
    """
    if node in (op.phi, op.psi):
        step = step_of(node)
        assert step is not None
        return op.I.at(BODY) - step
    if isinstance(node, Transpose):  # of a letter
        return starred(inverse(node.children[0], plain))
    if isinstance(node, (Identity, Inverse)):
        return invert(node)
    if node in _known_inverses():
        return _known_inverses()[node]
    if node.causality in (MEMORYLESS, CAUSAL, ANTICAUSAL) or node.target is SCALAR:
        return known_propagator(Inverse(node))
    if node.target is COORDINATES and plain:
        inner = _between_selections(node)
        if inner is not None:
            return starred(op.S_q) @ inverse(inner, plain) @ op.S_q
    if is_small(node.target):
        return Inverse(node)  # a small dense matrix
    family = _find_family(node)
    if family is None:
        raise LoweringError(
            f"cannot invert `{typed or node}` in O(N)\n  it is neither block diagonal, nor causal, "
            "nor of the form L @ phi @ W @ phi.T @ L.T + N with symmetric W and N, as the mass "
            "operator is; pp.as_matrix inverts it densely"
        )
    return settle(inverse_of(family), plain)


@cache
def _known_inverses() -> dict[Node, Node]:
    """(I + H phi K)^-1 = I - H psi K, the other way round, and the stars [003 Lemma 2]."""
    left, right = sides_of("Lemma 2")
    pairs = [(settle(left.children[0]), settle(right))]
    pairs += [(y, x) for x, y in pairs]
    pairs += [(starred(x), starred(y)) for x, y in pairs]
    return dict(pairs)


def _between_selections(node: Node) -> Node | None:
    """A of S_q* A S_q, term by term; None if some term is not of this form."""
    inner = []
    for term in node.terms:
        number, factors = number_and_factors(term)
        if len(factors) < 3 or factors[0] != starred(op.S_q) or factors[-1] != op.S_q:
            return None
        inner.append(joined(number, factors[1:-1]))
    return reduce(add, inner)


def _find_family(node: Node) -> Family | None:
    """L, E, W, N with A = L (I - E)^-1 W (I - E)^-* L* + N, if A is of this form."""
    blocks: list[Term] = []
    cores: dict[tuple[Node, Node], list[Term]] = {}
    for number, scalars, factors in terms_of(node):
        if is_memoryless(joined(number, factors, scalars)):
            blocks.append(Term(number, scalars, factors))
            continue
        found = _split_core(factors)
        if found is None:
            return None
        L, E, middle = found
        cores.setdefault((L, E), []).append(Term(number, scalars, middle))
    if len(cores) != 1:
        return None
    (((L, E), terms),) = cores.items()
    W, N = _add_up(terms), _add_up(blocks) if blocks else None
    if not is_symmetric(W) or (N is not None and not is_symmetric(N)):
        return None
    return Family(L, E, tidied(W), None if N is None else tidied(N))  # one family, however typed


def _add_up(terms: Sequence[Term]) -> Node:
    """The sum of terms, like ones added: families of equal operators are equal."""
    numbers = totals(((scalars, factors), number) for number, scalars, factors in terms)
    kept = [Term(number, *key) for key, number in numbers.items()] or terms
    return reduce(add, (joined(number, factors, scalars) for number, scalars, factors in kept))


def _split_core(factors: tuple[Node, ...]) -> tuple[Node, Node, tuple[Node, ...]] | None:
    """L, E, and the factors of W, of a product L (I - E)^-1 W (I - E)^-* L*."""
    places = [i for i, x in enumerate(factors) if step_of(x) is not None]
    if len(places) != 1:
        return None
    i = places[0]
    left, middle = factors[:i], load_points(factors[i + 1 : len(factors) - i - 1])
    right = factors[len(factors) - i - 1 :]
    stars = tuple(starred(x) for x in reversed(factors[: i + 1]))
    if stars != right or not all(map(is_memoryless, (*left, *middle))):
        return None
    E = step_of(factors[i])
    assert E is not None
    return joined(1, left or (Identity(BODY),)), E, middle or (Identity(BODY),)
