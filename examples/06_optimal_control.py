"""Optimal control: an arm swings up with motors too weak to lift it, by CasADi and IPOPT.

python examples/06_optimal_control.py

Two rods hang down and shall stand upright after three seconds, at rest, with the least
effort. The motors give a third of what it takes to hold them out, so they must swing.
The equation of motion is one line of operators, exported to CasADi; trapezoids make it
constraints between 100 steps. Then the plan is tried in a simulation, with springs and
dampers that keep the arm near it.
"""

import casadi as ca
import numpy as np

import phipsi as pp
from phipsi.operators import C, Mass, T

arm = pp.examples.planar_arm(2)
hanging, upright = np.array([-np.pi / 2, 0.0]), np.array([np.pi / 2, 0.0])
limit = pp.gravity_force(arm, np.zeros(2)) / 3
duration, steps = 3.0, 100
times = np.linspace(0.0, duration, steps + 1)
dt = times[1]

motion = pp.export(arm, Mass.inv @ (T - C), to="casadi", name="motion")
print(motion)

opti = ca.Opti()
q, v, tau = (opti.variable(2, steps + 1) for _ in range(3))
vdot = motion.map(steps + 1)(q, v, tau)
for x, rate in ((q, v), (v, vdot)):
    opti.subject_to(ca.vec(x[:, 1:] - x[:, :-1] - dt / 2 * (rate[:, 1:] + rate[:, :-1])) == 0)
for k, state in ((0, hanging), (-1, upright)):
    opti.subject_to(ca.vertcat(q[:, k] - state, v[:, k]) == 0)
most = np.tile(0.9 * limit, steps + 1)  # what is left keeps the arm near its plan
opti.subject_to(opti.bounded(-most, ca.vec(tau), most))
opti.minimize(dt * ca.sumsqr(tau))
opti.set_initial(q, np.linspace(hanging, upright, steps + 1).T)
opti.solver("ipopt", {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes"})
found = opti.solve()
print(f"solved in {found.stats()['iter_count']} iterations, effort {found.value(opti.f):.1f}")
plan = [found.value(x).T for x in (q, v, tau)]
print(f"the plan takes at most {np.abs(plan[2]).max(axis=0).round(2)} of {limit.round(2)} N m")


def follow(t, q, v):
    """The torques of the plan, and what brings the arm back to it, as far as motors can."""
    q_plan, v_plan, tau_plan = ([np.interp(t, times, y) for y in x.T] for x in plan)
    return np.clip(tau_plan + 20.0 * (q_plan - q) + 5.0 * (v_plan - v), -limit, limit)


run = pp.simulate(arm, hanging, duration=duration, dt=1e-3, control=follow)
off = np.degrees(np.abs(run.q[-1] - upright).max())
print(f"simulated, it ends {off:.2f} degrees from upright")
run.plot("q", "tau", path="optimal_control.png")
print("see optimal_control.png: it swings back, then up")
