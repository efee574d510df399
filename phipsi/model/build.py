"""ModelBuilder: bodies one by one, checked, numbered, welded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from numpy.typing import ArrayLike

from phipsi.cleaning import refuse_unwritable
from phipsi.errors import ModelError
from phipsi.model.assemble import assemble
from phipsi.model.geometry import Shape, Visual
from phipsi.model.inertia import Inertia, Placement, Vector3, number, vector3
from phipsi.model.join import join
from phipsi.model.joints import Fixed, JointKind, Revolute
from phipsi.model.link import (
    Link,
    check_carrier,
    check_coupling,
    check_kind,
    check_limits,
    check_mimic,
    check_motor,
    check_rest,
    check_spring,
    check_values,
    check_visuals,
    odd_limits,
    odd_losses,
)
from phipsi.model.model import EARTH, UNLIMITED, Limits, Model
from phipsi.model.parts import End, Loop, Part, Parts, Values, Where, nowhere
from phipsi.model.report import Remark
from phipsi.model.tree import WORLD_NAME

REVOLUTE_Z, WELD = Revolute(), Fixed()


class ModelBuilder:
    """Builds a machine body by body.

    The builder refuses what no machine can have, with a `ModelError` that
    names the body; with `strict=False` unphysical inertias, negative losses and
    joints that move no mass are kept and listed in `model.report` instead. Parents may be
    added after their children; coordinates follow the joints depth-first in
    the order added. What is refused is not added: mend it and go on.

    Args:
        name: of the machine.
        gravity: acceleration of free fall in world axes, m/s^2.
        strict: refuse unphysical inertias, negative losses and joints that move no mass.
        where: for a reader of files, `where(body, part)`: the file and the line that
            tell this of the body, to put in front of every message.

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
        if not isinstance(name, str):
            raise ModelError(f"a machine needs a name, got {name!r}")
        refuse_unwritable("machine", name, ModelError)
        self._parts = Parts(name, vector3(f"{name!r}: gravity", gravity), strict, where)

    @property
    def name(self) -> str:
        """Of the machine."""
        return self._parts.name

    @property
    def gravity(self) -> Vector3:
        """Acceleration of free fall in world axes, m/s^2."""
        return self._parts.gravity

    @property
    def strict(self) -> bool:
        """Whether unphysical inertias, negative losses and joints that move no mass are refused."""
        return self._parts.strict

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
        stiffness: float = 0.0,
        rest: ArrayLike | None = None,
    ) -> None:
        """Add a body and the joint that carries it.

        Args:
            name: of the body.
            parent: the name of a body, welded link or frame, or "world".
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
            stiffness: of a spring in the joint, N m/rad or N/m; kept likewise.
            rest: the coordinates in which the spring is at rest; the neutral ones by default.

        Raises:
            ModelError: names the body, and says what to do.
        """
        self._check_name(name, "body")
        parts = self._parts
        part: Part = "inertia"  # what a refusal is about
        try:
            body_inertia = Inertia.of(mass, com, inertia)
            part = "kind"
            check_kind(joint)
            part = "limits"
            limits = check_limits(UNLIMITED if limits is None else limits)
            own_name = f"{name}_joint" if joint_name is None else joint_name
            if mimic is not None:
                part = "mimic"
                mimic = check_mimic(own_name, joint, mimic)
            part = "body"
            looks = check_visuals(visuals)
            part = "joint"
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
                number("stiffness", stiffness, "N/m or N m/rad"),
                check_rest(rest),
            )
            check_motor(link)
            check_spring(link)
        except ModelError as error:
            raise parts.refusal(name, part, str(error)) from None
        parts.remarks += self._faults(link)
        parts.links[name] = link
        parts.joints[own_name] = name
        parts.visuals += [(name, visual) for visual in looks]

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
            body: the name of the body, welded link or frame that carries it, or "world".
            position: of its origin in that one's frame, m.
            rotation: 3x3: its axes, as columns, in those of the body; None for the same.
        """
        self._check_name(name, "frame")
        with self._naming(name, "joint", "frame"):
            frame = check_carrier("body", body), Placement.of(rotation, position)
        self._parts.frames[name] = frame

    def add_visuals(self, body: str, visuals: Iterable[Visual | Shape]) -> None:
        """Show shapes on a body, or on the world.

        Args:
            body: the name of the body, welded link or frame that carries them, or "world".
            visuals: as those of `add_body`.
        """
        self._parts.visuals += self._shapes(body, visuals)

    def add_collisions(self, body: str, shapes: Iterable[Visual | Shape]) -> None:
        """Keep shapes that are meant for contact on a body, or on the world.

        Args:
            body: the name of the body, welded link or frame that carries them, or "world".
            shapes: as the visuals of `add_body`. Nothing touches anything: they are
                kept to be looked at.
        """
        self._parts.collisions += self._shapes(body, shapes)

    def add_closure(
        self,
        name: str,
        first: str,
        second: str,
        joint: JointKind = WELD,
        *,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        second_position: ArrayLike = (0.0, 0.0, 0.0),
        second_rotation: ArrayLike | None = None,
    ) -> None:
        """Close a loop: a joint between two bodies that the tree already carries.

        Args:
            name: of the joint.
            first: the body, welded link or frame that holds the joint, or "world".
            second: the one that the joint would carry.
            joint: what it allows: `joints.Fixed()` welds, `joints.Spherical()` holds a point.
            position: of the joint frame in the frame of `first`, m.
            rotation: 3x3: its axes, as columns, in those of `first`.
            second_position: of the frame that it would carry, in that of `second`, m.
            second_rotation: 3x3: its axes, as columns, in those of `second`.

        >>> import phipsi as pp
        >>> builder = pp.ModelBuilder("ring")
        >>> builder.add_body("left", mass=1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
        >>> builder.add_body("right", "left", position=(1, 0, 0), mass=1.0, inertia=(1, 1, 1))
        >>> builder.add_closure("pin", "world", "right", pp.joints.Revolute(), position=(1, 0, 0))
        >>> builder.build()
        <Model 'ring': 2 bodies, nq = 2, nv = 2, 1 closure, 2 kg>
        """
        with self._naming(name, "closure", "closure"):
            _check_own(name, "closure", self._parts.closures)
            check_kind(joint)
            check_carrier("first", first)
            check_carrier("second", second)
            self._parts.closures[name] = Loop(
                joint,
                End(first, first, Placement.of(rotation, position)),
                End(second, second, Placement.of(second_rotation, second_position)),
            )

    def add_coupling(
        self,
        name: str,
        joint: str,
        leader: str | None,
        coefficients: Sequence[float],
        centre: float = 0.0,
    ) -> None:
        """Let a joint depend on another by a polynomial.

        `q_joint = sum_k coefficients[k] (q_leader - centre)^k`. A straight line is
        `mimic=` of `add_body` instead, which takes the coordinate away.

        Args:
            name: of the equation.
            joint: the name of the joint that follows, of one coordinate.
            leader: that of the joint it follows; None to hold it where it is.
            coefficients: the constant first.
            centre: rad or m.
        """
        with self._naming(name, "closure", "coupling"):
            _check_own(name, "coupling", self._parts.couplings)
            self._parts.couplings[name] = check_coupling(joint, leader, coefficients, centre)

    def add_keyframe(self, name: str, q: Values, v: Values | None = None) -> None:
        """Name a state of the machine.

        Args:
            name: of the state.
            q: of each joint, by name, its coordinates; neutral where it is left out.
            v: likewise its speeds; zero where left out.
        """
        with self._naming(name, "closure", "keyframe"):
            _check_own(name, "keyframe", self._parts.keyframes)
            values = check_values("q", q), check_values("v", {} if v is None else v)
            self._parts.keyframes[name] = values

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

    def add_model(
        self,
        model: Model,
        prefix: str = "",
        parent: str = WORLD_NAME,
        position: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
    ) -> None:
        """Add a whole machine: several robots in one world, or one on another.

        All of it comes along: bodies, joints with their motors, limits and springs, frames,
        shapes, closures, couplings, keyframes, the lines of its report. What stands on the
        model's world stands on `parent`, and what is welded to that world is welded to
        `parent`, with its mass. A keyframe of the model leaves the other joints neutral.
        Gravity is the builder's.

        Args:
            model: the machine; it stays as it is.
            prefix: put in front of each of its names.
            parent: a body, welded link or frame that carries it, or "world".
            position: of the model's world frame in the frame of `parent`, m.
            rotation: 3x3: its axes, as columns, in those of `parent`; None for the same.

        Raises:
            ModelError: a name is taken, or the builder is strict and the model's report has
                implausible lines.

        >>> import phipsi as pp
        >>> builder = pp.ModelBuilder("pair")
        >>> builder.add_model(pp.chain(3), prefix="left ", position=(0, 0.5, 0))
        >>> builder.add_model(pp.chain(3), prefix="right ", position=(0, -0.5, 0))
        >>> pair = builder.build()
        >>> pair, pair.bodies[3].name
        (<Model 'pair': 6 bodies, nq = 6, nv = 6, 6 kg>, 'right link1')
        """
        join(self._parts, model, prefix, parent, position, rotation)

    def build(self) -> Model:
        """The machine: parents resolved, fixed joints welded, bodies numbered.

        Raises:
            ModelError: an unknown parent, a cycle, a subtree without mass, ...
        """
        return assemble(self._parts)

    # -- what every message goes through

    @contextmanager
    def _naming(self, name: str, part: Part, what: str = "body") -> Iterator[None]:
        """Completes a ModelError raised inside."""
        try:
            yield
        except ModelError as error:
            raise self._parts.refusal(name, part, str(error), what) from None

    # -- what a part alone cannot know

    def _check_name(self, name: str, what: str) -> None:
        parts = self._parts
        if not isinstance(name, str) or not name:
            raise ModelError(f"a body or frame needs a name, got {name!r}")
        refuse_unwritable(what, name, ModelError)
        if name == WORLD_NAME or name in parts.links or name in parts.frames:
            text = f"the name {name!r} is taken in {self.name!r}; give another one"
            raise parts.refusal(name, "body", text, what)

    def _check_joint_name(self, name: str) -> str:
        taken = self._parts.joints
        if not isinstance(name, str) or not name:
            raise ModelError(f"joint_name is {name!r}; expected a text")
        refuse_unwritable("joint_name", name, ModelError)
        if name in taken:
            raise ModelError(
                f"the joint name {name!r} is taken by body {taken[name]!r}; give another joint_name"
            )
        return name

    def _faults(self, link: Link) -> list[Remark]:
        """What no machine can have of a link; refused when strict."""
        found: list[tuple[Part, list[str], str]] = [
            (
                "inertia",
                link.inertia.violations(),
                "give the inertia about the mass centre in body axes",
            ),
            ("limits", odd_limits(link.limits), "give the size of the largest it can do"),
            ("dynamics", odd_losses(link), "losses take energy out, so give a positive number"),
        ]
        keep = self._parts.keep
        return [
            keep(link.name, part, fault, remedy)
            for part, faults, remedy in found
            for fault in faults
        ]

    def _shapes(self, body: str, shapes: Iterable[Visual | Shape]) -> list[tuple[str, Visual]]:
        """Shapes, and what they are on."""
        carrier = check_carrier("body", body)
        try:
            return [(carrier, shape) for shape in check_visuals(shapes)]
        except ModelError as error:
            raise self._parts.refusal(carrier, "body", str(error)) from None


def _check_own(name: str, what: str, taken: Mapping[str, object]) -> None:
    """A name that nothing else of its sort has."""
    if not isinstance(name, str) or not name or name in taken:
        raise ModelError(f"a {what} needs a name of its own; give another one")
    refuse_unwritable(what, name, ModelError)
