"""A million states of a robot, in one call: a batch is one more axis.

python examples/02_million_states.py
"""

from time import perf_counter

import numpy as np

import phipsi as pp

MILLION = 1_000_000


def timed(name, function, *arguments, **options):
    start = perf_counter()
    result = function(*arguments, **options)
    print(f"{name:40} {perf_counter() - start:6.2f} s")
    return result


robot = pp.examples.puma560()
rng = np.random.default_rng(0)
q, v, tau = rng.uniform(-1.0, 1.0, size=(3, MILLION, robot.nv))
pp.forward_dynamics(robot, q[0], v[0], tau[0])  # the first call compiles

# Accelerations of a million states, and the torques that would give them: there and back.
vdot = timed("forward dynamics of a million states", pp.forward_dynamics, robot, q, v, tau)
back = timed("inverse dynamics of a million states", pp.inverse_dynamics, robot, q, v, vdot)
print(f"and the torques come back to {np.abs(back - tau).max():.0e} N m")

# One at a time gives the same bits.
alone = pp.forward_dynamics(robot, q[12_345], v[12_345], tau[12_345])
print("the same bits alone as in the batch:", bool(np.all(alone == vdot[12_345])))

# Axes broadcast: 1,000 postures by 1,000 loads of the motors.
grid = pp.forward_dynamics(robot, q[:1000, None], v[:1000, None], tau[None, :1000])
print("a thousand postures by a thousand loads:", grid.shape)

# Where does the arm feel heaviest? The largest torque of the shoulder, among a million.
weight = timed("gravity at a million postures", pp.gravity_force, robot, q)[:, 1]
worst = np.argmax(np.abs(weight))
print(f"heaviest for joint 2: {weight[worst]:.1f} N m at {q[worst].round(2)}")

# And motions: 10,000 arms fall for a tenth of a second, a million steps of rk4 in all.
falls = timed(
    "10,000 motions of 100 steps",
    pp.rollout,
    *(robot, q[:10_000], None, None),
    dt=1e-3,
    steps=100,
    every=100,
)
print("final states:", falls.q[:, -1].shape)
