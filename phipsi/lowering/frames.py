"""Private frames: chosen for sparsity, inside lowering only.

Everything public is in the file's link frames. Inside, z of each body lies
along its joint axis, so that `H*` is a unit vector, and x along the common
normal to the axis of its first child, so that the constant part of the child's
rotation is one about x. If origins may move too (`shifted`), each slides along
its joint axis to the foot of that normal, and the step from parent to child is
the modified Denavit-Hartenberg pair

    phi(p,k) = XScrew(alpha, a) ZScrew(q + theta, d).

The world's frame stays, and so does that of a body whose joint has no axis to
choose it by (spherical, free, custom) or prescribes it (planar, universal,
Euler angles). Their children, and further children of any body, are reached
by one more constant screw about z.

Where two axes are so nearly parallel that their common normal is far away, or
where it is far away for so compact a body, the origins stay and a plain
translation takes the place of the slides: a distant origin would cost digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, NamedTuple

from phipsi import spatial
from phipsi.lowering import blocks
from phipsi.lowering.links import (
    CustomLink,
    CylindricalLink,
    FreeLink,
    HelicalLink,
    Link,
    PlanarLink,
    PrismaticLink,
    RevoluteLink,
    SphericalLink,
    SuccessiveLink,
    inverse,
)
from phipsi.lowering.parameters import UNCHANGED, Changes
from phipsi.lowering.rigid import Moments
from phipsi.lowering.slides import bears_slide, beside_branches
from phipsi.lowering.transforms import Factor, Shift, Turn, XScrew, ZScrew
from phipsi.model import axes
from phipsi.model import joints as kinds
from phipsi.model.inertia import HERE, Inertia, Placement
from phipsi.model.joints import JointKind
from phipsi.model.model import Model
from phipsi.model.tree import WORLD
from phipsi.scalars import Scalar
from phipsi.spatial import Vector

# An origin slides at most so many times the distance of the link origins. Where most slides come
# near it (30 bodies, the sine between axes 0.1 to 0.2), the error of forward dynamics is twice
# that without slides, 1e-15; with a bound of 30 it is 4.5 times, at sines of 0.05 to 0.1.
REACH = 10.0
ROUNDOFF = 1e-15  # a sine or cosine below it is meant to be zero


def private_frames(model: Model, shifted: bool, changes: Changes = UNCHANGED) -> tuple[Link, ...]:
    """One link per body, in O(n).

    Frames are chosen by the numbers of the model, and hold for all others: where
    the position of a joint is an argument, origins stay and a plain translation
    takes the place of the slides; where its rotation is, a general rotation that
    of the screws.

    Args:
        model: the machine.
        shifted: whether origins may slide along the joint axes. If not, a private
            frame differs from the link frame by a constant rotation only: for
            quantities that depend on the choice of the origin.
        changes: scalars in place of the model's numbers.
    """
    parents, joints = model.tree.parent, model.joints
    lines = [_line(joint.kind) for joint in joints]
    pairs: list[_Pair | None] = []
    first = [WORLD] * len(joints)  # the child that a body's frame is chosen for
    for k, (p, joint, line) in enumerate(zip(parents, joints, lines, strict=True)):
        z = axes.Z if p == WORLD else lines[p].exit
        slides = shifted and k not in changes.positions
        turns = k in changes.rotations
        pairs.append(None if turns else _pair(z, joint.placement, line, slides))
        if p != WORLD and lines[p].frame is None and pairs[k] and first[p] == WORLD:
            first[p] = k
    _hold_compact(model, lines, first, pairs)
    frames: list[_Frame] = []
    links = []
    for k, (p, joint, line) in enumerate(zip(parents, joints, lines, strict=True)):
        inboard = _PUBLIC if p == WORLD else frames[p]
        base = _changed(joint.placement, changes, k)
        place = _Place(inboard, base, line, pairs[k], p != WORLD and first[p] == k)
        outboard = None if first[k] == WORLD else pairs[first[k]]
        frame = line.frame or _free_frame(place, outboard, shifted)
        frames.append(frame)
        placement = frame.placement
        step = _step(place, frame)
        rotor = joint.reflected_inertia or 0
        inertia = changes.inertias.get(k, model.bodies[k].inertia)
        body = _Body(
            p,
            joint.kind.nq,
            joint.kind.nv,
            placement,
            _seen_from(placement, inertia),
            changes.rotors.get(k, rotor),
            step.front,
        )
        links.append(_make(joint.kind, body, step))
    return tuple(links)


def _hold_compact(
    model: Model, lines: Sequence[_Line], first: Sequence[int], pairs: list[_Pair | None]
) -> None:
    """Let no origin slide further than what slides with it can bear."""
    slides = {}  # of each body: the pair that places its origin, and how far from the link's
    for k, (line, ahead) in enumerate(zip(lines, first, strict=True)):
        outboard, own = None if ahead == WORLD else pairs[ahead], pairs[k]
        if line.frame is None and outboard is not None and outboard.normal is not None:
            slides[k] = ahead, outboard, outboard.foot
        elif line.frame is None and own is not None and own.s:
            slides[k] = k, own, own.joint_foot
    if not any(pair.slides and slide for _, pair, slide in slides.values()):
        return
    beside = beside_branches(model, first)
    for k, (at, pair, slide) in slides.items():
        if pair.slides and not bears_slide(beside[k], lines[k].exit, slide):
            pairs[at] = replace(pair, slides=False)


def _changed(placement: Placement, changes: Changes, k: int) -> Placement:
    """Of a joint, with scalars where they are given."""
    if k not in changes.positions:
        return placement
    rotation: Any = changes.rotations.get(k, placement.rotation)
    position: Any = changes.positions[k]
    return Placement(rotation, position)


def _seen_from(frame: Placement, body: Inertia | Moments) -> Inertia | Moments:
    """An inertia in the link frame, in the private one."""
    if isinstance(body, Moments):
        return body.seen_from(frame)
    return body.moved(inverse(frame))


@dataclass(frozen=True, slots=True)
class _Frame:
    """A private frame in its link frame: its axes, and its origin, `slide` along z."""

    x: Vector
    y: Vector
    z: Vector
    slide: Scalar = 0  # the int where origins stay

    @property
    def origin(self) -> Vector:
        return blocks.scale(self.slide, self.z)

    @property
    def placement(self) -> Placement:
        placement = _placement((self.x, self.y, self.z), self.origin)
        return HERE if placement == HERE else placement

    def components(self, x: Vector) -> list[float]:
        """A direction in link axes, in the axes of this frame."""
        return [spatial.dot(x, axis) for axis in (self.x, self.y, self.z)]


_PUBLIC = _Frame(axes.X, axes.Y, axes.Z)  # the link frame itself


@dataclass(frozen=True, slots=True)
class _Line:
    """What the kind of a joint says about frames, in link axes.

    Args:
        entry: the axis that the parent sees; None where the joint has none.
        frame: what the kind prescribes; None where it may turn about the axis.
        x: across `entry`, where its angle starts; None for x of the frame.
        slides: whether any point of the axis `entry` may stand for the joint.
    """

    entry: Vector | None = None
    frame: _Frame | None = None
    x: Vector | None = None
    slides: bool = False

    @property
    def exit(self) -> Vector:
        """z of the private frame."""
        z = self.entry if self.frame is None else self.frame.z
        assert z is not None, "a joint without an axis prescribes its frame"
        return z


@dataclass(frozen=True, slots=True)
class _Pair:
    """z of a parent and the axis of a joint: two lines, in the parent's link frame.

    `c` and `s` are cosine and sine of the angle from z to the axis about the
    common normal; it is None where the lines coincide, and any will do. It
    meets z at `foot` from the link origin, is `apart` long, and meets the axis at
    `joint_foot` from the joint's origin. `slides`: the feet may serve as origins.
    """

    axis: Vector
    normal: Vector | None
    c: float
    s: float
    foot: float
    apart: float
    joint_foot: float
    slides: bool


def _pair(z: Vector, placement: Placement, line: _Line, shifted: bool) -> _Pair | None:
    """The lines of a parent and of a joint; None where the joint has no axis."""
    if line.entry is None:
        return None
    axis, l = _unit(spatial.apply(placement.rotation, line.entry)), placement.position
    product, length = spatial.cross(z, axis), math.hypot(*l)
    along = spatial.dot(l, z)
    c, s = _clean_turn(spatial.dot(z, axis), math.hypot(*product))
    slides = shifted and line.slides
    if s == 0.0:  # every point of z has its normal: take the link origin's
        offset = spatial.subtract(l, spatial.scale(along, z))
        apart = _clean(math.hypot(*offset), length)
        if apart == 0.0:
            return _Pair(axis, None, c, s, 0.0, apart, -c * along, slides)
        normal, sign = _upward(_across(offset, z))
        return _Pair(axis, normal, c, s, 0.0, sign * apart, -c * along, slides)
    normal, sign = _upward(_across(product, z))
    apart = _clean(spatial.dot(l, normal), length)
    # In the plane of z and the axis: dot(l, axis) would cancel where they are nearly parallel.
    beside = sign * spatial.dot(l, spatial.cross(normal, z))
    joint_foot = _clean(-beside / s, length)
    foot = _clean(along + c * joint_foot, length)
    near = max(abs(foot), abs(joint_foot)) <= REACH * length
    return _Pair(axis, normal, c, sign * s, foot, apart, joint_foot, slides and near)


class _Place(NamedTuple):
    """A joint on its parent.

    Args:
        inboard: the private frame of the parent.
        placement: of the joint frame in the link frame of the parent.
        line: what the kind says.
        pair: the lines of parent and joint.
        follows: whether x of the parent was chosen to be the common normal.
    """

    inboard: _Frame
    placement: Placement
    line: _Line
    pair: _Pair | None
    follows: bool

    @property
    def normal(self) -> Vector:
        """The common normal, in link axes of the parent."""
        normal = None if self.pair is None else self.pair.normal
        return self.inboard.x if normal is None else normal

    @property
    def base(self) -> Placement:
        """The joint frame in the private frame of the parent."""
        columns = spatial.transpose(self.placement.rotation)
        return _placement([self.inboard.components(x) for x in columns], self.position)

    @property
    def position(self) -> list[float]:
        """The joint's origin in the private frame of the parent."""
        inboard = self.inboard
        return inboard.components(blocks.subtract(self.placement.position, inboard.origin))


def _free_frame(place: _Place, outboard: _Pair | None, shifted: bool) -> _Frame:
    """The frame of a body that may turn about its joint axis, and slide along it.

    x lies along the common normal to the axis of its first child; else along
    the one from its parent, so that the joint's angle starts from 0.
    """
    z, own = place.line.exit, place.pair
    if outboard is not None and outboard.normal is not None:
        x, slide = outboard.normal, outboard.foot if outboard.slides else 0.0
    elif own is None:  # the rotation of the joint is an argument: no normal is known
        x, slide = _across(min((axes.X, axes.Y), key=lambda e: abs(spatial.dot(e, z))), z), 0.0
    else:
        x = _across(spatial.apply(spatial.transpose(place.placement.rotation), place.normal), z)
        # Not between parallel axes: coaxial joints would gather all their origins in one point.
        slide = own.joint_foot if own.slides and own.s else 0.0
    return _Frame(x, spatial.cross(z, x), z, slide if shifted else 0)


@dataclass(frozen=True, slots=True)
class _Step:
    """From the private frame of a parent to a joint.

    The constant `front`, then a screw about the joint's axis that starts from
    the angle theta, of cosine c and sine s, and from d.
    """

    place: _Place
    front: tuple[Factor, ...] = ()
    c: float = 1.0
    s: float = 0.0
    d: Scalar = 0

    @property
    def theta(self) -> float:
        return math.atan2(self.s, self.c)


def _step(place: _Place, frame: _Frame) -> _Step:
    """What comes before a joint's own motion."""
    inboard, pair, normal = place.inboard, place.pair, place.normal
    if pair is None:
        return _Step(place, () if place.line.entry is None else _general(place, frame))
    x = spatial.apply(place.placement.rotation, place.line.x or frame.x)
    y = spatial.cross(pair.axis, normal)
    c, s = _clean_turn(spatial.dot(normal, x), spatial.dot(y, x))
    screw: tuple[Factor, ...] = ()
    if pair.slides:
        foot, joint_foot = pair.foot, pair.joint_foot
        if pair.s == 0.0:  # the lines are parallel: let their normal start at the parent's origin
            foot, joint_foot = inboard.slide, joint_foot + pair.c * inboard.slide
        if not place.follows:
            screw = (ZScrew(*_angle(inboard, normal), float(foot - inboard.slide)),)
        front = (*screw, XScrew(pair.c, pair.s, pair.apart))
        return _Step(place, front, c, s, float(frame.slide - joint_foot))
    slide = spatial.scale(frame.slide if place.line.slides else 0, inboard.components(pair.axis))
    shift = Shift(tuple(spatial.add(place.position, slide)))
    if not place.follows:
        screw = (ZScrew(*_angle(inboard, normal), 0),)
    return _Step(place, (shift, *screw, XScrew(pair.c, pair.s, 0)), c, s)


def _general(place: _Place, frame: _Frame) -> tuple[Factor, ...]:
    """To where the joint's own motion starts, for any rotation: a shift, then a turn."""
    x, z = place.line.x or frame.x, place.line.entry
    assert z is not None, "only a joint with an axis starts from it"
    turn = spatial.compose(place.base.rotation, spatial.transpose((x, spatial.cross(z, x), z)))
    slide = frame.slide if place.line.slides else 0
    axis = [row[2] for row in turn]
    return Shift(tuple(blocks.add(place.position, blocks.scale(slide, axis)))), Turn(turn)


def _angle(frame: _Frame, normal: Vector) -> tuple[float, float]:
    """Cosine and sine of the angle about z from x of a frame to a normal of z."""
    return _clean_turn(spatial.dot(normal, frame.x), spatial.dot(normal, frame.y))


# -- by kind of joint ------------------------------------------------------------------


class _Body(NamedTuple):
    """What every link has."""

    parent: int
    nq: int
    nv: int
    frame: Placement
    inertia: Inertia | Moments
    rotor: Scalar
    front: tuple[Factor, ...]


@singledispatch
def _line(kind: JointKind) -> _Line:
    """What a kind says about frames: to take the link frame, unless it knows better."""
    return _Line(frame=_PUBLIC)


@singledispatch
def _make(kind: JointKind, body: _Body, step: _Step) -> Link:
    """The link of a joint, by its transform and map alone unless the kind is known."""
    return CustomLink(*body, kind, step.place.base)


def _axial_line(kind: Any) -> _Line:
    return _Line(kind.axis, slides=True)


for _kind in (kinds.Revolute, kinds.Prismatic, kinds.Helical, kinds.Cylindrical):
    _line.register(_kind, _axial_line)


@_make.register
def _(kind: kinds.Revolute, body: _Body, step: _Step) -> Link:
    return RevoluteLink(*body, step.theta, step.d)


@_make.register
def _(kind: kinds.Prismatic, body: _Body, step: _Step) -> Link:
    return PrismaticLink(*body, step.c, step.s, step.d)


@_make.register
def _(kind: kinds.Helical, body: _Body, step: _Step) -> Link:
    return HelicalLink(*body, step.theta, step.d, float(kind.pitch))


@_make.register
def _(kind: kinds.Cylindrical, body: _Body, step: _Step) -> Link:
    return CylindricalLink(*body, step.theta, step.d)


@_line.register
def _(kind: kinds.Universal) -> _Line:
    return _successive_line((kind.first, kind.second))


@_make.register
def _(kind: kinds.Universal, body: _Body, step: _Step) -> Link:
    c, s = spatial.dot(kind.first, kind.second), math.hypot(*spatial.cross(kind.first, kind.second))
    return SuccessiveLink(*body, (step.theta, 0.0), (_clean_turn(c, s),), step.d)


@_line.register
def _(kind: kinds.SphericalEuler) -> _Line:
    return _successive_line(_euler_axes(kind))


@_make.register
def _(kind: kinds.SphericalEuler, body: _Body, step: _Step) -> Link:
    first, second, third = _euler_axes(kind)
    x, next_x = spatial.cross(first, second), spatial.cross(second, third)
    y = spatial.cross(second, x)
    theta = math.atan2(spatial.dot(y, next_x), spatial.dot(x, next_x))
    right_angles = ((0, 1), (0, 1))
    return SuccessiveLink(*body, (step.theta, theta, 0.0), right_angles, step.d)


def _euler_axes(kind: kinds.SphericalEuler) -> list[Vector]:
    return [{"x": axes.X, "y": axes.Y, "z": axes.Z}[letter] for letter in kind.sequence]


def _successive_line(turns: Sequence[Vector]) -> _Line:
    """z along the last axis, x along the common normal of the last two."""
    z = turns[-1]
    x = _across(spatial.cross(turns[-2], z), z)
    first_x = _across(spatial.cross(turns[0], turns[1]), turns[0])
    return _Line(turns[0], _Frame(x, spatial.cross(z, x), z), first_x, slides=True)


@_line.register
def _(kind: kinds.Planar) -> _Line:
    return _Line(kind.normal, _Frame(*axes.plane_axes(kind.normal), kind.normal))


@_make.register
def _(kind: kinds.Planar, body: _Body, step: _Step) -> Link:
    origin, *front = step.front
    x, y = (spatial.apply(step.place.base.rotation, e) for e in axes.plane_axes(kind.normal))
    return PlanarLink(*body._replace(front=tuple(front)), step.theta, origin.position(), (x, y))


@_make.register
def _(kind: kinds.Spherical, body: _Body, step: _Step) -> Link:
    return SphericalLink(*body, kind, step.place.base)


@_make.register
def _(kind: kinds.Free, body: _Body, step: _Step) -> Link:
    return FreeLink(*body, kind, step.place.base)


# -- small helpers, in floats ----------------------------------------------------------


def _placement(columns: Sequence[Vector], position: Vector) -> Placement:
    a, b, c = zip(*columns, strict=True)
    x, y, z = position
    return Placement((a, b, c), (x, y, z))


def _unit(x: Vector) -> list[float]:
    length = math.hypot(*x)
    return [a / length for a in x]


def _across(x: Vector, z: Vector) -> list[float]:
    """The unit vector across the unit vector z nearest to x."""
    x = _unit(x)
    return _unit(spatial.subtract(x, spatial.scale(spatial.dot(x, z), z)))


def _upward(x: Vector) -> tuple[Vector, float]:
    """x or -x, whichever has its largest component positive, and the sign.

    Of the two directions of a normal this is more often an axis of the file.
    """
    return (x, 1.0) if max(x) >= -min(x) else (spatial.scale(-1.0, x), -1.0)


def _clean(x: float, size: float) -> float:
    """x, or 0 where it is roundoff of a quantity of that size."""
    return 0.0 if abs(x) <= ROUNDOFF * size else x


def _clean_turn(c: float, s: float) -> tuple[float, float]:
    """Cosine and sine made a pair of length one, quarter turns exact."""
    length = math.hypot(c, s)
    c, s = c / length, s / length
    if abs(s) <= ROUNDOFF:
        return math.copysign(1.0, c), 0.0
    if abs(c) <= ROUNDOFF:
        return 0.0, math.copysign(1.0, s)
    return c, s
