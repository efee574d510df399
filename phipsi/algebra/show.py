"""How expressions look: what was typed, and why it does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phipsi.algebra.node import Node

# How tightly Python binds: * and @ alike and from the left, so `2 * A @ B` is (2 A) B.
SUM, PRODUCT, ATOM = 0, 1, 2


def inside(node: Node, parent: Node, leftmost: bool = False) -> str:
    """A child's text, in parentheses where Python would read it otherwise without."""
    own, bound = node.binding, parent.binding
    if own < bound or (own == bound < ATOM and not leftmost):
        return f"({node})"
    return str(node)


def maps(node: Node) -> str:
    """What a node maps between, as a clause."""
    if node.source is None:
        return f"`{node}` maps a space that is still open to itself"
    if node.is_vector:
        return f"`{node}` is a vector of {node.target}"
    return f"`{node}` maps {node.source} to {node.target}"


def misfit(left: Node, right: Node, whole: Node) -> str:
    """Why left @ right = whole is none, and which transpose would fit.

    Args:
        whole: the product as it would be, for the message.
    """
    inner, outer = left.factors[-1], right.factors[0]
    starts = "is a vector" if inner.is_vector else f"starts from {inner.source}"
    a, b = inside(inner, whole, leftmost=inner is left), inside(outer, whole)
    text = f"cannot compose {a} @ {b} in `{whole}`\n"
    text += f"  {maps(outer).replace('`', '')}; {a} {starts}."
    if left.is_scalar or right.is_scalar:
        return f"{text} Scalars multiply by *."
    if right.source is left.source and not right.is_vector:
        return f"{text} Did you mean {inside(right.T, whole)}?"
    if left.target is right.target:
        return f"{text} Did you mean {inside(left.T, whole)}?"
    return text


def in_brackets(name: str, arguments: Sequence[object]) -> str:
    """How to write name(x), where name opens a bracket."""
    is_vector = len(arguments) == 1 and getattr(arguments[0], "is_vector", False)
    x = arguments[0] if is_vector else "x"
    return f"{name} takes a vector of bodies in brackets; write {name}[{x}]"
