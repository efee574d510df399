"""Expressions made ready for lowering: definitions unfolded, stars on letters, inverses found.

After `settle` an expression consists of sums, products and factors of

    letters       primitive ones, and phi, psi, G, D, tau_bar, which have steps of their own
    stars         of letters and roots only; letters that are their own star have none
    inverses      of memoryless operators (small blocks), and of causal or anticausal
                  ones, which are recursions; in point and coordinate space of anything

The inverse of the mass operator, however it is disguised, becomes its
innovations form (I - H psi K)* D^-1 (I - H psi K) [003 Lemma 3].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from phipsi.algebra import operators as op
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
    invert,
    scale,
    transpose,
)
from phipsi.algebra.spaces import BASE, BODY, COORDINATES, JOINT, POINTS, SCALAR, Causality
from phipsi.errors import LoweringError, SolveError

MEMORYLESS, CAUSAL, ANTICAUSAL, MIXED = (
    Causality.MEMORYLESS,
    Causality.CAUSAL,
    Causality.ANTICAUSAL,
    Causality.MIXED,
)

UNFOLDED = {  # letters that read better, for a sweep, than by their definition
    op.phi_tilde: op.phi @ op.E_phi,
    op.psi_tilde: op.psi @ op.E_phi @ op.tau_bar,
}
KEPT = {op.phi, op.psi, op.D, op.G, op.tau_bar}
SELF_ADJOINT = {"M", "P", "R", "D", "Jm", "Y", "P_plus"}  # letters that are their own star
SWAPPED = {"S": "cross", "cross": "S", "Q": "Q"}  # S[x]* = -x~, Q[x]* = -Q[x]


# -- families: letters that belong to some other operator than the mass operator ---------


@dataclass(frozen=True)
class Family:
    """The articulated quantities of L phi W phi* L* + N, as letters.

    P = W + blockdiag(E tau_bar P E*), D = L P L* + N, G = P L* D^-1, and
    tau_bar = I - G L. Those of the mass operator have L = H, E = E_phi, W = M,
    N = Jm, and are the letters themselves.
    """

    L: Node
    E: Node
    W: Node
    N: Node | None

    def letter(self, symbol: Symbol) -> Symbol:
        """P, D, G or tau_bar of this family."""
        if self == MASS:
            return symbol
        space = self.L.target
        assert space is not None
        swap = {JOINT: space}
        return Symbol(
            symbol.name,
            swap.get(symbol.source, symbol.source),
            swap.get(symbol.target, symbol.target),
            arguments=(self,),
        )

    def inverse(self) -> Node:
        """(I - L psi E G)* D^-1 (I - L psi E G) [003 Lemma 3]."""
        G, D, tau_bar = map(self.letter, (op.G, op.D, op.tau_bar))
        psi = op.psi if self == MASS else Inverse(add(Identity(BODY), -(self.E @ tau_bar)))
        whiten = op.I - self.L @ psi @ self.E @ G
        return transposed(whiten) @ invert(D) @ whiten


MASS = Family(op.H, op.E_phi, op.M, op.Jm)


def family_of(letter: Symbol) -> Family:
    """The family that P, D, G or tau_bar belongs to."""
    return letter.arguments[0] if letter.arguments else MASS


# -- settling --------------------------------------------------------------------------


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
            if node in UNFOLDED:
                return visit(UNFOLDED[node])
            if node.definition is None or node in KEPT:
                return node
            return visit(node.definition)
        case Transpose():
            return transposed(visit(node.children[0]))
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
    return operand.target in (COORDINATES, BASE, SCALAR) or (
        is_pointwise(operand) if operand.target is POINTS else operand.causality is MEMORYLESS
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


PAIRS = {  # [000 (3.28)]
    (op.S, op.Delta_phi): op.E_phi,
    (op.Delta_phi.T, op.S.T): op.E_phi.T,
}
PLAIN_PAIRS = {  # where no joint follows another
    (op.S_q, op.S_q.T): Identity(JOINT),
    (op.S_q.T, op.S_q): Identity(COORDINATES),
}
P_PLUS = Symbol("P_plus", BODY, BODY)  # tau_bar P, which has zeros that tau_bar and P have not


def _relieved(node: Node) -> Node:
    """Each tau_bar @ P, and each P @ tau_bar*, as the one symmetric operator it is."""
    factors = list(node.factors)
    for i in range(len(factors) - 1):
        left, right = factors[i : i + 2]
        if isinstance(right, Transpose) and isinstance(left, Symbol):
            left, right = right.children[0], left
        if isinstance(left, Symbol) and isinstance(right, Symbol):
            names = left.name, right.name
            if names == ("tau_bar", "P") and left.arguments == right.arguments:
                factors[i : i + 2] = [family_of(left).letter(P_PLUS)]
                return _relieved(reduce(compose, factors))
    return node


def transposed(node: Node) -> Node:
    """A*, the stars on letters."""
    if node.is_scalar:
        return node
    match node:
        case Sum():
            return reduce(add, map(transposed, node.children))
        case Product():
            return reduce(compose, map(transposed, reversed(node.children)))
        case Scaled():
            return scale(node.factor, transposed(node.children[-1]))
        case Inverse():
            return Inverse(transposed(node.children[0]))
        case Diagonal():
            return Diagonal(transposed(node.children[0]))
        case Bracket():
            return -Bracket(SWAPPED[node.name], node.children[0])
        case Symbol() if node.name in SELF_ADJOINT and not node.free:
            return node
        case Symbol() if node.name in ("composite", "carried"):  # of (E, W, F); see `words`
            E, W, F = node.arguments
            return Symbol(node.name, BODY, BODY, arguments=(F, transposed(W), E))
        case Symbol() if node.name == "carried_to_base":
            return Symbol(node.name, BASE, BASE, arguments=(transposed(node.arguments[0]),))
        case Symbol() if node.name == "loaded":  # B A B*; see `load_points`
            B, A = node.arguments
            return Symbol(node.name, BODY, BODY, arguments=(B, transposed(A)))
        case _:
            return transpose(node)


# -- what an expression is -------------------------------------------------------------


def split(term: Node) -> tuple[float, tuple[Node, ...]]:
    """A term as its number and its factors; a scalar expression stays as a factor."""
    number: float = 1
    factors: list[Node] = []
    for factor in term.factors:
        while isinstance(factor, Scaled) and not isinstance(factor.factor, Node):
            number, factor = number * factor.factor, factor.children[-1]
        if factor is term or len(factor.factors) == 1:
            factors.append(factor)
        else:
            inner, parts = split(factor)
            number *= inner
            factors.extend(parts)
    return number, tuple(factors)


def weighted_terms(node: Node) -> Iterator[tuple[float, tuple[Node, ...], tuple[Node, ...]]]:
    """The terms of an expression as number, scalars and factors; scaled sums multiplied out."""
    for term in node.terms:
        number, scalars, factors = _unscaled(term)
        if len(factors) == 1 and isinstance(factors[0], Sum):
            for own, others, parts in weighted_terms(factors[0]):
                yield number * own, scalars + others, parts
        else:
            yield number, scalars, factors


def _unscaled(node: Node) -> tuple[float, tuple[Node, ...], tuple[Node, ...]]:
    """A product as number, scalars, and factors without either."""
    match node:
        case Scaled():
            number, scalars, factors = _unscaled(node.children[-1])
            if isinstance(node.factor, Node):
                return number, (node.factor, *scalars), factors
            return number * node.factor, scalars, factors
        case Product():
            parts = [_unscaled(x) for x in node.factors]
            scalars = tuple(k for _, own, _ in parts for k in own)
            factors = tuple(x for _, _, own in parts for x in own)
            return prod(number for number, _, _ in parts), scalars, factors
        case _:
            return 1, (), (node,)


def join(number: float, factors: Sequence[Node], scalars: Sequence[Node] = ()) -> Node:
    """The inverse of `split`, and of `weighted_terms`."""
    return reduce(lambda x, k: scale(k, x), scalars, scale(number, reduce(compose, factors)))


def is_memoryless(node: Node) -> bool:
    """Whether the operator is block diagonal between bodies and joints."""
    return node.causality is MEMORYLESS and {node.source, node.target} <= {BODY, JOINT}


def is_symmetric(node: Node) -> bool:
    """Whether an operator is its own star, by structure."""
    return node.is_square and (node == transposed(node) or _reads_alike(node))


def _reads_alike(node: Node) -> bool:
    match node:
        case Sum():
            others = [x for x in node.children if not is_symmetric(x)]
            return Counter(others) == Counter(map(transposed, others))
        case Scaled():
            return is_symmetric(node.children[-1])
        case Inverse() | Diagonal():
            return is_symmetric(node.children[0])
        case Product():
            ((_, _, factors),) = weighted_terms(node)
            middle, odd = divmod(len(factors), 2)
            outer = zip(factors[:middle], reversed(factors[-middle:]), strict=True)
            mirrored = middle and all(x == transposed(y) for x, y in outer)
            return bool(mirrored) and (not odd or is_symmetric(factors[middle]))
        case Symbol() if node.name == "loaded":
            return is_symmetric(node.arguments[1])
        case Symbol():
            return node.name in SELF_ADJOINT and not node.free
        case _:
            return False


def step_of(propagator: Node) -> Node | None:
    """N of an inward propagator (I - N)^-1; None if the operator is none."""
    if propagator == op.phi:
        return op.E_phi
    if propagator == op.psi:
        return op.E_phi @ op.tau_bar
    if not isinstance(propagator, Inverse) or propagator.causality is not CAUSAL:
        return None
    if propagator.source is not BODY:
        return None
    ones = [x for x in propagator.children[0].terms if isinstance(x, Identity)]
    rest = [x for x in propagator.children[0].terms if not isinstance(x, Identity)]
    if len(ones) != 1 or not rest:
        return None
    N = reduce(add, (-x for x in rest))
    terms = [split(term)[1] for term in N.terms]
    if any(sum(x in STEPS for x in factors) != 1 for factors in terms):
        return None
    if any(x not in STEPS and not is_memoryless(x) for factors in terms for x in factors):
        return None
    return N


STEPS = (op.E_phi, op.S)  # one body inward


# -- points ----------------------------------------------------------------------------


def is_pointwise(node: Node) -> bool:
    """Whether an operator of point space acts on each point alone: X, a user's own, I."""
    if not node.source is node.target is POINTS:
        return False
    parts = node.children[-1:] if isinstance(node, Scaled) else node.children
    return all(map(is_pointwise, parts)) and not isinstance(node, Diagonal)


def load_points(factors: Sequence[Node]) -> tuple[Node, ...]:
    """Each B A B* with a pointwise A as one letter: what is at the points, as felt by their bodies.

    Its block at a body is the sum over the points there.
    """
    factors = tuple(factors)
    for i, B in enumerate(factors):
        if B.source is not POINTS or B.target is not BODY:
            continue
        j = next(
            (
                j
                for j in range(i + 1, len(factors))
                if factors[j].target is POINTS and factors[j].source is BODY
            ),
            None,
        )
        if (
            j is None
            or factors[j] != transposed(B)
            or not all(map(is_pointwise, factors[i + 1 : j]))
        ):
            continue
        A = reduce(compose, (Identity(POINTS), *factors[i + 1 : j]))
        loaded = Symbol("loaded", BODY, BODY, arguments=(B, A))
        return load_points((*factors[:i], loaded, *factors[j + 1 :]))
    return factors


# -- inverses --------------------------------------------------------------------------


def inverse(node: Node, plain: bool = True, typed: Node | None = None) -> Node:
    """A^-1 of a settled operator; `typed` is how the user wrote it."""
    if node in (op.phi, op.psi):
        step = step_of(node)
        assert step is not None
        return op.I.at(BODY) - step
    if isinstance(node, Transpose):  # of a letter
        return transposed(inverse(node.children[0], plain))
    if isinstance(node, Symbol) and node.name == "X" and not node.free:
        return transposed(node)
    match node:
        case Identity() | Inverse():
            return invert(node)
        case Scaled() if not isinstance(node.factor, Node):
            if node.factor == 0:
                raise SolveError(f"`{typed or node}` is singular on every machine: it is zero")
            return scale(1 / node.factor, inverse(node.children[-1], plain))
        case Scaled():
            assert isinstance(node.factor, Node)
            return scale(Inverse(node.factor), inverse(node.children[-1], plain))
        case Product() if all(x.is_square and x.source is not SCALAR for x in node.factors):
            return reduce(compose, (inverse(x, plain) for x in reversed(node.factors)))
    if node == WHITENED:
        return COLOURED
    if node == COLOURED:
        return WHITENED
    if node == transposed(WHITENED):
        return transposed(COLOURED)
    if node == transposed(COLOURED):
        return transposed(WHITENED)
    if node.causality in (MEMORYLESS, CAUSAL, ANTICAUSAL) or node.target is SCALAR:
        return _known(Inverse(node))
    if node.target is COORDINATES and plain:
        inner = _between_selections(node)
        if inner is not None:
            return transposed(op.S_q) @ inverse(inner, plain) @ op.S_q
    if node.target in (POINTS, COORDINATES, BASE):
        return Inverse(node)  # a small dense matrix
    family = _find_family(node)
    if family is None:
        raise LoweringError(
            f"cannot invert `{typed or node}` in O(N)\n  it is neither block diagonal, nor causal, "
            "nor of the form L @ phi @ W @ phi.T @ L.T + N with symmetric W and N, as the mass "
            "operator is; pp.as_matrix inverts it densely"
        )
    return settle(family.inverse(), plain)


def _known(propagator: Inverse) -> Node:
    """phi or psi, or a star of these, if that is what an inverse is."""
    for letter in (op.phi, op.psi):
        if step_of(propagator) == step_of(letter):
            return letter
        if step_of(transposed(propagator)) == step_of(letter):
            return transposed(letter)
    return propagator


WHITENED = settle(op.I - op.H @ op.psi @ op.K)
COLOURED = settle(op.I + op.H @ op.phi @ op.K)


def _between_selections(node: Node) -> Node | None:
    """A of S_q* A S_q, term by term; None if some term is not of this form."""
    inner = []
    for term in node.terms:
        number, factors = split(term)
        if len(factors) < 3 or factors[0] != transposed(op.S_q) or factors[-1] != op.S_q:
            return None
        inner.append(join(number, factors[1:-1]))
    return reduce(add, inner)


def _find_family(node: Node) -> Family | None:
    """L, E, W, N with A = L (I - E)^-1 W (I - E)^-* L* + N, if A is of this form."""
    blocks: list[Node] = []
    cores: dict[tuple[Node, Node], Node] = {}
    for number, scalars, factors in weighted_terms(node):
        whole = join(number, factors, scalars)
        if is_memoryless(whole):
            blocks.append(whole)
            continue
        found = _split_core(factors)
        if found is None:
            return None
        L, E, middle = found
        W = join(number, middle, scalars)
        cores[L, E] = cores[L, E] + W if (L, E) in cores else W
    if len(cores) != 1:
        return None
    ((L, E), W), N = next(iter(cores.items())), reduce(add, blocks) if blocks else None
    if not is_symmetric(W) or (N is not None and not is_symmetric(N)):
        return None
    return Family(L, E, W, N)


def _split_core(factors: tuple[Node, ...]) -> tuple[Node, Node, tuple[Node, ...]] | None:
    """L, E, and the factors of W, of a product L (I - E)^-1 W (I - E)^-* L*."""
    places = [i for i, x in enumerate(factors) if step_of(x) is not None]
    if len(places) != 1:
        return None
    i = places[0]
    left, middle = factors[:i], load_points(factors[i + 1 : len(factors) - i - 1])
    right = factors[len(factors) - i - 1 :]
    stars = tuple(transposed(x) for x in reversed(factors[: i + 1]))
    if stars != right or not all(map(is_memoryless, (*left, *middle))):
        return None
    E = step_of(factors[i])
    assert E is not None
    return join(1, left or (Identity(BODY),)), E, middle or (Identity(BODY),)
