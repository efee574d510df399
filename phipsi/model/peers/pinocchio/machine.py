"""Models of Pinocchio: taken over, and their states.

What differs, as met in Pinocchio 4.1:
    free         q = [position, quaternion], v = [linear; angular]
    planar       q = [x, y, cos, sin], v = [vx, vy, omega]; always across z
    continuous   q = [cos, sin]
    order        joints as they were added, parents first; ours are depth-first
    motors       `armature` alone enters its algorithms, not rotorInertia or rotorGearRatio
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from phipsi.errors import InputError
from phipsi.model.build import ModelBuilder
from phipsi.model.inertia import HERE
from phipsi.model.joints import Fixed, Free, Planar, Revolute
from phipsi.model.model import Joint, Limits, Model
from phipsi.model.names import take
from phipsi.model.peers.draft import Draft, match_names
from phipsi.model.peers.keyframes import keyframes_of
from phipsi.model.peers.layout import Layout
from phipsi.model.peers.pinocchio.joints import Piece, check_pinocchio, pieces, placement_of
from phipsi.model.peers.remarks import Remarks
from phipsi.model.peers.same import Seat, check_kind, check_motion
from phipsi.model.plausibility import with_plausibility
from phipsi.model.report import Report
from phipsi.model.tree import WORLD, WORLD_NAME

PEER = "Pinocchio"
UNIVERSE = "universe"  # what Pinocchio calls the world
UNBOUNDED = 1e100  # a limit beyond this is none


def from_pinocchio(model: Any, name: str | None = None, *, strict: bool = False) -> Model:
    """The machine that a Pinocchio model describes.

    Placements, inertias, armatures, limits, gravity and frames are Pinocchio's. For the
    coordinates, `model.to_pinocchio(q, v)` and `model.from_pinocchio(q, v)`. A body is
    called as the first body frame at its joint. Mimic joints follow, as they do there.
    `model.report` tells what is left out. Geometry and constraints are models of their
    own there, and not taken over.

    Args:
        model: a `pinocchio.Model`.
        name: of the machine; by default the model's.
        strict: refuse what no machine can have and what cannot be honoured.

    Returns:
        The model; `model.layouts["pinocchio"]` knows which number is which.

    Raises:
        InputError: it is no model of Pinocchio.
        ModelError: a joint that has no counterpart; what `strict` refuses.

    >>> import pinocchio, phipsi as pp
    >>> peer = pinocchio.Model()
    >>> number = peer.addJoint(0, pinocchio.JointModelFreeFlyer(), pinocchio.SE3.Identity(), "root")
    >>> peer.appendBodyToJoint(
    ...     number, pinocchio.Inertia.FromSphere(2.0, 0.1), pinocchio.SE3.Identity()
    ... )
    >>> ball = pp.from_pinocchio(peer, "ball")
    >>> ball
    <Model 'ball': 1 body, nq = 7, nv = 6, 2 kg>
    >>> ball.to_pinocchio(ball.neutral(), [0, 0, 0, 1, 2, 3])
    (array([0., 0., 0., 0., 0., 0., 1.]), array([1., 2., 3., 0., 0., 0.]))
    """
    peer = check_pinocchio(model, "from_pinocchio")
    remarks = Remarks(strict)
    builder = ModelBuilder(name or peer.name or "machine", peer.gravity.linear, strict)
    if peer.gravity.angular.any():
        remarks.refuse("the angular part of gravity is left out", "gravity")
    if peer.rotorInertia.any():
        text = "rotorInertia and rotorGearRatio are ignored: as in Pinocchio's own algorithms, "
        remarks.say("ignored", f"{text}armature alone counts", "model", notable=True)
    _add_bodies(builder, peer, remarks)
    found = builder.build()
    layout = layout_of_pinocchio(found, peer)
    keyframes = keyframes_of(_references(peer), layout, remarks)
    report = Report((*found.report, *remarks.lines))
    found = replace(found, report=report, layouts={"pinocchio": layout}, keyframes=keyframes)
    return with_plausibility(found, strict)


def layout_of_pinocchio(model: Model, peer: Any, *, axes: bool = True) -> Layout:
    """Which numbers of a Pinocchio model are which of ours, the joints matched by name.

    For models of one file that both have read; `pp.from_pinocchio` has it in
    `model.layouts`.

    Args:
        model: ours.
        peer: a `pinocchio.Model` of the same joints.
        axes: whether numbers must mean the same, too: axes, and from where they count.

    Raises:
        InputError: a joint that only one of the two has, or that moves otherwise.

    >>> import pinocchio, phipsi as pp
    >>> peer = pinocchio.Model()
    >>> _ = peer.addJoint(0, pinocchio.JointModelRUBZ(), pinocchio.SE3.Identity(), "turn")
    >>> builder = pp.ModelBuilder("wheel")
    >>> builder.add_body("wheel", joint_name="turn", mass=1.0, inertia=(1, 1, 1))
    >>> layout_of_pinocchio(builder.build(), peer).to_peer([0.0])
    array([1., 0.])
    """
    check_pinocchio(peer, "peer")
    parts = {part.name: part for i in range(1, peer.njoints) for part in pieces(peer, i)}
    index = {name: k for k, name in enumerate(parts)}
    free = [name for name, part in parts.items() if isinstance(part.kind, Free)]
    numbers = match_names(model, PEER, index, free)
    rows = list(parts.values())
    draft = Draft(PEER, peer.nq, peer.nv, model)
    for joint in model.joints:
        part = rows[numbers[joint.name]]
        check_kind(joint, part.kind, PEER)
        if part.follows is None:
            _arrange(draft, joint, part)
        elif joint.mimic is None:
            raise InputError(
                f"joint {joint.name!r} follows {part.follows[0]!r} in Pinocchio and moves on its "
                'own here; load it with mimic="enforce", or Pinocchio\'s with mimic=False'
            )
    if axes:
        check_motion(model, _seats(peer), numbers, PEER)
    return draft.finish()


def _seats(peer: Any) -> list[Seat]:
    """Its joints as ours would be, and what carries each."""
    found: list[Seat] = []
    last = [WORLD]  # by joint there: the number of its last part
    for i in range(1, peer.njoints):
        carrier = last[peer.parents[i]]
        for part in pieces(peer, i):
            found.append(Seat(part.name, part.kind, part.placement, carrier))
            carrier = len(found) - 1
        last.append(carrier)
    return found


# -- coordinates


def _arrange(draft: Draft, joint: Joint, part: Piece) -> None:
    """Where the numbers of a joint are in Pinocchio."""
    q, v = part.q, part.v
    if isinstance(joint.kind, Free):
        draft.arrange(joint, q, v, (4, 5, 6, 0, 1, 2, 3), (3, 4, 5, 0, 1, 2))
    elif isinstance(joint.kind, Planar):
        draft.arrange(joint, q, v, (1, 2), (1, 2, 0))
        draft.add_angle(joint, q + 2)
    elif part.size == 2 and isinstance(joint.kind, Revolute):
        draft.arrange(joint, q, v, ())
        draft.add_angle(joint, q)
    else:
        draft.arrange(joint, q, v)


# -- bodies


def _add_bodies(builder: ModelBuilder, peer: Any, remarks: Remarks) -> None:
    """Bodies and frames: a body for each joint, the first body frame at it being its name."""
    own = _own_frames(peer)
    taken = {WORLD_NAME, UNIVERSE}
    called = [WORLD_NAME]
    for i in range(1, peer.njoints):
        called.append(_rename(own.get(i, peer.names[i]), "link", taken, remarks))
    welded = peer.inertias[0]
    if welded.mass:
        builder.add_body(UNIVERSE, joint=Fixed(), **_mass_properties(welded))
    for i in range(1, peer.njoints):
        parts, carrier = pieces(peer, i), called[peer.parents[i]]
        for part in parts:
            is_last = part is parts[-1]
            body = called[i] if is_last else take(f"{called[i]}@{part.name}", taken)
            builder.add_body(
                body,
                carrier,
                part.kind,
                joint_name=part.name,
                position=part.placement.position,
                rotation=part.placement.rotation,
                mimic=part.follows,
                **(_mass_properties(peer.inertias[i]) if is_last else {}),
                **_joint_properties(peer, part, remarks),
            )
            carrier = body
    for frame in peer.frames:
        i, name, type_ = frame.parentJoint, frame.name, frame.type.name
        place = placement_of(frame.placement, f"frame {name!r}")
        is_body = type_ == "BODY" and own.get(i) == name
        is_world = i == 0 and name in (WORLD_NAME, UNIVERSE) and place == HERE
        if is_body or is_world or type_ == "JOINT":
            continue
        name = _rename(name, type_.lower(), taken, remarks)
        builder.add_frame(name, called[i], place.position, place.rotation)


def _own_frames(peer: Any) -> dict[int, str]:
    """The name of the first body frame that lies on each joint."""
    found: dict[int, str] = {}
    for frame in peer.frames:
        i = frame.parentJoint
        if i and i not in found and frame.type.name == "BODY" and frame.placement.isIdentity(0.0):
            found[i] = frame.name
    return found


def _rename(name: str, what: str, taken: set[str], remarks: Remarks) -> str:
    """A name that no other body or frame has: those of both are one set here."""
    if name not in taken:
        return take(name, taken)
    found = take(f"{name}_{what}", taken)
    remarks.say(
        "kept", f"frame {name!r} is called {found!r}: its name is taken", "frame", name, True
    )
    return found


def _mass_properties(inertia: Any) -> dict[str, Any]:
    return {
        "mass": float(inertia.mass),
        "com": inertia.lever.tolist(),
        "inertia": inertia.inertia.tolist(),
    }


def _joint_properties(peer: Any, part: Piece, remarks: Remarks) -> dict[str, Any]:
    """Limits, losses and motor of a joint, as the builder takes them."""
    if part.follows is not None:
        if part.jumps:
            text = f"joint {part.name!r} follows {part.follows[0]!r} by {part.follows[1]:g}, whose "
            text += "angle is within -pi and pi in Pinocchio, so that it jumps once a turn there; "
            remarks.refuse(f"{text}that is left out, and it runs on here", "joint", part.name)
        return {}
    rows = slice(part.v, part.v + part.kind.nv)
    return {
        "damping": remarks.single(peer.damping[rows], "a damping", part.name),
        "friction": remarks.single(peer.friction[rows], "a friction", part.name),
        "rotor_inertia": remarks.single(peer.armature[rows], "an armature", part.name),
        "limits": _limits(peer, part, rows, remarks),
    }


def _limits(peer: Any, part: Piece, rows: slice, remarks: Remarks) -> Limits:
    """Those of a joint: of one coordinate where it has one, and the same for all its speeds."""
    own = slice(part.q, part.q + part.size)
    sides = (peer.lowerPositionLimit, peer.upperPositionLimit)
    lower, upper = (_unbounded(side[own]) for side in sides)
    reach = float(lower[0]), float(upper[0])
    if not part.size == part.kind.nq == 1:
        reach = -np.inf, np.inf
        furthest = _furthest(part)
        if np.any(lower > -furthest) or np.any(upper < furthest):
            text = f"joint {part.name!r} has limits of position for its {part.size} coordinates; "
            text += "a joint has limits of a single one here, and these are left out"
            remarks.refuse(text, "joint", part.name)
    velocity, effort = (
        remarks.single(_greatest(peer, what, rows), f"a limit of {what}", part.name, np.inf)
        for what in ("velocity", "effort")
    )
    if effort == 0.0:  # as it comes from URDF files, for which see their reader
        effort = np.inf
        text = f"joint {part.name!r}: effort 0 is taken for no limit"
        remarks.say("used", text, "joint", part.name, notable=True)
    return Limits(*reach, velocity, effort)


def _furthest(part: Piece) -> np.ndarray:
    """What the coordinates of a joint can be at most, there: cosines and quaternions one."""
    start = {Free: 3, Planar: 2}.get(type(part.kind), 0)  # these begin with a position
    turns = part.size > part.kind.nv
    return np.where(turns & (np.arange(part.size) >= start), 1.0, np.inf)


def _greatest(peer: Any, what: str, rows: slice) -> np.ndarray:
    """The greatest velocity or effort of each speed; Pinocchio 3 has one for both sides."""
    sides = [getattr(peer, f"{what}Limit")]
    if hasattr(peer, f"lower{what.title()}Limit"):
        sides.append(getattr(peer, f"lower{what.title()}Limit"))
    return _unbounded(np.max([np.abs(side[rows]) for side in sides], axis=0))


def _unbounded(x: np.ndarray) -> np.ndarray:
    """Limits, infinite where they are none."""
    return np.where(np.abs(x) > UNBOUNDED, np.copysign(np.inf, x), x)


def _references(peer: Any) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The configurations that the model names, at rest."""
    for entry in getattr(peer, "referenceConfigurations", ()):
        yield entry.key(), np.array(entry.data()), np.zeros(peer.nv)
