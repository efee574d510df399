"""Statements become loops: the fewest alternating sweeps that their data allow.

Each statement goes to the first loop that its inputs allow, with either
direction first, and the shorter of the two programs is taken. Then statements
move to where their results are used, as long as fewer numbers have to be kept
between loops.
"""

from __future__ import annotations

from collections.abc import Sequence

from phipsi.algebra.spaces import BODY, POSE, Space
from phipsi.lowering.dependencies import (
    INWARD,
    OUTWARD,
    Edge,
    Group,
    Way,
    edges_of,
    groups_of,
    runs_once,
)
from phipsi.lowering.program import Direction, Effect, Loop, Shape, Slot, Statement


def schedule(statements: Sequence[Statement]) -> tuple[Loop, ...]:
    """The loops of a program."""
    edges = edges_of(statements)
    groups = groups_of(statements, edges)
    plans = [_Plan(statements, edges, groups, first).loops() for first in (OUTWARD, INWARD)]
    return min(plans, key=_price)


def _price(plan: tuple[Loop, ...]) -> tuple[int, int]:
    """Loops, then numbers kept between them."""
    kept = kept_statements(plan)
    return len(plan), sum(map(_stored, kept))


class _Plan:
    """In which loop each group stands, loops alternating from a first direction on."""

    def __init__(
        self,
        statements: Sequence[Statement],
        edges: Sequence[Edge],
        groups: Sequence[Group],
        first: Direction,
    ):
        self.statements, self.edges, self.groups, self.first = statements, edges, groups, first
        self.home = {i: g for g, group in enumerate(groups) for i in group.members}
        self.incoming: list[list[tuple[int, Way]]] = [[] for _ in groups]
        self.outgoing: list[list[tuple[int, Way]]] = [[] for _ in groups]
        for edge in edges:
            maker, user = self.home[edge.maker], self.home[edge.user]
            if maker != user:
                self.incoming[user].append((maker, edge.way))
                self.outgoing[maker].append((user, edge.way))
        self.level = [0] * len(groups)
        self._place_early()
        self._sink()
        self._merge_idle()

    # -- what is allowed -----------------------------------------------------------------

    def _direction(self, level: int) -> Direction:
        return self.first if level % 2 == 0 else self.first.other

    def _allows(self, way: Way, maker: int, user: int) -> bool:
        """Whether a maker and a user may stand in these loops."""
        if maker != user:
            return maker < user
        return way == "own" or way is self._direction(user)

    def _is_legal(self, level: Sequence[int], moved: Sequence[int]) -> bool:
        """Whether groups may stand where they were moved."""
        return all(
            self._allows(way, level[m], level[g]) for g in moved for m, way in self.incoming[g]
        ) and all(
            self._allows(way, level[g], level[u]) for g in moved for u, way in self.outgoing[g]
        )

    # -- moves ---------------------------------------------------------------------------

    def _place_early(self) -> None:
        """Each group in the first loop that its inputs allow; makers come before users."""
        for g, group in enumerate(self.groups):
            free = group.direction is None or group.once
            while not (
                (free or self._direction(self.level[g]) is group.direction)
                and all(
                    self._allows(way, self.level[m], self.level[g]) for m, way in self.incoming[g]
                )
            ):
                self.level[g] += 1

    def _sink(self) -> None:
        """Move groups to later loops where fewer numbers have to be kept for it."""
        changed = True
        while changed:
            changed = False
            for g in reversed(range(len(self.groups))):
                if self.groups[g].direction is None and self.outgoing[g]:
                    latest = min(self.level[u] for u, _ in self.outgoing[g])
                    for candidate in range(self.level[g] + 1, latest + 1):
                        changed |= self._move(g, candidate)

    def _move(self, g: int, candidate: int) -> bool:
        """Move a group to a later loop, with those that work for it alone, if that pays.

        What is at hand anyway waits until it is needed: that costs nothing.
        """
        moved = self._cone(g, candidate)
        trial = [candidate if m in moved else x for m, x in enumerate(self.level)]
        members = (self.statements[i] for i in self.groups[g].members)
        pays = all(x.step in AT_HAND for x in members) or self._kept(trial) < self._kept(self.level)
        if not pays or not self._is_legal(trial, moved):
            return False
        self.level = trial
        return True

    def _kept(self, level: Sequence[int]) -> int:
        """How many numbers loops keep for later ones."""
        total = 0
        for g, group in enumerate(self.groups):
            if any(level[u] > level[g] for u, _ in self.outgoing[g]):
                total += sum(_stored(self.statements[i]) for i in group.members)
        return total

    def _cone(self, g: int, candidate: int) -> list[int]:
        """A group and those that work for it alone, as far as they can move with it."""
        cone, pending = [g], [m for m, _ in self.incoming[g]]
        while pending:
            m = pending.pop()
            if m in cone or self.groups[m].direction is not None or self.groups[m].once:
                continue
            alone = all(u in cone or self.level[u] >= candidate for u, _ in self.outgoing[m])
            if alone and self.level[m] < candidate:
                cone.append(m)
                pending.extend(x for x, _ in self.incoming[m])
        return cone

    def _merge_idle(self) -> None:
        """Move what stands in a loop where nothing has a direction to a loop beside it."""
        last = max(self.level, default=0)
        for at in range(last + 1):
            here = [g for g, group in enumerate(self.groups) if self.level[g] == at]
            idle = [g for g in here if not self.groups[g].once]
            if any(self.groups[g].direction is not None for g in idle):
                continue
            for beside in (at + 1, at - 1):
                trial = [beside if g in idle else x for g, x in enumerate(self.level)]
                if 0 <= beside <= last and self._is_legal(trial, idle):
                    self.level = trial
                    break

    # -- the result ----------------------------------------------------------------------

    def loops(self) -> tuple[Loop, ...]:
        """Statements in order, loop by loop.

        Pushes come last, so that nobody reads what is for the next body.
        """
        loops = []
        own = [edge for edge in self.edges if edge.way == "own"]
        for at in range(max(self.level, default=-1) + 1):
            here = [i for i in range(len(self.statements)) if self.level[self.home[i]] == at]
            order = [self.statements[i] for i in _ordered(here, own, self.statements)]
            before = tuple(x for x in order if runs_once(x))
            inside = [x for x in order if not runs_once(x)]
            inside.sort(key=lambda x: x.effect is Effect.PUSH)
            loops.append(Loop(self._direction(at), tuple(inside), before))
        return tuple(loop for loop in loops if loop.statements or loop.before)


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
    return statement.target.domain.kind == "world" or runs_once(statement)


AT_HAND = frozenset(  # inputs and constants, read again wherever they are needed
    ("coordinates", "speeds", "given", "given_block", "inertia", "rotor_inertia")
) | {"own_block", "own_vector", "identity", "zeros", "unit", "joint_map", "map_rate"}


def _stored(statement: Statement) -> int:
    """How many numbers a statement's result has at a body with one joint axis."""
    slot, step = statement.target, statement.step
    if slot is None or step in AT_HAND or slot.domain.kind == "world":
        return 0
    arguments = [x.slot.name for x in statement.arguments]
    if step == "apply" and arguments[0] in ("H*", "dH*"):
        return 1 if arguments[0] == "H*" else 0
    return nominal_size(slot.shape)


NOMINAL = {"q": 1, "transform": 2, "inboard": 6, BODY: 6, POSE: 16}


def nominal_size(shape: Shape) -> int:
    """How many numbers a block has at a body with one joint axis."""

    def side(size: Space | int | str) -> int:
        return size if isinstance(size, int) else NOMINAL.get(size, 1)

    rows = side(shape.rows)
    if shape.columns is None:
        return rows
    return rows * (rows + 1) // 2 if shape.symmetric else rows * side(shape.columns)
