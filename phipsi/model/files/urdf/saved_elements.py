"""Parts of a URDF file, as lines of text.

Source: the URDF specification, http://wiki.ros.org/urdf/XML, and what ROS 2 and
Drake have added to it: <capsule>, <drake:ellipsoid>, <drake:rotor_inertia>.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import singledispatch
from xml.sax.saxutils import quoteattr

from phipsi.model.files.urdf.exact import axis_of, rpy_of
from phipsi.model.geometry import Box, Capsule, Cylinder, Ellipsoid, Mesh, Shape, Sphere, Visual
from phipsi.model.inertia import Inertia, Placement
from phipsi.model.joints import Free, JointKind, Planar, Prismatic, Revolute
from phipsi.model.model import UNLIMITED, Joint, Limits, Mimic
from phipsi.spatial import IDENTITY3, ZERO3

LARGEST = sys.float_info.max  # stands for no limit, which readers want to be a number

Lines = Iterator[str]


def is_here(placement: Placement) -> bool:
    """Whether a frame lies on the one that it is placed in."""
    return placement.rotation == IDENTITY3 and placement.position == ZERO3


# -- parts of links --------------------------------------------------------------------


def inertial(inertia: Inertia) -> Lines:
    """Mass properties, in link axes."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.rotational
    moments = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
    tensor = " ".join(f'{name}="{number(value)}"' for name, value in moments.items())
    yield from element(
        "inertial",
        [
            f'<origin xyz="{row(inertia.com)}"/>',
            f'<mass value="{number(inertia.mass)}"/>',
            f"<inertia {tensor}/>",
        ],
    )


def visual(tag: str, visual: Visual, name_of: Callable[[Mesh], str]) -> Lines:
    """A <visual>, or a <collision>; and what meshes are called."""
    shape = visual.shape
    drawn = _mesh(shape, name_of(shape)) if isinstance(shape, Mesh) else _shape(shape)
    inside = [*origin(visual.placement), *element("geometry", [drawn])]
    if visual.color is not None:
        color = row(visual.color)
        inside += element(f'material name="rgba {color}"', [f'<color rgba="{color}"/>'])
    name = f" name={quoteattr(visual.name)}" if visual.name else ""
    yield from element(f"{tag}{name}", inside)


@singledispatch
def _shape(shape: Shape) -> str:
    """What stands in a <geometry>."""
    raise AssertionError(f"no shape: {shape!r}")


@_shape.register
def _(shape: Box) -> str:
    return f'<box size="{row(shape.size)}"/>'


@_shape.register
def _(shape: Cylinder) -> str:
    return f'<cylinder radius="{number(shape.radius)}" length="{number(shape.length)}"/>'


@_shape.register
def _(shape: Capsule) -> str:
    return f'<capsule radius="{number(shape.radius)}" length="{number(shape.length)}"/>'


@_shape.register
def _(shape: Sphere) -> str:
    return f'<sphere radius="{number(shape.radius)}"/>'


@_shape.register
def _(shape: Ellipsoid) -> str:
    a, b, c = map(number, shape.radii)
    return f'<drake:ellipsoid a="{a}" b="{b}" c="{c}"/>'


def _mesh(mesh: Mesh, name: str) -> str:
    return f'<mesh filename={quoteattr(name)} scale="{row(mesh.scale)}"/>'


# -- parts of joints -------------------------------------------------------------------


def type_of(joint: Joint) -> str:
    """The type of a joint in URDF."""
    kind = joint.kind
    if isinstance(kind, Revolute):
        return "revolute" if _has_ends(joint.limits) else "continuous"
    return {Prismatic: "prismatic", Planar: "planar", Free: "floating"}[type(kind)]


def axis(kind: JointKind) -> Lines:
    """The <axis> of a joint that has one."""
    if isinstance(kind, Planar):
        yield f'<axis xyz="{row(axis_of(kind.normal))}"/>'
    elif isinstance(kind, (Revolute, Prismatic)):
        yield f'<axis xyz="{row(axis_of(kind.axis))}"/>'


def _has_ends(limits: Limits) -> bool:
    return math.isfinite(limits.lower) or math.isfinite(limits.upper)


def limit(joint: Joint) -> Lines:
    """The <limit>, which joints with ends must have, with all that stands in it."""
    limits, type_ = joint.limits, type_of(joint)
    reach = {"lower": limits.lower, "upper": limits.upper}
    wanted = {"effort": limits.effort, "velocity": limits.velocity}
    if type_ in ("revolute", "prismatic"):
        wanted = reach | wanted
    elif limits == UNLIMITED:
        return
    values = (f'{name}="{number(_finite(x))}"' for name, x in wanted.items())
    yield f"<limit {' '.join(values)}/>"


def dynamics(joint: Joint) -> Lines:
    """The losses of a joint."""
    if joint.damping or joint.friction:
        damping, friction = number(joint.damping), number(joint.friction)
        yield f'<dynamics damping="{damping}" friction="{friction}"/>'


def mimic(leader: str, tie: Mimic) -> Lines:
    """The joint that a joint follows."""
    ratio, offset = number(tie.ratio), number(tie.offset)
    yield f'<mimic joint={quoteattr(leader)} multiplier="{ratio}" offset="{offset}"/>'


def _finite(x: float) -> float:
    return x if math.isfinite(x) else math.copysign(LARGEST, x)


def transmission(joint: Joint) -> Lines:
    """The gear of a joint, and its rotor."""
    if joint.gear_ratio == 1.0 and joint.rotor_inertia == 0.0:
        return
    ratio = number(joint.gear_ratio)
    motor = [f"<mechanicalReduction>{ratio}</mechanicalReduction>"]
    if joint.rotor_inertia:
        motor.append(f'<drake:gear_ratio value="{ratio}"/>')
        motor.append(f'<drake:rotor_inertia value="{number(joint.rotor_inertia)}"/>')
    inside = [
        "<type>transmission_interface/SimpleTransmission</type>",
        f"<joint name={quoteattr(joint.name)}/>",
        *element(f"actuator name={quoteattr(f'{joint.name}_motor')}", motor),
    ]
    yield from element(f"transmission name={quoteattr(f'{joint.name}_transmission')}", inside)


def spring(joint: Joint) -> Lines:
    """The spring in a joint, of which Gazebo is told."""
    told = [f"<springStiffness>{number(joint.stiffness)}</springStiffness>"]
    told += [f"<springReference>{number(x)}</springReference>" for x in joint.rest]
    if joint.stiffness or joint.rest:
        yield from element(f"gazebo reference={quoteattr(joint.name)}", told)


# -- parts of both ---------------------------------------------------------------------


def ends(parent: str, child: str) -> Lines:
    """Which links a joint connects."""
    yield f"<parent link={quoteattr(parent)}/>"
    yield f"<child link={quoteattr(child)}/>"


def origin(placement: Placement) -> Lines:
    """The <origin> of a placement; none for that of the parent itself."""
    if is_here(placement):
        return
    angles = rpy_of(placement.rotation)
    rpy = f' rpy="{row(angles)}"' if any(angles) else ""
    yield f'<origin xyz="{row(placement.position)}"{rpy}/>'


# -- text ------------------------------------------------------------------------------


def element(start: str, inside: Sequence[str]) -> Lines:
    """An element: how it starts, and the lines in it, which are indented."""
    if not inside:
        yield f"<{start}/>"
        return
    yield f"<{start}>"
    for line in inside:
        yield f"  {line}"
    yield f"</{start.split()[0]}>"


def row(values: Iterable[float]) -> str:
    """Numbers in a row."""
    return " ".join(map(number, values))


def number(x: float) -> str:
    """A number, so that it is read again bit by bit."""
    return repr(float(x))
