"""SDF files, versions 1.4 to 1.12: models and worlds, read into a Model.

Source: the SDFormat specification, http://sdformat.org/spec. What it leaves
open is stated at `read`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace

from phipsi.errors import InputError
from phipsi.model.build import ModelBuilder
from phipsi.model.files.account import Notes, account, refuse_unknown
from phipsi.model.files.reading import Reading
from phipsi.model.files.sdf.assemble import Assembly
from phipsi.model.files.sdf.include import Includes
from phipsi.model.files.sdf.joint import read_joint
from phipsi.model.files.sdf.link import LinkPart, read_link
from phipsi.model.files.sdf.models import Models, make_world
from phipsi.model.files.sdf.pose import read_version, to_flag
from phipsi.model.files.xmlfile import Element
from phipsi.model.inertia import Vector3, vector3
from phipsi.model.joints import Free
from phipsi.model.model import EARTH, Model
from phipsi.model.report import Remark, Report

_OF_WORLD = {
    **dict.fromkeys(("light", "scene", "gui", "road"), "it concerns looks alone"),
    **dict.fromkeys(("wind", "atmosphere"), "there is no air"),
    **dict.fromkeys(("audio", "magnetic_field", "spherical_coordinates"), "it moves nothing"),
    "plugin": "code of a simulator",
    "actor": "it is moved by a script, not by forces",
}
_WEIGHTLESS = (0.0, 0.0, 0.0)
_MOTION = frozenset(  # what tells how a machine moves, and where it stands
    {
        *("sdf/model", "world/model", "model/model", "model/link", "model/joint", "world/joint"),
        *("model/frame", "world/frame", "model/include", "world/include"),
        *(f"{each}/pose" for each in ("model", "link", "joint", "frame", "include", "inertial")),
        *("link/inertial", "inertial/mass", "inertial/inertia", "joint/axis", "joint/axis2"),
        *(
            f"{axis}/{each}"
            for axis in ("axis", "axis2")
            for each in ("xyz", "limit", "dynamics", "mimic")
        ),
    }
)


def read(root: Element, how: Reading) -> Model:
    """The machine of an <sdf>: its one model, or all models of its world.

    Names are those of the file, seen from the outermost model or from the world: `link`,
    `inner::link`. A link that nothing carries moves freely, on a joint called "root" (one of
    several: "root_LINK"), unless its model is static or base="fixed"; base="free" frees a static
    model. In the neutral configuration everything is where the file puts it.

    A joint carries its child. If something does already, it closes a loop, `model.closures`; if
    its parent would hang free otherwise, the joint carries that. Gearboxes and <mimic> are mimic
    joints. A link without <inertial> has 1 kg, as the specification says.
    """
    notes = Notes(how.strict)
    version = read_version(root)
    worlds, models = list(root.all("world")), list(root.all("model"))
    root.ignore(dict.fromkeys(("light", "actor"), "it is not moved by forces"))
    if len(worlds) > 1 or (worlds and models):
        element = (worlds[1:] or models)[0]
        raise element.error("<sdf> has a <world> and more; keep one world, or models alone")
    if not worlds and not models:
        raise root.error("<sdf> has neither a <model> nor a <world>; expected one")

    includes = Includes(root, how.packages)
    place = worlds[0] if worlds else root
    world = make_world(place, version)
    alone = not worlds and len(models) == 1
    reader = Models(includes, notes, thaw=alone and how.base == "free")
    if alone:
        node = reader.read_model(world, models[0], version, (), 0, prefix="")
        name = node.name
    else:
        place.ignore(_OF_WORLD)
        reader.read_scope(world)
        name = place.get("name") or os.path.splitext(os.path.basename(root.file))[0]

    links = {
        node.name: read_link(node, static, includes.packages(node.element), notes)
        for node, static in reader.found.links
    }
    if not links:
        empty = models[0] if alone else place
        raise empty.error(f"{empty.label} has no <link>; {_what_is_missing(empty)}")
    joints = [read_joint(node, notes) for node in reader.found.joints]
    assembly = Assembly(links, joints, reader.found.frames, how, notes)
    gravity = _read_gravity(place, how, links.values(), notes)
    builder = ModelBuilder(name, gravity, how.strict, where=assembly.where)
    assembly.build(builder)
    model = builder.build()
    if how.base == "free" and not any(isinstance(joint.kind, Free) for joint in model.joints):
        raise InputError(
            f"load: base='free': every link of {root.file} hangs on the world by joints of the "
            "file; leave base out"
        )
    roots, lines = list(includes.roots), [*notes.lines, *model.report]
    for each in roots if how.strict else ():
        refuse_unknown(each, _MOTION)
    return replace(model, report=_report(roots, lines, lambda: assembly.settle(model)))


def _what_is_missing(empty: Element) -> str:
    """The first <include> that was not found, or simply links."""
    for child in empty.children:
        if child.tag == "include" and child.status == "refused":
            return f"its <include> of line {child.line}: {child.reason}"
    return "expected at least one"


def _read_gravity(world: Element, how: Reading, links: Iterable[LinkPart], notes: Notes) -> Vector3:
    """Gravity as it is asked for, else as the world has it; none if no link feels it."""
    told = _told_gravity(world, notes)
    found = EARTH if told is None else vector3("gravity", told.values(3))
    for state in world.all("state"):
        state.mark("ignored", "a saved state")
        notes.note(state, "a saved <state> is not read: all is where the models put it", "ignored")
    for population in world.all("population"):
        notes.refuse(population, "a <population> is left out; write its models")
    moving = [link for link in links if not link.static]
    without = [link.weightless for link in moving if link.weightless is not None]
    if how.gravity is not None:
        for element in without if told is None else (told, *without):
            element.mark("ignored", "another gravity was asked for")
        return how.gravity
    if without and len(without) == len(moving):
        if told is not None:
            told.mark("ignored", "no link feels it")
        return _WEIGHTLESS
    for element in without:
        notes.refuse(element, "gravity acts on all links or on none")
    return found


def _told_gravity(world: Element, notes: Notes) -> Element | None:
    """The <gravity> that counts: the world's, else that of its <physics>.

    Of several <physics> it is the first that says default="true", else the first.
    """
    settings = list(world.all("physics"))
    for physics in settings:
        for child in physics.children:
            if child.tag != "gravity":
                child.mark("ignored", "settings of physics engines")
        physics.look("name", "type")
    defaults = [each for each in settings if to_flag(each, each.get("default") or "false")]
    chosen = next(iter(defaults or settings), None)
    told = world.find("gravity") or (chosen and chosen.find("gravity"))
    for gravity in (each.find("gravity") for each in settings):
        if gravity is None or gravity is told:
            continue
        counts = f"that in line {told.line}" if told else f"Earth's {EARTH}"
        gravity.mark("ignored", f"{counts} counts")
        if gravity.values(3) != (told.values(3) if told else EARTH):
            notes.note(gravity, f"this <gravity> is not used: {counts} counts", "ignored")
    return told


def _report(roots: list[Element], lines: list[Remark], settle: Callable[[], None]) -> Report:
    """The report of several files, one after the other."""
    files = {root.file for root in roots}

    def make() -> Iterable[Remark]:
        settle()
        for root in roots:
            own = [line for line in lines if line.file == root.file]
            yield from account(root, own)
        yield from (line for line in lines if line.file not in files)

    return Report(make)
