"""What dynamics refuse, and how: the user's own names, what was expected, what to do."""

import asked
import machines
import numpy as np
import pytest

import phipsi as pp
from phipsi import joints

NUMBERS = ("q", "v", "tau", "vdot", "velocities")


@pytest.fixture(scope="module")
def tree():
    return pp.examples.branching_tree()


def refusal(name, model, error=pp.InputError, **arguments):
    """The message with which a function refuses."""
    given = {**asked.arguments(name, model), **arguments}
    with pytest.raises(error) as caught:
        asked.function(name)(model, **given)
    return str(caught.value)


def each(*names):
    """(function, argument) for each function that has one of these."""
    model = pp.examples.planar_arm(2)
    has = {x: asked.arguments(x, model) | asked.options(x, model) for x in asked.NAMES}
    return [(function, name) for function in has for name in names if name in has[function]]


# -- arrays ----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "argument"), each(*NUMBERS))
def test_wrong_size(tree, name, argument):
    given = asked.arguments(name, tree)[argument]
    message = refusal(name, tree, **{argument: given[..., 1:]})
    assert message.startswith(f"{argument} has shape {given[..., 1:].shape}; expected (*batch, ")
    assert repr(tree.name) in message
    if argument in ("v", "tau", "vdot"):
        assert message.endswith(f", nv of {tree.name!r} being {tree.nv}")


@pytest.mark.parametrize(("name", "argument"), each(*NUMBERS))
def test_not_a_number(tree, name, argument):
    given = np.array(asked.arguments(name, tree)[argument])
    given[..., 1] = np.nan
    message = refusal(name, tree, **{argument: given})
    assert message.startswith(f"{argument}[")
    assert "is nan; expected finite numbers" in message


@pytest.mark.parametrize(("name", "argument"), each(*NUMBERS, "points"))
def test_none(tree, name, argument):
    message = refusal(name, tree, **{argument: None})
    assert message.startswith(f"{argument}: expected ")
    assert message.endswith("got None")


@pytest.mark.parametrize(("name", "argument"), each(*NUMBERS))
def test_none_among_numbers_is_named_and_does_not_become_nan(tree, name, argument):
    size = tree.nq if argument.startswith("q") else tree.nv
    message = refusal(name, tree, **{argument: [0.0] * (size - 1) + [None]})
    assert message == f"{argument}[{size - 1}]: expected numbers, got None"


@pytest.mark.parametrize(("name", "argument"), each(*NUMBERS))
def test_text(tree, name, argument):
    assert refusal(name, tree, **{argument: "high"}).startswith(f"{argument}: expected numbers")


@pytest.mark.parametrize(("name", "argument"), each("base_velocity", "base_acceleration"))
def test_base_of_wrong_size(tree, name, argument):
    message = refusal(name, tree, **{argument: np.zeros(3)})
    assert message.startswith(f"{argument} has shape (3,); expected (*batch, 6)")
    message = refusal(name, tree, **{argument: [0, 0, np.inf, 0, 0, 0]})
    assert message.startswith(f"{argument}[2] is inf; expected finite numbers")


def test_batches_that_do_not_broadcast(tree):
    q = np.tile(tree.neutral(), (3, 1))
    message = refusal("forward_dynamics", tree, q=q, tau=np.zeros((2, tree.nv)))
    assert message == "the batches do not broadcast: q (3,), tau (2,)"


# -- machine, backend, method ----------------------------------------------------------


@pytest.mark.parametrize("name", asked.NAMES)
def test_what_is_no_machine(tree, name):
    with pytest.raises(pp.InputError, match=r"^model: expected a Model, got str$"):
        asked.function(name)("robot.urdf", **asked.arguments(name, tree))


@pytest.mark.parametrize("name", asked.NAMES)
def test_unknown_backend(tree, name):
    message = refusal(name, tree, backend="nunpy")
    assert message.startswith("backend: unknown 'nunpy'; did you mean 'numpy'?")


@pytest.mark.parametrize("method", ["FD5", "fd4", None, 4, ["FD4"]])
def test_unknown_method(tree, method):
    message = refusal("forward_dynamics", tree, method=method)
    assert message.startswith(f"method: unknown {method!r}; ")
    assert message.endswith("names: 'FD1', 'FD2', 'FD3', 'FD4', 'cholesky'")


def test_method_in_lower_case_is_recognized(tree):
    message = refusal("forward_dynamics", tree, method="fd1")
    assert message.startswith("method: unknown 'fd1'; did you mean 'FD1'? Valid names: ")


def test_complex_step_through_cholesky(tree):
    q = tree.neutral() + 1e-30j
    message = refusal("forward_dynamics", tree, q=q, method="cholesky")
    assert message == "method='cholesky' takes real numbers; the others take complex steps"


# -- points ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(asked.POINTS))
def test_points(tree, name):
    message = refusal(name, tree, points=[])
    assert message == "points: the list is empty; pass points=[pp.point(...), ...]"
    message = refusal(name, tree, points=["hnad"])
    assert message.startswith(f"{tree.name!r} has no frame 'hnad'; ")
    assert "names: " in message
    message = refusal(name, tree, points=[3])
    assert message == "points: expected pp.point(body_or_frame, position), got 3"
    message = refusal(name, tree, points=3)
    assert message == "points: expected a list of pp.point(...), got 3"


def test_points_that_cannot_move_anyhow(arm):
    """Three of the six directions of a tip in a plane, and four joints for twelve directions."""
    message = refusal("operational_inertia", arm, pp.SolveError, points="tip")
    assert message == (
        "operational_inertia: the points cannot move in some direction (a singular "
        "configuration, fewer than 6 freedoms per point, a point on the world, or one listed "
        "twice), so the compliance has no inverse; operational_compliance exists"
    )
    with pytest.raises(pp.SolveError, match="operational_compliance exists"):
        pp.operational_inertia(arm, arm.neutral(), "world")


# -- external wrenches -----------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(asked.LOADED))
def test_wrenches(tree, name):
    n, last = len(tree.bodies), tree.bodies[-1].name

    def external(wrenches):
        return refusal(name, tree, external=wrenches)

    message = external({"hnad": np.zeros(6)})
    assert message.startswith(f"external: {tree.name!r} has no frame 'hnad'; ")
    message = external({pp.point("hnad", (0, 0, 1)): np.zeros(6)})
    assert message.startswith(f"external: {tree.name!r} has no frame 'hnad'; ")
    message = external({2: np.zeros(6)})
    assert message == ("external: expected pp.point(...) or the name of a frame as key, got 2")
    message = external({tree.bodies[-1]: np.zeros(6)})
    assert message.endswith(f"name of a frame as key, got a Body; write {last!r}")
    message = external({last: np.zeros(3)})
    assert message == (f"external[{last!r}] has shape (3,); expected (*batch, 6), [moment; force]")
    message = external({last: [0, 0, 0, 0, np.nan, 0]})
    assert message == f"external[{last!r}][4] is nan; expected finite numbers"
    message = external({last: np.zeros((2, 6)), tree.bodies[0].name: np.zeros((3, 6))})
    assert message == "external: the batches do not broadcast: (3, 6), (2, 6)"  # by body
    message = external({"world": np.zeros(6)})
    assert message == (
        "external: 'world' is the world, which no wrench moves; name a frame on a body of "
        f"{tree.name!r}"
    )
    assert external({last: None}) == f"external[{last!r}]: expected numbers, got None"
    message = external({last: [0, 0, None, 0, 0, 0]})
    assert message == f"external[{last!r}][2]: expected numbers, got None"
    message = external(np.zeros((n - 1, 6)))
    assert message == (
        f"external has shape ({n - 1}, 6); expected (*batch, {n}, 6), a row of 6 for each of the "
        f"{n} bodies of {tree.name!r} or a dict {{point: wrench}}"
    )
    message = external([[0.0] * 6] * (n - 1) + [[np.nan] * 6])
    assert message == f"external[{n - 1}, 0] is nan; expected finite numbers"
    for wrenches in ("push", [(last, [0.0] * 6)]):
        assert external(wrenches) == (
            f"external: expected numbers or a dict {{point: wrench}}, got {wrenches!r}"
        )
    many = np.tile(tree.neutral(), (3, 1))
    message = refusal(name, tree, q=many, external=np.zeros((2, n, 6)))
    assert message.startswith("the batches do not broadcast: q (3,), ")
    assert "external (2,)" in message


@pytest.mark.parametrize("method", ["FD1", "cholesky"])
def test_method_in_the_place_of_wrenches(tree, method):
    message = refusal("forward_dynamics", tree, external=method)
    assert message == f"external: got {method!r}; did you mean method={method!r}?"


# -- singular machines -----------------------------------------------------------------


@pytest.fixture(scope="module")
def feather():
    """Its last joint moves nothing."""
    builder = pp.ModelBuilder("feather", strict=False)
    builder.add_body("arm", joint=joints.Revolute(joints.Y), mass=1.0, com=(0.5, 0, 0))
    builder.add_body("tip", "arm", joints.Revolute(joints.X), position=(1, 0, 0))
    return builder.build()


SINGULAR = [
    *(("forward_dynamics", {"method": method}) for method in ("FD1", "FD2", "FD3", "FD4")),
    *((name, {}) for name in ("accelerations", "forward_dynamics_delayed", "mass_matrix_inverse")),
    ("operational_compliance", {"points": ["tip"]}),
]


@pytest.mark.parametrize(("name", "more"), SINGULAR)
def test_joint_that_moves_nothing_is_named(feather, name, more):
    message = refusal(name, feather, pp.SolveError, **more)
    assert message.startswith("the articulated inertia D of joint 'tip_joint' vanishes")


def test_singular_mass_matrix_by_cholesky(feather):
    """Where a pivot vanishes, and where, near gimbal lock, hardly a digit of it is left."""
    expected = (
        "the mass matrix is singular: nothing resists some motion of the independent "
        "coordinates; method='FD4' names the joint"
    )
    assert refusal("forward_dynamics", feather, pp.SolveError, method="cholesky") == expected
    builder = pp.ModelBuilder("gyroscope")
    wrist = joints.SphericalEuler("zyx")
    builder.add_body("wheel", joint=wrist, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.2, 0.4))
    model = builder.build()
    for tilt in (0.0, 5e-8):
        q = [0.3, np.pi / 2 - tilt, 0.2]
        assert refusal("forward_dynamics", model, pp.SolveError, q=q, method="cholesky") == expected


def test_singular_machine_with_a_follower():
    """Two joints that turn one rod, one of them following: the other moves nothing."""
    builder = pp.ModelBuilder("followed feather", strict=False)
    builder.add_body("a", joint=joints.Revolute(joints.Z))
    builder.add_body("b", "a", joints.Revolute(joints.Y), mass=1.0, com=(0.5, 0.0, 0.0))
    builder.add_body("c", "b", joints.Revolute(joints.X), position=(1, 0, 0))
    builder.add_body("d", "c", joints.Revolute(joints.Y), mimic=("c_joint", 2.0, 0.0))
    model = builder.build()
    for name in ("mass_matrix_inverse", "operational_compliance", "forward_dynamics"):
        message = refusal(name, model, pp.SolveError)
        assert "hardly resists the motion of joint 'c_joint'" in message


def test_machine_without_bodies():
    """Nothing moves, and nothing is missing."""
    nothing = pp.ModelBuilder("nothing").build()
    none = np.zeros(0)
    assert pp.forward_dynamics(nothing, none, none, none).shape == (0,)
    assert pp.inverse_dynamics(nothing, none, none, none, np.zeros((0, 6))).shape == (0,)
    assert pp.mass_matrix(nothing, none).shape == (0, 0)
    assert pp.body_poses(nothing, none).shape == (0, 4, 4)
    assert pp.accelerations(nothing, none, none, none).shape == (0, 6)
    assert pp.kinetic_energy(nothing, none, none) == 0.0


def test_state_of_the_market_is_fit_for_asking():
    """The table of arguments covers every public function."""
    model = machines.MARKET["planar_arm"]()
    for name in asked.NAMES:
        if name != "operational_inertia":
            asked.function(name)(model, **asked.arguments(name, model))


def test_a_wrench_on_what_is_fixed_to_the_world_is_refused():
    builder = pp.ModelBuilder("crane")
    builder.add_body("tower", joint=pp.joints.Fixed(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_body("boom", "tower", pp.joints.Revolute(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    crane = builder.build()
    for wrenches in ({"tower": np.ones(6)}, {"boom": np.ones(6), pp.point("tower"): np.ones(6)}):
        assert refusal("inverse_dynamics", crane, external=wrenches) == (
            "external: 'tower' is fixed to the world, which no wrench moves; name a frame on a "
            "body of 'crane'"
        )
