"""Random machines of every joint kind, by every path, beside dense matrices and the laws."""

import time

import numpy as np
from machines import ALL_KINDS, SHAPES, random_machine, random_state

import phipsi as pp
from phipsi.operators import C, H, J, M, Mass, T, beta, phi

TRIES = 1
LARGEST = 8  # bodies of a machine
DIGITS = 1e-9  # of the largest entry, times what the mass matrix makes of them

PATHS = {
    "unrolled": {"unroll": True},
    "rolled": {"unroll": False},
    "rolled, single": {"unroll": False, "dtype": np.float32},
    "single": {"unroll": True, "dtype": np.float32},
}
LINES = {
    "fall": Mass.inv @ (T - C),
    "mass": Mass,
    "inverse": Mass.inv,
    "velocities": phi.T @ H.T @ beta,
    "energy": 0.5 * (beta.T @ H @ phi @ M @ phi.T @ H.T @ beta),
    "points": J @ Mass.inv @ J.T,
}


def check(model, q, v, rng):
    """Lines, as compiled by a path, equal their matrices, in a batch as alone."""
    points = [pp.point(body.name, rng.normal(size=3)) for body in model.bodies[-2:]]
    force = rng.normal(size=sum(joint.kind.nv for joint in model.joints))
    path = list(PATHS)[rng.integers(len(PATHS))]
    known = {"v": v, "T": force, "points": points}
    mass = pp.as_matrix(model, Mass, q)
    unit = 1.0 / np.sqrt(np.diag(mass))
    worse = np.linalg.cond(mass * np.multiply.outer(unit, unit)) if mass.size else 1.0
    for name in rng.choice(list(LINES), size=2, replace=False):
        line = LINES[name]
        function = pp.compile(model, line, backend="llvm", **PATHS[path])
        given = {x: known[x] for x in function.inputs if x in known}
        found = function(q, **given)
        meant = pp.as_matrix(model, line, q, **{"points": points, "v": v} | given)
        allowed = (1e-4 if "single" in path else DIGITS) * max(1.0, np.abs(meant).max(initial=0.0))
        what = f"{name}, {path}, on {model.name}"
        assert np.abs(found - meant).max(initial=0.0) <= allowed * worse, what
        batch = {x: np.array([y, y]) if x != "points" else y for x, y in given.items()}
        for row in function(np.array([q, q]), **batch):
            assert np.array_equal(row, found), f"another number in a batch: {what}"


def attack(seed, seconds):
    """Machines, a state of each."""
    rng, end, tries = np.random.default_rng(seed), time.monotonic() + seconds, 0
    while tries < TRIES or time.monotonic() < end:
        how = (
            list(SHAPES)[rng.integers(len(SHAPES))],
            ("fixed", "free")[rng.integers(2)],
            (False, "reflected", "bodies")[rng.integers(3)],
            bool(rng.integers(2)),
        )
        count = int(rng.integers(1, LARGEST))
        model = random_machine(int(rng.integers(2**32)), count, list(ALL_KINDS), *how)
        if model.nv:
            check(model, *random_state(model, rng), rng)
        tries += 1
    return tries


def test_attack(fuzz):
    fuzz.tried(attack(fuzz.seed, fuzz.seconds), "random machines")
