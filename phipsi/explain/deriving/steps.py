"""Steps of derivations, as they are told: what was found, and what the axioms do, in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations, pairwise

from phipsi.algebra.identities import IDENTITIES, Equation
from phipsi.algebra.node import Inverse, Node, Product, Symbol
from phipsi.algebra.rewriting.collect import presented
from phipsi.algebra.rewriting.normal import is_cancelled_run, tidied, vanishes
from phipsi.algebra.rewriting.opening import name_of_definition, open_up
from phipsi.algebra.rewriting.search import Found
from phipsi.algebra.rewriting.terms import is_zero
from phipsi.explain.deriving.derivation import Step

GATHERED = "numbers and like terms gathered"
TAKEN_OUT = "common factors taken out"


class Opening:
    """What is done before any search: the normal form, and the steps to it."""

    def __init__(self, start: Node, barred: Collection[str], kept: Collection[Node] = ()):
        self.start = start
        self.end, unfoldings = open_up(start, barred, kept)
        self.steps = [_opened(*x) for x in unfoldings]


def _opened(before: Node, after: Node, letter: Symbol | None) -> Step:
    why = (_axiom(before),) if letter is None else _definition(letter)
    return Step(presented(before), presented(after), *why)


def _definition(letter: Symbol) -> tuple[str, Equation]:
    known = name_of_definition(letter)
    source = "" if known is None else IDENTITIES[known].source
    name = f"definition of {letter.name}"
    assert letter.definition is not None
    return name, Equation(name, letter, letter.definition, source)


def steps_across(one: Node, other: Node) -> tuple[Step, ...]:
    """Between two ways to write an expression; none where they are one."""
    before, after = presented(one), presented(other)
    return () if before == after else (Step(before, after, TAKEN_OUT),)


def reversed_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The way back."""
    return tuple(Step(x.after, x.before, x.name, x.identity) for x in reversed(steps))


def steps_by_axioms(one: Node, other: Node) -> tuple[Step, ...]:
    """Between expressions that are equal by the axioms alone."""
    if one == other:
        return ()
    name = _axiom(one)
    return (Step(one, other, name if name != GATHERED else "the same, multiplied out"),)


def steps_to(best: Found, start: Node) -> Iterator[Step]:
    """The way to an expression; the inverse of a product is a step of its own."""
    first = best.way[0].node
    if presented(first) != presented(start):
        yield Step(presented(start), presented(first), TAKEN_OUT)
    for found in best.way[1:]:
        assert found.before is not None and found.made is not None and found.equation is not None
        before, after = presented(found.before.node), presented(found.node)
        if _has(found.made, _is_inverse_of_product):
            made = presented(found.made)
            yield Step(before, made, found.equation.name, found.equation)
            yield Step(made, after, _axiom(found.made))
        else:
            yield Step(before, after, found.equation.name, found.equation)


def _axiom(before: Node) -> str:
    """What the axioms do with an expression, in words."""
    if _has(before, _is_inverse_of_product):
        return "inverse of a product"
    if _has(before, _has_neighbours_that_cancel) or _vanishes_by_inverses(before):
        return "an operator and its inverse cancel"
    if _has(before, _repeats_a_selection):
        return "what belongs to a body, taken once"
    if _has(before, is_zero):
        return "what is multiplied by zero vanishes"
    return GATHERED


def _has(node: Node, test: Callable[[Node], bool]) -> bool:
    return test(node) or any(_has(x, test) for x in node.children)


def _is_inverse_of_product(node: Node) -> bool:
    if not isinstance(node, Inverse) or not isinstance(node.children[0], Product):
        return False
    return all(x.is_square for x in node.children[0].factors)


def _has_neighbours_that_cancel(node: Node) -> bool:
    factors = node.factors
    runs = combinations(range(len(factors) + 1), 2)
    return any(is_cancelled_run(factors[i:j]) for i, j in runs if j - i > 1)


def _repeats_a_selection(node: Node) -> bool:
    """at(k) at(k) = at(k)."""
    return any(
        x == y and isinstance(x, Symbol) and x.record.selects for x, y in pairwise(node.factors)
    )


def _vanishes_by_inverses(node: Node) -> bool:
    return _has(node, lambda x: isinstance(x, Inverse)) and vanishes(tidied(node))
