"""`phipsi info`: what a machine is made of."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Annotated

import numpy as np
from cyclopts import Parameter
from rich.text import Text

from phipsi import dynamics
from phipsi.cleaning import visible
from phipsi.cli.describe import describe
from phipsi.cli.drawing import draw_tree
from phipsi.cli.joint_table import MOST_JOINTS, joint_table
from phipsi.cli.loops import closure_table, coupling_table
from phipsi.cli.machine import AS_WRITTEN, BUNDLED, Reading, is_bundled, read_machine
from phipsi.cli.remarks import paragraphs, short
from phipsi.cli.screen import Screen, facts, heading, number, plural, print_json
from phipsi.model.geometry import Mesh, Visual
from phipsi.model.model import Model
from phipsi.model.report import STATUSES, Remark, Status

MOST_REMARKS = 30  # sorts of them
PLURALS = {"mesh": "meshes", "box": "boxes"}


def info(
    file: str,
    /,
    *,
    reading: Annotated[Reading, Parameter(name="*")] = AS_WRITTEN,
    report: Annotated[
        tuple[Status, ...] | None,
        Parameter(consume_multiple=True, negative=(), show_default=False),
    ] = None,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> None:
    """Show what a machine is made of, and what became of every element of its file.

    Args:
        file: URDF, SDF or MJCF; or a machine of phipsi's own: spacecraft, puma560, chain:20 ...
        reading: of the file.
        report: every element of the file and what became of it; or those that became this.
        json: all of it as one JSON object, for programs.
    """
    model = read_machine(file, reading)
    if json:
        print_json(describe(model, mass_centre(model), None if is_bundled(file) else file))
        return
    screen = Screen()
    screen.print(Text(visible(model.name), style="bold"))
    screen.print(facts(_facts(model, file)))
    if model.bodies:
        screen.print(heading("Bodies, the joints that carry them, masses"))
        screen.print(draw_tree(model))
        screen.print(heading("Joints"))
        joints, missing = joint_table(model, screen.width)
        screen.print(joints)
        _print_rest(screen, len(model.joints) - MOST_JOINTS)
        if missing:
            screen.print(f"on a wider terminal: {', '.join(missing)}")
    if model.closures:
        screen.print(heading("Loops, which the tree leaves open"))
        screen.print(closure_table(model))
    if model.couplings:
        screen.print(heading("Couplings, which the tree leaves out"))
        screen.print(coupling_table(model))
    if report is None:
        _print_remarks(screen, model.report.remarks)
    else:
        _print_report(screen, model, report)


def file_first(words: Sequence[str]) -> list[str]:
    """The words of a command, those after --report that can be no status before it.

    >>> file_first(["info", "--report", "refused", "robot.urdf"])
    ['info', 'robot.urdf', '--report', 'refused']
    """
    if "info" not in words[:1] or "--report" not in words:
        return list(words)
    at = words.index("--report") + 1
    near = list(takewhile(lambda word: not word.startswith("-"), words[at:]))
    files = [word for word in near if word not in STATUSES and _names_a_machine(word)]
    statuses = [word for word in near if word not in files]
    return [*words[: at - 1], *files, "--report", *statuses, *words[at + len(near) :]]


def _names_a_machine(word: str) -> bool:
    name = word.partition(":")[0]
    return name in BUNDLED or not is_bundled(word)


def _print_remarks(screen: Screen, remarks: Sequence[Remark]) -> None:
    if remarks:
        screen.print(heading(plural(len(remarks), "remark")))
        for line in paragraphs(remarks, MOST_REMARKS):
            screen.print(line, soft_wrap=True)


def _print_report(screen: Screen, model: Model, statuses: Sequence[Status]) -> None:
    """Every line of these statuses, or of all; those that one should read stand out."""
    lines = model.report.of(*(statuses or STATUSES))
    screen.print(heading(plural(len(lines), "line of the report", "lines of the report")))
    for line in lines:
        screen.print(short(line), soft_wrap=True, style="" if line.notable else "dim")


def _print_rest(screen: Screen, count: int) -> None:
    if count > 0:
        screen.print(f"... and {count:,} more")


def _facts(model: Model, file: str) -> dict[str, str]:
    """What can be said in a line each."""
    found = {
        "from": "phipsi's own machines" if is_bundled(file) else file,
        "bodies": f"{len(model.bodies):,}",
        "joints": f"{len(model.joints):,}",
        "freedoms": f"{model.nv:,}, in {plural(model.nq, 'coordinate')}",
        "mass": f"{number(model.mass)} kg",
    }
    followers = len(model.joints) - len(model.leaders)
    if followers:
        found["joints"] += f", of which {plural(followers, 'follows another', 'follow others')}"
    if model.closures:
        held = sum(closure.equations for closure in model.closures)
        found["loops"] = f"{len(model.closures):,}, of {plural(held, 'equation')}"
    if model.couplings:
        found["couplings"] = f"{len(model.couplings):,}"
    if model.base_inertia.mass:
        found["mass"] += f", of which {number(model.base_inertia.mass)} kg on the world"
    centre = mass_centre(model)
    if centre is not None:
        found["mass centre"] = f"{_vector(centre)} m, joints at neutral"
    found["gravity"] = f"{_vector(model.gravity)} m/s^2"
    if model.frames:
        found["frames"] = f"{len(model.frames):,} more, fixed on bodies"
    if model.keyframes:
        found["keyframes"] = ", ".join(model.keyframes)
    for name, shapes in (("looks", model.visuals), ("collisions", model.collisions)):
        if shapes:
            found[name] = _shapes(shapes)
    if len(model.report):
        counts = model.report.counts.items()
        found["report"] = ", ".join(f"{count:,} {status}" for status, count in counts)
    return found


def _shapes(shapes: Sequence[Visual]) -> str:
    """How many of which.

    >>> from phipsi.model.geometry import Box, Sphere
    >>> _shapes([Visual(Box((1, 1, 1))), Visual(Sphere(1.0)), Visual(Box((2, 2, 2)))])
    '2 boxes, 1 sphere'
    >>> _shapes([Visual(Mesh("package://robot/arm.stl"))])
    '1 mesh; 1 not found, --packages says where to look'
    """
    counts = Counter(type(visual.shape).__name__.lower() for visual in shapes)
    told = ", ".join(plural(n, shape, PLURALS.get(shape, "")) for shape, n in counts.items())
    meshes = (visual.shape for visual in shapes if isinstance(visual.shape, Mesh))
    lost = sum(not os.path.isfile(mesh.path) for mesh in meshes)
    return f"{told}; {lost:,} not found, --packages says where to look" if lost else told


def mass_centre(model: Model) -> np.ndarray | None:
    """Of all links, also those on the world, at the neutral configuration, (3,), m.

    None of a machine without mass.

    >>> import phipsi as pp
    >>> mass_centre(pp.examples.planar_arm(2))
    array([1., 0., 0.])
    """
    if not model.mass:
        return None
    poses = dynamics.body_poses(model.opened(), model.neutral(), backend="numpy")
    base = model.base_inertia
    moment = base.mass * np.array(base.com)
    for pose, body in zip(poses, model.bodies, strict=True):
        moment = moment + body.inertia.mass * (pose @ [*body.inertia.com, 1.0])[:3]
    return moment / model.mass


def _vector(entries: Iterable[float]) -> str:
    return f"({', '.join(number(round(x, 12)) for x in entries)})"
