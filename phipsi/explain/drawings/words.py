"""Words of a drawing: expressions as the papers write them, lines that fit."""

from __future__ import annotations

from phipsi.algebra.node import Node
from phipsi.algebra.spaces import SCALAR
from phipsi.explain.drawings.svg import text_width


def written(node: Node) -> str:
    """An expression as the papers write it."""
    return node.unicode()


def spaces_of(node: Node) -> str:
    """What an expression maps, as a clause.

    >>> from phipsi.operators import H, V
    >>> spaces_of(H), spaces_of(V)
    ('maps body space to joint space', 'a vector of body space')
    """
    if node.is_scalar:
        return "a number"
    if SCALAR in (node.source, node.target):
        star = "" if node.is_vector else ", transposed"
        return f"a vector of {node.target if node.is_vector else node.source}{star}"
    return f"maps {node.source} to {node.target}"


def plural(count: int, word: str) -> str:
    """A number of things.

    >>> plural(1, "block"), plural(3, "block")
    ('1 block', '3 blocks')
    """
    return f"{count} {word}{'s' * (count != 1)}"


def wrapped(words: str, width: float, size: float) -> list[str]:
    """Lines that fit a width, broken at blanks; a longer word stands alone.

    >>> wrapped("one two three", 50.0, 10.0)
    ['one two', 'three']
    """
    lines: list[str] = []
    for word in filter(None, words.split(" ")):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
