"""URDF files as others are shown them: links and joints alone, and a root that may move."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.sax.saxutils import quoteattr

from phipsi.joints import Free
from phipsi.model.files.xmlfile import Element, read_xml
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
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def bare_urdf(file: str, renamed: Mapping[str, str] | None = None) -> str:
    """The text of a URDF file for MuJoCo.

    Meshes that are not found, or in a format that it has not, would keep it from reading the
    file; its own settings in the file would change the masses.

    Args:
        file: path of a file that `load` has read, and therefore harmless.
        renamed: links that go by other names.
    """
    robot = read_xml(file)
    name = robot.attributes.get("name", "robot")
    lines = [_tag("robot", {"name": name}), "<mujoco>", _tag("compiler", COMPILER, "/>")]
    lines.append("</mujoco>")
    for part in robot.children:
        if part.tag in KEPT:
            lines += _written(part, renamed or {})
    return "\n".join((*lines, "</robot>"))


def free_root(file: str, model: Model) -> tuple[Body, Joint] | None:
    """The body that base="free" has let move, and its joint, which the file does not have.

    Args:
        file: path of the URDF file.
        model: what we read from it.
    """
    written = {x.attributes.get("name") for x in read_xml(file).children if x.tag == "joint"}
    for body, joint in zip(model.bodies, model.joints, strict=True):
        on_world = body.parent == WORLD and isinstance(joint.kind, Free)
        if on_world and joint.name not in written:
            return body, joint
    return None


def _written(part: Element, renamed: Mapping[str, str]) -> Iterator[str]:
    """The lines of a link or joint, without what MuJoCo may stumble over."""
    attributes = dict(part.attributes)
    key = {"link": "name", "parent": "link", "child": "link"}.get(part.tag)
    if key in attributes:
        attributes[key] = renamed.get(attributes[key], attributes[key])
    yield _tag(part.tag, attributes)
    for child in part.children:
        if child.tag not in LOOKS and not _is_nothing(child):
            yield from _written(child, renamed)
    yield f"</{part.tag}>"


def _tag(tag: str, attributes: Mapping[str, str], end: str = ">") -> str:
    return f"<{tag}{''.join(f' {name}={quoteattr(x)}' for name, x in attributes.items())}{end}"


def _is_nothing(part: Element) -> bool:
    """Whether this is an inertia that is zero: MuJoCo takes none for it, but not this."""
    if part.tag != "inertial":
        return False
    named = {"mass": ("value",), "inertia": MOMENTS}
    numbers = (
        child.attributes.get(name, "0") for child in part.children
        for name in named.get(child.tag, ())
    )  # fmt: skip
    return not any(map(float, numbers))
