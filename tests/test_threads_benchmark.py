"""The benchmark of threads computes what it says; nothing is timed."""

import sys
from pathlib import Path

import numpy as np
import pytest

import phipsi as pp

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import peak, threads
from benchmarks.plan import plan_of
from benchmarks.robots import Robot
from benchmarks.tasks import TASKS


@pytest.fixture(autouse=True)
def short(monkeypatch):
    for name in ("ROUNDS", "CALLS", "LONG"):
        monkeypatch.setattr(threads, name, 1)


@pytest.fixture(scope="module")
def loop():
    return peak.make_peak(1)


def test_a_gain_is_found_for_a_batch_and_leaves_the_default_as_it_was(loop):
    before = pp.get_threads()
    gain = threads.measure_batch(Robot("ur5", 100), TASKS["mass"], loop, 0.0)
    assert (gain.what, gain.threads) == ("UR5, mass matrix, 16,384 states", 2)
    assert gain.ours > 0 and gain.machine > 0
    assert pp.get_threads() == before


def test_a_gain_is_found_for_one_state_of_a_tree(loop):
    gain = threads.measure_tree(50, loop, 0.0)
    assert gain.what == "tree of 50 bodies, forward dynamics, one state"
    assert gain.ours > 0


def test_the_tree_has_two_branches_everywhere():
    model = threads.tree_of(7)
    assert sorted(len(x) for x in model.tree.children) == [0, 0, 0, 0, 2, 2, 2]
    assert np.isclose(model.mass, 7.0)


def test_multiply_adds_are_counted_for_all_threads(loop, monkeypatch):
    """By clocks that say one second for every run."""
    monkeypatch.setattr(threads, "_seconds", lambda run: 1.0)
    assert threads.multiply_adds(loop, 1) == threads.LONG
    assert threads.multiply_adds(loop, 3) == 3 * threads.LONG


def test_shares_are_of_the_gain_of_the_machine():
    gain = threads.Gain("something", 2, 1.5, 2.0)
    assert gain.share == 0.75
    said = "something, 2 threads: 1.50×, multiply-adds 2.00×, 0.75 of it"
    assert threads.line_of_gain(gain) == said


def test_every_robot_and_task_has_a_bar_and_the_tree_has_none():
    some = threads.Gain("UR5, mass matrix, 16,384 states", 2, 1.5, 2.0)
    tree = threads.Gain("tree of 50 bodies, forward dynamics, one state", 2, 1.9, 2.0)
    bars = list(threads.bars_of([some, tree]))
    assert len(bars) == 9
    assert {bar.what: bar.measured for bar in bars if bar.measured} == {
        "UR5, mass matrix, 16,384 states by 2 threads beside the machine's own gain": 0.75
    }


@pytest.mark.parametrize("only, trees", [(["threads"], [4_000]), (["threads", "ur5"], [])])
def test_the_tree_is_measured_with_all_robots(only, trees, monkeypatch):
    asked = []
    monkeypatch.setattr(threads, "measure_batch", lambda robot, task, *_: (robot.name, task.key))
    monkeypatch.setattr(threads, "measure_tree", lambda bodies, *_: asked.append(bodies))
    found = list(threads.measure_threads(plan_of(only, quick=True)))
    assert ("ur5", "mass") in found and asked == trees
