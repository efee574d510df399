"""`derive`: from an expression as it was typed to the cheapest one that means the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import NamedTuple

from phipsi.algebra import operators as op
from phipsi.algebra.identities import (
    IDENTITIES,
    Condition,
    Equation,
    Requirement,
    Requirements,
    identity,
    read_requirements,
)
from phipsi.algebra.identities.equation import own_identities
from phipsi.algebra.node import Node, add, compose, scale
from phipsi.algebra.parse import Symbols, as_expression
from phipsi.algebra.rewriting.collect import presented
from phipsi.algebra.rewriting.normal import are_equal, forget
from phipsi.algebra.rewriting.opening import identify, letters_in
from phipsi.algebra.rewriting.others import (
    INVERSION,
    bodies_in,
    every_way_for,
    inverts_a_sum,
    paths_of,
    ways_for,
)
from phipsi.algebra.rewriting.price import Price, price, within_reach
from phipsi.algebra.rewriting.rules import is_shorthand, leaves_letters_alone, ways_of
from phipsi.algebra.rewriting.search import ENDLESS, Found, Search
from phipsi.algebra.rewriting.terms import joined, taken_apart, totals
from phipsi.algebra.show import maps
from phipsi.algebra.walk import letters_of
from phipsi.compile import make_program, rewrite_expressions
from phipsi.errors import InputError, SpaceError
from phipsi.explain.deriving.derivation import Derivation, Step
from phipsi.explain.deriving.shorten import shorten
from phipsi.explain.deriving.steps import (
    Opening,
    reversed_steps,
    steps_across,
    steps_by_axioms,
    steps_to,
)
from phipsi.lowering.conditions import facts_of, find_met, find_paths, meets
from phipsi.lowering.program import Program
from phipsi.lowering.rewrite import BOUND as BRIEF
from phipsi.lowering.rewrite import Meter, choose_found, search_briefly
from phipsi.model.examples import puma560
from phipsi.model.model import Model
from phipsi.progress import Progress

BOUND = 200  # expressions that are rewritten
WIDE = 8  # one of so many is rewritten by every way, where the usual ones do not reach a goal
LETTERS_ALONE = "letters written out"
OTHER_SUMS = "sums that are inverted, split in other ways"


def derive(
    expression: Node | str,
    *,
    to: Node | str | None = None,
    using: str | Sequence[str] = (),
    without: str | Sequence[str] = (),
    assume: Requirements = (),
    model: Model | None = None,
    bound: int = BOUND,
    progress: bool | None = None,
    symbols: Symbols = (),
    notation: str | None = None,
    alphabet: str | None = None,
) -> Derivation:
    """The cheapest expression that means the same, and the steps to it.

    Identities are applied in a search: the inverse of an operator that is not block diagonal
    counts most, then sweeps over the bodies, then flops, then length. Each step names its
    identity and where it is printed. Where nothing cheaper is found, where the search ends at
    its bound, and where it left something out, the derivation says so.

    Args:
        expression: of the letters of `phipsi.operators`, or as text for `pp.parse`.
        to: an expression that it is to be shown equal to, cheaper or not.
        using: names of identities that must be used; `pp.identities()` lists them.
        without: names of identities that must not be used.
        assume: conditions that may be taken for granted, such as "serial chains". "no rotor
            inertia" is, where neither Jm nor an articulated letter is in the expression.
        model: the machine that the result is for. What it meets is taken for granted, and of
            results that are near each other the one is taken that costs it least, counted as
            `pp.compile` counts: compiled for it, the result costs no more than the expression.
            Without a machine, they are counted in loops on a Puma 560.
        bound: how many expressions are rewritten at most, from either end where there is a goal.
        progress: whether to show how many expressions were looked at; None: on a terminal, if
            it takes longer than a moment.
        symbols: your own letters in texts, as for `pp.parse`.
        notation: of the paper in which texts are read, as for `pp.parse`.
        alphabet: whose letters are known besides those of the papers, as for `pp.parse`.

    Returns:
        A `Derivation`: `.result`, `.steps`, `.before` and `.after` for the costs, `.latex()`,
        and `.check()`, which holds every step against its dense meaning.

    Raises:
        InputError: for unknown names, for what is no expression, and for conditions that the
            machine does not meet.

    >>> import phipsi as pp
    >>> from phipsi.operators import J, Mass
    >>> found = pp.derive(J @ Mass.inv @ J.T)
    >>> found.result
    B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B
    >>> [step.name for step in found.steps][2:]
    ['Lemma 1', 'inverse of a product', 'Lemma 2', 'Lemma 4']
    >>> found.check().ok
    True
    """
    start = as_expression("derive", expression, symbols, notation, alphabet=alphabet)
    goal = None
    if to is not None:
        goal = as_expression("to", to, symbols, notation, is_open=True, alphabet=alphabet)
        if start.target is not None and start.source is start.target:
            goal = goal.at(start.target)  # `I` alone is that of the space where it starts
        goal = as_expression("to", goal)
    wanted, barred = _asked(using, without)
    if isinstance(bound, bool) or not isinstance(bound, int) or bound < 1:
        raise InputError(f"bound: expected a whole number above 0, got {bound!r}")
    if goal is not None:
        _check_spaces(start, goal)
    assumed = read_requirements("assume", assume)
    ends = (start,) if goal is None else (start, goal)
    known = _implied(start, goal) if model is None else _met_by(model, assumed, ends)
    granted = {*assumed, *known, Condition.LINK_AXES}
    try:
        with _Watch(progress) as watch:
            return _derived(start, goal, _Task(wanted, barred, granted, bound, watch, model))
    except RecursionError:
        raise InputError(
            "derive: the expression is nested too deeply; derive its parts one by one"
        ) from None
    finally:
        forget()


def _derived(start: Node, goal: Node | None, task: _Task) -> Derivation:
    before = price(start)
    if goal is None:
        way = _searched(start, None, task)
    elif not task.wanted and are_equal(start, goal):
        way = _Way(steps_by_axioms(start, goal), goal, True)
    else:
        way = _reached(start, goal, task)
    if way.steps:
        end = presented(way.end) if goal is None else goal
        costs = before, price(end)
    else:
        end, costs = start, (before, before)
    left_out = tuple(sorted(way.left_out))
    if way.missing:
        left_out += _under_conditions((start, *([] if goal is None else [goal])), task)
    if way.missing or goal is None:
        left_out += _untried(task)
    return Derivation(
        start, end, way.steps, *costs, way.looked_at, way.exhausted, goal, way.missing, left_out
    )


def _searched(
    start: Node,
    goal: Node | None,
    task: _Task,
    folded: Collection[Node] = (),
    is_wide: bool = True,
) -> _Way:
    """The steps of a search, to a goal or to the cheapest expression.

    Shorthands are unfolded, but those of identities that are wanted, and those of `folded`.
    """
    wanted = [IDENTITIES[name] for name in task.wanted]
    kept = _shorthands_of(x for one in wanted for x in (one.left, one.right)) | set(folded)
    opening = Opening(start, task.barred, kept)
    closing = None if goal is None else Opening(goal, task.barred, kept)
    ends = (opening.end,) if closing is None else (opening.end, closing.end)
    ways = ways_for(ends, task.granted, task.wanted, task.barred, kept)
    tick = task.watch.tick
    search = Search(opening.end, ways, price, within_reach, task.wanted, told=tick)
    if closing is None:
        return _downhill(search, opening, price(start), task)
    return _towards(search, opening, closing, task, is_wide)


Context = tuple[Node, Node, Callable[[Node], Node]]  # both parts, and what puts them in place


def _reached(start: Node, goal: Node, task: _Task) -> _Way:
    """Steps to a goal: by what both ends do not share, then by all of both.

    U A x = U B x where A = B, but not only there: factors that both have are set aside once
    more, and looked at for longer, where the whole was too much.
    """
    looked_at = 0
    for way in _reached_apart(start, goal, task):
        looked_at += way.looked_at
        if not way.missing:
            return way._replace(looked_at=looked_at)
    way = _searched(start, goal, task)
    looked_at += way.looked_at
    context = _shared_factors(start, goal)
    if way.missing and context is not None:
        inside = _put(context, goal, _reached(*context[:2], task))
        looked_at += inside.looked_at
        way = way if inside.missing else inside
    return way._replace(looked_at=looked_at)


def _reached_apart(start: Node, goal: Node, task: _Task) -> Iterator[_Way]:
    """Steps that leave alone what both ends have, by one attempt after the other.

    A + C = B + C where A = B, so terms that both have wait outside. Shorthands that both have
    stay folded, outside where they are of common factors, or inside.
    """
    terms = _shared_terms(start, goal)
    if terms is not None:
        yield _put(terms, goal, _reached(*terms[:2], task))
    if not _shared_shorthands(start, goal):
        return
    brief = task._replace(bound=max(1, task.bound // WIDE))
    for context in (_shared_factors(start, goal), (start, goal, lambda x: x)):
        if context is not None:
            inner, aim, _ = context
            folded = _shared_shorthands(inner, aim)
            yield _put(context, goal, _searched(inner, aim, brief, folded, is_wide=False))


def _shared_shorthands(one: Node, other: Node) -> frozenset[Node]:
    return _shorthands_of((one,)) & _shorthands_of((other,))


def _put(context: Context, goal: Node, way: _Way) -> _Way:
    """Steps between the parts of a context, told of the whole."""
    put = context[2]
    steps = (Step(put(x.before), put(x.after), x.name, x.identity) for x in way.steps)
    return way._replace(steps=tuple(steps), end=goal)


def _shared_terms(start: Node, goal: Node) -> Context | None:
    """What is left of two sums without the terms that both have."""
    one, other = (
        totals(((scalars, factors), n) for n, scalars, factors in map(taken_apart, node.terms))
        for node in (start, goal)
    )
    shared = {x: min(one[x], other[x], key=abs) for x in one if one[x] * other.get(x, 0) > 0}
    rests = [{x: n - shared.get(x, 0) for x, n in terms.items()} for terms in (one, other)]
    if not shared or not all(any(rest.values()) for rest in rests):
        return None
    inner, aim, both = (
        reduce(add, (joined(n, factors, scalars) for (scalars, factors), n in terms.items() if n))
        for terms in (*rests, shared)
    )
    return inner, aim, lambda x: add(x, both)


def _shared_factors(start: Node, goal: Node) -> Context | None:
    """What stands between the number and the factors that two products share."""
    (n, scalars, one), (m, others, other) = taken_apart(start), taken_apart(goal)
    most = min(len(one), len(other)) - 1
    first = next((i for i in range(most) if one[i] != other[i]), most)
    last = next((i for i in range(most - first) if one[-1 - i] != other[-1 - i]), most - first)
    is_bare = first + last == 0 and n == 1 and not scalars
    if scalars != others or is_bare or n == 0:
        return None
    before, after = one[:first], one[len(one) - last :]
    inner, aim = (reduce(compose, x[first : len(x) - last]) for x in (one, other))
    if (inner.source, inner.target) != (aim.source, aim.target):
        return None
    aim = scale(m / n, aim)
    return inner, aim, lambda x: joined(n, (reduce(compose, (*before, x, *after)),), scalars)


def _under_conditions(ends: Sequence[Node], task: _Task) -> tuple[str, ...]:
    """Identities about the same letters that nobody may use: their conditions were not assumed.

    Of a machine, those alone whose conditions it meets.
    """
    here = set(map(identify, letters_of(ends)))
    needed: set[Requirement] = {
        condition
        for one in IDENTITIES.values()
        if one.name not in task.barred and here & set(map(identify, letters_of((one.left,))))
        for condition in one.conditions
        if condition not in task.granted
    }
    needed |= set(paths_of(ends)) - set(task.granted)
    if task.model is not None:
        needed = set(find_met(task.model, needed))
    asked = ", ".join(f'"{x}"' for x in sorted(map(str, needed)))
    return (f"identities that need a condition, for assume=: {asked}",) if needed else ()


def _untried(task: _Task) -> tuple[str, ...]:
    """Identities that no search tries: those that were barred, and those that begin nowhere."""
    barred = tuple(f"{name!r}, as `without` asks" for name in sorted(task.barred))
    nowhere = (
        one
        for one in own_identities()
        if set(one.conditions) <= set(task.granted) and one.name not in task.barred
        if not ways_of(one) and not are_equal(one.left, one.right)
    )
    return (*barred, *(f"{one.name!r}, which begins with a variable" for one in nowhere))


def _shorthands_of(nodes: Iterable[Node]) -> frozenset[Node]:
    """Letters of expressions that are only short for what they are made of."""
    return frozenset(x for node in nodes for x in letters_in(node) if is_shorthand(x))


class _Way(NamedTuple):
    """How a search ended: its steps, none if it was in vain, and what was missing then."""

    steps: tuple[Step, ...]
    end: Node
    exhausted: bool
    missing: str = ""
    left_out: Collection[str] = ()
    looked_at: int = 0


class _Watch(Progress):
    """How many expressions were looked at, in all searches; nobody knows how many it will be."""

    def __init__(self, show: bool | None):
        super().__init__(None, "deriving", "{task.completed:,.0f} expressions looked at", show=show)
        self.looked_at = 0

    def tick(self) -> None:
        """One more was looked at."""
        self.looked_at += 1
        self.at(self.looked_at)

    def lower(self, plain: bool, expressions: tuple[Node, ...]) -> Program:
        """The program of what is counted, which takes a while as well."""
        self.at(self.looked_at)
        return make_program(expressions, plain)


class _Task(NamedTuple):
    """What is asked of a search."""

    wanted: frozenset[str]
    barred: frozenset[str]
    granted: Collection[Requirement]
    bound: int
    watch: _Watch
    model: Model | None = None


def _downhill(search: Search, opening: Opening, before: Price, task: _Task) -> _Way:
    """Steps to the cheapest expression, by what is wanted."""
    early = search_briefly(search, min(BRIEF, task.bound)) if task.model is not None else []
    exhausted = search.run(task.bound)
    cheapest = _cheapest(search, opening, early, task)
    best = search.best if cheapest is None else cheapest
    unused = sorted(search.wanted - best.used)
    left_out = set(search.left_out)
    if any(leaves_letters_alone(x, task.granted) for x in (opening.end, best.node)):
        left_out.add(LETTERS_ALONE)
    left_out |= _of_searches([search], task)
    way = _Way((), best.node, exhausted, "", left_out, search.looked_at)
    if unused:
        return way._replace(missing=f"a result by {unused[0]!r}")
    is_counted = task.model is not None and best.before is not None
    if cheapest is None or not (search.wanted or best.price < before or is_counted):
        return way
    steps = (*opening.steps, *steps_to(best, opening.end))
    return way._replace(steps=_shortened(steps, (opening.end,), task))


def _towards(
    search: Search, opening: Opening, closing: Opening, task: _Task, is_wide: bool
) -> _Way:
    """Steps to a goal: from both ends, to an expression that both lead to.

    First by the usual ways, among what is not much dearer. Where that does not lead there, a
    wide search goes by every way that is known, at any price: by equations that stand alone,
    then by all.
    """
    wide = max(1, task.bound // WIDE)
    tick = task.watch.tick
    forth, home = [search], [Search(closing.end, search.ways, price, within_reach, told=tick)]
    meeting = _met(forth, home, max(1, task.bound - 2 * wide))
    ends = opening.end, closing.end
    for derived in (False, True) if is_wide else ():
        if meeting is None:
            ways = every_way_for(ends, task.granted, task.barred, derived)
            every = partial(Search, ways=ways, price=price, within_reach=_at_any_price, every=True)
            forth.append(every(ends[0], wanted=task.wanted, told=tick))
            home.append(every(ends[1], told=tick))
            meeting = _met(forth, home, wide)
    searches = [*forth, *home]
    looked_at = sum(x.looked_at for x in searches)
    if meeting is None:
        done = all(x.is_done for x in searches)
        left_out = forth[-1].left_out | home[-1].left_out | _of_searches(searches, task)
        return _Way((), closing.start, done, f"`{closing.start}`", left_out, looked_at)
    there, here = meeting
    bridge = steps_across(there.node, here.node)
    homeward = (*closing.steps, *steps_to(here, closing.end))
    steps = (*opening.steps, *steps_to(there, opening.end), *bridge, *reversed_steps(homeward))
    return _Way(_shortened(steps, ends, task), closing.start, True, looked_at=looked_at)


def _shortened(steps: Sequence[Step], ends: Sequence[Node], task: _Task) -> tuple[Step, ...]:
    """Without detours, by equations that stand alone; what is wanted stays."""
    shorter = shorten(steps, every_way_for(ends, task.granted, task.barred, derived=False))
    return shorter if task.wanted <= {step.name for step in shorter} else tuple(steps)


def _of_searches(searches: Sequence[Search], task: _Task) -> set[str]:
    """What searches by these expressions cannot have tried in every way."""
    found = {ENDLESS} if searches[-1].leaves_rules_out() else set()
    nodes = (x.node for search in searches for x in search.seen.values())
    if INVERSION not in task.barred and any(map(inverts_a_sum, nodes)):
        found.add(OTHER_SUMS)
    return found


def _met(forth: Sequence[Search], home: Sequence[Search], bound: int) -> tuple[Found, Found] | None:
    """The last searches run in turn, till something was seen from both ends; None if nothing."""
    search, back = forth[-1], home[-1]
    while True:
        meeting = _meeting(forth, home)
        ahead = [x for x in (search, back) if not x.is_done]
        if meeting or not ahead or search.is_spent(bound) or back.is_spent(bound):
            return meeting
        min(ahead, key=lambda x: x.looked_at).look_at_next()


def _meeting(forth: Sequence[Search], home: Sequence[Search]) -> tuple[Found, Found] | None:
    ends = {key: found for back in reversed(home) for (key, _), found in back.seen.items()}
    for search in forth:
        for (key, used), found in search.seen.items():
            if key in ends and search.wanted <= used:
                return found, ends[key]
    return None


def _at_any_price(new: Price, best: Price) -> bool:
    return True


# -- what is asked -----------------------------------------------------------------------


def _asked(
    using: str | Sequence[str], without: str | Sequence[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """The names of identities that must be used, and of those that must not."""
    wanted = frozenset(x.name for x in _identities("using", using))
    barred = frozenset(x.name for x in _identities("without", without))
    if wanted & barred:
        raise InputError(f"derive: {min(wanted & barred)!r} is both in using and in without")
    return wanted, barred


def _check_spaces(start: Node, goal: Node) -> None:
    if start.source is not goal.source or start.target is not goal.target:
        raise SpaceError(f"cannot show that `{start}` is `{goal}`\n  {maps(start)}; {maps(goal)}")


def _identities(name: str, given: str | Sequence[str]) -> list[Equation]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Collection):
        raise InputError(f"{name}: expected names of identities, got {given!r}")
    return [identity(x) for x in names]


def _met_by(
    model: Model, assumed: Sequence[Requirement], ends: Sequence[Node]
) -> Collection[Requirement]:
    """The conditions that a machine meets, and the paths between bodies that expressions name.

    Raises:
        InputError: where it does not meet what is assumed.
    """
    if not isinstance(model, Model):
        raise InputError(f"model: expected a Model, got {type(model).__name__}")
    for condition in assumed:
        try:
            is_met = meets(model, condition)
        except InputError as error:
            raise InputError(f"assume: {condition}: {error}") from None
        if not is_met:
            raise InputError(f"assume: {model.name!r} does not meet {str(condition)!r}")
    paths = find_paths(model, bodies_in(ends))
    return facts_of(model, equations=own_identities()).conditions.union(paths)


def _implied(expression: Node, goal: Node | None) -> list[Condition]:
    """An expression in which no rotor can hide is about a machine that has none.

    Unless its goal speaks of rotors.
    """
    records = [x.record for x in letters_of([expression])]
    rotors = op.Jm.record, op.P.record
    hidden = any(x in rotors or x.follows == op.P.name for x in records)
    told = goal is not None and op.Jm in letters_of([goal])
    return [] if hidden or told else [Condition.NO_ROTORS]


# -- after the search --------------------------------------------------------------------


def _cheapest(
    search: Search, opening: Opening, early: Sequence[Found], task: _Task
) -> Found | None:
    """The best of the search; where others are near, by what their programs cost on a robot.

    For a machine it is chosen as `compile` chooses, and among what `compile` finds: the normal
    form, and what the search had found early on. None where the line that was typed compiles to
    less than all of these, and nothing is wanted.
    """
    best, model = search.best, task.model
    if model is not None:
        lower = partial(task.watch.lower, not model.has_mimics)
        first = best.way[0]
        others = [x for x in (*early, first) if search.wanted <= x.used]
        meter = Meter((opening.start,), model, lower)
        chosen = choose_found(search, meter, others)
        if search.wanted:
            return chosen
        compiled = rewrite_expressions((opening.start,), model)
        return None if meter.is_dearer((chosen.node,), compiled) else chosen
    if best.price.inverses:
        return best
    lower = partial(task.watch.lower, True)
    return choose_found(search, Meter((best.node,), puma560(), lower, limit=None))
