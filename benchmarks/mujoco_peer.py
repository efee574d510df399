"""MuJoCo as a contender, in a loop of C over the states.

Its model has our parameters, not those it would read from the file: of URDF files it takes
meshes for inertias, and mimic joints for constraints. Without contacts, limits, friction and
damping the physics is the same, and the answers too. The work is not quite: `mj_forward` and
`mj_inverse` go through all stages of a simulator, with nothing in most of them.

MuJoCo's free joint has q = [position, quaternion w x y z] and v = [velocity in world axes,
omega in body axes]; ours both in body axes, so the coordinates of its accelerations differ by
omega x v as well. The other joints are alike.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import phipsi as pp
from phipsi import joints
from phipsi.model.tree import WORLD

from .contender import MUJOCO, Trial, first
from .native import bind, load_c
from .robots import Robot
from .tasks import FORWARD, INVERSE, MASS, MASS_INVERSE, Task

FUNCTIONS = {
    FORWARD: "forward",
    INVERSE: "inverse",
    MASS: "mass",
    MASS_INVERSE: "mass_inverse",
}

ALL_BUT_GRAVITY = sum(
    int(flag)
    for name, flag in mujoco.mjtDisableBit.__members__.items()
    if name.startswith("mjDSBL_") and name != "mjDSBL_GRAVITY"
)

SOURCE = """
#include <string.h>
#include <mujoco/mujoco.h>

static void take(mjtNum* to, const double* from, long state, long size) {
    memcpy(to, from + state * size, size * sizeof(double));
}

void forward(const mjModel* m, mjData* d, long count, const double** inputs, double* out) {
    for (long s = 0; s < count; ++s) {
        take(d->qpos, inputs[0], s, m->nq);
        take(d->qvel, inputs[1], s, m->nv);
        take(d->qfrc_applied, inputs[2], s, m->nv);
        mj_forward(m, d);
        memcpy(out + s * m->nv, d->qacc, m->nv * sizeof(double));
    }
}

void inverse(const mjModel* m, mjData* d, long count, const double** inputs, double* out) {
    for (long s = 0; s < count; ++s) {
        take(d->qpos, inputs[0], s, m->nq);
        take(d->qvel, inputs[1], s, m->nv);
        take(d->qacc, inputs[2], s, m->nv);
        mj_inverse(m, d);
        memcpy(out + s * m->nv, d->qfrc_inverse, m->nv * sizeof(double));
    }
}

static void make_mass(const mjModel* m, mjData* d, const double* q, long state) {
    take(d->qpos, q, state, m->nq);
    mj_kinematics(m, d);
    mj_comPos(m, d);
    mj_crb(m, d);
}

void mass(const mjModel* m, mjData* d, long count, const double** inputs, double* out) {
    for (long s = 0; s < count; ++s) {
        make_mass(m, d, inputs[0], s);
        mj_fullM(m, d, out + s * m->nv * m->nv);
    }
}

void mass_inverse(const mjModel* m, mjData* d, long count, const double** inputs, double* out) {
    const long size = (long)m->nv * m->nv;
    double unit[size];
    memset(unit, 0, size * sizeof(double));
    for (long i = 0; i < m->nv; ++i) unit[i * m->nv + i] = 1.0;
    for (long s = 0; s < count; ++s) {
        make_mass(m, d, inputs[0], s);
        mj_factorM(m, d);
        mj_solveM(m, d, out + s * size, unit, m->nv);
    }
}
"""


@cache
def library() -> Any:
    folder = Path(mujoco.__file__).parent
    (shared,) = folder.glob("libmujoco.*")
    return load_c(SOURCE, f"-I{folder / 'include'}", str(shared), f"-Wl,-rpath,{folder}")


@cache
def model_of(robot: Robot) -> mujoco.MjModel:
    """Our parameters as MuJoCo's, every stage that can be left out left out."""
    spec = mujoco.MjSpec()
    spec.compiler.inertiafromgeom = 0
    spec.option.gravity = robot.model.gravity
    spec.option.disableflags = ALL_BUT_GRAVITY
    bodies: list[Any] = []
    for body, joint in zip(robot.model.bodies, robot.model.joints, strict=True):
        carrier = spec.worldbody if body.parent == WORLD else bodies[body.parent]
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, np.ravel(joint.placement.rotation))
        own = carrier.add_body(name=body.name, pos=joint.placement.position, quat=quaternion)
        (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.inertia.rotational
        own.explicitinertial = True
        own.mass, own.ipos = body.inertia.mass, body.inertia.com
        own.fullinertia = [xx, yy, zz, xy, xz, yz]
        own.add_joint(name=joint.name, armature=joint.reflected_inertia, **_kind(joint))
        bodies.append(own)
    return spec.compile()


def _kind(joint: pp.Joint) -> dict[str, Any]:
    kinds = mujoco.mjtJoint
    match joint.kind:
        case joints.Revolute():
            return {"type": kinds.mjJNT_HINGE, "axis": joint.kind.axis}
        case joints.Prismatic():
            return {"type": kinds.mjJNT_SLIDE, "axis": joint.kind.axis}
        case joints.Free():
            assert np.array_equal(joint.placement.matrix, np.eye(4)), "MuJoCo's start at the world"
            return {"type": kinds.mjJNT_FREE}
    raise TypeError(f"no MuJoCo joint for {type(joint.kind).__name__}")


# -- coordinates -------------------------------------------------------------------------


@dataclass(frozen=True)
class Base:
    """What converts a free base, of every state: rotations, omega x v; nothing if it is fixed."""

    R: np.ndarray  # (count, 3, 3)
    drift: np.ndarray  # (count, 3)


@cache
def base_of(robot: Robot) -> Base | None:
    """Of the robot's states."""
    if robot.base == "fixed":
        return None
    omega, velocity = robot.states["v"][:, :3], robot.states["v"][:, 3:6]
    return Base(_rotations(robot.states["q"][:, [3, 0, 1, 2]]), np.cross(omega, velocity))


def _rotations(quaternions: np.ndarray) -> np.ndarray:
    """Of quaternions w x y z, a row each."""
    R = np.zeros((len(quaternions), 9))
    for quaternion, row in zip(quaternions, R, strict=True):
        mujoco.mju_quat2Mat(row, quaternion)
    return R.reshape(-1, 3, 3)


@cache
def states_of(robot: Robot) -> dict[str, np.ndarray]:
    """The robot's states in MuJoCo's coordinates: v = S v, S = [0 R; 1 0] of a free base."""
    base, states = base_of(robot), robot.states
    if base is None:
        return states
    q = states["q"].copy()
    q[:, :7] = states["q"][:, [4, 5, 6, 3, 0, 1, 2]]
    vdot = states["vdot"].copy()
    vdot[:, 3:6] += base.drift
    rest = {"v": states["v"], "tau": states["tau"], "vdot": vdot}
    return {"q": q, **{name: _swap(base.R, x) for name, x in rest.items()}}


def state_to_ours(robot: Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Any states of MuJoCo in our coordinates, the way back of `states_of`: v = S* v."""
    if robot.base == "fixed":
        return q, v
    ours = q.copy()
    ours[:, :7] = q[:, [4, 5, 6, 3, 0, 1, 2]]
    return ours, _swap_back(_rotations(q[:, 3:7]), v)


def _swap(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """S x."""
    result = x.copy()
    result[:, :3], result[:, 3:6] = np.einsum("sij,sj->si", R, x[:, 3:6]), x[:, :3]
    return result


def _swap_back(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """S* x, along the second axis."""
    result = x.copy()
    result[:, :3], result[:, 3:6] = x[:, 3:6], np.einsum("sji,sj...->si...", R, x[:, :3])
    return result


def to_ours(robot: Robot, task: Task, results: np.ndarray) -> np.ndarray:
    """vdot = S* (qacc - [R (omega x v); 0]), tau = S* qfrc, matrices S* X S."""
    base = base_of(robot)
    if base is None:
        return results
    R, drift = base.R[: len(results)], base.drift[: len(results)]
    ours = _swap_back(R, results)
    if task.is_matrix:
        return _swap_back(R, ours.swapaxes(1, 2))  # symmetric
    if task is FORWARD:
        ours[:, 3:6] -= drift
    return ours


@dataclass(frozen=True)
class Loop:
    """MuJoCo's functions, called from C."""

    robot: Robot
    task: Task
    name: str = MUJOCO

    @cached_property
    def data(self) -> mujoco.MjData:
        return mujoco.MjData(model_of(self.robot))

    def on(self, count: int, out: np.ndarray) -> Trial:
        inputs = first(states_of(self.robot), self.task.arguments, count)
        function = getattr(library(), FUNCTIONS[self.task])
        run = bind(function, inputs, out, model_of(self.robot)._address, self.data._address)

        def answer() -> np.ndarray:
            run()
            return to_ours(self.robot, self.task, out)

        return Trial(run, answer, count)
