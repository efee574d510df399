"""The URDF files of example-robot-data, and the machines that we and Pinocchio read from them."""

from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from peers import pinocchio_bridge

import phipsi as pp

SHARED = "cmeel.prefix/share/example-robot-data/robots"
FOLDER = Path(str(distribution("example-robot-data").locate_file(SHARED)))
FILES = sorted(str(file.relative_to(FOLDER)) for file in FOLDER.rglob("*.urdf"))

# Files no machine can be read from, and why; the second can with its mimic joints freed.
EMPTY = "ur_description/urdf/ur3.urdf"
FOLLOWS_NOBODY = "alex_description/urdf/alex_psyonic_hands.urdf"
REFUSED = {
    EMPTY: "ur3.urdf:6: <robot> has no <link>",
    FOLLOWS_NOBODY: "mimics the unknown joint 'index_q1'",
}

# (file, base): arms, hands, wheels, legs; nothing chosen for being easy. * has mimic joints.
MACHINES = [
    ("ur_description/urdf/ur5_robot.urdf", "fixed"),
    ("panda_description/urdf/panda.urdf", "fixed"),  # *
    ("kinova_description/robots/kinova.urdf", "fixed"),
    ("z1_description/urdf/z1.urdf", "free"),  # its root link is called world
    ("baxter_description/urdf/baxter.urdf", "fixed"),  # *
    ("allegro_hand_description/urdf/allegro_left_hand.urdf", "fixed"),
    ("double_pendulum_description/urdf/double_pendulum_continuous.urdf", "free"),
    ("tiago_description/robots/tiago.urdf", "fixed"),  # continuous wheels
    ("pr2_description/urdf/pr2.urdf", "free"),  # *
    ("solo_description/robots/solo12.urdf", "free"),
    ("anymal_c_simple_description/urdf/anymal.urdf", "free"),
    ("hyq_description/robots/hyq_no_sensors.urdf", "free"),
    ("icub_description/robots/icub.urdf", "free"),
    ("human_description/robots/human.urdf", "free"),
    ("romeo_description/urdf/romeo_small.urdf", "free"),
    ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "free"),
    ("talos_data/robots/talos_full_v2.urdf", "free"),  # *
    ("talos_data/robots/talos_full_v2.urdf", "fixed"),  # *
]


@cache
def read(file: str, base: str) -> tuple[pp.Model, pinocchio_bridge.PinMachine]:
    mimic = "independent" if file == FOLLOWS_NOBODY else "enforce"
    machine = pp.load(FOLDER / file, base=base, mimic=mimic)
    return machine, pinocchio_bridge.from_urdf(machine, FOLDER / file, base)
