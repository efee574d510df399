"""Programs to be read: each statement as the formula that it is.

Slots go by the letter they hold (V, P, G, ...); the others are x1, x2, ... .
`phi` is phi(p(k),k), an argument of the parent is marked V[p], and `p.x += ...`
is pushed to the parent.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from phipsi.algebra.alphabet import PAPERS
from phipsi.algebra.node import Symbol
from phipsi.lowering.program import At, Effect, Loop, Program, Slot, Statement
from phipsi.lowering.visitor import FORMULAS


def show(program: Program) -> str:
    """A program as loops of formulas."""
    name = _namer(program)
    return "\n".join(_loop(loop, name) for loop in program.loops)


def _namer(program: Program) -> Callable[[Slot], str]:
    """Letters for the slots that have one, numbers for the others."""
    makers = {x.target: x for x in program.statements() if x.target is not None}
    named = {slot: slot.name for slot, x in makers.items() if slot.name != x.step}
    several = {name for name, n in Counter(named.values()).items() if n > 1}
    names: dict[Slot, str] = {}
    seen: Counter[str] = Counter()
    for slot in makers:
        base = named.get(slot, "x")
        seen[base] += 1
        names[slot] = f"{base}{seen[base]}" if base == "x" or base in several else base
    return names.__getitem__


def _loop(loop: Loop, name: Callable[[Slot], str]) -> str:
    lines = [_statement(x, name) for x in loop.before]
    if loop.statements:
        lines.append(f"for k {loop.direction.value}:")
    for statement in loop.statements:
        kind = statement.domain.kind
        inner = "" if kind == "body" else f"for each {kind}: "
        lines.append(f"    {inner}{_statement(statement, name)}")
    return "\n".join(lines)


def _statement(statement: Statement, name: Callable[[Slot], str]) -> str:
    marks = {At.OWN: "", At.PARENT: "[p]", At.EACH_POINT: "[points]"}
    arguments = [f"{name(x.slot)}{marks[x.at]}" for x in statement.arguments]
    if statement.effect is Effect.EMIT:
        number, slot = statement.options[0], statement.target
        into = f"output {number}" if slot is None else name(slot)
        return f"{into} += {', '.join(arguments)}"
    assert statement.target is not None
    target = name(statement.target)
    left = {
        Effect.SET: f"{target} =",
        Effect.PUSH: f"p.{target} +=",
        Effect.GATHER: f"{target} +=",
    }[statement.effect]
    return f"{left} {_formula(statement, arguments)}"


def _formula(statement: Statement, arguments: list[str]) -> str:
    if statement.step in ("scale", "scale_block"):
        number = statement.options[0]
        return f"-{arguments[0]}" if number == -1 else f"{number:g} * {arguments[0]}"
    formula = FORMULAS[statement.step]
    held = formula.holds(len(arguments))
    if held is not None:
        return f"{statement.step}({arguments[held]})"
    names = dict(zip(formula.names, arguments, strict=False))
    if not any(formula.count(i) for i in range(len(arguments))):  # a letter, or nothing
        return f"{statement.step}({', '.join(arguments)})"
    text = re.sub(r"(\w+)\.inv", r"inv(\1)", formula.text).replace(".T", "*")
    text = _NAME.sub(lambda x: names.get(x[0], _element(x[0])), text)
    return text.replace("H**", "H")


_NAME = re.compile(r"[A-Za-z_]\w*")


def _element(name: str) -> str:
    """What the block of a letter that steps to the parent is called: of E_phi, phi(p(k),k)."""
    letter = PAPERS.letters.get(name)
    if isinstance(letter, Symbol) and letter.record.one_step:
        return letter.record.element or name
    return name
