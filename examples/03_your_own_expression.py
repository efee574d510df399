"""Your own expression: type it as the papers print it, look at it, compile it.

python examples/03_your_own_expression.py
"""

import numpy as np

import phipsi as pp
from phipsi.operators import C, D, H, I, J, Jm, K, M, T, beta, phi, psi

robot = pp.examples.branching_tree()
q = robot.random(np.random.default_rng(0))
v = np.ones(robot.nv)

# An expression knows the spaces that it maps between; no machine is needed to write it.
mass = H @ phi @ M @ phi.T @ H.T + Jm
inverse = (I - H @ psi @ K).T @ D.inv @ (I - H @ psi @ K)
print("mass operator   ", mass)
print("and its inverse ", inverse)
try:
    phi @ M @ H
except pp.SpaceError as error:
    print("refused:        ", error)

# What it means on a machine, as an explicit matrix: slow, and the definition of all the rest.
product = pp.as_matrix(robot, mass @ inverse, q)
print(f"their product is one, to {np.abs(product - np.eye(robot.nv)).max():.0e}")
pivots = np.linalg.slogdet(pp.as_matrix(robot, D, q))[1]
print(f"log det Mass = {np.linalg.slogdet(pp.as_matrix(robot, mass, q))[1]:.9f}")
print(f"log det D    = {pivots:.9f}, and D is block diagonal")

# What it becomes: loops over the bodies, and these machine code.
accelerate = pp.compile(robot, inverse @ (T - C))
print(f"\n{accelerate}\n")
cost = accelerate.info()
print(f"{cost.sweeps} sweeps, {cost.flops} flops, {cost.path} code for {cost.lanes} states at once")
rest = np.zeros(robot.nv)
known = pp.forward_dynamics(robot, q, v, rest)
print(f"as pp.forward_dynamics, to {np.abs(accelerate(q, v, T=rest) - known).max():.0e} rad/s^2")

# One that no library has by name: how fast a push at one hand moves the other one.
left, right = pp.point("left hand"), pp.point("right hand")
coupling = J(left) @ mass.inv @ J(right).T
felt = pp.compile(robot, coupling)(q)
print("\nhow the left hand gives way to a push at the right one, m/s^2 per N:")
print(felt[3:, 3:].round(4))

# Several outputs share what they share.
both = pp.compile(robot, [beta.T @ mass @ beta, mass @ beta])
energy, momenta = both(q, v)
print(f"twice the kinetic energy {float(energy):.6f} is v* (Mass v) = {v @ momenta:.6f}")
