"""`phipsi derive`: the cheapest form of an expression, step by step."""

from __future__ import annotations

import sys
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.text import Text

from phipsi.algebra.node import Node
from phipsi.algebra.parse import parse
from phipsi.cleaning import visible
from phipsi.cli.failures import FINE, WRONG, with_options
from phipsi.cli.machine import AS_WRITTEN, Reading, read_machine
from phipsi.cli.outputs import checked_place
from phipsi.cli.screen import Screen, facts, print_json, working
from phipsi.cli.whole import Whole
from phipsi.errors import InputError
from phipsi.whole_file import replacing

if TYPE_CHECKING:
    from phipsi.explain.deriving.check import Check
    from phipsi.explain.deriving.derivation import Derivation


def derive(
    expression: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    check: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    latex: Path | None = None,
    model: str | None = None,
    reading: Annotated[Reading, Parameter(name="*")] = AS_WRITTEN,
    to: str | None = None,
    notation: str | None = None,
    using: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    without: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    assume: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    bound: Whole | None = None,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Derive the cheapest form of an expression by the identities of the papers.

    Every step has its identity, and where it is printed. The exit code is 1 where a step that is
    checked fails, and where what was asked for by --to or --using is not reached.

    Args:
        expression: in the papers' letters, in quotation marks: "inv(H phi M phi' H')".
        check: hold every step against dense matrices, on random machines or on --model.
        latex: write the derivation as a document, a .tex file.
        model: a file, or a machine of phipsi's own, for which the cheapest form is chosen; --check
            looks there.
        reading: of that file.
        to: derive this expression, cheaper or not.
        notation: of one paper, in which expressions are read and shown: 000 to 003, 004-I, 004-II.
        using: names of identities that must be used; as often as you like.
        without: names of identities that must not be used; as often as you like.
        assume: what may be taken for granted, such as "serial chains"; as often as you like.
        bound: how many expressions are looked at, at most.
        json: all of it as one JSON object, for programs.
    """
    if latex is not None:
        checked_place(latex, [".tex"])
    if model is None and reading != AS_WRITTEN:
        raise InputError("--base, --mimic, --strict and --packages are for a file of --model")
    machine = None if model is None else read_machine(model, reading)
    from phipsi.cli.paper import paper  # the other commands do not wait for all this
    from phipsi.explain.deriving.derive import BOUND
    from phipsi.explain.deriving.derive import derive as derived

    most = BOUND if bound is None else bound
    node, goal = parse(expression, notation=notation), to and parse(to, notation=notation)
    found = derived(
        node,
        to=goal,
        using=using,
        without=without,
        assume=assume,
        model=machine,
        bound=most,
    )
    with working("checking every step"):
        checked = found.check(machine) if check else None
    if json:
        print_json(_as_json(found, checked))
    else:
        _print(found, checked, notation)
    if latex is not None:
        with replacing(latex) as stream:
            stream.write(paper(found).encode())
        if not json:
            line = visible(f"wrote {latex}: the derivation, for LaTeX")
            Screen().print(f"\n{line}", soft_wrap=True)
    holds = checked is None or checked.ok
    return FINE if holds and not found.missing else WRONG


def written(node: Node, notation: str | None = None) -> str:
    """An expression in the papers' letters; in those of a typewriter where a terminal has no other.

    >>> from phipsi.operators import H, phi
    >>> written(H @ phi) in ("H φ", "H @ phi")
    True
    """
    text = node.unicode(notation)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return str(node)
    return text


def _print(found: Derivation, checked: Check | None, notation: str | None) -> None:
    screen = Screen()
    screen.print(Text(f"  {written(found.expression, notation)}"), soft_wrap=True)
    for step in found:
        screen.print(Text(f"= {written(step.after, notation)}"), soft_wrap=True)
        screen.print(Text(f"      {step.reason}", style="dim"), soft_wrap=True)
    screen.print()
    said = {"result": str(found.result)} if found.steps else {}
    said |= {"cost before": str(found.before), "cost after": str(found.after)}
    if found.conditions:
        said["holds for"] = ", ".join(map(str, found.conditions))
    searched = found.verdict.removeprefix(f"from {found.before} to {found.after}; ")
    said["search"] = with_options(searched)
    screen.print(facts(said))
    if checked is not None:
        screen.print()
        screen.print(str(checked), soft_wrap=True)


def _as_json(found: Derivation, checked: Check | None) -> dict[str, Any]:
    return {
        "expression": str(found.expression),
        "result": str(found.result),
        "steps": [
            {
                "before": str(step.before),
                "after": str(step.after),
                "name": step.name,
                "source": step.source,
                "conditions": [str(x) for x in step.conditions],
            }
            for step in found
        ],
        "before": asdict(found.before),
        "after": asdict(found.after),
        "conditions": [str(x) for x in found.conditions],
        "looked_at": found.looked_at,
        "exhausted": found.exhausted,
        "missing": found.missing or None,
        "verdict": found.verdict,
        "check": None if checked is None else _residuals(checked),
    }


def _residuals(checked: Check) -> dict[str, Any]:
    """The result, beside the expression, is step 0; what is no number is null."""
    residuals = [asdict(x) | {"value": x.value if isfinite(x.value) else None} for x in checked]
    return {"ok": checked.ok, "residuals": residuals}
