"""Stars: the transpose of an expression, pushed to its letters."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from phipsi.algebra.node import (
    Bracket,
    Diagonal,
    Inverse,
    Node,
    Product,
    Scaled,
    Sum,
    Symbol,
    add,
    compose,
    invert,
    scale,
    transpose,
)

SWAPPED = {"S": "cross", "cross": "S", "Q": "Q"}  # S[x]* = -x~, Q[x]* = -Q[x]


def is_self_adjoint(letter: Symbol) -> bool:
    """Whether a letter is its own star: M and the like, and a user's that was said to be."""
    return letter.record.symmetric


def star_of_letter(letter: Symbol) -> Node:
    """A* of a letter."""
    return letter if is_self_adjoint(letter) else transpose(letter)


def starred(node: Node, of_letter: Callable[[Symbol], Node] = star_of_letter) -> Node:
    """A*, the star on letters.

    Args:
        node: A.
        of_letter: the star of a letter.
    """
    if node.is_scalar:
        return node

    def star(x: Node) -> Node:
        return starred(x, of_letter)

    match node:
        case Sum():
            return reduce(add, map(star, node.children))
        case Product():
            return reduce(compose, map(star, reversed(node.children)))
        case Scaled():
            return scale(node.factor, star(node.children[-1]))
        case Inverse():
            return invert(star(node.children[0]))
        case Diagonal():
            return Diagonal(star(node.children[0]))
        case Bracket():
            return -Bracket(SWAPPED[node.name], node.children[0])
        case Symbol():
            return of_letter(node)
        case _:
            return transpose(node)
