"""What is looked at: a machine at rest, or one motion of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from phipsi import dynamics
from phipsi.errors import InputError
from phipsi.model.configuration import check_configuration
from phipsi.model.model import Model
from phipsi.simulate.trajectory import Trajectory

SAMPLES = 60  # of a motion, to find the room that it takes


@dataclass(frozen=True, eq=False)
class Subject:
    """A machine, and what it does.

    Args:
        model: the machine.
        q: its configuration at first, (nq,).
        motion: what it does, of one machine and finite; None if it rests.
    """

    model: Model
    q: np.ndarray
    motion: Trajectory | None = None

    def poses(self, times: np.ndarray) -> np.ndarray:
        """The frames of the bodies at some times, (len(times), n, 4, 4)."""
        if self.motion is None:
            q = np.broadcast_to(self.q, (len(times), self.model.nq))
        else:
            q = self.motion.at(times)[0]
        return dynamics.body_poses(self.model, q)

    def samples(self) -> np.ndarray:
        """Times spread over the motion, its first and last among them."""
        if self.motion is None:
            return np.zeros(1)
        start, end = self.motion.times[[0, -1]]
        return np.linspace(start, end, SAMPLES)

    def frames(self, fps: float) -> np.ndarray:
        """The times at which a film has frames, the start among them.

        >>> import numpy as np, phipsi as pp
        >>> arm, rest = pp.examples.planar_arm(2), np.zeros((2, 2))
        >>> subject_of(Trajectory(arm, [0.0, 0.45], rest, rest)).frames(10)
        array([0. , 0.1, 0.2, 0.3, 0.4])
        """
        if self.motion is None:
            return np.zeros(1)
        start, end = self.motion.times[[0, -1]]
        count = math.floor((end - start) * fps + 1e-9) + 1
        return np.minimum(start + np.arange(count) / fps, end)


def subject_of(shown: Model | Trajectory, q: ArrayLike | None = None, member: int = 0) -> Subject:
    """What to look at, checked.

    Args:
        shown: a machine or a trajectory.
        q: configuration of a machine, (nq,); by default its neutral one, moved into
            the limits of the joints unless that would open loops.
        member: which of a batch, counted through all its axes.

    Raises:
        InputError: for arguments of wrong shape, type or value.
    """
    if isinstance(shown, Model):
        if q is None:
            return Subject(shown, resting(shown))
        return Subject(shown, one_configuration(shown, q))
    if not isinstance(shown, Trajectory):
        raise InputError(f"view: expected a Model or a Trajectory, got {type(shown).__name__}")
    if q is not None:
        raise InputError("view: a trajectory has its own configurations; leave out q")
    motion = member_of(shown, member)
    return Subject(shown.model, motion.q[0], motion)


def one_configuration(model: Model, q: ArrayLike) -> np.ndarray:
    """q as one configuration of real numbers, or InputError."""
    array = check_configuration(model, "q", q)
    if array.ndim != 1 or np.iscomplexobj(array):
        raise InputError(
            f"view: q has shape {array.shape}; expected one configuration, ({model.nq},), of reals"
        )
    return np.array(array, dtype=float)


def resting(model: Model) -> np.ndarray:
    """The neutral configuration, moved into the limits of the joints.

    A machine with loops stays as it is: files put it together in that configuration, and
    to move one joint would open its loops.

    >>> import phipsi as pp
    >>> builder = pp.ModelBuilder()
    >>> builder.add_body("knee", limits=pp.Limits(0.2, 2.0), mass=1.0, com=(1, 0, 0))
    >>> resting(builder.build())
    array([0.2])
    """
    q = model.neutral()
    if model.is_closed:
        return q
    for joint in model.leaders:
        if joint.kind.nq == 1:
            q[joint.q] = np.clip(q[joint.q], joint.limits.lower, joint.limits.upper)
    return q


def member_of(trajectory: Trajectory, member: int = 0) -> Trajectory:
    """One motion of a batch, up to its first state that is not finite.

    Args:
        trajectory: of one machine, or of a batch.
        member: which, counted through all axes of the batch.

    Raises:
        InputError: there is no such member, or its first state is not finite.

    >>> import numpy as np, phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> q = np.zeros((4, 3, 2))
    >>> q[2, 1:] = np.nan
    >>> member_of(Trajectory(arm, [0.0, 0.1, 0.2], q, 0 * q), 2)
    <Trajectory of 'planar arm of 2': 1 sample from 0 to 0 s>
    """
    count = math.prod(trajectory.batch)
    is_number = isinstance(member, Integral) and not isinstance(member, bool)
    if not is_number or not 0 <= member < count:
        raise InputError(f"view: member is {member!r}; expected a number from 0 to {count - 1}")
    motion = trajectory
    if trajectory.batch:
        motion = trajectory.member(*map(int, np.unravel_index(member, trajectory.batch)))
    if motion.finite.all():
        return motion
    shown = int(np.argmin(motion.finite))
    if shown == 0:
        raise InputError(f"view: member {member} begins with a state that is not finite")
    return motion[:shown]
