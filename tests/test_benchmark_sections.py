"""The parts of the benchmarks compute what they say; nothing is timed."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import phipsi as pp
from phipsi.operators import H, M, T, phi, psi

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmark_findings import Asked, findings

from benchmarks import (
    calls,
    cold,
    derivation_cases,
    derivations,
    derivatives,
    digits,
    exported_c,
    loading,
    parameters,
    plan,
)
from benchmarks import single_precision as single
from benchmarks.contender import OURS, DisagreementError
from benchmarks.results import Results
from benchmarks.robots import Robot
from benchmarks.sections import SECTIONS
from benchmarks.tasks import FORWARD, INVERSE, MASS

ROBOT = Robot("ur5", 3)

every_section = pytest.mark.parametrize("section", SECTIONS, ids=lambda x: x.name)


# -- all of them ---------------------------------------------------------------------------


@every_section
def test_bars_are_named_once_and_known_before_anything_is_measured(section):
    bars = list(section.bars(()))
    assert len({bar.what for bar in bars}) == len(bars)
    assert all(bar.verdict == "not measured" for bar in bars)
    assert bool(bars) == (section.name != plan.DERIVATIVES)


@every_section
@pytest.mark.parametrize("level, verdict", [(1.0, "met"), (0.999, "not met")])
def test_bars_are_met_at_their_bounds_and_not_below(section, level, verdict):
    found = section.bars(findings(level)[section.name])
    assert {bar.verdict for bar in found} <= {verdict}


@every_section
def test_tables_have_a_row_for_all_that_was_found(section):
    found = findings(1.0)[section.name]
    rows = [x for x in section.table(found).splitlines() if x.startswith("|")]
    assert len(rows) == 2 + len(found)
    assert len({len(row) for row in rows}) == 1, "columns are aligned"
    first, *_ = section.line(found[0]).split(":")
    assert first.startswith(("UR5", "Panda")) and "\n" not in section.line(found[0])


def test_what_was_not_asked_for_is_empty():
    assert Results().found(plan.BIND) == ()


# -- ways of calling -----------------------------------------------------------------------


@pytest.mark.parametrize("case", calls.CASES, ids=lambda x: x.name)
def test_ways_of_calling_agree_and_are_timed_beside_each_other(case, monkeypatch):
    clock = Asked(ours=2e-6, beside=3e-6)
    monkeypatch.setattr(calls, "interleave", clock)
    found = calls.measure_call(Robot("panda", 2), case, 0.0)
    assert (found.micros, found.beside, found.ratio) == pytest.approx((2.0, 3.0, 1.5))
    assert clock.work == {"ours": 1, "beside": 1}


def test_a_way_that_answers_something_else_is_not_timed():
    case = replace(calls.CASES[0], read=lambda robot, found: found)  # linear first
    with pytest.raises(DisagreementError, match="Panda, `jacobian` at a point that moves: off by"):
        calls.measure_call(Robot("panda", 2), case, 0.0)


# -- single precision ----------------------------------------------------------------------


def test_single_precision_is_beside_double_on_the_same_states(monkeypatch):
    clock = Asked(single=2.0, double=3.0)
    monkeypatch.setattr(single, "interleave", clock)
    assert single.ratio_of(ROBOT, MASS, 2, 0.0) == pytest.approx(1.5)
    assert clock.work == {"single": 2, "double": 2}


def test_single_precision_of_something_else_is_not_timed(monkeypatch):
    monkeypatch.setattr(single, "CLOSE", 1e-12)
    with pytest.raises(DisagreementError, match="UR5, mass matrix: single is off by"):
        single.ratio_of(ROBOT, MASS, 2, 0.0)


def test_small_batches_have_no_bar():
    slow = single.Ratio("ur5", "mass", {64: 1.0, 1024: 1.7, 16384: 1.8})
    assert slow.slowest == 1.7


def test_digits_are_written_between_their_marks(monkeypatch, tmp_path):
    page = tmp_path / "page.md"
    start, end = digits.MARKS
    assert start in digits.PAGE.read_text(encoding="utf-8")
    page.write_text(f"before\n{start}\nold\n{end}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(digits, "PAGE", page)
    digits.write("| new |\n")
    assert page.read_text(encoding="utf-8") == f"before\n{start}\n| new |\n{end}\nafter\n"


# -- parameters ----------------------------------------------------------------------------


@pytest.mark.parametrize("case", [*parameters.FEW, *parameters.MANY])
def test_parameters_are_numbers_of_the_robot(case):
    names = parameters.names_of(case, ROBOT.model)
    function = pp.compile(ROBOT.model, FORWARD.expression, parameters=names, backend="numpy")
    assert function.inputs == (*FORWARD.arguments, *names)


def test_a_case_is_beside_folded_code(monkeypatch):
    clock = Asked(folded=6.0, any_form=9.0, shared=8.0, own=10.0)
    monkeypatch.setattr(parameters, "interleave", clock)
    row = parameters.measure_case(ROBOT, "all ten moments of all links", 0.0)
    assert (row.robot, row.numbers) == ("ur5", 60)
    assert (row.shared, row.own, row.any_form) == pytest.approx((0.75, 0.6, 0.9))
    assert row.flops > 1.0 and row.limit == 1.0 / row.flops
    assert row.barred == row.shared
    assert replace(row, task="gravity").barred == row.own


def test_wrong_numbers_are_not_timed(monkeypatch):
    class Wrong(parameters.Parameters):
        def nominal(self):
            return {name: 1.01 * x for name, x in super().nominal().items()}

    monkeypatch.setattr(parameters, "Parameters", Wrong)
    with pytest.raises(DisagreementError, match="UR5, mass of a link, shared: off by"):
        parameters.measure_case(ROBOT, "mass of a link", 0.0)


@pytest.mark.parametrize("case", ["mass, first moment, inertia of a link", "position of a joint"])
def test_a_robot_of_any_form_has_no_zeros_there(case):
    model, k = ROBOT.model, len(ROBOT.model.bodies) // 2
    other = parameters.of_any_form(model, parameters.names_of(case, model))
    body, joint = other.bodies[k], other.joints[k]
    numbers = body.inertia.rotational if "link" in case else joint.placement.position
    assert np.all(numbers) and len(np.unique(np.abs(numbers))) > 2
    kept = [i for i in range(len(model.bodies)) if i != k]
    assert all(other.bodies[i] == model.bodies[i] for i in kept)
    assert all(other.joints[i] == model.joints[i] for i in kept)


def test_low_rates_are_named_with_what_their_flops_leave():
    row = parameters.Row("ur5", "positions of all joints", 18, 1.6, 0.71, 0.6, 0.8)
    said = parameters.row_table([row]).splitlines()[-1]
    assert said.endswith("UR5, positions of all joints: 0.60, and their flops alone leave 0.62.")
    assert "No rate is below 0.7" in parameters.row_table([replace(row, own=0.7)])


# -- exported C ----------------------------------------------------------------------------


def test_exported_code_is_beside_ours(monkeypatch):
    clock = Asked(ours_one=2.0, C_one=2.5, ours_many=1.0, C_many=4.0)
    monkeypatch.setattr(exported_c, "interleave", clock)
    found = exported_c.measure_export(ROBOT, INVERSE, 0.0)
    assert (found.robot, found.task) == ("ur5", "inverse")
    assert (found.one, found.many) == pytest.approx((1.25, 4.0))
    assert found.difference < exported_c.CLOSE and set(clock.work.values()) == {3}


def test_exported_code_that_differs_is_not_timed(monkeypatch):
    right = exported_c.loops_for
    monkeypatch.setattr(
        exported_c, "loops_for", lambda *x: right(*x).replace("s < count", "s < count - 1")
    )
    with pytest.raises(DisagreementError, match="UR5, inverse dynamics, C one: off by nan"):
        exported_c.measure_export(ROBOT, INVERSE, 0.0)


# -- cold and warm -------------------------------------------------------------------------


def test_a_second_process_finds_what_the_first_one_made(monkeypatch, tmp_path):
    """By what the directory holds: the second adds nothing to it."""
    monkeypatch.setenv("PHIPSI_CACHE", "off")
    first = cold._asked(str(tmp_path), "ur5", "mass")
    assert list(first) == [cold.ONCE, "mass"]
    assert all(len(seconds) == 2 and min(seconds) > 0 for seconds in first.values())
    made = {x: x.stat().st_ino for x in tmp_path.rglob("*") if x.is_file()}
    assert made
    cold._asked(str(tmp_path), "ur5", "mass")
    assert {x: x.stat().st_ino for x in tmp_path.rglob("*") if x.is_file()} == made


def test_the_best_of_a_few_processes_counts(monkeypatch):
    seen = {}

    def asked(folder, name, *tasks):
        visits = seen[folder] = seen.get(folder, 0) + 1
        if not tasks:
            return 1.0 / len(seen)
        fast = 0.001 * visits  # seconds; the first visit to a folder is a cold one
        return {task: (1.0 if visits == 1 else fast, 2.0) for task in (cold.ONCE, *tasks)}

    monkeypatch.setattr(cold, "_asked", asked)
    asked_for = plan.plan_of(["warm", "ur5", "mass"], quick=False)
    once, mass = cold.measure_starts(asked_for)
    assert (once.task, mass.task) == (cold.ONCE, "mass")
    assert (mass.cold, mass.warm, mass.wall) == (1000.0, 2.0, 2000.0)
    assert list(seen.values()) == [1 + cold.WARM_TIMES] * cold.COLD_TIMES
    assert cold.cold_seconds("talos") == 1.0 / (cold.COLD_TIMES + cold.TIMES)


def test_the_command_says_how_long_it_took_from_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(cold, "ROOT", Path(__file__).parents[1])
    assert cold._asked(str(tmp_path), "ur5") > 0


# -- derivatives ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ur5", "solo12"])
@pytest.mark.parametrize("task", [FORWARD, INVERSE], ids=lambda x: x.key)
def test_products_are_those_of_pinocchios_jacobians(name, task, monkeypatch):
    clock = Asked(phipsi=2.0, jvp=4.0, vjp=5.0)
    monkeypatch.setattr(derivatives, "interleave", clock)
    found = derivatives.measure_product(Robot(name, 2), task, 0.0)
    assert found.ratios[OURS] == 1.0
    assert (found.ratios["jvp"], found.ratios["vjp"]) == pytest.approx((2.0, 2.5))
    assert set(clock.work.values()) == {2}


@pytest.mark.parametrize("peer", [True, False], ids=["beside Pinocchio", "alone"])
def test_products_of_chains_are_measured_once_they_agree(peer, monkeypatch):
    clock = Asked(phipsi=2.0, jvp=4.0, vjp=5.0)
    monkeypatch.setattr(derivatives, "interleave", clock)
    monkeypatch.setattr(derivatives, "PEER", 8 if peer else 0)
    found = derivatives.measure_long(8, 0.0)
    assert (derivatives.THEIRS in found.ratios) == peer
    assert "chain of 8 bodies, inverse dynamics" in derivatives.line_of_product(found)
    assert derivatives.product_table([found]).endswith("- |\n") != peer
    monkeypatch.setattr(derivatives, "TOLERANCE", 0.0)
    with pytest.raises(DisagreementError, match="chain of 8 bodies, inverse dynamics"):
        derivatives.measure_long(8, 0.0)


def test_wrong_products_are_refused():
    t, w = np.ones((3, 3, 6)), np.ones((3, 6))
    function = pp.compile(ROBOT.model, FORWARD.expression, backend="llvm")
    state = [ROBOT.states[name] for name in FORWARD.arguments]
    jvp, vjp = function.jvp(*state, *t), function.vjp(*state, w)
    derivatives.check_products(ROBOT, FORWARD, t, w, jvp, vjp)
    with pytest.raises(DisagreementError, match="UR5, forward dynamics, jvp: off by"):
        derivatives.check_products(ROBOT, FORWARD, t, w, 1.001 * jvp, vjp)
    with pytest.raises(DisagreementError, match="UR5, forward dynamics, vjp: off by"):
        derivatives.check_products(ROBOT, FORWARD, t, w, jvp, [vjp[0], vjp[1], np.nan * vjp[2]])


# -- derivations ---------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["J Mass^-1 J*", "Mass Mass^-1 T", "closed chain"])
def test_derived_equations_are_beside_what_was_typed(monkeypatch, case):
    clock = Asked(as_it_reads=30.0, compiled=3.0, derived=2.0)
    monkeypatch.setattr(derivations, "interleave", clock)
    found = derivations.measure_derivation("UR5", ROBOT.model, case, 0.0)
    assert (found.machine, found.case) == ("UR5", case)
    ways = (derivations.READS, derivations.TYPED, derivations.DERIVED)
    assert [found.ratios[way] for way in ways] == pytest.approx([15.0, 1.5, 1.0])
    assert clock.work == dict.fromkeys(ways, derivations.MANY)
    assert found.flops[derivations.DERIVED] <= found.flops[derivations.TYPED]


def test_derived_equations_that_differ_are_not_timed(monkeypatch):
    class Wrong:
        def __init__(self, expression, model):
            self.result = 1.001 * expression

    monkeypatch.setattr(pp, "derive", Wrong)
    with pytest.raises(DisagreementError, match=r"UR5, Mass Mass\^-1 T: compiled is off by"):
        derivations.measure_derivation("UR5", ROBOT.model, "Mass Mass^-1 T", 0.0)


def test_line_without_an_algorithm_is_refused_and_shown_as_a_dash():
    assert derivations.compiled(ROBOT.model, (phi + psi.T).inv) is None
    row = derivations.gain_table(findings(1.0)[plan.DERIVATIONS][:1]).splitlines()[-1]
    assert [cell.strip() for cell in row.split("|")[3:7]] == ["-", "1.00", "-", "500"]


def test_derived_line_without_an_algorithm_is_a_row_too(monkeypatch):
    """Of the other ways the times are shown, and a dash in its place."""

    class Unknown:
        def __init__(self, expression, model):
            self.result = (phi + psi.T).inv

    monkeypatch.setattr(pp, "derive", Unknown)
    monkeypatch.setattr(derivations, "interleave", Asked(as_it_reads=30.0, compiled=3.0))
    found = derivations.measure_derivation("UR5", ROBOT.model, "Mass Mass^-1 T", 0.0)
    ways = {derivations.READS, derivations.TYPED}
    assert found.ratios == {} and set(found.micros) == ways
    row = derivations.gain_table([found]).splitlines()[-1]
    assert [x.strip() for x in row.split("|")[4:7]] == ["-", f"{found.flops['compiled']:,}", "-"]
    assert derivations.line_of_gain(found) == "UR5, Mass Mass^-1 T: derived - us"
    assert [bar.measured for bar in derivations.bars_of_gains([found])] == [None]


def test_machines_are_those_asked_for():
    assert [name for name, _ in derivations.machines(plan.plan_of(["ur5"], True))] == ["UR5"]
    assert not list(derivations.machines(plan.plan_of(["talos"], True)))
    assert len(list(derivations.machines(plan.plan_of([], True)))) == 3


def test_a_line_is_evaluated_as_it_reads():
    """From the left, on the matrices of its letters."""
    states = derivations.states_of(ROBOT.model, 2)
    line = 2 * (H @ M @ H.T).inv @ T - H @ M @ H.T @ T
    leaves = derivation_cases.leaves_of(ROBOT.model, line, states)
    shapes = {letter: x.shape for letter, x in leaves.items()}
    assert shapes == {H: (2, 6, 36), M: (2, 36, 36), T: (2, 6, 1)}
    found = derivation_cases.as_it_reads(line, leaves)
    for k, (q, torque) in enumerate(zip(states["q"], states["T"], strict=True)):
        assert np.allclose(found[k, :, 0], pp.as_matrix(ROBOT.model, line, q, T=torque))


# -- loading -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ur5", "solo12"])
def test_files_are_read_beside_pinocchio(monkeypatch, name):
    clock = Asked(phipsi=3.0, Pinocchio=2.0, with_its_report=10.0)
    monkeypatch.setattr(loading, "interleave", clock)
    found = loading.measure_load(Robot(name, 1), 0.0)
    assert (found.ratios[OURS], found.ratios[loading.REPORT]) == (1.5, 5.0)
    assert found.elements == sum(bool(line.element) for line in Robot(name, 1).model.report)


def test_files_that_are_read_differently_are_not_timed():
    theirs = loading.read_theirs(ROBOT)
    with pytest.raises(DisagreementError, match="UR5: the joints have other names"):
        loading.check(ROBOT, pp.chain(3), theirs)
    theirs.inertias[1].mass += 1.0
    with pytest.raises(DisagreementError, match=r"UR5: .* kg beside"):
        loading.check(ROBOT, ROBOT.model, theirs)
