"""The cheapest of the expressions that mean the same, by what their programs cost.

    Mass^-1 Mass T                    T
    (I - H psi K) H phi M V           H psi M V                      [003 Lemma 4]
    J Mass^-1 J* f                    B* psi* H* D^-1 H psi B f      [002 (3.10)]

The normal form, the rules, the search and its prices are those of `derive`; the search is short
here, so that compiling stays quick: a bound on the expressions that are looked at, not on time,
so that results are the same everywhere. What it found is lowered and counted on two small
machines. It takes the place of the line as it was typed if it costs less on one of them, and no
more on the other; then nobody pays for the search but the one who compiles first.

What is singular raises on every path. An expression that would not look at a pivot that the
typed one looks at, or that divides where the typed one does not, is not taken: see `guards_of`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property

from phipsi.algebra.families import MASS, Family, family_of
from phipsi.algebra.identities.equation import Condition
from phipsi.algebra.node import Inverse, Node, Root, Symbol
from phipsi.algebra.own import MachineLetter
from phipsi.algebra.rewriting.normal import canonical
from phipsi.algebra.rewriting.opening import normal_form
from phipsi.algebra.rewriting.others import ways_for
from phipsi.algebra.rewriting.price import price, within_reach
from phipsi.algebra.rewriting.search import Search
from phipsi.algebra.spaces import POINTS
from phipsi.algebra.stars import starred
from phipsi.algebra.walk import letters_of
from phipsi.errors import InputError, PhipsiError
from phipsi.lowering.conditions import Facts
from phipsi.lowering.cost import cost_of
from phipsi.lowering.program import Program
from phipsi.lowering.settle import settle
from phipsi.lowering.structure import step_of
from phipsi.model.build import ModelBuilder
from phipsi.model.examples import chain
from phipsi.model.joints import Free, JointKind, Prismatic, Revolute, Spherical
from phipsi.model.model import Model, point

BOUND = 5  # expressions that are rewritten
MOST_WORDS = 80  # of an expression that is rewritten at all, when it is multiplied out
NEAR = 1.25  # results this near to the best are lowered, and counted
MOST_COUNTED = 4
NO_ROTORS = Condition.NO_ROTORS
MOST_TOGETHER = 8  # expressions of one function; more are compiled as they are typed

Lower = Callable[[tuple[Node, ...]], Program]


def rewrite(expressions: Sequence[Node], facts: Facts, lower: Lower) -> tuple[Node, ...]:
    """Expressions that mean the same and cost no more; as they were typed where none is cheaper.

    Args:
        expressions: of one function.
        facts: what is known of its machine.
        lower: makes a program of expressions.
    """
    typed = tuple(expressions)
    if len(typed) > MOST_TOGETHER:
        return typed
    try:
        best = tuple(_cheapest(x, facts, lower) for x in typed)
    except RecursionError:  # nested too deeply; the lowering tells
        return typed
    if best == typed or len(typed) == 1:
        return best
    return _shared(typed, best, lower)


def _cheapest(typed: Node, facts: Facts, lower: Lower) -> Node:
    """The cheapest expression that the search finds, of those that raise where the typed does."""
    try:
        candidates = [x for x in found(typed, facts.conditions) if x != typed]
        guards = guards_of(typed, facts)
    except PhipsiError:  # too long, or of no meaning: the lowering tells
        return typed
    best = Counted(typed, lower=lower)
    for one in candidates:
        try:
            if guards_of(one, facts) != guards:
                continue
        except PhipsiError:
            continue
        new = Counted(one, lower=lower)
        if new.is_less_than(best):
            best = new
    return best.expressions[0]


def _shared(typed: tuple[Node, ...], best: tuple[Node, ...], lower: Lower) -> tuple[Node, ...]:
    """Of several expressions, those rewritten that cost less beside the others as well."""
    least = Counted(*typed, lower=lower)
    for i, one in enumerate(best):
        if one != typed[i]:
            now = least.expressions
            trial = Counted(*now[:i], one, *now[i + 1 :], lower=lower)
            if trial.is_less_than(least):
                least = trial
    return least.expressions


# -- the search --------------------------------------------------------------------------


def found(typed: Node, granted: frozenset[Condition]) -> list[Node]:
    """Expressions that mean the same, the cheapest as they read first."""
    start = normal_form(typed)
    if len(canonical(start).terms) > MOST_WORDS:
        return [start]
    search = Search(start, ways_for((start,), granted), price, within_reach)
    search.run(BOUND)
    limit = NEAR * search.best.price.flops
    seen = sorted(search.seen.values(), key=lambda x: x.price)[:MOST_COUNTED]
    near = [x.node for x in seen if x.price.inverses or x.price.flops <= limit]
    return list(dict.fromkeys((*near, start)))


# -- what programs cost --------------------------------------------------------------------


class Counted:
    """Expressions, their program if there is one, and what it costs once somebody asks."""

    def __init__(self, *expressions: Node, lower: Lower):
        self.expressions, self._lower = expressions, lower

    @cached_property
    def program(self) -> Program | None:
        """None where there is none."""
        try:
            return self._lower(self.expressions)
        except PhipsiError:
            return None

    def is_less_than(self, other: Counted) -> bool:
        """Whether the program is cheaper on some machine and dearer on none, in no more sweeps.

        Letters of the user's, and joints by name, are those of one machine and cannot be counted
        on others: then expressions are compared as they read.
        """
        one, two = self.program, other.program
        if one is None or two is None:
            return one is not None and two is None
        if one.loops == two.loops or one.sweeps > two.sweeps:
            return False
        if self.flops and other.flops:
            pairs = list(zip(self.flops, other.flops, strict=True))
        else:
            pairs = [(self._price, other._price)]
        return all(x <= y for x, y in pairs) and any(x < y for x, y in pairs)

    @cached_property
    def flops(self) -> tuple[int, ...]:
        """On each of the small machines; none where they cannot be counted."""
        assert self.program is not None
        letters = letters_of(self.expressions)
        if any(isinstance(x, MachineLetter) for x in letters):
            return ()
        lists = {x.arguments for x in letters if x.arguments and POINTS in (x.source, x.target)}
        bare = min(map(len, lists), default=2)
        flops = []
        try:
            for machine in _machines():
                ends = [point(machine.bodies[i].name) for i in (-1, 0)]
                points = {key: [ends[i % 2] for i in range(len(key))] for key in lists}
                points[()] = [ends[i % 2] for i in range(bare)]
                flops.append(cost_of(self.program, machine, points).flops)
        except (
            PhipsiError,
            ArithmeticError,
            LookupError,
            ValueError,
        ):  # its letters fit some machine alone
            return ()
        return tuple(flops)

    @property
    def _price(self) -> int:
        return sum(price(normal_form(x)).flops for x in self.expressions)


@cache
def _machines() -> tuple[Model, ...]:
    """A chain of joints that turn, and a tree of joints of several kinds."""
    builder = ModelBuilder("a tree of several kinds")

    def add(name: str, parent: str, kind: JointKind) -> None:
        place, com, inertia = (0.4, 0.5, 0.6), (0.1, 0.2, 0.3), (0.3, 0.2, 0.4)
        builder.add_body(name, parent, kind, position=place, mass=1.0, com=com, inertia=inertia)

    add("base", "world", Free())
    add("ball", "base", Spherical())
    add("slide", "base", Prismatic((0.0, 0.6, 0.8)))
    add("hinge", "slide", Revolute((0.6, 0.0, 0.8)))
    return chain(5), builder.build()  # in shorter ones, what the root saves counts too much


# -- what must not vanish ------------------------------------------------------------------

ARTICULATED = {"P", "D", "G", "tau_bar", "psi", "P_plus", "Y"}
DIVIDED = {"G", "tau_bar", "Y"}  # of these, letters with a block D^-1 for every joint

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
        if isinstance(node, Symbol) and not node.free and not isinstance(node, MachineLetter):
            if node.name in ARTICULATED:
                guards.add(("inner pivots", family_of(node)))
            if node.name in DIVIDED:
                guards.add(("pivots", family_of(node)))
        elif isinstance(node, Inverse) and _is_letter(node.children[0], "D"):
            letter = node.children[0]
            assert isinstance(letter, Symbol)
            guards.add(("pivots", family_of(letter)))
        elif isinstance(node, Root) or (isinstance(node, Inverse) and not _is_recursion(node)):
            operands[_told(node)] = type(node), node.target
    if facts.regular:
        alike = [MASS, replace(MASS, N=None)] if NO_ROTORS in facts.conditions else [MASS]
        guards = {x for x in guards if x[1] not in alike}
    return Counter(guards) + Counter(operands.values())


def _is_letter(node: Node, name: str) -> bool:
    return isinstance(node, Symbol) and node.name == name and not node.free


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
