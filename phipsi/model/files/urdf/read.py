"""URDF files: links and joints, read into a Model.

Source: the URDF specification, http://wiki.ros.org/urdf/XML. What the format
leaves open is stated at `load`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from phipsi.errors import name_choices
from phipsi.model.build import ModelBuilder, Part, Where
from phipsi.model.files.account import Notes, account, refuse_macros, refuse_unknown
from phipsi.model.files.packages import Packages
from phipsi.model.files.reading import Reading
from phipsi.model.files.urdf.gazebo import SETTINGS, read_gazebo
from phipsi.model.files.urdf.joints import FREE, PARTS, WELD, Joints, Parts
from phipsi.model.files.urdf.loops import add_loops
from phipsi.model.files.urdf.origin import Origins
from phipsi.model.files.urdf.transmissions import UNREAD, read_transmissions
from phipsi.model.files.urdf.visuals import Visuals
from phipsi.model.files.xmlfile import Element
from phipsi.model.geometry import Visual
from phipsi.model.inertia import HERE, MASSLESS, Inertia, Placement
from phipsi.model.later import Later
from phipsi.model.model import EARTH, Model
from phipsi.model.names import ROOT_JOINT, unused
from phipsi.model.report import Place
from phipsi.model.tree import WORLD, WORLD_NAME
from phipsi.spatial import ZERO3

# By link: the joint that carries it, its parts, and its parent link; in the order of the joints.
_Carriers = Mapping[str, tuple[Element, Parts, str]]

# What URDF and its users know, and nobody needs to read; see `account`.
_UNREAD = UNREAD | {
    "robot": {"gazebo": SETTINGS, "sensor": "it moves nothing"},
    "link": {"sensor": "it moves nothing", "contact": "nothing touches anything"},
    "robot/joint": dict.fromkeys(("calibration", "safety_controller"), "for controllers"),
    "joint/limit": dict.fromkeys(("@acceleration", "@deceleration", "@jerk"), "for controllers"),
    "material": {"color": "its name has a colour already", "texture": "textures are not read"},
}
# The elements in which nothing may be unknown when strict.
_MOTION = frozenset(
    (
        *("link/inertial", "inertial/origin", "inertial/mass", "inertial/inertia", "robot/joint"),
        *(f"joint/{tag}" for tag in PARTS),
        *("robot/gazebo", "gazebo/joint", "gazebo/springStiffness", "gazebo/springReference"),
        *("joint/pose", "axis/xyz", "axis/limit", "axis/dynamics"),
    )
)
_TAGS = {  # of a Part
    **{"inertia": "inertial", "kind": "axis", "limits": "limit"},
    **{"dynamics": "dynamics", "mimic": "mimic"},
}
_OF_INERTIAL = frozenset({"origin", "mass", "inertia"})
_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def read(robot: Element, how: Reading) -> Model:
    """The machine of a <robot>.

    Every link is a body whose frame is the joint that carries it. The inertia
    tensor stands in the axes of the <inertial>'s origin, at the mass centre;
    with R = Rz(yaw) Ry(pitch) Rx(roll) of its rpy, the body has `R I R*`. A
    planar joint moves across its axis, a floating one is `joints.Free`; both
    axis and limits default as the specification says ((1, 0, 0); 0 where a
    <limit> leaves out lower or upper; none for continuous joints, nor where
    <limit> is missing).

    A root link called "world" that has no mass is the world itself. With
    base="free" it is a link like any other and carried by the free joint,
    unless all its joints are floating: the machine is free already then. Any
    other link called "world" becomes "world_link".
    """
    notes, free = Notes(how.strict), how.base == "free"
    links, joints = _by_name(robot, "link"), _by_name(robot, "joint")
    refuse_macros(robot, *links.values(), *joints.values())
    carriers = _find_carriers(links, joints)
    root = _find_root(robot, links, carriers)
    origins = Origins(robot, notes)
    inertias = {name: _read_inertia(link, origins) for name, link in links.items()}
    is_world = root == WORLD_NAME and inertias[root].vanishes
    if is_world and free:
        on_root = (joint for joint, _, parent in carriers.values() if parent == root)
        is_world = all(joint.text("type") == "floating" for joint in on_root)
    names = _name_bodies(links, is_world, notes)

    name = robot.get("name") or _stem(robot.file)
    gravity = EARTH if how.gravity is None else how.gravity
    told = read_gazebo(robot, joints, notes)
    where = _places(links, carriers, names, told.loops)
    builder = ModelBuilder(name, gravity, how.strict, where=where)
    if root is not None and not is_world:
        root_joint, kind = unused(ROOT_JOINT, joints), FREE if free else WELD
        properties = inertias[root].properties
        builder.add_body(names[root], joint=kind, joint_name=root_joint, **properties)
        if free and root_joint != ROOT_JOINT:
            notes.note(links[root], f"the free joint is called {root_joint!r}, 'root' being taken")
    gears = read_transmissions(robot, joints, notes)
    reader = Joints(joints, gears, told.springs, origins, how.mimic, notes)
    for child, (joint, parts, parent) in carriers.items():
        body = inertias[child].properties | reader.read(joint, parts)
        builder.add_body(names[child], names[parent], **body)
    add_loops(builder, told.loops, names, lambda link: _pose(link, carriers, origins), notes)
    model = builder.build()
    looks = Visuals(robot, Packages(robot.file, how.packages), origins, notes)

    def shapes(tag: str) -> Iterator[Visual]:
        """All <visual> or <collision> elements, on the bodies that carry their links."""
        for link_name, link in links.items():
            on = model.frame(names[link_name])
            for each in looks.read(link, tag):
                place = on.placement.then(each.placement)
                yield Visual(each.shape, place, each.color, each.name or on.name, on.body)

    visuals, collisions = Later(lambda: shapes("visual")), Later(lambda: shapes("collision"))
    if how.strict:  # they are to be refused now
        len(visuals), len(collisions)
        refuse_unknown(robot, _MOTION, _UNREAD)

    def settle() -> None:
        """Reads the shapes; and what fixed joints have welded is merged."""
        len(visuals), len(collisions)
        link_of = {body: link for link, body in names.items()}
        for frame in model.frames:
            merged, on = link_of[frame.name], frame.body
            into = "the world" if on == WORLD else f"body {model.bodies[on].name!r}"
            links[merged].mark("merged", f"into {into}")
            if merged in carriers:
                carriers[merged][0].mark("merged", f"it welds {merged!r} to {into}")
        if is_world:
            links[WORLD_NAME].mark("used", "it is the world itself")

    report = account(robot, [*notes.lines, *model.report], _UNREAD, settle)
    return replace(model, report=report, visuals=visuals, collisions=collisions)


# -- the tree of links -----------------------------------------------------------------


def _by_name(robot: Element, tag: str) -> dict[str, Element]:
    """All <link> or <joint> elements by name; ModelError for a name used twice."""
    found: dict[str, Element] = {}
    for element in robot.all(tag):
        name = element.text("name")
        if name in found:
            raise element.error(
                f"a second {tag} called {name!r}, the first is in line {found[name].line}; "
                "rename one of them"
            )
        found[name] = element
    return found


def _find_carriers(links: Mapping[str, Element], joints: Mapping[str, Element]) -> _Carriers:
    """What carries each link; ModelError for an unknown link, and for a second carrier."""
    carriers: dict[str, tuple[Element, Parts, str]] = {}
    for name, joint in joints.items():
        parts, ends = joint.parts(PARTS), []
        for tag in ("parent", "child"):
            end = parts.get(tag) or joint.need(tag)
            link = end.text("link")
            if link not in links:
                raise end.error(
                    f"joint {name!r} has the unknown {tag} link {link!r}; "
                    f"{name_choices(link, links)}"
                )
            ends.append(link)
        parent, child = ends
        if child in carriers:
            other = carriers[child][0]
            raise joint.need("child").error(
                f"link {child!r} has two parents: joint {name!r} carries it, and so does joint "
                f"{other.text('name')!r} of line {other.line}; URDF itself has no loops: "
                "write one of the two as a <joint> of SDF in a <gazebo>, or the machine as SDF; or "
                "leave one out and close the loop by ModelBuilder.add_model and add_closure"
            )
        carriers[child] = joint, parts, parent
    return carriers


def _find_root(robot: Element, links: Mapping[str, Element], carriers: _Carriers) -> str | None:
    """The one link that no joint carries; None if they all carry each other."""
    if not links:
        raise robot.error("<robot> has no <link>; expected at least one")
    roots = [name for name in links if name not in carriers]
    if len(roots) > 1:
        shown = ", ".join(repr(name) for name in roots[:12]) + (", ..." if roots[12:] else "")
        raise links[roots[1]].error(
            f"{len(roots)} links have no parent: {shown}; connect them by joints, "
            "all but one root must be the child of one"
        )
    return roots[0] if roots else None


def _name_bodies(links: Mapping[str, Element], is_world: bool, notes: Notes) -> dict[str, str]:
    """What each link is called in the model: "world" is the world's own name."""
    names = {name: name for name in links}
    if WORLD_NAME in links and not is_world:
        names[WORLD_NAME] = unused(f"{WORLD_NAME}_link", links)
        notes.note(
            links[WORLD_NAME],
            f"link {WORLD_NAME!r} is not the world itself and is called {names[WORLD_NAME]!r}",
        )
    return names


def _pose(link: str, carriers: _Carriers, origins: Origins) -> Placement:
    """Where a link is, seen from the root, while all joints are at zero."""
    path: dict[str, Parts] = {}
    while link in carriers and link not in path:  # a circle is refused later
        _, path[link], link = carriers[link]
    pose = HERE
    for parts in reversed(path.values()):
        pose = pose.then(origins.read(parts.get("origin")))
    return pose


def _places(
    links: Mapping[str, Element],
    carriers: _Carriers,
    names: Mapping[str, str],
    loops: Iterable[Element],
) -> Where:
    """Where the file tells what of a body, as the builder puts it in front of its messages."""
    link_of = {body: name for name, body in names.items()}
    loop_of = {loop.attributes.get("name"): loop for loop in loops}

    def where(body: str, part: Part) -> Place | None:
        if part == "closure":
            return loop_of[body].place
        name = link_of[body]
        on_link = part == "inertia" or name not in carriers
        element = links[name] if on_link else carriers[name][0]
        return (element.find(_TAGS.get(part, "")) or element).place

    return where


# -- links -----------------------------------------------------------------------------


def _read_inertia(link: Element, origins: Origins) -> Inertia:
    """The link's inertia in its own frame: `R I R*` at the mass centre."""
    inertial = link.find("inertial")
    if inertial is None:
        return MASSLESS
    parts = inertial.parts(_OF_INERTIAL)
    mass = parts.get("mass") or inertial.need("mass")
    tensor = parts.get("inertia") or inertial.need("inertia")
    xx, xy, xz, yy, yz, zz = tensor.each(*_MOMENTS)
    own = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    return Inertia(mass.number("value"), ZERO3, own).moved(origins.read(parts.get("origin")))


def _stem(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]
