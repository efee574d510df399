"""The <joint> elements of a URDF file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from phipsi.errors import name_choices
from phipsi.model.files.account import Notes
from phipsi.model.files.urdf.origin import Origins
from phipsi.model.files.urdf.transmissions import Gear
from phipsi.model.files.xmlfile import Element
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
from phipsi.model.model import Limits
from phipsi.scalars import HUGE
from phipsi.spatial import IDENTITY3, Vector

WELD, FREE = Fixed(), Free()

_WITHOUT_AXIS: dict[str, JointKind] = {"fixed": WELD, "floating": FREE}
_WITH_AXIS: dict[str, Callable[[Vector], JointKind]] = {
    "revolute": Revolute,
    "continuous": Continuous,
    "prismatic": Prismatic,
    "planar": Planar,
}
_TYPES = (*_WITH_AXIS, *_WITHOUT_AXIS)
_WITH_ENDS = ("revolute", "prismatic")

_UNUSED = {"fixed": ("axis", "limit", "dynamics"), "floating": ("axis",)}  # by type

PARTS = frozenset({"parent", "child", "origin", "axis", "limit", "dynamics", "mimic"})
Parts = Mapping[str, Element]  # of a joint, by tag


class Joints:
    """Reads the joints of one file.

    Args:
        joints: all of them, by name.
        gears: of their motors, by the same names.
        springs: in them, by the same names, as the builder takes them.
        origins: reads where they are.
        mimic: "enforce" or "independent".
        notes: takes note of what is left out.
    """

    def __init__(
        self,
        joints: Mapping[str, Element],
        gears: Mapping[str, Gear],
        springs: Mapping[str, Mapping[str, float]],
        origins: Origins,
        mimic: str,
        notes: Notes,
    ):
        self._joints = joints
        self._gears = gears
        self._springs = springs
        self._origins = origins
        self._mimic = mimic
        self._notes = notes
        self._kinds: dict[tuple[str, str], JointKind] = {}  # files repeat few axes many times

    def read(self, joint: Element, parts: Parts) -> dict[str, Any]:
        """A <joint> as the builder takes it, but for its links."""
        name, origin = joint.text("name"), self._origins.read(parts.get("origin"))
        kind = self._read_kind(joint, parts)
        given: dict[str, Any] = {
            "joint_name": name,
            "joint": kind,
            "position": origin.position,
            "rotation": None if origin.rotation is IDENTITY3 else origin.rotation,
        }
        if kind is not WELD:
            if "limit" in parts:
                given["limits"] = self._read_limits(joint, parts["limit"])
            elif joint.text("type") in _WITH_ENDS:
                joint.mark("used", "without the <limit> that URDF asks for, so it has no ends")
            if "dynamics" in parts:
                dynamics = parts["dynamics"]
                given["damping"] = dynamics.number("damping", 0.0)
                given["friction"] = dynamics.number("friction", 0.0)
            if name in self._gears:
                given["gear_ratio"], given["rotor_inertia"] = self._gears[name]
            if name in self._springs:
                given |= self._springs[name]
        if "mimic" in parts:
            given["mimic"] = self._read_mimic(joint, parts["mimic"])
        return given

    def _read_kind(self, joint: Element, parts: Parts) -> JointKind:
        """What the joint allows; axis (1, 0, 0) where the file gives none."""
        type_ = joint.text("type")
        if type_ in _WITHOUT_AXIS:
            for tag in _UNUSED[type_]:
                if tag in parts:
                    parts[tag].mark("ignored", f"a {type_} joint has none")
            return _WITHOUT_AXIS[type_]
        if type_ not in _WITH_AXIS:
            raise joint.error(
                f"joint {joint.text('name')!r} has the unknown type {type_!r}; "
                f"{name_choices(type_, _TYPES)}"
            )
        axis = parts.get("axis")
        if axis is None:
            return _WITH_AXIS[type_](X)
        key = type_, axis.text("xyz")
        if key not in self._kinds:
            self._kinds[key] = _WITH_AXIS[type_](axis.numbers("xyz", 3))
        return self._kinds[key]

    def _read_limits(self, joint: Element, limit: Element) -> Limits:
        """The <limit> of a joint; infinite numbers are allowed in it."""
        lower, upper = _read_limit(limit, "lower", 0.0), _read_limit(limit, "upper", 0.0)
        velocity = _read_limit(limit, "velocity", math.inf)
        effort = _read_limit(limit, "effort", math.inf)
        if effort == 0.0:  # how files say that nobody knows
            effort = math.inf
            name = joint.text("name")
            self._notes.note(limit, f"joint {name!r}: effort 0 is taken for no limit")
        type_ = joint.text("type")
        if type_ in _WITH_ENDS:
            if lower == upper:
                neither = limit.get("lower") is None and limit.get("upper") is None
                text = f"joint {joint.text('name')!r}: lower = upper = {lower:g}"
                text += ", for its <limit> has neither" if neither else ""
                self._notes.note(limit, f"{text}: it cannot move")
            return Limits(lower, upper, velocity, effort)
        if lower < upper:
            text = f"joint {joint.text('name')!r} is {type_} and has no ends; "
            self._notes.note(limit, text + "lower and upper are ignored", "ignored")
        return Limits(velocity=velocity, effort=effort)

    def _read_mimic(self, joint: Element, mimic: Element) -> tuple[str, float, float] | None:
        """The joint that this one follows, multiplier and offset."""
        name = joint.text("name")
        if joint.text("type") == "fixed":
            self._notes.note(mimic, f"joint {name!r} is fixed; its <mimic> is ignored", "ignored")
            mimic.mark("ignored", "a fixed joint follows nothing")
            return None
        if self._mimic != "enforce":
            mimic.mark("ignored", f"mimic={self._mimic!r} frees the joint")
            self._notes.note(mimic, f"joint {name!r} follows nothing, by mimic={self._mimic!r}")
            return None
        source = mimic.text("joint")
        if source not in self._joints:
            raise mimic.error(
                f"joint {name!r} mimics the unknown joint {source!r} "
                f'(mimic="independent" frees it); {name_choices(source, self._joints)}'
            )
        return source, mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)


def _read_limit(limit: Element, name: str, default: float) -> float:
    """One of the limits; a number beyond all sense, as `save_urdf` writes it, is none."""
    value = limit.number(name, default, finite=False)
    return value if -HUGE <= value <= HUGE else math.copysign(math.inf, value)
