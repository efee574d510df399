"""What is said of expressions that do not fit, and what to write instead.

The nodes stand on this file, and this file on the nodes: those are imported where a
message is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING

from phipsi.algebra.spaces import BODY, SCALAR

if TYPE_CHECKING:
    from phipsi.algebra.node import Node


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
    from phipsi.algebra.text.python import PRODUCT, inside

    inner, outer = left.factors[-1], right.factors[0]
    starts = "is a vector" if inner.is_vector else f"starts from {inner.source}"
    a, b = inside(inner, PRODUCT, leftmost=inner is left), inside(outer, PRODUCT)
    text = f"cannot compose {a} @ {b} in `{whole}`\n"
    text += f"  {maps(outer).replace('`', '')}; {a} {starts}."
    if left.is_scalar or right.is_scalar:
        return f"{text} Scalars multiply by *."
    if right.source is left.source and not right.is_vector:
        return f"{text} Did you mean {inside(right.T, PRODUCT)}?"
    if left.target is right.target:
        return f"{text} Did you mean {inside(left.T, PRODUCT)}?"
    return text


def no_sum(left: Node, right: Node, whole: Node) -> str:
    """Why left + right = whole is none."""
    crossed = left.source is right.target and left.target is right.source
    hint = f". Did you mean {right.T}?" if crossed else ""
    return f"cannot add `{left}` and `{right}` in `{whole}`\n  {maps(left)}; {maps(right)}{hint}"


def no_scaling(left: Node, right: Node) -> str:
    """Why left * right is none, and which product there is."""
    from phipsi.algebra.node import Product

    advice = "operators compose by @"
    for first in (left, left.T):
        if first.source is right.target or None in (first.source, right.target):
            advice = f"did you mean `{Product(*first.factors, *right.factors)}`?"
            break
    return f"cannot multiply `{left}` and `{right}` by *\n  * is for scalars; {advice}"


def no_power(node: Node) -> str:
    """What to write for node ** n."""
    if node.is_square:
        advice = f"write {node * node if node.is_scalar else node @ node}, or .inv, or .sqrt"
    elif node.is_vector:
        advice = f"write {node.T @ node}"
    else:
        advice = f"{maps(node)}; only what maps a space to itself has powers"
    return f"cannot raise `{node}` to a power; {advice}"


def no_function(node: Node, arguments: Sequence[object]) -> str:
    """What to write for node(arguments)."""
    from phipsi.algebra.node import Node, Product, scale

    only = arguments[0] if len(arguments) == 1 else None
    advice = "evaluate it by pp.compile(model, expression)(q, ...)"
    if isinstance(only, Node):
        advice = f"write {Product(*node.factors, *only.factors)}"
    elif isinstance(only, Real):
        advice = f"write {scale(only, node)}"
    return f"`{node}` is no function; {advice}"


def no_operand(other: object, form: str, node: Node) -> str:
    """Why something is no operand beside a node.

    Args:
        form: of the operation, with braces where the node stands.
    """
    from phipsi.algebra.node import Opener

    expression = form.format(node)
    if isinstance(other, Real):
        advice = f"write {other} * I"
        if "@" not in form and not node.is_square:
            maker = "vector" if SCALAR in (node.source, node.target) else "operator"
            advice = f"name what you add with operators.{maker}(...)"
        return f"a number has no space in `{expression}`; {advice}"
    if isinstance(other, Opener):
        return (
            f"{other.name} is no operator by itself in `{expression}`; write {other.name}[x] "
            f"with a vector x of {BODY}"
        )
    return (
        f"{type(other).__name__} is no operator or vector in `{expression}`; name it with "
        "operators.vector(...) or operators.operator(...) and pass its value at evaluation"
    )


def in_brackets(name: str, arguments: Sequence[object]) -> str:
    """How to write name(x), where name opens a bracket."""
    is_vector = len(arguments) == 1 and getattr(arguments[0], "is_vector", False)
    x = arguments[0] if is_vector else "x"
    return f"{name} takes a vector of bodies in brackets; write {name}[{x}]"
