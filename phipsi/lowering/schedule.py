"""Statements become loops: the fewest alternating sweeps that their data allow.

Statements depend on each other through slots. An argument read at the same
place may be made in the same loop; one read at the parent must be made in the
same base_to_tip loop or in an earlier one; one pushed by the children in the
same tip_to_base loop or in an earlier one; one gathered over the machine in an
earlier one. Statements that depend on themselves form a recursion and share a
loop, whose direction they decide.

Each statement goes to the first loop that its inputs allow, with either
direction first, and the shorter of the two programs is taken. Then statements
move to where their results are used, as long as fewer numbers have to be kept
between loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phipsi.algebra.spaces import BODY, POSE, Space
from phipsi.errors import LoweringError
from phipsi.lowering.program import At, Direction, Effect, Loop, Shape, Slot, Statement

INWARD, OUTWARD = Direction.TIP_TO_BASE, Direction.BASE_TO_TIP


@dataclass(frozen=True)
class Edge:
    """Statement `user` needs what statement `maker` makes."""

    maker: int
    user: int
    way: Direction | str  # a direction for a step between bodies, "own", or "all" bodies


@dataclass
class Group:
    """Statements that must share a loop: a recursion, or one statement alone."""

    members: list[int]
    direction: Direction | None
    once: bool  # runs once, before a loop
    level: int = 0


def schedule(statements: Sequence[Statement]) -> tuple[Loop, ...]:
    """The loops of a program."""
    edges = _edges(statements)
    groups = _groups(statements, edges)
    plans = [tuple(_plan(statements, edges, groups, first)) for first in (OUTWARD, INWARD)]
    return min(plans, key=_price)


def _price(plan: tuple[Loop, ...]) -> tuple[int, int]:
    """Loops, then numbers kept between them."""
    kept = kept_statements(plan)
    return len(plan), sum(_stored(kept, i) for i in range(len(kept)))


# -- dependencies ----------------------------------------------------------------------


def _edges(statements: Sequence[Statement]) -> list[Edge]:
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


def _way(maker: Statement, user: Statement, at: At) -> Direction | str:
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


def _runs_once(statement: Statement) -> bool:
    return statement.domain.kind == "world" or _is_input_at_points(statement)


def _groups(statements: Sequence[Statement], edges: Sequence[Edge]) -> list[Group]:
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
        once = all(_runs_once(statements[i]) for i in members)
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


# -- placing ---------------------------------------------------------------------------


def _plan(
    statements: Sequence[Statement],
    edges: Sequence[Edge],
    groups: Sequence[Group],
    first: Direction,
) -> list[Loop]:
    """The loops with a given first direction."""
    home = {i: g for g, group in enumerate(groups) for i in group.members}
    incoming: list[list[tuple[int, Direction | str]]] = [[] for _ in groups]
    outgoing: list[list[tuple[int, Direction | str]]] = [[] for _ in groups]
    for edge in edges:
        maker, user = home[edge.maker], home[edge.user]
        if maker != user:
            incoming[user].append((maker, edge.way))
            outgoing[maker].append((user, edge.way))
    level = [0] * len(groups)
    for g, group in enumerate(groups):
        candidate = 0
        while not (
            _suits(group, candidate, first)
            and all(_allows(way, level[m], candidate, first) for m, way in incoming[g])
        ):
            candidate += 1
        level[g] = candidate
    _sink(statements, groups, level, incoming, outgoing, first)
    _merge_idle(groups, level, incoming, outgoing, first)
    return _loops(statements, edges, groups, level, first)


def _direction(level: int, first: Direction) -> Direction:
    return first if level % 2 == 0 else first.other


def _suits(group: Group, level: int, first: Direction) -> bool:
    return group.direction is None or group.once or _direction(level, first) is group.direction


def _allows(way: Direction | str, maker: int, user: int, first: Direction) -> bool:
    """Whether a maker and a user may stand in these loops."""
    if maker != user:
        return maker < user
    return way == "own" or way is _direction(user, first)


def _is_legal(
    level: Sequence[int],
    moved: Sequence[int],
    incoming: Sequence[Sequence[tuple[int, Direction | str]]],
    outgoing: Sequence[Sequence[tuple[int, Direction | str]]],
    first: Direction,
) -> bool:
    """Whether groups may stand where they were moved."""
    return all(
        _allows(way, level[m], level[g], first) for g in moved for m, way in incoming[g]
    ) and all(_allows(way, level[g], level[u], first) for g in moved for u, way in outgoing[g])


def _merge_idle(
    groups: Sequence[Group],
    level: list[int],
    incoming: Sequence[Sequence[tuple[int, Direction | str]]],
    outgoing: Sequence[Sequence[tuple[int, Direction | str]]],
    first: Direction,
) -> None:
    """Move what stands in a loop where nothing has a direction to a loop beside it."""
    last = max(level, default=0)
    for at in range(last + 1):
        idle = [g for g, group in enumerate(groups) if level[g] == at and not group.once]
        if any(groups[g].direction is not None for g in idle):
            continue
        for beside in (at + 1, at - 1):
            trial = [beside if g in idle else x for g, x in enumerate(level)]
            if 0 <= beside <= last and _is_legal(trial, idle, incoming, outgoing, first):
                level[:] = trial
                break


def _sink(
    statements: Sequence[Statement],
    groups: Sequence[Group],
    level: list[int],
    incoming: Sequence[Sequence[tuple[int, Direction | str]]],
    outgoing: Sequence[Sequence[tuple[int, Direction | str]]],
    first: Direction,
) -> None:
    """Move groups to later loops where no more numbers have to be kept for it."""

    sizes = [sum(_stored(statements, i) for i in group.members) for group in groups]

    def kept(level: Sequence[int]) -> int:
        late = (any(level[u] > level[g] for u, _ in outgoing[g]) for g in range(len(groups)))
        return sum(size for size, is_late in zip(sizes, late, strict=True) if is_late)

    changed = True
    while changed:
        changed = False
        for g in reversed(range(len(groups))):
            if groups[g].direction is not None or not outgoing[g]:
                continue
            latest = min(level[u] for u, _ in outgoing[g])
            if all(statements[i].step in AT_HAND for i in groups[g].members):
                level[g] = latest  # where it is needed first: it costs nothing to wait
                continue
            for candidate in range(level[g] + 1, latest + 1):
                moved = _cone(g, candidate, groups, level, incoming, outgoing)
                trial = list(level)
                for m in moved:
                    trial[m] = candidate
                legal = _is_legal(trial, moved, incoming, outgoing, first)
                if legal and kept(trial) < kept(level):
                    level[:] = trial
                    changed = True


def _cone(
    g: int,
    candidate: int,
    groups: Sequence[Group],
    level: Sequence[int],
    incoming: Sequence[Sequence[tuple[int, Direction | str]]],
    outgoing: Sequence[Sequence[tuple[int, Direction | str]]],
) -> list[int]:
    """A group and those that work for it alone, as far as they can move with it."""
    cone, pending = [g], [m for m, _ in incoming[g]]
    while pending:
        m = pending.pop()
        if m in cone or groups[m].direction is not None or groups[m].once:
            continue
        if all(u in cone or level[u] >= candidate for u, _ in outgoing[m]) and level[m] < candidate:
            cone.append(m)
            pending.extend(x for x, _ in incoming[m])
    return cone


def _loops(
    statements: Sequence[Statement],
    edges: Sequence[Edge],
    groups: Sequence[Group],
    level: Sequence[int],
    first: Direction,
) -> list[Loop]:
    """Statements in order, loop by loop; pushes last, so that nobody reads what is for the next."""
    home = {i: g for g, group in enumerate(groups) for i in group.members}
    loops = []
    for at in range(max(level, default=-1) + 1):
        here = [i for i in range(len(statements)) if level[home[i]] == at]
        order = _ordered(here, [edge for edge in edges if edge.way == "own"], statements)
        before = tuple(statements[i] for i in order if _runs_once(statements[i]))
        inside = [statements[i] for i in order if not _runs_once(statements[i])]
        inside.sort(key=lambda x: x.effect is Effect.PUSH)
        loops.append(Loop(_direction(at, first), tuple(inside), before))
    return [loop for loop in loops if loop.statements or loop.before]


def _ordered(
    members: Sequence[int], edges: Sequence[Edge], statements: Sequence[Statement]
) -> list[int]:
    """Makers before users, otherwise as they were written."""
    inside = set(members)
    waiting = dict.fromkeys(members, 0)
    users: dict[int, list[int]] = {i: [] for i in members}
    for edge in edges:
        at_once = statements[edge.maker].effect is not Effect.PUSH
        if at_once and edge.maker in inside and edge.user in inside:
            waiting[edge.user] += 1
            users[edge.maker].append(edge.user)
    ready = [i for i in members if waiting[i] == 0]
    order = []
    while ready:
        ready.sort(reverse=True)
        i = ready.pop()
        order.append(i)
        for user in users[i]:
            waiting[user] -= 1
            if waiting[user] == 0:
                ready.append(user)
    assert len(order) == len(members), "a loop's statements have an order"
    return order


# -- what is kept between loops ----------------------------------------------------------


def kept_statements(loops: Sequence[Loop]) -> list[Statement]:
    """The statements whose results are read in a later loop; inputs and constants are not kept."""
    made: dict[Slot, tuple[int, Statement]] = {}
    kept: dict[Statement, None] = {}
    for at, loop in enumerate(loops):
        for statement in (*loop.before, *loop.statements):
            for read in statement.arguments:
                if read.slot in made and made[read.slot][0] < at:
                    kept[made[read.slot][1]] = None
            if statement.target is not None:
                made[statement.target] = at, statement
    return [x for x in kept if x.step not in AT_HAND and not _is_of_the_world(x)]


def _is_of_the_world(statement: Statement) -> bool:
    """Whether a statement makes one block for the whole machine, or an input at points."""
    assert statement.target is not None
    return statement.target.domain.kind == "world" or _runs_once(statement)


AT_HAND = frozenset(  # inputs and constants, read again wherever they are needed
    ("coordinates", "speeds", "given", "given_block", "inertia", "rotor_inertia")
) | {"identity", "zeros", "unit", "joint_map", "map_rate"}


def _stored(statements: Sequence[Statement], i: int) -> int:
    """How many numbers a statement's result has at a body with one joint axis."""
    slot, step = statements[i].target, statements[i].step
    if slot is None or step in AT_HAND or slot.domain.kind == "world":
        return 0
    arguments = [x.slot.name for x in statements[i].arguments]
    if step == "apply" and arguments[0] in ("H*", "dH*"):
        return 1 if arguments[0] == "H*" else 0
    return nominal_size(slot.shape)


NOMINAL = {"q": 1, "transform": 2, BODY: 6, POSE: 12}


def nominal_size(shape: Shape) -> int:
    """How many numbers a block has at a body with one joint axis."""

    def side(size: Space | int | str) -> int:
        return size if isinstance(size, int) else NOMINAL.get(size, 1)

    rows = side(shape.rows)
    if shape.columns is None:
        return rows
    return rows * (rows + 1) // 2 if shape.symmetric else rows * side(shape.columns)
