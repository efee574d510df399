"""The <gazebo> elements of a URDF file: what a simulator is told, as far as it concerns motion.

Gazebo turns the file into SDF and puts there what stands in these elements: with `reference` into
the link or joint of that name, else into the model. So there are springs in them, joints that close
loops, and switches that we cannot honour; the rest are settings of the simulator.

Source: http://sdformat.org/tutorials, "SDFormat extensions to URDF (the <gazebo> tag)".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from phipsi.model.files.account import Notes
from phipsi.model.files.xmlfile import Element

SETTINGS = "settings of a simulator"

_SPRING = {"springStiffness": "stiffness", "springReference": "rest"}  # and as the builder has it
_TRUE = ("1", "true")
_FALSE = ("0", "false")
# What the machine is without, where these have such a text.
_SWITCHES = {
    "turnGravityOff": (_TRUE, "gravity acts on all links alike"),
    "gravity": (_FALSE, "gravity acts on all links alike"),
    "kinematic": (_TRUE, "every link moves by forces here"),
    "static": (_TRUE, "the machine moves; base='fixed' holds its root alone"),
}
_SPRUNG = ("revolute", "continuous", "prismatic")  # the types of joints that can have a spring
_OLD_JOINT = "joint:"  # how tags of joints began before there was SDF

# What stands in every <gazebo> that concerns motion, so that others need not be looked into.
_TOLD = "|".join(("joint", *_SPRING, *_SWITCHES))
_WORDS = re.compile(f"<(?:{_TOLD})|[mM][iI][mM][iI][cC]".encode())


@dataclass
class Gazebo:
    """What the <gazebo> elements of a file say of motion.

    Args:
        springs: by joint, stiffness and rest as the builder takes them.
        loops: the <joint> elements of SDF.
    """

    springs: dict[str, dict[str, float]] = field(default_factory=dict)
    loops: list[Element] = field(default_factory=list)


def read_gazebo(robot: Element, joints: Mapping[str, Element], notes: Notes) -> Gazebo:
    """What the <gazebo> elements of a <robot> say of motion; what cannot be honoured is refused."""
    found = Gazebo()
    for gazebo in robot.children:
        if gazebo.tag != "gazebo" or not gazebo.mentions(_WORDS):
            continue
        told = [child for child in gazebo.children if _concerns_motion(child, joints)]
        if not told:
            continue
        gazebo.mark("used")
        gazebo.look("reference")
        for child in gazebo.children:
            child.mark("ignored", SETTINGS)
        for child in told:
            _read(child, gazebo.get("reference"), joints, found, notes)
    return found


def _concerns_motion(child: Element, joints: Mapping[str, Element]) -> bool:
    tag = child.tag
    if tag in _SWITCHES:
        return _text(child).lower() in _SWITCHES[tag][0]
    if tag == "plugin":
        return _couples(child) and not _follows(child, joints)
    return tag in _SPRING or tag == "joint" or tag.startswith(_OLD_JOINT)


def _read(
    child: Element,
    reference: str | None,
    joints: Mapping[str, Element],
    found: Gazebo,
    notes: Notes,
) -> None:
    """One child of a <gazebo>, that concerns motion."""
    tag = child.tag
    if tag in _SPRING:
        _read_spring(child, reference, joints, found, notes)
    elif tag == "joint" and reference is None:
        child.mark("used")
        found.loops.append(child)
    elif tag == "plugin":
        text = "a plugin lets joints follow others, and none is run; give them a <mimic>"
        notes.refuse(child, text)
    elif tag in _SWITCHES:
        notes.refuse(child, _SWITCHES[tag][1])
    else:
        notes.refuse(
            child, "such a joint is not read, only a <joint> of SDF in a plain <gazebo> is"
        )


def _read_spring(
    child: Element,
    reference: str | None,
    joints: Mapping[str, Element],
    found: Gazebo,
    notes: Notes,
) -> None:
    """Half of a spring: its stiffness, or the place where it is at rest."""
    joint = joints.get(reference or "")
    if joint is None or joint.get("type") not in _SPRUNG:
        notes.refuse(child, f"{reference!r} is no joint that turns or slides, and has no spring")
        return
    name, spring = _SPRING[child.tag], found.springs.setdefault(reference or "", {})
    if name in spring:
        notes.refuse(child, f"joint {reference!r} has a <{child.tag}> already")
        return
    child.mark("used")
    spring[name] = child.number("value") if "value" in child.attributes else child.value()


def _text(element: Element) -> str:
    """What an element says: by its text, as of old by its value="..."."""
    return (element.attributes.get("value") or element.content).strip()


def _couples(plugin: Element) -> bool:
    """Whether a plugin makes joints follow others, as its names tell."""
    names = (plugin.attributes.get(name, "") for name in ("filename", "name"))
    return any("mimic" in name.lower() for name in names)


def _follows(plugin: Element, joints: Mapping[str, Element]) -> bool:
    """Whether the joint that a plugin lets follow has a <mimic>, so that it follows already."""
    for child in plugin.children:
        joint = joints.get(child.content.strip()) if child.tag == "mimicJoint" else None
        if joint is not None and any(each.tag == "mimic" for each in joint.children):
            return True
    return False
