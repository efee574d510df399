"""URDF files: links and joints, read into a Model.

Source: the URDF specification, http://wiki.ros.org/urdf/XML. What the format
leaves open is stated at `load`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from phipsi.errors import InputError, ModelError, name_choices
from phipsi.model.build import ModelBuilder
from phipsi.model.inertia import Inertia, Placement
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
from phipsi.model.model import Limits, Model
from phipsi.model.tree import WORLD, WORLD_NAME, depth_first
from phipsi.model.xmlfile import Element, Report, read_xml
from phipsi.spatial import IDENTITY3, ZERO3, Vector, rotation_from_rpy

BASES = ("fixed", "free")
MIMICS = ("enforce", "independent")
ROOT_JOINT = "root"

Name = TypeVar("Name", int, str)

_AXIAL: dict[str, Callable[[Vector], JointKind]] = {
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
    "planar": Planar,
}
_COORDINATES = {
    **{"revolute": 1, "continuous": 1, "prismatic": 1},
    **{"fixed": 0, "floating": 7, "planar": 3},
}

# What URDF allows in each element, whether or not a machine needs it.
_IN_ROBOT = {"link", "joint", "material", "transmission", "gazebo", "sensor", "ros2_control"}
_IN_LINK = {"inertial", "visual", "collision"}
_IN_INERTIAL = {"origin", "mass", "inertia"}
_IN_JOINT = {
    *("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
    *("calibration", "safety_controller"),
}


def load(
    path: str | os.PathLike[str],
    base: str = "fixed",
    mimic: str = "enforce",
    strict: bool = False,
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

    Not used: visual, collision, material, transmission, gazebo, sensor and
    ros2_control elements, calibration and safety_controller of a joint, and a
    mimic on a fixed joint. Elements that URDF does not know are ignored too,
    and listed in `model.report`.

    Args:
        path: of the file.
        base: "fixed" welds the root link to the world; its mass still counts in
            `model.mass`. "free" hangs it on a free joint called "root".
        mimic: "enforce" makes mimic joints follow, `q = multiplier q_source +
            offset`, without coordinates of their own; "independent" frees them.
        strict: refuse unphysical inertias and joints that move no mass. By
            default the file's numbers are kept and `model.report` lists them.

    Returns:
        The model. Each line of `model.report` begins with its file and line.

    Raises:
        ModelError: the file cannot be read or describes no machine; the message
            begins with file and line. InputError: a wrong argument.

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
    (<Model 'pendulum': 1 bodies, nq = 1, nv = 1, 2 kg>,
     <Model 'pendulum': 2 bodies, nq = 8, nv = 7, 2 kg>)
    """
    _check_choice("base", base, BASES)
    _check_choice("mimic", mimic, MIMICS)
    robot = read_xml(path)
    if robot.tag != "robot":
        raise robot.error(f"the root element is <{robot.tag}>; a URDF file has <robot>")
    report = Report(strict)
    report.note_unknown(robot, _IN_ROBOT)
    links, joints = _by_name(robot, "link"), _by_name(robot, "joint")
    root = _find_root(robot, links, joints)
    inertias = {name: _read_inertia(link, report) for name, link in links.items()}
    is_world = root == WORLD_NAME and inertias[root].vanishes
    if is_world and base == "free":
        is_world = all(joint.text("type") == "floating" for joint in _on(root, joints))
    names = _builder_names(links, root if is_world else None, report)
    mimics = _read_mimics(joints, report) if mimic == "enforce" else {}

    builder = ModelBuilder(robot.attributes.get("name") or _stem(robot.file), strict=False)
    if not is_world:
        root_joint = _unused(ROOT_JOINT, joints)
        kind = Free() if base == "free" else Fixed()
        builder.add_body(
            names[root], joint=kind, joint_name=root_joint, **_mass_properties(inertias[root])
        )
        if base == "free" and root_joint != ROOT_JOINT:
            report.note(links[root], f"the free joint is called {root_joint!r}, 'root' being taken")
    for name, joint in joints.items():
        parent, child = _ends(joint)
        arguments = {
            **_read_joint(joint, report),
            **_mass_properties(inertias[child]),
            "mimic": mimics.get(name),
        }
        try:
            builder.add_body(names[child], names[parent], joint_name=name, **arguments)
        except ModelError as error:
            raise joint.error(str(error)) from None
    model = builder.build()
    _check_moving_mass(model, joints, links[root], report)
    return replace(model, report=report.lines())


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


def _ends(joint: Element) -> tuple[str, str]:
    """The links a joint connects, parent first."""
    return joint.need("parent").text("link"), joint.need("child").text("link")


def _on(link: str, joints: Mapping[str, Element]) -> Iterable[Element]:
    """The joints that a link carries."""
    return (joint for joint in joints.values() if _ends(joint)[0] == link)


def _find_root(robot: Element, links: Mapping[str, Element], joints: Mapping[str, Element]) -> str:
    """The one link that no joint carries; ModelError if the links form no tree."""
    if not links:
        raise robot.error("<robot> has no <link>; expected at least one")
    carrier: dict[str, Element] = {}
    for name, joint in joints.items():
        for tag, link in zip(("parent", "child"), _ends(joint), strict=True):
            if link not in links:
                raise joint.need(tag).error(
                    f"joint {name!r} has the unknown {tag} link {link!r}; "
                    f"{name_choices(link, links)}"
                )
        child = _ends(joint)[1]
        if child in carrier:
            raise joint.need("child").error(
                f"link {child!r} has two parents: joint {name!r} carries it, and so does joint "
                f"{carrier[child].text('name')!r} of line {carrier[child].line}; a tree allows "
                "one, loops are closed by constraints"
            )
        carrier[child] = joint
    roots = [name for name in links if name not in carrier]
    if len(roots) > 1:
        shown = ", ".join(repr(name) for name in roots[:12]) + (", ..." if roots[12:] else "")
        raise links[roots[1]].error(
            f"{len(roots)} links have no parent: {shown}; connect them by joints, "
            "all but one root must be the child of one"
        )
    number = {name: k for k, name in enumerate(links)}
    parents = [number[_ends(carrier[name])[0]] if name in carrier else WORLD for name in links]
    reached = set(depth_first(parents))
    if len(reached) < len(links):
        names = list(links)
        k = next(k for k in range(len(names)) if k not in reached)
        circle = [names[i] for i in _circle(k, parents.__getitem__)]
        raise carrier[circle[0]].error(
            f"the links {_arrows(circle)} carry each other in a circle; "
            "a tree needs one root that no joint carries, loops are closed by constraints"
        )
    return roots[0]


def _circle(k: Name, successor: Callable[[Name], Name]) -> list[Name]:
    """The circle that following `successor` from k ends in."""
    seen: dict[Name, int] = {}
    while k not in seen:
        seen[k] = len(seen)
        k = successor(k)
    return list(seen)[seen[k] :]


def _arrows(circle: list[str], limit: int = 6) -> str:
    """a <- b <- a, abridged in the middle."""
    names = [repr(name) for name in [*circle, circle[0]]]
    return " <- ".join(names if len(names) <= limit else [*names[:3], "...", names[-1]])


def _builder_names(
    links: Mapping[str, Element], world: str | None, report: Report
) -> dict[str, str]:
    """What each link is called in the model: "world" is the world's own name."""
    names = {name: name for name in links}
    if WORLD_NAME in links and world is None:
        names[WORLD_NAME] = _unused(f"{WORLD_NAME}_link", links)
        report.note(
            links[WORLD_NAME],
            f"link {WORLD_NAME!r} is not the world itself and is called {names[WORLD_NAME]!r}",
        )
    return names


def _unused(name: str, taken: Mapping[str, Element]) -> str:
    """The name, with a number if it is taken."""
    candidate, k = name, 2
    while candidate in taken:
        candidate, k = f"{name}_{k}", k + 1
    return candidate


def _stem(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]


# -- links -----------------------------------------------------------------------------


def _read_inertia(link: Element, report: Report) -> Inertia:
    """The link's inertia in its own frame: `R I R*` at the mass centre."""
    report.note_unknown(link, _IN_LINK)
    inertial = link.find("inertial")
    if inertial is None:
        return Inertia()
    report.note_unknown(inertial, _IN_INERTIAL)
    mass, tensor = inertial.need("mass"), inertial.need("inertia")
    xx, xy, xz, yy, yz, zz = (
        tensor.number(name) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    own = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    value = mass.number("value")
    if value < 0.0:
        raise mass.error(
            f"the mass of link {link.text('name')!r} is {value:g} kg; it must not be negative"
        )
    inertia = Inertia.of(value, ZERO3, own).moved(_read_origin(inertial))
    for clause in inertia.violations():
        report.refuse(inertial, f"body {link.text('name')!r}: {clause}")
    return inertia


def _mass_properties(inertia: Inertia) -> dict[str, Any]:
    """An inertia as the builder takes it."""
    return {"mass": inertia.mass, "com": inertia.com, "inertia": inertia.rotational}


def _check_moving_mass(
    model: Model, joints: Mapping[str, Element], root: Element, report: Report
) -> None:
    """A coordinate that moves no mass has no equation of motion.

    A mimic joint has no coordinate of its own, so its mass counts for the one
    it follows.
    """
    moves = [not body.inertia.vanishes for body in model.bodies]
    for k in model.tree.tip_to_base:
        if moves[k] and model.bodies[k].parent != WORLD:
            moves[model.bodies[k].parent] = True
    led = [moves[k] for k in range(len(moves))]
    for k, joint in enumerate(model.joints):
        if joint.mimic is not None and moves[k]:
            led[joint.mimic.source] = True
    for k, joint in enumerate(model.joints):
        if joint.mimic is None and not led[k]:
            report.refuse(
                joints.get(joint.name, root),
                f"joint {joint.name!r}: nothing that it moves has mass, "
                "so forward dynamics is singular",
            )


# -- joints ----------------------------------------------------------------------------


def _read_joint(joint: Element, report: Report) -> dict[str, Any]:
    """A <joint> as the builder takes it, but for its links and its mimic."""
    report.note_unknown(joint, _IN_JOINT)
    origin, dynamics = _read_origin(joint), joint.find("dynamics")
    return {
        "joint": _read_kind(joint),
        "position": origin.position,
        "rotation": None if origin.rotation == IDENTITY3 else origin.rotation,
        "limits": _read_limits(joint),
        "damping": dynamics.number("damping", 0.0) if dynamics else 0.0,
        "friction": dynamics.number("friction", 0.0) if dynamics else 0.0,
    }


def _read_origin(element: Element) -> Placement:
    """The <origin> of a joint or an inertial: position xyz, fixed-axis angles rpy."""
    origin = element.find("origin")
    if origin is None:
        return Placement()
    x, y, z = origin.numbers("xyz", 3, ZERO3)
    rpy = origin.numbers("rpy", 3, ZERO3)
    if not any(rpy):
        return Placement(position=(x, y, z))
    first, second, third = (tuple(row) for row in rotation_from_rpy(rpy))
    return Placement((first, second, third), (x, y, z))


def _read_kind(joint: Element) -> JointKind:
    """What the joint allows; axis (1, 0, 0) where the file gives none."""
    type_ = _joint_type(joint)
    if type_ == "fixed":
        return Fixed()
    if type_ == "floating":
        return Free()
    axis = joint.find("axis")
    kind = _AXIAL[type_](X if axis is None else axis.numbers("xyz", 3))
    problem = kind.problem()
    if problem:
        raise (axis or joint).error(f"joint {joint.text('name')!r}: {problem}")
    return kind


def _joint_type(joint: Element) -> str:
    type_ = joint.text("type")
    if type_ not in _COORDINATES:
        raise joint.error(
            f"joint {joint.text('name')!r} has the unknown type {type_!r}; "
            f"{name_choices(type_, _COORDINATES)}"
        )
    return type_


def _read_limits(joint: Element) -> Limits:
    """The <limit> of a joint; infinite numbers are allowed in it."""
    limit = joint.find("limit")
    if limit is None:
        return Limits()
    reach = {end: limit.number(end, 0.0, finite=False) for end in ("lower", "upper")}
    force = {end: limit.number(end, math.inf, finite=False) for end in ("velocity", "effort")}
    if _joint_type(joint) not in ("revolute", "prismatic"):
        return Limits(**force)
    if reach["lower"] > reach["upper"]:
        raise limit.error(
            f"the limits of joint {joint.text('name')!r} are [{reach['lower']:g}, "
            f"{reach['upper']:g}]; lower must not exceed upper (either is 0 where not given)"
        )
    return Limits(**reach, **force)


# -- mimic joints ----------------------------------------------------------------------


def _read_mimics(
    joints: Mapping[str, Element], report: Report
) -> dict[str, tuple[str, float, float]]:
    """By joint: (source, multiplier, offset). ModelError where no joint can lead."""
    mimics: dict[str, tuple[str, float, float]] = {}
    for name, joint in joints.items():
        mimic = joint.find("mimic")
        if mimic is None:
            continue
        if _joint_type(joint) == "fixed":
            report.note(mimic, f"joint {name!r} is fixed; its <mimic> is ignored")
            continue
        source = mimic.text("joint")
        if source not in joints:
            raise mimic.error(
                f"joint {name!r} mimics the unknown joint {source!r} "
                f'(mimic="independent" frees it); {name_choices(source, joints)}'
            )
        for one in (joint, joints[source]):
            if _COORDINATES[_joint_type(one)] != 1:
                raise mimic.error(
                    f"joint {name!r} mimics {source!r}, but {one.text('name')!r} is "
                    f"{_joint_type(one)}; only joints with one coordinate can follow and lead"
                )
        mimics[name] = (source, mimic.number("multiplier", 1.0), mimic.number("offset", 0.0))
    _check_circles(mimics, joints)
    return mimics


def _check_circles(
    mimics: Mapping[str, tuple[str, float, float]], joints: Mapping[str, Element]
) -> None:
    """Every chain of mimics must end in a joint that leads."""
    led: set[str] = set()
    for name in mimics:
        chain: dict[str, None] = {}
        follower = name
        while follower in mimics and follower not in led:
            if follower in chain:
                circle = _arrows(_circle(follower, lambda name: mimics[name][0]))
                raise (
                    joints[follower]
                    .need("mimic")
                    .error(
                        f"the joints {circle} mimic each other in a circle; one of them must lead"
                    )
                )
            chain[follower] = None
            follower = mimics[follower][0]
        led.update(chain)


def _check_choice(name: str, value: str, valid: tuple[str, ...]) -> None:
    if value not in valid:
        raise InputError(f"load: {name} is {value!r}; {name_choices(str(value), valid)}")
