"""The cheapest of the expressions that mean the same, by what their programs cost.

    Mass^-1 Mass T                    T
    (I - H psi K) H phi M V           H psi M V                      [003 Lemma 4]
    J Mass^-1 J* f                    B* psi* H* D^-1 H psi B f      [002 (3.10)]

Normal form, rules, search and prices are those of `derive`. `find_candidates` searches, within a
bound on the expressions that are looked at, not on time, so that results are the same
everywhere; `choose` has the programs of what was found counted on the machine at hand, as the
user sees them counted, and takes what costs less. The line as it was typed stays where nothing
is cheaper. Both results are kept on disk: nobody pays for the search but the one who compiles
first.

What is singular raises on every path. An expression that would not look at a pivot that the
typed one looks at, or that divides where the typed one does not, is no candidate: see
`guards_of`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeGuard

from phipsi.algebra import operators as op
from phipsi.algebra.families import MASS, Family, family_of
from phipsi.algebra.identities.equation import Condition
from phipsi.algebra.node import Inverse, Node, Root, Symbol
from phipsi.algebra.own import MachineLetter
from phipsi.algebra.rewriting.normal import canonical
from phipsi.algebra.rewriting.opening import normal_form
from phipsi.algebra.rewriting.others import names_of_zeros, ways_for
from phipsi.algebra.rewriting.price import price, within_reach
from phipsi.algebra.rewriting.search import Found, Search
from phipsi.algebra.spaces import POINTS
from phipsi.algebra.stars import starred
from phipsi.algebra.walk import letters_of, walk
from phipsi.errors import InputError, LoweringError, PhipsiError
from phipsi.graph.graph import GraphTooLargeError
from phipsi.lowering.conditions import Facts
from phipsi.lowering.cost import cost_of, count_folded
from phipsi.lowering.parameters import Parameters
from phipsi.lowering.program import Program
from phipsi.lowering.settle import settle
from phipsi.lowering.structure import step_of
from phipsi.lowering.trace import LARGEST, LEAST
from phipsi.model import examples
from phipsi.model.model import Model, Point, point

BOUND = 12  # expressions that are rewritten: two fewer, and `derive` finds cheaper ones
AT_ALL = 50  # of a line that cannot be lowered as it is typed
MOST_WORDS = 80  # of an expression that is rewritten at all, when it is multiplied out
MOST_MADE = 1000  # words of all expressions that a search makes
NEAR = 1.25  # results this near to the best are lowered, and counted
MOST_COUNTED = 6
NO_ROTORS = Condition.NO_ROTORS
SHARED = 4  # expressions of one function that are searched with the full bound; more share it
WORK = 150_000  # flops of programs that are counted for one function, about a second
MOST_BODIES = 100  # of a machine whose loops are counted; of larger ones, the first

# -- the search --------------------------------------------------------------------------


def find_candidates(typed: Node, facts: Facts, bound: int = BOUND) -> tuple[Node, ...]:
    """Expressions that mean the same and raise where the typed one does, the likely ones first.

    Of a line that cannot be lowered as it is typed, those that invert as much.

    Args:
        typed: the expression.
        facts: what is known of its machine.
        bound: how many expressions are rewritten.
    """
    try:
        guards = _guards_or_none(typed, facts)
        bound = bound if guards is not None else max(bound, AT_ALL)
        start = normal_form(typed)
        found = [start]
        if bound and len(canonical(start).terms) <= MOST_WORDS:
            spared = () if guards is None else names_of_zeros()  # no line gets cheaper by these
            ways = ways_for((start,), facts.conditions, without=spared)
            search = Search(start, ways, price, within_reach)
            found = [*(x.node for x in search_briefly(search, bound)), start]
    except PhipsiError:  # too long, or of no meaning: the lowering tells
        return ()
    except RecursionError:  # nested too deeply; the lowering tells
        return ()
    return tuple(
        x for x in dict.fromkeys(found) if x != typed and _has_guards(x, facts, guards, typed)
    )


def search_briefly(search: Search, bound: int = BOUND) -> list[Found]:
    """What a search for `compile` finds, which has to be fast."""
    while not (search.is_done or search.is_spent(bound) or search.words >= MOST_MADE):
        search.look_at_next()
    return find_near(search)


def find_near(search: Search) -> list[Found]:
    """What a search has found that may be the cheapest once it is counted, the cheapest first."""
    limit = NEAR * search.best.price.flops
    seen = (x for x in search.seen.values() if search.wanted <= x.used)
    near = sorted(seen, key=lambda x: x.price)[:MOST_COUNTED]
    return [x for x in near if x.price.inverses or x.price.flops <= limit]


def _guards_or_none(typed: Node, facts: Facts) -> Guards | None:
    try:
        return guards_of(typed, facts)
    except LoweringError:
        return None


def _has_guards(expression: Node, facts: Facts, guards: Guards | None, typed: Node) -> bool:
    """Whether an expression raises where the typed one does."""
    if guards is None:
        return _count_inverses(expression) >= _count_inverses(typed)
    try:
        return guards_of(expression, facts) == guards
    except PhipsiError:
        return False


def _count_inverses(expression: Node) -> int:
    """How many operands there are that may be singular."""
    several = (x for x in walk(expression) if isinstance(x, (Inverse, Root)))
    return sum(isinstance(x, Root) or not _is_recursion(x) for x in several)


# -- what programs cost --------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """What a program costs: its sweeps, and its flops at each sample of points."""

    sweeps: int
    flops: tuple[int, ...]

    def is_less_than(self, other: Count) -> bool:
        """Whether some number of flops is less, and no number is more."""
        pairs = zip(self.flops, other.flops, strict=True)
        return not self.is_more_than(other) and any(x < y for x, y in pairs)

    def is_more_than(self, other: Count) -> bool:
        """Whether some number is more."""
        pairs = zip(self.flops, other.flops, strict=True)
        return self.sweeps > other.sweeps or any(x > y for x, y in pairs)


Lower = Callable[[tuple[Node, ...]], Program]


class UncountedError(Exception):
    """A program whose cost on its machine cannot be told, as one without a value in any state."""


class Meter:
    """Counts programs on a machine, as `Function.info` counts them.

    Args:
        typed: the expressions of a function, as they were typed: these decide what is counted,
            straight code or loops.
        model: the machine.
        lower: makes a program of expressions.
        parameters: the numbers of the machine that are arguments.
        limit: nodes up to which the code is straight; None where it is never.

    Attributes:
        work: flops that were counted.
    """

    def __init__(
        self,
        typed: tuple[Node, ...],
        model: Model,
        lower: Lower,
        parameters: Sequence[str] = (),
        limit: int | None = LARGEST,
    ):
        self.work = 0
        self._typed, self._model, self._lower = typed, model, lower
        self._parameters = Parameters(model, parameters)
        self._limit = limit
        self._looped = (model,) if self._parameters.shapes else _machines_of_loops(typed, model)
        self._programs: dict[tuple[Node, ...], Program | None] = {}
        self._counts: dict[tuple[Node, ...], Count | None] = {}
        if limit is not None and len(model.bodies) * LEAST > limit:
            self._limit = None

    @property
    def is_spent(self) -> bool:
        """Whether so much was counted that the rest is left as it is."""
        return self.work >= WORK

    def program(self, expressions: tuple[Node, ...]) -> Program | None:
        """The program of expressions; None where they have none."""
        if expressions not in self._programs:
            try:
                self._programs[expressions] = self._lower(expressions)
            except PhipsiError:
                self._programs[expressions] = None
        return self._programs[expressions]

    def count(self, expressions: tuple[Node, ...]) -> Count | None:
        """What expressions cost together; None where they have no program.

        Raises:
            UncountedError: there is a program, but no cost.
        """
        if not self._counts and expressions != self._typed:
            self.count(self._typed)
        if expressions not in self._counts:
            program = self.program(expressions)
            self._counts[expressions] = None if program is None else self._count(program)
        return self._counts[expressions]

    def is_dearer(self, expressions: tuple[Node, ...], others: tuple[Node, ...]) -> bool:
        """Whether some number of theirs is more than that of others; not where nobody can tell."""
        try:
            count, other = self.count(expressions), self.count(others)
        except UncountedError:
            return False
        return count is not None and other is not None and count.is_more_than(other)

    def _count(self, program: Program) -> Count:
        try:
            flops = tuple(self._flops(program))
        except GraphTooLargeError as error:
            if self._counts:  # others are straight code, and this would not be
                raise UncountedError from error
            self._limit = None
            return self._count(program)
        except (PhipsiError, ArithmeticError, LookupError, ValueError) as error:
            raise UncountedError from error
        self.work += sum(flops)
        return Count(program.sweeps, flops)

    def _flops(self, program: Program) -> Iterator[int]:
        """At each sample of points: of straight code on the machine, of loops on any."""
        if self._limit is not None:
            for points in sample_points(self._typed, self._model):
                what = self._model, points, self._parameters
                yield count_folded(program, *what, self._limit)
            return
        for machine in self._looped:
            own = self._parameters if machine is self._model else None
            for points in sample_points(self._typed, machine):
                yield cost_of(program, machine, points, own).flops


def _machines_of_loops(typed: Sequence[Node], model: Model) -> tuple[Model, ...]:
    """Where loops are counted: the same for all machines, for these share their code.

    But letters that name bodies, joints or points, or have functions of them, are counted on
    the machine at hand, of a large one on its first bodies.
    """
    is_own = (x.arguments or isinstance(x, MachineLetter) for x in letters_of(typed))
    if not any(is_own):
        return _standard_machines()
    if len(model.bodies) <= MOST_BODIES or model.has_mimics:
        return (model,)
    first = model.bodies[:MOST_BODIES], model.joints[:MOST_BODIES]
    return (Model(model.name, *first, gravity=model.gravity, base_inertia=model.base_inertia),)


@cache
def _standard_machines() -> tuple[Model, ...]:
    """A chain and a tree that floats: what costs less on both costs less on most."""
    return examples.chain(10), examples.spacecraft()


def sample_points(
    expressions: Sequence[Node], model: Model
) -> tuple[dict[tuple, Sequence[Point]], ...]:
    """Points to count a program at: those that are written into it; for others, two samples."""
    letters = [x for x in letters_of(expressions) if POINTS in (x.source, x.target)]
    written: dict[tuple, Sequence[Point]] = {
        x.arguments: x.arguments for x in letters if x.arguments
    }
    if not (letters or any(POINTS in (x.source, x.target) for x in expressions)):
        return ({},)
    bodies = [model.bodies[i].name for i in (-1, 0, len(model.bodies) // 2)] if model.bodies else []
    ends = [point(name) for name in bodies or ["world"]]
    if all(x.arguments for x in letters if not x.free) and written:
        return (written,)
    if written:  # they may meet: as many of either kind
        n = min(map(len, written.values()))
        return (written | {(): [ends[i % len(ends)] for i in range(n)]},)
    return {(): ends[:1]}, {(): [*ends, ends[0]]}


# -- the choice ------------------------------------------------------------------------------


def choose(
    typed: tuple[Node, ...], candidates: Mapping[Node, Sequence[Node]], meter: Meter
) -> tuple[Node, ...]:
    """The expressions of one function, each as it was typed or as a candidate, that cost least.

    Each is chosen for itself first. Then those that cost less beside the others as well, one
    after the other, until nothing is gained or enough was counted.

    Args:
        typed: the expressions.
        candidates: of each, what means the same.
        meter: what counts.
    """
    if len(typed) == 1:
        return _least(typed, ((x,) for x in candidates[typed[0]]), meter)
    alone = {x: _least((x,), ((y,) for y in candidates[x]), meter)[0] for x in candidates}
    best = _least(typed, [tuple(alone[x] for x in typed)], meter)
    while True:
        start = best
        for one, others in candidates.items():
            trials = (_replaced(best, typed, one, x) for x in (one, *others))
            best = _least(best, trials, meter)
        if best == start or meter.is_spent:
            return best


def choose_found(search: Search, meter: Meter, others: Sequence[Found] = ()) -> Found:
    """Of what a search has found, what costs least once it is counted.

    An inverse that the lowering would resolve is no result where one without it was found,
    unless it is among the others: these are counted first, whatever they are.
    """
    solved = (x for x in find_near(search) if x.price.inverses <= search.best.price.inverses)
    near: dict[tuple[Node, ...], Found] = {(x.node,): x for x in (search.best, *others, *solved)}
    return near[_least((search.best.node,), near, meter)]


def _replaced(
    chosen: tuple[Node, ...], typed: tuple[Node, ...], one: Node, other: Node
) -> tuple[Node, ...]:
    """A choice with another expression in the place of one that was typed."""
    return tuple(other if x == one else y for x, y in zip(typed, chosen, strict=True))


def _least(
    first: tuple[Node, ...], others: Iterable[tuple[Node, ...]], meter: Meter
) -> tuple[Node, ...]:
    """The first, or what costs less; nothing is counted where programs are equal."""
    best = first
    for one in others:
        before, after = meter.program(best), meter.program(one)
        if after is None or (before is not None and before.loops == after.loops):
            continue
        if meter.is_spent:
            break
        try:
            least = meter.count(best)
        except UncountedError:
            return best
        try:
            count = meter.count(one)
        except UncountedError:
            continue
        if count is not None and (least is None or count.is_less_than(least)):
            best = one
    return best


# -- what must not vanish ------------------------------------------------------------------

Guards = Counter[Hashable]


def guards_of(expression: Node, facts: Facts) -> Guards:
    """What must have an inverse, or a root, for an expression to have a value.

    Articulated letters ask for D^-1: all of them, or those of bodies that others carry. Where D
    is regular in every state, the mass operator's are no matter. Other operands may be rewritten
    inside, so these are told apart by their spaces, and counted.
    """
    guards: set[tuple[str, Family]] = set()
    operands: dict[Hashable, Hashable] = {}  # each, and of what kind it is
    for node in _parts(settle(expression, facts.plain)):
        if isinstance(node, Symbol):
            if node.record.pivots:
                guards.add(("inner pivots", family_of(node)))
            if node.record.pivots == "all":
                guards.add(("pivots", family_of(node)))
        elif isinstance(node, Inverse) and _is_pivot(node.children[0]):
            guards.add(("pivots", family_of(node.children[0])))
        elif isinstance(node, Root) or (isinstance(node, Inverse) and not _is_recursion(node)):
            operands[_told(node)] = type(node), node.target
    if facts.regular:
        alike = [MASS, replace(MASS, N=None)] if NO_ROTORS in facts.conditions else [MASS]
        guards = {x for x in guards if x[1] not in alike}
    return Counter(guards) + Counter(operands.values())


def _is_pivot(node: Node) -> TypeGuard[Symbol]:
    """Whether it is D, of whatever inertia."""
    return isinstance(node, Symbol) and node.record is op.D.record


def _is_recursion(node: Node) -> bool:
    """Whether an inverse is (I - N)^-1 with a one-step N, which always exists."""
    return step_of(node) is not None or step_of(starred(node)) is not None


def _told(node: Node) -> Hashable:
    """An inverse or a root, the same for all that are equal by the axioms, and for their stars."""
    operand = node.children[0]
    try:
        both = canonical(operand), canonical(starred(operand))
    except InputError:  # too long
        both = operand, starred(operand)
    return type(node), frozenset(both)


def _parts(node: Node) -> Iterator[Node]:
    """Everything inside a settled expression, what families are made of included."""
    seen: set[Node] = set()
    pending = [node]
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        yield one
        pending += one.children
        if isinstance(one, Symbol):
            for given in one.arguments:
                if isinstance(given, Family):
                    pending += given.parts
                elif isinstance(given, Node):
                    pending.append(given)
