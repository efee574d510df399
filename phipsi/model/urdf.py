"""URDF files: links and joints, read into a Model.

Source: the URDF specification, http://wiki.ros.org/urdf/XML. What the format
leaves open is stated at `load`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from phipsi.errors import InputError, name_choices
from phipsi.model.build import ModelBuilder, Part, Where
from phipsi.model.inertia import MASSLESS, Inertia
from phipsi.model.joints import (
    Continuous,
    Fixed,
    Free,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    X,
)
from phipsi.model.model import EARTH, UNLIMITED, Limits, Model
from phipsi.model.origin import read_origin
from phipsi.model.packages import Directories, Packages
from phipsi.model.tree import WORLD_NAME
from phipsi.model.visuals import Visuals
from phipsi.model.xmlfile import Element, Report, in_file_order, read_xml
from phipsi.spatial import IDENTITY3, ZERO3, Vector

BASES = ("fixed", "free")
MIMICS = ("enforce", "independent")
ROOT_JOINT = "root"

_WITHOUT_AXIS: dict[str, JointKind] = {"fixed": Fixed(), "floating": Free()}
_WITH_AXIS: dict[str, Callable[[Vector], JointKind]] = {
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
    "planar": Planar,
}
_TYPES = (*_WITH_AXIS, *_WITHOUT_AXIS)

# By link: the joint that carries it, and its parent link; in the order of the joints.
_Carriers = Mapping[str, tuple[Element, str]]

# What URDF allows in each element, whether or not a machine needs it.
_IN_ROBOT = {"link", "joint", "material", "transmission", "gazebo", "sensor", "ros2_control"}
_IN_LINK = {"inertial", "visual", "collision"}
_IN_INERTIAL = {"origin", "mass", "inertia"}
_IN_JOINT = {
    *("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
    *("calibration", "safety_controller"),
}
_TAGS = {"inertia": "inertial", "kind": "axis", "limits": "limit", "mimic": "mimic"}  # of a Part


def load(
    path: str | os.PathLike[str],
    base: str = "fixed",
    mimic: str = "enforce",
    strict: bool = False,
    gravity: ArrayLike = EARTH,
    packages: Directories = (),
) -> Model:
    """Read a machine from a URDF file.

    Every link is a body whose frame is the joint that carries it; links on
    fixed joints are merged into the body they are welded to and live on as
    `model.frames`. A link without <inertial> is massless. Coordinates follow
    the joints depth-first, siblings in the order of their <joint> elements.

    The inertia tensor stands in the axes of the <inertial>'s origin, at the
    mass centre; with R = Rz(yaw) Ry(pitch) Rx(roll) of its rpy, the body has
    `R I R*`. A planar joint moves across its axis, a floating one is
    `joints.Free`; both axis and limits default as the specification says
    ((1, 0, 0); 0 where a <limit> leaves out lower or upper; none for
    continuous joints, nor where <limit> is missing).

    A root link called "world" that has no mass is the world itself. With
    base="free" it is a link like any other and carried by the free joint,
    unless all its joints are floating: the machine is free already then. Any
    other link called "world" becomes "world_link".

    What the links look like is kept in `model.visuals`. A mesh is named
    `package://robot/arm.stl`, `file:///...` or by a path from the file; its
    file is only read when the machine is looked at. No file is refused for its
    looks: what cannot be drawn is left out and listed in `model.report`.

    Not used: collision, transmission, gazebo, sensor and ros2_control
    elements, calibration and safety_controller of a joint, and a mimic on a
    fixed joint. Elements that URDF does not know are ignored too, and listed
    in `model.report`.

    Args:
        path: of the file.
        base: "fixed" welds the root link to the world; its mass still counts in
            `model.mass`. "free" hangs it on a free joint called "root".
        mimic: "enforce" makes mimic joints follow,
            `q = multiplier q_source + offset`, without coordinates of their own;
            "independent" frees them.
        strict: refuse unphysical inertias and joints that move no mass. By
            default the file's numbers are kept and `model.report` lists them.
        gravity: the acceleration that every free mass has; URDF files do not tell.
        packages: directories that hold the packages of `package://` names, or are
            those packages. ROS_PACKAGE_PATH, AMENT_PREFIX_PATH and the directories
            above the file are searched after them.

    Returns:
        The model. Each line of `model.report` begins with its file and line.

    Raises:
        ModelError: the file cannot be read or describes no machine; the message
            begins with file and line.
        InputError: a wrong argument.

    >>> import pathlib, tempfile
    >>> text = '''
    ... <robot name="pendulum">
    ...   <link name="stand"/>
    ...   <link name="rod">
    ...     <inertial>
    ...       <origin xyz="0 0 -0.5"/> <mass value="2"/>
    ...       <inertia ixx="0.2" iyy="0.2" izz="0" ixy="0" ixz="0" iyz="0"/>
    ...     </inertial>
    ...   </link>
    ...   <joint name="hinge" type="continuous">
    ...     <parent link="stand"/> <child link="rod"/> <axis xyz="0 1 0"/>
    ...   </joint>
    ... </robot>'''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "pendulum.urdf")
    ...     _ = file.write_text(text)
    ...     load(file), load(file, base="free")
    (<Model 'pendulum': 1 body, nq = 1, nv = 1, 2 kg>,
     <Model 'pendulum': 2 bodies, nq = 8, nv = 7, 2 kg>)
    """
    _check_choice("base", base, BASES)
    _check_choice("mimic", mimic, MIMICS)
    robot = read_xml(path)
    if robot.tag != "robot":
        raise robot.error(
            f"the root element is <{robot.tag}>; a URDF file has <robot> "
            "(SDF and MJCF are not read yet)"
        )
    report = Report()
    report.note_unknown(robot, _IN_ROBOT)
    links, joints = _by_name(robot, "link"), _by_name(robot, "joint")
    carriers = _find_carriers(links, joints)
    root = _find_root(robot, links, carriers)
    inertias = {name: _read_inertia(link, report) for name, link in links.items()}
    is_world = root == WORLD_NAME and inertias[root].vanishes
    if is_world and base == "free":
        on_root = (joint for joint, parent in carriers.values() if parent == root)
        is_world = all(joint.text("type") == "floating" for joint in on_root)
    names = _name_bodies(links, is_world, report)

    name = robot.attributes.get("name") or _stem(robot.file)
    builder = ModelBuilder(name, gravity, strict, where=_places(links, carriers, names))
    if root is not None and not is_world:
        root_joint = _unused(ROOT_JOINT, joints)
        kind = Free() if base == "free" else Fixed()
        body = _mass_properties(inertias[root])
        builder.add_body(names[root], joint=kind, joint_name=root_joint, **body)
        if base == "free" and root_joint != ROOT_JOINT:
            report.note(links[root], f"the free joint is called {root_joint!r}, 'root' being taken")
    for child, (joint, parent) in carriers.items():
        builder.add_body(
            names[child],
            names[parent],
            **_read_joint(joint, report),
            **_mass_properties(inertias[child]),
            mimic=_read_mimic(joint, joints, report) if mimic == "enforce" else None,
        )
    looks = Visuals(robot, Packages(robot.file, packages), report)
    for link_name, link in links.items():
        builder.add_visuals(names[link_name], looks.read(link))
    model = builder.build()
    return replace(model, report=in_file_order(robot.file, [*report.lines, *model.report]))


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
    carriers: dict[str, tuple[Element, str]] = {}
    for name, joint in joints.items():
        ends = []
        for tag in ("parent", "child"):
            end = joint.need(tag)
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
                f"{other.text('name')!r} of line {other.line}; a tree allows one, loops are "
                "closed by constraints"
            )
        carriers[child] = joint, parent
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


def _name_bodies(links: Mapping[str, Element], is_world: bool, report: Report) -> dict[str, str]:
    """What each link is called in the model: "world" is the world's own name."""
    names = {name: name for name in links}
    if WORLD_NAME in links and not is_world:
        names[WORLD_NAME] = _unused(f"{WORLD_NAME}_link", links)
        report.note(
            links[WORLD_NAME],
            f"link {WORLD_NAME!r} is not the world itself and is called {names[WORLD_NAME]!r}",
        )
    return names


def _places(links: Mapping[str, Element], carriers: _Carriers, names: Mapping[str, str]) -> Where:
    """Where the file tells what of a body, as the builder puts it in front of its messages."""
    link_of = {body: name for name, body in names.items()}

    def where(body: str, part: Part) -> str:
        name = link_of[body]
        on_link = part == "inertia" or name not in carriers
        element = links[name] if on_link else carriers[name][0]
        return f"{(element.find(_TAGS.get(part, '')) or element).place}: "

    return where


# -- links -----------------------------------------------------------------------------


def _read_inertia(link: Element, report: Report) -> Inertia:
    """The link's inertia in its own frame: `R I R*` at the mass centre."""
    report.note_unknown(link, _IN_LINK)
    inertial = link.find("inertial")
    if inertial is None:
        return MASSLESS
    report.note_unknown(inertial, _IN_INERTIAL)
    mass, tensor = inertial.need("mass"), inertial.need("inertia")
    xx, xy, xz, yy, yz, zz = (
        tensor.number(name) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    own = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    return Inertia(mass.number("value"), ZERO3, own).moved(read_origin(inertial))


def _mass_properties(inertia: Inertia) -> dict[str, Any]:
    """An inertia as the builder takes it."""
    return {"mass": inertia.mass, "com": inertia.com, "inertia": inertia.rotational}


# -- joints ----------------------------------------------------------------------------


def _read_joint(joint: Element, report: Report) -> dict[str, Any]:
    """A <joint> as the builder takes it, but for its links and its mimic."""
    report.note_unknown(joint, _IN_JOINT)
    origin, dynamics = read_origin(joint), joint.find("dynamics")
    return {
        "joint_name": joint.text("name"),
        "joint": _read_kind(joint),
        "position": origin.position,
        "rotation": None if origin.rotation == IDENTITY3 else origin.rotation,
        "limits": _read_limits(joint),
        "damping": dynamics.number("damping", 0.0) if dynamics else 0.0,
        "friction": dynamics.number("friction", 0.0) if dynamics else 0.0,
    }


def _read_kind(joint: Element) -> JointKind:
    """What the joint allows; axis (1, 0, 0) where the file gives none."""
    type_ = joint.text("type")
    if type_ in _WITHOUT_AXIS:
        return _WITHOUT_AXIS[type_]
    if type_ not in _WITH_AXIS:
        raise joint.error(
            f"joint {joint.text('name')!r} has the unknown type {type_!r}; "
            f"{name_choices(type_, _TYPES)}"
        )
    axis = joint.find("axis")
    return _WITH_AXIS[type_](X if axis is None else axis.numbers("xyz", 3))


def _read_limits(joint: Element) -> Limits:
    """The <limit> of a joint; infinite numbers are allowed in it."""
    limit = joint.find("limit")
    if limit is None:
        return UNLIMITED
    lower, upper = (limit.number(end, 0.0, finite=False) for end in ("lower", "upper"))
    velocity, effort = (
        limit.number(name, math.inf, finite=False) for name in ("velocity", "effort")
    )
    if joint.text("type") not in ("revolute", "prismatic"):
        return Limits(velocity=velocity, effort=effort)
    return Limits(lower, upper, velocity, effort)


def _read_mimic(
    joint: Element, joints: Mapping[str, Element], report: Report
) -> tuple[str, float, float] | None:
    """The joint that this one follows, multiplier and offset."""
    mimic = joint.find("mimic")
    if mimic is None:
        return None
    if joint.text("type") == "fixed":
        report.note(mimic, f"joint {joint.text('name')!r} is fixed; its <mimic> is ignored")
        return None
    source = mimic.text("joint")
    if source not in joints:
        raise mimic.error(
            f"joint {joint.text('name')!r} mimics the unknown joint {source!r} "
            f'(mimic="independent" frees it); {name_choices(source, joints)}'
        )
    return source, mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)


# -- names -----------------------------------------------------------------------------


def _unused(name: str, taken: Mapping[str, Element]) -> str:
    """The name, with a number if it is taken."""
    candidate, k = name, 2
    while candidate in taken:
        candidate, k = f"{name}_{k}", k + 1
    return candidate


def _stem(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]


def _check_choice(name: str, value: str, valid: tuple[str, ...]) -> None:
    if value not in valid:
        raise InputError(f"load: {name} is {value!r}; {name_choices(str(value), valid)}")
