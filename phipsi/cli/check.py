"""`phipsi check`: whether our answers on a user's machine are right."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from cyclopts import Parameter

from phipsi.cli.checking.findings import Findings
from phipsi.cli.checking.gaps import gaps_of
from phipsi.cli.checking.laws import laws
from phipsi.cli.checking.opinions import WITNESSES, hear
from phipsi.cli.checking.shapes import odd_shapes
from phipsi.cli.failures import FINE, WRONG
from phipsi.cli.machine import AS_WRITTEN, Reading, is_bundled, read_machine
from phipsi.cli.screen import Screen, print_json, working
from phipsi.cli.tasks import ROOM, states_of
from phipsi.cli.whole import Whole
from phipsi.errors import InputError
from phipsi.model.report import NOTABLE

STATES = 20


def check(
    file: str,
    /,
    *,
    reading: Annotated[Reading, Parameter(name="*")] = AS_WRITTEN,
    states: Whole = STATES,
    seed: Whole = 0,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Compare our answers on a machine with every installed peer, and with the laws of mechanics.

    The same joints follow on both sides, and loops are open on both. The exit
    code is 1 where two answers differ, so that a machine's own tests can call it.

    Args:
        file: URDF, SDF or MJCF; or a machine of phipsi's own: spacecraft, puma560, chain:20 ...
        reading: of the file.
        states: how many random states the answers are compared at; fewer where their
            matrices would fill the memory.
        seed: of the random states.
        json: all of it as one JSON object, for programs.
    """
    if states < 1:
        raise InputError(f"--states is {states}; expected a whole number, one or more")
    if seed < 0:
        raise InputError(f"--seed is {seed}; expected a whole number, zero or more")
    model = read_machine(file, reading)
    if not model.nv:
        raise InputError(
            f"{file}: nothing moves in {model.name!r}, and there is nothing to check; "
            "--base free lets its root move"
        )
    tree, is_file = model.opened(), not is_bundled(file)
    states = min(states, max(1, ROOM // (8 * model.nv**2)))
    drawn = states_of(tree, states, seed)
    with working(f"computing {model.name}"):
        own = list(laws(tree, drawn))
    opinions = []
    for witness in WITNESSES if is_file else ():
        with working(f"asking {witness.name}"):
            opinions.append(hear(witness, file, tree, drawn, reading.asked))
    with working(f"measuring the shapes of {model.name}"):
        shapes, unread = odd_shapes(model)
    known = [line for line in model.report.remarks if line.status in NOTABLE]
    poses = {"neutral": model.neutral()} | {k: np.array(x.q) for k, x in model.keyframes.items()}
    gaps = {name: list(gaps_of(model, q)) for name, q in poses.items()} if model.is_closed else {}
    remarks = [*known, *shapes]
    found = Findings(model, file, is_file, states, seed, own, opinions, gaps, remarks, unread)
    if json:
        print_json(found.as_json())
    else:
        found.print_on(Screen())
    return WRONG if found.differ or (reading.strict and remarks) else FINE
