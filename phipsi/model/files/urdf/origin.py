"""The <origin> of a URDF element, as the version of its file has it.

Versions 1.1 and up of the format may tell a rotation by `quat_xyzw="x y z w"` instead of
`rpy`; in older ones that means nothing.

Source: the documentation of urdfdom, https://github.com/ros/urdfdom, on versions of URDF.
"""

from __future__ import annotations

from math import cos, hypot, sin

from phipsi.model.files.account import Notes
from phipsi.model.files.xmlfile import Element
from phipsi.model.inertia import HERE, Placement, Rows3, product3
from phipsi.spatial import ZERO3, rotation_from_quaternion

OLD, NEW = ("1", "1.0"), ("1.1", "1.2")  # versions, without quaternions and with
QUATERNION = "quat_xyzw"
SHORTEST = 1e-6  # of a quaternion that has a direction


class Origins:
    """Reads the origins of one file.

    Args:
        robot: the root element, which tells the version; 1.0 where it does not.
        notes: takes note of a version that nobody knows here; it is read like the newest.
    """

    def __init__(self, robot: Element, notes: Notes):
        version = (robot.get("version") or OLD[0]).strip()
        self._quaternions = version not in OLD
        if self._quaternions and version not in NEW:
            text = f"the version {version!r} of URDF is unknown; the file is read like {NEW[-1]}"
            notes.note(robot, text)

    def read(self, origin: Element | None) -> Placement:
        """The <origin> of a joint, inertial or visual: position xyz, fixed-axis angles rpy."""
        if origin is None:
            return HERE
        x, y, z = origin.numbers("xyz", 3, ZERO3)
        if self._quaternions and QUATERNION in origin.attributes:
            return Placement(_read_quaternion(origin), (x, y, z))
        roll, pitch, yaw = origin.numbers("rpy", 3, ZERO3)
        if roll == pitch == yaw == 0.0:
            return HERE if x == y == z == 0.0 else Placement(position=(x, y, z))
        return Placement(_turn(roll, pitch, yaw), (x, y, z))


def _read_quaternion(origin: Element) -> Rows3:
    """The rotation of a quaternion x, y, z, w, of any length."""
    if "rpy" in origin.attributes:
        raise origin.error(f"<origin> has both rpy and {QUATERNION}; remove one of them")
    values = origin.numbers(QUATERNION, 4)
    length = hypot(*values)
    if not length > SHORTEST:
        raise origin.error(f"the {QUATERNION} of <origin> has length zero; give x y z w")
    a, b, c = rotation_from_quaternion([x / length for x in values])
    return (a[0], a[1], a[2]), (b[0], b[1], b[2]), (c[0], c[1], c[2])


def _turn(roll: float, pitch: float, yaw: float) -> Rows3:
    """`spatial.rotation_from_rpy` of plain numbers, the same to the last bit, ten times as fast."""
    c, s = cos(roll), sin(roll)
    about_x = (c + (1.0 - c), 0.0, 0.0), (0.0, c, -s), (0.0, s, c)
    c, s = cos(pitch), sin(pitch)
    about_y = (c, 0.0, s), (0.0, c + (1.0 - c), 0.0), (-s, 0.0, c)
    c, s = cos(yaw), sin(yaw)
    about_z = (c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, c + (1.0 - c))
    return product3(about_z, product3(about_y, about_x))
