"""Normal forms: what an expression is, whatever way it was typed.

`tidied` keeps the factors as they stand: stars on letters, inverses of single factors, no
neighbours that cancel, like terms added. `polynomial` multiplies out: a sum of words, each
a number, scalars that commute, and letters that do not. Two expressions are equal by the
axioms of the algebra alone where their polynomials are; `spelled` makes an expression of one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

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
    invert,
    scale,
)
from phipsi.algebra.rewriting.singular import is_strict, may_cancel
from phipsi.algebra.rewriting.terms import (
    Number,
    Polynomial,
    Term,
    Word,
    chained,
    gathered,
    is_zero,
    joined,
    multiply_out,
    summed,
    taken_apart,
    totals,
    weighed,
    whole_number,
    zero_like,
)
from phipsi.algebra.spaces import BODY, JOINT, SCALAR, Causality
from phipsi.algebra.stars import starred
from phipsi.errors import InputError

LARGEST = 600  # words of a polynomial
TOO_LONG = (
    f"the expression has more than {LARGEST} terms when it is multiplied out; "
    "derive its parts one by one"
)


# -- tidy --------------------------------------------------------------------------------


def starred_letters(node: Node) -> Node:
    """An expression as it was typed, but for stars, which are on letters."""
    if isinstance(node, Transpose):
        return starred(starred_letters(node.children[0]))
    if not node.children:
        return node
    return node.rebuild(tuple(map(starred_letters, node.children)))


@lru_cache(maxsize=20_000)
def tidied(node: Node, split: bool = True) -> Node:
    """An expression with stars on letters, inverses of single factors, and nothing that cancels.

    Args:
        node: the expression.
        split: whether the inverse of a product becomes the product of inverses.
    """

    def tidy(x: Node) -> Node:
        return tidied(x, split)

    match node:
        case Transpose() if isinstance(node.children[0], (Symbol, Root)):
            return starred(tidy(node.children[0]))
        case Transpose():
            return tidy(starred(node.children[0]))
        case Inverse():
            operand = tidy(node.children[0])
            return inverted(operand) if split else invert(operand)
        case Product():
            return _product(map(tidy, node.children))
        case Sum():
            return _sum(list(map(tidy, node.children)), node)
        case Scaled():
            return _scaled(node, tidy)
        case Bracket() | Diagonal():
            return _linear(node, tidy(node.children[0]))
        case _ if node.children:
            return node.rebuild(tuple(map(tidy, node.children)))
        case _:
            return node


def _linear(node: Node, operand: Node) -> Node:
    """A bracket or a block diagonal, its numbers in front: cross[2 x] = 2 cross[x]."""
    if is_zero(operand):
        return zero_like(node)
    number, scalars, factors = taken_apart(operand)
    inner = chained(factors)
    is_plain = isinstance(node, Diagonal) and is_block_diagonal(inner)
    return joined(number, (inner if is_plain else node.rebuild((inner,)),), scalars)


def is_block_diagonal(node: Node) -> bool:
    """Whether an operator has a block for each body or joint, and no others."""
    between = node.source in (BODY, JOINT) and node.target in (BODY, JOINT)
    return between and node.causality is Causality.MEMORYLESS


def inverted(
    node: Node,
    invert_factor: Callable[[Node], Node] = invert,
    multiply: Callable[[Iterable[Node]], Node] | None = None,
) -> Node:
    """A^-1: of a product the inverses of its factors, in the other order.

    Args:
        node: the operator.
        invert_factor: the inverse of what is no product, multiple or turn: here it stays an
            inverse, the lowering finds its algorithm.
        multiply: the product of inverses; by default without what cancels.
    """
    multiply = multiply or _product

    def inverse_of(x: Node) -> Node:
        return inverted(x, invert_factor, multiply)

    match node:
        case Scaled() if not isinstance(node.factor, Node) and node.factor != 0:
            return scale(1 / node.factor, inverse_of(node.children[-1]))
        case Scaled() if isinstance(node.factor, Node):
            return scale(invert(node.factor), inverse_of(node.children[-1]))
        case Product() if all(x.is_square and not x.is_scalar for x in node.factors):
            return multiply(inverse_of(x) for x in reversed(node.factors))
        case Symbol() if node.record.orthogonal:  # a turn
            return starred(node)
        case _:
            return invert_factor(node)


def _product(factors: Iterable[Node]) -> Node:
    number: Number = 1
    scalars: list[Node] = []
    word: list[Node] = []
    for factor in factors:
        own, others, parts = taken_apart(factor)
        number *= own
        scalars += others
        for part in parts:
            if isinstance(part, Identity) and word:
                continue
            target = word[0].target if word else part.target
            if word and isinstance(word[-1], Identity):
                word.pop()
            append_factor(word, part)
            if not word:
                word.append(Identity(target))
    if number == 0 or any(map(_are_apart, word, word[1:])):
        return zero_like(chained(word))
    return weighed(number, word, scalars)


def append_factor(word: list[Node], factor: Node) -> None:
    """A factor behind others, and what cancels gone: X X^-1 = I, also for a product X.

    Where X is a product of factors that are not square, such as J Mass^-1 J*, its inverse is
    one factor, and X a run of several.
    """
    if word and word[-1] == factor and isinstance(factor, Symbol) and factor.record.selects:
        return
    word.append(factor)
    for place in range(len(word) - 1):
        if is_cancelled_run(word[place:]):
            del word[place:]
            return


def _are_apart(left: Node, right: Node) -> bool:
    """Whether two neighbours select different bodies, by numbers from the same end.

    Names may be of one body, and so may numbers from the base and from the tip, which are
    negative.
    """
    if not (isinstance(left, Symbol) and isinstance(right, Symbol)):
        return False
    both = *left.arguments, *right.arguments
    by_number = len(both) == 2 and all(isinstance(x, int) for x in both)
    if not (left.record.selects and right.record.selects and by_number):
        return False
    return both[0] != both[1] and (both[0] < 0) == (both[1] < 0)


def is_cancelled_run(run: Sequence[Node]) -> bool:
    """Whether a run of factors is an operator beside its inverse."""
    first, last = run[0], run[-1]
    if len(run) == 2:
        return are_inverse(first, last)
    for one, others in ((last, run[:-1]), (first, run[1:])):
        if isinstance(one, Inverse) and one.children[0].factors == tuple(others):
            return may_cancel(one)
    return False


def are_inverse(left: Node, right: Node) -> bool:
    """Whether two neighbours cancel."""
    if not (left.is_square and right.is_square):
        return False
    for one, other in ((left, right), (right, left)):
        if inverted(one) == other or _is_inverse_of_terms(one, other):
            return may_cancel(one)
    return False


def _is_inverse_of_terms(one: Node, other: Node) -> bool:
    """Whether one is the inverse of the other's terms in another order."""
    if not (isinstance(one, Inverse) and isinstance(other, Sum)):
        return False
    return Counter(one.children[0].terms) == Counter(other.terms)


def number_and_factors(node: Node) -> tuple[Number, tuple[Node, ...]]:
    """A term as its number and its factors, one of them `k A` where a scalar k weighs A."""
    number, _, factors = taken_apart(node, weighted=False)
    return number, factors


def terms_of(node: Node) -> Iterator[Term]:
    """The terms of an expression, taken apart; those of scaled sums multiplied out."""
    for term in node.terms:
        number, scalars, factors = taken_apart(term)
        if len(factors) == 1 and isinstance(factors[0], Sum):
            for own, others, parts in terms_of(factors[0]):
                yield Term(number * own, scalars + others, parts)
        else:
            yield Term(number, scalars, factors)


def _sum(terms: Sequence[Node], whole: Node) -> Node:
    """Like terms added, in the order of their first appearance."""
    parts = (taken_apart(part) for one in terms for part in one.terms)
    numbers = totals(((scalars, factors), number) for number, scalars, factors in parts)
    kept = [(number, key) for key, number in numbers.items()]
    if not kept:
        return zero_like(whole)
    return summed([joined(number, factors, scalars) for number, (scalars, factors) in kept])


def _scaled(node: Scaled, tidy: Callable[[Node], Node]) -> Node:
    operand = tidy(node.children[-1])
    if not isinstance(node.factor, Node):
        return zero_like(operand) if node.factor == 0 else _product((scale(node.factor, operand),))
    own, others, parts = taken_apart(tidy(node.factor))
    number, scalars, factors = taken_apart(operand)
    if own == 0 or number == 0:
        return zero_like(operand)
    return weighed(own * number, factors, (*others, chained(parts), *scalars))


def vanishes(node: Node) -> bool:
    """Whether a tidy expression is zero by the axioms, once it is multiplied out."""
    try:
        return not words_of(node)
    except InputError:  # too long
        return False


# -- polynomials -----------------------------------------------------------------------


@lru_cache(maxsize=20_000)
def words_of(node: Node) -> tuple[tuple[Word, Number], ...]:
    """The words of a tidy expression, and how often each occurs."""
    return tuple(_multiplied_out(node).items())


def polynomial(node: Node) -> Polynomial:
    """A tidy expression multiplied out."""
    return dict(words_of(node))


def _multiplied_out(node: Node) -> Polynomial:
    match node:
        case Sum() | Scaled() | Product() | Identity():
            return multiply_out(node, _words_of_part, _times)
        case Transpose() | Symbol():
            return totals((_entry((), (node,)),))
        case Bracket() | Diagonal():
            return totals(_linear_words(node))
        case Inverse():
            return _inverse_words(canonical(node.children[0]))
        case _:
            inner = node.rebuild(tuple(canonical(x) for x in node.children))
            return totals((_entry((), (inner,)),))


def _words_of_part(node: Node) -> Polynomial:
    return polynomial(tidied(node) if node.is_scalar else node)


def _linear_words(node: Node) -> Iterator[tuple[Word, Number]]:
    """A bracket, or a block diagonal, of each word: what is block diagonal needs no other."""
    for word, number in words_of(node.children[0]):
        if isinstance(node, Bracket):
            yield Word(word.scalars, (node.rebuild((chained(word.factors),)),)), number
            continue
        first, last = 0, len(word.factors)
        while first < last and is_block_diagonal(word.factors[first]):
            first += 1
        while last > first and is_block_diagonal(word.factors[last - 1]):
            last -= 1
        inner = word.factors[first:last]
        if inner and is_strict(chained(inner)):
            continue
        middle = (node.rebuild((chained(inner),)),) if inner else ()
        yield Word(word.scalars, (*word.factors[:first], *middle, *word.factors[last:])), number


def _inverse_words(operand: Node) -> Polynomial:
    """The inverse of a canonical operator; of a sum, with what its terms have in common outside.

    (2 A + 2 k B)^-1 = 0.5 (A + k B)^-1, and (k A + k m B)^-1 = k^-1 (A + m B)^-1.
    """
    if not isinstance(operand, Sum):
        new = inverted(operand)
        if not isinstance(new, Inverse):  # it came out simpler
            return polynomial(tidied(new))
        return totals((_entry((), (new,)),))
    words = words_of(operand)
    powers = [_powers(word.scalars) for word, _ in words]
    bases = dict.fromkeys(base for one in powers for base in one)
    least = {base: min(one[base] for one in powers) for base in bases}
    if any(least.values()):
        divided = [
            (Word(_spelled_powers({x: one[x] - least[x] for x in one | least}), w.factors), n)
            for (w, n), one in zip(words, powers, strict=True)
        ]
    else:
        divided = list(words)
    number = max(divided, key=_length_of_word)[1]
    inner = spelled(dict(_in_order((w, whole_number(n / number)) for w, n in divided)), operand)
    outer = _spelled_powers({x: -n for x, n in least.items()})
    if any(isinstance(base, Sum) for base, n in least.items() if n):  # still to be multiplied out
        return polynomial(tidied(joined(1 / number, (invert(canonical(inner)),), outer)))
    word, own = _entry(outer, (invert(inner),))
    return _inverses_undone({word: own / number})


def _powers(scalars: Iterable[Node]) -> Counter[Node]:
    """How often each scalar is a factor; an inverse counts against it."""
    found: Counter[Node] = Counter()
    for one in scalars:
        base = one.children[0] if isinstance(one, Inverse) else one
        found[base] += -1 if isinstance(one, Inverse) else 1
    return found


def _spelled_powers(powers: Mapping[Node, int]) -> tuple[Node, ...]:
    parts = ((x if n > 0 else invert(x),) * abs(n) for x, n in powers.items())
    return _sorted(x for part in parts for x in part)


def _length_of_word(pair: tuple[Word, Number]) -> tuple[int, str]:
    return len(pair[0].factors), str(pair[0])


def _in_order(words: Iterable[tuple[Word, Number]]) -> list[tuple[Word, Number]]:
    return sorted(words, key=_length_of_word)


def _times(left: Polynomial, right: Polynomial) -> Polynomial:
    if len(left) * len(right) > LARGEST:
        raise InputError(TOO_LONG)
    words = totals(
        (Word((*a.scalars, *b.scalars), _cancelled(a.factors, b.factors)), x * y)
        for a, x in left.items()
        for b, y in right.items()
        if not (a.factors and b.factors and _are_apart(a.factors[-1], b.factors[0]))
    )
    undone = _inverses_undone(words)  # before factors that are one number stand among the scalars
    entries = (_scaled_entry(n, word.scalars, word.factors) for word, n in undone.items())
    return _inverses_undone(totals(entries))


def _inverses_undone(words: Polynomial) -> Polynomial:
    """X X^-1 = I for a sum X that was multiplied out: its leading term gives way.

    With X = A + B, A the longest: A X^-1 = I - B X^-1, and X^-1 A = I - X^-1 B.
    """
    for _ in range(LARGEST):
        if not any(any(map(_is_inverse_of_sum, (*x.factors, *x.scalars))) for x in words):
            break
        found = next(((x, y) for x in words if (y := _one_undone(x)) is not None), None)
        if found is None:
            break
        word, new = found
        number = words[word]
        rest = [(x, y) for x, y in words.items() if x != word]
        words = totals([*rest, *((x, number * y) for x, y in new.items())])
        if len(words) > LARGEST:
            raise InputError(TOO_LONG)
    else:
        raise InputError(TOO_LONG)
    return words


def _one_undone(word: Word) -> Polynomial | None:
    """A word in which the leading term of a sum stands beside the inverse of the sum."""
    factors = word.factors
    for scalar in filter(_is_inverse_of_sum, word.scalars):
        lead, number, others = _leading(scalar.children[0])
        rest = Counter(word.scalars) - Counter(lead.scalars)
        if lead.scalars and rest.total() == len(word.scalars) - len(lead.scalars):
            kept = tuple((rest - Counter((scalar,))).elements())
            made = [(Word(_sorted(kept), factors), 1 / number)]
            for other, own in others:
                made.append(
                    _scaled_entry(-own / number, (*rest.elements(), *other.scalars), factors)
                )
            return totals((x, whole_number(y)) for x, y in made)
    for place, factor in enumerate(factors):
        if not _is_inverse_of_sum(factor):
            continue
        lead, number, others = _leading(factor.children[0])
        run, n = lead.factors, len(lead.factors)
        for start in (place - n, place + 1):
            if n == 0 or start < 0 or factors[start : start + n] != run:
                continue
            first, last = min(start, place), max(start + n, place + 1)
            outer = factors[:first], factors[last:]
            made = [(Word(word.scalars, _cancelled(*outer)), 1 / number)]
            for other, own in others:
                inner = (*other.factors, factor) if start < place else (factor, *other.factors)
                whole = _cancelled(_cancelled(outer[0], inner), outer[1])
                made.append(_scaled_entry(-own / number, (*word.scalars, *other.scalars), whole))
            return totals((x, whole_number(y)) for x, y in made)
    return None


def _is_inverse_of_sum(node: Node) -> bool:
    return isinstance(node, Inverse) and isinstance(node.children[0], Sum)


@lru_cache(maxsize=5_000)
def _leading(node: Node) -> tuple[Word, Number, tuple[tuple[Word, Number], ...]]:
    """The word of a sum that gives way beside its inverse, its number, and the other words.

    Of an operator the longest one without scalars; nothing ends where another word begins or
    ends with it. An empty word where there is none.
    """
    words = words_of(node)
    for lead, number in reversed(_in_order(words)):
        others = tuple(x for x in words if x[0] != lead)
        if node.is_scalar:
            return lead, number, others
        n = len(lead.factors)
        again = (
            any(lead.factors in (x.factors[:n], x.factors[-n:]) for x, _ in others) if n else True
        )
        if not lead.scalars and not again and may_cancel(node):
            return lead, number, others
    return Word((), ()), 1, ()


def _entry(scalars: Iterable[Node], factors: Sequence[Node]) -> tuple[Word, Number]:
    """A word whose factors that are numbers stand among its scalars, and its number."""
    found, start = list(scalars), 0
    number: Number = 1
    kept: list[Node] = []
    for end, factor in enumerate(factors, 1):
        if factor.source is SCALAR or end == len(factors):
            part = tuple(factors[start:end])
            if part[0].target is SCALAR and factor.source is SCALAR:
                own, more = _scalar(part)
                number *= own
                found += more
            else:
                kept += part
            start = end
    return Word(_sorted(gathered(found)), tuple(kept)), number


def _scaled_entry(
    number: Number, scalars: Iterable[Node], factors: Sequence[Node]
) -> tuple[Word, Number]:
    word, own = _entry(scalars, factors)
    return word, number * own


@lru_cache(maxsize=5_000)
def _scalar(factors: tuple[Node, ...]) -> tuple[Number, tuple[Node, ...]]:
    """One number, which is its own star: x* A y = y* A* x, of both the first by its letters."""
    whole = chained(factors)
    if len(factors) == 1:
        return 1, (whole,)
    number: Number = 1
    scalars: tuple[Node, ...] = ()
    turned: list[Node] = []
    for factor in reversed(factors):
        words = words_of(tidied(starred(factor)))
        if len(words) != 1:
            return 1, (whole,)
        ((word, own),) = words
        number, scalars, turned = number * own, scalars + word.scalars, [*turned, *word.factors]
    star = chained(turned)
    return (1, (whole,)) if str(whole) <= str(star) else (number, (*scalars, star))


def _cancelled(left: tuple[Node, ...], right: tuple[Node, ...]) -> tuple[Node, ...]:
    word = list(left)
    for factor in right:
        append_factor(word, factor)
    return tuple(word)


def _sorted(scalars: Iterable[Node]) -> tuple[Node, ...]:
    return tuple(sorted(scalars, key=str))


def spelled(words: Polynomial, like: Node) -> Node:
    """The expression that a polynomial is, term by term; `like` knows its spaces."""
    if not words:
        return zero_like(like)
    return summed([term_of(number, word, like) for word, number in words.items()])


def term_of(number: Number, word: Word, like: Node) -> Node:
    """A word as a term of an expression."""
    if word.factors:
        return joined(number, word.factors, word.scalars)
    if like.is_scalar and word.scalars:
        return joined(number, word.scalars[:1], word.scalars[1:])
    return joined(number, (Identity(like.source),), word.scalars)


@lru_cache(maxsize=20_000)
def canonical(node: Node) -> Node:
    """One expression for all that are equal by the axioms: multiplied out, its terms sorted."""
    node = tidied(node)
    words = polynomial(node)
    return spelled(dict(_in_order(words.items())), node)


def are_equal(left: Node, right: Node) -> bool:
    """Whether two expressions are equal by the axioms of the algebra alone.

    >>> from phipsi.operators import H, I, psi, K
    >>> are_equal((I - H @ psi @ K).T, I - K.T @ psi.T @ H.T)
    True
    """
    return key_of(left) == key_of(right)


def key_of(node: Node) -> Hashable:
    """What all expressions share that are equal by the axioms; of all zeros, their spaces."""
    one = canonical(node)
    return (one.source, one.target) if is_zero(one) else _rounded(one)


@lru_cache(maxsize=20_000)
def _rounded(node: Node) -> Node:
    """An expression with numbers to twelve digits: those that roundoff tells apart are one."""
    if not node.children or isinstance(node, Transpose):
        return node
    children = tuple(map(_rounded, node.children))
    if isinstance(node, Scaled) and isinstance(node.factor, float):
        return Scaled(whole_number(float(f"{node.factor:.12g}")), children[0])
    return node if children == node.children else node.rebuild(children)


@lru_cache(maxsize=50_000)
def atoms_of(node: Node) -> frozenset[Node | str]:
    """Every letter, starred or not, and the names of brackets; not those of definitions."""
    if isinstance(node, Transpose) or not node.children:
        return frozenset((node,))
    own = {node.name} if isinstance(node, Bracket) else set()
    return frozenset(own).union(*map(atoms_of, node.children))


def forget() -> None:
    """Let go of what was kept of expressions that were looked at."""
    for function in (tidied, words_of, canonical, atoms_of, _leading, _scalar, _rounded):
        function.cache_clear()
