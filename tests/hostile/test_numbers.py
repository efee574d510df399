"""Numbers of wide range, and arrays that hide some: nothing is lost, nothing taken in silence."""

import collections
import functools
import itertools
import time

import numpy as np
import pytest
from machines import (
    cylindrical,
    free,
    helical,
    planar,
    prismatic,
    random_axis,
    random_rotation,
    revolute,
    spherical,
    spherical_euler,
    universal,
)
from reference_dynamics import ExactMachine

import phipsi as pp
from phipsi import joints
from phipsi.operators import H, Mass, operator, phi

# -- digits of compact bodies --------------------------------------------------------------

KEPT = 1e-12  # three digits of sixteen may go where an origin slides, and a rounding or two


def solid(rng, mass, radius):
    """An ellipsoid within a radius, turned anyhow, its mass centre off the link frame's origin."""
    x, y, z = (rng.uniform(0.3, 1.0, 3) * radius) ** 2
    R = random_rotation(rng)
    moments = R @ np.diag([y + z, x + z, x + y]) @ R.T * mass / 5.0
    return {
        "mass": mass,
        "com": random_axis(rng) * radius * rng.uniform(0.0, 1.0),
        "inertia": (moments + moments.T) / 2.0,
    }


def heavy_and_far(mass, radius, distance, shift=0.0):
    """A light body, a compact one, and a light one on a skew axis far away."""
    rng = np.random.default_rng(4)
    builder = pp.ModelBuilder(
        f"{mass:g} kg within {radius:g} m, {distance:g} m from the next joint"
    )
    builder.add_body("yoke", joint=joints.Revolute((1, 0, 0)), **solid(rng, 1.0, radius))
    ball, far = solid(rng, mass, radius), solid(rng, 1e-3, radius)
    builder.add_body("ball", "yoke", joints.Revolute((0, 0.6, 0.8)), **ball)
    place = {"position": distance * random_axis(rng), "rotation": random_rotation(rng)}
    builder.add_body("far", "ball", joints.Revolute((0.0, 0.0, 1.0)), **place, **far)
    return builder.build()


KINDS = (
    *(revolute, revolute, revolute, prismatic, helical, cylindrical, universal),
    *(planar, spherical, spherical_euler, free),
)


def wide_range(rng):
    """A tree: masses, radii and distances over many powers of ten."""
    builder = pp.ModelBuilder("of wide range")
    carriers = ["world"]
    for k in range(rng.integers(3, 6)):
        distance = 10.0 ** rng.uniform(-2, 3) if rng.random() < 0.7 else 0.0
        builder.add_body(
            f"body{k}",
            carriers[rng.integers(max(0, k - 1), k + 1)],
            KINDS[rng.integers(len(KINDS))](rng),
            position=distance * random_axis(rng),
            rotation=random_rotation(rng),
            **solid(rng, 10.0 ** rng.uniform(-2, 6), 10.0 ** rng.uniform(-2, 1)),
        )
        carriers.append(f"body{k}")
    return builder.build()


def lost_digits(machine, q):
    """The worst error of an entry of the mass matrix, beside its two diagonal ones."""
    exact = ExactMachine(machine).mass_matrix(q).astype(float)
    size = np.sqrt(np.diag(exact))
    return np.abs((pp.mass_matrix(machine, q) - exact) / np.outer(size, size)).max()


@pytest.mark.parametrize("distance", [1.0, 30.0, 1e3, 1e5])
@pytest.mark.parametrize("radius", [1e-3, 0.04, 1.0])
@pytest.mark.parametrize("mass", [1.0, 7.6e5])
def test_compact_body_keeps_its_digits_however_far_the_next_joint_is(mass, radius, distance):
    machine = heavy_and_far(mass, radius, distance)
    assert lost_digits(machine, np.array([0.3, -0.7, 1.1])) < KEPT


# -- mimic joints ----------------------------------------------------------------------------


def train(*ties, load=1.0, **drive):
    """A gear train: joint k follows joint k - 1 by (ratio, offset)."""
    builder = pp.ModelBuilder("train")
    builder.add_body("wheel0", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
    for k, (ratio, offset) in enumerate(ties, start=1):
        follow = (f"wheel{k - 1}_joint", ratio, offset)
        builder.add_body(f"wheel{k}", mass=load, inertia=(load,) * 3, mimic=follow, **drive)
    return builder.build()


@pytest.mark.parametrize("power", range(5, 61, 5))
@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_machines_whose_mimic_joints_multiply_beyond_all_numbers_are_refused(power, count):
    """Else everything about them is finite, however long the chain."""
    try:
        machine = train(*[(10.0**power, 1.0)] * count)
    except pp.ModelError as error:
        assert power * count >= 30 and "wheel" in str(error) and "ratio" in str(error)
    else:
        assert power * count <= 30
        assert np.isfinite(pp.mass_matrix(machine, [0.3])).all()
        assert all(np.isfinite([x.mimic.ratio, x.mimic.offset]).all() for x in machine.joints[1:])


@pytest.mark.parametrize(
    ("machine", "named"),
    [
        (lambda: train((1e40, 0.0), (1e40, 0.0)), "wheel2.*follows 'wheel0_joint'.*1e[+]80"),
        (lambda: train((1.0, 1e40), (1e40, 0.0)), "wheel2.*offset 1e[+]80"),
        (lambda: train((1e20, 0.0), load=1e30), "wheel1.*ratio 1e[+]20.*felt"),
        (lambda: train((1e20, 0.0), rotor_inertia=1e30), "wheel1.*ratio 1e[+]20.*felt"),
        (lambda: train((1.0, 0.0), rotor_inertia=1e30, gear_ratio=1e20), "wheel1.*gear_ratio"),
    ],
)
def test_what_is_too_large_is_named(machine, named):
    with pytest.raises(pp.ModelError, match=named):
        machine()


# -- masked arrays -------------------------------------------------------------------------


def with_one_masked(x):
    mask = np.zeros(np.shape(x), bool)
    mask.flat[-1:] = True
    return np.ma.array(x, mask=mask)


# Ways to pass an array with a mask: masked or not, alone, in sequences, as scalars of its own.
MASKED = {
    "one masked": with_one_masked,
    "none masked": np.ma.array,
    "in a list": lambda x: [with_one_masked(x)],
    "in a deque": lambda x: collections.deque([np.ma.array(x)]),
    "in lists of lists": lambda x: [[with_one_masked(x)], [x]],
    "its entries": lambda x: list(with_one_masked(x)) if np.ndim(x) else with_one_masked(x),
    "not in order": lambda x: with_one_masked(np.stack([x, x], axis=-1))[..., 0],
    "single": lambda x: with_one_masked(np.asarray(x, np.float32)),
}
ARM = pp.examples.planar_arm(3)
AXIS, ROWS = np.array([0.0, 0.0, 1.0]), np.eye(3)
Q, TAU = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
WRENCH = np.arange(6.0)


TIP = "tip"
TEN = "link2.moments"
REST = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": (1, 1, 1)}
BLOCKS = [np.eye(6)] * 3


@functools.cache
def compiled(backend, text, *parameters):
    return pp.compile(ARM, text, parameters=parameters, backend=backend)


@functools.cache
def rubber(backend):
    return pp.compile(ARM, H @ phi @ operator("W", "body", "body") @ phi.T @ H.T, backend=backend)


def own_letter(value):
    letter = pp.operators.letter("K_own", "joint", "joint")(lambda body, joint: value)
    return pp.as_matrix(ARM, letter, Q)


def built(**told):
    builder = pp.ModelBuilder(gravity=told.pop("gravity", (0, 0, -9.81)))
    builder.add_body("box", **{**REST, **told})
    return builder.build()


def with_frame(**told):
    builder = pp.ModelBuilder()
    builder.add_body("box", **REST)
    builder.add_frame("eye", "box", **told)
    return builder.build()


def calls(on):
    """What takes an array: name -> (call, an array that it takes), on a backend."""
    fall = functools.partial(compiled, on, "inv(Mass) (T - C)")
    far = pp.compile(ARM, "J", backend=on)
    one = {"backend": on}
    return {
        "q": (lambda x: pp.mass_matrix(ARM, x, **one), Q),
        "q of all": (lambda x: fall()(x, Q, TAU), Q),
        "v by name": (lambda x: fall()(Q, v=x, T=TAU), Q),
        "a free vector": (lambda x: fall()(Q, Q, x), TAU),
        "results to be written": (lambda x: fall()(Q, Q, x, out=np.zeros(3)), TAU),
        "a parameter": (
            lambda x: fall(TEN)(Q, Q, TAU, x),
            pp.compile(ARM, "Mass", parameters=[TEN]).parameters[TEN],
        ),
        "blocks of an operator": (lambda x: rubber(on)(Q, W=[x, *BLOCKS[1:]]), BLOCKS[0]),
        "all blocks": (lambda x: rubber(on)(Q, W=x), np.array(BLOCKS)),
        "q beside points": (lambda x: far(x, points=[TIP]), Q),
        "a direction": (lambda x: fall().jvp(Q, Q, TAU, dq=x), Q),
        "a weight": (lambda x: fall().vjp(Q, Q, TAU, w=x), Q),
        "q of forward dynamics": (lambda x: pp.forward_dynamics(ARM, x, Q, TAU, **one), Q),
        "tau, written": (
            lambda x: pp.forward_dynamics(ARM, Q, Q, x, out=np.zeros(3), **one),
            TAU,
        ),
        "q of a Jacobian": (lambda x: pp.jacobian(ARM, x, [TIP], **one), Q),
        "a wrench": (
            lambda x: pp.inverse_dynamics(ARM, Q, Q, Q, external={TIP: x}, **one),
            WRENCH,
        ),
        "one of two wrenches": (
            lambda x: pp.inverse_dynamics(ARM, Q, Q, Q, external={TIP: WRENCH, "link1": x}, **one),
            WRENCH,
        ),
        "wrenches on all bodies": (
            lambda x: pp.inverse_dynamics(ARM, Q, Q, Q, external=x, **one),
            np.ones((3, 6)),
        ),
        "q to integrate": (lambda x: pp.integrate(ARM, x, Q), Q),
        "q to subtract": (lambda x: pp.difference(ARM, Q, x), Q),
        "q of a matrix": (lambda x: pp.as_matrix(ARM, Mass, x), Q),
        "a state of a simulation": (lambda x: pp.simulate(ARM, x, Q, duration=0.01, **one), Q),
        "its speeds": (lambda x: pp.simulate(ARM, Q, x, duration=0.01, **one), Q),
        "its forces": (lambda x: pp.simulate(ARM, Q, Q, duration=0.01, control=x, **one), TAU),
        "what its control returns": (
            lambda x: pp.simulate(ARM, Q, Q, duration=0.01, control=lambda t, q, v: x, **one),
            TAU,
        ),
        "a rollout": (lambda x: pp.rollout(ARM, x, Q, TAU, 0.01, 5, **one), Q),
        "forces of a rollout": (
            lambda x: pp.rollout(ARM, Q, Q, x, 0.01, 5, **one),
            np.ones((5, 3)),
        ),
        "a gain": (
            lambda x: pp.simulate(
                ARM, Q, Q, duration=0.01, control=pp.control.PD(kp=x, kd=1.0, target=Q), **one
            ),
            TAU,
        ),
    }


# What takes no backend.
GIVEN = {
    "a point": (lambda x: pp.point(TIP, x), AXIS),
    "a letter of one's own": (own_letter, np.array([[1.0]])),
    "gravity": (lambda x: built(gravity=x), AXIS),
    "mass": (lambda x: built(mass=x), np.array(1.0)),
    "mass centre": (lambda x: built(com=x), AXIS),
    "moments": (lambda x: built(inertia=x), np.ones(3)),
    "inertia": (lambda x: built(inertia=x), ROWS),
    "position": (lambda x: built(position=x), AXIS),
    "rotation": (lambda x: built(rotation=x), ROWS),
    "axis": (lambda x: built(joint=joints.Revolute(x)), AXIS),
    "pitch": (lambda x: built(joint=joints.Helical(AXIS, x)), 0.1),
    "a pose": (lambda x: built(joint=joints.Custom(lambda q: (x, q * 3), 1)), ROWS),
    "a limit": (lambda x: built(limits=pp.Limits(x, 2.0)), 1.0),
    "rest": (lambda x: built(rest=x), np.array([1.0])),
    "damping": (lambda x: built(damping=x), np.array(1.0)),
    "a frame": (lambda x: with_frame(position=x), AXIS),
    "axes of a frame": (lambda x: with_frame(rotation=x), ROWS),
    "a box": (lambda x: pp.geometry.Box(x), AXIS),
    "a colour": (lambda x: pp.geometry.Visual.of(pp.geometry.Sphere(1.0), color=x), AXIS),
    "a sampled motion": (
        lambda x: pp.Trajectory(ARM, np.arange(2.0), x, np.zeros((2, 3))),
        np.zeros((2, 3)),
    ),
    "a time": (
        lambda x: pp.Trajectory(ARM, np.arange(2.0), np.zeros((2, 3)), np.zeros((2, 3))).at(x),
        np.array(0.5),
    ),
}


@functools.cache
def taken(on):
    """The calls of a backend, each made with an ordinary array: code is there, and is quick."""
    known = calls(on)
    for call, x in known.values():
        call(x), call(x)
    return known


@pytest.mark.parametrize("on", ["numpy", "llvm"])
@pytest.mark.parametrize("name", calls("numpy"))
@pytest.mark.parametrize("mask", MASKED)
def test_masked_arrays_never_reach_numbers(name, on, mask):
    call, x = taken(on)[name]
    with pytest.raises(pp.InputError, match="masked array" if mask == "one masked" else None):
        call(MASKED[mask](x))


@pytest.mark.parametrize("name", GIVEN)
def test_masked_arrays_are_refused_by_builders_and_whatever_takes_vectors(name):
    call, x = GIVEN[name]
    call(x)
    for mask in ("one masked", "none masked", "its entries", "single"):
        with pytest.raises(pp.PhipsiError):
            call(MASKED[mask](x))


@pytest.mark.parametrize("on", ["numpy", "llvm"])
def test_results_do_not_go_below_a_mask(on):
    fall, out = compiled(on, "inv(Mass) (T - C)"), np.ma.array(np.zeros(3), mask=[0, 1, 0])
    for call in (
        lambda: fall(Q, Q, TAU, out=out),
        lambda: fall(Q.tolist(), Q, TAU, out=out),
        lambda: pp.forward_dynamics(ARM, Q, Q, TAU, out=out, backend=on),
        lambda: pp.integrate(ARM, Q, Q, out=out),
        lambda: fall.bind(Q, Q, TAU, out=out),
    ):
        with pytest.raises(pp.InputError, match=r"[mM]ask"):
            call()
    assert not out.data.any()


# -- many of them --------------------------------------------------------------------------


def hidden(rng, x):
    """A masked array of x somewhere in sequences, or behind a slice."""
    found = MASKED[rng.choice([*MASKED])](x)
    for wrap in rng.choice(["list", "tuple", "deque", "beside"], rng.integers(0, 4)):
        sequences = {"list": [found], "tuple": (found,), "deque": collections.deque([found])}
        found = sequences.get(wrap, [x, found])
    return found


def attack(seed, seconds=0.0, least=20):
    """Mass matrices of machines of wide range, against fifty digits; masked arrays anywhere.

    Args:
        seed: of all random numbers.
        seconds: how long to go on.
        least: so many tries are made in any case.

    Returns:
        how many were made.
    """
    end = time.monotonic() + seconds
    for count in itertools.count(1):
        rng = np.random.default_rng([seed, count])
        machine = wide_range(rng)
        assert lost_digits(machine, machine.random(rng)) < KEPT, (seed, count)
        known = taken(rng.choice(["numpy", "llvm"]))
        call, x = known[rng.choice([*known])]
        with pytest.raises(pp.InputError):
            call(hidden(rng, x))
        if count >= least and time.monotonic() >= end:
            return count


def test_attack(fuzz):
    fuzz.tried(attack(fuzz.seed, fuzz.seconds), "machines of wide range and masked arrays")
