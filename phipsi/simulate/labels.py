"""What each coordinate and each speed of a machine is called, and its unit.

A joint of one coordinate lends it its name: `elbow`. The others add a part:
`root.x`, `root.omega_z`; where the kind has no names for its parts, a number:
`neck.0`, `neck.1`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from phipsi.joints import Custom, Cylindrical, Free, JointKind, Planar, Spherical
from phipsi.model.model import Joint, Model

DERIVED = ("kinetic_energy", "potential_energy", "energy", "momentum", "poses")
TAKEN = ("model", "complete")  # what a file says about a motion beside its `about`

PURE = "1"  # the unit of a number without dimension, as the entries of a quaternion
UNKNOWN = ""  # the unit of a coordinate that only its maker knows

_RATE_OF = {"rad": "rad/s", "m": "m/s"}
_FORCE_OF = {"rad/s": "N m", "m/s": "N"}  # power is force times speed


@dataclass(frozen=True, slots=True)
class Label:
    """One entry of q or v.

    Args:
        name: of the entry, none twice in a machine.
        joint: the name of its joint.
        what: it is, as "angle" or "velocity".
        unit: of the entry; "1" for a number without dimension, "" if nobody knows.
    """

    name: str
    joint: str
    what: str
    unit: str

    @property
    def force_unit(self) -> str:
        """The unit of the force that works on a speed."""
        return _FORCE_OF.get(self.unit, UNKNOWN)


@dataclass(frozen=True, slots=True)
class Part:
    """One coordinate or speed of a joint kind; its name is empty if it is the only one."""

    name: str
    what: str
    unit: str


Parts = Callable[[JointKind], list[Part]]  # `coordinate_parts` or `speed_parts`


def coordinate_labels(model: Model) -> tuple[Label, ...]:
    """A label for each entry of q.

    >>> import phipsi as pp
    >>> [label.name for label in coordinate_labels(pp.examples.spacecraft())][:8]
    ['root.qx', 'root.qy', 'root.qz', 'root.qw', 'root.x', 'root.y', 'root.z',
     'left shoulder_joint']
    """
    return tuple(_labels(model, coordinate_parts))


def speed_labels(model: Model) -> tuple[Label, ...]:
    """A label for each entry of v, and of the forces tau.

    >>> import phipsi as pp
    >>> speed_labels(pp.examples.planar_arm(1))
    (Label(name='joint1', joint='joint1', what='speed', unit='rad/s'),)
    """
    return tuple(_labels(model, speed_parts))


def speed_names(model: Model) -> list[str]:
    """What the entries of v are called.

    >>> import phipsi as pp
    >>> speed_names(pp.examples.planar_arm(2))
    ['joint1', 'joint2']
    """
    return [label.name for label in speed_labels(model)]


def joint_labels(joint: Joint, parts: Parts) -> list[Label]:
    """The labels of one joint, also of one that follows another."""
    return [
        Label(
            f"{joint.name}.{part.name}" if part.name else joint.name,
            joint.name,
            part.what,
            part.unit,
        )
        for part in parts(joint.kind)
    ]


def coordinate_parts(kind: JointKind) -> list[Part]:
    """What the coordinates of a joint of this kind are.

    >>> [part.name for part in coordinate_parts(Cylindrical())]
    ['angle', 'distance']
    """
    if isinstance(kind, Free):
        return _quaternion() + _each("x y z", "position", "m")
    if isinstance(kind, Spherical):
        return _quaternion()
    if isinstance(kind, Planar):
        return _each("angle", "angle", "rad") + _each("x y", "position", "m")
    if isinstance(kind, Cylindrical):
        return _each("angle", "angle", "rad") + _each("distance", "distance", "m")
    other = ("coordinate", UNKNOWN) if isinstance(kind, Custom) else ("distance", "m")
    names = [""] if kind.nq == 1 else map(str, range(kind.nq))
    return [
        Part(name, *(("angle", "rad") if i in kind.turns else other))
        for i, name in enumerate(names)
    ]


def speed_parts(kind: JointKind) -> list[Part]:
    """What the speeds of a joint of this kind are; a rate is called as what changes.

    >>> [part.name for part in speed_parts(Planar())]
    ['omega', 'vx', 'vy']
    """
    omega = _each("omega_x omega_y omega_z", "angular velocity", "rad/s")
    if isinstance(kind, Free):
        return omega + _each("vx vy vz", "velocity", "m/s")
    if isinstance(kind, Spherical):
        return omega
    if isinstance(kind, Planar):
        return _each("omega", "angular velocity", "rad/s") + _each("vx vy", "velocity", "m/s")
    return [
        Part(part.name, "speed", _RATE_OF.get(part.unit, UNKNOWN))
        for part in coordinate_parts(kind)
    ]


def distinct(names: Iterable[str]) -> Iterator[str]:
    """The same names, with an apostrophe where one was there before.

    >>> list(distinct(["a", "b", "a", "a"]))
    ['a', 'b', "a'", "a''"]
    """
    taken: set[str] = set()
    for name in names:
        while name in taken:
            name += "'"
        taken.add(name)
        yield name


def _labels(model: Model, parts: Parts) -> Iterator[Label]:
    """Those of all joints that own coordinates, in the order of q and v."""
    found = [label for joint in model.leaders for label in joint_labels(joint, parts)]
    # A joint may be called `a.x` beside the part x of a.
    for label, name in zip(found, distinct(label.name for label in found), strict=True):
        yield replace(label, name=name)


def _quaternion() -> list[Part]:
    return _each("qx qy qz qw", "quaternion", PURE)


def _each(names: str, what: str, unit: str) -> list[Part]:
    return [Part(name, what, unit) for name in names.split()]
