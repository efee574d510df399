"""Parts that occur more than once, by a name each: nu - K* psi* (H* nu + a), with nu = ... .

A part is a sum, an inverse, or a run of factors; its star counts as well. Equal parts are
computed once whether they have names or not: this is for the reader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count

from phipsi.algebra.node import Identity, Node, Product, Symbol, Transpose, compose, transpose
from phipsi.algebra.rewriting.collect import presented
from phipsi.algebra.rewriting.normal import atoms_of, tidied
from phipsi.algebra.rewriting.terms import chained
from phipsi.algebra.spaces import SCALAR
from phipsi.algebra.stars import starred

LEAST = 3  # letters of a part that is worth a name
MOST = 5  # names in one expression


def with_names(node: Node) -> tuple[Node, dict[Symbol, Node]]:
    """An expression in which parts that occur more than once have names, and what these are.

    >>> from phipsi.operators import D, H, K, psi, T, a
    >>> nu = D.inv @ (T - H @ psi @ K @ T)
    >>> short, parts = with_names(nu - K.T @ psi.T @ (H.T @ nu + a))
    >>> short
    x1 - K.T @ psi.T @ (H.T @ x1 + a)
    >>> parts
    {x1: D.inv @ (T - H @ psi @ K @ T)}
    """
    node = tidied(node)
    taken = {x.name for x in atoms_of(node) if isinstance(x, Symbol)}
    parts: dict[Symbol, Node] = {}
    for number in count(1):
        part = _worthiest(node)
        if part is None or len(parts) == MOST:
            break
        letter = "x" if part.source is SCALAR else "A"
        name = next(f"{letter}{i}" for i in count(number) if f"{letter}{i}" not in taken)
        assert part.source is not None and part.target is not None
        symbol = Symbol(name, part.source, part.target, part.causality, free=True)
        taken.add(name)
        node = _replaced(node, part, symbol)
        parts = {x: _replaced(y, part, symbol) for x, y in parts.items()}
        parts[symbol] = part
    return presented(node), {x: presented(parts[x]) for x in _in_order(parts)}


def _in_order(parts: Mapping[Symbol, Node]) -> list[Symbol]:
    """The names, each behind those that it is made of."""
    ordered: list[Symbol] = []

    def place(name: Symbol) -> None:
        if name in parts and name not in ordered:
            for letter in atoms_of(parts[name]):
                inner = letter.children[0] if isinstance(letter, Transpose) else letter
                if isinstance(inner, Symbol):
                    place(inner)
            ordered.append(name)

    for name in parts:
        place(name)
    return ordered


def _worthiest(node: Node) -> Node | None:
    """The part whose name saves most letters."""
    found = Counter(_key(part) for part in _parts(node))
    best, fewest = None, _letters(node) - 1
    for part in (x for x, times in found.items() if times > 1):
        assert part.source is not None and part.target is not None
        named = _replaced(node, part, Symbol("?", part.source, part.target, free=True))
        letters = _letters(named) + _letters(part)
        if letters < fewest:
            best, fewest = part, letters
    return best


def _key(part: Node) -> Node:
    """A part or its star: the one with fewer stars."""
    star = tidied(starred(part))
    return star if _stars(star) < _stars(part) else part


def _parts(node: Node) -> Iterator[Node]:
    """Every part that may get a name, as often as it occurs."""
    if isinstance(node, Transpose) or not node.children:
        return
    if isinstance(node, Product):
        factors = node.factors
        for i in range(len(factors)):
            for j in range(i + 1, len(factors) + 1):
                run = chained(factors[i:j])
                if j > i + 1 and _letters(run) >= LEAST and not run.is_scalar:
                    yield run
    elif _letters(node) >= LEAST and not node.is_scalar and node.source is not None:
        yield node
    for child in node.children:
        yield from _parts(child)


def _replaced(node: Node, part: Node, symbol: Symbol) -> Node:
    star = tidied(starred(part))
    for pattern, name in ((part, symbol), (star, transpose(symbol))):
        if node == pattern:
            return name
    if isinstance(node, Transpose) or not node.children:
        return node
    if isinstance(node, Product):
        factors = node.factors
        for pattern, name in ((part, symbol), (star, transpose(symbol))):
            run = pattern.factors
            for i in range(len(factors) - len(run) + 1):
                if factors[i : i + len(run)] == run:
                    rest = (*factors[:i], name, *factors[i + len(run) :])
                    return _replaced(_joined(rest), part, symbol)
    return node.rebuild(tuple(_replaced(x, part, symbol) for x in node.children))


def _joined(factors: tuple[Node, ...]) -> Node:
    result = factors[0]
    for factor in factors[1:]:
        result = compose(result, factor)
    return result


def _letters(node: Node) -> int:
    if isinstance(node, Transpose) or not node.children:
        return 0 if isinstance(node, Identity) else 1
    return sum(map(_letters, node.children))


def _stars(node: Node) -> int:
    if isinstance(node, Transpose):
        return 1
    return sum(map(_stars, node.children))
