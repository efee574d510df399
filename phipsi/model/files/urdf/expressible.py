"""What URDF cannot express of a machine."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator

from phipsi.model.geometry import Mesh
from phipsi.model.joints import Continuous, Free, JointKind, Planar, Prismatic, Revolute
from phipsi.model.model import EARTH, Joint, Model

KINDS: tuple[type[JointKind], ...] = (Revolute, Continuous, Prismatic, Planar, Free)
DRIVEN: tuple[type[JointKind], ...] = (Revolute, Continuous, Prismatic)  # or sprung

# What no XML file can hold: control characters, and halves of characters.
_NO_TEXT = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def unwritable_in_urdf(model: Model, name_of: Callable[[Mesh], str]) -> list[str]:
    """What a file cannot do without, and URDF has not: kinds of joints, and odd names."""
    kinds = [
        f"joint {joint.name!r} ({type(joint.kind).__name__})"
        for joint in model.joints
        if type(joint.kind) not in KINDS
    ]
    names = [
        text for text in dict.fromkeys(_names(model, name_of)) if not text.strip() or _is_odd(text)
    ]
    others = [text for text in dict.fromkeys(_other_texts(model)) if _is_odd(text)]
    return kinds + [f"the name {text!r}" for text in dict.fromkeys((*names, *others))]


def lost_in_urdf(model: Model) -> list[str]:
    """What can be left out of a file: what the machine has beside its tree."""
    found = [f"the {what} of joint {joint.name!r}" for joint in model.joints for what in _of(joint)]
    found += [f"closure {closure.name!r}" for closure in model.closures]
    found += [f"coupling {coupling.name!r}" for coupling in model.couplings]
    found += [f"keyframe {name!r}" for name in model.keyframes]
    if model.gravity != EARTH:
        x, y, z = model.gravity
        found.append(f"the gravity ({x!r}, {y!r}, {z!r}) (gravity= of load)")
    return found


def _of(joint: Joint) -> Iterator[str]:
    """What URDF has no word for in a joint that it knows."""
    if type(joint.kind) not in DRIVEN and (joint.stiffness or joint.rest):
        yield "spring"
    ends = math.isfinite(joint.limits.lower) or math.isfinite(joint.limits.upper)
    if ends and type(joint.kind) in (Planar, Free):
        yield "ends"
    if type(joint.kind) not in DRIVEN and (joint.rotor_inertia or joint.gear_ratio != 1.0):
        yield "motor"
    if joint.limits.effort == 0.0:  # which is read as no limit
        yield "effort 0"


def _names(model: Model, name_of: Callable[[Mesh], str]) -> Iterable[str]:
    """What a file calls things by: it cannot be blank."""
    yield from (body.name for body in model.bodies)
    yield from (joint.name for joint in model.joints)
    yield from (frame.name for frame in model.frames)
    for shown in (*model.visuals, *model.collisions):
        if isinstance(shown.shape, Mesh):
            yield name_of(shown.shape)


def _other_texts(model: Model) -> Iterable[str]:
    yield model.name
    for shown in (*model.visuals, *model.collisions):
        yield shown.name


def _is_odd(text: str) -> bool:
    return _NO_TEXT.search(text) is not None
