"""Random configurations of a whole machine, one or many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phipsi.errors import InputError
from phipsi.model.joints import JointKind, overrides

if TYPE_CHECKING:
    from phipsi.model.model import Joint

Seed = np.random.Generator | int | None
Size = int | tuple[int, ...] | None


class Draws:
    """How a machine draws configurations, joint after joint, tabulated once.

    Joints that move by addition, and stand side by side, share one draw of uniform numbers: each
    coordinate lies between two bounds, those of its kind or, of a joint of one coordinate, its
    limits. Joints whose kind has its own `draw` or `random` are asked; their limits hold too.

    Args:
        joints: those that own coordinates.
        nq: how many coordinates the machine has.
    """

    def __init__(self, joints: Sequence[Joint], nq: int):
        self.nq = nq
        self.steps: list[tuple[int, Joint | None]] = []  # so many numbers, then a joint
        at: list[int] = []  # coordinates that are made of uniform numbers,
        source: list[int] = []  # which of them,
        bounds: list[tuple[float, float]] = []  # and the bounds of each
        mirrors: list[tuple[int, float, float]] = []
        first = count = 0
        for joint in joints:
            kind, limits, n = joint.kind, joint.limits, joint.kind.nq
            is_asked = _is_own(kind, "draw") or _is_own(kind, "random")
            if is_asked:
                self.steps.append((count - first, joint))
                first = count
            else:
                count += n
            if n == 1 and math.isfinite(limits.upper - limits.lower):
                # a number more: a seed gives what it gave when joints drew by turns
                at.append(joint.q.start)
                source.append(count)
                bounds.append((limits.lower, limits.upper))
                count += 1
                continue
            if not is_asked:
                at += range(joint.q.start, joint.q.stop)
                source += range(count - n, count)
                bounds += [(-x, x) for x in kind.spread]
            if n == 1 and math.isfinite(limits.lower):
                mirrors.append((joint.q.start, limits.lower, 1.0))
            elif n == 1 and math.isfinite(limits.upper):
                mirrors.append((joint.q.start, limits.upper, -1.0))
        self.steps.append((count - first, None))
        self.at, self.source = np.array(at, int), np.array(source, int)
        self.lower, upper = np.array(bounds).reshape(-1, 2).T
        self.width = upper - self.lower
        mirrored, limit, side = np.array(mirrors).reshape(-1, 3).T
        self.mirrored, self.limit, self.side = mirrored.astype(int), limit, side

    def __call__(self, rng: np.random.Generator, size: tuple[int, ...] = ()) -> np.ndarray:
        """Configurations (*size, nq), or MemoryError."""
        try:
            q, uniform = np.empty((*size, self.nq)), []
        except ValueError:  # so NumPy calls a size beyond all memory
            raise MemoryError from None
        for count, joint in self.steps:
            uniform.append(rng.random((*size, count)))
            if joint is not None:
                q[..., joint.q] = _draw_joint(joint.kind, rng, size)
        u = uniform[0] if len(uniform) == 1 else np.concatenate(uniform, axis=-1)
        x = self.lower + self.width * u.take(self.source, -1)
        if len(self.steps) == 1:
            q = x
        else:
            q[..., self.at] = x
        if self.mirrored.size:
            apart = np.abs(q[..., self.mirrored] - self.limit)
            q[..., self.mirrored] = self.limit + self.side * apart
        return q


def _is_own(kind: JointKind, name: str) -> bool:
    return getattr(type(kind), name) is not getattr(JointKind, name)


def _draw_joint(kind: JointKind, rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    """Configurations (*size, nq) of one joint, as its kind draws them: one by one, or at once."""
    if not overrides(kind, "random", "draw"):
        return kind.draw(rng, size)
    drawn = [kind.random(rng) for _ in range(math.prod(size))]
    return np.reshape(drawn, (*size, kind.nq))


def generator_of(rng: Seed) -> np.random.Generator:
    """A generator itself, or one of a seed, or of None one that nobody can repeat."""
    if isinstance(rng, np.random.Generator):
        return rng
    is_seed = isinstance(rng, (int, np.integer)) and not isinstance(rng, bool)
    if rng is not None and not (is_seed and rng >= 0):
        raise InputError(
            f"rng is {rng!r}; expected np.random.default_rng(seed), or the seed: zero or more"
        )
    return np.random.default_rng(rng)


def checked_size(size: Any) -> tuple[int, ...]:
    """The shape of so many draws, () for a single one, or InputError."""
    if size is None:
        return ()
    shape = size if isinstance(size, (tuple, list)) else (size,)
    for n in shape:
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 0:
            raise InputError(f"size is {size!r}; expected a number of draws, or a shape of them")
    return tuple(int(n) for n in shape)
