"""`phipsi explain`: an expression, from its letters down to coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from phipsi.algebra.node import Node
from phipsi.algebra.parse import parse
from phipsi.algebra.spaces import JOINT, POINTS
from phipsi.algebra.walk import letters_of
from phipsi.cleaning import visible
from phipsi.cli.failures import with_options
from phipsi.cli.machine import AS_WRITTEN, Reading, read_machine
from phipsi.cli.outputs import checked_place
from phipsi.cli.screen import Screen, print_json, working
from phipsi.cli.whole import Whole
from phipsi.errors import InputError
from phipsi.lowering.inputs import SPATIAL
from phipsi.model.model import Model, Point, point

if TYPE_CHECKING:
    from phipsi.explain.drawings import Drawing
    from phipsi.explain.levels.explanation import Explanation, Level


def explain(
    expression: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    model: str | None = None,
    reading: Annotated[Reading, Parameter(name="*")] = AS_WRITTEN,
    level: Whole | None = None,
    notation: str | None = None,
    view: Literal["mechanics", "estimation"] = "mechanics",
    rewrite: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    at: Annotated[tuple[str, ...], Parameter(negative=(), show_default=False)] = (),
    seed: Whole | None = None,
    svg: Path | None = None,
    draw: Literal["dataflow", "blocks"] = "dataflow",
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> None:
    """Explain an expression: its operators, its sweeps, every quantity on the way.

    Seven levels, from the letters down to coordinates; with a machine also what it costs there,
    and the numbers at a state.

    Args:
        expression: in the papers' letters, in quotation marks: "inv(H phi M phi' H') (T - C)".
        model: a file, or a machine of phipsi's own: spacecraft, puma560, chain:20 ...
        reading: of that file.
        level: one of the seven alone; 1 is the expression, 4 the sweeps, 7 coordinates.
        notation: of one paper, in which the expression is read: 000 to 003, 004-I, 004-II.
        view: name the quantities as mechanics does, or as the theory of estimation.
        rewrite: explain what `pp.compile` runs, which may be another line than is typed.
        at: a body or frame for B, J, X and c; as often as you like.
        seed: of a random state and random forces; without it the machine rests, and T is zero.
        svg: write a drawing, a .svg file.
        draw: what to draw: the sweeps along the tree, or the blocks of the operator on --model.
        json: all of it as one JSON object, for programs.
    """
    node = parse(expression, notation=notation)
    machine = None if model is None else read_machine(model, reading)
    _check(machine, reading, at, seed, svg, draw)
    points = [point(name) for name in at] or None
    state = {} if machine is None else _state(machine, node, len(at), seed)
    from phipsi.explain.levels.explain import (
        explain as explained,  # other commands do not wait for it
    )

    with working("explaining"):
        found = explained(node, machine, view=view, points=points, rewrite=rewrite, **state)
        levels = found.levels if level is None else (found.level(level),)
    if json:
        print_json(_as_json(node, found, levels))
    else:
        shown = found if level is None else levels[0]
        Screen().print(with_options(str(shown)), soft_wrap=True)
    if svg is not None:  # what cannot be drawn has been explained all the same
        with working("drawing"):
            drawing = _drawn(draw, node, machine, points, state)
        drawing.save(str(svg))
        if not json:
            Screen().print(f"\nwrote {visible(str(svg))}: {visible(drawing.title)}", soft_wrap=True)


def _check(
    model: Model | None,
    reading: Reading,
    at: Sequence[str],
    seed: int | None,
    svg: Path | None,
    draw: str,
) -> None:
    """InputError for options that ask for others."""
    if model is None:
        if reading != AS_WRITTEN:
            raise InputError("--base, --mimic, --strict and --packages are for a file of --model")
        for option, value in (("--at", at), ("--seed", seed is not None)):
            if value:
                raise InputError(f"{option} is about a machine; add --model")
        if draw == "blocks":
            raise InputError("--draw blocks needs a machine; add --model")
    if seed is not None and seed < 0:
        raise InputError(f"--seed is {seed}; expected a whole number, zero or more")
    if svg is not None:
        checked_place(svg, [".svg"])
    elif draw == "blocks":
        raise InputError("--draw says what is drawn, and --svg where; add --svg FILE")


def _state(model: Model, node: Node, points: int, seed: int | None) -> dict[str, Any]:
    """q, v and the free letters: random by the seed; without one the machine rests.

    Where points are neither named nor in the letters, nothing has a size, and no letter a value.
    """
    rng = np.random.default_rng(seed)
    joint_space = sum(joint.kind.nv for joint in model.joints)
    letters = letters_of([node])
    places = [x.arguments for x in letters if POINTS in (x.source, x.target) and not x.free]
    count = points or max(map(len, places), default=0)
    free = [x for x in letters if x.free]
    bare = not points and not all(places)
    if bare or (not count and any(x.target is POINTS for x in free)):
        free = []
    sizes = {x.name: joint_space if x.target is JOINT else SPATIAL * count for x in free}
    if seed is None:
        return {name: np.zeros(size) for name, size in sizes.items()}
    state = {"q": model.random(rng), "v": rng.normal(size=model.nv)}
    return state | {name: rng.normal(size=size) for name, size in sizes.items()}


def _drawn(
    draw: str, node: Node, model: Model | None, points: list[Point] | None, state: dict[str, Any]
) -> Drawing:
    from phipsi.explain.drawings import draw_blocks, draw_dataflow

    if draw == "dataflow" or model is None:
        return draw_dataflow(node, model)
    given = {name: x for name, x in state.items() if name in ("q", "v")}
    return draw_blocks(node, model, points=points, **given)


def _as_json(node: Node, found: Explanation, levels: Sequence[Level]) -> dict[str, Any]:
    return {
        "expression": str(node),
        "view": found.view,
        "levels": [{"number": x.number, "title": x.title, "text": x.text} for x in levels],
        "quantities": [
            {
                "name": x.name,
                "formula": x.formula,
                "expression": None if x.expression is None else str(x.expression),
                "meaning": x.meaning,
                "unit": x.unit,
            }
            for x in found.parts
        ],
        "cost": found.cost,
        "numbers": with_options(found.numbers) or None,
    }
