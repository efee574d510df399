"""Random speeds and forces have the covariances Mass^-1 and Mass: exactly, and in samples.

Exactly: white noise enters as the identity, one column at a time, and the factor that comes out
times its star is the dense matrix. In samples: bounds are quantiles of what independent normal
numbers do, at one in a million, and the seeds are fixed.
"""

import math

import numpy as np
import pytest
from machines import MARKET, random_state
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2

import phipsi as pp
from phipsi.compile import make_program
from phipsi.explain import sample
from phipsi.explain.sample import FORCE, VELOCITY, sample_force, sample_velocity
from phipsi.lowering.cost import cost_of
from phipsi.operators import Mass, S_q

RARE = 1e-6  # of a bound that holds but for bad luck
DRAWS = 4000
SAMPLED = ("puma560", "spacecraft", "serial_multidof", "reflected_rotors", "mimics")


def at(name, seed=0):
    model = MARKET[name]()
    return model, random_state(model, np.random.default_rng(seed))[0]


def dense_mass(model, q):
    return pp.as_matrix(model, S_q.T @ Mass @ S_q, q)


def factor(monkeypatch, function, model, q):
    """The matrix that a function multiplies white noise with."""
    rows = sum(joint.kind.nv for joint in model.joints)
    with monkeypatch.context() as patch:
        patch.setattr(sample, "_noise", lambda *arguments: np.eye(rows))
        return function(model, q).T


# -- exactly -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", MARKET)
def test_force_factor_times_its_star_is_the_dense_mass_matrix(name, monkeypatch):
    model, q = at(name)
    F, mass = factor(monkeypatch, sample_force, model, q), dense_mass(model, q)
    assert_allclose(F @ F.T, mass, atol=1e-10 * np.abs(mass).max())


@pytest.mark.parametrize("name", MARKET)
def test_velocity_factor_times_its_star_is_the_dense_inverse(name, monkeypatch):
    model, q = at(name)
    F, inverse = factor(monkeypatch, sample_velocity, model, q), np.linalg.inv(dense_mass(model, q))
    assert_allclose(F @ F.T, inverse, atol=1e-10 * np.abs(inverse).max())


def test_forces_of_one_mimic_chain_are_those_of_its_leader(monkeypatch):
    """Two wheels of 2 kg m^2, the second three times as fast: 2 + 9 * 2 = 20 kg m^2 by hand."""
    builder = pp.ModelBuilder("gears")
    wheel = {"mass": 1.0, "inertia": (1.0, 1.0, 2.0)}
    builder.add_body("first", **wheel)
    builder.add_body("second", mimic=("first_joint", -3.0, 0.0), **wheel)
    model = builder.build()
    F = factor(monkeypatch, sample_force, model, [0.3])
    V = factor(monkeypatch, sample_velocity, model, [0.3])
    assert_allclose([F @ F.T, V @ V.T], [[[20.0]], [[0.05]]])


@pytest.mark.parametrize(
    ("expression", "sweeps"), [(FORCE, 1), (VELOCITY, 2)], ids=["force", "velocity"]
)
def test_cost_is_linear_in_the_number_of_bodies(expression, sweeps):
    program = make_program((expression,))
    assert program.sweeps == sweeps
    flops = [cost_of(program, pp.chain(n)).flops for n in (10, 20, 30)]
    assert flops[2] - flops[1] == flops[1] - flops[0]


@pytest.mark.parametrize("function", [sample_force, sample_velocity])
def test_machine_code_draws_the_same_numbers(function):
    model, q = at("branching_tree")
    by = [function(model, q, 3, 5, backend=backend) for backend in ("llvm", "numpy")]
    assert_allclose(*by, rtol=1e-10, atol=1e-12)


# -- in samples --------------------------------------------------------------------------


def whitened(name, function):
    """Draws of a function, made white by the dense matrix: (DRAWS, nv)."""
    model, q = at(name)
    L = np.linalg.cholesky(dense_mass(model, q))
    drawn = function(model, q, 7, DRAWS)
    return drawn @ L if function is sample_velocity else np.linalg.solve(L, drawn.T).T


@pytest.fixture(params=SAMPLED)
def machine(request):
    return request.param


@pytest.fixture(params=[sample_force, sample_velocity], ids=["force", "velocity"])
def white(machine, request):
    return whitened(machine, request.param)


def test_sample_covariance_is_that_of_white_noise(white):
    """The singular values of N x n normal numbers lie within sqrt N +- (sqrt n + t).

    But for a chance of 2 exp(-t^2 / 2) (Davidson and Szarek 2001, theorem II.13).
    """
    N, n = white.shape
    t = math.sqrt(2.0 * math.log(2.0 / RARE))
    sizes = np.linalg.svd(white, compute_uv=False)
    slack = math.sqrt(n) + t
    assert math.sqrt(N) - slack < sizes[-1] and sizes[0] < math.sqrt(N) + slack


def test_sample_mean_is_zero(white):
    N, n = white.shape
    assert N * np.sum(white.mean(axis=0) ** 2) < chi2.isf(RARE, n)


def test_draws_do_not_know_each_other(white):
    """The products of one draw and the next sum up to N n of variance one, nearly normal."""
    N, n = white.shape
    assert abs(np.sum(white[1:] * white[:-1])) < 6.0 * math.sqrt((N - 1) * n)


def test_each_freedom_holds_half_a_joule(machine):
    """2 T of a draw is a chi square of nv freedoms, and all draws together one of N nv."""
    model, q = at(machine)
    v = sample_velocity(model, q, 11, DRAWS)
    twice = 2.0 * float(np.sum(pp.kinetic_energy(model, q, v)))
    low, high = chi2.ppf(RARE / 2, DRAWS * model.nv), chi2.isf(RARE / 2, DRAWS * model.nv)
    assert low < twice < high


def test_a_wrong_covariance_is_found():
    """The bound is no formality: noise that is a quarter too large breaks it."""
    white = 1.25 * whitened("puma560", sample_force)
    with pytest.raises(AssertionError):
        test_sample_covariance_is_that_of_white_noise(white)


# -- how it is called --------------------------------------------------------------------


@pytest.mark.parametrize("function", [sample_force, sample_velocity])
@pytest.mark.parametrize("name", ["puma560", "mimics"])
def test_size_comes_first_then_the_batch(function, name):
    model, q = at(name)
    batch = np.broadcast_to(q, (2, 3, model.nq))
    assert function(model, q).shape == (model.nv,)
    assert function(model, q, size=4).shape == (4, model.nv)
    assert function(model, batch, size=(5, 1)).shape == (5, 1, 2, 3, model.nv)
    assert function(model, batch, size=0).shape == (0, 2, 3, model.nv)


def test_each_configuration_of_a_batch_has_its_own_covariance(monkeypatch):
    model = MARKET["puma560"]()
    rng = np.random.default_rng(1)
    q = np.array([model.random(rng) for _ in range(3)])
    noise = np.random.default_rng(2).standard_normal((4, 3, 6))
    monkeypatch.setattr(sample, "_noise", lambda *arguments: noise)
    together = sample_velocity(model, q)
    for k in range(3):
        monkeypatch.setattr(sample, "_noise", lambda *arguments, k=k: noise[:, k])
        assert_allclose(together[:, k], sample_velocity(model, q[k]), rtol=1e-12)


def test_a_seed_repeats_and_a_generator_goes_on():
    model, q = at("puma560")
    assert_array_equal(sample_force(model, q, 5), sample_force(model, q, np.int64(5)))
    rng = np.random.default_rng(5)
    first, second = sample_force(model, q, rng), sample_force(model, q, rng)
    assert_array_equal(first, sample_force(model, q, 5))
    assert not np.allclose(first, second)
    assert not np.allclose(sample_force(model, q), sample_force(model, q))


def test_a_follower_that_carries_nothing_is_no_obstacle(monkeypatch):
    """Its D vanishes, but the mass matrix of the independent coordinates does not."""
    builder = pp.ModelBuilder("idler")
    builder.add_body("wheel", mass=1.0, inertia=(1.0, 1.0, 2.0))
    builder.add_body("shadow", mimic=("wheel_joint", 1.0, 0.0))
    model = builder.build()
    for function, expected in ((sample_force, 2.0), (sample_velocity, 0.5)):
        F = factor(monkeypatch, function, model, [0.0])
        assert_allclose(F @ F.T, [[expected]])


# -- what is refused ---------------------------------------------------------------------


@pytest.fixture(params=[sample_force, sample_velocity])
def function(request):
    return request.param


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q": [0.0]}, r"q has shape \(1,\)"),
        ({"q": [np.nan, 0.0]}, "expected finite numbers"),
        ({"q": [1j, 0.0]}, "expected real numbers"),
        ({"q": None}, "q: expected numbers, got None"),
        ({"q": "up"}, "q: expected numbers"),
        ({"rng": -1}, "rng is -1; expected np.random.default_rng"),
        ({"rng": "0"}, "rng is '0'"),
        ({"rng": True}, "rng is True"),
        ({"size": -2}, "size is -2; expected a number of draws"),
        ({"size": 2.0}, "size is 2.0"),
        ({"size": (2, "x")}, "size is"),
        ({"size": True}, "size is True"),
        ({"size": 2**62}, "do not fit into memory"),
        ({"model": "arm"}, "expected a Model, got str"),
        ({"backend": "fortran"}, "backend: unknown 'fortran'"),
    ],
)
def test_wrong_arguments_are_refused(function, changes, message):
    arguments = {"model": pp.examples.planar_arm(2), "q": [0.0, 0.0], **changes}
    with pytest.raises(pp.InputError, match=message):
        function(**arguments)


def test_loops_are_refused(function):
    builder = pp.ModelBuilder("gate")
    builder.add_body("leaf", mass=1.0, com=(0.5, 0, 0))
    builder.add_closure("latch", "leaf", "world", pp.joints.Spherical(), position=(1, 0, 0))
    with pytest.raises(pp.ModelError, match=f"{function.__name__}: 'gate' has loops"):
        function(builder.build(), [0.0])


def test_a_joint_that_nothing_resists_is_named(function):
    builder = pp.ModelBuilder("arm", strict=False)
    builder.add_body("upper", mass=1.0, com=(0.5, 0, 0))
    builder.add_body("ghost", "upper", position=(1, 0, 0))
    with pytest.raises(pp.SolveError, match="'ghost_joint' vanishes"):
        function(builder.build(), [0.0, 0.0])


@pytest.mark.parametrize("moment", [0.0, 1e-15], ids=["exactly", "nearly"])
def test_independent_coordinates_that_nothing_resists_are_refused(function, moment):
    """A hub without inertia, a rim on it that turns about the same axis, and a joint that follows:
    the hub and the rim can turn against each other."""
    builder = pp.ModelBuilder("hub", strict=False)
    builder.add_body("hub", inertia=(moment, moment, moment))
    builder.add_body("rim", "hub", mass=1.0, inertia=(0.5, 0.5, 1.0), joint_name="rim")
    builder.add_body("cap", "rim", mimic=("rim", 1.0, 0.0))
    with pytest.raises(pp.SolveError, match="mass matrix is singular"):
        function(builder.build(), [0.0, 0.0])


def test_draws_go_where_they_are_asked_to_with_mimics_too():
    for name in ("planar_arm", "mimics"):
        model = pp.examples.planar_arm(2) if name == "planar_arm" else MARKET[name]()
        q = np.stack([model.neutral()] * 3)
        for function in (pp.sample_velocity, pp.sample_force):
            right = function(model, q, 5, 2)
            out = np.empty_like(right)
            assert function(model, q, 5, 2, out=out) is out
            np.testing.assert_array_equal(out, right)
            np.testing.assert_array_equal(function(model, q, 5, 2, threads=2), right)
