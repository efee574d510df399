"""Real robots, diagnosed: nothing is wrong with most; where something is, it is there."""

import numpy as np
import pytest
from peers.robots import FOLDER
from reference_dynamics import ExactMachine, relative_error

import phipsi as pp
from phipsi.explain.diagnosing.diagnose import diagnose

FINE = (
    ("ur_description/urdf/ur5_robot.urdf", "fixed"),
    ("panda_description/urdf/panda.urdf", "fixed"),
    ("kinova_description/robots/kinova.urdf", "fixed"),
    ("baxter_description/urdf/baxter.urdf", "fixed"),
    ("allegro_hand_description/urdf/allegro_left_hand.urdf", "fixed"),
    ("solo_description/robots/solo12.urdf", "free"),
    ("anymal_c_simple_description/urdf/anymal.urdf", "free"),
    ("hyq_description/robots/hyq_no_sensors.urdf", "free"),
    ("human_description/robots/human.urdf", "free"),
    ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "free"),
    ("talos_data/robots/talos_full_v2.urdf", "free"),
)


@pytest.mark.parametrize(("file", "base"), FINE, ids=lambda x: x.rpartition("/")[2])
def test_robots_are_fine(file, base):
    model = pp.load(FOLDER / file, base=base)
    found = diagnose(model, model.random(np.random.default_rng(0)))
    assert {each.measure: str(each) for each in found if each.status != "fine"} == {}


def test_negative_moments_in_a_file_are_found():
    """RHipPitch_link has the principal moment -0.00282 kg m^2, and the grippers have no mass."""
    found = diagnose(pp.load(FOLDER / "romeo_description/urdf/romeo_laas_small.urdf"))
    assert not found.ok
    assert found.worst.measure == "own inertias" and found.worst.name.endswith("HipPitch_link")
    assert found["pivots"].name == "l_gripper_joint"


def test_neck_whose_axes_meet_is_found():
    """iCub, joints at zero: less is left of a pivot than roundoff, and beside it hardly a digit.

    Head and neck are points of mass: next to nothing resists a turn about the line from the neck
    to the mass centre of the head, and with all joints at zero two axes can make it.
    """
    model = pp.load(FOLDER / "icub_description/robots/icub.urdf", base="free", mimic="independent")
    q, v = model.neutral(), np.zeros(model.nv)
    found = diagnose(model, q)
    assert not found.ok and found["pivots"].name == "neck_roll"
    tau = np.random.default_rng(0).normal(size=model.nv)
    with pytest.raises(pp.SolveError, match="joint 'neck_"):
        pp.forward_dynamics(model, q, v, tau)
    near = pp.integrate(model, q, 1e-3 * tau)
    found = diagnose(model, near)
    assert found.ok and found["conditioning"].name.startswith("neck_")
    exact = ExactMachine(model).forward_dynamics(near, v, tau)
    assert 1e-12 < relative_error(pp.forward_dynamics(model, near, v, tau), exact) < 1e-3
