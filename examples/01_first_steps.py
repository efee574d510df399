"""First steps: a machine, what moves it, how it moves, a picture of that.

python examples/01_first_steps.py
"""

import numpy as np

import phipsi as pp

# A machine: one of ours, or yours by pp.load("robot.urdf").
arm = pp.examples.planar_arm(2)  # two rods of 1 m and 1 kg, in a vertical plane
print(arm)

# Numbers follow the joints; joint(name) knows which are whose.
q = np.array([0.3, 0.9])  # rad
v = np.zeros(arm.nv)
print("the elbow is at", q[arm.joint("joint2").q], "of", q, "rad")

# What motors must do to hold it there, and what happens if they do nothing.
hold = pp.gravity_force(arm, q)
print("to hold it:       ", hold.round(3), "N m")
print("let go, it begins:", pp.forward_dynamics(arm, q, v, 0.0 * hold).round(3), "rad/s^2")
print("held, it rests:   ", pp.forward_dynamics(arm, q, v, hold).round(3), "rad/s^2")

# Where the tip is, and how it moves with the joints.
tip = pp.point("tip")
print("the tip moves by  ", pp.jacobian(arm, q, [tip])[3:].round(3).tolist(), "m/rad")

# Let it fall for three seconds, then lift it to where it was.
fall = pp.simulate(arm, q, duration=3.0)
print(fall, "keeps its energy to", f"{np.ptp(fall.energy):.0e} J")
spring = pp.control.PD(kp=80.0, kd=25.0, target=q, gravity=True)
lift = pp.simulate(arm, *fall.final, duration=4.0, control=spring)
print("lifted to", lift.q[-1].round(3), "and back at", q)

# A motion is data, and a picture. pp.view(lift) would play it in the browser.
print("highest speed:", np.abs(lift.joint("joint2").v).max().round(2), "rad/s")
lift.plot("q", "v", "energy", path="first_steps.png")
print("see first_steps.png")
