"""The benchmark of public functions leaves none out, and asks what it says; nothing is timed."""

import inspect
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import phipsi as pp

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmark_findings import Asked

from benchmarks import functions, plan
from benchmarks.contender import BATCH, CALL, CHECKED, OURS, DisagreementError
from benchmarks.functions import BOUND, COPY, ELSEWHERE, IN_PLACE, ROWS, Question
from benchmarks.robots import Robot

PANDA = Robot("panda", 2)

every_row = pytest.mark.parametrize("row", ROWS, ids=lambda x: x.name)


def public_functions():
    """All that is called, however it is made; classes are not."""
    named = {name: getattr(pp, name) for name in pp.__all__}
    return {name for name, x in named.items() if callable(x) and not inspect.isclass(x)}


def test_no_public_function_is_left_out_of_the_benchmarks():
    rows = {row.function.__name__ for row in ROWS}
    assert rows | ELSEWHERE.keys() == public_functions()
    assert not rows & ELSEWHERE.keys()


def test_functions_of_numbers_without_a_row_are_measured_elsewhere_or_made_for_a_person():
    """A function of a machine at a configuration answers in numbers, unless someone reads it."""
    unmeasured = {
        name
        for name, (part, _) in ELSEWHERE.items()
        if part is None and {"q", "q0"} & inspect.signature(getattr(pp, name)).parameters.keys()
    }
    assert unmeasured == {"diagnose", "explain", "draw_blocks", "view"}
    assert all(part is None or part in plan.PARTS for part, _ in ELSEWHERE.values())


@every_row
def test_all_contenders_answer_and_stand_in_the_table(row, monkeypatch):
    clocks = []

    def clock(runs, work, **_):
        clocks.append(Asked(pp_function=2.0, phipsi=1.5, bound=1.0, Pinocchio_call=6.0))
        return clocks[-1](runs, work)

    monkeypatch.setattr(functions, "interleave", clock)
    found = functions.measure_function(Question(PANDA, row), 0.0)
    one, many, *pair = (set(x.work) for x in clocks)
    peer = {CALL} if row.peer else set()
    assert one == {CHECKED} | peer | ({OURS, BOUND} if row.formula else set())
    batch = {BATCH} if row.peer and row.peer.batch else peer
    assert many == {CHECKED} | batch | ({IN_PLACE, COPY} if row.takes_out else set())
    assert pair == ([{IN_PLACE, CALL}] if row.in_place else [])
    assert (found.beside_in_place is not None) == row.in_place
    assert set(clocks[1].work.values()) == {PANDA.count}
    if row.formula:
        assert found.adds == pytest.approx(0.5e6)
    if row.formula and row.peer:
        assert found.bound == pytest.approx(6.0)
    line = functions.function_table([found]).splitlines()[-1]
    assert line.startswith(f"| Panda, {row.name} ")
    assert functions.line_of_function(found).startswith(f"Panda, {row.name}: ")


@pytest.mark.parametrize("function", [pp.mass_matrix, pp.mass_matrix_inverse])
def test_a_batch_of_matrices_of_pinocchio_is_kept_as_ours_is(function):
    question = Question(PANDA, next(x for x in ROWS if x.function is function))
    run = functions.batch_runs(question)[0][CALL]
    run()
    calls, room = run.args
    np.testing.assert_array_equal(room, [call() for call in calls])
    np.testing.assert_allclose(room, function(PANDA.model, PANDA.states["q"]), atol=1e-9)


def test_every_function_is_measured_on_every_robot(monkeypatch):
    monkeypatch.setattr(functions, "measure_function", lambda x, _: (x.robot.name, x.row.name))
    whole = list(functions.measure_functions(plan.plan_of(["functions"], quick=True)))
    assert len(set(whole)) == len(functions.ROBOTS) * len(ROWS)
    some = list(functions.measure_functions(plan.plan_of(["functions", "panda"], quick=True)))
    assert {robot for robot, _ in some} == {"panda"}


def test_functions_that_answer_something_else_are_not_timed():
    row = next(x for x in ROWS if x.function is pp.gravity_force)
    answer = pp.gravity_force(PANDA.model, PANDA.states["q"])
    question = Question(PANDA, row)
    question.check(answer)
    with pytest.raises(DisagreementError, match="Panda, `gravity_force`: Pinocchio call is off by"):
        question.check(1.001 * answer)
    with pytest.raises(DisagreementError, match="off by nan from a batch"):
        functions._compare("a function", np.full(9, np.nan), answer)


def test_beside_a_short_call_microseconds_count():
    row = next(x for x in ROWS if x.function is pp.body_poses)
    found = functions.Found(
        "panda",
        row.name,
        {CHECKED: 0.5, CALL: 0.9},
        {CHECKED: 0.1, CALL: 0.9},
        {CALL: 1.8},
        {CALL: 9.0},
    )

    def bar(x):
        return next(x for x in functions.bars_of([x]) if f"{row.name}, one state, " in x.what)

    assert bar(found).verdict == "met"
    assert bar(replace(found, micros={CHECKED: 0.51, CALL: 0.9})).verdict == "not met"
