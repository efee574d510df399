"""Which statements need which, and which must share a loop.

Statements depend on each other through slots. An argument read at the same
place may be made in the same loop; one read at the parent must be made in the
same base_to_tip loop or in an earlier one; one pushed by the children in the
same tip_to_base loop or in an earlier one; one gathered over the machine in an
earlier one. Statements that depend on themselves form a recursion and share a
loop, whose direction they decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phipsi.errors import LoweringError
from phipsi.lowering.program import At, Direction, Effect, Slot, Statement

INWARD, OUTWARD = Direction.TIP_TO_BASE, Direction.BASE_TO_TIP
Way = Direction | str  # a direction for a step between bodies, "own", or "all" bodies


@dataclass(frozen=True)
class Edge:
    """Statement `user` needs what statement `maker` makes."""

    maker: int
    user: int
    way: Way


@dataclass
class Group:
    """Statements that must share a loop: a recursion, or one statement alone."""

    members: list[int]
    direction: Direction | None
    once: bool  # runs once, before a loop


def edges_of(statements: Sequence[Statement]) -> list[Edge]:
    """Of each argument, who makes it."""
    makers: dict[Slot, list[int]] = {}
    for i, statement in enumerate(statements):
        if statement.target is not None:
            makers.setdefault(statement.target, []).append(i)
    edges = []
    for i, statement in enumerate(statements):
        for read in statement.arguments:
            for maker in makers[read.slot]:
                edges.append(Edge(maker, i, _way(statements[maker], statement, read.at)))
    return edges


def _way(maker: Statement, user: Statement, at: At) -> Way:
    if maker.effect in (Effect.GATHER, Effect.EMIT):
        return "all"
    if maker.domain.kind == "world" or _is_input_at_points(maker):
        return "own"
    if user.domain.kind == "world":
        return "all"
    if at is At.EACH_POINT and maker.domain.points not in user.options:
        return "all"  # points on other bodies
    if maker.effect is Effect.PUSH:  # the parent's sum is complete in a later loop only
        return "all" if at is At.PARENT else INWARD
    return OUTWARD if at is At.PARENT else "own"


def _is_input_at_points(statement: Statement) -> bool:
    return statement.domain.kind == "point" and statement.domain.points is None


def runs_once(statement: Statement) -> bool:
    """Whether a statement belongs to no body: it runs before a loop."""
    return statement.domain.kind == "world" or _is_input_at_points(statement)


def groups_of(statements: Sequence[Statement], edges: Sequence[Edge]) -> list[Group]:
    """Recursions, in an order in which makers come before users."""
    links: list[list[int]] = [[] for _ in statements]
    for edge in edges:
        links[edge.maker].append(edge.user)
    for i, j in _walking_together(statements, edges):
        links[i].append(j)
        links[j].append(i)
    groups = []
    for members in _components(links):
        inside = set(members)
        inner = [edge for edge in edges if edge.maker in inside and edge.user in inside]
        ways = {edge.way for edge in inner}
        walks = any(statements[i].domain.kind in ("column", "pair") for i in members)
        directions = {way for way in ways if isinstance(way, Direction)}
        if walks:
            directions.add(INWARD)
        if len(directions) > 1 or "all" in ways:
            raise LoweringError(_not_recursive(statements, members))
        _check_acyclic(statements, members, inner)
        direction = next(iter(directions), None)
        once = all(runs_once(statements[i]) for i in members)
        groups.append(Group(sorted(members), direction, once))
    return groups


def _walking_together(
    statements: Sequence[Statement], edges: Sequence[Edge]
) -> list[tuple[int, int]]:
    """What reads a column shares its loop: a column is only where it walks."""
    return [
        (edge.maker, edge.user)
        for edge in edges
        if statements[edge.maker].domain.columns is not None
        and statements[edge.user].domain.columns is not None
    ]


def _not_recursive(statements: Sequence[Statement], members: Sequence[int]) -> str:
    steps = ", ".join(dict.fromkeys(statements[i].step for i in members))
    return (
        "cannot lower to O(N): the expression asks each body for what both its children and "
        f"its parent know ({steps}); pp.as_matrix evaluates it densely"
    )


def _check_acyclic(
    statements: Sequence[Statement], members: Sequence[int], inner: Sequence[Edge]
) -> None:
    own = [[] for _ in statements]  # type: list[list[int]]
    for edge in inner:
        if edge.way == "own":
            own[edge.maker].append(edge.user)
    inside = set(members)
    for component in _components(own, members):
        if len(component) > 1 or any(j == component[0] for j in own[component[0]]):
            assert set(component) <= inside
            raise LoweringError(
                "cannot lower a recursion that needs its own result at the same body; "
                "pp.as_matrix evaluates it densely"
            )


def _components(links: Sequence[Sequence[int]], nodes: Sequence[int] | None = None) -> list:
    """Strongly connected components, makers before users (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    components: list[list[int]] = []
    for start in range(len(links)) if nodes is None else nodes:
        if start in index:
            continue
        work = [(start, iter(links[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(links[other])))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        other = stack.pop()
                        on_stack.discard(other)
                        component.append(other)
                        if other == node:
                            break
                    components.append(component)
    components.reverse()
    return components
