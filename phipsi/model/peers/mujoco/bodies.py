"""Bodies and joints of a MuJoCo model.

A MuJoCo body has any number of joints, each anywhere on it, that move it one after the
other. Here each joint carries a body of its own, whose frame is at the joint: all but the
last are massless, and where the last is not at the body's frame, that frame has the name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from phipsi.model.build import ModelBuilder
from phipsi.model.inertia import HERE, Placement
from phipsi.model.joints import Fixed, Free, JointKind, Prismatic, Revolute, Spherical
from phipsi.model.model import Limits
from phipsi.model.peers.mujoco.motors import Efforts, added_by_motors
from phipsi.model.peers.mujoco.names import BALL, FREE, HINGE, SLIDE, Names
from phipsi.model.peers.remarks import Remarks
from phipsi.model.tree import WORLD, WORLD_NAME
from phipsi.spatial import rotation, rotation_from_quaternion

Seats = Mapping[int, tuple[str, Placement]]  # of a body's frame: what carries it, and where
Mimics = Mapping[int, tuple[str, float, float]]  # of a joint: leader, ratio, offset


def add_bodies(
    builder: ModelBuilder, mj: Any, names: Names, mimics: Mimics, remarks: Remarks
) -> Seats:
    """Add all bodies, each on its joints or welded.

    Args:
        builder: takes them.
        mj: a `mujoco.MjModel`.
        names: of its parts.
        mimics: the joints that follow others.
        remarks: takes note of what has no counterpart.

    Returns:
        Of each body, what carries its frame, and where.
    """
    seats = {0: (WORLD_NAME, HERE)}
    efforts = Efforts(mj, remarks)
    for i in range(1, mj.nbody):
        name, (carrier, seat) = names.bodies[i], seats[mj.body_parentid[i]]
        place = seat.then(placement(mj.body_pos[i], mj.body_quat[i]))
        first = mj.body_jntadr[i]
        joints = range(first, first + mj.body_jntnum[i])
        if not joints:
            _weld(builder, mj, i, name, carrier, place)
            seats[i] = (name, HERE)
            continue
        for j in joints:
            anchor = _anchor(mj, j)
            is_named = j == joints[-1] and not anchor.any()
            body = name if is_named else names.at_joints[j]
            builder.add_body(
                body,
                carrier,
                kind_of(mj, j),
                joint_name=names.joints[j],
                mimic=mimics.get(j),
                **_placed(joint_frame(mj, j, place.then(_offset(anchor)))),
                **(_mass_properties(mj, i, -anchor) if j == joints[-1] else {}),
                **_joint_properties(mj, j, names, efforts, remarks),
            )
            carrier, place = body, _offset(-anchor)
        if not is_named:
            builder.add_frame(name, carrier, place.position)
        seats[i] = carrier, place
    return seats


def placement(position: np.ndarray, quaternion: np.ndarray) -> Placement:
    """Of a frame, from its position and its quaternion w, x, y, z."""
    w, x, y, z = quaternion.tolist()
    if (x, y, z) == (0.0, 0.0, 0.0):
        return Placement.of(None, position)
    return Placement.of(rotation_from_quaternion([x, y, z, w]), position)


def _offset(position: np.ndarray) -> Placement:
    """Of a frame that is moved, and not turned."""
    return Placement.of(None, position) if position.any() else HERE


def _weld(
    builder: ModelBuilder, mj: Any, i: int, name: str, carrier: str, place: Placement
) -> None:
    """A body without joints."""
    properties = _mass_properties(mj, i, np.zeros(3))
    builder.add_body(name, carrier, Fixed(), **_placed(place), **properties)


def _placed(place: Placement) -> dict[str, Any]:
    """A placement as the builder takes it."""
    return {"position": place.position, "rotation": place.rotation}


def _mass_properties(mj: Any, i: int, shift: np.ndarray) -> dict[str, Any]:
    """Of a body whose frame is at `shift` in the one asked for: `R diag(I) R*` about its centre."""
    own = placement(mj.body_ipos[i] + shift, mj.body_iquat[i])
    R, principal = np.array(own.rotation), mj.body_inertia[i]
    return {
        "mass": float(mj.body_mass[i]),
        "com": own.position,
        "inertia": principal if R[0, 0] == R[1, 1] == 1.0 else (R * principal) @ R.T,
    }


# -- joints


def _anchor(mj: Any, j: int) -> np.ndarray:
    """Where the joint is on its body; a slide may be anywhere, a free joint is at the frame."""
    return mj.jnt_pos[j].copy() if mj.jnt_type[j] in (BALL, HINGE) else np.zeros(3)


def kind_of(mj: Any, j: int) -> JointKind:
    """What a joint is here."""
    axis = tuple(mj.jnt_axis[j].tolist())
    return {
        FREE: Free(),
        BALL: Spherical(),
        SLIDE: Prismatic(axis),
        HINGE: Revolute(axis),
    }[int(mj.jnt_type[j])]


def joint_frame(mj: Any, j: int, at: Placement) -> Placement:
    """Where the joint frame is in what carries it, so that our coordinate is MuJoCo's.

    MuJoCo moves a body by `q - ref`; the joint frame is moved back by `ref` instead. A
    free joint is placed in the world, wherever its body is drawn.

    Args:
        mj: a `mujoco.MjModel`.
        j: the number of the joint.
        at: where the joint is in what carries it, as its body is drawn.
    """
    axis, reference = mj.jnt_axis[j], reference_of(mj, j)
    if mj.jnt_type[j] == FREE:
        return HERE
    if reference == 0.0:
        return at
    if mj.jnt_type[j] == SLIDE:
        return at.then(_offset(-reference * axis))
    return at.then(Placement.of(rotation(axis.tolist(), -reference), (0.0, 0.0, 0.0)))


def reference_of(mj: Any, j: int) -> float:
    """The coordinate of a hinge or slide where its body is as it is drawn."""
    moves = mj.jnt_type[j] in (SLIDE, HINGE)
    return float(mj.qpos0[mj.jnt_qposadr[j]]) if moves else 0.0


def drawn_frames(mj: Any) -> list[Placement]:
    """Where each joint is in the frame of the joint before it, as the bodies are drawn."""
    found, seats = [], {0: HERE}
    for i in range(1, mj.nbody):
        place = seats[mj.body_parentid[i]].then(placement(mj.body_pos[i], mj.body_quat[i]))
        first = mj.body_jntadr[i]
        for j in range(first, first + mj.body_jntnum[i]):
            anchor = _anchor(mj, j)
            found.append(place.then(_offset(anchor)))
            place = _offset(-anchor)
        seats[i] = place
    return found


def joint_carriers(mj: Any) -> list[int]:
    """The number of the joint before each, on its body or the next one inboard; or WORLD."""
    found: list[int] = []
    last = {0: WORLD}  # by body: the joint that moves it
    for i in range(1, mj.nbody):
        last[i] = last[mj.body_parentid[i]]
        first = mj.body_jntadr[i]
        for j in range(first, first + mj.body_jntnum[i]):
            found.append(last[i])
            last[i] = j
    return found


def _joint_properties(
    mj: Any, j: int, names: Names, efforts: Efforts, remarks: Remarks
) -> dict[str, Any]:
    """Limits, losses, motor and spring of a joint, as the builder takes them."""
    name, kind = names.joints[j], kind_of(mj, j)
    rows = slice(mj.jnt_dofadr[j], mj.jnt_dofadr[j] + kind.nv)
    damping, friction, armature = (
        remarks.single(getattr(mj, f"dof_{attribute}")[rows], what, name)
        for attribute, what in (
            ("damping", "a damping"),
            ("frictionloss", "a frictionloss"),
            ("armature", "an armature"),
        )
    )
    found: dict[str, Any] = {
        "limits": _limits(mj, j, name, efforts.of(j, name), remarks),
        "damping": damping + added_by_motors(mj, j, "damping"),
        "friction": friction,
        "rotor_inertia": armature + added_by_motors(mj, j, "armature"),
    }
    if mj.jnt_type[j] == FREE and found["rotor_inertia"]:
        text = f"joint {name!r} is free and has an armature; the mass matrix has it as MuJoCo's, "
        text += "but not the bias, where MuJoCo has armature times omega x v"
        remarks.say("used", text, "joint", name, notable=True)
    if mj.jnt_type[j] == FREE and friction:
        text = f"joint {name!r} is free and has a frictionloss; MuJoCo's acts along the axes of "
        remarks.say("used", f"{text}the world, ours along the body's", "joint", name, notable=True)
    if mj.jnt_stiffness[j]:
        found["stiffness"] = float(mj.jnt_stiffness[j])
        found["rest"] = _rest(mj, j)
    _refuse_laws(mj, j, name, remarks)
    return found


def _refuse_laws(mj: Any, j: int, name: str, remarks: Remarks) -> None:
    """Springs and dampers that are no constants; older versions of MuJoCo have none."""
    for attribute, row, what in (
        ("jnt_stiffnesspoly", j, "stiffness"),
        ("dof_dampingpoly", mj.jnt_dofadr[j], "damping"),
    ):
        if hasattr(mj, attribute) and getattr(mj, attribute)[row].any():
            text = f"joint {name!r}: its {what} depends on where it is or how fast; "
            remarks.refuse(f"{text}the constant part alone is kept", "joint", name)
    if hasattr(mj, "jnt_plasticadr") and mj.jnt_plasticadr[j] >= 0:
        remarks.refuse(f"joint {name!r}: its spring yields; that is left out", "joint", name)


def _limits(mj: Any, j: int, name: str, effort: float, remarks: Remarks) -> Limits:
    lower, upper = -math.inf, math.inf
    if mj.jnt_limited[j]:
        if mj.jnt_type[j] in (SLIDE, HINGE):
            lower, upper = (float(x) for x in mj.jnt_range[j])
        else:
            text = f"joint {name!r} is a ball; that it turns by at most {mj.jnt_range[j, 1]:.6g} "
            remarks.refuse(f"{text}rad is left out", "joint", name)
    return Limits(lower, upper, effort=effort)


def _rest(mj: Any, j: int) -> list[float]:
    """The coordinates in which the spring of a joint is at rest, in our order."""
    start = mj.jnt_qposadr[j]
    if mj.jnt_type[j] in (SLIDE, HINGE):
        return [float(mj.qpos_spring[start])]
    begin = start + 3 if mj.jnt_type[j] == FREE else start
    w, x, y, z = mj.qpos_spring[begin : begin + 4].tolist()
    return [x, y, z, w, *mj.qpos_spring[start:begin].tolist()]
