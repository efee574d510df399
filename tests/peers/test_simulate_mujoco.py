"""Steps beside MuJoCo's: where its schemes are ours, the same states to roundoff.

Semi-implicit Euler, with damping solved for, and Runge-Kutta are the same on hinges, slides and
balls. MuJoCo's free joint moves by velocities in world axes: another scheme.
"""

import machines
import mujoco
import numpy as np
import pytest
from peers.robots import FOLDER
from peers.test_mujoco import in_mujoco, state_in_mujoco

import phipsi as pp
from phipsi import joints

SCHEMES = {"euler": mujoco.mjtIntegrator.mjINT_EULER, "rk4": mujoco.mjtIntegrator.mjINT_RK4}
KINDS = [
    *(machines.revolute, machines.continuous, machines.prismatic),
    *(machines.universal, machines.spherical),
]
DT = 2e-3
every_scheme = pytest.mark.parametrize("integrator", SCHEMES)


def damped(model):
    """The damping of each speed, as the file of the machine states it."""
    return np.concatenate([np.full(x.kind.nv, x.damping) for x in model.joints])


def with_damping(model, rng):
    """The same machine with random damping."""
    builder = pp.ModelBuilder(model.name, gravity=model.gravity)
    for body, joint in zip(model.bodies, model.joints, strict=True):
        builder.add_body(
            body.name,
            "world" if body.parent < 0 else model.bodies[body.parent].name,
            joint.kind,
            position=joint.placement.position,
            rotation=joint.placement.rotation,
            mass=body.inertia.mass,
            com=body.inertia.com,
            inertia=body.inertia.rotational,
            damping=rng.uniform(0.1, 1.0),
        )
    return builder.build()


def mujoco_steps(model, q, v, tau, integrator, steps):
    """qpos and qvel after each step."""
    peer = in_mujoco(model)
    peer.opt.timestep, peer.opt.integrator = DT, SCHEMES[integrator]
    peer.dof_damping[:] = damped(model)
    data = mujoco.MjData(peer)
    data.qpos, _, _ = state_in_mujoco(model, q, v)
    data.qvel, data.qfrc_applied = v, tau
    states = []
    for _ in range(steps):
        mujoco.mj_step(peer, data)
        states.append((data.qpos.copy(), data.qvel.copy()))
    return states


def difference(model, run, states):
    """The largest distance from MuJoCo's states, turns of quaternions by their matrices."""
    worst = 0.0
    for k, (position, speeds) in enumerate(states, start=1):
        ours, _, _ = state_in_mujoco(model, run.q[k], run.v[k])
        for joint in model.joints:
            if isinstance(joint.kind, joints.Spherical):
                part = slice(joint.q.start, joint.q.stop)
                ours[part] *= np.sign(ours[part] @ position[part])
        apart = np.abs(ours - position).max(), np.abs(run.v[k] - speeds).max()
        worst = max(worst, *apart)
    return worst


@every_scheme
@pytest.mark.parametrize("seed", range(6))
def test_random_machines_step_as_in_mujoco(integrator, seed):
    rng = np.random.default_rng(seed)
    shape = ("chain", "tree", "forest")[seed % 3]
    model = with_damping(machines.random_machine(seed, 6, KINDS, shape), rng)
    q, v = machines.random_state(model, rng)
    tau = rng.normal(size=model.nv)
    run = pp.rollout(model, q, v, tau, DT, 5, integrator=integrator)
    assert difference(model, run, mujoco_steps(model, q, v, tau, integrator, 5)) < 1e-9


@every_scheme
@pytest.mark.parametrize(
    "file", ["ur_description/urdf/ur5_robot.urdf", "panda_description/urdf/panda.urdf"]
)
def test_real_robots_fall_as_in_mujoco(integrator, file):
    """A fifth of a second by machine code, with the damping of the file."""
    model = pp.load(FOLDER / file, mimic="independent")
    q = model.random(np.random.default_rng(1))
    tau = 0.5 * pp.gravity_force(model, q)
    how = {"integrator": integrator, "limits": False, "backend": "llvm"}
    run = pp.rollout(model, q, None, tau, DT, 100, **how)
    states = mujoco_steps(model, q, np.zeros(model.nv), tau, integrator, 100)
    assert np.abs(run.v).max() > 1.0
    assert difference(model, run, states) < 1e-9


# -- robots as they are ----------------------------------------------------------------------

STIFF = {  # joints whose damping acts within far less than a step
    "allegro_hand_description/urdf/allegro_left_hand.urdf": "euler",
    "z1_description/urdf/z1.urdf": "midpoint",
    "xarm_description/urdf/xarm7.urdf": "midpoint",
    "icub_description/robots/icub.urdf": "euler",
    "panda_description/urdf/panda.urdf": "rk4",
}


@pytest.mark.parametrize("file", STIFF)
def test_real_robots_fall_with_the_losses_of_their_files(file):
    """Without an integrator named; their energy falls from step to step, and they are soon slow."""
    (path,) = FOLDER.rglob(file.split("/")[-1])
    model = pp.load(path)
    run = pp.simulate(model, model.neutral(), None, 0.2, dt=1e-3, every=10, backend="llvm")
    assert run.about["integrator"] == STIFF[file]
    assert np.isfinite(run.q).all() and np.abs(run.v).max() < 10.0
    assert np.diff(run.energy).max() < 1e-6 * np.abs(run.energy).max()
