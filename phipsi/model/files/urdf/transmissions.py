"""The <transmission> elements of a URDF file: the gears between motors and joints.

A simple transmission has one motor turn one joint, `reduction` times as fast.
The reduction stands in its <actuator> (ROS 1), in its <joint> (ROS 2, within
<ros2_control>), or in the transmission itself (PR2). Drake adds the inertia of
the rotor: <drake:rotor_inertia value="..."/> and <drake:gear_ratio value="..."/>
in the <actuator>. Together they are what the joint feels of its motor.

Sources: http://wiki.ros.org/urdf/XML/Transmission; the documentation of
ros2_control on transmissions; that of Drake's parser on URDF.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from phipsi.errors import ModelError, name_choices
from phipsi.model.files.account import Notes
from phipsi.model.files.xmlfile import Element

MOVING = ("revolute", "continuous", "prismatic")  # the types of joints that a motor can turn
REDUCTIONS = ("mechanicalReduction", "mechanical_reduction")
SIMPLE = "SimpleTransmission"
ROTOR = "drake:rotor_inertia"

_CONTROL = "for controllers"
_OF_PART = dict.fromkeys(
    (
        *("hardwareInterface", "hardware_interface", "motorTorqueConstant", "role", "@role"),
        *("command_interface", "state_interface", "param", "controllerName", "offset"),
    ),
    _CONTROL,
)
# By the element they stand in, what there is that nobody needs to read.
UNREAD = {
    "ros2_control": dict.fromkeys(
        ("hardware", "joint", "sensor", "gpio", "@type", "@rw_rate", "@is_async"), _CONTROL
    ),
    "transmission": dict.fromkeys(("motorTorqueConstant", "hardwareInterface"), _CONTROL),
    "transmission/actuator": _OF_PART,
    "transmission/joint": _OF_PART,
}


class Gear(NamedTuple):
    """What a joint has of its motor."""

    ratio: float = 1.0  # motor turns per joint turn
    rotor_inertia: float = 0.0  # kg m^2


def read_transmissions(
    robot: Element, joints: Mapping[str, Element], notes: Notes
) -> dict[str, Gear]:
    """The gears of a <robot>, by the names of their joints.

    Transmissions that tie several joints together are left out, and so are
    second ones of a joint. If they have rotors with inertia, the machine is
    without these, and they are refused; else nothing is lost but the ratio.
    One with an error in it is refused, and the joint is without its motor.
    """
    gears: dict[str, Gear] = {}
    first: dict[str, Element] = {}
    for transmission in _transmissions(robot):
        try:
            name = _driven(transmission, joints, notes)
            if name is None:
                continue
            if name in first:
                before = f"joint {name!r} has the transmission of line {first[name].line} already"
                _leave_out(transmission, before, notes)
                continue
            gears[name] = _read_gear(transmission, notes)
            first[name] = transmission
        except ModelError as error:
            notes.refuse_error(transmission, error)
    return gears


def _transmissions(robot: Element) -> Iterator[Element]:
    """Those of the robot, and of its <ros2_control>."""
    yield from robot.all("transmission")
    for control in robot.all("ros2_control"):
        yield from control.all("transmission")


def _driven(transmission: Element, joints: Mapping[str, Element], notes: Notes) -> str | None:
    """The name of the joint that a simple transmission drives; None if it is not to be read."""
    kind = transmission.get("type") or ""
    for told in transmission.all("type", "plugin"):
        kind = kind or told.content
    kind = kind.strip().rpartition("/")[2]
    driven = list(transmission.all("joint"))
    if (kind and kind != SIMPLE) or len(driven) != 1:
        what = f"a {kind}" if kind else "a transmission"
        count = f", and this one has {len(driven)} joints" if kind in ("", SIMPLE) else ""
        text = f"{what} is not read, only simple ones of one joint are{count}"
        _leave_out(transmission, text, notes)
        return None
    name = driven[0].text("name")
    if name not in joints:
        text = f"unknown joint {name!r}; {name_choices(name, joints)}"
        _leave_out(transmission, text, notes)
        return None
    if joints[name].get("type") not in MOVING:
        text = f"joint {name!r} does not turn or slide"
        if _has_rotor(transmission):
            notes.refuse(transmission, text)
        else:
            transmission.mark("ignored", text)
        return None
    return name


def _leave_out(transmission: Element, text: str, notes: Notes) -> None:
    """A transmission that cannot be honoured: what it does to the motion, its rotors do."""
    if _has_rotor(transmission):
        notes.refuse(transmission, text)
        return
    transmission.mark("ignored", text)
    text = f"transmission {transmission.get('name') or ''!r}: {text}; "
    notes.note(transmission, text + "it has no rotor inertia, so it moves nothing", "ignored")


def _has_rotor(transmission: Element) -> bool:
    """Whether a motor of a transmission has inertia."""
    return any(
        inertia.number("value") > 0.0
        for actuator in transmission.all("actuator")
        for inertia in actuator.all(ROTOR)
    )


def _read_gear(transmission: Element, notes: Notes) -> Gear:
    """The gear of a simple transmission; ModelError for a reduction that is none."""
    actuator, joint = transmission.find("actuator"), transmission.need("joint")
    told: list[tuple[Element, float]] = []  # what counts last
    rotor = 0.0
    for part in (transmission, joint, actuator):
        if part is None:
            continue
        told += [(each, each.value()) for each in part.all(*REDUCTIONS)]
    if actuator is not None:
        told += [(each, each.number("value")) for each in actuator.all("drake:gear_ratio")]
        inertia = actuator.find(ROTOR)
        rotor = 0.0 if inertia is None else inertia.number("value")
        if inertia is not None and rotor < 0.0:
            raise inertia.error(f"the rotor inertia is {rotor:g} kg m^2; it must not be negative")
    for element, ratio in told:
        if ratio == 0.0:
            raise element.error(f"<{element.tag}> is 0; give the motor turns per joint turn")
        if ratio != told[-1][1]:
            notes.refuse(element, f"line {told[-1][0].line} has {told[-1][1]:g}, which counts")
    return Gear(told[-1][1] if told else 1.0, rotor)
