"""Models of MuJoCo: taken over, and their states.

What differs, as met in MuJoCo 4.0:
    free    q = [position, quaternion w x y z], v = [velocity in axes of the world; omega in
            those of the body]
    ball    quaternion w x y z
    hinge,  q counts from `ref`; the joint frame is placed so that ours does, too
    slide
    bodies  several joints, anywhere on the body; the body's frame is anywhere
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from phipsi.errors import InputError
from phipsi.model.build import ModelBuilder, Part
from phipsi.model.inertia import HERE
from phipsi.model.joints import Free, JointKind, Prismatic, Revolute, Spherical
from phipsi.model.model import Joint, Keyframe, Model
from phipsi.model.peers.draft import Draft, match_names
from phipsi.model.peers.layout import Layout
from phipsi.model.peers.mujoco.bodies import Seats, add_bodies, placement
from phipsi.model.peers.mujoco.names import (
    BALL,
    FREE,
    HINGE,
    SLIDE,
    TYPE_NAMES,
    Names,
    check_finite,
    check_mujoco,
    is_disabled,
    name_at,
)
from phipsi.model.peers.mujoco.rest import note_rest
from phipsi.model.peers.mujoco.shapes import add_shapes
from phipsi.model.peers.mujoco.ties import Ties
from phipsi.model.peers.notes import Notes, PlaceOf, check_mimic, no_file, unused
from phipsi.model.report import Place, Report
from phipsi.model.tree import WORLD

PEER = "MuJoCo"
FIXED_CAMERA = 0
FOLLOWED = 1e-6  # rad or m: a joint that is this near to where it should be is there

_KINDS: dict[int, type[JointKind]] = {
    FREE: Free,
    BALL: Spherical,
    SLIDE: Prismatic,
    HINGE: Revolute,
}


def from_mujoco(
    model: Any, name: str | None = None, *, mimic: str = "enforce", strict: bool = False
) -> Model:
    """The machine that a MuJoCo model describes.

    Bodies, joints, inertias, armatures, springs and losses, gravity, sites, geoms and
    keyframes are MuJoCo's; the coordinates of hinges and slides are too. For those of
    other joints, and the order of all, `model.to_mujoco(q, v)` and
    `model.from_mujoco(qpos, qvel)`. Equality constraints are joints that follow,
    closures and couplings; contacts are none. `model.report` tells what is left out.

    A body whose joint is not at its frame, or that has several, is a body
    "BODY@JOINT" for each, and a frame of its own name.

    Args:
        model: a `mujoco.MjModel`; a `mujoco.MjSpec` is compiled.
        name: of the machine; by default the model's.
        mimic: "enforce" makes a joint follow that depends on another by a straight
            line, without a coordinate of its own; "independent" frees it.
        strict: refuse what no machine can have and what cannot be honoured.

    Returns:
        The model; `model.layouts["mujoco"]` knows which number is which.

    Raises:
        InputError: it is no model of MuJoCo.
        ModelError: what `strict` refuses.

    >>> import mujoco, phipsi as pp
    >>> peer = mujoco.MjModel.from_xml_string('''
    ...     <mujoco model="box">
    ...       <worldbody>
    ...         <body name="box"> <freejoint/> <geom type="box" size="0.1 0.2 0.3"/> </body>
    ...       </worldbody>
    ...     </mujoco>''')
    >>> box = pp.from_mujoco(peer)
    >>> box
    <Model 'box': 1 body, nq = 7, nv = 6, 48 kg>
    >>> box.to_mujoco(box.neutral())
    array([0., 0., 0., 1., 0., 0., 0.])
    """
    return convert(check_mujoco(model, "from_mujoco"), name, mimic, strict)


def convert(
    mj: Any,
    name: str | None = None,
    mimic: str = "enforce",
    strict: bool = False,
    place_of: PlaceOf = no_file,
) -> Model:
    """`from_mujoco`, for a reader of files.

    Args:
        mj: a `mujoco.MjModel`.
        name: of the machine; by default the model's.
        mimic: as of `from_mujoco`.
        strict: likewise.
        place_of: where the file has an element, by its tag and its name here.
    """
    check_mimic(mimic, "from_mujoco")
    check_finite(mj)
    names, notes = Names(mj), Notes(strict, place_of)
    builder = ModelBuilder(
        name or name_at(mj, 0) or "machine",
        (0.0, 0.0, 0.0) if is_disabled(mj, "GRAVITY") else mj.opt.gravity,
        strict,
        where=lambda body, part: _place(body, part, names, place_of),
    )
    ties = Ties(mj, names, mimic, notes)
    seats = add_bodies(builder, mj, names, ties.mimics, notes)
    _add_frames(builder, mj, names, seats, notes)
    add_shapes(builder, mj, seats, notes)
    ties.add_to(builder)
    note_rest(mj, names, notes)
    model = builder.build()
    layout = layout_of_mujoco(model, mj)
    keyframes = _keyframes(mj, layout, notes)
    return replace(
        model,
        report=Report((*model.report, *notes.lines)),
        layouts={"mujoco": layout},
        keyframes=keyframes,
    )


def layout_of_mujoco(model: Model, peer: Any) -> Layout:
    """Which numbers of a MuJoCo model are which of ours, the joints matched by name.

    For models of one file that both have read; `pp.from_mujoco` has it in
    `model.layouts`. Coordinates of joints are taken to count from the same place.

    Args:
        model: ours.
        peer: a `mujoco.MjModel` of the same joints.

    Raises:
        InputError: a joint that only one of the two has, or that moves otherwise.

    >>> import mujoco, phipsi as pp
    >>> text = '<body> <joint name="ball" type="ball"/> <geom size="1"/> </body>'
    >>> peer = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{text}</worldbody></mujoco>")
    >>> builder = pp.ModelBuilder("ball")
    >>> ball = {"joint": pp.joints.Spherical(), "joint_name": "ball"}
    >>> builder.add_body("ball", mass=1.0, inertia=(1, 1, 1), **ball)
    >>> layout_of_mujoco(builder.build(), peer).to_peer([0, 0, 0, 1])
    array([1., 0., 0., 0.])
    """
    mj = check_mujoco(peer, "layout_of_mujoco")
    names = Names(mj)
    index = {name: j for j, name in enumerate(names.joints)}
    free = [name for name, j in index.items() if mj.jnt_type[j] == FREE]
    numbers = match_names(model, PEER, index, free)
    draft = Draft(PEER, mj.nq, mj.nv, model)
    for body, joint in zip(model.bodies, model.joints, strict=True):
        j = numbers[joint.name]
        _check_kind(joint, int(mj.jnt_type[j]))
        q, v = int(mj.jnt_qposadr[j]), int(mj.jnt_dofadr[j])
        if isinstance(joint.kind, Free):
            if body.parent != WORLD or joint.placement != HERE:
                raise InputError(
                    f"joint {joint.name!r} is free and not placed at the world's own frame, "
                    "from which MuJoCo counts; place it there"
                )
            draft.arrange(joint, q, v, (4, 5, 6, 3, 0, 1, 2), (3, 4, 5, 0, 1, 2))
            draft.turn(joint, v)
            draft.normalize(joint)
        elif isinstance(joint.kind, Spherical):
            draft.arrange(joint, q, v, (3, 0, 1, 2))
            draft.normalize(joint)
        else:
            draft.arrange(joint, q, v)
    return draft.finish()


def _check_kind(joint: Joint, type_: int) -> None:
    if not isinstance(joint.kind, _KINDS[type_]):
        raise InputError(
            f"joint {joint.name!r} is {type(joint.kind).__name__} here "
            f"and a {TYPE_NAMES[type_]} in MuJoCo"
        )


def _add_frames(builder: ModelBuilder, mj: Any, names: Names, seats: Seats, notes: Notes) -> None:
    """Sites, and cameras that are fixed on bodies."""
    for i, name in enumerate(names.sites):
        _add_frame(builder, seats[mj.site_bodyid[i]], name, mj.site_pos[i], mj.site_quat[i])
    for i, name in enumerate(names.cameras):
        if mj.cam_mode[i] == FIXED_CAMERA:
            _add_frame(builder, seats[mj.cam_bodyid[i]], name, mj.cam_pos[i], mj.cam_quat[i])
        else:
            text = f"camera {name!r} follows what it looks at, and is ignored"
            notes.say("ignored", text, "camera", name)
    for what, found, given in (
        ("site", names.sites, [mj.site(i).name for i in range(mj.nsite)]),
        ("camera", names.cameras, [mj.camera(i).name for i in range(mj.ncam)]),
    ):
        renamed = [old for old, new in zip(given, found, strict=True) if old not in ("", new)]
        text = f"a body or frame has this name, so it is called NAME_{what}"
        notes.say_of_all("kept", text, what, renamed)


def _add_frame(builder: ModelBuilder, seat: Any, name: str, position: Any, quaternion: Any) -> None:
    carrier, place = seat
    own = place.then(placement(position, quaternion))
    builder.add_frame(name, carrier, own.position, own.rotation)


def _keyframes(mj: Any, layout: Layout, notes: Notes) -> dict[str, Keyframe]:
    """The states that the model names, in our coordinates."""
    found, taken = {}, {mj.key(k).name for k in range(mj.nkey)}
    followers = [entry.theirs for entry in layout.coordinates if entry.follows]
    for k in range(mj.nkey):
        name = mj.key(k).name or unused(f"key{k}", taken)
        q, v = layout.from_peer(mj.key_qpos[k], mj.key_qvel[k])
        found[name] = Keyframe((*q.tolist(),), (*v.tolist(),))
        apart = layout.to_peer(q)[followers] - mj.key_qpos[k][followers]
        if np.any(np.abs(apart) > FOLLOWED):
            text = f"keyframe {name!r} has joints elsewhere than they follow; here they follow"
            notes.say("used", text, "key", name, notable=True)
    return found


def _place(name: str, part: Part, names: Names, place_of: PlaceOf) -> Place | None:
    """Where a file tells of a body, as the builder puts it in front of its messages."""
    body, joint = names.carried.get(name, (name, ""))
    on_joint = joint and part not in ("body", "inertia")
    return place_of("joint", joint) if on_joint else place_of("body", body)
