"""Configurations of a whole machine: checked, taken apart by joint, moved.

Arrays are `(*batch, n)`. Each joint sees its coordinates as scalars, a batch
being one array per scalar, so the joint kinds are written once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from phipsi.errors import InputError
from phipsi.masks import refuse_masked
from phipsi.model.joints import JointKind
from phipsi.model.model import Joint, Model
from phipsi.scalars import HUGE, Scalar

QUATERNION_TOLERANCE = 1e-6


def integrate(model: Model, q: ArrayLike, dq: ArrayLike) -> np.ndarray:
    """The configuration reached from q along the tangent dq, by arrays: see `pp.integrate`."""
    q, dq = check_configuration(model, "q", q), check_speeds(model, "dq", dq)
    batch = broadcast({"q": q.shape[:-1], "dq": dq.shape[:-1]})
    result = np.empty((*batch, model.nq), np.result_type(q, dq))
    at_q, at_v, curved = straight_joints(model, "integrate")
    result[..., at_q] = q[..., at_q] + dq[..., at_v]
    for joint in curved:
        moved = joint.kind.integrate(columns(q, joint.q), columns(dq, joint.v))
        set_columns(result, joint.q, moved)
    return result


def difference(model: Model, q0: ArrayLike, q1: ArrayLike) -> np.ndarray:
    """The tangent that leads from q0 to q1, by arrays: see `pp.difference`."""
    q0, q1 = check_configuration(model, "q0", q0), check_configuration(model, "q1", q1)
    batch = broadcast({"q0": q0.shape[:-1], "q1": q1.shape[:-1]})
    result = np.empty((*batch, model.nv), np.result_type(q0, q1))
    at_q, at_v, curved = straight_joints(model, "difference")
    result[..., at_v] = q1[..., at_q] - q0[..., at_q]
    for joint in curved:
        tangent = joint.kind.difference(columns(q0, joint.q), columns(q1, joint.q))
        set_columns(result, joint.v, tangent)
    return result


def straight_joints(model: Model, move: str) -> tuple[np.ndarray, np.ndarray, list[Joint]]:
    """Where joints stand in q and v that move by addition, and the joints that do not.

    Args:
        model: the machine.
        move: "integrate" or "difference".
    """
    found = model.functions.get(("straight", move))
    if found is None:
        plain = getattr(JointKind, move)
        straight = [x for x in model.leaders if getattr(type(x.kind), move) is plain]
        curved = [x for x in model.leaders if getattr(type(x.kind), move) is not plain]
        places = ([x.q for x in straight], [x.v for x in straight])
        at_q, at_v = (
            np.array([i for s in part for i in range(s.start, s.stop)], int) for part in places
        )
        found = model.functions["straight", move] = at_q, at_v, curved
    return found


def joint_coordinates(joint: Joint, q: np.ndarray) -> list[Scalar]:
    """A joint's own coordinates as scalars, a mimic's from the joint it follows."""
    own = columns(q, joint.q)
    if joint.mimic is None:
        return own
    return [joint.mimic.ratio * x + joint.mimic.offset for x in own]


def joint_speeds(joint: Joint, v: np.ndarray) -> list[Scalar]:
    """A joint's own speeds as scalars, a mimic's from the joint it follows."""
    own = columns(v, joint.v)
    return own if joint.mimic is None else [joint.mimic.ratio * x for x in own]


def columns(x: np.ndarray, part: slice) -> list[Scalar]:
    """The entries of the last axis as scalars: arrays over the batch, plain numbers without one."""
    if x.ndim == 1:
        return x[part].tolist()
    return [x[..., i] for i in range(part.start, part.stop)]


def set_columns(x: np.ndarray, part: slice, scalars: Sequence[Scalar]) -> None:
    """The inverse of `columns`: scalars into the entries of the last axis."""
    for i, scalar in zip(range(part.start, part.stop), scalars, strict=True):
        x[..., i] = scalar


def check_configuration(model: Model, name: str, q: ArrayLike) -> np.ndarray:
    """q as an array of finite numbers (*batch, nq) with unit quaternions, or InputError."""
    if not isinstance(model, Model):
        raise InputError(f"model: expected a Model, got {type(model).__name__}")
    array = check_array(name, q, (model.nq,), f"nq of {model.name!r} being {model.nq}")
    for joint in model.leaders:
        part = joint.kind.quaternion
        if part is not None:
            check_quaternion(name, joint.name, array[..., joint.q][..., part])
    return array


def check_quaternion(name: str, joint: str, x: np.ndarray) -> None:
    """InputError unless the quaternions (*batch, 4) of a joint have the length one."""
    square = np.sum(x * x, axis=-1)
    if np.any(np.abs(square - 1.0) > QUATERNION_TOLERANCE):
        worst = float(np.sqrt(np.abs(square)).flat[np.argmax(np.abs(square - 1.0))])
        raise InputError(
            f"{name}: the quaternion of joint {joint!r} has length {worst:.9g}; "
            "expected 1 (x, y, z, w order; divide it by its length)"
        )


def check_speeds(model: Model, name: str, v: ArrayLike) -> np.ndarray:
    """v as an array of finite numbers (*batch, nv), or InputError."""
    return check_array(name, v, (model.nv,), f"nv of {model.name!r} being {model.nv}")


def check_array(
    name: str, value: ArrayLike, shape: Sequence[int], reason: str, alternative: str = ""
) -> np.ndarray:
    """An array of finite numbers, none huge, whose last axes have this shape, or InputError.

    Computing is at least in double precision. Complex numbers pass, so that
    derivatives can be taken by a complex step, and long doubles do.

    Args:
        name: of the argument, for messages.
        value: what the user has passed.
        shape: of the last axes.
        reason: why this shape, as a clause.
        alternative: what else the user could have passed, as " or ...".
    """
    refuse_masked(name, value)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufcO":  # text and dates are refused
            raise TypeError
        missing = _first_missing(array)
        numeric = np.float64 if array.dtype.kind == "O" else array.dtype
        array = array.astype(np.result_type(numeric, np.float64), copy=False)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name}: expected numbers{alternative}, got {value!r}") from None
    if missing is not None:
        entry = f"{name}{list(missing)}" if missing else name
        raise InputError(f"{entry}: expected numbers{alternative}, got None")
    if array.shape[array.ndim - len(shape) :] != tuple(shape):
        expected = "(*batch" + "".join(f", {n}" for n in shape) + ")"
        raise InputError(
            f"{name} has shape {array.shape}; expected {expected}, {reason}{alternative}"
        )
    with np.errstate(over="ignore"):  # of the length of a complex number
        sensible = np.abs(array) <= HUGE  # NaN is not
    if not sensible.all():
        where = tuple(int(i) for i in np.argwhere(~sensible)[0])
        text = "finite numbers" if not np.isfinite(array[where]) else f"numbers below {HUGE:g}"
        entry = f"{name}{list(where)}" if where else name
        raise InputError(f"{entry} is {array[where]}; expected {text}")
    return array


def _first_missing(array: np.ndarray) -> tuple[int, ...] | None:
    """Where None stands among numbers: NumPy would make NaN of it. None if nowhere."""
    if array.dtype.kind != "O":
        return None
    return next((i for i, x in np.ndenumerate(array) if x is None), None)


def broadcast(batches: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The common batch shape, or InputError naming the arrays that do not broadcast."""
    try:
        return np.broadcast_shapes(*batches.values())
    except ValueError:
        shapes = ", ".join(f"{name} {shape}" for name, shape in batches.items() if shape)
        raise InputError(f"the batches do not broadcast: {shapes}") from None
