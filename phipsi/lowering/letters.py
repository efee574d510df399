"""The primitive letters, block by block, to be read beside the papers.

Each is stated in link axes for body k with parent p. Where world axes are
asked for, `letter` turns the result: `A_world = X A X*`, X_k = diag(R_k, R_k).
The letter X itself is what turns, so it has no turn left to do in world axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from phipsi import spatial
from phipsi.algebra import elements
from phipsi.algebra import operators as op
from phipsi.algebra.alphabet import tells
from phipsi.algebra.node import Symbol
from phipsi.algebra.spaces import BASE, BODY, COORDINATES, JOINT, POINTS, POSE, SCALAR, Space
from phipsi.errors import InputError, LoweringError, SolveError
from phipsi.lowering.pivots import moved_inertia, vanishes, vanishing_pivot
from phipsi.model.configuration import joint_coordinates, joint_speeds
from phipsi.model.model import Model, Point
from phipsi.model.tree import WORLD

if TYPE_CHECKING:
    from phipsi.lowering.dense import DenseMachine

VELOCITY = np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])  # [omega; v] -> [0; v]
SPATIAL = len(VELOCITY)  # size of the base's and of a point's block; a body brings its own
PLACE = 16  # size of a pose: a homogeneous matrix, row by row


class Kinematics:
    """The pieces of each body at a configuration, in link axes.

    phi[k] is phi(p,k), H_star[k] is H*(k), Gamma[k][a] is D_a H*(k), turn[k] is X_k, and
    origin[k] where the frame of k stands in the world, as a column.
    """

    def __init__(self, m: DenseMachine):
        self.phi: list[np.ndarray] = []
        self.H_star: list[np.ndarray] = []
        self.Gamma: list[list[np.ndarray]] = []
        self.turn: list[np.ndarray] = []
        self.origin: list[np.ndarray] = []
        for joint, body in zip(m.model.joints, m.model.bodies, strict=True):
            q = joint_coordinates(joint, m.q)
            base, (R, l) = joint.placement, joint.kind.transform(q)
            R = spatial.compose(base.rotation, R)
            l = spatial.add(base.position, spatial.apply(base.rotation, l))
            turn, origin = m.array(spatial.phi(R, spatial.ZERO3)), m.array([[x] for x in l])
            if body.parent != WORLD:
                inboard = self.turn[body.parent]
                origin = self.origin[body.parent] + _rotation(inboard) @ origin
                turn = inboard @ turn
            self.phi.append(m.array(spatial.phi(R, l)))
            self.H_star.append(m.array(joint.kind.motion_map(q)))
            self.Gamma.append([m.array(part) for part in joint.kind.map_derivatives(q)])
            self.turn.append(turn)
            self.origin.append(origin)

    def velocities(self, m: DenseMachine) -> list[np.ndarray]:
        """V_k = phi*(p,k) V_p + H*(k) beta(k), as columns [001 (7)]."""
        V: list[np.ndarray] = []
        for k, p in enumerate(m.model.tree.parent):
            own = self.H_star[k] @ speeds(m, k)
            V.append(own if p == WORLD else star(self.phi[k]) @ V[p] + own)
        return V

    def map_rates(self, m: DenseMachine) -> list[np.ndarray]:
        """dH*(k)/dt = sum_a Gamma_a beta_a, in the axes of k."""
        rates = []
        for k, H_star in enumerate(self.H_star):
            beta = speeds(m, k)
            terms = (Gamma * beta[..., i : i + 1, :] for i, Gamma in enumerate(self.Gamma[k]))
            rates.append(sum(terms, start=np.zeros_like(H_star)))
        return rates


def letter(symbol: Symbol, turned: bool = True) -> Callable[[Callable], Callable]:
    """Have the record of a letter know its link-axes meaning; world axes follow by turning it.

    Where `turned` is false, the function knows the axes and states both meanings.
    """
    return tells(symbol, step="dense", turned=turned)


def letter_matrix(m: DenseMachine, symbol: Symbol) -> np.ndarray:
    """The matrix of a primitive letter, in the axes asked for."""
    steps, arguments = symbol.record.steps, symbol.arguments
    if steps.dense is None:
        raise LoweringError(
            f"{symbol} has no matrix: its record does not tell `dense=`; pp.compile may lower it"
        )
    link: np.ndarray = steps.dense(m, *arguments)
    if m.axes == "link" or not steps.turned:
        return link
    left, right = (_turn(m, space, arguments) for space in (symbol.target, symbol.source))
    return left @ link @ star(right)


# -- the machine -----------------------------------------------------------------------


@letter(op.H)
def _(m: DenseMachine) -> np.ndarray:
    """H = diag[H(k)] [001 (18)]."""
    return m.diagonal(JOINT, BODY, (star(h) for h in m.kinematics.H_star))


@letter(op.H_dot)
def _(m: DenseMachine) -> np.ndarray:
    """diag[(sum_a Gamma_a beta_a)*]: what the map itself changes, its frame left out."""
    return m.diagonal(JOINT, BODY, (star(rate) for rate in m.kinematics.map_rates(m)))


@letter(op.M)
def _(m: DenseMachine) -> np.ndarray:
    """M = diag[M(k)] [001 (2)]."""
    return m.diagonal(BODY, BODY, (body.inertia.matrix for body in m.model.bodies))


@letter(op.Jm)
def _(m: DenseMachine) -> np.ndarray:
    """Jm = diag[gear^2 rotor inertia], for each speed of the joint."""
    joints = m.model.joints
    blocks = (joint.reflected_inertia * np.eye(joint.kind.nv) for joint in joints)
    return m.diagonal(JOINT, JOINT, blocks)


@letter(op.E_phi)
def _(m: DenseMachine) -> np.ndarray:
    """phi(p(k),k) at block (p(k),k) [002 (2.7)]."""
    return _below_diagonal(m, m.kinematics.phi)


@letter(op.S)
def _(m: DenseMachine) -> np.ndarray:
    """The identity at block (p(k),k), between the axes of k and of p [000 sec. 2.1]."""
    turn, parent = m.kinematics.turn, m.model.tree.parent
    return _below_diagonal(m, [star(turn[p]) @ turn[k] for k, p in enumerate(parent)])


@letter(op.Delta_phi)
def _(m: DenseMachine) -> np.ndarray:
    """phi(p(k),k) at block (k,k), in the axes of k; at a root from the world [000 (3.28)]."""
    turn, parent = m.kinematics.turn, m.model.tree.parent
    to_own = [turn[k] if p == WORLD else star(turn[p]) @ turn[k] for k, p in enumerate(parent)]
    blocks = (star(x) @ phi for x, phi in zip(to_own, m.kinematics.phi, strict=True))
    return m.diagonal(BODY, BODY, blocks)


@letter(op.E)
def _(m: DenseMachine) -> np.ndarray:
    """phi*(world, k) at each root k [004-I (3.8)]."""
    result = m.zeros(BODY, BASE)
    for k in m.model.tree.roots:
        result[..., m.slices(BODY)[k], :] = star(m.kinematics.phi[k])
    return result


@letter(op.B)
def _(m: DenseMachine, *points: Point) -> np.ndarray:
    """phi(O_k, C_e) at (k, e) for point e on body k, in the axes of k [002 (2.13)]."""
    columns = []
    for point in m.points_of(points):
        k, place = m.model.locate(point)
        column = np.zeros((sum(m.sizes(BODY)), SPATIAL))
        if k != WORLD:
            column[m.slices(BODY)[k]] = spatial.phi(spatial.IDENTITY3, place.position)
        columns.append(column)
    return np.concatenate(columns, axis=-1)


@letter(op.X, turned=False)
def _(m: DenseMachine, *points: Point) -> np.ndarray:
    """diag(R_k, R_k) for each point on body k; I in world axes, and for a point on the world."""
    if m.axes == "world":
        return np.eye(SPATIAL * len(m.points_of(points)))
    return _turn(m, POINTS, points)


@letter(op.S_q)
def _(m: DenseMachine) -> np.ndarray:
    """Joint speeds from independent ones: the identity, a mimic's row its ratio."""
    result = m.zeros(JOINT, COORDINATES)
    for joint in m.model.joints:
        ratio = 1.0 if joint.mimic is None else joint.mimic.ratio
        result[..., joint.rows, joint.v] = ratio * np.eye(joint.kind.nv)
    return result


# -- composite and articulated inertias ------------------------------------------------


@letter(op.R)
def _(m: DenseMachine) -> np.ndarray:
    """tip_to_base: R(k) = M(k) + sum_c phi(k,c) R(c) phi*(k,c) [000 (5.44)]."""
    return m.diagonal(BODY, BODY, _composite(m))


@letter(op.P)
def _(m: DenseMachine) -> np.ndarray:
    """tip_to_base: P(k) = M(k) + sum_c phi(k,c) (tau_bar P)(c) phi*(k,c) [001 (35)].

    Departure: tau_bar P, not tau_bar P tau_bar*, which is wrong with rotor inertia.
    """
    return m.diagonal(BODY, BODY, _articulated(m)[0])


@letter(op.Y)
def _(m: DenseMachine) -> np.ndarray:
    """base_to_tip: Y(k) = H* D^-1 H + psi*(p,k) Y(p) psi(p,k) [002 (A.3)]."""
    P, D = _articulated(m)
    Y: list[np.ndarray] = []
    for k, p in enumerate(m.model.tree.parent):
        H_star = m.kinematics.H_star[k]
        DH = np.linalg.solve(D[k], star(H_star))
        psi = m.kinematics.phi[k] @ (np.eye(P[k].shape[-1]) - P[k] @ H_star @ DH)
        Y.append(H_star @ DH)
        if p != WORLD:
            Y[k] = Y[k] + star(psi) @ Y[p] @ psi
    return m.diagonal(BODY, BODY, Y)


def _composite(m: DenseMachine) -> list[np.ndarray]:
    """R(k) of every body."""
    phi = m.kinematics.phi
    R = [np.array(body.inertia.matrix, m.dtype) for body in m.model.bodies]
    for k in m.model.tree.tip_to_base:
        p = m.model.tree.parent[k]
        if p != WORLD:
            R[p] = R[p] + phi[k] @ R[k] @ star(phi[k])
    return R


def _articulated(m: DenseMachine) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """P(k) and D(k) of every body; SolveError names the joint whose D vanishes."""
    phi, H_star, R = m.kinematics.phi, m.kinematics.H_star, _composite(m)
    P = [np.array(body.inertia.matrix, m.dtype) for body in m.model.bodies]
    D: list[np.ndarray] = [np.empty(0)] * len(P)
    for k in m.model.tree.tip_to_base:
        joint, p = m.model.joints[k], m.model.tree.parent[k]
        Jm = joint.reflected_inertia
        D[k] = star(H_star[k]) @ P[k] @ H_star[k] + Jm * np.eye(joint.kind.nv)
        if vanishes(D[k].real, Jm + moved_inertia(R[k], H_star[k])):
            raise SolveError(vanishing_pivot(joint))
        if p != WORLD:
            felt = P[k] - P[k] @ H_star[k] @ np.linalg.solve(D[k], star(H_star[k]) @ P[k])
            P[p] = P[p] + phi[k] @ felt @ star(phi[k])
    return P, D


# -- sensitivities ---------------------------------------------------------------------


@letter(op.HH)
def _(m: DenseMachine, *joint_and_axis: Any) -> np.ndarray:
    """HH(i) = S[H*(i) e_a] at i and at every body outboard of it [000 (2.13)]."""
    i, axis = joint_axis(m.model, *joint_and_axis)
    return _pick_off(m, i, axis, range(i, m.model.tree.end[i]))


@letter(op.HH_s)
def _(m: DenseMachine, *joint_and_axis: Any) -> np.ndarray:
    """HH(i) at every body strictly outboard of i [000 (2.12)]."""
    i, axis = joint_axis(m.model, *joint_and_axis)
    return _pick_off(m, i, axis, range(i + 1, m.model.tree.end[i]))


@letter(op.HH_delta)
def _(m: DenseMachine, *joint_and_axis: Any) -> np.ndarray:
    """HH(i) at i alone [000 (2.13)]."""
    i, axis = joint_axis(m.model, *joint_and_axis)
    return _pick_off(m, i, axis, range(i, i + 1))


@letter(op.Gamma_delta)
def _(m: DenseMachine, *joint_and_axis: Any) -> np.ndarray:
    """Gamma(i,a) = D_{ia} H*(i) at i."""
    i, axis = joint_axis(m.model, *joint_and_axis)
    result = m.zeros(BODY, JOINT)
    if m.kinematics.Gamma[i]:
        result[..., m.slices(BODY)[i], m.slices(JOINT)[i]] = m.kinematics.Gamma[i][axis]
    return result


@letter(elements.at)
def _(m: DenseMachine, *place: Any) -> np.ndarray:
    """I at body i, zero elsewhere."""
    return _selection(m, BODY, place)


@letter(elements.at_joint)
def _(m: DenseMachine, *place: Any) -> np.ndarray:
    """I at joint i, zero elsewhere."""
    return _selection(m, JOINT, place)


def _selection(m: DenseMachine, space: Space, place: tuple) -> np.ndarray:
    i, _ = joint_axis(m.model, *place)
    result = m.zeros(space, space)
    here = m.slices(space)[i]
    result[..., here, here] = np.eye(here.stop - here.start)
    return result


def _pick_off(m: DenseMachine, i: int, axis: int, bodies: range) -> np.ndarray:
    """S[H*(i) e_a] at the diagonal blocks of the given bodies, each in its own axes."""
    turn, h = m.kinematics.turn, m.kinematics.H_star[i][..., axis]
    HH = m.array(spatial.cross_force(list(np.moveaxis(h, -1, 0))))
    result = m.zeros(BODY, BODY)
    for k in bodies:
        to_own = star(turn[k]) @ turn[i]
        own = m.slices(BODY)[k]
        result[..., own, own] = to_own @ HH @ star(to_own)
    return result


def joint_axis(model: Model, *joint_and_axis: Any) -> tuple[int, int]:
    """A joint's number from its name or number, and one of its speeds, by default the first.

    A number below zero counts from the end, as in Python: -k is joint k of the papers, which
    number from the tip.
    """
    if len(joint_and_axis) not in (1, 2):
        raise InputError(
            "HH, HH_s, HH_delta and Gamma_delta belong to a joint and one of its speeds, at and "
            "at_joint to a body: write HH(joint) or HH(joint, axis)"
        )
    joint, axis = (*joint_and_axis, 0)[:2]
    n = len(model.joints)
    i = model.index(joint) if isinstance(joint, str) else joint
    if _is_index(i, n, first=-n) and i < 0:
        i += n
    if not _is_index(i, n):
        raise InputError(f"no joint {joint!r}; expected a name or a number from 0 to {n - 1}")
    speeds = model.joints[i].kind.nv
    if not _is_index(axis, speeds):
        raise InputError(
            f"joint {model.joints[i].name!r} has no speed {axis!r}; expected a number "
            f"from 0 to {speeds - 1}"
        )
    return int(i), int(axis)


def _is_index(i: Any, n: int, first: int = 0) -> bool:
    return isinstance(i, (int, np.integer)) and not isinstance(i, bool) and bool(first <= i < n)


# -- vectors ---------------------------------------------------------------------------


@letter(op.beta)
def _(m: DenseMachine) -> np.ndarray:
    """The speeds of every joint, a mimic's from the joint it follows."""
    return _stack(m, JOINT, (speeds(m, k) for k in range(len(m.model.joints))))


@letter(op.gravity)
def _(m: DenseMachine) -> np.ndarray:
    """The base's acceleration -[0; g], which is felt as gravity [004-I (3.21)]."""
    return -np.array([0.0, 0.0, 0.0, *m.model.gravity])[:, None]


@letter(op.a)
def _(m: DenseMachine) -> np.ndarray:
    """a(k) = V~ H* beta + (dH*/dt) beta, with dH*/dt = sum_a Gamma_a beta_a [001 (8)].

    In world axes the acceleration is alpha = A + c with c = [0; omega x v], so
    a gains c(k) - phi*(p,k) c(p): the papers' omega x (omega x l) [004-I (2.19)].
    """
    kin, V = m.kinematics, m.kinematics.velocities(m)
    c, H_dot_star = [_convective_in_alpha(m, x) for x in V], kin.map_rates(m)
    blocks = []
    for k, p in enumerate(m.model.tree.parent):
        beta = speeds(m, k)
        a = _cross(m, V[k]) @ kin.H_star[k] @ beta + H_dot_star[k] @ beta + c[k]
        blocks.append(a if p == WORLD else a - star(kin.phi[k]) @ c[p])
    return _stack(m, BODY, blocks)


@letter(op.b)
def _(m: DenseMachine) -> np.ndarray:
    """b(k) = S[V] M V in link axes; - M c more in world axes [001 (11)]."""
    blocks = []
    for body, V in zip(m.model.bodies, m.kinematics.velocities(m), strict=True):
        M = body.inertia.matrix
        blocks.append(-star(_cross(m, V)) @ M @ V - M @ _convective_in_alpha(m, V))
    return _stack(m, BODY, blocks)


@letter(op.c)
def _(m: DenseMachine, *points: Point) -> np.ndarray:
    """c(e) = [0; omega x v] of point e, with [omega; v] = B* V; 0 for a point on the world.

    The classical acceleration of the point is X (B* alpha + c). In world axes alpha
    is that of the body's origin already, so c lacks it: [0; omega x (omega x x)].
    """
    V = m.kinematics.velocities(m)
    blocks = []
    for point in m.points_of(points):
        k, place = m.model.locate(point)
        if k == WORLD:
            blocks.append(m.array([[0.0]] * SPATIAL))
            continue
        B_star = star(np.array(spatial.phi(spatial.IDENTITY3, place.position)))
        c = _convective(m, B_star @ V[k])
        blocks.append(c - B_star @ _convective_in_alpha(m, V[k]))
    return np.concatenate(blocks, axis=-2)


@letter(op.pose)
def _(m: DenseMachine) -> np.ndarray:
    """[[R_k, x_k], [0, 1]] row by row; in the world, whatever the axes."""
    blocks = []
    for turn, origin in zip(m.kinematics.turn, m.kinematics.origin, strict=True):
        R = _rotation(turn)
        upper = np.concatenate([R, np.broadcast_to(origin, (*R.shape[:-1], 1))], axis=-1)
        lower = np.broadcast_to([[0.0, 0.0, 0.0, 1.0]], (*R.shape[:-2], 1, 4))
        whole = np.concatenate([upper, lower], axis=-2)
        blocks.append(whole.reshape(*whole.shape[:-2], PLACE, 1))
    return _stack(m, POSE, blocks)


@letter(op.U)
def _(m: DenseMachine) -> np.ndarray:
    """U = -sum_k m_k g . x_k over the mass centres, what is welded to the world included."""
    g = np.array([m.model.gravity])
    welded = m.model.base_inertia
    U = m.array([[0.0]]) - welded.mass * g @ _column(welded.com)
    places = zip(m.kinematics.turn, m.kinematics.origin, strict=True)
    for body, (turn, origin) in zip(m.model.bodies, places, strict=True):
        x = origin + _rotation(turn) @ _column(body.inertia.com)
        U = U - body.inertia.mass * g @ x
    return U


def speeds(m: DenseMachine, k: int) -> np.ndarray:
    """beta(k) as a column."""
    assert m.v is not None, "checked before evaluation, by `of_speeds`"
    return m.array([[x] for x in joint_speeds(m.model.joints[k], m.v)])


def _cross(m: DenseMachine, V: np.ndarray) -> np.ndarray:
    """V~ of a column V."""
    return m.array(spatial.cross_motion(list(np.moveaxis(V[..., 0], -1, 0))))


def _convective(m: DenseMachine, V: np.ndarray) -> np.ndarray:
    """[0; omega x v]: what a classical acceleration has more than a componentwise one."""
    return _cross(m, V) @ VELOCITY @ V


def _convective_in_alpha(m: DenseMachine, V: np.ndarray) -> np.ndarray:
    """How much of it alpha holds: alpha is A in link axes, classical in world axes."""
    return _convective(m, V) if m.axes == "world" else 0.0 * V


# -- assembly --------------------------------------------------------------------------


def star(matrix: np.ndarray) -> np.ndarray:
    """The transpose, without complex conjugate."""
    return np.swapaxes(matrix, -1, -2)


def _rotation(turn: np.ndarray) -> np.ndarray:
    """R of diag(R, R)."""
    return turn[..., :3, :3]


def _column(vector: Iterable[float]) -> np.ndarray:
    return np.array([[x] for x in vector])


def _below_diagonal(m: DenseMachine, blocks: list[np.ndarray]) -> np.ndarray:
    """Block k at (p(k), k)."""
    result = m.zeros(BODY, BODY)
    at = m.slices(BODY)
    for k, p in enumerate(m.model.tree.parent):
        if p != WORLD:
            result[..., at[p], at[k]] = blocks[k]
    return result


def _stack(m: DenseMachine, space: Space, blocks: Iterable[np.ndarray]) -> np.ndarray:
    """The blocks as one column."""
    result = m.zeros(space, SCALAR)
    for block, row in zip(blocks, m.slices(space), strict=True):
        result[..., row, :] = block
    return result


def _turn(m: DenseMachine, space: Space, arguments: tuple) -> np.ndarray:
    """X: link axes to world axes, for a space."""
    if space is BODY:
        return m.diagonal(BODY, BODY, m.kinematics.turn)
    if space is POINTS:
        on = [m.model.locate(point)[0] for point in m.points_of(arguments)]
        turns = [np.eye(SPATIAL) if k == WORLD else m.kinematics.turn[k] for k in on]
        return _point_diagonal(m, turns)
    return np.eye(sum(m.sizes(space)))


def _point_diagonal(m: DenseMachine, blocks: list[np.ndarray]) -> np.ndarray:
    """diag[blocks], one for each point of a letter: others may stand for more or fewer points."""
    size = SPATIAL * len(blocks)
    result = np.zeros((*m.batch, size, size), m.dtype)
    for start, block in zip(range(0, size, SPATIAL), blocks, strict=True):
        own = slice(start, start + SPATIAL)
        result[..., own, own] = block
    return result
