"""Equations read in one direction: which are tried, and which way.

Some letters are short for what they are made of (Mass, J, C); a search unfolds these first.
Others have steps of their own (phi, psi, K, D); what they are made of is folded into them, and
they are left alone. No search begins at a single letter of these: it would find no end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache

from phipsi.algebra.identities.equation import IDENTITIES, Equation, Requirement
from phipsi.algebra.node import Identity, Inverse, Node, Root, Sum, Symbol, Transpose, scale
from phipsi.algebra.rewriting.collect import forms_of
from phipsi.algebra.rewriting.normal import atoms_of, inverted, tidied
from phipsi.algebra.rewriting.terms import is_zero, joined, taken_apart
from phipsi.algebra.spaces import Causality
from phipsi.algebra.stars import starred


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

    @property
    def drops_a_letter(self) -> bool:
        """Whether it says of a letter that it is zero."""
        return isinstance(self.left, Symbol) and is_zero(self.right)


Way = tuple[Rule, ...]  # an equation read one way, in its forms, and its star where that is another


@lru_cache(maxsize=2_000)
def ways_of(equation: Equation, inverses: bool = True) -> tuple[Way, ...]:
    """An equation as rules, both ways; where a side is an inverse, also the equation inverted."""
    return ways_between(equation, tidied(equation.left), tidied(equation.right), inverses)


def ways_between(
    equation: Equation, left: Node, right: Node, inverses: bool = True
) -> tuple[Way, ...]:
    """The same for other forms of the two sides, tidy."""
    sides = [(left, right), (right, left)]
    for before, after in tuple(sides):
        if inverses and isinstance(before, Inverse):
            sides += [(before.children[0], inverted(after)), (inverted(after), before.children[0])]
    ways = []
    for before, after in sides:
        forms = dict.fromkeys(forms_of(before)) if isinstance(before, Sum) else (before,)
        rules = [_rule(equation, form, after) for form in forms]
        rules += [_rule(equation, tidied(starred(x)), tidied(starred(after))) for x in forms]
        by_left = {rule.left: rule for rule in reversed(rules) if rule is not None}
        if by_left:
            ways.append(tuple(reversed(by_left.values())))
    return tuple(ways)


def _rule(equation: Equation, left: Node, right: Node) -> Rule | None:
    """A rule, its left side without a number; None where the left side says too little.

    I, zero and a single variable are everywhere: no search begins at them.
    """
    number, scalars, factors = taken_apart(left)
    if is_zero(left) or scalars or isinstance(left, Identity):
        return None
    left, right = joined(1, factors), tidied(scale(1 / number, right))
    variables = set(equation.variables)
    signs = frozenset(x for x in atoms_of(left) if not _is_open(x, variables))
    known = {plain(x) for x in atoms_of(left)}
    unknown = any(plain(x) in variables - known for x in atoms_of(right))
    is_variable = isinstance(plain(left), Symbol) and not signs
    if is_variable or unknown or left == right:
        return None
    return Rule(equation, left, right, signs)


def _is_open(sign: Node | str, variables: Collection[Symbol]) -> bool:
    return isinstance(sign, Identity) or plain(sign) in variables


def _is_worth_trying(rule: Rule) -> bool:
    """Whether the left side is more than one letter that is left alone, or is zero."""
    letter = rule.left
    while isinstance(letter, (Transpose, Root)) or _is_inverse_of_blocks(letter):
        letter = letter.children[0]
    if not isinstance(letter, Symbol):
        return True
    is_definition = letter.definition is not None and tidied(letter.definition) == rule.right
    is_unfolded = is_definition and is_shorthand(letter)
    return is_unfolded or letter.record.both_ways or rule.drops_a_letter


def _is_inverse_of_blocks(node: Node) -> bool:
    return isinstance(node, Inverse) and node.causality is Causality.MEMORYLESS


def is_shorthand(letter: Symbol) -> bool:
    """Whether a letter is only short for what it is made of."""
    if letter.definition is None:
        return False
    return letter.record.shorthand or letter.record.alphabet is None


def plain(letter: Node | str) -> Node | str:
    """A letter without its star."""
    return letter.children[0] if isinstance(letter, Transpose) else letter


def chosen(
    equations: Iterable[Equation],
    granted: Collection[Requirement],
    using: Collection[str] = (),
    without: Collection[str] = (),
    kept: Collection[Node] = (),
) -> list[Way]:
    """The ways of equations that a search tries.

    Args:
        equations: those that are known.
        granted: the conditions that may be taken for granted.
        using: names of equations that are wanted, also where they follow from others; the way
            that is not tried unasked, if there is one.
        without: names of equations that must not be used.
        kept: shorthands that were not unfolded from the start.
    """
    ways: list[Way] = []
    for equation in equations:
        wanted = equation.name in using
        if equation.name in without or not set(equation.conditions) <= set(granted):
            continue
        if equation.derived and not wanted:
            continue
        if _defines_shorthand(equation) and equation.left not in kept:
            continue  # unfolded from the start
        usual = [way for way in ways_of(equation) if _is_worth_trying(way[0])]
        unusual = [way for way in ways_of(equation, inverses=False) if way not in usual]
        ways.extend(unusual if wanted and unusual else usual)
    return ways


def leaves_letters_alone(node: Node, granted: Collection[Requirement]) -> bool:
    """Whether an expression has letters at which some equation begins that is not tried there."""
    return any(
        way[0].signs and way[0].signs <= atoms_of(node) and not _is_worth_trying(way[0])
        for equation in IDENTITIES.values()
        if set(equation.conditions) <= set(granted)
        for way in ways_of(equation)
    )


def _defines_shorthand(equation: Equation) -> bool:
    letter = equation.left
    return (
        isinstance(letter, Symbol)
        and is_shorthand(letter)
        and letter.definition is not None
        and letter.definition == equation.right
    )
