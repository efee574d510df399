"""Identities said again: of other operators than the mass operator, of points and joints by name.

`(H phi (M + M_a) phi* H* + Jm)^-1` has an innovations form as the inverse of the mass matrix
has, with articulated letters of its own. Here such operators are found in an expression, and
the identities of the papers said again with their letters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from itertools import combinations

from phipsi.algebra import operators as op
from phipsi.algebra.alphabet import PAPERS
from phipsi.algebra.elements import at, element
from phipsi.algebra.families import MASS, Family
from phipsi.algebra.identities import IDENTITIES, Condition, Equation, OnPath, Requirement
from phipsi.algebra.identities.equation import own_identities
from phipsi.algebra.node import Identity, Inverse, Node, Root, Scaled, Sum, Symbol, Transpose, add
from phipsi.algebra.rewriting.normal import are_equal, atoms_of, key_of, tidied, words_of
from phipsi.algebra.rewriting.opening import normal_form
from phipsi.algebra.rewriting.rules import Way, chosen, plain, ways_between, ways_of
from phipsi.algebra.rewriting.singular import may_cancel
from phipsi.algebra.rewriting.terms import chained, is_zero, joined, summed, taken_apart
from phipsi.algebra.spaces import BODY, JOINT, Causality
from phipsi.algebra.stars import starred
from phipsi.algebra.walk import letters_of
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
    granted: Collection[Requirement],
    using: Collection[str] = (),
    without: Collection[str] = (),
    kept: Collection[Node] = (),
) -> list[Way]:
    """The ways of all known equations that a search from these expressions tries.

    Args:
        ends: normal forms.
        granted, using, without, kept: as `rules.chosen` takes them.
    """
    ends = (*ends, *_without_zeros(ends, granted, without))
    inversions = filter(_is_of_small_space, inversions_for(ends))
    equations = (*_known(), *_said(ends, granted), *inversions)
    ways = chosen(equations, granted, using, without, kept)
    for equation in own_identities():  # of shorthands too, which ends have unfolded
        if equation.name not in without and set(equation.conditions) <= set(granted):
            ways += [way for way in _opened_ways(equation) if way not in ways]
    return ways


def _without_zeros(
    ends: Sequence[Node], granted: Collection[Requirement], without: Collection[str]
) -> list[Node]:
    """The same without letters that are zero, where they have some."""
    zeros: dict[Node, Node] = {
        x.left: x.right
        for x in map(IDENTITIES.__getitem__, names_of_zeros())
        if x.name not in without and set(x.conditions) <= set(granted)
    }
    dropped = (tidied(_replaced(end, zeros)) for end in ends)
    return [new for end, new in zip(ends, dropped, strict=True) if new != end]


def names_of_zeros() -> list[str]:
    """The equations that say of a letter that it is zero."""
    return [
        x.name
        for x in IDENTITIES.values()
        if isinstance(x.left, Symbol) and is_zero(tidied(x.right))
    ]


def every_way_for(
    ends: Sequence[Node],
    granted: Collection[Requirement],
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
    equations = (*_known(), *_said(ends, granted), *inversions_for(ends, every=True))
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


def _known() -> list[Equation]:
    """Every equation but the matrix inversion lemma, which is said of each sum."""
    return [x for x in IDENTITIES.values() if x.name != INVERSION]


def _said(ends: Sequence[Node], granted: Collection[Requirement]) -> list[Equation]:
    found = [x for end in ends for x in (*lemmas_for(end, granted), *said_of_arguments(end))]
    return [*found, *roots_for(ends), *elements_for(ends, granted)]


def elements_for(ends: Sequence[Node], granted: Collection[Requirement]) -> list[Equation]:
    """phi(k,k) = I, and phi(i,k) phi(k,j) = phi(i,j) along the paths that are granted; of psi too.

    Of the bodies of which expressions have elements; `at` selects these.
    """
    places = bodies_in(ends)
    paths = sorted((x for x in granted if isinstance(x, OnPath)), key=str)
    found: list[Equation] = []
    for X in (op.phi, op.psi):
        name, source = f"elements of {X.name}", "[001 (4)]"
        for k in places:
            found.append(Equation(f"{name} on the diagonal", element(X, (k, k)), at(k), source))
        for path in paths:
            for i, k, j in combinations([x for x in path.bodies if x in places], 3):
                sides = element(X, (i, k)) @ element(X, (k, j)), element(X, (i, j))
                found.append(Equation(f"{name} along a path", *sides, source, (path,)))
    return found


def bodies_in(ends: Sequence[Node]) -> list[str | int]:
    """The bodies of which expressions have elements."""
    return sorted({x.arguments[0] for x in letters_of(ends) if _selects_a_body(x)}, key=str)


def paths_of(ends: Sequence[Node]) -> list[OnPath]:
    """The paths along which elements would become one: of phi(i,k) phi(k,j), that of i, k, j."""
    words = [x.factors for end in ends for node in _parts(tidied(end)) for x in node.terms]
    runs = (factors[n : n + 5] for factors in words for n in range(len(factors) - 4))
    found = []
    for run in runs:
        i, X, k, Y, j = run
        if X == Y and plain(X) in (op.phi, op.psi) and all(map(_selects_a_body, (i, k, j))):
            places = [x.arguments[0] for x in (i, k, j) if isinstance(x, Symbol)]
            if len(set(places)) == len(places):
                found.append(OnPath(*(reversed(places) if isinstance(X, Transpose) else places)))
    return list(dict.fromkeys(found))


def _selects_a_body(node: Node | str) -> bool:
    return isinstance(node, Symbol) and node.record is at.record and len(node.arguments) == 1


def roots_for(ends: Sequence[Node]) -> list[Equation]:
    """X = X.sqrt X.sqrt* and X^-1 = X.sqrt^-* X.sqrt^-1 of each root that expressions have."""
    found: list[Equation] = []
    roots = dict.fromkeys(x for end in ends for x in _parts(end) if isinstance(x, Root))
    for root in roots:
        operand = root.children[0]
        if root.is_scalar or operand == op.D:  # D has equations of its own
            continue
        name, back = f"square root of {operand}", root.inv
        found.append(Equation(name, root @ root.T, operand, ""))
        name = f"square root of the inverse of {operand}"
        found.append(Equation(name, back.T @ back, operand.inv, ""))
    return found


def lemmas_for(expression: Node, granted: Collection[Requirement]) -> list[Equation]:
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


def said_of_arguments(expression: Node) -> list[Equation]:
    """Equations with bare letters, said of the points and joints that an expression names."""
    found: list[Equation] = []
    letters = [x for x in map(plain, atoms_of(expression)) if isinstance(x, Symbol)]
    for what in ("points", "joint"):
        bare = [x for x in PAPERS.letters.values() if isinstance(x, Symbol) and x.record.of == what]
        records = {x.record for x in bare}
        arguments = {x.arguments for x in letters if x.record in records and x.arguments}
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


def inversions_for(ends: Sequence[Node], every: bool = False) -> list[Equation]:
    """The matrix inversion lemma, said of each sum that expressions invert.

    Of (A + U C V)^-1, where A has an inverse: it is I or an operator like the mass matrix, or its
    inverse stands somewhere in the expressions. C is such an operator, an inverse, or I, times
    the numbers and scalars of the term.

    Args:
        ends: the expressions.
        every: whether A and C may be whatever is not singular by its form: a letter, a sum, a
            run of factors; U and V may be I then.
    """
    lemma = IDENTITIES[INVERSION]
    A, U, C, V = lemma.variables
    sums = dict.fromkeys(x for end in ends for x in _inverted_sums(end))
    inverted = {key_of(x) for end in ends for x in _inverted_operands(end)}

    def may_be_inverted(node: Node) -> bool:
        return key_of(node) in inverted or (every and is_regular(node))

    found: list[Equation] = []
    for whole in sums:
        for place, term in enumerate(whole.terms):
            rest = summed([*whole.terms[:place], *whole.terms[place + 1 :]])
            if not (isinstance(rest, Identity) or may_be_inverted(rest) or _family(rest)):
                continue
            for before, middle, after in _splits(term, may_be_inverted, every):
                words: dict[Node, Node] = {A: rest, U: before, C: middle, V: after}
                left, right = (_replaced(x, words) for x in (lemma.left, lemma.right))
                found.append(replace(lemma, left=left, right=right, variables=()))
    return found


def is_regular(node: Node) -> bool:
    """Whether an operator has an inverse, as far as its form tells: one term of it has one."""
    if not node.is_square or not may_cancel(node):
        return False
    return any(
        all(x.is_square and may_cancel(x) for x in taken_apart(term)[2]) for term in node.terms
    )


def _is_of_small_space(inversion: Equation) -> bool:
    """Whether what is inverted instead is small: of points, or of a space of the user's own."""
    operands = [x.target for x in _inverted_operands(inversion.right)]
    return any(x not in (BODY, JOINT) for x in operands)


def _splits(
    term: Node, may_be_inverted: Callable[[Node], bool], every: bool
) -> Iterator[tuple[Node, Node, Node]]:
    """A term as U C V; its number and its scalars are of C."""
    number, scalars, factors = taken_apart(term)
    length = len(factors)
    outermost = 0 if every else 1  # how many factors U and V have at least
    for start in range(outermost, length + 1 - outermost):
        for end in range(start, (length if every else start + 1) + 1 - outermost):
            before, run, after = factors[:start], factors[start:end], factors[end:]
            if not run and (start in (0, length) or isinstance(factors[0], Identity)):
                continue  # of U or V nothing is left
            middle = chained(run) if run else Identity(factors[start].target)
            if run and not (middle.is_square and _is_middle(middle, may_be_inverted)):
                continue
            yield (
                chained(before) if before else Identity(middle.target),
                joined(number, (middle,), scalars),
                chained(after) if after else Identity(middle.source),
            )


def _is_middle(node: Node, may_be_inverted: Callable[[Node], bool]) -> bool:
    return isinstance(node, (Inverse, Identity)) or may_be_inverted(node)


def _inverted_operands(node: Node) -> Iterator[Node]:
    return (x.children[0] for x in _parts(node) if isinstance(x, Inverse))


def _parts(node: Node) -> Iterator[Node]:
    """An expression and everything in it as it reads."""
    yield node
    for child in node.children:
        yield from _parts(child)


def inverts_a_sum(node: Node) -> bool:
    """Whether the matrix inversion lemma is about an expression."""
    return next(_inverted_sums(node), None) is not None


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
