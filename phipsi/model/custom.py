"""A joint kind of the user's own, given by its transform."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from phipsi import spatial
from phipsi.masks import holds_masked
from phipsi.model.joints import JointKind
from phipsi.scalars import Dual, Scalar
from phipsi.spatial import Matrix, Vector

# What a user's pose(q) raises when it is given or returns the wrong thing.
_POSE_ERRORS = (TypeError, ValueError, IndexError, KeyError, AttributeError, ArithmeticError)


@dataclass(frozen=True)
class Custom(JointKind):
    """A joint given by its transform alone.

    `pose(q)` takes n scalars, 1 to 6, and returns (R, l) as nested lists, with the functions of
    `phipsi.scalars` where it needs sin or sqrt. The speeds are the rates of
    the coordinates; H* and its derivatives follow by differentiating `pose`:
    `H*_a = [vee(R* D_a R); R* D_a l]`.

    >>> from phipsi.scalars import cos, sin
    >>> def cam(q):  # rolls about z on a circle of radius 0.2
    ...     c, s = cos(q[0]), sin(q[0])
    ...     return [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]], [0.2 * c, 0.2 * s, 0.0]
    >>> [round(row[0], 6) for row in Custom(cam, 1).motion_map([0.5])]
    [0.0, 0.0, 1.0, 0.0, 0.2, 0.0]
    """

    pose: Callable[[list[Scalar]], tuple[Matrix, Vector]]
    size: int
    nq: int = field(init=False)
    nv: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nq", self.size)
        object.__setattr__(self, "nv", self.size)

    def transform(self, q: Vector) -> tuple[Matrix, Vector]:
        return self.pose(list(q))

    def motion_map(self, q: Vector) -> Matrix:
        n = self.size
        R, l = self.pose(list(Dual.variables(list(q))))
        R = [[Dual.lift(x, n) for x in row] for row in R]
        l = [Dual.lift(x, n) for x in l]
        back = [[x.value for x in row] for row in spatial.transpose(R)]
        columns = []
        for a in range(n):
            dR = [[x.derivatives[a] for x in row] for row in R]
            spin = spatial.compose(back, dR)
            slide = spatial.apply(back, [x.derivatives[a] for x in l])
            columns.append([spin[2][1], spin[0][2], spin[1][0], *slide])
        return spatial.transpose(columns)

    def map_derivatives(self, q: Vector) -> Sequence[Matrix]:
        n = self.size
        H = [[Dual.lift(x, n) for x in row] for row in self.motion_map(Dual.variables(list(q)))]
        return [[[x.derivatives[a] for x in row] for row in H] for a in range(n)]

    def problem(self) -> str | None:
        is_size = isinstance(self.size, int) and not isinstance(self.size, bool)
        if not callable(self.pose) or not is_size or not 1 <= self.size <= 6:
            return "a Custom joint needs a callable pose(q) -> (R, l) and an integer size, 1 to 6"
        beside = [1e-3 * (i + 1) for i in range(self.size)]  # what turns at 0 may stretch there
        return (
            self._pose_problem([0.0] * self.size, "0")
            or self._pose_problem(beside, str(beside))
            or self._derivative_problem()
            or self._batch_problem()
        )

    def _pose_problem(self, q: list[Scalar], where: str) -> str | None:
        """Why pose(q) is none."""
        try:
            R, l = self.pose(q)
            if holds_masked((R, l)):
                raise TypeError("it returns masked arrays")
            R, l = [[float(x) for x in row] for row in R], [float(x) for x in l]
        except _POSE_ERRORS as error:
            return (
                f"pose(q) of a Custom joint fails at q = {where} ({error}); it must return (R, l)"
            )
        if [len(row) for row in R] != [3, 3, 3] or len(l) != 3:
            return "pose(q) of a Custom joint must return (R, l), a 3x3 matrix and a 3-vector"
        if not spatial.is_rotation(R, 1e-9):
            return (
                "pose(q) of a Custom joint returns an R that is no rotation; R R* must be I, "
                f"which fails at q = {where}"
            )
        if not all(map(math.isfinite, l)):
            return f"pose(q) of a Custom joint returns the position {l}; expected finite numbers"
        return None

    def _derivative_problem(self) -> str | None:
        """Why H* cannot be had, nor its derivatives."""
        try:
            self.map_derivatives([0.0] * self.size)
        except _POSE_ERRORS as error:
            return (
                f"pose(q) of a Custom joint cannot be differentiated at q = 0 ({error}); "
                "write it with sin, cos, sqrt ... of phipsi.scalars, and where(less(a, b), x, y) "
                "for `x if a < b else y`"
            )
        return None

    def _batch_problem(self) -> str | None:
        """Why q cannot be a batch: each scalar of R and l must be one number, or one a state."""
        try:
            R, l = self.pose([np.zeros(2)] * self.size)
            for x in (*(x for row in R for x in row), *l):
                np.broadcast_to(x, 2)
        except _POSE_ERRORS as error:
            return (
                f"pose(q) of a Custom joint cannot take a batch, an array for each of q ({error}); "
                "return R and l as nested lists of scalars, not as arrays"
            )
        return None
