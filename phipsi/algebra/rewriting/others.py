"""Identities said again: of other operators than the mass operator, of points and joints by name.

`(H phi (M + M_a) phi* H* + Jm)^-1` has an innovations form as the inverse of the mass matrix
has, with articulated letters of its own. Here such operators are found in an expression, and
the identities of the papers said again with their letters.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, reduce

from phipsi.algebra import operators as op
from phipsi.algebra.families import MASS, Family
from phipsi.algebra.identities import IDENTITIES, Condition, Equation
from phipsi.algebra.identities.equation import own_identities
from phipsi.algebra.node import Identity, Inverse, Node, Scaled, Sum, Symbol, add
from phipsi.algebra.rewriting.normal import (
    are_equal,
    atoms_of,
    chained,
    joined,
    key_of,
    summed,
    taken_apart,
    tidied,
    words_of,
)
from phipsi.algebra.rewriting.opening import normal_form
from phipsi.algebra.rewriting.rules import Way, chosen, plain, ways_between, ways_of
from phipsi.algebra.spaces import BODY, JOINT, Causality
from phipsi.algebra.stars import starred
from phipsi.errors import InputError

OUTER = (op.H, op.phi)
INVERSION = "matrix inversion lemma"
AGAIN = (  # the identities that are said again
    "Lemma 2",
    "Lemma 4",
    "Lemma 5 as a product",
    "Lemma 5 as a product, turned",
    "gain",
    "definition of K",
    "definition of G",
    "Identity A.5 in two terms",
    "square root of the inverse of D",
)


def ways_for(
    ends: Sequence[Node],
    granted: Collection[Condition],
    using: Collection[str] = (),
    without: Collection[str] = (),
    kept: Collection[Node] = (),
) -> list[Way]:
    """The ways of all known equations that a search from these expressions tries.

    Args:
        ends: normal forms.
        granted, using, without, kept: as `rules.chosen` takes them.
    """
    said = (x for x in _said(ends, granted) if x.name != INVERSION or _is_of_small_space(x))
    ways = chosen((*IDENTITIES.values(), *said), granted, using, without, kept)
    for equation in own_identities():  # of shorthands too, which ends have unfolded
        if equation.name not in without and set(equation.conditions) <= set(granted):
            ways += [way for way in _opened_ways(equation) if way not in ways]
    return ways


def every_way_for(
    ends: Sequence[Node],
    granted: Collection[Condition],
    without: Collection[str] = (),
    derived: bool = True,
) -> list[Way]:
    """The ways of all known equations, those that write letters out too.

    A search for the cheapest expression leaves these out: it would find no end. One with a goal
    tries them where the usual ways did not lead there.

    Args:
        ends: normal forms.
        granted, without: as `rules.chosen` takes them.
        derived: whether equations are among them that follow from others.
    """
    equations = (*IDENTITIES.values(), *_said(ends, granted))
    return [
        way
        for equation in equations
        if equation.name not in without and set(equation.conditions) <= set(granted)
        if derived or not equation.derived
        for way in dict.fromkeys((*_opened_ways(equation), *ways_of(equation)))
    ]


@lru_cache(maxsize=2_000)
def _opened_ways(equation: Equation) -> tuple[Way, ...]:
    """The ways of an equation between normal forms, as the expressions of a search are."""
    return ways_between(equation, normal_form(equation.left), normal_form(equation.right))


def _said(ends: Sequence[Node], granted: Collection[Condition]) -> list[Equation]:
    found = [x for end in ends for x in (*lemmas_for(end, granted), *said_of_arguments(end))]
    return found + inversions_for(ends)


def lemmas_for(expression: Node, granted: Collection[Condition]) -> list[Equation]:
    """The lemmas of every operator that an expression inverts, besides the mass operator.

    Args:
        expression: tidy.
        granted: without rotors, H phi M phi* H* is the mass operator as well.
    """
    found: list[Equation] = []
    known = {MASS}
    if Condition.NO_ROTORS in granted:
        known.add(replace(MASS, N=None))
    for operand in dict.fromkeys(_inverted(expression)):
        family = _family(operand)
        if family is None or family in known:
            continue
        K, D = family.K, family.letter(op.D)
        colour = op.I + op.H @ op.phi @ K
        lemma = IDENTITIES["Lemma 1"]
        found.append(replace(_said_of(lemma, family), left=operand, right=colour @ D @ colour.T))
        found += [_said_of(IDENTITIES[name], family) for name in AGAIN]
    return found


# -- letters with arguments ----------------------------------------------------------------

AT_POINTS = (op.B, op.J, op.X, op.c)
AT_JOINTS = (op.HH, op.HH_s, op.HH_delta, op.Gamma_delta)


def said_of_arguments(expression: Node) -> list[Equation]:
    """Equations with bare letters, said of the points and joints that an expression names."""
    found: list[Equation] = []
    letters = [x for x in map(plain, atoms_of(expression)) if isinstance(x, Symbol)]
    for bare in (AT_POINTS, AT_JOINTS):
        names = {x.name for x in bare}
        arguments = {x.arguments for x in letters if x.name in names and x.arguments}
        for given in sorted(arguments, key=repr):
            words: dict[Node, Node] = {x: x(*given) for x in bare}
            found += [
                replace(x, left=_replaced(x.left, words), right=_replaced(x.right, words))
                for x in IDENTITIES.values()
                if set(bare) & {plain(y) for y in atoms_of(x.left) | atoms_of(x.right)}
            ]
    return found


def _replaced(node: Node, words: Mapping[Node, Node]) -> Node:
    """An expression with some letters in the place of others."""
    if isinstance(node, Symbol):
        return words.get(node, node)
    if not node.children:
        return node
    return node.rebuild(tuple(_replaced(x, words) for x in node.children))


# -- the inverse of a sum ------------------------------------------------------------------


def inversions_for(ends: Sequence[Node]) -> list[Equation]:
    """The matrix inversion lemma, said of each sum that expressions invert.

    Of (A + U C V)^-1 where A has an inverse: it is I or an operator like the mass matrix, or its
    inverse stands somewhere in the expressions. C is such an operator, an inverse, or I.
    """
    lemma = IDENTITIES[INVERSION]
    A, U, C, V = lemma.variables
    sums = dict.fromkeys(x for end in ends for x in _inverted_sums(end))
    inverted = {key_of(x) for end in ends for x in _inverted_operands(end)}
    found: list[Equation] = []
    for whole in sums:
        for place, term in enumerate(whole.terms):
            rest = summed([*whole.terms[:place], *whole.terms[place + 1 :]])
            if not (isinstance(rest, Identity) or key_of(rest) in inverted or _family(rest)):
                continue
            for before, middle, after in _splits(term, inverted):
                words: dict[Node, Node] = {A: rest, U: before, C: middle, V: after}
                left, right = (_replaced(x, words) for x in (lemma.left, lemma.right))
                found.append(replace(lemma, left=left, right=right, variables=()))
    return found


def _is_of_small_space(inversion: Equation) -> bool:
    """Whether what is inverted instead is small: of points, or of a space of the user's own."""
    operands = [x.target for x in _inverted_operands(inversion.right)]
    return any(x not in (BODY, JOINT) for x in operands)


def _splits(term: Node, inverted: Collection[Hashable]) -> Iterator[tuple[Node, Node, Node]]:
    """A term as U C V."""
    number, scalars, factors = taken_apart(term)
    if scalars or len(factors) < 2:
        return
    for i, x in enumerate(factors):
        before, after = factors[:i], factors[i + 1 :]
        if before and after and (isinstance(x, Inverse) or key_of(x) in inverted):
            yield joined(number, before), x, chained(after)
        if before and x.target is not None:
            yield joined(number, before), Identity(x.target), chained(factors[i:])


def _inverted_operands(node: Node) -> Iterator[Node]:
    if isinstance(node, Inverse):
        yield node.children[0]
    for child in node.children:
        yield from _inverted_operands(child)


def _inverted_sums(node: Node) -> Iterator[Node]:
    return (x for x in _inverted_operands(node) if isinstance(x, Sum))


# -- other inertias ------------------------------------------------------------------------


def _inverted(node: Node) -> Iterator[Node]:
    if isinstance(node, Inverse):
        operand = node.children[0]
        if operand.target is JOINT and operand.causality is Causality.MIXED:
            yield operand
    for child in node.children:
        yield from _inverted(child)


def _family(operand: Node) -> Family | None:
    """W and N of H phi W phi* H* + N; None where the operator is not of this form."""
    inner: list[Node] = []
    outer: list[Node] = []
    try:
        words = words_of(tidied(operand))
    except InputError:  # too long
        return None
    stars = tuple(starred(x) for x in reversed(OUTER))
    for word, number in words:
        factors = word.factors
        if factors[: len(OUTER)] == OUTER and factors[-len(stars) :] == stars:
            middle = factors[len(OUTER) : -len(stars)] or (op.I.at(BODY),)
            inner.append(joined(number, middle, word.scalars))
        else:
            outer.append(joined(number, factors or (op.I.at(JOINT),), word.scalars))
    if not inner:
        return None
    W, N = reduce(add, inner), reduce(add, outer) if outer else None
    parts = [W] if N is None else [W, N]
    if any(x.causality is not Causality.MEMORYLESS or not are_equal(x, x.T) for x in parts):
        return None
    return Family(op.H, op.E_phi, W, N)


def _said_of(equation: Equation, family: Family) -> Equation:
    """An equation of the mass operator with the letters of a family."""
    words: dict[Node, Node] = {x: family.letter(x) for x in (op.P, op.D, op.G, op.tau_bar)}
    words |= {op.K: family.K, op.psi: family.psi, op.M: family.W}
    words[op.Jm] = Scaled(0, op.Jm) if family.N is None else family.N
    return replace(
        equation,
        name=f"{equation.name}, for {family!r}",
        left=_replaced(equation.left, words),
        right=_replaced(equation.right, words),
    )
