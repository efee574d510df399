"""Operators as sums of words, from which matrices are made: a step of the lowering.

A word is a product of atoms: memoryless operators, the step E_phi, propagators (I - N)^-1, and
stars of these; a term is a number times a word. Where a causal atom stands
left of an anticausal one, the pair is replaced by the decomposition

    phi W phi* = R + phi~ R + R phi~*,     R = W + blockdiag(E_phi R E_phi*),

or by what it becomes with a single step on either side [000 (5.44)]. What is
left reads anticausal atoms first, causal ones last: block (i, j) of such a word
is a sum over the common ancestors of i and j, hence a block at their nearest
one. psi K H phi is replaced by phi - psi [003 Lemma 5]: J Mass^-1 J* becomes
B* Omega B by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial, reduce

from phipsi.algebra import operators as op
from phipsi.algebra.families import Family, family_of
from phipsi.algebra.node import (
    Identity,
    Node,
    Product,
    Scaled,
    Sum,
    Symbol,
    Transpose,
    add,
    compose,
)
from phipsi.algebra.rewriting.normal import LARGEST, number_and_factors
from phipsi.algebra.rewriting.terms import (
    Number,
    Polynomial,
    Term,
    Word,
    joined,
    multiply_out,
    totals,
)
from phipsi.algebra.spaces import BASE, BODY, POINTS, SCALAR, Causality, Space
from phipsi.algebra.stars import starred
from phipsi.errors import LoweringError
from phipsi.lowering.settle import sides_of
from phipsi.lowering.structure import (
    CARRIED,
    CARRIED_TO_BASE,
    COMPOSITE,
    find_cut,
    is_memoryless,
    is_one_step,
    is_own,
    load_points,
    step_of,
)

TOO_LONG = (  # nobody types more, and a bug might
    f"`{{}}` has more than {LARGEST} terms when multiplied out; pp.as_matrix evaluates it densely"
)


def words_of(operator: Node) -> list[Term]:
    """The reduced words of a settled operator, each with its number."""
    return _gathered(operator, _reduce, True)


def _gathered(
    operator: Node, step: Callable[[Term], list[Term] | None], is_cut: bool
) -> list[Term]:
    """The words of an operator, each reduced as far as it goes, equal ones added up."""
    pending = [Term(number, *word) for word, number in expand(operator, is_cut).items()]
    done: list[tuple[Word, Number]] = []
    while pending:
        if len(pending) + len(done) > LARGEST:
            raise LoweringError(TOO_LONG.format(operator))
        term = pending.pop(0)
        shorter = step(term)
        if shorter is None:
            done.append((Word(term.scalars, term.factors), term.number))
        else:
            pending[:0] = shorter
    return [Term(number, *word) for word, number in totals(done).items()]


def expand(node: Node, is_cut: bool = True) -> Polynomial:
    """Products multiplied out, as in the normal form, but memoryless operators are kept whole.

    And nothing cancels: X X^-1 stays, for the program has to look at the pivots of X on its
    machine, and to raise where they vanish. What may cancel has done so before, in `rewrite`.

    Args:
        node: the operator.
        is_cut: whether products that `find_cut` cuts are kept whole as well: each
            side of the cut becomes a matrix of its own, with words of its own.
    """
    whole = _find_whole(node, is_cut)
    if whole is not None:
        return {Word((), whole): 1}

    def words_of_part(part: Node) -> Polynomial:
        return {Word((part,), ()): 1} if part.is_scalar else expand(part, is_cut)

    words = multiply_out(node, words_of_part, partial(_times, whole=node))
    if not isinstance(node, Product):
        return words
    return totals((_join_factors(word, is_cut), number) for word, number in words.items())


def _find_whole(node: Node, is_cut: bool) -> tuple[Node, ...] | None:
    """The factors of an operator that is not multiplied out; None for others."""
    if isinstance(node, Product):
        factors = node.factors
        vectors, columns = [x.is_vector for x in factors], [is_own(x.source) for x in factors[:-1]]
        for ends in (vectors, columns):  # an outer product, or as many as an own space has entries
            if any(ends):
                cut = ends.index(True) + 1
                return product(factors[:cut]), product(factors[cut:])
        return (node,) if is_cut and find_cut(node.factors) is not None else None
    if isinstance(node, (Scaled, Identity)) or not is_memoryless(node) or _at_points(node):
        return None
    return (node,)


def _join_factors(word: Word, is_cut: bool) -> Word:
    """A word whose factors are one product where it is to be cut, and else loaded by points."""
    factors = [x for factor in word.factors for x in factor.factors]
    is_whole = is_cut and find_cut(factors) is not None
    return Word(word.scalars, (product(factors),) if is_whole else load_points(word.factors))


def _times(left: Polynomial, right: Polynomial, whole: Node) -> Polynomial:
    """All products of two words, equal ones added up; LoweringError for too many."""
    words = totals(
        (Word(x.scalars + y.scalars, x.factors + y.factors), m * n)
        for x, m in left.items()
        for y, n in right.items()
    )
    if len(words) > LARGEST:
        raise LoweringError(TOO_LONG.format(whole))
    return words


def _at_points(node: Node) -> bool:
    """Whether some term of a sum leads through points: then `load_points` has to see it alone."""
    factors = [x for term in node.terms for x in number_and_factors(term)[1]]
    return isinstance(node, Sum) and any(x.source is POINTS for x in factors)


# -- what an atom is -------------------------------------------------------------------


def is_step(atom: Node) -> bool:
    """Whether an atom moves one body inward."""
    return is_one_step(atom) or atom == starred(op.E)


def is_propagator(atom: Node) -> bool:
    """Whether an atom is (I - N)^-1 with a one-step inward N."""
    return step_of(atom) is not None


def is_causal(atom: Node) -> bool:
    """Whether an atom moves inward at all."""
    return atom.causality is Causality.CAUSAL and SCALAR not in (atom.source, atom.target)


def is_anticausal(atom: Node) -> bool:
    """Whether an atom moves outward at all."""
    return atom.causality is Causality.ANTICAUSAL and SCALAR not in (atom.source, atom.target)


# -- memoryless operators that words are made of -----------------------------------------


def composite(E: Node, W: Node, F: Node) -> Symbol:
    """R = W + blockdiag(E R F*)."""
    if (op.E_phi, op.M, op.E_phi) == (E, W, F):
        return op.R
    return COMPOSITE(E, W, F)


def carried(E: Node, W: Node, F: Node) -> Symbol:
    """blockdiag(E W F*)."""
    return CARRIED(E, W, F)


# -- reduction -------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _lemma_5(family: Family) -> dict[tuple[Node, ...], tuple[Node, ...]]:
    """psi K L phi = phi K L psi = phi - psi, and the stars: products, and the terms they become."""
    found = {}
    for name in ("Lemma 5 as a product", "Lemma 5 as a product, turned"):
        left, right = sides_of(name, family)
        for product_, sum_ in ((left, right), (starred(left), starred(right))):
            found[product_.factors] = sum_.terms
    return found


def _reduce(word: Term) -> list[Term] | None:
    """The words that one step of reduction leaves, or None if there is nothing to do."""
    atoms, shorter = word.factors, _by_lemma_5(word)
    if shorter is not None:
        return shorter
    for i, left in enumerate(atoms):
        if not is_causal(left):
            continue
        j = i + 1
        while j < len(atoms) and is_memoryless(atoms[j]):
            j += 1
        if j < len(atoms) and is_anticausal(atoms[j]):
            middle = joined(1, atoms[i + 1 : j] or (Identity(BODY),))
            return _meet(word, i, left, middle, atoms[j], j + 1)
    return None


def _by_lemma_5(word: Term) -> list[Term] | None:
    """A word in which psi K L phi stands, as two without; None if there is none."""
    atoms = word.factors
    for family in dict.fromkeys(map(_family_of_gain, atoms)):
        for pattern, terms in _lemma_5(family).items() if family else ():
            n = len(pattern)
            for i in range(len(atoms) - n + 1):
                if atoms[i : i + n] == pattern:
                    parts = map(number_and_factors, terms)
                    return [_put(word, number, i, new, i + n) for number, new in parts]
    return None


def shortened(operator: Node) -> Node:
    """An operator to be applied to vectors: multiplied out where Lemma 5 leaves fewer recursions.

    J Mass^-1 J* has four, B* psi* H* D^-1 H psi B two [002 (3.10)].
    """
    assert operator.source is not None
    try:
        words = _gathered(operator, _by_lemma_5, False)
    except LoweringError:  # too many to be short
        return operator
    recursions = sum(_count_recursions(x) for word in words for x in word.factors)
    if not words or recursions >= _count_recursions(operator):
        return operator
    unit = (Identity(operator.source),)
    return reduce(add, (joined(x.number, x.factors or unit, x.scalars) for x in words))


def _count_recursions(node: Node) -> int:
    if is_propagator(node) or is_propagator(starred(node)):
        return 1
    return sum(map(_count_recursions, node.children))


def _family_of_gain(atom: Node) -> Family | None:
    """The family that an atom is the gain G of, or its star."""
    letter = atom.children[0] if isinstance(atom, Transpose) else atom
    is_gain = isinstance(letter, Symbol) and letter.record is op.G.record
    return family_of(letter) if is_gain and isinstance(letter, Symbol) else None


def _put(word: Term, number: float, start: int, middle: Sequence[Node], stop: int) -> Term:
    inside = tuple(x for x in middle if not isinstance(x, Identity))
    factors = (*word.factors[:start], *inside, *word.factors[stop:])
    return Term(word.number * number, word.scalars, factors)


def _meet(word: Term, start: int, left: Node, W: Node, right: Node, stop: int) -> list[Term]:
    """A causal atom, a memoryless W and an anticausal atom, decomposed."""
    star = starred(right)
    E, F = (x if is_step(x) else step_of(x) for x in (left, star))
    if E is None or F is None:
        raise LoweringError(
            f"cannot decompose `{left @ W @ right}`: one of the factors is no recursion of one "
            "step; pp.as_matrix evaluates it densely"
        )

    def put(*middle: Node) -> Term:
        return _put(word, 1, start, middle, stop)

    bases = [x for x in (left, star) if x.target is BASE]
    if bases:
        return _meet_at_base(left, star, W, put)
    if is_step(left) and is_step(star):
        return [put(carried(E, W, F))]
    if is_step(left):
        return [put(left, W), put(carried(E, W, F), right)]
    if is_step(star):
        return [put(W, right), put(left, carried(E, W, F))]
    R = composite(E, W, F)
    return [put(R), put(left, *E.factors, R), put(R, *starred(F).factors, right)]


def _meet_at_base(left: Node, star: Node, W: Node, put: Callable[..., Term]) -> list[Term]:
    """Where one side ends at the base: nothing outboard of the base is inboard of a body."""
    if left.target is BASE and star.target is BASE:
        return [put(CARRIED_TO_BASE(W))]
    if left.target is BASE:  # E* W (I - F)^-* = E* W: the base is inboard of all
        return [] if is_step(star) else [put(left, W)]
    return [] if is_step(left) else [put(W, starred(star))]


def product(atoms: Sequence[Node], space: Space = BODY) -> Node:
    """Atoms as one operator; the identity of the space without any."""
    return reduce(compose, atoms) if atoms else Identity(space)
