"""Names, values and refusals of parameters; their alarms in machine code."""

import machines
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from parametrised import compiled, evaluated, program_of, random_names, random_values, rebuilt, ten
from symbols import assert_close

import phipsi as pp
from phipsi.backends.tables import Table
from phipsi.lowering.cost import cost_of
from phipsi.lowering.inputs import Inputs
from phipsi.lowering.machine import Machine
from phipsi.lowering.parameters import Parameters
from phipsi.operators import C, Mass, S_q, T, U, gravity, vector

FD = Mass.inv @ (T - C)
PROJECTED = (S_q.T @ Mass @ S_q).inv @ (S_q.T @ (T - C))
SCALE = 1e-2


@pytest.fixture(scope="module")
def welded():
    """Bodies arm and hand; bracket and plate are parts of arm, tool of hand, stand of the world."""
    return machines.MARKET["welded"]()


# -- names ---------------------------------------------------------------------------------


def test_names_keep_their_order_and_say_their_shapes(welded):
    names = ["gravity", "hand.placement", "arm.mass", "arm_joint.rotor_inertia", "arm.inertia"]
    parameters = Parameters(welded, names)
    assert parameters.names == tuple(names)
    assert list(parameters.shapes.values()) == [(3,), (4, 4), (), (), (6,)]
    assert Parameters(welded, ["moments", "hand.position"]).shapes["moments"] == (2, 10)


def test_a_name_with_dots_ends_in_the_quantity():
    builder = pp.ModelBuilder("dotted")
    builder.add_body("arm.upper.mass", joint=pp.joints.Revolute((0, 0, 1)), mass=2.0)
    parameters = Parameters(builder.build(), ["arm.upper.mass.mass"])
    assert parameters.nominal() == {"arm.upper.mass.mass": 2.0}


@settings(max_examples=20)
@given(machines.machines(max_bodies=6, rotors=(False, True)), st.integers(0, 2**32 - 1))
def test_nominal_values_give_the_machine_back(model, seed):
    rng = np.random.default_rng(seed)
    nominal = Parameters(model, random_names(model, rng)).nominal()
    again = rebuilt(model, nominal)
    for before, after in zip(model.bodies, again.bodies, strict=True):
        assert_allclose(after.inertia.matrix, before.inertia.matrix, atol=1e-12)
    for one, other in zip(model.joints, again.joints, strict=True):
        assert_allclose(other.placement.matrix, one.placement.matrix, atol=1e-12)
        assert other.reflected_inertia == one.reflected_inertia
    assert again.gravity == model.gravity


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["arms.mass"], "'welded' has no body 'arms'; did you mean 'arm'?"),
        (["arms.position"], "has no body or joint 'arms'; did you mean 'arm'?"),
        (["arm.mas"], "unknown quantity 'mas'; did you mean 'mass'?"),
        (["gravty"], "did you mean 'gravity'?"),
        (["tool.mass"], "'tool' is part of body 'hand'; write 'hand.mass'"),
        (["tip.position"], "'tip' is part of body 'hand'; write 'hand.position'"),
        (["stand.mass"], "'stand' is welded to the world"),
        (["arm_joint.mass"], "'arm_joint' is the joint that carries 'arm'; write 'arm.mass'"),
        (["arm.mass", "arm.mass"], "'arm.mass' is named twice"),
        (["arm.position", "arm_joint.position"], "'arm.position' and 'arm_joint.position' are"),
        (["arm.position", "arm.placement"], "are the same numbers"),
        (["arm.mass", "arm.moments"], "'arm.mass' and 'arm.moments' are the same numbers"),
        (["moments", "hand.inertia"], "'moments' and 'hand.inertia' are the same numbers"),
        (["hand.inertia", "moments"], "are the same numbers"),
        ("gravity", "expected a list of names"),
        ([3], "expected a list of names"),
        (3, "expected a list of names"),
    ],
)
def test_names_that_stand_for_nothing_are_refused(welded, names, message):
    with pytest.raises(pp.InputError) as error:
        Parameters(welded, names)
    assert message in str(error.value)


def test_a_first_moment_without_mass_is_refused():
    model = machines.MARKET["massless_intermediates"]()
    with pytest.raises(pp.InputError, match="body 'y1' has no mass"):
        Parameters(model, ["y1.first_moment"])
    for other in ("y1.mass", "y1.inertia"):
        assert Parameters(model, ["y1.first_moment", other])


# -- values --------------------------------------------------------------------------------


def check(model, **values):
    named = {name.replace("__", "."): x for name, x in values.items()}
    return Parameters(model, list(named)).checked(named)


def test_values_become_arrays_with_batches(welded):
    checked = check(welded, arm__mass=[1, 2, 3], gravity=[0, 0, 1])
    assert checked["arm.mass"].shape == (3,) and checked["arm.mass"].dtype == np.float64
    assert_array_equal(checked["gravity"], [0.0, 0.0, 1.0])


def test_values_are_those_of_the_parameters_and_no_others(welded):
    parameters = Parameters(welded, ["arm.mass", "gravity"])
    with pytest.raises(pp.InputError, match=r"'gravity' .*m/s.2.* needs a value"):
        parameters.checked({"arm.mass": 1.0})
    with pytest.raises(pp.InputError, match=r"no parameter 'arm.mas'; did you mean 'arm.mass'"):
        parameters.checked({"arm.mas": 1.0, "gravity": [0, 0, 1]})


TURNED = np.diag([-1.0, -1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"arm__mass": -1.0}, "arm.mass is -1; it must not be negative"),
        ({"arm__mass": [[1.0], [-2.0]]}, "arm.mass is -2 at [1, 0] of the batch"),
        ({"arm__mass": "heavy"}, "arm.mass: expected numbers"),
        ({"arm__mass": np.nan}, "arm.mass is nan"),
        ({"arm__inertia": np.ones(5)}, "arm.inertia has shape (5,); expected (*batch, 6)"),
        ({"gravity": [0.0, np.inf, 0.0]}, "gravity[1] is inf"),
        ({"arm__rotor_inertia": -0.1}, "arm.rotor_inertia is -0.1; it must not be negative"),
        ({"hand__moments": -np.ones(10)}, "the mass of hand.moments is -1; it must not"),
        ({"moments": np.diag([1.0, -3.0]) @ np.ones((2, 10))}, "the mass of moments[1] is -3"),
        ({"arm__mass": 0.0, "arm__first_moment": np.ones(3)}, "arm.mass is 0; it must be positive"),
        ({"arm__placement": 2.0 * np.eye(4)}, "arm.placement is no placement: its upper left"),
        ({"arm__placement": np.diag([1, 1, -1, 1])}, "must be a rotation, R R* = I and det R = 1"),
        ({"arm__placement": np.eye(4) + np.eye(4, k=-3)}, "its last row must be 0 0 0 1"),
        ({"arm__placement": [TURNED, 0 * TURNED]}, "arm.placement at [1] of the batch is no"),
    ],
)
def test_values_that_no_machine_has_are_refused(welded, values, message):
    with pytest.raises(pp.InputError) as error:
        check(welded, **values)
    assert message in str(error.value)


def test_a_body_may_lose_its_mass_where_nothing_is_divided_by_it(welded):
    check(welded, hand__mass=0.0)
    q, v = machines.random_state(welded, np.random.default_rng(0))
    nothing = {"hand.mass": 0.0, "hand.first_moment": np.zeros(3), "hand.inertia": np.zeros(6)}
    (mass,) = evaluated(welded, (Mass,), nothing, q, v)
    assert np.count_nonzero(mass[1:]) == 0 and mass[0, 0] > 0.0
    with pytest.raises(pp.SolveError, match="'hand_joint'"):
        evaluated(welded, (FD,), nothing, q, v, T=v)


def test_batches_of_parameters_that_do_not_broadcast_are_named():
    model = pp.examples.planar_arm(2)
    given = {"link1.mass": [1.0, 2.0], "gravity": np.ones((3, 3))}
    with pytest.raises(pp.InputError, match=r"link1.mass \(2,\), gravity \(3,\)"):
        evaluated(model, (U,), given, [0.0, 0.0], None)


def test_a_symbol_with_the_name_of_a_parameter_is_refused():
    model = pp.examples.planar_arm(2)
    expression = vector("moments", "base").T @ gravity
    values, given = {"moments": np.ones(6)}, {"moments": np.ones((2, 10))}
    with pytest.raises(pp.InputError, match="a parameter of the machine and a symbol"):
        Inputs(model, expression, [0.0, 0.0], None, None, values, given)


# -- cost ----------------------------------------------------------------------------------


def test_arguments_are_counted_like_any_number():
    model = pp.examples.planar_arm(3)
    program = program_of(model, (FD,))
    folded = cost_of(program, model)
    with_mass = cost_of(program, model, None, Parameters(model, ["moments"]))
    assert with_mass.flops > folded.flops and with_mass.sweeps == folded.sweeps


# -- machine code --------------------------------------------------------------------------


def batch_of(model, names, count, rng):
    """Arguments of machine code, in order."""
    several = [random_values(model, names, rng) for _ in range(count)]
    states = [machines.random_state(model, rng) for _ in range(count)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    tau = rng.normal(size=(count, sum(joint.kind.nv for joint in model.joints)))
    return {"q": q, "v": v, "T": tau} | {x: np.array([y[x] for y in several]) for x in names}


@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize("machine", ["serial_multidof", "mimics", "puma560"])
def test_machine_code_equals_the_interpreter(machine, unroll):
    model, rng = machines.MARKET[machine](), np.random.default_rng(3)
    names = ["gravity", *(x for x in random_names(model, rng, 0.3) if x != "gravity")]
    arguments = batch_of(model, names, 11, rng)
    function, counter = compiled(model, (PROJECTED, U), names, ((model.nv,), ()), unroll)
    before = counter[0]
    found = function(*arguments.values())
    assert counter[0] == before
    q, v, tau = (arguments.pop(name) for name in ("q", "v", "T"))
    meant = evaluated(model, (PROJECTED, U), arguments, q, v, T=tau)
    for value, other in zip(found, meant, strict=True):
        assert_close(value, other, SCALE)


@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("b.mass", 1.0, -1.0),
        ("b.moments", ten(1.0, np.zeros(3), np.eye(3)), -ten(1.0, np.zeros(3), np.eye(3))),
        ("b.rotor_inertia", 0.0, -1e-3),
        ("b.placement", TURNED, 1.1 * TURNED),
        ("b.placement", TURNED, np.diag([1.0, 1.0, -1.0, 1.0])),
    ],
)
def test_machine_code_raises_the_alarm_for_values_that_no_machine_has(name, good, bad, unroll):
    rng = np.random.default_rng(1)
    builder = pp.ModelBuilder("two")
    for body, parent in (("a", "world"), ("b", "a")):
        builder.add_body(body, parent, machines.revolute(rng), **machines.random_inertia(rng))
    function, counter = compiled(builder.build(), (FD,), [name], ((2,),), unroll)
    state = np.zeros((5, 2)), np.zeros((5, 2)), np.ones((5, 2))
    before = counter[0]
    function(*state, good)
    assert counter[0] == before
    function(*state, np.array([good, good, good, bad, good]))
    assert counter[0] > before


def test_looping_code_of_a_long_machine_takes_gravity_and_some_bodies():
    """Bodies whose numbers are arguments have code of their own, the others share theirs."""
    model, rng = pp.chain(200), np.random.default_rng(0)
    names = ["gravity", f"{model.bodies[70].name}.mass", f"{model.bodies[120].name}.position"]
    arguments = batch_of(model, names, 3, rng)
    function, _ = compiled(model, (FD,), names, ((200,),), unroll=False)
    found = function(*arguments.values())
    q, v, tau = (arguments.pop(name) for name in ("q", "v", "T"))
    (meant,) = evaluated(model, (FD,), arguments, q, v, T=tau)
    assert_allclose(found, meant, rtol=1e-9, atol=1e-9 * np.abs(meant).max())
    assert np.abs(found - found[:1]).max() > 1.0


@pytest.mark.parametrize("machine", ["serial_multidof", "puma560"])
def test_looping_code_takes_the_moments_of_all_bodies(machine):
    model, rng = machines.MARKET[machine](), np.random.default_rng(4)
    arguments = batch_of(model, ["moments"], 5, rng)
    function, counter = compiled(model, (PROJECTED, U), ["moments"], ((model.nv,), ()), False)
    found = function(*arguments.values())
    before = counter[0]
    q, v, tau, moments = arguments.values()
    meant = evaluated(model, (PROJECTED, U), {"moments": moments}, q, v, T=tau)
    for value, other in zip(found, meant, strict=True):
        assert_close(value, other, SCALE)
    moments[3, -1, 0] = -1.0
    function(q, v, tau, moments)
    assert counter[0] > before


def test_bodies_whose_moments_are_arguments_share_forms():
    """A long chain has as few forms as without: code does not grow with the machine."""
    model = pp.chain(100)
    program = program_of(model, (FD,))
    counts = []
    for names in ([], ["moments"]):
        machine = Machine(model, program.shifted, Parameters(model, names))
        counts.append(len(Table(program, machine, {}, [1]).forms))
    assert counts == [4, 4]
