"""ModelBuilder: bodies one by one, checked, numbered, welded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

from numpy.typing import ArrayLike

from phipsi.errors import ModelError, name_choices
from phipsi.model.geometry import Shape, Visual
from phipsi.model.inertia import HERE, MASSLESS, Inertia, Placement, Vector3, number, vector3
from phipsi.model.joints import Fixed, JointKind, Revolute
from phipsi.model.link import (
    Link,
    can_mimic,
    check_carrier,
    check_kind,
    check_limits,
    check_mimic,
    check_motor,
    check_visuals,
)
from phipsi.model.model import EARTH, UNLIMITED, Body, Frame, Joint, Limits, Mimic, Model
from phipsi.model.tree import WORLD, WORLD_NAME, depth_first

REVOLUTE_Z = Revolute()

Part = Literal["body", "inertia", "joint", "kind", "limits", "mimic"]  # of what is told of a body
Where = Callable[[str, Part], str]

_Home = tuple[int, Placement]  # the moving body (or the world) that carries a frame, and where


def nowhere(body: str, part: Part) -> str:
    """The place of what was given in Python."""
    return ""


class ModelBuilder:
    """Builds a machine body by body.

    The builder refuses what no machine can have, with a `ModelError` that
    names the body; with `strict=False` unphysical inertias and joints that
    move no mass are kept and listed in `model.report` instead. Parents may be
    added after their children; coordinates follow the joints depth-first in
    the order added. What is refused is not added: mend it and go on.

    Args:
        name: of the machine.
        gravity: acceleration of free fall in world axes, m/s^2.
        strict: refuse unphysical inertias and joints that move no mass.
        where: for a reader of files, `where(body, part)`: where the file tells this
            of the body, as text to put in front of every message.

    >>> import phipsi as pp
    >>> builder = pp.ModelBuilder("pendulum")
    >>> builder.add_body("bob", joint=pp.joints.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -1.0))
    >>> builder.build()
    <Model 'pendulum': 1 body, nq = 1, nv = 1, 1 kg>
    """

    def __init__(
        self,
        name: str = "machine",
        gravity: ArrayLike = EARTH,
        strict: bool = True,
        *,
        where: Where = nowhere,
    ):
        self.name = name
        self.strict = strict
        self.gravity: Vector3 = vector3(f"{name!r}: gravity", gravity)
        self._links: dict[str, Link] = {}
        self._frames: dict[str, tuple[str, Placement]] = {}
        self._joint_names: dict[str, str] = {}  # and the body that each carries
        self._visuals: list[tuple[str, Visual]] = []  # and the body that each is on
        self._report: list[str] = []
        self._where = where

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
        visuals: Iterable[Visual | Shape] = (),
    ) -> None:
        """Add a body and the joint that carries it.

        Args:
            name: of the body.
            parent: a body's name, or "world".
            joint: a kind of `phipsi.joints`, a turn about z by default; `Fixed()` welds
                the body to its parent.
            joint_name: by default "<name>_joint".
            position: of the joint frame's origin in the parent's frame, m.
            rotation: of the joint frame, 3x3: its axes, as columns, in the parent's;
                None for the parent's own.
            mass: kg.
            com: the mass centre in the body's frame, m.
            inertia: about the mass centre in body axes, kg m^2; 3x3 or its diagonal.
            limits: `pp.Limits(lower, upper, velocity, effort)`. `Model.random` stays
                within the first two; nothing else enforces them.
            damping: N m s or N s/m; kept for you to read, it enters no letter.
            friction: N m or N; kept likewise.
            rotor_inertia: of the joint's motor about its own axis, kg m^2.
            gear_ratio: motor turns per joint turn; adds `Jm = gear_ratio^2 rotor_inertia`.
            mimic: (joint, ratio, offset), a joint of one coordinate that this one
                follows, `q = ratio q_leader + offset`.
            visuals: what it looks like: shapes of `pp.geometry`, at the body's frame, or
                placed and coloured by `geometry.Visual.of`.

        Raises:
            ModelError: names the body, and says what to do.
        """
        self._check_name(name)
        with self._naming(name, "inertia"):
            body_inertia = Inertia.of(mass, com, inertia)
        with self._naming(name, "kind"):
            check_kind(joint)
        with self._naming(name, "limits"):
            limits = check_limits(UNLIMITED if limits is None else limits)
        own_name = f"{name}_joint" if joint_name is None else joint_name
        if mimic is not None:
            with self._naming(name, "mimic"):
                mimic = check_mimic(own_name, joint, mimic)
        with self._naming(name, "body"):
            looks = check_visuals(visuals)
        with self._naming(name, "joint"):
            link = Link(
                name,
                check_carrier("parent", parent),
                self._check_joint_name(own_name),
                joint,
                Placement.of(rotation, position),
                body_inertia,
                limits,
                number("damping", damping, "N s/m or N m s"),
                number("friction", friction, "N or N m"),
                number("rotor_inertia", rotor_inertia, "kg m^2"),
                number("gear_ratio", gear_ratio, "motor turns per joint turn"),
                mimic,
            )
            check_motor(link)
        remedy = "give the inertia about the mass centre in body axes"
        self._report += [
            self._keep(name, "inertia", violation, remedy)
            for violation in body_inertia.violations()
        ]
        self._links[name] = link
        self._joint_names[link.joint_name] = name
        self._visuals += [(name, visual) for visual in looks]

    def add_frame(
        self,
        name: str,
        body: str,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
    ) -> None:
        """Name a frame fixed on a body, or on the world.

        Args:
            name: of the frame; bodies and frames share their names.
            body: the name of the body or welded link that carries it, or "world".
            position: of its origin in the body's frame, m.
            rotation: 3x3: its axes, as columns, in those of the body; None for the same.
        """
        self._check_name(name)
        with self._naming(name, "joint", what="frame"):
            frame = check_carrier("body", body), Placement.of(rotation, position)
        self._frames[name] = frame

    def add_visuals(self, body: str, visuals: Iterable[Visual | Shape]) -> None:
        """Show shapes on a body, or on the world.

        Args:
            body: the name of the body or welded link that carries them, or "world".
            visuals: as those of `add_body`.
        """
        carrier = check_carrier("body", body)
        with self._naming(carrier, "body"):
            self._visuals += [(carrier, visual) for visual in check_visuals(visuals)]

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

        Args:
            name: of the rotor, a body like others.
            joint: the name of the joint that it drives, of one coordinate.
            on: the name of the body that holds the stator.
            axis: of its spin, in the axes of that body.
            gear_ratio: rotor turns per joint turn; negative if they turn oppositely.
            position: of the rotor's frame in that of the body, m.
            mass: kg; the body that carries it must not count it too.
            com: the mass centre in the rotor's frame, m.
            inertia: about the mass centre, kg m^2; 3x3 or its diagonal.
        """
        with self._naming(name, "kind"):
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
        moving: list[Link] = []
        places: list[_Home] = []  # of the moving bodies' joint frames
        welded: list[Link] = []
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
        joints = _joints(moving, places, self._find_leaders(moving))
        report = list(self._report)
        for k in _find_idle(bodies, joints):
            fault = f"nothing that joint {joints[k].name!r} moves has mass"
            fault += ", so forward dynamics is singular"
            remedy = "give it a mass or make the joint fixed"
            report.append(self._keep(bodies[k].name, "joint", fault, remedy))
        return Model(
            self.name,
            bodies,
            joints,
            (*(Frame(link.name, *home[link.name]) for link in welded), *self._placed_frames(home)),
            self.gravity,
            inertias[0],
            tuple(report),
            tuple(self._placed_visuals(home)),
        )

    # -- what every message goes through

    def _refusal(self, name: str, part: Part, text: str, what: str = "body") -> ModelError:
        """The error about a body: where it stands, its name, the text."""
        return ModelError(f"{self._where(name, part)}{what} {name!r}: {text}")

    @contextmanager
    def _naming(self, name: str, part: Part, what: str = "body") -> Iterator[None]:
        """Completes a ModelError raised inside."""
        try:
            yield
        except ModelError as error:
            raise self._refusal(name, part, str(error), what) from None

    def _keep(self, name: str, part: Part, fault: str, remedy: str) -> str:
        """The line of the report about a fault; refused when strict."""
        if self.strict:
            raise self._refusal(name, part, f"{fault}; {remedy}, or keep it with strict=False")
        return str(self._refusal(name, part, fault))

    # -- what a link alone cannot know

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a body or frame needs a name, got {name!r}")
        if name == WORLD_NAME or name in self._links or name in self._frames:
            raise ModelError(f"the name {name!r} is taken in {self.name!r}; give another one")

    def _check_joint_name(self, name: str) -> str:
        if not isinstance(name, str) or not name:
            raise ModelError(f"joint_name is {name!r}; expected a text")
        if name in self._joint_names:
            raise ModelError(
                f"the joint name {name!r} is taken by body {self._joint_names[name]!r}; "
                "give another joint_name"
            )
        return name

    def _in_order(self) -> list[Link]:
        """All links depth-first, or a ModelError for an unknown parent or a cycle."""
        links = list(self._links.values())
        number_of = {link.name: k for k, link in enumerate(links)}
        parents = []
        for link in links:
            if link.parent not in number_of and link.parent != WORLD_NAME:
                choices = name_choices(link.parent, [WORLD_NAME, *number_of])
                text = f"unknown parent {link.parent!r}; {choices}"
                raise self._refusal(link.name, "joint", text)
            parents.append(number_of.get(link.parent, WORLD))
        order = depth_first(parents)
        if len(order) < len(links):
            reached = set(order)
            name = next(link.name for k, link in enumerate(links) if k not in reached)
            path: dict[str, None] = {}
            while name not in path:
                path[name] = None
                name = self._links[name].parent
            text = f"the bodies {_arrows(path, name)} carry each other in a circle; a tree needs "
            text += "one of them on the world, loops are closed by constraints"
            raise self._refusal(name, "joint", text)
        return [links[k] for k in order]

    def _find_leaders(self, moving: Sequence[Link]) -> dict[str, Mimic]:
        """What each mimic joint follows in the end: mimics of mimics are chained."""
        number_of = {link.joint_name: k for k, link in enumerate(moving)}
        found: dict[str, Mimic] = {}
        for link in moving:
            chain: dict[str, tuple[str, float, float]] = {}
            while link.mimic is not None and link.joint_name not in found:
                chain[link.joint_name] = link.mimic
                link = self._find_source(link, link.mimic[0])
                if link.joint_name in chain:
                    circle = _arrows(chain, link.joint_name)
                    text = (
                        f"the joints {circle} mimic each other in a circle; one of them must lead"
                    )
                    raise self._refusal(link.name, "mimic", text)
            for name, (source, ratio, offset) in reversed(chain.items()):
                lead = found.get(source) or Mimic(number_of[source], 1.0)
                found[name] = Mimic(lead.source, ratio * lead.ratio, ratio * lead.offset + offset)
        return found

    def _find_source(self, link: Link, source: str) -> Link:
        """The link whose joint this one's joint mimics."""
        text = f"joint {link.joint_name!r} mimics "
        if source not in self._joint_names:
            choices = [one.joint_name for one in self._links.values() if can_mimic(one.kind)]
            text += f"the unknown joint {source!r}; {name_choices(source, choices)}"
            raise self._refusal(link.name, "mimic", text)
        found = self._links[self._joint_names[source]]
        if not can_mimic(found.kind):
            text += f"{source!r}, which is {type(found.kind).__name__}; "
            text += "only a joint with one coordinate can lead"
            raise self._refusal(link.name, "mimic", text)
        return found

    def _placed_frames(self, home: dict[str, _Home]) -> Iterator[Frame]:
        """The named frames, each on the moving body that carries it."""
        for name, (body, placement) in self._frames.items():
            if body not in home:
                text = f"unknown body {body!r}; {name_choices(body, home)}"
                raise self._refusal(name, "joint", text, "frame")
            carrier, place = home[body]
            yield Frame(name, carrier, place.then(placement))

    def _placed_visuals(self, home: dict[str, _Home]) -> Iterator[Visual]:
        """What there is to see, each on the moving body that carries it."""
        for body, visual in self._visuals:
            if body not in home:
                choices = name_choices(body, home)
                raise ModelError(f"add_visuals: unknown body {body!r}; {choices}")
            carrier, place = home[body]
            placement = place.then(visual.placement)
            yield Visual(visual.shape, placement, visual.color, visual.name or body, carrier)


# -- the whole machine -----------------------------------------------------------------


def _arrows(path: Iterable[str], name: str, limit: int = 6) -> str:
    """'a' <- 'b' <- 'a': the circle of a path that comes back to a name; a long one abridged."""
    names = list(path)
    circle = [repr(each) for each in (*names[names.index(name) :], name)]
    return " <- ".join(circle if len(circle) <= limit else [*circle[:3], "...", circle[-1]])


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


def _joints(
    links: Sequence[Link], places: Sequence[_Home], leaders: Mapping[str, Mimic]
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
            )
        )
        nq, nv, row = nq + own_q, nv + own_v, row + kind.nv
    for k, joint in enumerate(joints):
        if joint.mimic is not None:
            lead = joints[joint.mimic.source]
            joints[k] = replace(joint, q=lead.q, v=lead.v)
    return tuple(joints)
