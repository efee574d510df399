"""The benchmark of control loops times what it says: answers agree, sums are right."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.contender import CALL, OURS, check_agreement
from benchmarks.control_loop import BOUND, KERNEL, Loop, bars_of, loop_table, trials_of
from benchmarks.robots import Robot
from benchmarks.tasks import FORWARD, INVERSE, MASS, MASS_INVERSE


@pytest.mark.parametrize("task", [FORWARD, INVERSE, MASS, MASS_INVERSE], ids=lambda x: x.key)
def test_all_contenders_agree(task):
    robot = Robot("ur5", 1)
    trials = trials_of(robot, task)
    assert list(trials) == [OURS, BOUND, KERNEL, CALL]
    check_agreement("UR5", trials, OURS, np.empty(0))
    right = trials[OURS].answer()[0]
    result = trials[BOUND].run()
    assert np.array_equal(result, right)
    result.fill(np.nan)
    trials[KERNEL].run()
    assert np.array_equal(result, right)


def test_bars_and_overheads():
    micros = {BOUND: 0.5, KERNEL: 0.48, OURS: 1.0, CALL: 2.5}
    ratios = {BOUND: 1.0, KERNEL: 0.96, OURS: 2.0, CALL: 5.0}
    slow = {**ratios, CALL: 3.0}
    loops = [
        Loop("ur5", "forward", micros, ratios),
        Loop("talos", "mass", micros, slow),
        Loop("g1", "mass-inverse", micros, slow),
    ]
    assert loops[0].overhead == pytest.approx(20.0)
    bars = {bar.what: bar.verdict for bar in bars_of(loops) if bar.measured}
    assert bars == {
        "UR5, forward dynamics, one state by the bound function beside Pinocchio call": "met",
        "Talos, mass matrix, one state by the bound function beside Pinocchio call": "not met",
    }
    _, _, first, *_ = loop_table(loops).splitlines()
    cells = [cell.strip() for cell in first.strip("|").split("|")]
    assert cells == ["UR5, forward dynamics", "0.500", "0.480", "20", "1.00 (2.0×)", "2.50 (5.0×)"]
