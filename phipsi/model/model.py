"""Body, Joint, Frame, Model: what the machine is, frozen.

Body k hangs on its parent by joint k. Numbering is depth-first, parents
first; the world is not a body. Fixed joints do not survive the builder: what
they weld is one body, and the welded names live on as frames.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from phipsi.cleaning import is_unwritable, refuse_unwritable
from phipsi.errors import InputError, ModelError, name_choices
from phipsi.model.closure import Closure, Coupling
from phipsi.model.draw import Draws, Seed, Size, checked_size, generator_of
from phipsi.model.geometry import Visual
from phipsi.model.inertia import HERE, MASSLESS, Inertia, Placement, Vector3, vector3
from phipsi.model.joints import JointKind
from phipsi.model.report import NOTHING, Report
from phipsi.model.tree import WORLD, WORLD_NAME, Tree

if TYPE_CHECKING:
    from phipsi.model.peers.layout import Layout, Result

More = ArrayLike | None  # what may be given, too

EARTH = (0.0, 0.0, -9.81)  # gravity, z up
BODY_SIZE = 6  # of a rigid body; a flexible one adds its modes


@dataclass(frozen=True, slots=True)
class Limits:
    """What a joint can reach, as the file states it; infinite where it says nothing.

    Args:
        lower: least coordinate, rad or m.
        upper: greatest coordinate, rad or m.
        velocity: greatest speed, rad/s or m/s.
        effort: greatest force of its motor, N m or N.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf


UNLIMITED = Limits()


@dataclass(frozen=True, slots=True)
class Mimic:
    """A joint that follows another: `q = ratio q_source + offset`."""

    source: int  # index of the joint that leads
    ratio: float
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Joint:
    """The inboard joint of one body.

    `q` and `v` are its slices of the model's coordinates and speeds; a mimic
    joint shows those of the joint it follows. `rows` is its slice of joint
    space, in which mimic joints count too.

    Args:
        name: of the joint.
        kind: what it allows, one of `phipsi.joints`.
        placement: of the joint frame in the parent body's frame.
        q: its slice of the configuration.
        v: its slice of the speeds.
        rows: its slice of joint space.
        limits: what it can reach.
        damping: N m s or N s/m, as the file states it.
        friction: N m or N, as the file states it.
        rotor_inertia: of the motor about its own axis, kg m^2.
        gear_ratio: motor turns per joint turn.
        mimic: the joint that it follows, ratio and offset; None if none.
        stiffness: of a spring in the joint, N m/rad or N/m, as the file states it.
        rest: the coordinates in which that spring is at rest; () for the neutral ones.
    """

    name: str
    kind: JointKind
    placement: Placement  # of the joint frame in the parent body's frame
    q: slice
    v: slice
    rows: slice
    limits: Limits = UNLIMITED
    damping: float = 0.0
    friction: float = 0.0
    rotor_inertia: float = 0.0  # of the motor, about its own axis
    gear_ratio: float = 1.0  # motor turns per joint turn
    mimic: Mimic | None = None
    stiffness: float = 0.0
    rest: tuple[float, ...] = ()

    @property
    def reflected_inertia(self) -> float:
        """Jm: the rotor's inertia as the joint feels it, `gear_ratio^2 rotor_inertia`."""
        return self.gear_ratio**2 * self.rotor_inertia


@dataclass(frozen=True, slots=True)
class Body:
    """A rigid body; its frame sits at its inboard joint.

    Args:
        name: of the body.
        parent: the number of the body that carries it, -1 for the world.
        inertia: mass, mass centre in the body's frame, rotational inertia about it.
        size: of its blocks in body space.
    """

    name: str
    parent: int  # WORLD for a root
    inertia: Inertia
    size: int = BODY_SIZE  # of its blocks in body space


@dataclass(frozen=True, slots=True)
class Frame:
    """A named frame fixed on a body, or on the world.

    Args:
        name: of the frame.
        body: the number of the body that carries it, -1 for the world.
        placement: `rotation` and `position` of the frame in the body's.
    """

    name: str
    body: int
    placement: Placement


class _Point(NamedTuple):
    frame: str
    position: Vector3


class Point(_Point):
    """A point fixed on a body or frame, by name; see `point`.

    A tuple, which is quickly made and taken apart. It equals no plain tuple.

    Args:
        frame: the name of the body or frame.
        position: in its axes, m.
    """

    __slots__ = ()
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        return type(other) is Point and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


def point(body_or_frame: str, position: ArrayLike = (0.0, 0.0, 0.0)) -> Point:
    """A point on a body or frame, `position` in that frame's axes.

    A point has no axes of its own: in link axes its blocks of `B` and `J` are
    in the axes of the body, also if the frame is turned on it.

    Args:
        body_or_frame: its name.
        position: of the point from the origin of that body or frame, m.

    >>> point("tool", (0, 0, 0.1))
    Point(frame='tool', position=(0.0, 0.0, 0.1))
    """
    if not isinstance(body_or_frame, str):
        raise InputError(f"point: expected the name of a body or frame, got {body_or_frame!r}")
    try:
        return Point(body_or_frame, vector3("position", position))
    except ModelError as error:
        if isinstance(position, np.ndarray) and position.shape != (3,):
            raise InputError(
                f"point on {body_or_frame!r}: position has shape {position.shape}; expected (3,), "
                "one position for all states"
            ) from None
        raise InputError(f"point on {body_or_frame!r}: {error}") from None


@dataclass(frozen=True, slots=True)
class Keyframe:
    """A state that a file names.

    Args:
        q: the configuration.
        v: the speeds.
    """

    q: tuple[float, ...]
    v: tuple[float, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A machine: bodies, their joints, frames, gravity. Made by a builder or by `load`.

    Args:
        name: of the machine.
        bodies: parents first, depth-first; the world is not among them.
        joints: joint k carries body k.
        frames: fixed on bodies; also the links that fixed joints have welded.
        gravity: acceleration of free fall in world axes, m/s^2.
        base_inertia: of what is welded to the world.
        report: what became of each element of the file, and what is odd about the
            machine; `report.remarks` is what to read.
        visuals: what the bodies, and the world, look like.
        collisions: the shapes that the file has for contact; kept to be looked at.
        closures: the joints that close loops, beside the tree.
        couplings: joints that depend on others, otherwise than mimic joints do.
        keyframes: states that the file names.
        layouts: which numbers of another package are which of ours, by its name.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    frames: tuple[Frame, ...] = ()
    gravity: Vector3 = EARTH
    base_inertia: Inertia = MASSLESS
    report: Report = NOTHING
    visuals: Sequence[Visual] = ()
    collisions: Sequence[Visual] = ()
    closures: tuple[Closure, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    keyframes: Mapping[str, Keyframe] = field(default_factory=dict)
    layouts: Mapping[str, Layout] = field(default_factory=dict)

    def __post_init__(self) -> None:
        named = {
            "machine": [self.name],
            "body": [x.name for x in self.bodies],
            "joint": [x.name for x in self.joints],
            "frame": [x.name for x in self.frames],
            "closure": [x.name for x in self.closures],
            "coupling": [x.name for x in self.couplings],
            "keyframe": list(self.keyframes),
        }
        for what, names in named.items():
            if is_unwritable("".join(names)):
                for name in names:
                    refuse_unwritable(what, name, ModelError)

    @cached_property
    def tree(self) -> Tree:
        """The bodies as index arithmetic."""
        return Tree(tuple(body.parent for body in self.bodies))

    @cached_property
    def leaders(self) -> tuple[Joint, ...]:
        """The joints that own coordinates: all but the mimics."""
        return tuple(joint for joint in self.joints if joint.mimic is None)

    @cached_property
    def has_mimics(self) -> bool:
        """Whether some joint follows another."""
        return len(self.leaders) != len(self.joints)

    @cached_property
    def nq(self) -> int:
        """How many numbers a configuration has."""
        return max((joint.q.stop for joint in self.joints), default=0)

    @cached_property
    def nv(self) -> int:
        """How many speeds the machine has."""
        return max((joint.v.stop for joint in self.joints), default=0)

    @cached_property
    def mass(self) -> float:
        """Total mass, every link counted, also one fixed to the world."""
        return self.base_inertia.mass + self.moving_mass

    @cached_property
    def moving_mass(self) -> float:
        """Mass of the moving bodies."""
        return math.fsum(body.inertia.mass for body in self.bodies)

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        return self.joints[self._find("joint", name, self._joint_index)]

    def body(self, name: str) -> Body:
        """The body of that name."""
        return self.bodies[self._find("body", name, self._body_index)]

    def frame(self, name: str) -> Frame:
        """The frame of that name; a body's name gives the body's own, "world" the world's."""
        if isinstance(name, str) and name == WORLD_NAME:
            return Frame(name, WORLD, HERE)
        k = self._find("frame", name, self._frame_index, self._body_index)
        return self.frames[k] if name in self._frame_index else Frame(name, k, HERE)

    def locate(self, point: Point) -> tuple[int, Placement]:
        """The body a point is on, and the point with the frame's axes, in the body's frame."""
        if not isinstance(point, Point):
            raise InputError(f"locate: expected pp.point(body_or_frame, position), got {point!r}")
        frame = self.frame(point.frame)
        return frame.body, frame.placement.then(Placement(position=point.position))

    @cached_property
    def frame_bodies(self) -> Mapping[str, int]:
        """The number of the body that each frame is on, by the names that `frame` takes."""
        of_frames = {frame.name: frame.body for frame in self.frames}
        return {**self._body_index, **of_frames, WORLD_NAME: WORLD}

    def index(self, joint_or_body: str) -> int:
        """The number of the joint of that name, else of the body of that name."""
        return self._find("joint or body", joint_or_body, self._joint_index, self._body_index)

    @property
    def is_closed(self) -> bool:
        """Whether the tree is not all: there are closures or couplings."""
        return bool(self.closures or self.couplings)

    def opened(self) -> Model:
        """The tree alone: the same machine without its closures and couplings."""
        return replace(self, closures=(), couplings=())

    def neutral(self) -> np.ndarray:
        """The configuration with every joint at its own neutral one."""
        known = self.functions.get("neutral")
        if known is None:
            known = np.zeros(self.nq)
            for joint in self.leaders:
                known[joint.q] = joint.kind.neutral()
            self.functions["neutral"] = known
        return known.copy()

    def random(self, rng: Seed = None, size: Size = None) -> np.ndarray:
        """A random configuration, or many: angles over a full turn, lengths within a metre,
        rotations uniform, and within the limits of joints of one coordinate that have them.

        Args:
            rng: a NumPy generator, or the seed of one; None for numbers that nobody can repeat.
            size: how many, or a shape of them; None for one.

        Returns:
            (*size, nq).

        >>> import numpy as np, phipsi as pp
        >>> pp.chain(2).random(np.random.default_rng(0)).round(2)
        array([ 0.86, -1.45])
        >>> pp.chain(2).random(rng=0, size=1000).shape
        (1000, 2)
        """
        generator, shape = generator_of(rng), checked_size(size)
        try:
            return self._draws(generator, shape)
        except MemoryError:
            raise InputError(f"size: {size!r} draws do not fit into memory; draw fewer") from None

    @cached_property
    def _draws(self) -> Draws:
        return Draws(self.leaders, self.nq)

    # -- states of other packages

    def to_pinocchio(
        self, q: ArrayLike, v: More = None, vdot: More = None, tau: More = None, *, peer: Any = None
    ) -> Result:
        """A state in the numbers of Pinocchio.

        Args:
            q: (*batch, nq).
            v: speeds, (*batch, nv).
            vdot: their rates; these need v too.
            tau: forces; joints that follow get none of their own.
            peer: the `pinocchio.Model`, of the same joints by name; not needed for a
                machine of `pp.from_pinocchio`.

        Returns:
            What was given, in this order: one array, or a tuple of them, all of one batch.

        >>> import pinocchio, phipsi as pp
        >>> peer = pinocchio.buildSampleModelHumanoidRandom()
        >>> machine = pp.from_pinocchio(peer)
        >>> q = machine.to_pinocchio(machine.neutral())
        >>> q[:7]  # position, then quaternion
        array([0., 0., 0., 0., 0., 0., 1.])
        """
        return self.layout("pinocchio", peer).to_peer(q, v, vdot, tau)

    def from_pinocchio(
        self, q: ArrayLike, v: More = None, vdot: More = None, tau: More = None, *, peer: Any = None
    ) -> Result:
        """A state of Pinocchio in our numbers; see `to_pinocchio`."""
        return self.layout("pinocchio", peer).from_peer(q, v, vdot, tau)

    def to_mujoco(
        self, q: ArrayLike, v: More = None, vdot: More = None, tau: More = None, *, peer: Any = None
    ) -> Result:
        """A state in the numbers of MuJoCo: qpos, qvel, qacc, and forces.

        Args:
            q, v, vdot, tau: as of `to_pinocchio`.
            peer: the `mujoco.MjModel`, of the same joints by name; not needed for a
                machine of `pp.from_mujoco` or of an MJCF file.

        >>> import mujoco, phipsi as pp
        >>> text = '<body> <freejoint/> <geom size="1"/> </body>'
        >>> text = f"<mujoco> <worldbody> {text} </worldbody> </mujoco>"
        >>> ball = pp.from_mujoco(mujoco.MjModel.from_xml_string(text))
        >>> ball.to_mujoco(ball.neutral(), [0, 0, 3, 1, 2, 0])  # omega comes last there
        (array([0., 0., 0., 1., 0., 0., 0.]), array([1., 2., 0., 0., 0., 3.]))
        """
        return self.layout("mujoco", peer).to_peer(q, v, vdot, tau)

    def from_mujoco(
        self, q: ArrayLike, v: More = None, vdot: More = None, tau: More = None, *, peer: Any = None
    ) -> Result:
        """A state of MuJoCo, its qpos, qvel, qacc and forces, in our numbers; see `to_mujoco`."""
        return self.layout("mujoco", peer).from_peer(q, v, vdot, tau)

    def layout(self, package: str, peer: Any = None) -> Layout:
        """Which numbers of another package are which of ours.

        Args:
            package: "pinocchio" or "mujoco".
            peer: its model, of the same joints by name; None for that which this
                machine was made from.
        """
        if peer is None and isinstance(package, str) and package in self.layouts:
            return self.layouts[package]
        from phipsi.model.peers.match import match_layout

        return match_layout(self, package, peer, axes=True)

    @cached_property
    def functions(self) -> dict:
        """What was compiled for this machine; it dies with it."""
        return {}

    def __getstate__(self) -> dict:
        """What the machine is; functions compiled for it, and what was computed once, stay here."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        count = len(self.bodies)
        return (
            f"<Model {self.name!r}: {count} {'body' if count == 1 else 'bodies'}, "
            f"nq = {self.nq}, nv = {self.nv}{self._loops}, {self.mass:.6g} kg{self._remarks}>"
        )

    @property
    def _loops(self) -> str:
        found = {"closure": len(self.closures), "coupling": len(self.couplings)}
        return "".join(f", {n} {what}{'s' * (n > 1)}" for what, n in found.items() if n)

    @property
    def _remarks(self) -> str:
        count = len(self.report.remarks)
        return f", {count} remark{'s' * (count > 1)} in .report" if count else ""

    def _find(self, what: str, name: str, *indices: dict[str, int]) -> int:
        for index in indices:
            if isinstance(name, str) and name in index:
                return index[name]
        valid = [key for index in indices for key in index]
        hint = "by number, index the tuple; " if isinstance(name, int) else ""
        choices = name_choices(str(name), valid)
        raise InputError(f"{self.name!r} has no {what} {name!r}; {hint}{choices}")

    @cached_property
    def _joint_index(self) -> dict[str, int]:
        return {joint.name: k for k, joint in enumerate(self.joints)}

    @cached_property
    def _body_index(self) -> dict[str, int]:
        return {body.name: k for k, body in enumerate(self.bodies)}

    @cached_property
    def _frame_index(self) -> dict[str, int]:
        return {frame.name: k for k, frame in enumerate(self.frames)}
