"""A diagnosis finds what is wrong with a machine, names the right body, and is quiet otherwise.

Errors are planted: in the numbers of a machine, in its configuration, and in the steps of the
algorithm.
"""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from machines import MARKET, machines_with_states, random_state
from numpy.testing import assert_allclose
from planted import Q, odd, plant, planted, planted_euler

import phipsi as pp
from phipsi import joints
from phipsi.explain.diagnosing import bodies, conditioning
from phipsi.explain.diagnosing.diagnose import diagnose
from phipsi.lowering import blocks
from phipsi.lowering.steps import STEPS
from phipsi.lowering.watch import Watch

RESIDUALS = (
    "articulated inertias", "gains", "Riccati steps", "factors of Mass", "filter undone",
    "accelerations", "gravity", "forces of a motion", "Mass and its inverse", "round trip",
    "kinetic energy", "determinant",
)  # fmt: skip
POINTLESS = {"puma560": "link1"}  # machines whose inertias are no body's, as published


# -- quiet where all is well -----------------------------------------------------------------


@pytest.mark.parametrize("name", MARKET)
def test_machines_of_the_market_are_fine(name):
    model = MARKET[name]()
    found = diagnose(model, *random_state(model, np.random.default_rng(0)))
    assert found.ok
    expected = {"own inertias": POINTLESS[name]} if name in POINTLESS else {}
    assert odd(found) == expected


@settings(max_examples=10, deadline=None)
@given(machines_with_states(max_bodies=12, rotors=(False, True), mimics=(False, True)))
def test_residuals_of_random_machines_are_roundoff(machine):
    """A hundredth of the limit, at most; a million times less is usual."""
    found = diagnose(*machine)
    values = [each.value for each in found if each.measure in RESIDUALS]
    assert len(values) >= 11 and max(values) < 1e-11


def test_machine_code_can_be_diagnosed():
    model = pp.examples.puma560()
    assert diagnose(model, [*Q, 0.6], backend="llvm").ok


def test_long_chains_take_one_loop_and_no_matrix(monkeypatch):
    """Nothing of the size of the mass matrix is made: its determinant is left out."""
    monkeypatch.setattr(bodies, "LONG", 20)
    monkeypatch.setattr(conditioning, "DENSE", 20)
    model = pp.chain(21)
    found = diagnose(model, backend="llvm")
    functions = [x for x in model.functions.values() if isinstance(x, pp.Function)]
    assert {x.info().path for x in functions} == {"rolled"}
    assert found.ok and len(found) == 16
    with pytest.raises(pp.InputError, match="no measure 'determinant'"):
        found["determinant"]


# -- numbers of bodies -----------------------------------------------------------------------


@pytest.mark.parametrize("k", range(5))
def test_negative_moment_of_inertia_is_found_at_its_body(k):
    found = diagnose(planted(**{f"b{k}": {"inertia": (0.1, -0.05, 0.1)}}), Q)
    assert not found.ok
    assert (found.worst.measure, found.worst.name) == ("own inertias", f"b{k}")
    assert "the negative moment -0.05" in found.worst.meaning


def test_negative_pivot_is_found_at_its_joint():
    """The tip turns about its mass centre, and has a negative moment there."""
    tip = {"joint": joints.Revolute((0, 0, 1)), "com": (0, 0, 0), "inertia": (0.1, 0.1, -0.2)}
    found = diagnose(planted(b4=tip), Q)
    assert odd(found).items() >= {"own inertias": "b4", "pivots": "b4_joint"}.items()
    assert "through joint 'b4_joint' is negative" in found["pivots"].meaning
    assert found["pivots"].values["b4_joint"] < 0.0 < found["pivots"].values["b3_joint"]


def test_moments_of_no_body_are_implausible_but_not_wrong():
    found = diagnose(planted(b1={"inertia": (0.1, 0.1, 0.5)}), Q)
    assert found.ok and odd(found) == {"own inertias": "b1"}
    assert "triangle inequality" in found.worst.meaning


def test_moments_that_do_not_fit_the_shape_are_implausible():
    crate = {"mass": 2.0, "inertia": (40, 40, 40), "visuals": [pp.geometry.Box((1, 1, 1))]}
    found = diagnose(planted(b3=crate), Q)
    assert found.ok and found.worst.name == "b3"
    assert found.worst.meaning.startswith("body 'b3': its moments of inertia are up to 120 times")


def test_roundoff_of_a_negative_moment_is_not_wrong():
    found = diagnose(planted(b3={"inertia": (-1e-18, 0.0, 0.0)}), Q)
    assert found.ok


def test_massless_tip_is_found_at_its_joint():
    found = diagnose(planted(b4={"mass": 0.0, "com": (0, 0, 0), "inertia": (0, 0, 0)}), Q)
    assert not found.ok
    assert (found.worst.measure, found.worst.name) == ("pivots", "b4_joint")
    assert found["factors of Mass"].verdict == "wrong"
    assert "'b4_joint' vanishes" in found["factors of Mass"].meaning


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"b2": {"mass": 1e-12, "inertia": (1e-13,) * 3}}, "b2"),
        ({"b1": {"mass": 1e-12, "inertia": (1e-13,) * 3}}, "b1"),
        ({"b4": {"mass": 1e14, "inertia": (1e13,) * 3}, "b3": {"mass": 1e-2}}, "b3"),
    ],
    ids=["light b2", "light b1", "heavy tip"],
)
def test_heavy_on_light_is_found_at_the_light_body(changes, name):
    """A ratio of the masses of 1e12 or more: as many digits of the light one are lost."""
    model = planted(**changes)
    found = diagnose(model, Q)
    assert found.ok and found["loads"].name == name
    light = model.body(name).inertia.mass
    outboard = sum(body.inertia.mass for body in model.bodies[model.index(name) :])
    assert_allclose(found["loads"].value, light / outboard)
    assert found["loads"].verdict == f"digits lost: {round(np.log10(outboard / light))} of 16"


def test_gimbal_lock_is_found_at_its_joint():
    found = diagnose(planted_euler(), [0.1, 0.2, 0.3, np.pi / 2, 0.1, 0.4, 0.5])
    assert (found.worst.measure, found.worst.name) == ("joint maps", "b2_joint")
    assert not found.ok and found["pivots"].name == "b2_joint"


def test_near_gimbal_lock_digits_are_lost_and_nothing_is_wrong():
    """1e-5 rad away H* has the singular value 1e-5 / sqrt 2, and D its square."""
    found = diagnose(planted_euler(), [0.1, 0.2, 0.3, np.pi / 2 - 1e-5, 0.1, 0.4, 0.5])
    assert found.ok
    assert_allclose(found["joint maps"].value, 0.5e-10, rtol=1e-4)
    assert set(odd(found)) == {"joint maps", "pivots", "conditioning"}
    assert set(odd(found).values()) == {"b2_joint"}


# -- steps of the algorithm ------------------------------------------------------------------


@pytest.mark.parametrize("k", range(1, 5))
def test_wrong_riccati_term_is_found_at_the_body_that_feels_it(k, monkeypatch):
    """What joint k hands on is too large by a millionth; b(k-1) feels it."""
    plant(monkeypatch, "relieve", k, lambda felt: blocks.scale_matrix(1.0 + 1e-6, felt))
    found = diagnose(planted(), Q)
    assert not found.ok and found["Riccati steps"].name == f"b{k - 1}"
    assert f"'b{k}_joint'" in found["Riccati steps"].meaning
    values = found["Riccati steps"].values
    assert all(x < 1e-14 for name, x in values.items() if name != f"b{k - 1}")
    assert odd(found).keys() >= {"factors of Mass", "Mass and its inverse", "round trip"}


def test_term_left_out_is_found_as_a_body_that_is_too_heavy(monkeypatch):
    """P+ = P instead of P - P H* D^-1 H P: a free joint that hands on all, as if it were locked.

    b3 feels as if joint b4 were locked, and nothing is heavier than that; so it is the step
    that is wrong, and not P by itself.
    """
    right = STEPS["relieve"]
    monkeypatch.setitem(
        STEPS, "relieve", lambda seat, P, *rest: P if seat.k == 4 else right(seat, P, *rest)
    )
    found = diagnose(planted(), Q)
    assert not found.ok and found["Riccati steps"].name == "b3"


def test_body_that_feels_heavier_than_locked_is_named(monkeypatch):
    """Twice of what joint b4 hands on is more than it could with all joints locked."""
    plant(monkeypatch, "relieve", 4, lambda felt: blocks.scale_matrix(2.0, felt))
    worst = diagnose(planted(), Q)["articulated inertias"]
    assert worst.status == "wrong" and worst.values["b3"] > 1e-3
    assert "feels heavier with its outboard joints free" in worst.meaning


def test_body_that_feels_lighter_than_alone_is_named(monkeypatch):
    """What joint b4 hands on has the wrong sign."""
    plant(monkeypatch, "relieve", 4, lambda felt: blocks.scale_matrix(-0.01, felt))
    worst = diagnose(planted(), Q)["articulated inertias"]
    assert worst.status == "wrong" and worst.name == "b3"
    assert "feels lighter" in worst.meaning


def test_inertia_that_is_not_symmetric_is_named(monkeypatch):
    def skewed(total):
        if len(total) == 6:  # P, not D
            total = [list(row) for row in total]
            total[0][3] = total[0][3] + 1e-3
        return total

    plant(monkeypatch, "add_blocks", 2, skewed)
    worst = diagnose(planted(), Q)["articulated inertias"]
    assert worst.status == "wrong" and worst.name == "b2"
    assert "not what they are the other way round" in worst.meaning


@pytest.mark.parametrize("k", range(5))
def test_wrong_gain_is_found_at_its_joint(k, monkeypatch):
    plant(monkeypatch, "gain", k, lambda gain: blocks.scale_matrix(1.001, gain))
    found = diagnose(planted(), Q)
    assert found["gains"].status == "wrong" and found["gains"].name == f"b{k}_joint"
    assert found.worst.measure == "gains"


def test_program_that_gives_up_for_no_reason_is_wrong(monkeypatch):
    """A gain that is no number makes the next pivot none; by the book all is well."""
    plant(monkeypatch, "gain", 2, lambda gain: blocks.scale_matrix(float("nan"), gain))
    found = diagnose(planted(), Q)
    assert not found.ok and found["pivots"].status == "fine"
    assert found.worst.measure == "factors of Mass" and "'b1_joint'" in found.worst.meaning


def test_inertia_that_is_no_number_is_found(monkeypatch):
    """Where nobody looks at pivots while the program runs."""
    plant(monkeypatch, "add_blocks", 1, lambda total: blocks.scale_matrix(float("nan"), total))
    monkeypatch.setattr(Watch, "_pivot", lambda *arguments: None)
    found = diagnose(planted(), Q)
    assert odd(found).keys() == {
        "pivots", "articulated inertias", "gains", "Riccati steps", "factors of Mass"
    }  # fmt: skip
    assert "it is no number" in found["articulated inertias"].meaning
    json.dumps(found.as_dict(), allow_nan=False)


def test_joint_map_that_is_not_that_of_the_joint_is_found(monkeypatch):
    """H* of b2, a thousandth too long: a unit that was mistaken."""
    plant(monkeypatch, "joint_map", 2, lambda H: blocks.scale_matrix(1.001, H))
    found = diagnose(planted(), Q)
    assert found["gains"].status == "wrong" and found["gains"].name == "b2_joint"


def test_inertia_mistaken_by_the_program_is_found_at_its_body(monkeypatch):
    """M of b3 as P has it, a thousandth too large."""
    plant(monkeypatch, "inertia", 3, lambda M: blocks.scale_matrix(1.001, M))
    found = diagnose(planted(), Q)
    assert found["Riccati steps"].status == "wrong" and found["Riccati steps"].name == "b3"


@pytest.mark.parametrize(
    ("step", "measures"),
    [
        ("momentum", {"factors of Mass", "Mass and its inverse", "determinant"}),  # M V
        ("inward", {"kinetic energy", "Mass and its inverse"}),  # phi f, not in V* M V
        ("gyroscopic", {"round trip"}),  # b of FD4; inverse dynamics has M A + b in one
    ],
)
def test_wrong_sweeps_break_the_laws_that_they_are_in(step, measures, monkeypatch):
    plant(monkeypatch, step, 3, lambda f: blocks.scale(1.001, f))
    found = diagnose(planted(), Q)
    wrong = odd(found).keys()
    assert wrong >= measures and not found.ok
    local = {"own inertias", "pivots", "articulated inertias", "gains", "Riccati steps"}
    assert not wrong & local


@pytest.mark.parametrize("k", range(1, 5))
def test_wrong_coriolis_term_is_found_at_its_body(k, monkeypatch):
    """V~ H* beta with the wrong sign: forward and inverse dynamics agree, and both are wrong."""
    plant(monkeypatch, "cross_motion", k, lambda a: blocks.scale(-1.0, a))
    found = diagnose(planted(), Q)
    assert odd(found).keys() == {"accelerations", "forces of a motion"} and not found.ok
    assert found["accelerations"].name == f"b{k}" == found.worst.name
    values = found["accelerations"].values
    assert all(x < 1e-14 for name, x in values.items() if name != f"b{k}")


def test_wrong_rate_of_a_joint_map_is_found_at_its_body(monkeypatch):
    """H_dot* of three Euler angles, a millionth too large."""
    plant(monkeypatch, "map_rate", 2, lambda rate: blocks.scale_matrix(1.0 + 1e-6, rate))
    found = diagnose(planted_euler(), [0.1, 0.2, 0.3, 0.4, 0.1, 0.4, 0.5])
    assert odd(found).keys() == {"accelerations", "forces of a motion"}
    assert found["accelerations"].name == "b2"


def test_wrong_gyroscopic_forces_are_found_where_both_dynamics_have_them(monkeypatch):
    """V x* M V left out everywhere; the round trip does not see it."""
    still = STEPS["momentum"]
    monkeypatch.setitem(STEPS, "gyroscopic", lambda seat, V: blocks.scale(0.0, V))
    monkeypatch.setitem(STEPS, "newton_euler", lambda seat, A, V: still(seat, A))
    found = diagnose(planted(), Q)
    assert odd(found).keys() == {"forces of a motion"} and not found.ok


@pytest.mark.parametrize("factor", [-1.0, 0.0, 1.0 + 1e-6])
def test_wrong_gravity_is_found(factor, monkeypatch):
    right = STEPS["gravity"]
    monkeypatch.setitem(STEPS, "gravity", lambda seat: blocks.scale(factor, right(seat)))
    found = diagnose(planted(), Q)
    assert odd(found).keys() == {"accelerations", "gravity", "forces of a motion"}
    assert found["accelerations"].name == "b0" and not found.ok


def test_weight_at_the_wrong_place_is_found(monkeypatch):
    """What holds b3 against gravity has its moment turned round; others do not ask for it."""
    plant(monkeypatch, "momentum", 3, lambda f: [*blocks.scale(-1.0, f[:3]), *f[3:]])
    assert diagnose(planted(), Q)["gravity"].status == "wrong"


def test_laws_of_motion_do_not_depend_on_where_a_machine_is():
    """A thousand kilometres from the origin nothing is lost: momentum is taken about the root."""
    model = pp.examples.spacecraft()
    q, v = random_state(model, np.random.default_rng(0))
    q[4:7] += 1e6
    found = diagnose(model, q, v)
    assert max(found[x].value for x in ("accelerations", "forces of a motion")) < 1e-13


# -- joints that follow others ---------------------------------------------------------------


def test_follower_that_carries_nothing_is_not_wrong():
    """Its D vanishes; in the independent coordinates all is well."""
    builder = pp.ModelBuilder("idler")
    builder.add_body("wheel", mass=1.0, inertia=(1.0, 1.0, 2.0))
    builder.add_body("shadow", mimic=("wheel_joint", 1.0, 0.0))
    found = diagnose(builder.build())
    assert found.ok and odd(found) == {"factors of Mass": ""}
    assert found["round trip"].status == "fine"


def test_independent_coordinates_without_inertia_are_wrong():
    builder = pp.ModelBuilder("idlers", strict=False)
    builder.add_body("wheel", mass=1.0, inertia=(1.0, 1.0, 2.0))
    builder.add_body("first", "wheel", joint_name="first")
    builder.add_body("second", "wheel", mimic=("first", 1.0, 0.0))
    found = diagnose(builder.build())
    assert not found.ok and found.worst.measure == "Mass and its inverse"
    assert "singular" in found.worst.meaning and "'first'" in found.worst.meaning
