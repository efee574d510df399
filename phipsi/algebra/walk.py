"""Going through an expression."""

from collections.abc import Iterator, Mapping, Sequence

from phipsi.algebra.families import Family
from phipsi.algebra.node import Node, Symbol


def walk(node: Node) -> Iterator[Node]:
    """Every expression inside one, definitions included, each once, as first met."""
    stack, seen = [node], set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        stack.extend(reversed(made_of(node)))


def made_of(node: Node) -> tuple[Node, ...]:
    """What an expression is made of: its children, or what a letter stands for."""
    if not isinstance(node, Symbol):
        return node.children
    if node.definition is not None:
        return (node.definition,)
    families = (x for x in node.arguments if isinstance(x, Family))
    return tuple(part for family in families for part in family.parts)


def letters_of(expressions: Sequence[Node]) -> list[Symbol]:
    """Every letter in some expressions, definitions included, each once, as first met."""
    found = (x for one in expressions for x in walk(one) if isinstance(x, Symbol))
    return list(dict.fromkeys(found))


def replace_letters(node: Node, words: Mapping[Node, Node]) -> Node:
    """An expression with others in the place of some letters, or of identities."""
    if node in words:
        return words[node]
    if not node.children:
        return node
    return node.rebuild(tuple(replace_letters(x, words) for x in node.children))
