"""Equations read in one direction: which are tried, and which way.

Some letters are short for what they are made of (Mass, J, C); a search unfolds these first.
Others have steps of their own (phi, psi, K, D); what they are made of is folded into them, and
they are left alone. No search begins at a single letter of these: it would find no end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from phipsi.algebra import operators as op
from phipsi.algebra.identities.equation import Condition, Equation
from phipsi.algebra.node import Identity, Inverse, Node, Root, Symbol, Transpose, scale
from phipsi.algebra.rewriting.normal import (
    atoms_of,
    is_zero,
    joined,
    starred,
    taken_apart,
    tidied,
)

SHORTHANDS = {x.name for x in (op.J, op.Mass, op.C, op.alpha, op.f, op.Omega)}
BOTH_WAYS = {op.phi_tilde.name, op.psi_tilde.name}


@dataclass(frozen=True)
class Rule:
    """An equation used from left to right."""

    equation: Equation
    left: Node
    right: Node
    signs: frozenset[Node | str]  # letters and brackets without which the left side is nowhere

    @property
    def variables(self) -> tuple[Symbol, ...]:
        """Letters that stand for anything between their spaces."""
        return self.equation.variables


Way = tuple[Rule, ...]  # an equation read one way, and its star where that says something else


def ways_of(equation: Equation) -> tuple[Way, ...]:
    """An equation as rules, both ways."""
    left, right = tidied(equation.left), tidied(equation.right)
    ways = []
    for before, after in ((left, right), (right, left)):
        rule = _rule(equation, before, after)
        if rule is None:
            continue
        star = _rule(equation, tidied(starred(before)), tidied(starred(after)))
        ways.append((rule,) if star is None or star.left == rule.left else (rule, star))
    return tuple(ways)


def _rule(equation: Equation, left: Node, right: Node) -> Rule | None:
    """A rule, its left side without a number; None where the left side says too little."""
    number, scalars, factors = taken_apart(left)
    if is_zero(left) or scalars or isinstance(left, Identity):
        return None
    left, right = joined(1, factors), tidied(scale(1 / number, right))
    variables = set(equation.variables)
    signs = frozenset(x for x in atoms_of(left) if not _is_open(x, variables))
    known = {plain(x) for x in atoms_of(left)}
    unknown = any(plain(x) in variables - known for x in atoms_of(right))
    if not signs or unknown or left == right:
        return None
    return Rule(equation, left, right, signs)


def _is_open(sign: Node | str, variables: Collection[Symbol]) -> bool:
    return isinstance(sign, Identity) or plain(sign) in variables


def _is_worth_trying(rule: Rule) -> bool:
    """Whether the left side is more than one letter that is left alone."""
    letter = rule.left
    while isinstance(letter, (Transpose, Inverse, Root)):
        letter = letter.children[0]
    if not isinstance(letter, Symbol):
        return True
    is_definition = letter.definition is not None and tidied(letter.definition) == rule.right
    return letter.name in BOTH_WAYS or (is_definition and is_shorthand(letter))


def is_shorthand(letter: Symbol) -> bool:
    """Whether a letter is only short for what it is made of."""
    if letter.definition is None:
        return False
    return letter.name in SHORTHANDS or letter.name not in op.LETTERS


def plain(letter: Node | str) -> Node | str:
    """A letter without its star."""
    return letter.children[0] if isinstance(letter, Transpose) else letter


def chosen(
    equations: Iterable[Equation],
    granted: Collection[Condition],
    using: Collection[str] = (),
    without: Collection[str] = (),
) -> list[Way]:
    """The ways of equations that a search tries.

    Args:
        equations: those that are known.
        granted: the conditions that may be taken for granted.
        using: names of equations that are wanted, also where they follow from others; the way
            that is not tried unasked, if there is one.
        without: names of equations that must not be used.
    """
    ways: list[Way] = []
    for equation in equations:
        wanted = equation.name in using
        if equation.name in without or not set(equation.conditions) <= set(granted):
            continue
        if equation.derived and not wanted:
            continue
        if _defines_shorthand(equation) and not wanted:
            continue  # unfolded from the start
        usual = [way for way in ways_of(equation) if _is_worth_trying(way[0])]
        unusual = [way for way in ways_of(equation) if way not in usual]
        ways.extend(unusual if wanted and unusual else usual)
    return ways


def _defines_shorthand(equation: Equation) -> bool:
    letter = equation.left
    return (
        isinstance(letter, Symbol)
        and is_shorthand(letter)
        and letter.definition is not None
        and letter.definition == equation.right
    )
