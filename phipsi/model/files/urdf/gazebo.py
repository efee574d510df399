"""The <gazebo> elements of a URDF file: what a simulator is told, as far as it concerns motion.

Gazebo turns the file into SDF and puts there what stands in these elements: with `reference` into
the link or joint of that name, else into the model. So there are springs in them, joints that close
loops, and things that we cannot honour; what is known to move nothing is a setting of the
simulator, and anything else is unknown.

Source: http://sdformat.org/tutorials, "SDFormat extensions to URDF (the <gazebo> tag)".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from phipsi.errors import ModelError
from phipsi.model.files.account import Notes
from phipsi.model.files.urdf.plugins import couples, loss_of
from phipsi.model.files.xmlfile import Element

SETTINGS = "settings of a simulator"

# What moves nothing where nothing touches: of contacts, of looks and sensors, of the solver, of
# stops, and of how fixed joints are written in SDF.
_PLAIN = (
    *("mu", "mu1", "mu2", "fdir1", "kp", "kd", "maxVel", "minDepth", "maxContacts", "max_contacts"),
    *("selfCollide", "self_collide", "collision", "allow_auto_disable", "enable_wind"),
    *("material", "visual", "genTexCoord", "laserRetro", "laser_retro", "light", "projector"),
    *("sensor", "plugin", "audio_source", "audio_sink", "particle_emitter"),
    *("implicitSpringDamper", "cfmDamping", "fudgeFactor", "provideFeedback", "physics"),
    *("stopCfm", "stopErp", "stopKp", "stopKd", "canonicalBody"),
    *("preserveFixedJoint", "disableFixedJointLumping", "disableJointLumping"),
)
_OLD_PLAIN = ("sensor:", "controller:")  # how tags began before there was SDF
_OLD_JOINT = "joint:"

_SPRING = {"springStiffness": "stiffness", "springReference": "rest"}  # and as the builder has it
_TRUE = ("1", "true")
_FALSE = ("0", "false")
# What the machine is without, where these have such a text.
_SWITCHES = {
    "turnGravityOff": (_TRUE, "gravity acts on all links alike"),
    "gravity": (_FALSE, "gravity acts on all links alike"),
    "kinematic": (_TRUE, "every link moves by forces here"),
    "static": (_TRUE, "the machine moves; base='fixed' holds its root alone"),
    "setStaticFlag": (_TRUE, "the machine moves; base='fixed' holds its root alone"),
}
# What the machine is without, whatever these say.
_DAMPED = "links are not damped, only joints are; give them a <dynamics>"
_OUTSIDE = "<{}> is read outside of <gazebo> alone"
_REFUSED = {
    "dampingFactor": _DAMPED,
    "velocity_decay": _DAMPED,
    "pose": "the root is at the world's origin, and every other link where its joint has it",
    **{tag: _OUTSIDE.format(tag) for tag in ("link", "inertial", "model")},
    **{tag: _OUTSIDE.format(tag) for tag in ("axis", "limit", "dynamics", "mimic")},
}
_START = "initial_joint_position"
_SPRUNG = ("revolute", "continuous", "prismatic")  # the types of joints that can have a spring

# The begin of a tag that may concern motion, or have others within it, or be unknown; where there
# is none, a <gazebo> need not be looked into.
_ENCLOSING = ("sensor", "plugin", "visual", "collision", "physics", "light", "projector")
_SIMPLE = "|".join(tag for tag in _PLAIN if tag not in _ENCLOSING)
_NOTABLE = re.compile(f"<(?!/|!--|(?:{_SIMPLE})[\\s/>])".encode())


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
    """What the <gazebo> elements of a <robot> say of motion; what cannot be honoured is refused.

    What is unknown is left as it is, for `account` to tell.
    """
    found = Gazebo()
    for gazebo in robot.children:
        if gazebo.tag != "gazebo" or not gazebo.mentions(_NOTABLE):
            continue
        losses = [_loss(child, joints) for child in gazebo.children]
        if all(loss is None for loss in losses):
            continue
        gazebo.mark("used")
        reference = gazebo.get("reference")
        if reference is not None and not reference.strip():
            reference = None
        for child, loss in zip(gazebo.children, losses, strict=True):
            if loss is None:
                child.mark("ignored", SETTINGS)
            elif loss:
                notes.refuse(child, loss)
            else:
                _read(child, reference, joints, found, notes)
    return found


def _loss(child: Element, joints: Mapping[str, Element]) -> str | None:
    """What the machine is without by a child of a <gazebo>.

    None for a setting, which moves nothing; empty for what is to be read, or unknown.
    """
    tag = child.tag
    if tag == "plugin" and couples(child):
        return loss_of(child, joints)
    if tag in _PLAIN or tag.startswith(_OLD_PLAIN):
        return None
    if tag in _SWITCHES:
        states, text = _SWITCHES[tag]
        return text if _text(child).lower() in states else None
    return _REFUSED.get(tag, "")


def _read(
    child: Element,
    reference: str | None,
    joints: Mapping[str, Element],
    found: Gazebo,
    notes: Notes,
) -> None:
    """One child of a <gazebo> that may concern motion; what is unknown stays as it is."""
    tag = child.tag
    if tag in _SPRING:
        try:
            _read_spring(child, reference, joints, found, notes)
        except ModelError as error:
            notes.refuse_error(child, error)
    elif tag == "joint" and reference is None:
        child.mark("used")
        found.loops.append(child)
    elif tag == "joint" or tag.startswith(_OLD_JOINT):
        text = "such a joint is not read, only a <joint> of SDF in a plain <gazebo> is"
        notes.refuse(child, text)
    elif tag == _START:
        child.mark("ignored", "the machine starts where you say")
        text = f"joint {reference!r} starts at {_text(child)} there; here it starts where you say"
        notes.note(child, text, "ignored")


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
