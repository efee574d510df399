"""Stars: the transpose of an expression, pushed to its letters."""

from __future__ import annotations

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


def is_self_adjoint(letter: Symbol) -> bool:
    """Whether a letter is its own star: M and the like, and a user's that was said to be."""
    return letter.record.symmetric


def star_of_letter(letter: Symbol) -> Node:
    """A* of a letter."""
    if is_self_adjoint(letter):
        return letter
    return transpose(letter) if letter.record.star is None else letter.record.star(letter)


def starred(node: Node) -> Node:
    """A*, the star on letters."""
    if node.is_scalar:
        return node
    match node:
        case Sum():
            return reduce(add, map(starred, node.children))
        case Product():
            return reduce(compose, map(starred, reversed(node.children)))
        case Scaled():
            return scale(node.factor, starred(node.children[-1]))
        case Inverse():
            return invert(starred(node.children[0]))
        case Diagonal():
            return Diagonal(starred(node.children[0]))
        case Bracket():
            return -Bracket(node.opened.star, node.children[0])  # S[x]* = -x~, Q[x]* = -Q[x]
        case Symbol():
            return star_of_letter(node)
        case _:
            return transpose(node)
