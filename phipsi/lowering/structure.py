"""What an expression is by its structure: symmetry, recursions, small spaces.

All of it is read off settled expressions; nothing is computed, and no machine is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from phipsi.algebra import operators as op
from phipsi.algebra.alphabet import FORCE, MOTION, Alphabet
from phipsi.algebra.families import family_of
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
from phipsi.algebra.own import letter
from phipsi.algebra.rewriting.normal import number_and_factors, taken_apart
from phipsi.algebra.spaces import BASE, BODY, COORDINATES, JOINT, POINTS, SCALAR, Causality, Space
from phipsi.algebra.stars import starred
from phipsi.algebra.walk import walk
from phipsi.lowering.program import Domain, Shape, Slot

if TYPE_CHECKING:
    from phipsi.lowering.matrices import MatrixLowering

# -- letters that only the lowering knows --------------------------------------------------

Public = Callable[[Any], Any]  # makes an expression, or a family, one of the algebra alone
INNER = Alphabet("lowering", __name__, built_in=True)
_inner = partial(letter, alphabet=INNER)


def _turned(letter: Symbol) -> Node:
    """The star of a letter made of E, W and F*: of F, W* and E*."""
    E, W, F = letter.arguments
    return Symbol(*_spelling(letter), arguments=(F, starred(W), E), record=letter.record)


def _inside(letter: Symbol) -> Node:
    """The star of a letter that reads alike from both sides but for what stands inside."""
    *outer, A = letter.arguments
    return Symbol(*_spelling(letter), arguments=(*outer, starred(A)), record=letter.record)


def _spelling(letter: Symbol) -> tuple[str, Space, Space]:
    return letter.name, letter.source, letter.target


# Of each letter first what it is in letters of the algebra, then its statements.


def _relieved(letter: Symbol, public: Public) -> Node:
    family = public(family_of(letter))
    return family.letter(op.tau_bar) @ family.letter(op.P)


P_PLUS = _inner(
    "P_plus",
    BODY,
    BODY,
    symmetric=True,
    carries=(FORCE, MOTION),
    pivots="inner",
    stands_for=_relieved,
    block=lambda low, letter: low.relieved(family_of(letter)),
    mechanics="articulated inertia as felt through the free joint: tau_bar P",
    estimation="covariance of the state's error, after joint k was measured",
    elsewhere=(
        "the same, as felt through what gives way at joint k",
        "covariance of the state's error, after its measurement at k",
    ),
)


def _composite(letter: Symbol, public: Public) -> Node:
    E, W, F = letter.arguments
    return composite_of(E, public(W), F)


COMPOSITE = _inner(  # R = W + blockdiag(E R F*)
    "composite",
    BODY,
    BODY,
    of="E, W, F",
    star=_turned,
    stands_for=_composite,
    block=lambda low, letter: low.composite(*letter.arguments),
)


def _carried(letter: Symbol, public: Public) -> Node:
    E, W, F = letter.arguments
    return Diagonal(E @ public(W) @ starred(F))


def _carry(low: MatrixLowering, letter: Symbol) -> Slot:
    E, W, F = letter.arguments
    return low.carry(E, low.block(W), F)


CARRIED = _inner(  # blockdiag(E W F*)
    "carried", BODY, BODY, of="E, W, F", star=_turned, stands_for=_carried, block=_carry
)


def _carried_to_base(letter: Symbol, public: Public) -> Node:
    return op.E.T @ public(letter.arguments[0]) @ op.E


def _carry_to_base(low: MatrixLowering, letter: Symbol) -> Slot:
    W = low.block(letter.arguments[0])
    shape = Shape(BASE, BASE, W.shape.symmetric)
    return low.gather("block_to_base", (low.transform(), W), shape)


CARRIED_TO_BASE = _inner(  # E* W E: of the roots, at the base
    "carried_to_base",
    BASE,
    BASE,
    of="W",
    star=_inside,
    stands_for=_carried_to_base,
    block=_carry_to_base,
)


def _loaded(letter: Symbol, public: Public) -> Node:
    B, A = letter.arguments
    return B @ public(A) @ B.T


def _load(low: MatrixLowering, letter: Symbol) -> Slot:
    B, A = letter.arguments
    return low.emit("load", (low.at_each_point(low.block(A)),), letter, (B.arguments,))


LOADED = _inner(  # B A B*, the sum over the points of a body; see `load_points`
    "loaded", BODY, BODY, of="B, A", star=_inside, stands_for=_loaded, block=_load
)
AXIS = _inner(  # H*(i) e_a at body i, zero elsewhere
    "axis",
    SCALAR,
    BODY,
    of="i, a",
    carries=(MOTION, None),
    vector=lambda low, letter: low.emit("axis", (low.joint_map(),), BODY, letter.arguments),
)


def _start_columns(low: MatrixLowering, letter: Symbol) -> Slot:
    domain = Domain("column", *letter.arguments)
    return low.emit("unit", (), letter.target, (letter.target,), domain=domain)


UNIT_BLOCK = _inner(  # I where each column starts
    "unit",
    SCALAR,
    BODY,
    of="columns",
    stands_for=lambda letter, public: Identity(letter.target),
    vector=_start_columns,
)


def _unit_vector(letter: Symbol, public: Public) -> Node:
    return Symbol(f"e_{letter.arguments[0] + 1}", SCALAR, letter.target, free=True)


def _write_unit(low: MatrixLowering, letter: Symbol) -> Slot:
    space = letter.target
    return low.emit("unit_vector", (), space, (space, *letter.arguments), domain=low.home(space))


UNIT_VECTOR = _inner(  # e_j of a space of the user's
    "unit_vector", SCALAR, SCALAR, of="j", stands_for=_unit_vector, vector=_write_unit
)
UNIT_ENTRY = _inner(  # e_j at every body, in its own axes
    "unit_entry",
    SCALAR,
    BODY,
    of="j",
    vector=lambda low, letter: low.emit("unit_entry", (), BODY, letter.arguments),
)


def is_internal(letter: Node) -> bool:
    """Whether a letter is one that only the lowering knows; a user's may have the same name."""
    return isinstance(letter, Symbol) and letter.record.alphabet is INNER


def composite_of(E: Node, W: Node, F: Node) -> Node:
    """R = W + blockdiag(E R F*), solved: blockdiag((I - E)^-1 W (I - F)^-*)."""
    return Diagonal(propagator(E) @ W @ starred(propagator(F)))


def propagator(step: Node) -> Node:
    """(I - E)^-1, by its letter where it has one."""
    return known_propagator(Inverse(add(Identity(BODY), -step)))


def known_propagator(propagator: Node) -> Node:
    """phi or psi, or a star of these, if that is what an inverse is."""
    for known in (op.phi, op.psi):
        if step_of(propagator) == step_of(known):
            return known
        if step_of(starred(propagator)) == step_of(known):
            return starred(known)
    return propagator


# -- what an expression is -------------------------------------------------------------


def is_memoryless(node: Node) -> bool:
    """Whether the operator is block diagonal between bodies and joints."""
    return node.causality is Causality.MEMORYLESS and {node.source, node.target} <= {BODY, JOINT}


def is_symmetric(node: Node) -> bool:
    """Whether an operator is its own star, by structure."""
    return node.is_square and (node == starred(node) or _reads_alike(node))


def _reads_alike(node: Node) -> bool:
    match node:
        case Sum():
            others = [x for x in node.children if not is_symmetric(x)]
            return Counter(others) == Counter(map(starred, others))
        case Scaled():
            return is_symmetric(node.children[-1])
        case Inverse() | Diagonal():
            return is_symmetric(node.children[0])
        case Product():
            _, _, factors = taken_apart(node)
            middle, odd = divmod(len(factors), 2)
            outer = zip(factors[:middle], reversed(factors[-middle:]), strict=True)
            mirrored = middle and all(x == starred(y) for x, y in outer)
            return bool(mirrored) and (not odd or is_symmetric(factors[middle]))
        case Symbol() if node.record.symmetric:
            return True
        case Symbol() if node.record is LOADED.record:
            return is_symmetric(node.arguments[1])
        case _:
            return False


def is_positive(node: Node) -> bool:
    """Whether a symmetric operator is positive definite where it can be inverted at all.

    Then LDL' needs no pivoting.
    """
    match node:
        case Symbol():
            return node.record.positive
        case Identity():
            return True
        case Sum():
            return all(is_positive(term) for term in node.children)
        case Scaled():
            return (
                not isinstance(node.factor, Node)
                and node.factor > 0
                and is_positive(node.children[-1])
            )
        case Inverse():
            return is_positive(node.children[0])
        case Product():
            middle, odd = divmod(len(node.factors), 2)
            return is_symmetric(node) and (not odd or is_positive(node.factors[middle]))
        case _:
            return False


def has_cancelled(node: Node) -> bool:
    """Whether little may be left of what a block is made of: of a difference, of P."""
    return any(
        (isinstance(x, Sum) and not is_positive(x))
        or (isinstance(x, Symbol) and x.record.articulated)
        for x in walk(node)
    )


def balanced(factors: Sequence[Node]) -> int:
    """How many factors of x* A ... y belong to x: V* M V is one sweep, V on both sides."""
    ways = [x.causality for x in factors]
    if Causality.ANTICAUSAL not in ways[1:]:
        return 1
    outward = ways.index(Causality.ANTICAUSAL, 1)
    return max((i + 1 for i in range(1, outward) if ways[i] is Causality.CAUSAL), default=1)


def step_of(propagator: Node) -> Node | None:
    """N of an inward propagator (I - N)^-1; None if the operator is none."""
    if propagator == op.phi:
        return op.E_phi
    if propagator == op.psi:
        return op.E_phi @ op.tau_bar
    if not isinstance(propagator, Inverse) or propagator.causality is not Causality.CAUSAL:
        return None
    if propagator.source is not BODY:
        return None
    ones = [x for x in propagator.children[0].terms if isinstance(x, Identity)]
    rest = [x for x in propagator.children[0].terms if not isinstance(x, Identity)]
    if len(ones) != 1 or not rest:
        return None
    N = reduce(add, (-x for x in rest))
    terms = [number_and_factors(term)[1] for term in N.terms]
    if any(sum(map(is_one_step, factors)) != 1 for factors in terms):
        return None
    if any(not is_one_step(x) and not is_memoryless(x) for factors in terms for x in factors):
        return None
    return N


def is_one_step(node: Node) -> bool:
    """Whether a letter goes from each body to its parent, as E_phi does."""
    return isinstance(node, Symbol) and node.record.one_step


# -- points and other small spaces -----------------------------------------------------


def is_small(space: Space | None) -> bool:
    """Whether the operators of a space are small and dense, and are inverted so."""
    return space in (POINTS, COORDINATES, BASE) or (space is not None and space.is_own)


def is_pointwise(node: Node) -> bool:
    """Whether an operator of point space acts on each point alone: X, a user's own, I."""
    if not node.source is node.target is POINTS:
        return False
    parts = node.children[-1:] if isinstance(node, Scaled) else node.children
    return all(map(is_pointwise, parts)) and not isinstance(node, Diagonal)


def is_whole(node: Node) -> bool:
    """Whether a factor is one dense matrix of its small space, as (J Mass^-1 J*)^-1 is."""
    letter = node.children[0] if isinstance(node, Transpose) else node
    return (
        isinstance(letter, (Inverse, Diagonal, Symbol))
        and is_small_square(letter)
        and not is_own(letter.source)
        and not is_pointwise(letter)
    )


def is_small_square(node: Node) -> bool:
    """Whether an operator maps a small space to itself."""
    return node.source is node.target and is_small(node.source)


def is_own(space: Space | None) -> bool:
    """Whether a space is the user's own."""
    return space is not None and space.is_own


def find_cut(factors: Sequence[Node]) -> int | None:
    """Where a product with a dense matrix of a small space inside is cut in two matrices.

    Beside the run of factors of that space: behind it where it stands first, else before
    it. None where there is no such matrix, or nothing else.
    """
    small = [is_small_square(x) for x in factors]
    first = next((i for i, x in enumerate(factors) if is_whole(x)), None)
    if first is None or all(small):
        return None
    while first and small[first - 1]:
        first -= 1
    return first or small.index(False)


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
        if j is None or factors[j] != starred(B) or not all(map(is_pointwise, factors[i + 1 : j])):
            continue
        A = reduce(compose, (Identity(POINTS), *factors[i + 1 : j]))
        return load_points((*factors[:i], LOADED(B, A), *factors[j + 1 :]))
    return factors
