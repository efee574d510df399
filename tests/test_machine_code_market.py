"""Machine code of every path agrees with the interpreter, over machines and expressions.

A path is a way to run: unrolled code of each width, rolled code of one lane and of many. Every
expression is run rolled and unrolled, with widths and machines in turn, so that every machine is
run both ways, and with every width; each has two of the five points that the interpreter has in
`test_lowering_market.py`, all pairs in turn: a matrix of all points, inverted, is a minute of LLVM.
`pytest tests/test_machine_code_market.py --whole-market` tries all on all, at all points: some
hours.
"""

import functools
import itertools
from collections import defaultdict
from itertools import combinations, product

import machines
import numpy as np
import pytest
from expressions import FAMILIES
from symbols import y
from test_lowering_market import REFUSED, arguments, situation

import phipsi as pp
from phipsi.backends import machine_code
from phipsi.operators import Mass

SCALE = 1e-2  # what counts as zero beside it: the market is of the size of one, in SI units
CLOSE = 1e-10
MEMBERS = 3  # expressions of one function
PATHS = {
    "unrolled, 1 lane": (True, 1),
    "unrolled, 2 lanes": (True, 2),
    "unrolled, 4 lanes": (True, 4),
    "unrolled, 8 lanes": (True, 8),
    "rolled, 1 lane": (False, 1),
    "rolled, 4 lanes": (False, 4),
}
MACHINES = list(machines.MARKET)
FEW = 7  # bodies
POINTS = range(5)
PAIRS = list(combinations(POINTS, 2))


def bundles():
    """The market in small bundles of expressions of one family."""
    for family, members in FAMILIES.items():
        names = list(members)
        for start in range(0, len(names), MEMBERS):
            chosen = names[start : start + MEMBERS]
            named = {f"{family}: {x}": members[x] for x in chosen}
            yield f"{family} {start // MEMBERS}", named


BUNDLES = dict(bundles())


def between_bodies(expression):
    """Has a block for every pair of bodies, such as phi: thousands of numbers soon."""
    return expression.source.name == expression.target.name == "body"


def cases():
    """Each bundle rolled and unrolled, with widths, machines and points in turn.

    Matrices between bodies are made of machines of few bodies: there are some of every sort, and
    LLVM takes many seconds for the others.
    """
    few = [name for name in MACHINES if len(machines.MARKET[name]().bodies) <= FEW]
    ways = [[x for x, how in PATHS.items() if how[0] is way] for way in (False, True)]
    turns = defaultdict(itertools.count)
    for bundle, members in BUNDLES.items():
        large = any(between_bodies(x) for x in members.values())
        for way in ways:
            chosen = few if large else MACHINES
            i = next(turns[len(way), large])
            machine = i // len(way) + 5 * (i % len(way))
            yield chosen[machine % len(chosen)], bundle, way[i % len(way)], PAIRS[i % len(PAIRS)]


def whole_market():
    return (
        (machine, bundle, path, tuple(POINTS))
        for bundle in BUNDLES
        for machine in MACHINES
        for path in PATHS
    )


def pytest_generate_tests(metafunc):
    if "bundle" in metafunc.fixturenames:
        whole = metafunc.config.getoption("--whole-market")
        chosen = list(whole_market() if whole else cases())
        names = [f"{machine}-{bundle}-{path}" for machine, bundle, path, _ in chosen]
        metafunc.parametrize(("machine", "bundle", "path", "points"), chosen, ids=names)


@functools.lru_cache(maxsize=4)
def expected(machine, bundle, points):
    """What the interpreter says, one by one; an error is an answer too."""
    asked = {name: x for name, x in BUNDLES[bundle].items() if name not in REFUSED}
    return {name: (x, outcome(machine, [x], points, backend="numpy")) for name, x in asked.items()}


def at(points, given):
    """Arguments at some of their points."""
    size, chosen = len(given["points"]), list(points)
    blocks = {name: np.reshape(given[name], (size, 6)) for name in {"r", "f0"} & given.keys()}
    there = {name: rows[chosen].ravel() for name, rows in blocks.items()}
    there |= {name: [given[name][i] for i in chosen] for name in {"points", "F"} & given.keys()}
    return given | there


def outcome(machine, members, points, **how):
    try:
        function = pp.compile(situation(machine)[0], members, **how)
        return function(**at(points, arguments(machine, members)))
    except (pp.SolveError, pp.InputError, pp.BackendError) as error:
        return error


def test_machine_code_agrees_with_the_interpreter(machine, bundle, path, points, monkeypatch):
    monkeypatch.setattr(machine_code, "SINGLE", 0)  # code of one lane has a path of its own
    answers = expected(machine, bundle, points)
    unroll, lanes = PATHS[path]
    how = {"backend": "llvm", "unroll": unroll, "lanes": lanes}
    sound = {x: answer[0] for x, answer in answers.values() if not isinstance(answer, Exception)}
    if sound:
        results = outcome(machine, list(sound), points, **how)
        if isinstance(results, pp.BackendError):  # too large to be unrolled: nobody would
            assert unroll and "too large" in str(results)
            results = outcome(machine, list(sound), points, backend="llvm", lanes=lanes)
        for (expression, answer), result in zip(sound.items(), results, strict=True):
            assert result.shape == answer.shape, expression
            scale = max(np.abs(answer).max(initial=0.0), SCALE)
            assert np.abs(result - answer).max(initial=0.0) < CLOSE * scale, expression
    for expression, answer in answers.values():
        if isinstance(answer, Exception):
            error = outcome(machine, [expression], points, **how)
            assert type(error) is type(answer) and str(error) == str(answer), expression
    situation(machine)[0].functions.clear()


def test_every_machine_is_run_on_every_path_and_every_expression_both_ways():
    chosen = list(cases())
    assert {(machine, path) for machine, _, path, _ in chosen} == set(product(MACHINES, PATHS))
    ways = {(bundle, PATHS[path][0]) for _, bundle, path, _ in chosen}
    assert ways == set(product(BUNDLES, (True, False)))
    at_points = {points for _, bundle, _, points in chosen if bundle.startswith("at points")}
    assert set().union(*at_points) == set(POINTS) and len(at_points) > 5


@pytest.mark.parametrize("path", PATHS)
def test_results_have_the_same_bits_for_every_place_in_a_batch(path):
    model = pp.examples.puma560()
    unroll, lanes = PATHS[path]
    rng = np.random.default_rng(5)
    q, b = (rng.normal(size=(19, 6)) for _ in range(2))
    function = pp.compile(model, Mass.inv @ y, backend="llvm", unroll=unroll, lanes=lanes)
    together = function(q, None, b)
    alone = np.array([function(*x) for x in zip(q, [None] * 19, b, strict=True)])
    assert np.array_equal(together, alone)
