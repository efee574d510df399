"""URDF files as others are shown them: links and joints alone, and a root that may move."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping

from phipsi.joints import Free
from phipsi.model.model import Body, Joint, Model
from phipsi.model.tree import WORLD

# What MuJoCo would otherwise do to the numbers of a file.
COMPILER = {
    "fusestatic": "false",
    "discardvisual": "true",
    "balanceinertia": "false",
    "boundmass": "0",
    "boundinertia": "0",
}
KEPT = ("link", "joint")
LOOKS = ("visual", "collision")


def bare_urdf(file: str, renamed: Mapping[str, str] | None = None) -> str:
    """The text of a URDF file for MuJoCo.

    Meshes that are not found, or in a format that it has not, would keep it from reading the
    file; its own settings in the file would change the masses.

    Args:
        file: path of a file that `load` has read, and therefore harmless.
        renamed: links that go by other names.
    """
    robot = ElementTree.parse(file).getroot()
    bare = ElementTree.Element("robot", name=robot.get("name", "robot"))
    ElementTree.SubElement(ElementTree.SubElement(bare, "mujoco"), "compiler", COMPILER)
    for part in robot:
        if part.tag not in KEPT:
            continue
        for child in [child for child in part if child.tag in LOOKS or _is_nothing(child)]:
            part.remove(child)
        for name, other in (renamed or {}).items():
            _rename(part, name, other)
        bare.append(part)
    return ElementTree.tostring(bare, encoding="unicode")


def free_root(file: str, model: Model) -> tuple[Body, Joint] | None:
    """The body that base="free" has let move, and its joint, which the file does not have.

    Args:
        file: path of the URDF file.
        model: what we read from it.
    """
    written = {joint.get("name") for joint in ElementTree.parse(file).getroot().findall("joint")}
    for body, joint in zip(model.bodies, model.joints, strict=True):
        on_world = body.parent == WORLD and isinstance(joint.kind, Free)
        if on_world and joint.name not in written:
            return body, joint
    return None


def _is_nothing(part: ElementTree.Element) -> bool:
    """Whether this is an inertia that is zero: MuJoCo takes none for it, but not this."""
    if part.tag != "inertial":
        return False
    numbers = [child.attrib.values() for child in part if child.tag in ("mass", "inertia")]
    return not any(float(x) for values in numbers for x in values)


def _rename(part: ElementTree.Element, name: str, other: str) -> None:
    if part.tag == "link" and part.get("name") == name:
        part.set("name", other)
    for end in part:
        if end.tag in ("parent", "child") and end.get("link") == name:
            end.set("link", other)
