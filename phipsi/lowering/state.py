"""A machine at a state: the pieces of each body, and operators made of blocks.

The letters of the papers state their matrices in terms of it, block by block, in link axes for
body k with parent p. `DenseMachine` adds to it the matrices of whole expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from phipsi import spatial
from phipsi.algebra.spaces import BODY, POINTS, SCALAR, Space
from phipsi.errors import SolveError
from phipsi.lowering.inputs import SPATIAL, Inputs, joint_axis
from phipsi.lowering.pivots import bound_entries, is_roundoff, vanishing_pivot
from phipsi.model.configuration import joint_coordinates, joint_speeds
from phipsi.model.tree import WORLD
from phipsi.scalars import Scalar

Matrix = np.ndarray  # (*batch, rows, columns); a vector is one column
VELOCITY = np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])  # [omega; v] -> [0; v]


class Kinematics:
    """The pieces of each body at a configuration, in link axes.

    phi[k] is phi(p,k), H_star[k] is H*(k), Gamma[k][a] is D_a H*(k), turn[k] is X_k, and
    origin[k] where the frame of k stands in the world, as a column.
    """

    def __init__(self, m: MachineState):
        self.phi: list[Matrix] = []
        self.H_star: list[Matrix] = []
        self.Gamma: list[list[Matrix]] = []
        self.turn: list[Matrix] = []
        self.origin: list[Matrix] = []
        for joint, body in zip(m.model.joints, m.model.bodies, strict=True):
            q = joint_coordinates(joint, m.q)
            base, (R, l) = joint.placement, joint.kind.transform(q)
            R = spatial.compose(base.rotation, R)
            l = spatial.add(base.position, spatial.apply(base.rotation, l))
            turn, origin = m.array(spatial.phi(R, spatial.ZERO3)), m.array([[x] for x in l])
            if body.parent != WORLD:
                inboard = self.turn[body.parent]
                origin = self.origin[body.parent] + inboard[..., :3, :3] @ origin
                turn = inboard @ turn
            self.phi.append(m.array(spatial.phi(R, l)))
            self.H_star.append(m.array(joint.kind.motion_map(q)))
            self.Gamma.append([m.array(part) for part in joint.kind.map_derivatives(q)])
            self.turn.append(turn)
            self.origin.append(origin)


class MachineState:
    """A machine at a state, or at a batch of states, and how operators are made of blocks.

    Matrices are `(*batch, rows, columns)`; a vector is one column.

    Attributes:
        model: the machine.
        axes: "link" or "world", those that are asked for.
        q, v: (*batch, nq) and (*batch, nv) or None.
        sizes, slices, points_of: of a space, its block sizes and where its blocks stand; of a
            letter's arguments, its points.
    """

    def __init__(self, inputs: Inputs, axes: str):
        self.inputs, self.axes, self.model = inputs, axes, inputs.model
        self.q, self.v = inputs.q, inputs.v
        self.batch, self.dtype = inputs.batch, inputs.dtype
        self.sizes, self.slices, self.points_of = inputs.sizes, inputs.slices, inputs.points_of

    # -- the bodies --------------------------------------------------------------------

    @cached_property
    def kinematics(self) -> Kinematics:
        """The pieces of each body at this configuration."""
        return Kinematics(self)

    def speeds(self, k: int) -> Matrix:
        """beta(k) as a column."""
        assert self.v is not None, "checked before evaluation, by `of_speeds`"
        return self.array([[x] for x in joint_speeds(self.model.joints[k], self.v)])

    @cached_property
    def velocities(self) -> list[Matrix]:
        """V_k = phi*(p,k) V_p + H*(k) beta(k), as columns [001 (7)]."""
        kin, V = self.kinematics, list[Matrix]()
        for k, p in enumerate(self.model.tree.parent):
            own = kin.H_star[k] @ self.speeds(k)
            V.append(own if p == WORLD else kin.phi[k].mT @ V[p] + own)
        return V

    @cached_property
    def map_rates(self) -> list[Matrix]:
        """dH*(k)/dt = sum_a Gamma_a beta_a, in the axes of k."""
        rates = []
        for k, H_star in enumerate(self.kinematics.H_star):
            beta, parts = self.speeds(k), self.kinematics.Gamma[k]
            terms = (Gamma * beta[..., i : i + 1, :] for i, Gamma in enumerate(parts))
            rates.append(sum(terms, start=np.zeros_like(H_star)))
        return rates

    def turn(self, space: Space, arguments: tuple = ()) -> Matrix:
        """X: link axes to world axes, for a space; of points, those of a letter's arguments."""
        if space is BODY:
            return self.diagonal(BODY, BODY, self.kinematics.turn)
        if space is POINTS:
            on = [self.model.locate(point)[0] for point in self.points_of(arguments)]
            eye, turns = self.identity(SPATIAL), self.kinematics.turn
            return self._point_diagonal([eye if k == WORLD else turns[k] for k in on])
        return self.identity(sum(self.sizes(space)))

    def joint_axis(self, *joint_and_axis: Any) -> tuple[int, int]:
        """The joint that a letter belongs to, and which of its speeds."""
        return joint_axis(self.model, *joint_and_axis)

    def bound_entries(self, P: Matrix) -> Matrix:
        """t(P): how large its entries may have been."""
        return bound_entries(P)

    def check_pivot(self, k: int, D: Matrix, bound: Matrix) -> None:
        """SolveError that names joint k where D(k) may be zero but for roundoff.

        Args:
            k: which joint.
            D, bound: its pivot, and H N H*.
        """
        size = np.diagonal(bound, axis1=-2, axis2=-1).real
        if np.any(is_roundoff(D.real, size)):
            raise SolveError(vanishing_pivot(self.model.joints[k]))

    # -- blocks ------------------------------------------------------------------------

    def array(self, rows: Sequence[Sequence[Scalar]]) -> Matrix:
        """A matrix of scalars, each an array over the batch, as one array."""
        result = np.zeros((*self.batch, len(rows), len(rows[0])), self.dtype)
        for i, row in enumerate(rows):
            for j, x in enumerate(row):
                result[..., i, j] = x
        return result

    def identity(self, size: int) -> Matrix:
        """I."""
        return np.eye(size)

    def constant(self, rows: Sequence[Sequence[float]]) -> Matrix:
        """A matrix of numbers of the machine, the same at every state."""
        return np.array(rows)

    def column(self, numbers: Iterable[float]) -> Matrix:
        """Numbers of the machine, the same at every state, as a column."""
        return self.constant([[x] for x in numbers])

    def block_of(self, function: Callable[..., Any], vector: Matrix) -> Matrix:
        """A block made of a body's vector by a function of its entries, as S[x] is."""
        return self.array(function([vector[..., i, 0] for i in range(vector.shape[-2])]))

    def convective(self, V: Matrix) -> Matrix:
        """[0; omega x v]: what a classical acceleration has more than a componentwise one."""
        return self.block_of(spatial.cross_motion, V) @ VELOCITY @ V

    def solve(self, A: Matrix, B: Matrix) -> Matrix:
        """A^-1 B."""
        return np.linalg.solve(A, B)

    # -- operators of blocks -----------------------------------------------------------

    def zeros(self, target: Space, source: Space) -> Matrix:
        """The zero operator from `source` to `target`."""
        shape = sum(self.sizes(target)), sum(self.sizes(source))
        return np.zeros((*self.batch, *shape), self.dtype)

    def diagonal(self, target: Space, source: Space, blocks: Iterable[Matrix]) -> Matrix:
        """diag[blocks]."""
        result = self.zeros(target, source)
        places = zip(self.slices(target), self.slices(source), strict=True)
        for block, (row, column) in zip(blocks, places, strict=True):
            result[..., row, column] = block
        return result

    def below_diagonal(self, blocks: Sequence[Matrix]) -> Matrix:
        """Block k at (p(k), k)."""
        result, at = self.zeros(BODY, BODY), self.slices(BODY)
        for k, p in enumerate(self.model.tree.parent):
            if p != WORLD:
                result[..., at[p], at[k]] = blocks[k]
        return result

    def stack(self, space: Space, blocks: Iterable[Matrix]) -> Matrix:
        """The blocks of a vector as one column."""
        result = self.zeros(space, SCALAR)
        for block, row in zip(blocks, self.slices(space), strict=True):
            result[..., row, :] = block
        return result

    def stack_points(self, blocks: Sequence[Matrix]) -> Matrix:
        """The blocks of a vector as one column, one for each point of a letter."""
        return np.concatenate(blocks, axis=-2)

    def from_points(self, blocks: Iterable[tuple[int, Any]]) -> Matrix:
        """From point space to bodies: of each point the body that it is on, and its block."""
        columns = []
        for k, block in blocks:
            column = np.zeros((sum(self.sizes(BODY)), SPATIAL))
            if k != WORLD:
                column[self.slices(BODY)[k]] = block
            columns.append(column)
        return np.concatenate(columns, axis=-1)

    def _point_diagonal(self, blocks: list[Matrix]) -> Matrix:
        """diag[blocks], one for each point of a letter: others may stand for more or fewer."""
        size = SPATIAL * len(blocks)
        result = np.zeros((*self.batch, size, size), self.dtype)
        for start, block in zip(range(0, size, SPATIAL), blocks, strict=True):
            own = slice(start, start + SPATIAL)
            result[..., own, own] = block
        return result
