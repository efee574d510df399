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

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from phipsi.errors import InputError
from phipsi.model.build import ModelBuilder, Part
from phipsi.model.inertia import HERE, Placement
from phipsi.model.joints import Free, Spherical
from phipsi.model.model import Joint, Model
from phipsi.model.names import take
from phipsi.model.peers.draft import Draft, match_names
from phipsi.model.peers.keyframes import keyframes_of
from phipsi.model.peers.layout import Layout
from phipsi.model.peers.mujoco.bodies import (
    Seats,
    add_bodies,
    drawn_frames,
    joint_carriers,
    joint_frame,
    kind_of,
    placement,
    reference_of,
)
from phipsi.model.peers.mujoco.flags import as_switched
from phipsi.model.peers.mujoco.names import FREE, Names, check_finite, check_mujoco, name_at
from phipsi.model.peers.mujoco.rest import note_rest
from phipsi.model.peers.mujoco.shapes import add_shapes
from phipsi.model.peers.mujoco.ties import Ties
from phipsi.model.peers.remarks import PlaceOf, Remarks, check_mimic, no_file
from phipsi.model.peers.same import Seat, check_kind, check_motion, is_near
from phipsi.model.plausibility import with_plausibility
from phipsi.model.report import Place, Report
from phipsi.model.tree import WORLD

PEER = "MuJoCo"
FIXED_CAMERA = 0


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
        ModelError: MuJoCo does not compile it; what `strict` refuses.

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
    found = convert(check_mujoco(model, "from_mujoco"), name, mimic, strict)
    return with_plausibility(found, strict)


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
    names, remarks = Names(mj), Remarks(strict, place_of)
    mj = as_switched(mj, remarks)
    builder = ModelBuilder(
        name or name_at(mj, 0) or "machine",
        mj.opt.gravity,
        strict,
        where=lambda body, part: _place(body, part, names, place_of),
    )
    ties = Ties(mj, names, mimic, remarks)
    seats = add_bodies(builder, mj, names, ties.mimics, remarks)
    _add_frames(builder, mj, names, seats, remarks)
    add_shapes(builder, mj, seats, remarks)
    ties.add_to(builder)
    note_rest(mj, names, remarks)
    model = builder.build()
    layout = layout_of_mujoco(model, mj)
    keyframes = keyframes_of(_keys(mj), layout, remarks)
    return replace(
        model,
        report=Report((*model.report, *remarks.lines)),
        layouts={"mujoco": layout},
        keyframes=keyframes,
    )


def layout_of_mujoco(model: Model, peer: Any, *, axes: bool = True) -> Layout:
    """Which numbers of a MuJoCo model are which of ours, the joints matched by name.

    For models of one file that both have read; `pp.from_mujoco` has it in
    `model.layouts`. A hinge or slide of ours may count from where MuJoCo does, or from
    where the machine is drawn, which MuJoCo calls `ref`.

    Args:
        model: ours.
        peer: a `mujoco.MjModel` of the same joints.
        axes: whether numbers must mean the same, too: axes, and from where they count.

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
    mj = check_mujoco(peer, "peer")
    names = Names(mj)
    index = {name: j for j, name in enumerate(names.joints)}
    free = [name for name, j in index.items() if mj.jnt_type[j] == FREE]
    numbers = match_names(model, PEER, index, free)
    draft, frames = Draft(PEER, mj.nq, mj.nv, model), drawn_frames(mj)
    carriers = joint_carriers(mj)
    seats: dict[int, Seat] = {}
    for body, joint in zip(model.bodies, model.joints, strict=True):
        j = numbers[joint.name]
        check_kind(joint, kind_of(mj, j), PEER)
        shift, place = _shift(mj, j, joint, frames[j], axes)
        seats[j] = Seat(names.joints[j], kind_of(mj, j), place, carriers[j])
        q, v = int(mj.jnt_qposadr[j]), int(mj.jnt_dofadr[j])
        if isinstance(joint.kind, Free):
            if body.parent != WORLD or joint.placement != HERE:
                raise InputError(
                    f"joint {joint.name!r} is free and not placed at the world's own frame, "
                    "from which MuJoCo counts; place it there"
                )
            draft.arrange(joint, q, v, (4, 5, 6, 3, 0, 1, 2), (3, 4, 5, 0, 1, 2))
            draft.turn(joint, v)
        elif isinstance(joint.kind, Spherical):
            draft.arrange(joint, q, v, (3, 0, 1, 2))
        else:
            draft.arrange(joint, q, v, shift=shift)
    if axes:
        check_motion(model, [seats[j] for j in range(mj.njnt)], numbers, PEER)
    return draft.finish()


def _shift(mj: Any, j: int, joint: Joint, drawn: Placement, axes: bool) -> tuple[float, Placement]:
    """What MuJoCo's coordinate of a joint is where ours is zero, and where it is placed then.

    InputError if it is not known.
    """
    reference, counted = reference_of(mj, j), joint_frame(mj, j, drawn)
    if is_near(joint.placement, counted):
        return 0.0, counted
    if is_near(joint.placement, drawn):
        return reference, drawn
    if reference and axes:
        raise InputError(
            f"joint {joint.name!r} counts from {reference:.6g} in MuJoCo, its ref, and is placed "
            "otherwise here, so that it is not known from where ours counts; set its ref to zero"
        )
    return 0.0, counted


def _add_frames(
    builder: ModelBuilder, mj: Any, names: Names, seats: Seats, remarks: Remarks
) -> None:
    """Sites, and cameras that are fixed on bodies."""
    for i, name in enumerate(names.sites):
        _add_frame(builder, seats[mj.site_bodyid[i]], name, mj.site_pos[i], mj.site_quat[i])
    for i, name in enumerate(names.cameras):
        if mj.cam_mode[i] == FIXED_CAMERA:
            _add_frame(builder, seats[mj.cam_bodyid[i]], name, mj.cam_pos[i], mj.cam_quat[i])
        else:
            text = f"camera {name!r} follows what it looks at, and is ignored"
            remarks.say("ignored", text, "camera", name)
    for what, found, given in (
        ("site", names.sites, [mj.site(i).name for i in range(mj.nsite)]),
        ("camera", names.cameras, [mj.camera(i).name for i in range(mj.ncam)]),
    ):
        renamed = [old for old, new in zip(given, found, strict=True) if old not in ("", new)]
        text = f"a body or frame has this name, so it is called NAME_{what}"
        remarks.say_of_all("kept", text, what, renamed)


def _add_frame(builder: ModelBuilder, seat: Any, name: str, position: Any, quaternion: Any) -> None:
    carrier, place = seat
    own = place.then(placement(position, quaternion))
    builder.add_frame(name, carrier, own.position, own.rotation)


def _keys(mj: Any) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The states that the model names."""
    taken = {mj.key(k).name for k in range(mj.nkey)}
    for k in range(mj.nkey):
        yield mj.key(k).name or take(f"key{k}", taken), mj.key_qpos[k], mj.key_qvel[k]


def _place(name: str, part: Part, names: Names, place_of: PlaceOf) -> Place | None:
    """Where a file tells of a body, as the builder puts it in front of its messages."""
    body, joint = names.carried.get(name, (name, ""))
    on_joint = joint and part not in ("body", "inertia")
    return place_of("joint", joint) if on_joint else place_of("body", body)
