"""Springs in joints: forces that pull coordinates back to where they rest.

    tau = -k x(q),   U = k |x|^2 / 2

x is the tangent that leads from the rest to q, as the joint's `difference` has it, for all
joints whose coordinates form a vector space, and for balls, whose turn it is. A free joint, and
a planar one, are held by their turn and by the distance of their origin each for itself,
x = [turn; R* (l - l_rest)], as MuJoCo does: the logarithm of both together would pull as no
potential does.

A joint that follows another has its spring too, and the leader feels it, `ratio` times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from phipsi import spatial
from phipsi.model.configuration import columns
from phipsi.model.joints import Free, JointKind, Planar, Spherical
from phipsi.model.model import Joint, Model
from phipsi.scalars import Scalar
from phipsi.simulate.vectors import Numbers
from phipsi.spatial import Vector


class Springs:
    """The springs of a machine, for arrays or numbers of a graph.

    Args:
        model: the machine.

    >>> import phipsi as pp
    >>> from phipsi import joints
    >>> builder = pp.ModelBuilder("scales")
    >>> builder.add_body(
    ...     "pan", joint=joints.Prismatic((0, 0, 1)), mass=1.0, stiffness=100.0, rest=0.2
    ... )
    >>> springs = Springs(builder.build())
    >>> springs.force(np.array([0.1])), springs.energy(np.array([0.1]))
    (array([10.]), array([0.5]))
    """

    def __init__(self, model: Model):
        self._model = model

    @cached_property
    def joints(self) -> tuple[Joint, ...]:
        """The joints that have one."""
        return tuple(joint for joint in self._model.joints if joint.stiffness)

    def force(self, q: Any) -> Any:
        """What all springs pull with, as joint forces: nv entries."""
        tau: list[Any] = [0.0] * self._model.nv
        for joint, x in self._stretches(q):
            ratio = 1.0 if joint.mimic is None else joint.mimic.ratio
            for i, each in zip(range(joint.v.start, joint.v.stop), x, strict=True):
                tau[i] = tau[i] - joint.stiffness * ratio * each
        return _vector(tau, q)

    def energy(self, q: Any) -> Any:
        """What is stored in them, J: one entry."""
        total: Any = 0.0
        for joint, x in self._stretches(q):
            for each in x:
                total = total + 0.5 * joint.stiffness * each * each
        return _vector([total], q)

    def _stretches(self, q: Any) -> Iterator[tuple[Joint, Sequence[Scalar]]]:
        """How far each spring is from its rest."""
        for joint in self.joints:
            here = q[joint.q] if isinstance(q, Numbers) else columns(q, joint.q)
            rest = joint.rest or joint.kind.neutral()
            if joint.mimic is not None:
                yield joint, [joint.mimic.ratio * here[0] + (joint.mimic.offset - rest[0])]
            else:
                yield joint, stretch(joint.kind, rest, here)


def stretch(kind: JointKind, rest: Vector, q: Vector) -> Sequence[Scalar]:
    """x: how far a joint is from where its spring rests.

    >>> from phipsi.model.joints import Revolute
    >>> stretch(Revolute((0, 0, 1)), [0.5], [0.75])
    [0.25]
    """
    if isinstance(kind, (Free, Planar)):
        n = 4 if isinstance(kind, Free) else 1
        turn = Spherical().difference(rest[:4], q[:4]) if n == 4 else kind.difference(rest, q)[:1]
        apart = spatial.subtract(q[n:], rest[n:])
        if n == 4:
            axes = spatial.rotation_from_quaternion(q[:4])
            return [*turn, *spatial.apply(spatial.transpose(axes), apart)]
        x, y, _ = spatial.apply(spatial.rotation((0.0, 0.0, 1.0), -q[0]), [*apart, 0.0])
        return [*turn, x, y]
    return kind.difference(rest, q)


def _vector(entries: Sequence[Any], q: Any) -> Any:
    """Entries as a vector of the kind that q is."""
    if isinstance(q, Numbers):
        return Numbers(entries)
    return np.stack([np.broadcast_to(x, q.shape[:-1]) for x in entries], axis=-1)
