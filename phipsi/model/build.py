"""ModelBuilder: bodies one by one, checked, numbered, welded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from numbers import Real

from numpy.typing import ArrayLike

from phipsi.errors import ModelError, name_choices
from phipsi.model.inertia import HERE, MASSLESS, Inertia, Placement, Vector3, number, vector3
from phipsi.model.joints import Fixed, JointKind, Revolute
from phipsi.model.model import UNLIMITED, Body, Frame, Joint, Limits, Mimic, Model
from phipsi.model.tree import WORLD, WORLD_NAME, depth_first

REVOLUTE_Z = Revolute()

_Home = tuple[int, Placement]  # the moving body (or the world) that carries a frame, and where


@dataclass(frozen=True, slots=True)
class _Link:
    """A body as the user gave it."""

    name: str
    parent: str
    joint_name: str
    kind: JointKind
    placement: Placement
    inertia: Inertia
    limits: Limits
    damping: float
    friction: float
    rotor_inertia: float
    gear_ratio: float
    mimic: tuple[str, float, float] | None


class ModelBuilder:
    """Builds a machine body by body.

    The builder refuses what no machine can have, with a `ModelError` that
    names the body; with `strict=False` an unphysical inertia is kept and
    listed in `model.report` instead. Parents may be added after their
    children; coordinates follow the joints depth-first in the order added.
    What is refused is not added: mend it and go on.

    >>> import phipsi as pp
    >>> builder = pp.ModelBuilder("pendulum")
    >>> builder.add_body("bob", joint=pp.joints.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -1.0))
    >>> builder.build()
    <Model 'pendulum': 1 bodies, nq = 1, nv = 1, 1 kg>
    """

    def __init__(
        self,
        name: str = "machine",
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        strict: bool = True,
    ):
        self.name = name
        self.strict = strict
        self.gravity: Vector3 = vector3(f"{name!r}: gravity", gravity)
        self._links: dict[str, _Link] = {}
        self._frames: dict[str, tuple[str, Placement]] = {}
        self._joint_names: dict[str, str] = {}

    def add_body(
        self,
        name: str,
        parent: str = WORLD_NAME,
        joint: JointKind = REVOLUTE_Z,
        *,
        joint_name: str | None = None,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        mass: float = 0.0,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        limits: Limits | None = None,
        damping: float = 0.0,
        friction: float = 0.0,
        rotor_inertia: float = 0.0,
        gear_ratio: float = 1.0,
        mimic: tuple[str, float, float] | None = None,
    ) -> None:
        """Add a body and the joint that carries it.

        Args:
            name: of the body. parent: a body's name, or "world".
            joint: a kind of `phipsi.joints`; `Fixed()` welds the body to its parent.
            joint_name: by default "<name>_joint".
            position, rotation: of the joint frame in the parent's frame; 3x3, or None for I.
            mass, com, inertia: kg; m in the body's frame; kg m^2 about the mass centre,
                body axes, 3x3 or its diagonal.
            rotor_inertia, gear_ratio: of the joint's motor; adds `Jm = ratio^2 inertia`.
            mimic: (joint, ratio, offset), a one-dof joint that this one follows.

        Raises:
            ModelError: names the body, and says what to do.
        """
        self._check_name(name)
        with _naming(name):
            link = _Link(
                name,
                _check_carrier("parent", parent),
                self._check_joint_name(joint_name or f"{name}_joint"),
                _check_kind(joint),
                Placement.of(rotation, position),
                Inertia.of(mass, com, inertia),
                _check_limits(limits or UNLIMITED),
                number("damping", damping, "N s/m or N m s"),
                number("friction", friction, "N or N m"),
                number("rotor_inertia", rotor_inertia, "kg m^2"),
                number("gear_ratio", gear_ratio, "motor turns per joint turn"),
                None if mimic is None else _check_mimic(mimic),
            )
            _check_joint(link)
            if self.strict:
                _check_inertia(link)
        self._links[name] = link
        self._joint_names[link.joint_name] = name

    def add_frame(
        self,
        name: str,
        body: str,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
    ) -> None:
        """Name a frame fixed on a body, or on the world."""
        self._check_name(name)
        with _naming(name, "frame"):
            frame = _check_carrier("body", body), Placement.of(rotation, position)
        self._frames[name] = frame

    def add_rotor(
        self,
        name: str,
        joint: str,
        on: str,
        *,
        axis: ArrayLike,
        gear_ratio: float,
        position: ArrayLike = (0.0, 0.0, 0.0),
        mass: float = 0.0,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> None:
        """Add the motor of a joint as a body of its own.

        The rotor sits on body `on` (the one that holds the stator), spins
        about `axis` fixed there, and turns `gear_ratio` times as fast as the
        joint. It adds no coordinate: its angle follows the joint's, so mass
        matrix and bias carry its gyroscopic and off-diagonal coupling exactly.
        The reflected form, `rotor_inertia` of `add_body`, leaves these out.
        """
        with _naming(name):
            spin = Revolute(vector3("axis", axis))
            ratio = number("gear_ratio", gear_ratio, "rotor turns per joint turn")
            if ratio == 0.0:
                raise ModelError("gear_ratio is 0; give the rotor turns per joint turn")
        self.add_body(
            name,
            on,
            spin,
            position=position,
            mass=mass,
            com=com,
            inertia=inertia,
            mimic=(joint, ratio, 0.0),
        )

    def build(self) -> Model:
        """The machine: parents resolved, fixed joints welded, bodies numbered.

        Raises:
            ModelError: an unknown parent, a cycle, a subtree without mass, ...
        """
        links = self._in_order()
        home: dict[str, _Home] = {WORLD_NAME: (WORLD, HERE)}
        inertias = [MASSLESS]  # of the world, then of each moving body
        moving: list[_Link] = []
        places: list[_Home] = []  # of the moving bodies' joint frames
        welded: list[_Link] = []
        for link in links:
            carrier, place = home[link.parent]
            place = place.then(link.placement)
            if isinstance(link.kind, Fixed):
                home[link.name] = (carrier, place)
                inertias[carrier + 1] = inertias[carrier + 1].plus(link.inertia.moved(place))
                welded.append(link)
            else:
                home[link.name] = (len(moving), HERE)
                inertias.append(link.inertia)
                moving.append(link)
                places.append((carrier, place))
        bodies = tuple(
            Body(link.name, parent, inertia)
            for link, (parent, _), inertia in zip(moving, places, inertias[1:], strict=True)
        )
        joints = _joints(moving, places)
        if self.strict:
            _check_moving_mass(bodies, joints)
        return Model(
            self.name,
            bodies,
            joints,
            (*(Frame(link.name, *home[link.name]) for link in welded), *self._placed_frames(home)),
            self.gravity,
            inertias[0],
            () if self.strict else tuple(_violations(links)),
        )

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a body or frame needs a name, got {name!r}")
        if name == WORLD_NAME or name in self._links or name in self._frames:
            raise ModelError(f"the name {name!r} is taken in {self.name!r}; give another one")

    def _check_joint_name(self, name: str) -> str:
        if not isinstance(name, str):
            raise ModelError(f"joint_name is {name!r}; expected a text")
        if name in self._joint_names:
            raise ModelError(
                f"the joint name {name!r} is taken by body {self._joint_names[name]!r}; "
                "give another joint_name"
            )
        return name

    def _in_order(self) -> list[_Link]:
        """All links depth-first, or a ModelError for an unknown parent or a cycle."""
        links = list(self._links.values())
        number_of = {link.name: k for k, link in enumerate(links)}
        parents = []
        for link in links:
            if link.parent not in number_of and link.parent != WORLD_NAME:
                raise ModelError(
                    f"body {link.name!r}: unknown parent {link.parent!r}; "
                    f"{name_choices(str(link.parent), [WORLD_NAME, *number_of])}"
                )
            parents.append(number_of.get(link.parent, WORLD))
        order = depth_first(parents)
        if len(order) < len(links):
            raise ModelError(_describe_cycle(links, set(order), parents))
        return [links[k] for k in order]

    def _placed_frames(self, home: dict[str, _Home]) -> Iterator[Frame]:
        """The named frames, each on the moving body that carries it."""
        for name, (body, placement) in self._frames.items():
            if body not in home:
                raise ModelError(
                    f"frame {name!r}: unknown body {body!r}; {name_choices(str(body), home)}"
                )
            carrier, place = home[body]
            yield Frame(name, carrier, place.then(placement))


# -- checks of one link; the message gets the body's name from `_naming` ---------------


def _check_carrier(what: str, name: str) -> str:
    if not isinstance(name, str):
        raise ModelError(f"{what} is {name!r}; expected a body's name, or 'world'")
    return name


def _check_kind(kind: JointKind) -> JointKind:
    if not isinstance(kind, JointKind):
        raise ModelError(
            f"joint is {kind!r}; expected a kind of phipsi.joints, as joints.Revolute((0, 0, 1))"
        )
    problem = kind.problem()
    if problem:
        raise ModelError(problem)
    return kind


def _check_limits(limits: Limits) -> Limits:
    if limits is UNLIMITED:
        return limits
    if not isinstance(limits, Limits) or not all(
        isinstance(x, Real) and not math.isnan(x) for x in astuple(limits)
    ):
        raise ModelError(
            f"limits is {limits!r}; expected numbers, as Limits(lower=-1.0, upper=1.0)"
        )
    if limits.lower > limits.upper:
        raise ModelError(
            f"the limits of the joint are [{limits.lower}, {limits.upper}]; "
            "lower must not exceed upper"
        )
    return limits


def _check_mimic(mimic: tuple[str, float, float]) -> tuple[str, float, float]:
    try:
        source, ratio, offset = mimic
        if not isinstance(source, str):
            raise TypeError
    except (TypeError, ValueError):
        raise ModelError(f"mimic is {mimic!r}; expected (joint name, ratio, offset)") from None
    return (
        source,
        number("mimic ratio", ratio, "rad or m per rad or m of the joint it follows"),
        number("mimic offset", offset, "rad or m"),
    )


def _check_joint(link: _Link) -> None:
    """What only joints of some kinds can have."""
    if link.rotor_inertia < 0.0:
        raise ModelError(f"rotor_inertia is {link.rotor_inertia:g}; it must not be negative")
    if link.gear_ratio == 0.0:
        raise ModelError("gear_ratio is 0; give the motor turns per joint turn")
    if link.rotor_inertia and isinstance(link.kind, Fixed):
        raise ModelError(
            f"joint {link.joint_name!r} is Fixed and has a rotor_inertia; "
            "a motor needs a joint that moves"
        )
    if link.mimic is not None and (link.kind.nq, link.kind.nv) != (1, 1):
        raise ModelError(
            f"joint {link.joint_name!r} is {type(link.kind).__name__}; "
            "only a joint with one coordinate can follow another"
        )


def _check_inertia(link: _Link) -> None:
    for violation in link.inertia.violations():
        raise ModelError(
            f"{violation}; give the inertia about the mass centre in body axes, "
            "or keep it with ModelBuilder(strict=False)"
        )


@contextmanager
def _naming(name: str, what: str = "body") -> Iterator[None]:
    """Puts the body's name in front of a ModelError raised inside."""
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{what} {name!r}: {error}") from None


# -- the whole machine -----------------------------------------------------------------


def _describe_cycle(links: Sequence[_Link], reached: set[int], parents: Sequence[int]) -> str:
    """The message about the first body that does not hang on the world."""
    seen: dict[int, None] = {}
    k = next(k for k in range(len(links)) if k not in reached)
    while k not in seen:
        seen[k] = None
        k = parents[k]
    inboard = list(seen)
    cycle = [links[i].name for i in inboard[inboard.index(k) :]]
    return (
        f"body {cycle[0]!r}: the bodies {' <- '.join([*cycle, cycle[0]])} carry each other "
        "in a circle; a tree needs one of them on the world, loops are closed by constraints"
    )


def _check_moving_mass(bodies: Sequence[Body], joints: Sequence[Joint]) -> None:
    """A joint that moves nothing, by itself or by those that follow it, has no equation."""
    moves = [not body.inertia.vanishes for body in bodies]
    for k in range(len(bodies) - 1, -1, -1):
        if moves[k] and bodies[k].parent != WORLD:
            moves[bodies[k].parent] = True
    drives = [moves[k] or joint.rotor_inertia > 0.0 for k, joint in enumerate(joints)]
    for k, joint in enumerate(joints):
        if drives[k] and joint.mimic is not None and joint.mimic.ratio != 0.0:
            drives[joint.mimic.source] = True
    for k, joint in enumerate(joints):
        if not drives[k] and joint.mimic is None:
            raise ModelError(
                f"body {bodies[k].name!r}: nothing outboard of joint {joint.name!r} has mass; "
                "give it a mass or weld it with Fixed()"
            )


def _violations(links: Sequence[_Link]) -> Iterator[str]:
    """What the links have that no rigid body can have."""
    for link in links:
        for violation in link.inertia.violations():
            yield f"body {link.name!r}: {violation}"


def _joints(links: Sequence[_Link], places: Sequence[_Home]) -> tuple[Joint, ...]:
    """Joints with their slices: leaders own coordinates, mimics share them."""
    joints: list[Joint] = []
    nq = nv = row = 0
    for link, (_, place) in zip(links, places, strict=True):
        kind = link.kind
        own_q, own_v = (kind.nq, kind.nv) if link.mimic is None else (0, 0)
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
            )
        )
        nq, nv, row = nq + own_q, nv + own_v, row + kind.nv
    index = {joint.name: k for k, joint in enumerate(joints)}
    for k, link in enumerate(links):
        if link.mimic is not None:
            mimic = _leader(link, links, index)
            lead = joints[mimic.source]
            joints[k] = replace(joints[k], mimic=mimic, q=lead.q, v=lead.v)
    return tuple(joints)


def _leader(link: _Link, links: Sequence[_Link], index: dict[str, int]) -> Mimic:
    """The joint a mimic follows in the end: mimics of mimics are chained."""
    ratio, offset, follower, seen = 1.0, 0.0, link, [link.joint_name]
    while follower.mimic is not None:
        source, step, shift = follower.mimic
        if source not in index:
            raise ModelError(
                f"body {link.name!r}: joint {follower.joint_name!r} mimics the unknown joint "
                f"{source!r}; {name_choices(source, index)}"
            )
        if source in seen:
            raise ModelError(
                f"body {link.name!r}: the joints {' <- '.join([*seen, source])} mimic each "
                "other in a circle; one of them must lead"
            )
        ratio, offset = ratio * step, offset + ratio * shift
        follower = links[index[source]]
        seen.append(source)
    if (follower.kind.nq, follower.kind.nv) != (1, 1):
        raise ModelError(
            f"body {link.name!r}: joint {link.joint_name!r} mimics {follower.joint_name!r}, "
            "which has more than one coordinate; only a joint with one can lead"
        )
    return Mimic(index[follower.joint_name], ratio, offset)
