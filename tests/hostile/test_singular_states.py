"""Nothing singular answers: what has no inverse is refused on every path, and nothing else is."""

import random
import time

import mpmath
import numpy as np
import pytest

import phipsi as pp
from phipsi.joints import Free, Prismatic, Revolute, Spherical, SphericalEuler, Universal
from phipsi.operators import C, D, E_phi, H, I, J, Jm, M, Mass, P, T, blockdiag, tau_bar

FALL = Mass.inv @ (T - C)
BODY = np.diag([0.1, 0.2, 0.25])
TRIES = 3  # machines of an attack in the usual run
STATES = 8  # of each
SINGULAR = 1e-20  # of the least eigenvalue of a mass matrix with ones on its diagonal

PATHS = {
    "unrolled": {"unroll": True},
    "rolled": {"unroll": False},
    "single": {"unroll": True, "dtype": np.float32},
    "rolled single": {"unroll": False, "dtype": np.float32},
    "arrays": {"backend": "numpy"},
}
every_path = pytest.mark.parametrize("path", PATHS)


def compiled(model, expression, path):
    return pp.compile(model, expression, **{"backend": "llvm", **PATHS[path]})


def chain(joints, masses, positions=None, inertia=BODY, com=(0.2, 0.3, 0.1)):
    """Bodies one after the other, those of a mass with an inertia."""
    builder = pp.ModelBuilder("chain", strict=False)
    parent = "world"
    for k, (joint, mass) in enumerate(zip(joints, masses, strict=True)):
        position = (0.3, 0.1, 0.2) if positions is None else positions[k]
        body = {"mass": mass, "com": com, "inertia": inertia} if mass else {}
        builder.add_body(f"b{k}", parent, joint, position=position, **body)
        parent = f"b{k}"
    return builder.build()


def point_mass():
    """Four joints move three freedoms: of the mass matrix, the rank is three in every state."""
    axes = ((0, 0, 1), (0, 1, 0), (0, 1, 0), (1, 0, 0))
    return chain(list(map(Revolute, axes)), [0, 0, 0, 1.0], inertia=None)


def one_rigid_body():
    """Eight joints move six freedoms."""
    rng = np.random.default_rng(2)
    joints = [Revolute(tuple(rng.normal(size=3))) for _ in range(8)]
    return chain(joints, [0] * 7 + [1.0], rng.normal(size=(8, 3)))


def redundant_arm():
    rng = np.random.default_rng(5)
    joints = [Revolute(tuple(rng.normal(size=3))) for _ in range(9)]
    return chain(joints, [1.0] * 9, rng.normal(size=(9, 3)))


def states_of(model, rng, count=STATES):
    return [
        (model.random(rng), rng.normal(size=model.nv), rng.normal(size=model.nv))
        for _ in range(count)
    ]


# -- what the defects were -----------------------------------------------------------------


@pytest.mark.parametrize("machine", [point_mass, one_rigid_body])
@every_path
def test_a_machine_that_is_singular_everywhere_answers_nowhere(machine, path):
    model, rng = machine(), np.random.default_rng(0)
    fall, inverse = compiled(model, FALL, path), compiled(model, Mass.inv, path)
    for q, v, tau in states_of(model, rng, 30):
        for call in (lambda: fall(q, v, tau), lambda: inverse(q)):  # noqa: B023
            with pytest.raises(pp.SolveError, match="articulated inertia D of joint 'b"):
                call()
    q, v, tau = map(np.array, zip(*states_of(model, rng, 20), strict=True))
    with pytest.raises(pp.SolveError):
        fall(q, v, tau)


def test_more_freedoms_than_mass_are_told_of():
    """And no others."""
    lines = [str(line) for line in point_mass().report if line.status == "implausible"]
    assert lines == [
        "joint 'b0_joint': with those outboard of it it has 4 freedoms, of which the masses there "
        "feel 3 at most, so forward dynamics is singular"
    ]
    assert sum(x.status == "implausible" for x in one_rigid_body().report) == 1
    assert not redundant_arm().report
    axes = np.random.default_rng(0).normal(size=(9, 3))
    arm = chain([Revolute(tuple(x)) for x in axes], [0, 0, 1.0, 0, 0, 0, 0, 0, 2.0])
    assert not arm.report
    arm_and_idle = chain([Revolute(tuple(x)) for x in axes], [0, 1.0, *[0] * 6, 2.0])
    assert [str(x).split(":")[0] for x in arm_and_idle.report] == ["joint 'b2_joint'"]


@pytest.mark.parametrize("machine", [point_mass, one_rigid_body])
def test_what_is_made_of_functions_does_not_answer_either(machine):
    model, rng = machine(), np.random.default_rng(1)
    for q, v, tau in states_of(model, rng, 10):
        for call in (
            lambda: pp.forward_dynamics(model, q, v, tau, backend="llvm"),  # noqa: B023
            lambda: pp.mass_matrix_inverse(model, q, backend="llvm"),  # noqa: B023
            lambda: compiled(model, FALL, "unrolled").jvp(q, v, tau, dq=v),  # noqa: B023
            lambda: pp.simulate(model, q, v, duration=0.01, dt=1e-3),  # noqa: B023
            lambda: pp.as_matrix(model, D.inv, q),  # noqa: B023
        ):
            with pytest.raises(pp.SolveError):
                call()


def nearly_repeated(rng, apart, count):
    """Joints of a rigid body, each nearly along or about the axis of the one before: 7 of 6.

    Each enlarges what is wrong with P by 1/apart^2, so that what is left for the seventh is no
    longer small.
    """
    x, y, z = np.linalg.qr(rng.normal(size=(3, 3)))[0].T
    turning = [(z, 0 * z), (z + apart * x, 0 * z), (x + apart * y, 0 * z), (y, apart * z)]
    sliding = [x + apart * y, y + apart * z, z]
    joints = [(Revolute(tuple(a / np.linalg.norm(a))), at) for a, at in turning]
    joints += [(Prismatic(tuple(a / np.linalg.norm(a))), 0 * z) for a in sliding]
    kinds, places = zip(*joints[:count][::-1], strict=True)
    steps = np.diff([0 * z, *places], axis=0)
    masses = [0] * (count - 1) + [1.3]
    return chain(kinds, masses, steps, 0.7 * np.eye(3), com=tuple(-places[-1]))


@pytest.mark.parametrize("apart", [3e-2, 3e-3, 1e-3])
@every_path
def test_joints_that_nearly_repeat_each_other_hide_nothing(apart, path):
    rng = np.random.default_rng(0)
    for _ in range(6):
        model = nearly_repeated(rng, apart, 7)
        with pytest.raises(pp.SolveError):
            compiled(model, Mass.inv, path)(np.zeros(7))


@pytest.mark.parametrize("target", ["casadi", "jax"])
@pytest.mark.parametrize("machine", [point_mass, one_rigid_body])
def test_exports_that_nobody_watches_give_no_numbers(machine, target):
    """And numbers where there are some."""
    rng = np.random.default_rng(3)
    for model, is_singular in ((machine(), True), (redundant_arm(), False)):
        function = pp.export(model, FALL, to=target)
        for q, v, tau in states_of(model, rng, 3):
            found = np.array(function(q, v, tau), float).ravel()
            assert not np.isfinite(found).any() if is_singular else np.isfinite(found).all()


SIBLINGS = {
    "redundant": (J.T @ J).inv @ T,
    "redundant, with rotors": (J.T @ J + Jm).inv @ T,
    "a singular block": tau_bar.inv,
    "a difference": (P - P @ H.T @ D.inv @ H @ P).inv,
}


@pytest.mark.parametrize("name", SIBLINGS)
@every_path
def test_other_inverses_are_held_against_what_they_are_made_of(name, path):
    model, rng = redundant_arm(), np.random.default_rng(2)
    function = compiled(model, SIBLINGS[name], path)
    points = {"points": ["b8"]} if "points" in function.inputs else {}
    for q, _, tau in states_of(model, rng, 10):
        given = points | ({"T": tau} if "T" in function.inputs else {})
        with pytest.raises(pp.SolveError, match="singular"):
            function(q, **given)
        with pytest.raises(pp.SolveError, match="singular"):
            pp.as_matrix(model, SIBLINGS[name], q, **given)


@every_path
def test_a_block_that_is_negative_in_every_state_has_no_root(path):
    """A constant of the machine code, where it is unrolled."""
    with pytest.raises(pp.SolveError, match="no square root"):
        compiled(pp.chain(3), blockdiag(tau_bar.T - I).sqrt, path)([0.1, 0.2, 0.3])


@every_path
def test_with_rotors_the_same_blocks_have_an_inverse(path):
    builder = pp.ModelBuilder("arm")
    builder.add_body("a", joint=Revolute((0, 0, 1)), mass=1.0, inertia=BODY, rotor_inertia=0.1)
    builder.add_body(
        "b", "a", Revolute((1, 0, 0)), mass=1.0, inertia=BODY, position=(1, 0, 0), rotor_inertia=0.1
    )
    model = builder.build()
    found = compiled(model, tau_bar.inv, path)([0.3, 0.4])
    right = np.linalg.inv(pp.as_matrix(model, tau_bar, [0.3, 0.4]))
    assert np.abs(found - right).max() < (1e-3 if "single" in path else 1e-12)


# -- what is nearly singular answers, and is right ---------------------------------------------


@pytest.mark.parametrize("far", [1e-2, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("path", ["unrolled", "rolled", "arrays"])
def test_near_gimbal_lock_there_is_an_answer(far, path):
    model = chain([SphericalEuler()], [1.0], [(0, 0, 0)], com=(0, 0, 0))
    q = np.array([0.2, 0.1, 0.3])
    near = [q + (np.pi / 2 - far - q) * e for e in np.eye(3)]
    q = max(near, key=lambda x: np.linalg.cond(pp.as_matrix(model, Mass, x)))
    found = compiled(model, Mass.inv, path)(q)
    M = pp.as_matrix(model, Mass, q)
    assert np.linalg.cond(M) > 0.01 / far**2
    assert np.abs(found @ M - np.eye(3)).max() < 1e-13 * np.linalg.cond(M)


@pytest.mark.parametrize("path", ["unrolled", "rolled", "arrays"])
def test_needles_and_heavy_tools_answer(path):
    """D is far below the inertia that its joint moves, and keeps its digits."""
    for thin in (1e-6, 1e-8, 1e-10, 1e-12):
        joints = [Revolute((0, 0, 1)), Revolute((0, 1, 0)), Revolute((0, 0, 1))]
        inertia = np.diag([1.0, 1.0, thin])
        model = chain(joints, [1.0, 1.0, 1.0], [(0, 0, 1)] * 3, inertia, com=(0, 0, 0.5))
        inverse, q = compiled(model, Mass.inv, path), np.array([0.3, 0.9, 0.4])
        M = pp.as_matrix(model, Mass, q)
        scale = 1.0 / np.sqrt(np.diag(M))
        error = (inverse(q) @ M - np.eye(3)) / scale * scale[:, None]
        assert np.abs(error).max() < 1e-9


def wire(joint, radius):
    """A steel wire of a metre."""
    mass, along = 7850.0 * np.pi * radius**2, radius**2 / 2
    inertia = mass * np.diag([1 / 12, 1 / 12, along])
    return chain([joint], [mass], inertia=inertia, com=(0, 0, 0.5))


def shaft():
    """A small one that carries a heavy wheel on its own axis."""
    joints = [Revolute((0, 0, 1))] * 2
    builder = pp.ModelBuilder("shaft")
    builder.add_body("shaft", joint=joints[0], mass=0.1, inertia=1e-5 * np.eye(3))
    builder.add_body("wheel", "shaft", joints[1], mass=1e3, inertia=1e3 * np.eye(3))
    return builder.build()


def light_base():
    """One of a gram, free, that carries a ton on a ball joint."""
    builder = pp.ModelBuilder("base")
    builder.add_body("base", joint=Free(), mass=1e-3, inertia=1e-5 * np.eye(3))
    builder.add_body("load", "base", Spherical(), mass=1e3, com=(0, 0, 1), inertia=BODY)
    return builder.build()


ORDINARY = {
    "chain of 40": lambda: pp.chain(40),
    "chain of 4000": lambda: pp.chain(4000),
    "wire on a ball joint": lambda: wire(Spherical(), 1e-4),
    "wire by angles": lambda: wire(SphericalEuler(), 1e-3),
    "shaft": shaft,
    "light base": light_base,
    "massless wrist": lambda: chain(
        [Revolute((0, 1, 0)), Revolute((0, 0, 1)), Revolute((1, 0, 0)), Revolute((0, 1, 0))],
        [5.0, 0, 0, 1.0],
        inertia=1e-5 * np.eye(3),
    ),
}


@pytest.mark.parametrize("name", ORDINARY)
@pytest.mark.parametrize("unroll", [True, False])
def test_ordinary_machines_are_never_in_doubt(name, unroll):
    model, rng = ORDINARY[name](), np.random.default_rng(4)
    fall = pp.compile(model, FALL, backend="llvm", unroll=unroll if model.nv < 100 else None)
    for q, v, tau in states_of(model, rng, 50 if model.nv < 100 else 2):
        fall(q, v, tau)
    assert fall._doubts == 0


# -- attack --------------------------------------------------------------------------------


def random_joint(rng, before):
    """About any axis, one of three, or nearly the one before."""
    near = before + 10 ** rng.uniform(-4, -1) * rng.normal(size=3)
    axis = tuple([rng.normal(size=3), np.eye(3)[rng.integers(3)], near][rng.integers(3)])
    kinds = (Revolute(axis), Revolute(axis), Prismatic(axis), Universal(), Spherical())
    return kinds[rng.choice(len(kinds), p=[0.35, 0.35, 0.15, 0.1, 0.05])]


def random_chain(rng):
    """Few bodies of mass, and more joints than these have freedoms, or about as many."""
    count = int(rng.integers(3, 13))
    joints, axis = [], np.eye(3)[2]
    for _ in range(count):
        joints.append(random_joint(rng, axis))
        axis = np.array(getattr(joints[-1], "axis", axis), float)
    masses = [float(10 ** rng.uniform(-6, 3)) if rng.random() < 0.2 else 0 for _ in range(count)]
    masses[-1] = masses[-1] or 1.0
    positions = rng.normal(size=(count, 3)) * 10 ** rng.uniform(-2, 1)
    inertia = None if rng.random() < 0.3 else BODY * 10 ** rng.uniform(-6, 1)
    com = rng.normal(size=3) if rng.random() < 0.7 else np.zeros(3)
    return chain(joints, masses, positions, inertia, tuple(com))


def truth(model, q):
    """The inverse of the mass matrix to many digits; None where it is singular.

    Of the blocks of phi and H rounded to doubles, which have the rank of the others.
    """
    with mpmath.workdps(60):
        phi_, H_, M_ = (mpmath.matrix(pp.as_matrix(model, x, q).tolist()) for x in (E_phi, H, M))
        left, power = H_, H_
        for _ in range(max(model.tree.depth)):
            power = power * phi_
            left = left + power
        mass = left * M_ * left.T
        unit = mpmath.diag(
            [1 / mpmath.sqrt(mass[i, i]) if mass[i, i] else 1 for i in range(model.nv)]
        )
        scaled = unit * mass * unit
        if min(mpmath.eigsy(scaled, eigvals_only=True)) < SINGULAR:
            return None
        found = unit * scaled**-1 * unit
        return np.array(found.tolist(), float)


def attack(seed, seconds):
    """Machines of which the mass matrix is singular, or nearly.

    What is singular is refused by all; an answer has a digit that is right, at the least.
    """
    rng, end, tries, machines = np.random.default_rng(seed), time.monotonic() + seconds, 0, 0
    while machines < TRIES or time.monotonic() < end:
        model = random_chain(rng)
        machines += 1
        if not model.nv:
            continue
        paths = random.Random(int(rng.integers(1 << 30))).sample(sorted(PATHS), 2)
        functions = [(path, compiled(model, Mass.inv, path)) for path in paths]
        for q, _, _ in states_of(model, rng):
            answers = {path: answer(function, q) for path, function in functions}
            answers["dense"] = answer(lambda q: pp.as_matrix(model, Mass.inv, q), q)  # noqa: B023
            answers["D"] = answer(lambda q: pp.as_matrix(model, D.inv, q), q)  # noqa: B023
            refused = sum(x is None for x in answers.values())
            right = None if refused == len(answers) else truth(model, q)
            unit = np.sqrt(np.diag(right)) if right is not None else 1.0
            for path, found in answers.items():
                what = f"{path}: {model!r} of {model.joints} at {q.tolist()}"
                assert found is None or right is not None, f"there is no answer: {what}"
                if found is not None and path != "D":
                    error = np.abs(found - right) / np.multiply.outer(unit, unit)
                    assert error.max() < 0.1, f"no digit is right: {what}"
            tries += 1
    return tries


def answer(function, q):
    """What it returns, or None where it refuses."""
    try:
        return function(q)
    except pp.SolveError:
        return None


def test_attack(fuzz):
    fuzz.tried(attack(fuzz.seed, fuzz.seconds), "states of singular machines")
