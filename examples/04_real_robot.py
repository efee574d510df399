"""A real robot: loaded from its URDF file, held, dropped, filmed.

python examples/04_real_robot.py              Franka's Panda, or a bundled machine
python examples/04_real_robot.py robot.urdf   a robot of yours
"""

import sys
from importlib.metadata import PackageNotFoundError, distribution

import numpy as np

import phipsi as pp

PANDA = "cmeel.prefix/share/example-robot-data/robots/panda_description/urdf/panda.urdf"


def find_robot() -> pp.Model:
    """The file that is named, the Panda if its package is installed, or a machine of ours."""
    if len(sys.argv) > 1:
        return pp.load(sys.argv[1])
    try:
        return pp.load(distribution("example-robot-data").locate_file(PANDA))
    except PackageNotFoundError:
        print("For real robots: pip install example-robot-data. Here is one of ours:")
        return pp.examples.puma560()


robot = find_robot()
print(robot)
for line in robot.report.remarks[:3]:
    print("  ", line)
for joint in robot.joints:
    lower, upper = joint.limits.lower, joint.limits.upper
    follows = "" if joint.mimic is None else f", follows {robot.joints[joint.mimic.source].name}"
    print(f"   {joint.name:22} {type(joint.kind).__name__:10} {lower:7.3f} {upper:7.3f}{follows}")

# From a random posture to the middle of its range, by computed torque.
middle = robot.neutral()
for joint in robot.leaders:
    if np.isfinite([joint.limits.lower, joint.limits.upper]).all():
        middle[joint.q] = 0.5 * (joint.limits.lower + joint.limits.upper)
start = robot.random(np.random.default_rng(3))
law = pp.control.ComputedTorque(kp=25.0, kd=10.0, target=middle)
motion = pp.simulate(robot, start, duration=4.0, control=law)
print(motion)
print(f"off its target by {np.abs(pp.difference(robot, motion.q[-1], middle)).max():.1e}")

# What its motors must do there: for its own weight, and for 10 kg more at the last body.
last = robot.bodies[-1].name
lifts = pp.jacobian(robot, middle, [pp.point(last)])[5]  # its row of z: m by rad
print("its own weight takes", pp.gravity_force(robot, middle).round(1), "N m")
print(f"10 kg at {last!r} take", (10.0 * 9.81 * lifts).round(1), "N m")

motion.plot(path="real_robot.png")
pp.view(motion, html="real_robot.html")
print("see real_robot.png, and real_robot.html in a browser")
