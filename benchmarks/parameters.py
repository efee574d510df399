"""Functions whose machine has numbers that are arguments, beside those that have them folded in.

    python -m benchmarks.parameters [robot ...]

Forward dynamics of a batch: all states with the same robot, and every state with one of its own,
whose numbers must come from memory. A rate of 0.9 is nine tenths of the folded function's states
per second, in the same run. Folded code also uses what it sees of the numbers: zeros, and what is
equal. Arguments may be anything. So the last column has the rate, every state with its own robot,
beside a folded robot whose inertias, or positions, are of any form.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

import phipsi as pp
from phipsi.cli.timing import interleave
from phipsi.lowering.parameters import Parameters
from phipsi.model.inertia import Inertia, Placement
from phipsi.operators import C, Mass, T

from .robots import Robot

BATCH = 1024
SECONDS = 0.5
BAR = 0.7
ROBOTS = ("ur5", "panda", "talos")
FORWARD = Mass.inv @ (T - C)


def cases(model: pp.Model) -> dict[str, list[str]]:
    """Which numbers are arguments, by what the case is called."""
    link = model.bodies[len(model.bodies) // 2].name
    joints = [joint.name for joint in model.joints]
    return {
        "gravity": ["gravity"],
        "mass of a link": [f"{link}.mass"],
        "mass, first moment, inertia of a link": [
            f"{link}.{quantity}" for quantity in ("mass", "first_moment", "inertia")
        ],
        "position of a joint": [f"{link}.position"],
        "placement of a joint": [f"{link}.placement"],
        "rotor of a joint": [f"{link}.rotor_inertia"],
        "moments of all links": ["moments"],
        "masses of all links": [f"{body.name}.mass" for body in model.bodies],
        "positions of all joints": [f"{name}.position" for name in joints],
    }


def of_any_form(model: pp.Model, names: Sequence[str]) -> pp.Model:
    """The robot with other numbers in place of those: none is zero, no two are equal."""
    rng = np.random.default_rng(0)
    parameters = Parameters(model, names)
    bodies, joints = list(model.bodies), list(model.joints)
    for k in parameters.bodies:
        of_body = any(x.rpartition(".")[2] in ("moments", "inertia") for x in names)
        if of_body:
            A = rng.normal(size=(3, 3))
            inertia = Inertia.of(rng.uniform(1.0, 2.0), rng.uniform(0.1, 0.3, 3), A @ A.T)
            bodies[k] = replace(bodies[k], inertia=inertia)
        elif any(x.endswith((".position", ".placement")) for x in names):
            placement = joints[k].placement
            position = rng.uniform(0.1, 0.5, 3)
            joints[k] = replace(joints[k], placement=Placement.of(placement.rotation, position))
    return replace(model, bodies=tuple(bodies), joints=tuple(joints))


def compiled(model: pp.Model, names: Sequence[str]) -> pp.Function:
    """Forward dynamics with some numbers as arguments."""
    return pp.compile(model, FORWARD, parameters=names, backend="llvm", threads=1)


@dataclass(frozen=True)
class Row:
    """A case on a robot.

    Args:
        numbers: how many of the robot's are arguments.
        flops: of one state.
        shared: rate beside the folded robot, all states with the same numbers.
        own: likewise, every state with its own.
        any_form: of the latter, beside a folded robot of any form.
    """

    robot: str
    case: str
    numbers: int
    flops: int
    shared: float
    own: float
    any_form: float


def measure(robot: Robot, case: str, names: Sequence[str]) -> Row:
    """One case, side by side with folded code."""
    model, states = robot.model, robot.states
    codes = {
        "folded": compiled(model, ()),
        "any form": compiled(of_any_form(model, names), ()),
        "arguments": compiled(model, names),
    }
    nominal = Parameters(model, names).nominal()
    own = [np.repeat(x[None], robot.count, axis=0) for x in nominal.values()]
    out = np.empty((robot.count, model.nv))
    state = states["q"], states["v"], states["tau"]
    ways = {name: code.gufunc for name, code in codes.items()}
    runs = {
        "folded": partial(ways["folded"], *state, out=out),
        "any form": partial(ways["any form"], *state, out=out),
        "shared": partial(ways["arguments"], *state, *nominal.values(), out=out),
        "own": partial(ways["arguments"], *state, *own, out=out),
    }
    folded = runs["folded"]().copy()
    error = np.abs(runs["own"]() - folded).max() / np.abs(folded).max()
    assert error < 1e-9, f"{case} of {robot.title}: they differ by {error:.1g}"
    times = interleave(runs, dict.fromkeys(runs, robot.count), seconds=SECONDS)
    numbers = sum(x.size for x in nominal.values())
    return Row(
        robot.title,
        case,
        numbers,
        codes["arguments"].info().flops,
        shared=times.ratio("folded", "shared"),
        own=times.ratio("folded", "own"),
        any_form=times.ratio("any form", "own"),
    )


def main(robots: Sequence[str]) -> None:
    """Print the table."""
    print(f"forward dynamics, batches of {BATCH}; the bar is {BAR}")
    print(
        f"{'':8}{'arguments':40}{'numbers':>8}{'flops':>8}{'shared':>8}{'own':>8}{'any form':>10}"
    )
    for name in robots:
        robot = Robot(name, BATCH)
        for case, names in cases(robot.model).items():
            row = measure(robot, case, names)
            print(
                f"{row.robot:8}{row.case:40}{row.numbers:8}{row.flops:8}"
                f"{row.shared:8.2f}{row.own:8.2f}{row.any_form:10.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:] or ROBOTS)
