"""`phipsi check` without peers: every law can fail, gaps by hand, words, JSON and exit codes."""

import json
import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from commands import FOUR_BAR, GRIPPER, call, facts_of, run_on_terminal

import phipsi as pp
from phipsi import dynamics, joints
from phipsi.cli import check as command
from phipsi.cli.checking import laws as of_mechanics
from phipsi.cli.checking.comparison import Comparison, compare
from phipsi.cli.checking.gaps import gaps_of
from phipsi.cli.checking.laws import LAWS, allowed_of, laws
from phipsi.cli.tasks import states_of
from phipsi.model.model import Keyframe


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where users of the command are; none of the peers is installed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    (tmp_path / "four_bar.sdf").write_text(FOUR_BAR)
    return tmp_path


# -- comparisons -----------------------------------------------------------------------


def test_difference_is_relative_to_the_state_and_names_its_place():
    ours = np.array([[[1.0, 0.0], [0.0, 1.0]], [[100.0, 0.0], [0.0, 1.0]]])
    off = np.zeros_like(ours)
    off[0, 0, 1], off[1, 0, 0] = 0.1, 0.2
    found = compare("x", ours, ours + off, [["a", "b"], ["c", "d"]])
    assert found.difference == pytest.approx(0.1)
    assert (found.names, found.state, found.where) == (("a", "d"), 0, "a and d, state 0")
    assert found.differs


def test_state_beyond_its_own_bound_comes_before_a_larger_difference_within():
    ours = np.array([[1.0], [1.0]])
    found = compare("x", ours, ours + np.array([[1e-3], [1e-6]]), allowed=np.array([1e-2, 1e-9]))
    assert found.differs and found.state == 1
    assert not compare("x", ours, ours + 1e-3, allowed=1e-2).differs


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_differs(bad):
    ours = np.ones((2, 2))
    theirs = ours.copy()
    theirs[1, 0] = bad
    found = compare("x", ours, theirs, [["a", "b"]])
    assert found.differs and found.where == "a, state 1"
    assert found.as_json()["difference"] is None and found.as_json()["verdict"] == "differs"


def test_zeros_agree_and_nothing_is_nothing():
    assert compare("x", np.zeros((2, 3)), np.zeros((2, 3))).difference == 0.0
    assert compare("x", np.zeros((2, 0)), np.zeros((2, 0))).difference == 0.0
    assert not Comparison("x", None).differs


def test_roundoff_may_be_as_large_as_the_mass_matrix_makes_it():
    good, bad = np.eye(2), np.array([[1.0, 1.0 - 1e-9], [1.0 - 1e-9, 1.0]])
    allowed = allowed_of(np.array([good, bad, 1e12 * good]))
    assert allowed[0] == allowed[2] == 1e-9
    assert 1e-6 < allowed[1] < 1e-3


# -- laws ------------------------------------------------------------------------------


def differing(model):
    states = states_of(model, 4)
    return {found.quantity for found in laws(model, states) if found.differs}


@pytest.mark.parametrize(
    "model",
    [pp.examples.spacecraft(), pp.examples.branching_tree(), pp.examples.puma560()],
    ids=repr,
)
def test_laws_hold(model):
    assert differing(model) == set()
    assert {found.quantity for found in laws(model, states_of(model, 2))} == set(LAWS)


FORWARD, SUM, DEFINITE, ENERGY, POWER, FACTORS, INVERSE = LAWS


@pytest.mark.parametrize(
    ("function", "broken"),
    [
        ("forward_dynamics", {FORWARD}),
        ("inverse_dynamics", {FORWARD, SUM, POWER}),
        ("bias_force", {SUM}),
        ("mass_matrix", {SUM, ENERGY, FACTORS}),
        ("mass_matrix_inverse", {INVERSE}),
        ("kinetic_energy", {ENERGY, POWER}),
        ("potential_energy", {POWER}),
    ],
)
def test_answer_that_is_off_by_a_millionth_breaks_its_laws(monkeypatch, function, broken):
    """So every law can fail: each is broken by some function."""
    right = getattr(dynamics, function)
    monkeypatch.setattr(
        of_mechanics.dynamics, function, lambda *args, **how: right(*args, **how) * (1 + 1e-6)
    )
    assert differing(pp.examples.puma560()) == broken


def test_mass_matrix_that_is_lopsided_or_negative_is_found(monkeypatch):
    model = pp.examples.planar_arm(2)
    right = dynamics.mass_matrix
    lopsided = np.array([[0.0, 1e-3], [0.0, 0.0]])
    monkeypatch.setattr(of_mechanics.dynamics, "mass_matrix", lambda *x: right(*x) + lopsided)
    assert DEFINITE in differing(model)
    monkeypatch.setattr(of_mechanics.dynamics, "mass_matrix", lambda *x: -right(*x))
    assert DEFINITE in differing(model)


def test_massless_joint_is_told_and_no_alarm():
    builder = pp.ModelBuilder(strict=False)
    builder.add_body("arm", mass=1.0, com=(1, 0, 0))
    builder.add_body("nothing", "arm", joint=joints.Revolute((0, 1, 0)))
    model = builder.build()
    found = {law.quantity: law for law in laws(model, states_of(model, 3))}
    assert found[DEFINITE].difference is None and "'nothing_joint'" in found[DEFINITE].reason
    assert found[FORWARD].difference is None and "nothing_joint" in found[FORWARD].reason
    assert found[SUM].difference < 1e-12
    assert not any(law.differs for law in found.values())


def test_inverse_factors_are_for_machines_whose_joints_all_move(folder):
    model = pp.load("gripper.urdf")
    assert {law.quantity for law in laws(model, states_of(model, 2))} == {*LAWS} - {INVERSE}


def test_matrices_of_a_large_machine_are_not_multiplied_out(monkeypatch):
    monkeypatch.setattr(of_mechanics, "MOST_BODIES", 2)
    monkeypatch.setattr(of_mechanics, "as_matrix", pytest.fail)
    model = pp.chain(3)
    found = {law.quantity: law for law in laws(model, states_of(model, 2))}
    for name in (FACTORS, INVERSE):
        assert found[name].difference is None and "up to 2 bodies" in found[name].reason


# -- gaps ------------------------------------------------------------------------------


def hinged(closure, **where):
    builder = pp.ModelBuilder("gate")
    builder.add_body("leaf", joint=joints.Revolute((0, 0, 1)), mass=1.0, com=(0.5, 0, 0))
    builder.add_closure("latch", "leaf", "world", closure, **where)
    return builder.build()


@pytest.mark.parametrize(
    ("closure", "angle", "told"),
    [
        (joints.Spherical(), 0.0, []),
        (joints.Spherical(), math.pi, ["loop 'latch' is open by 2 m"]),
        (joints.Fixed(), math.pi, ["loop 'latch' is open by 2 m and 3.142 rad"]),
        (joints.Fixed(), 0.5, ["loop 'latch' is open by 0.4948 m and 0.5 rad"]),  # 2 sin(1/4)
        (joints.Revolute((0, 0, 1)), 0.0, []),
        (joints.Free(), 1.0, []),
        (joints.Planar((0, 0, 1)), 2.0, []),  # it stays in its plane
    ],
)
def test_gap_of_a_gate_is_how_far_its_latch_is_off(closure, angle, told):
    """The latch is one metre from the hinge."""
    model = hinged(closure, position=(1, 0, 0), second_position=(1, 0, 0))
    assert list(gaps_of(model, np.array([angle]))) == told


def test_hinge_of_a_loop_turns_as_far_as_it_must():
    """A parallelogram closes at every angle; its own loop joint turns back by that angle."""
    builder = pp.ModelBuilder("parallelogram")
    for name, x in (("crank", 0), ("rocker", 2)):
        builder.add_body(name, joint=joints.Revolute(), position=(x, 0, 0), mass=1.0)
    builder.add_body("coupler", "crank", joint=joints.Revolute(), position=(0, 1, 0), mass=1.0)
    ends = {"position": (2, 0, 0), "second_position": (0, 1, 0)}
    builder.add_closure("loop", "coupler", "rocker", joints.Revolute(), **ends)
    model = builder.build()
    q = np.zeros(3)
    for name, angle in (("crank", 0.7), ("rocker", 0.7), ("coupler", -0.7)):
        q[model.joint(f"{name}_joint").q] = angle
    assert list(gaps_of(model, q)) == []
    q[model.joint("rocker_joint").q] = 0.8
    assert list(gaps_of(model, q)) == [f"loop 'loop' is open by {2 * math.sin(0.05):.4g} m"]


def test_coupling_that_does_not_hold_is_told():
    """0.5 + 2 (0.4 - 0.1)^2 = 0.68; a follower that leads counts as it stands."""
    builder = pp.ModelBuilder()
    builder.add_body("a", joint=joints.Revolute(), mass=1.0, com=(1, 0, 0))
    builder.add_body("b", joint=joints.Revolute(), mass=1.0, com=(1, 0, 0))
    builder.add_body("c", joint=joints.Prismatic(), mass=1.0)
    follows = ("a_joint", 2.0, -0.4)
    builder.add_body("d", joint=joints.Revolute(), mass=1.0, com=(1, 0, 0), mimic=follows)
    builder.add_coupling("bend", "b_joint", "d_joint", (0.5, 0.0, 2.0), 0.1)
    builder.add_coupling("held", "c_joint", None, (0.25,))
    model = builder.build()
    q = np.zeros(3)
    q[model.joint("a_joint").q] = 0.4  # so that d is at 2 0.4 - 0.4
    assert list(gaps_of(model, q)) == [
        "coupling 'bend' is off by 0.68 rad",
        "coupling 'held' is off by 0.25 m",
    ]
    q[model.joint("b_joint").q], q[model.joint("c_joint").q] = 0.68, 0.25
    assert list(gaps_of(model, q)) == []


# -- shapes ----------------------------------------------------------------------------

CORNERS = """
v 0 0 0
v 100 0 0
v 0 100 0
v 0 0 100
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""


@pytest.fixture
def drawn(folder):
    """The arm of the gripper as a mesh of ten centimetres; its moments are 1 kg m^2 each."""
    mesh = '<mesh filename="arm.obj" scale="0.001 0.001 0.001"/>'
    text = GRIPPER.replace('<box size="2 2 2"/>', mesh)
    (folder / "gripper.urdf").write_text(text)
    (folder / "arm.obj").write_text(CORNERS)
    return folder


def test_inertia_that_does_not_fit_its_mesh_is_told(capsys, drawn):
    """A cube of 0.1 m and 1 kg has moments of 1/600 kg m^2; what is written is 600 times that."""
    code, out, _ = call(capsys, "check", "gripper.urdf", "--states", 2)
    assert code == 0
    assert re.search(r"^gripper\.urdf:5: body 'arm': .* 600 times those of 1 kg", out, re.M)
    told = json.loads(call(capsys, "check", "gripper.urdf", "--states", 2, "--json").out)
    assert told["unread_shapes"] is None
    assert any("600 times" in remark["message"] for remark in told["remarks"])


def test_strict_is_also_for_what_meshes_show(capsys, drawn):
    """Loading, which reads no mesh, finds nothing wrong with the file but its triangle."""
    text = (drawn / "gripper.urdf").read_text().replace('"0.9"', '"0.1"')
    (drawn / "gripper.urdf").write_text(text)
    call_it = ("check", "gripper.urdf", "--states", 2)
    assert call(capsys, "info", "gripper.urdf", "--strict").code == 0
    assert call(capsys, *call_it).code == 0
    code, out, _ = call(capsys, *call_it, "--strict")
    assert code == 1 and "600 times" in out


def test_mesh_that_cannot_be_read_is_told(capsys, drawn, monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    out = call(capsys, "check", "gripper.urdf", "--states", 2).out
    line = "1 mesh was not looked at: a mesh file needs trimesh: pip install 'phipsi[view]'"
    assert f"\n{line}\n" in out
    told = json.loads(call(capsys, "check", "gripper.urdf", "--states", 2, "--json").out)
    assert told["unread_shapes"] == line


# -- the command -----------------------------------------------------------------------


def test_missing_peers_are_named_with_the_lines_that_install_them(capsys, folder):
    code, out, err = call(capsys, "check", "gripper.urdf", "--states", 3)
    assert (code, err) == (0, "")
    assert facts_of(out) == {
        "from": "gripper.urdf",
        "machine": "3 bodies, 2 freedoms in 2 coordinates, 6.2 kg",
        "states": "3, random, by seed 0",
    }
    assert "- Pinocchio: not installed: pip install pin\n" in out
    assert "- MuJoCo: not installed: pip install mujoco\n" in out
    assert "1 remark on what is refused or implausible\ngripper.urdf:10: " in out
    assert "triangle inequality" in out
    lines = out.splitlines()
    assert (
        lines[-2].startswith("phipsi and itself agree to ") and float(lines[-2].split()[-1]) < 1e-12
    )
    assert lines[-1] == "no peer was compared"


def test_difference_is_an_exit_code_and_says_where(capsys, folder, monkeypatch):
    right = dynamics.bias_force
    off = np.array([0.0, 1.0])
    monkeypatch.setattr(of_mechanics.dynamics, "bias_force", lambda *x: right(*x) + off)
    code, out, err = call(capsys, "check", "gripper.urdf")
    assert (code, err) == (1, "")
    assert re.search(
        rf"^phipsi and itself DIFFER: {re.escape(SUM)}, by \S+ at finger, state", out, re.M
    )
    told = json.loads(call(capsys, "check", "gripper.urdf", "--json").out)
    assert told["agrees"] is False
    (wrong,) = [law for law in told["laws"] if law["verdict"] == "differs"]
    assert (wrong["quantity"], wrong["names"]) == (SUM, ["finger"])


def test_loops_are_left_open_and_their_gaps_told(capsys, folder, monkeypatch):
    code, out, err = call(capsys, "check", "four_bar.sdf", "--states", 2)
    assert (code, err) == (0, "")
    assert facts_of(out)["loops"] == "left open, on all sides"
    assert "- Pinocchio: it reads no SDF\n" in out and "- MuJoCo: it reads no SDF\n" in out
    assert "Loops, joints at neutral\nall are closed\n" in out
    model = pp.load("four_bar.sdf")
    (loop,) = model.closures
    apart = replace(loop.first, placement=replace(loop.first.placement, position=(9.0, 0.0, 0.0)))
    model = replace(model, closures=(replace(loop, first=apart),))
    monkeypatch.setattr(command, "read_machine", lambda *_: model)
    code, out, _ = call(capsys, "check", "four_bar.sdf", "--states", 2)
    assert code == 0  # a machine may be drawn with its loops open
    assert "\nloop 'loop' is open by " in out


def test_loops_are_looked_at_where_the_file_starts(capsys, monkeypatch):
    """A gate that is drawn open, and closed in a state that the file names."""
    model = hinged(joints.Spherical(), position=(1, 0, 0), second_position=(0, 1, 0))
    start = Keyframe((math.pi / 2,), (0.0,))
    model = replace(model, keyframes={"start": start})
    monkeypatch.setattr(command, "read_machine", lambda *_: model)
    out = call(capsys, "check", "chain", "--states", 2).out
    assert "Loops, joints at neutral\nloop 'latch' is open by 1.414 m\n" in out
    assert "Loops, joints at start\nall are closed\n" in out
    told = json.loads(call(capsys, "check", "chain", "--states", 2, "--json").out)
    assert told["open_loops"] == {"neutral": ["loop 'latch' is open by 1.414 m"], "start": []}


def test_json_is_one_object_with_everything(capsys, folder):
    code, out, err = call(capsys, "check", "four_bar.sdf", "--states", 2, "--seed", 5, "--json")
    assert (code, err) == (0, "")
    assert out.count("\n") == 1
    told = json.loads(out)
    assert (told["name"], told["file"]) == ("four bar", "four_bar.sdf")
    assert (told["states"], told["seed"], told["agrees"]) == (2, 5, True)
    assert [law["quantity"] for law in told["laws"]] == list(LAWS)
    assert [peer["name"] for peer in told["peers"]] == ["Pinocchio", "MuJoCo"]
    assert [peer["version"] for peer in told["peers"]] == [None, None]
    assert told["open_loops"] == {"neutral": []} and told["remarks"] == []


def test_bundled_machine_is_checked_by_the_laws(capsys, folder):
    code, out, _ = call(capsys, "check", "branching_tree", "--states", 2)
    assert code == 0 and "Not compared" not in out
    told = json.loads(call(capsys, "check", "chain:2", "--states", 2, "--json").out)
    assert told["file"] is None and told["peers"] == []


def test_states_fit_into_memory(capsys, monkeypatch):
    monkeypatch.setattr(command, "ROOM", 8 * 3**2 * 4)
    told = json.loads(call(capsys, "check", "chain:3", "--json").out)
    assert told["states"] == 4
    monkeypatch.setattr(command, "ROOM", 1)
    told = json.loads(call(capsys, "check", "chain:3", "--json").out)
    assert told["states"] == 1


def test_seed_draws_other_states(capsys, folder):
    first, again, other = (
        call(capsys, "check", "puma560", "--json", "--seed", seed).out.replace(f": {seed}", "")
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_terminal_is_told_what_takes_a_while(folder):
    shown = run_on_terminal(folder, "check", "planar_arm", "--states", "2")
    assert shown.code == 0
    assert "computing planar arm of 2 ..." in shown.out
