"""The benchmarks time what they say they time: answers agree, sums are right; nothing is timed."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest

import phipsi as pp
from phipsi.cli import timing

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmark_findings import findings

from benchmarks import (
    bars,
    chains,
    contender,
    measure,
    mujoco_peer,
    ours,
    peak,
    pinocchio_peer,
    plan,
    report,
    rollouts,
    tables,
)
from benchmarks.contender import (
    BATCH,
    CALL,
    CHECKED,
    IN_PLACE,
    LAST,
    MUJOCO,
    OURS,
    DisagreementError,
    Trial,
)
from benchmarks.results import Cell, Chain, Made, Results, Rollout
from benchmarks.robots import FILES, Robot
from benchmarks.sections import SECTIONS
from benchmarks.tasks import FORWARD, INVERSE, MASS, TASKS

COUNT = 3
ROBOTS = {name: Robot(name, COUNT) for name in FILES}
SPEEDS = {"ur5": 6, "panda": 9, "solo12": 18, "talos": 50, "g1": 35}

every_robot = pytest.mark.parametrize("robot", ROBOTS.values(), ids=list(ROBOTS))
every_task = pytest.mark.parametrize("task", TASKS.values(), ids=list(TASKS))


# -- who answers what --------------------------------------------------------------------


@every_robot
def test_robots_are_whole_and_their_mimic_joints_free(robot):
    assert robot.model.nv == SPEEDS[robot.name]
    assert not robot.model.has_mimics
    assert robot.states["q"].shape == (COUNT, robot.model.nq)
    assert all(robot.states[name].shape == (COUNT, robot.model.nv) for name in ("v", "tau", "vdot"))


def interpreted(robot, task, count=COUNT):
    """What the contenders are compared with here, without compiling large robots."""
    arguments = contender.first(robot.states, task.arguments, count)
    return task.checked(robot.model, *arguments, backend="numpy")


def check(contenders, robot, task, count):
    """All answer as the interpreter does, for so many states."""
    out = np.empty((count, *task.shape(robot.model.nv)))
    trials = {one.name: one.on(count, out) for one in contenders}
    assert len(trials) == len(contenders)
    trials["interpreter"] = Trial(print, lambda: interpreted(robot, task, count), count)
    assert all(trial.count == count for trial in trials.values())
    contender.check_agreement(robot.title, trials, "interpreter", out)


@every_robot
@every_task
@pytest.mark.parametrize("count", [1, COUNT])
def test_pinocchio_agrees_once_its_coordinates_are_ours(robot, task, count):
    peers = [pinocchio_peer.Call(robot, task)]
    if not task.is_matrix:
        peers.append(pinocchio_peer.Batch(robot, task))
    check(peers, robot, task, count)


@every_task
@pytest.mark.parametrize("count", [1, COUNT])
def test_all_of_ours_agree(task, count):
    robot = ROBOTS["ur5"]
    several = [ours.compile_task(robot, task, name) for name in ours.VARIANTS]
    check([*several, ours.Checked(robot, task), ours.InPlace(several[0])], robot, task, count)


def by_mujoco(robot, task):
    """MuJoCo's answers in its own coordinates, by its Python calls."""
    model = mujoco_peer.model_of(robot)
    data, full = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    for state in zip(*mujoco_peer.states_of(robot).values(), strict=True):
        data.qpos, data.qvel, data.qfrc_applied, data.qacc = state
        if task is INVERSE:
            mujoco.mj_inverse(model, data)
            yield data.qfrc_inverse.copy()
            continue
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, full)
        if task is FORWARD:
            yield data.qacc.copy()
        else:
            yield full.copy() if task is MASS else np.linalg.inv(full)


@every_robot
@every_task
def test_mujoco_agrees_once_its_coordinates_are_ours(robot, task):
    assert list(mujoco_peer.states_of(robot)) == ["q", "v", "tau", "vdot"]
    found = mujoco_peer.to_ours(robot, task, np.array(list(by_mujoco(robot, task))))
    assert contender.relative_error(found, interpreted(robot, task)) < contender.TOLERANCE


@every_robot
def test_states_return_from_mujocos_coordinates(robot):
    theirs = mujoco_peer.states_of(robot)
    q, v = mujoco_peer.state_to_ours(robot, theirs["q"], theirs["v"])
    np.testing.assert_allclose(q, robot.states["q"], rtol=0, atol=1e-15)
    np.testing.assert_allclose(v, robot.states["v"], rtol=0, atol=1e-14)


def test_mujoco_does_nothing_but_move_bodies_under_gravity():
    disabled = mujoco_peer.model_of(ROBOTS["panda"]).opt.disableflags
    flags = {name: int(flag) for name, flag in mujoco.mjtDisableBit.__members__.items()}
    left = {name for name, flag in flags.items() if name[:7] == "mjDSBL_" and not disabled & flag}
    assert left == {"mjDSBL_GRAVITY"}


@pytest.mark.parametrize("name", ["panda", "solo12"])
@every_task
def test_what_casadi_is_given_is_the_task(name, task):
    """The loops on single numbers, as CasADi runs them on its symbols."""
    robot = ROBOTS[name]
    nv = robot.model.nv
    result = np.zeros((nv, nv if task.is_matrix else 1))

    def add(i, j, value):
        result[i, j] += value

    entries = {name: robot.states[name][0].tolist() for name in task.arguments}
    ours.run_program(robot, task, entries, add)
    expected = interpreted(robot, task, 1)
    assert contender.relative_error(result.reshape(expected.shape), expected) < 1e-14


def test_a_chain_moves_as_in_pinocchio_and_a_wrong_motion_is_refused():
    model, state = pp.chain(6), chains.state_of(6)
    vdot = pp.forward_dynamics(model, *state)
    chains.check_motion(model, vdot, *state)
    chains.check_alike(model, vdot, pinocchio_peer.chain_call(model, *state)())
    with pytest.raises(DisagreementError, match="residual"):
        chains.check_motion(model, vdot * (1.0 + 1e-8), *state)
    with pytest.raises(DisagreementError, match="off by"):
        chains.check_alike(model, vdot, vdot * (1.0 + 1e-8))


@pytest.mark.parametrize("integrator", rollouts.METHODS)
@pytest.mark.parametrize("name", plan.ROLLING)
def test_rollouts_move_as_in_mujoco(name, integrator):
    rollouts.check_motion(ROBOTS[name], integrator)


def test_a_rollout_of_another_method_is_refused(monkeypatch):
    (euler, _), (_, order) = rollouts.METHODS["euler"], rollouts.METHODS["rk4"]
    monkeypatch.setitem(rollouts.METHODS, "rk4", (euler, order))
    with pytest.raises(DisagreementError, match="Panda, rk4: MuJoCo is off by"):
        rollouts.check_motion(ROBOTS["panda"], "rk4")


@pytest.mark.parametrize(
    "apart, order",
    [
        (lambda finer: 1e-10, 4),
        (lambda finer: 1e-5 / finer, 1),
        (lambda finer: 1e-5 / finer**4, 4),
    ],
    ids=["none", "first", "fourth"],
)
def test_a_difference_of_the_order_of_the_method_is_none(apart, order):
    rollouts.check_order("", apart, order)


@pytest.mark.parametrize(
    "apart, order",
    [
        (lambda finer: 1e-8, 1),
        (lambda finer: 1e-5 / finer, 4),
        (lambda finer: 1e-5 / finer**2, 4),
        (lambda finer: np.nan, 1),
    ],
    ids=["stays", "first for fourth", "second for fourth", "NaN"],
)
def test_a_difference_that_shorter_steps_leave_is_refused(apart, order):
    with pytest.raises(DisagreementError, match="off by"):
        rollouts.check_order("", apart, order)


# -- what is timed -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer", [[[1.0, 1.0 + 1e-8]], [[np.nan, 1.0]], [[1.0]]], ids=["off", "NaN", "shape"]
)
def test_nothing_is_timed_where_an_answer_differs(answer):
    timed = []

    def on(answer):
        return lambda count, out: Trial(lambda: timed.append(1), lambda: np.array(answer), 1)

    right = SimpleNamespace(name=OURS, on=on([[1.0, 1.0]]))
    wrong = SimpleNamespace(name=CALL, on=on(answer))
    loop = peak.Peak(1, lambda: timed.append(1), 1, None)
    with pytest.raises(DisagreementError, match=CALL):
        measure.measure(ROBOTS["ur5"], FORWARD, 1, [right, wrong], loop, 1.0, 0.0)
    assert not timed


def test_an_answer_that_another_one_left_is_none():
    out = np.ones((1, 2))

    def write():
        out[...] = 1.0
        return out

    trials = {
        OURS: Trial(print, lambda: np.ones((1, 2)), 1),
        "writes": Trial(print, write, 1),
        "does nothing": Trial(print, lambda: out, 1),
    }
    with pytest.raises(DisagreementError, match="does nothing"):
        contender.check_agreement("", trials, OURS, out)


class Clock:
    """Time of the processor that passes only when something runs; on the wall it is double."""

    def __init__(self, monkeypatch):
        self.now, self.order = 0.0, []
        clock = SimpleNamespace(perf_counter=lambda: 2 * self.now, process_time=lambda: self.now)
        monkeypatch.setattr(timing, "time", clock)

    def runs(self, name, seconds):
        """Takes so long, and after twenty runs three times as long."""

        def run():
            self.order.append(name)
            self.now += seconds * (3.0 if len(self.order) > 20 else 1.0)

        return run


def test_ratios_are_those_of_the_same_round(monkeypatch):
    clock = Clock(monkeypatch)
    runs = {"slow": clock.runs("slow", 8.0), "fast": clock.runs("fast", 2.0)}
    times = timing.interleave(runs, {"slow": 4, "fast": 2}, seconds=2000.0)
    assert times.best("slow") == 2.0 and times.best("fast") == 1.0
    assert times.ratio("slow", "fast") == 2.0
    assert times.busy == 0.5
    assert len(times.seconds["slow"]) == len(times.seconds["fast"]) > timing.ROUNDS
    rounds = clock.order[4:]  # after two runs of each to warm up
    orders = set(zip(rounds[::2], rounds[1::2], strict=True))
    assert orders == {("slow", "fast"), ("fast", "slow")}


def test_what_is_short_is_repeated_and_counted_per_run(monkeypatch):
    clock = Clock(monkeypatch)
    times = timing.interleave({"short": clock.runs("short", timing.BLOCK / 2)}, {"short": 1})
    assert len(clock.order) == 2 + 2 * timing.ROUNDS
    assert times.best("short") == timing.BLOCK / 2


def test_what_is_long_is_measured_in_fewer_rounds(monkeypatch):
    clock = Clock(monkeypatch)
    times = timing.interleave({"long": clock.runs("long", 5.0)}, {"long": 1}, rounds=3)
    assert len(clock.order) == 2 + 3 and len(times.seconds["long"]) == 3


def test_rollouts_are_counted_by_their_steps(monkeypatch):
    """Every contender takes as long as it has states, and ends where it has to."""
    counted = {}

    def interleave(runs, work, rounds):
        for run in runs.values():
            run()
        counted.update(work)
        return timing.Times({name: np.full(rounds, 1.0 / work[name]) for name in runs}, 1.0)

    monkeypatch.setattr(rollouts, "interleave", interleave)
    found = rollouts.measure_rollout(ROBOTS["panda"], "euler", steps=5)
    assert counted == {OURS: 15, LAST: 15, MUJOCO: 15, FORWARD.name: COUNT}
    assert found.rates == {OURS: 15.0, LAST: 15.0, MUJOCO: 15.0}
    assert (found.ratio, found.forwards) == (1.0, COUNT / 15)
    assert found.apart < 1e-14


@pytest.mark.parametrize("lanes", peak.LANES)
def test_the_peak_loop_runs_and_counts_two_flops_for_each_lane(lanes):
    loop = peak.make_peak(lanes)
    loop.run()
    turns = loop.flops // (2 * lanes * peak.TURNS)
    assert turns == peak._loop(lanes).count("= call")


# -- what is made of it --------------------------------------------------------------------


def results(times, share, growth=2.0, crooked=0, level=1.0):
    """A run in which all ratios and all shares are the same; sections are at a level of theirs."""
    names = (OURS, CHECKED, IN_PLACE, CALL, BATCH)
    ratios = dict.fromkeys(names, times) | {OURS: 1.0, CHECKED: 1.0, IN_PLACE: 1.0}
    micros = dict.fromkeys(names, 0.0123)
    found = Results(peaks={8: 5e10}, cold=growth, sections=findings(level))
    for robot in FILES:
        for task in TASKS:
            for batch in plan.BATCHES:
                found.cells.append(Cell(robot, task, batch, micros, ratios, share, 1.0, share))
            found.made.append(Made(robot, task, 900, 800, 12, 1000, 8, "unrolled", 0.5))
    for n in plan.SIZES:
        flops = 409 * n - 160 if n > 10 else 3000
        path = "rolled" if n > 10 else "unrolled"
        found.chains.append(Chain(n, flops + crooked * (n == 1_000), path, 0.1, growth, 1.0, 2.0))
    rates = {OURS: 4.56e6, LAST: 5e6, MUJOCO: 1e5}
    for robot in plan.ROLLING:
        for integrator in rollouts.METHODS:
            size = (plan.STATES, plan.STEPS)
            found.rollouts.append(Rollout(robot, integrator, *size, rates, times, 4.0, 7e-12, 1.0))
    return found


def verdicts(found):
    return {bar.what: bar.verdict for bar in bars.bars_of(found)}


def test_bars_are_met_at_their_bounds():
    assert set(verdicts(results(30.0, 0.6)).values()) == {"met"}


def test_bars_are_not_met_below_their_bounds():
    found = verdicts(results(0.99, 0.449, growth=2.01, crooked=1, level=0.999))
    assert set(found.values()) == {"not met"}
    assert len(found) == len(bars.bars_of(Results())), "no two bars have one name"


@pytest.mark.parametrize(
    "least, met",
    [
        (30.0, 2 + 3 + 5 + 4 + 2 + 20 + 20),  # forward dynamics of arms
        (25.0, 3 + 5 + 4 + 2 + 20 + 20),  # and of others
        (20.0, 5 + 4 + 2 + 20 + 20),  # inverse dynamics
        (12.0, 4 + 2 + 20 + 20),  # matrices of arms
        (10.0, 2 + 20 + 20),  # rollouts
        (2.0, 20 + 20),  # single calls
        (1.7, 4 + 20),  # the UR5's
        (1.0, 20),  # checked ones
    ],
)
def test_ratios_meet_the_bars_that_they_reach(least, met):
    def count(times):
        found = [bar for bar in bars.bars_of(results(times, 0.0, level=0.5)) if bar.unit == "×"]
        return sum(bar.verdict == "met" for bar in found if not bar.at_most)

    assert count(least) == met > count(least - 0.01)


def test_a_checked_call_has_a_bar_of_its_own():
    found = results(30.0, 0.6)
    place = next(i for i, x in enumerate(found.cells) if (x.task, x.batch) == ("mass", 1))
    slow = {**found.cells[place].ratios, CHECKED: 30.1}
    found.cells[place] = replace(found.cells[place], ratios=slow)
    assert [what for what, verdict in verdicts(found).items() if verdict != "met"] == [
        "UR5, mass matrix, one state by the pp function beside Pinocchio call"
    ]


@pytest.mark.parametrize("share, met", [(0.60, 6 + 3), (0.50, 6 + 1), (0.45, 1)])
def test_shares_meet_the_bars_that_they_reach(share, met):
    found = bars.bars_of(results(1.0, share))
    assert sum(bar.verdict == "met" for bar in found if bar.unit == " %") == met


def test_flops_that_are_one_off_the_line_are_noticed():
    found = verdicts(results(30.0, 0.6, crooked=1))
    assert [what for what, verdict in found.items() if verdict != "met"] == [
        "chain of 100,000 bodies, flops away from linear growth"
    ]


def test_what_was_left_out_is_not_met():
    assert set(verdicts(Results()).values()) == {"not measured"}
    partly = results(30.0, 0.6)
    partly.cells = [cell for cell in partly.cells if cell.task == "forward"]
    partly.sections = {}
    found = verdicts(partly)
    assert not any("mass" in what or "inverse" in what for what in found if found[what] == "met")
    assert list(found.values()).count("met") == 5 + 5 + 5 + 3 + 1 + 2 + 2


def test_a_shorter_rollout_or_another_method_meets_no_bar():
    found = results(30.0, 0.6)
    found.rollouts = [x for x in found.rollouts if x.integrator == "euler"]
    found.rollouts.append(Rollout("panda", "rk4", 256, 100, {}, 30.0, 4.0, 0.0, 1.0))
    left = [what for what, verdict in verdicts(found).items() if verdict != "met"]
    assert left == [
        "Panda, rollout of 1,024 states over 1,000 steps by RK4 beside MuJoCo",
        "solo12, rollout of 1,024 states over 1,000 steps by RK4 beside MuJoCo",
    ]


def test_the_compute_rate_counts_no_more_than_casadi_needs():
    assert Made("ur5", "forward", 900, 800, 12, 0, 8, "unrolled", 0.0).weight == 800 + 6 * 30
    assert Made("ur5", "forward", 700, 800, 0, 0, 8, "unrolled", 0.0).weight == 700


def test_the_page_has_every_table_whole():
    text = report.page(results(30.0, 0.6), {"processor": "one"})
    assert "- processor: one" in text and "50.0 with 8" in text
    blocks = [block for block in text.split("\n\n") if block.startswith("|")]
    assert len(blocks) == 1 + 2 * len(TASKS) + 3 + len(SECTIONS)
    for block in blocks:
        lines = block.strip().splitlines()
        assert len({line.count("|") for line in lines}) == 1
        assert len({len(line) for line in lines}) == 1, "columns are aligned"
    forward = blocks[1].splitlines()
    assert [line for line in forward if line.startswith("| Talos") and " 1,024 |" in line]
    assert len(forward) == 2 + len(FILES) * len(plan.BATCHES)
    assert "0.0123 (30.0×)" in blocks[1] and " 60 % |" in blocks[2]
    rolled = blocks[1 + 2 * len(TASKS) + 2]
    assert len(rolled.splitlines()) == 2 + len(plan.ROLLING) * len(rollouts.METHODS)
    assert " 4.56 | " in rolled and "0.100 (30.0×)" in rolled and " 7e-12 |" in rolled


def test_the_page_lists_the_bars_that_were_measured_and_counts_the_others():
    part = Results(sections={plan.EXPORT: findings(1.0)[plan.EXPORT]})
    text = report.page(part, {})
    others = len(bars.bars_of(part)) - 9
    assert f"{others} not measured, 9 met.\n" in text
    assert text.count("exported C beside our kernel of one lane") == 9
    assert f"{len(bars.bars_of(Results()))} not measured.\n" in report.page(Results(), {})


def test_a_rollout_is_one_line_for_who_watches():
    line = report.line_of_rollout(results(30.0, 0.6).rollouts[0])
    assert line.startswith("Panda, rk4, 1,024 states, 1,000 steps: 4.56 million steps/s; MuJoCo")
    assert "0.100, 30.0×" in line


@pytest.mark.parametrize(
    "number, text",
    [(0.01234, "0.0123"), (1.0, "1.00"), (12.34, "12.3"), (1234.5, "1,234"), (0, "0"), (None, "-")],
)
def test_numbers_have_three_digits_and_no_exponent(number, text):
    assert tables.digits(number) == text


def test_a_part_is_measured_by_its_names():
    whole = plan.plan_of([], quick=False)
    assert list(whole.robots) == list(FILES) and list(whole.tasks) == list(TASKS)
    assert list(whole.parts) == list(plan.PARTS)
    assert whole.batches == (1, 7, 64, 1024, 16384) and whole.sizes[-1] == 100_000
    assert whole.rollouts == (1024, 1_000) and whole.is_whole
    part = plan.plan_of(["talos", "mass"], quick=False)
    assert (part.robots, part.tasks, part.parts) == (["talos"], ["mass"], ["peers"])
    rolled = plan.plan_of(["rollouts"], quick=True)
    assert (rolled.parts, rolled.rollouts, rolled.is_quick) == (["rollouts"], (256, 100), True)
    assert not part.is_whole and not plan.plan_of([], quick=True).is_whole
    assert bars.FEW in plan.plan_of(["chains"], quick=True).sizes


def test_parts_are_measured_on_robots_and_for_tasks_that_are_named():
    both = plan.plan_of(["bind", "talos", "threads", "mass"], quick=True)
    assert both.parts == ["bind", "threads"]
    assert list(both.cases(("ur5", "talos"), ("forward", "mass"))) == [("talos", "mass")]
    every = plan.plan_of(["bind"], quick=True)
    assert list(every.cases(("ur5",), ("mass", "forward"))) == [("ur5", "mass"), ("ur5", "forward")]


def test_every_section_has_a_name_on_the_command_line():
    named = [section.name for section in SECTIONS]
    assert named == list(plan.PARTS[3:]) and set(named) < set(plan.CHOICES)
