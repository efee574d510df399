"""The normal form: what an expression is before any rule is tried.

    J Mass^-1 J*        B* phi* H* (H phi M phi* H* + Jm)^-1 H phi B
    Mass^-1 Mass T      T

Everything is tidy: stars on letters, inverses of single factors, like terms added, and nothing
left that cancels. Letters that are only short for what they are made of are unfolded. `compile`
and `derive` begin here, both of them; `derive` also tells the steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from phipsi.algebra.alphabet import Letter
from phipsi.algebra.identities.equation import IDENTITIES
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.rewriting.normal import starred_letters, tidied, vanishes
from phipsi.algebra.rewriting.price import price
from phipsi.algebra.rewriting.rules import is_shorthand
from phipsi.algebra.rewriting.terms import zero_like


class Unfolding(NamedTuple):
    """One step to the normal form: by a definition, or by the axioms where `letter` is None."""

    before: Node
    after: Node
    letter: Symbol | None = None


def normal_form(node: Node) -> Node:
    """An expression tidy, its shorthands unfolded.

    >>> from phipsi.operators import J, Mass, T
    >>> normal_form(Mass.inv @ Mass @ T)
    T
    >>> normal_form(J @ J.T)
    B.T @ phi.T @ H.T @ H @ phi @ B
    """
    return open_up(node)[0]


def open_up(
    start: Node, barred: Collection[str] = (), kept: Collection[Node] = ()
) -> tuple[Node, list[Unfolding]]:
    """The normal form, and the steps to it that are worth telling.

    Args:
        start: the expression.
        barred: names of identities that must not be used, "definition of C" among them.
        kept: shorthands that are left as they are.
    """
    folded = {identify(x) for x in kept if isinstance(x, Symbol)}
    steps: list[Unfolding] = []

    def tidy(node: Node) -> Node:
        """A step by the axioms, told where that made it cheaper."""
        after, read = tidied(node), starred_letters(node)
        if vanishes(after):
            after = zero_like(after)
        if price(after) < price(read):
            steps.append(Unfolding(read, after))
        return after

    def shorthand(node: Node) -> Symbol | None:
        letters = (x for x in letters_in(node) if is_shorthand(x) and identify(x) not in folded)
        return next((x for x in letters if name_of_definition(x) not in barred), None)

    end = tidy(start)
    letter = shorthand(end)
    while letter is not None:
        made = tidied(_unfolded(end, letter), split=False)
        steps.append(Unfolding(end, made, letter))
        end = tidy(made)
        letter = shorthand(end)
    return end, steps


def letters_in(node: Node) -> Iterator[Symbol]:
    """Every letter of an expression as it reads, as often as it occurs."""
    if isinstance(node, Symbol):
        yield node
    for child in node.children:
        yield from letters_in(child)


def identify(letter: Symbol) -> tuple[str, Letter]:
    """What a letter shares with itself of other arguments, and with no other letter.

    The name alone does not tell: a user's letter may have that of one of the papers.
    """
    return letter.name, letter.record


def name_of_definition(letter: Symbol) -> str | None:
    """The name of the identity that defines a letter of the papers; None of a user's own."""
    name = f"definition of {letter.name}"
    known = IDENTITIES.get(name)
    if known is None or identify(letter) not in map(identify, letters_in(known.left)):
        return None
    return name


def _unfolded(node: Node, letter: Symbol) -> Node:
    """The definitions of a letter in its places, whatever its arguments."""
    if isinstance(node, Symbol) and identify(node) == identify(letter):
        return node if node.definition is None else node.definition
    if not node.children:
        return node
    return node.rebuild(tuple(_unfolded(x, letter) for x in node.children))
