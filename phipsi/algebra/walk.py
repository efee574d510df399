"""Going through an expression."""

from collections.abc import Iterator

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
        stack.extend(reversed(node.children))
        if isinstance(node, Symbol) and node.definition is not None:
            stack.append(node.definition)
