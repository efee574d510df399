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
from phipsi.model.peers.mujoco.motors import armature_of, damping_of, effort_of
from phipsi.model.peers.mujoco.names import BALL, FREE, HINGE, SLIDE, Names, at_joint
from phipsi.model.peers.notes import Notes
from phipsi.model.tree import WORLD_NAME
from phipsi.spatial import rotation, rotation_from_quaternion

Seats = Mapping[int, tuple[str, Placement]]  # of a body's frame: what carries it, and where
Mimics = Mapping[int, tuple[str, float, float]]  # of a joint: leader, ratio, offset


def add_bodies(builder: ModelBuilder, mj: Any, names: Names, mimics: Mimics, notes: Notes) -> Seats:
    """Add all bodies, each on its joints or welded.

    Args:
        builder: takes them.
        mj: a `mujoco.MjModel`.
        names: of its parts.
        mimics: the joints that follow others.
        notes: takes note of what has no counterpart.

    Returns:
        Of each body, what carries its frame, and where.
    """
    seats = {0: (WORLD_NAME, HERE)}
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
            body = name if is_named else at_joint(name, names.joints[j])
            builder.add_body(
                body,
                carrier,
                _kind(mj, j),
                joint_name=names.joints[j],
                mimic=mimics.get(j),
                **_placed(_joint_frame(mj, j, place, anchor)),
                **(_mass_properties(mj, i, -anchor) if j == joints[-1] else {}),
                **_joint_properties(mj, j, names, notes),
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


def _kind(mj: Any, j: int) -> JointKind:
    axis = tuple(mj.jnt_axis[j].tolist())
    return {
        FREE: Free(),
        BALL: Spherical(),
        SLIDE: Prismatic(axis),
        HINGE: Revolute(axis),
    }[int(mj.jnt_type[j])]


def _joint_frame(mj: Any, j: int, place: Placement, anchor: np.ndarray) -> Placement:
    """Where the joint frame is in what carries it, so that our coordinate is MuJoCo's.

    MuJoCo moves a body by `q - ref`; the joint frame is moved back by `ref` instead. A
    free joint is placed in the world, wherever its body is drawn.
    """
    type_, axis = mj.jnt_type[j], mj.jnt_axis[j]
    if type_ == FREE:
        return HERE
    at = place.then(_offset(anchor))
    reference = 0.0 if type_ == BALL else float(mj.qpos0[mj.jnt_qposadr[j]])
    if reference == 0.0:
        return at
    if type_ == SLIDE:
        return at.then(_offset(-reference * axis))
    return at.then(Placement.of(rotation(axis.tolist(), -reference), (0.0, 0.0, 0.0)))


def _joint_properties(mj: Any, j: int, names: Names, notes: Notes) -> dict[str, Any]:
    """Limits, losses, motor and spring of a joint, as the builder takes them."""
    name, dof = names.joints[j], mj.jnt_dofadr[j]
    found: dict[str, Any] = {
        "limits": _limits(mj, j, name, notes),
        "damping": damping_of(mj, j),
        "friction": float(mj.dof_frictionloss[dof]),
        "rotor_inertia": armature_of(mj, j),
    }
    if mj.jnt_type[j] == FREE and found["rotor_inertia"]:
        text = f"joint {name!r} is free and has an armature; the mass matrix has it as MuJoCo's, "
        text += "but not the bias, where MuJoCo has armature times omega x v"
        notes.say("used", text, "joint", name, notable=True)
    if mj.jnt_stiffness[j]:
        found["stiffness"] = float(mj.jnt_stiffness[j])
        found["rest"] = _rest(mj, j)
    _refuse_laws(mj, j, name, notes)
    return found


def _refuse_laws(mj: Any, j: int, name: str, notes: Notes) -> None:
    """Springs and dampers that are no constants; older versions of MuJoCo have none."""
    for attribute, row, what in (
        ("jnt_stiffnesspoly", j, "stiffness"),
        ("dof_dampingpoly", mj.jnt_dofadr[j], "damping"),
    ):
        if hasattr(mj, attribute) and getattr(mj, attribute)[row].any():
            text = f"joint {name!r}: its {what} depends on where it is or how fast; "
            notes.refuse(f"{text}the constant part alone is kept", "joint", name)
    if hasattr(mj, "jnt_plasticadr") and mj.jnt_plasticadr[j] >= 0:
        notes.refuse(f"joint {name!r}: its spring yields; that is left out", "joint", name)


def _limits(mj: Any, j: int, name: str, notes: Notes) -> Limits:
    lower, upper = -math.inf, math.inf
    if mj.jnt_limited[j]:
        if mj.jnt_type[j] in (SLIDE, HINGE):
            lower, upper = (float(x) for x in mj.jnt_range[j])
        else:
            text = f"joint {name!r} is a ball; that it turns by at most {mj.jnt_range[j, 1]:.6g} "
            notes.say("ignored", f"{text}rad is not kept", "joint", name, notable=True)
    return Limits(lower, upper, effort=effort_of(mj, j))


def _rest(mj: Any, j: int) -> list[float]:
    """The coordinates in which the spring of a joint is at rest, in our order."""
    start = mj.jnt_qposadr[j]
    if mj.jnt_type[j] in (SLIDE, HINGE):
        return [float(mj.qpos_spring[start])]
    begin = start + 3 if mj.jnt_type[j] == FREE else start
    w, x, y, z = mj.qpos_spring[begin : begin + 4].tolist()
    return [x, y, z, w, *mj.qpos_spring[start:begin].tolist()]
