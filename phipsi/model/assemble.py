"""From parts to a Model: parents resolved, fixed joints welded, bodies numbered."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from phipsi import spatial
from phipsi.errors import ModelError, name_choices
from phipsi.model.closure import Anchor, Closure, Coupling
from phipsi.model.configuration import QUATERNION_TOLERANCE
from phipsi.model.geometry import Visual
from phipsi.model.inertia import HERE, MASSLESS, Placement
from phipsi.model.joints import Fixed
from phipsi.model.link import Link, can_mimic
from phipsi.model.model import Body, Frame, Joint, Keyframe, Mimic, Model
from phipsi.model.parts import Parts
from phipsi.model.report import Remark, Report
from phipsi.model.tree import WORLD, WORLD_NAME, depth_first
from phipsi.scalars import HUGE

Home = tuple[int, Placement]  # the moving body (or the world) that carries a frame, and where


def assemble(parts: Parts) -> Model:
    """The machine that the parts make.

    Raises:
        ModelError: an unknown parent, a cycle, a subtree without mass, ...
    """
    homes = _Homes(parts)
    inertias = [MASSLESS]  # of the world, then of each moving body
    moving: list[Link] = []
    places: list[Home] = []  # of the moving bodies' joint frames
    welded: list[Link] = []
    for link in _in_order(parts, homes):
        carrier, place = homes[link.parent]
        place = place.then(link.placement)
        if isinstance(link.kind, Fixed):
            homes.known[link.name] = (carrier, place)
            inertias[carrier + 1] = inertias[carrier + 1].plus(link.inertia.moved(place))
            welded.append(link)
        else:
            homes.known[link.name] = (len(moving), HERE)
            inertias.append(link.inertia)
            moving.append(link)
            places.append((carrier, place))
    for name, inertia in parts.ballast:
        carrier, place = homes.find(name, "add_model: unknown parent")
        inertias[carrier + 1] = inertias[carrier + 1].plus(inertia.moved(place))
    bodies = tuple(
        Body(link.name, parent, inertia)
        for link, (parent, _), inertia in zip(moving, places, inertias[1:], strict=True)
    )
    joints = _joints(moving, places, _find_leaders(parts, moving))
    _check_reflected(parts, bodies, joints)
    closures = list(_placed_closures(parts, homes))
    rigid = [each for each in closures if each.first.body == each.second.body]
    remarks = (
        *parts.remarks,
        *_idle_remarks(parts, bodies, joints),
        *_singular_remarks(parts, bodies, joints),
        *_rigid_remarks(parts, rigid),
    )
    return Model(
        parts.name,
        bodies,
        joints,
        tuple(Frame(name, *homes[name]) for name in (*(x.name for x in welded), *parts.frames)),
        parts.gravity,
        inertias[0],
        _report(parts, remarks),
        tuple(_placed_visuals("add_visuals", parts.visuals, homes)),
        tuple(_placed_visuals("add_collisions", parts.collisions, homes)),
        tuple(each for each in closures if each not in rigid),
        tuple(_numbered_couplings(parts, joints)),
        {name: _keyframe(parts, name, joints) for name in parts.keyframes},
    )


# -- who carries whom ------------------------------------------------------------------


class _Homes:
    """Where each body, welded link and frame is: on which moving body, or on the world."""

    def __init__(self, parts: Parts):
        self._parts = parts
        self.known: dict[str, Home] = {WORLD_NAME: (WORLD, HERE)}

    def __getitem__(self, name: str) -> Home:
        """KeyError for a name that nobody has."""
        if name not in self.known:
            for frame in reversed(self.frames_below(name)):
                on, placement = self._parts.frames[frame]
                carrier, place = self.known[on]
                self.known[frame] = carrier, place.then(placement)
        return self.known[name]

    def find(self, name: str, fault: str) -> Home:
        """The same; ModelError for a name that nobody has."""
        try:
            return self[name]
        except KeyError:
            choices = name_choices(name, self.choices)
            raise ModelError(f"{fault} {name!r}; {choices}") from None

    def link_below(self, frame: str) -> str:
        """The link, or the world, that carries a frame, or the frame it is on."""
        return self._parts.frames[self.frames_below(frame)[-1]][0]

    def frames_below(self, name: str) -> list[str]:
        """The frame of that name, the one it is on, and so on; none if it is no frame."""
        frames = self._parts.frames
        path: dict[str, None] = {}
        while name in frames:
            if name in path:
                text = f"the frames {_arrows(path, name)} are on each other in a circle; "
                text += "put one of them on a body"
                raise self._parts.refusal(name, "joint", text, "frame")
            path[name] = None
            name = frames[name][0]
            if name not in frames and name != WORLD_NAME and name not in self._parts.links:
                text = f"unknown body {name!r}; {name_choices(name, self.choices)}"
                raise self._parts.refusal(list(path)[-1], "joint", text, "frame")
        return list(path)

    @property
    def choices(self) -> list[str]:
        """What can be named."""
        return [WORLD_NAME, *self._parts.links, *self._parts.frames]


def _in_order(parts: Parts, homes: _Homes) -> list[Link]:
    """All links depth-first, or a ModelError for an unknown parent or a cycle."""
    links = list(parts.links.values())
    number_of = {link.name: k for k, link in enumerate(links)}
    number_of[WORLD_NAME] = WORLD
    parents = []
    for link in links:
        parent = number_of.get(link.parent)
        if parent is None:
            if link.parent not in parts.frames:
                text = f"unknown parent {link.parent!r}; {name_choices(link.parent, homes.choices)}"
                raise parts.refusal(link.name, "joint", text)
            parent = number_of[homes.link_below(link.parent)]
        parents.append(parent)
    order = depth_first(parents)
    if len(order) < len(links):
        reached = set(order)
        k = next(k for k in range(len(links)) if k not in reached)
        path: dict[str, None] = {}
        while links[k].name not in path:
            path[links[k].name] = None
            k = parents[k]
        name = links[k].name
        text = f"the bodies {_arrows(path, name)} carry each other in a circle; a tree needs "
        text += "one of them on the world, loops are closed by constraints"
        raise parts.refusal(name, "joint", text)
    return [links[k] for k in order]


def _arrows(path: Iterable[str], name: str, limit: int = 6) -> str:
    """'a' <- 'b' <- 'a': the circle of a path that comes back to a name; a long one abridged."""
    names = list(path)
    circle = [repr(each) for each in (*names[names.index(name) :], name)]
    return " <- ".join(circle if len(circle) <= limit else [*circle[:3], "...", circle[-1]])


# -- joints ----------------------------------------------------------------------------


def _find_leaders(parts: Parts, moving: Sequence[Link]) -> dict[str, Mimic]:
    """What each mimic joint follows in the end: mimics of mimics are chained."""
    number_of = {link.joint_name: k for k, link in enumerate(moving)}
    found: dict[str, Mimic] = {}
    for link in moving:
        tied: dict[str, tuple[str, float, float]] = {}
        while link.mimic is not None and link.joint_name not in found:
            tied[link.joint_name] = link.mimic
            link = _find_source(parts, link, link.mimic[0])
            if link.joint_name in tied:
                circle = _arrows(tied, link.joint_name)
                text = f"the joints {circle} mimic each other in a circle; one of them must lead"
                raise parts.refusal(link.name, "mimic", text)
        for name, (source, ratio, offset) in reversed(tied.items()):
            lead = found.get(source) or Mimic(number_of[source], 1.0)
            tie = Mimic(lead.source, ratio * lead.ratio, ratio * lead.offset + offset)
            if max(abs(tie.ratio), abs(tie.offset)) > HUGE:
                text = f"joint {name!r} follows {moving[lead.source].joint_name!r} by joints "
                text += f"between, in all by the ratio {tie.ratio:g} and the offset "
                text += f"{tie.offset:g}; expected numbers up to {HUGE:g}"
                raise parts.refusal(parts.joints[name], "mimic", text)
            found[name] = tie
    return found


def _find_source(parts: Parts, link: Link, source: str) -> Link:
    """The link whose joint this one's joint mimics."""
    text = f"joint {link.joint_name!r} mimics "
    if source not in parts.joints:
        choices = [one.joint_name for one in parts.links.values() if can_mimic(one.kind)]
        text += f"the unknown joint {source!r}; {name_choices(source, choices)}"
        raise parts.refusal(link.name, "mimic", text)
    found = parts.links[parts.joints[source]]
    if not can_mimic(found.kind):
        text += f"{source!r}, which is {type(found.kind).__name__}; "
        text += "only a joint with one coordinate can lead"
        raise parts.refusal(link.name, "mimic", text)
    return found


def _joints(
    links: Sequence[Link], places: Sequence[Home], leaders: Mapping[str, Mimic]
) -> tuple[Joint, ...]:
    """Joints with their slices: leaders own coordinates, mimics share them."""
    joints: list[Joint] = []
    nq = nv = row = 0
    for link, (_, place) in zip(links, places, strict=True):
        kind, mimic = link.kind, leaders.get(link.joint_name)
        own_q, own_v = (kind.nq, kind.nv) if mimic is None else (0, 0)
        joints.append(
            Joint(
                link.joint_name,
                kind,
                place,
                slice(nq, nq + own_q),
                slice(nv, nv + own_v),
                slice(row, row + kind.nv),
                link.limits,
                link.damping,
                link.friction,
                link.rotor_inertia,
                link.gear_ratio,
                mimic,
                link.stiffness,
                link.rest,
            )
        )
        nq, nv, row = nq + own_q, nv + own_v, row + kind.nv
    for k, joint in enumerate(joints):
        if joint.mimic is not None:
            lead = joints[joint.mimic.source]
            joints[k] = replace(joint, q=lead.q, v=lead.v)
    return tuple(joints)


def _check_reflected(parts: Parts, bodies: Sequence[Body], joints: Sequence[Joint]) -> None:
    """ModelError where what a mimic joint moves is, as its leader feels it, beyond all sense."""
    if all(joint.mimic is None for joint in joints):
        return
    moved = [body.inertia for body in bodies]  # with all that it carries, joints neutral
    for k in range(len(bodies) - 1, -1, -1):
        if bodies[k].parent != WORLD:
            there = moved[k].moved(joints[k].placement)
            moved[bodies[k].parent] = moved[bodies[k].parent].plus(there)
    for body, joint, inertia in zip(bodies, joints, moved, strict=True):
        if joint.mimic is not None:
            ratio, turning = joint.mimic.ratio, sum(inertia.rotational[i][i] for i in range(3))
            lever = inertia.mass * (1.0 + sum(x * x for x in inertia.com))
            felt = ratio * ratio * (turning + lever + joint.reflected_inertia)
            if not felt <= HUGE:
                text = f"joint {joint.name!r} follows {joints[joint.mimic.source].name!r} by the "
                text += f"ratio {ratio:g}, so that what it moves is felt there as {felt:g} kg or "
                text += f"kg m^2; expected no more than {HUGE:g}"
                raise parts.refusal(body.name, "mimic", text)


# -- what is odd about it --------------------------------------------------------------


def _idle_remarks(parts: Parts, bodies: Sequence[Body], joints: Sequence[Joint]) -> list[Remark]:
    """A line for each joint that moves nothing."""
    return [
        parts.keep(
            bodies[k].name,
            "joint",
            f"nothing that joint {joints[k].name!r} moves has mass, so forward dynamics is "
            "singular",
            "give it a mass or make the joint fixed",
        )
        for k in _find_idle(bodies, joints)
        if bodies[k].name not in parts.told
    ]


def _rigid_remarks(parts: Parts, closures: Sequence[Closure]) -> list[Remark]:
    """A line for each closure that holds nothing, for both its ends are on one body."""
    found = []
    for each in closures:
        ends = f"both its ends, {each.first.link!r} and {each.second.link!r}"
        fault = f"{ends}, are on the same body, or on the world"
        if parts.strict:
            text = f"{fault}; leave it out, or let strict=False do so"
            raise parts.refusal(each.name, "closure", text, "closure")
        place = parts.where(each.name, "closure")
        found.append(Remark("refused", f"closure {each.name!r}: {fault}; it is left out", place))
    return found


def _singular_remarks(
    parts: Parts, bodies: Sequence[Body], joints: Sequence[Joint]
) -> list[Remark]:
    """A line for each body from which on joints have more freedoms than masses have there.

    Of the mass matrix of what is outboard, the rank is at most that of the inertias in it. A
    motor, or a joint that leads others, may make up for it. Other machines may be singular, too.
    """
    leads = {joint.mimic.source for joint in joints if joint.mimic is not None}
    moved, found = [[0, 0] for _ in bodies], []  # freedoms of joints and of masses
    for k in range(len(bodies) - 1, -1, -1):
        body, joint, own = bodies[k], joints[k], moved[k]
        if joint.mimic is None and k not in leads and not joint.rotor_inertia:
            own[0] += joint.kind.nv
        own[1] += 3 * (body.inertia.mass > 0.0) + 3 * (body.inertia.rotational != spatial.ZERO33)
        if own[0] > own[1] > 0:
            text = f"joint {joint.name!r}: with those outboard of it it has {own[0]} freedoms, of "
            text += f"which the masses there feel {own[1]} at most, so forward dynamics is singular"
            found.append(Remark("implausible", text, parts.where(body.name, "joint")))
            own[0] = 0  # told; what is inboard moves the same masses
        if body.parent != WORLD:
            outer = moved[body.parent]
            outer[0], outer[1] = outer[0] + own[0], outer[1] + own[1]
    return found[::-1]


def _find_idle(bodies: Sequence[Body], joints: Sequence[Joint]) -> Iterator[int]:
    """The joints that move nothing, by themselves or by what follows them.

    Their coordinates have no equation of motion. A motor is something.
    """
    moves = [not body.inertia.vanishes for body in bodies]
    for k in range(len(bodies) - 1, -1, -1):
        if moves[k] and bodies[k].parent != WORLD:
            moves[bodies[k].parent] = True
    drives = [moves[k] or joint.rotor_inertia > 0.0 for k, joint in enumerate(joints)]
    for k, joint in enumerate(joints):
        if drives[k] and joint.mimic is not None and joint.mimic.ratio != 0.0:
            drives[joint.mimic.source] = True
    return (k for k, joint in enumerate(joints) if joint.mimic is None and not drives[k])


def _report(parts: Parts, remarks: Sequence[Remark]) -> Report:
    """What was said of the parts, after what the machines in it have to say."""
    if not parts.reports:
        return Report(remarks)
    reports = tuple(parts.reports)
    return Report(lambda: (*chain.from_iterable(reports), *remarks))


# -- what is on the bodies -------------------------------------------------------------


def _placed_visuals(
    caller: str, visuals: Iterable[tuple[str, Visual]], homes: _Homes
) -> Iterator[Visual]:
    """What there is to see, each on the moving body that carries it."""
    for body, visual in visuals:
        carrier, place = homes.find(body, f"{caller}: unknown body")
        placement = place.then(visual.placement)
        yield Visual(visual.shape, placement, visual.color, visual.name or body, carrier)


def _placed_closures(parts: Parts, homes: _Homes) -> Iterator[Closure]:
    """The closures, each end on the moving body that carries it."""
    for name, loop in parts.closures.items():
        anchors = []
        for which, end in (("first", loop.first), ("second", loop.second)):
            try:
                carrier, place = homes.find(end.on, f"unknown {which} body")
            except ModelError as error:
                raise parts.refusal(name, "closure", str(error), "closure") from None
            anchors.append(Anchor(end.link, carrier, place.then(end.placement)))
        yield Closure(name, loop.joint, *anchors)


def _numbered_couplings(parts: Parts, joints: Sequence[Joint]) -> Iterator[Coupling]:
    """The couplings, with the numbers of their joints."""
    number_of = {joint.name: k for k, joint in enumerate(joints) if can_mimic(joint.kind)}
    for name, tied in parts.couplings.items():
        for end in (tied.joint, tied.leader):
            if end is not None and end not in number_of:
                text = f"no joint of one coordinate is called {end!r}; "
                text += name_choices(str(end), number_of)
                raise parts.refusal(name, "closure", text, "coupling")
        leader = None if tied.leader is None else number_of[tied.leader]
        yield Coupling(name, number_of[tied.joint], leader, tied.coefficients, tied.centre)


def _keyframe(parts: Parts, name: str, joints: Sequence[Joint]) -> Keyframe:
    """A state, in the machine's coordinates."""
    q, v = parts.keyframes[name]
    leading = {joint.name: joint for joint in joints if joint.mimic is None}
    for joint_name in (*q, *v):
        if joint_name not in leading:
            text = f"no joint with coordinates is called {joint_name!r}; "
            text += name_choices(joint_name, leading)
            raise parts.refusal(name, "closure", text, "keyframe")
    found: tuple[list[float], list[float]] = [], []
    for joint in leading.values():
        kind = joint.kind
        given = q.get(joint.name, kind.neutral()), v.get(joint.name, [0.0] * kind.nv)
        for values, size, row in zip(given, (kind.nq, kind.nv), found, strict=True):
            if len(values) != size:
                text = f"joint {joint.name!r} has {size} numbers there, got {len(values)}"
                raise parts.refusal(name, "closure", text, "keyframe")
            row.extend(values)
        turn = [] if kind.quaternion is None else given[0][kind.quaternion]
        if turn and abs(sum(x * x for x in turn) - 1.0) > QUATERNION_TOLERANCE:
            text = f"the quaternion of joint {joint.name!r} has length {math.hypot(*turn):.9g}; "
            text += "expected 1 (x, y, z, w order; divide it by its length)"
            raise parts.refusal(name, "closure", text, "keyframe")
    return Keyframe(tuple(found[0]), tuple(found[1]))
