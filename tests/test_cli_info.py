"""`phipsi info`: what it says of a machine, in words and as JSON, beside what the library says."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import FOUR_BAR, GRIPPER, call, facts_of, run
from numpy.testing import assert_allclose, assert_array_equal

import phipsi as pp
from phipsi import joints
from phipsi.cli import info as command
from phipsi.cli.describe import describe
from phipsi.cli.drawing import draw_tree
from phipsi.cli.info import mass_centre
from phipsi.cli.joint_table import joint_table
from phipsi.cli.remarks import paragraphs
from phipsi.cli.screen import Screen
from phipsi.model.report import STATUSES, Remark


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    (tmp_path / "four_bar.sdf").write_text(FOUR_BAR)
    return tmp_path


def told_report(report):
    """How many lines became what, as info says it."""
    return ", ".join(f"{len(report.of(x))} {x}" for x in STATUSES if report.of(x))


# -- words -----------------------------------------------------------------------------


def test_info_tells_what_the_file_says(capsys, folder):
    """Masses 5 + 1 + 0.1 + 0.1; mass centre by hand: the arm's at x = 0.5, the stand's at -z."""
    code, out, err = call(capsys, "info", "gripper.urdf")
    assert (code, err) == (0, "")
    assert out.startswith("gripper\n")
    assert facts_of(out) == {
        "from": "gripper.urdf",
        "bodies": "3",
        "joints": "3, of which 1 follows another",
        "freedoms": "2, in 2 coordinates",
        "mass": "6.2 kg, of which 5 kg on the world",
        "mass centre": f"({0.55 / 6.2:.4g}, 0, {-5 / 6.2:.4g}) m, joints at neutral",
        "gravity": "(0, 0, -9.81) m/s^2",
        "frames": "1 more, fixed on bodies",
        "looks": "1 box",
        "report": told_report(pp.load("gripper.urdf").report),
    }
    assert re.search(r"^shoulder +continuous +0 +0\.2 +0 1 0$", out, re.MULTILINE)
    assert re.search(r"^finger +prismatic +0\.02 to 0\.1 +1 +7 +1 ", out, re.MULTILINE)
    assert re.search(r"^other finger +prismatic +0 to 0\.1 +-1 finger \+ 0\.5", out, re.MULTILINE)
    remark = out.split("1 remark\n")[1]
    assert remark.startswith("gripper.urdf:10:") and "triangle inequality" in remark


def test_page_shows_what_is_printed(capsys, folder):
    page = (Path(__file__).parents[1] / "docs" / "command_line.md").read_text()
    out = call(capsys, "info", "gripper.urdf").out
    assert f"```\n$ phipsi info gripper.urdf\n{out}```\n" in page


def test_page_documents_every_key(capsys, folder):
    page = (Path(__file__).parents[1] / "docs" / "command_line.md").read_text()
    told = json_of(call(capsys, "info", "gripper.urdf", "--json").out)
    keys = {*told, *told["bodies"][0], *told["joints"][0], *told["joints"][0]["limits"]}
    keys |= {*told["frames"][0], *told["report"], *told["report"]["entries"][0]}
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []


def test_info_reads_the_file_as_it_is_told(capsys, folder):
    free = call(capsys, "info", "gripper.urdf", "--base", "free", "--mimic", "independent")
    assert facts_of(free.out)["freedoms"] == "9, in 10 coordinates"


def test_mass_centre_counts_every_body_where_it_stands():
    """A rod of 2 kg up to z = 1, on it one of 1 kg along y, on the world 3 kg at x = 2."""
    builder = pp.ModelBuilder()
    builder.add_body("world part", joint=pp.joints.Fixed(), mass=3.0, com=(2, 0, 0))
    builder.add_body("rod", mass=2.0, com=(0, 0, 0.5), inertia=(1, 1, 1))
    tip = {"joint": pp.joints.Revolute((1, 0, 0)), "position": (0, 0, 1)}
    builder.add_body("arm", "rod", mass=1.0, com=(0, 0.5, 0), inertia=(1, 1, 1), **tip)
    assert_allclose(mass_centre(builder.build()), [1.0, 0.5 / 6.0, 2.0 / 6.0], rtol=1e-15)


def test_machine_without_mass_or_bodies_is_told_too(capsys, folder):
    (folder / "alone.urdf").write_text('<robot name="alone"><link name="a"/></robot>')
    code, out, _ = call(capsys, "info", "alone.urdf")
    assert code == 0
    assert facts_of(out)["mass"] == "0 kg"
    assert "Joints" not in out


def star(n):
    """So many bodies on one, and one below each of the first two."""
    builder = pp.ModelBuilder("star")
    builder.add_body("hub", mass=1.0, com=(1, 0, 0))
    for k in range(n):
        builder.add_body(f"ray{k}", "hub", mass=1.0, com=(1, 0, 0))
    for k in range(2):
        builder.add_body(f"end{k}", f"ray{k}", mass=1.0, com=(1, 0, 0))
    return builder.build()


def rows(tree, capsys):
    Screen().print(tree)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("model", [pp.chain(200), star(300), star(60), pp.chain(9)], ids=repr)
@pytest.mark.parametrize("most", [10, 80])
def test_tree_is_folded_and_every_body_counted(capsys, model, most):
    lines = rows(draw_tree(model, most), capsys)[1:]
    hidden = [int(n) for line in lines for n in re.findall(r"\.\.\. (\d+) more bod", line)]
    assert len(lines) - len(hidden) + sum(hidden) == len(model.bodies)
    assert len(lines) - len(hidden) <= max(most, 2)
    if len(model.bodies) < most and len(model.bodies) < 16:
        assert hidden == []


def test_tree_hangs_bodies_below_those_that_carry_them(capsys):
    model = pp.examples.branching_tree()
    depths = {}
    for line in rows(draw_tree(model), capsys)[1:]:
        guide, name = re.match(r"([│ ]*[├└]── )(.+?)   ", line).groups()
        depths[name] = len(guide) // 4
    expected = {}
    for body in model.bodies:
        parent = "" if body.parent < 0 else model.bodies[body.parent].name
        expected[body.name] = 1 + expected.get(parent, 0)
    assert depths == expected


def test_large_tables_and_reports_are_folded(capsys, folder):
    out = call(capsys, "info", "chain:250").out
    assert "joint200 " in out and "joint201 " not in out
    assert "... and 50 more" in out
    links = "".join(f'<odd{"x" * k} name="x"/>' for k in range(40))
    (folder / "gripper.urdf").write_text(GRIPPER.replace("</robot>", f"{links}</robot>"))
    out = call(capsys, "info", "gripper.urdf").out
    assert "41 remarks\n" in out and "... and 11 more by --report\n" in out


def test_columns_without_room_are_named():
    model = pp.examples.puma560()
    made, missing = joint_table(model, 200)
    assert missing == []
    narrow, missing = joint_table(model, 30)
    assert len(narrow.columns) + len(missing) == len(made.columns)
    assert missing[-1] == "rotor, kg m^2"
    assert joint_table(model, 1)[0].columns[0].header == "joint"  # one column stays


# -- loops, springs, keyframes ---------------------------------------------------------


def everything():
    """A machine with everything that a file can say."""
    builder = pp.ModelBuilder('odd \U0001d4d0"[b]\\', gravity=(0, 0, -1), strict=False)
    builder.add_body(
        "φ",
        joint=joints.Revolute((0, 0, 1)),
        joint_name="hip",
        mass=1.0,
        com=(0.5, 0, 0),
        inertia=(1, 1, 3),
        limits=pp.Limits(lower=-1.0, effort=3.0),
        damping=0.1,
        friction=0.2,
        rotor_inertia=0.01,
        gear_ratio=10.0,
        stiffness=7.0,
        rest=0.25,
    )
    builder.add_body("knee", "φ", joint=joints.Prismatic((1, 0, 0)), mass=1.0)
    builder.add_body("toe", "φ", joint=joints.Universal((1, 0, 0), (0, 1, 0)), mass=1.0)
    builder.add_body("fin", "toe", joint=joints.Revolute(), mass=1.0, mimic=("hip", -2.0, 0.5))
    builder.add_frame("tip", "knee", (0, 0, 1))
    builder.add_closure("loop", "knee", "world", joints.Spherical(), position=(1, 0, 0))
    builder.add_coupling("bend", "knee_joint", "hip", (0.0, 0.0, 2.0), 0.3)
    builder.add_keyframe("home", {"hip": [0.1]}, {"hip": [0.2]})
    return builder.build()


def test_loops_couplings_springs_and_keyframes_are_told(capsys, monkeypatch):
    monkeypatch.setattr(command, "read_machine", lambda *_: everything())
    out = call(capsys, "info", "x.urdf").out
    facts = facts_of(out)
    assert (facts["loops"], facts["couplings"]) == ("1, of 3 equations", "1")
    assert facts["keyframes"] == "home"
    assert re.search(r"^loop +spherical +knee and world +3$", out, re.MULTILINE)
    assert re.search(r"^bend +knee_joint = 2 \(hip - 0\.3\)\^2$", out, re.MULTILINE)
    assert re.search(r"^hip +revolute .* 7 at 0\.25 +0\.1 +0\.2 +0 0 1 +1$", out, re.MULTILINE)
    assert re.search(r"^fin_joint +revolute +-2 hip \+ 0\.5 ", out, re.MULTILINE)


def test_closed_file_is_told_with_its_loop(capsys, folder):
    code, out, err = call(capsys, "info", "four_bar.sdf")
    assert (code, err) == (0, "")
    facts = facts_of(out)
    assert facts["loops"] == "1, of 5 equations" and facts["mass"] == "3 kg"
    assert re.search(r"^loop +revolute +coupler and rocker +5$", out, re.MULTILINE)


# -- the report ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (("--report", "gripper.urdf"), ("gripper.urdf", "--report")),
        (("--report", "kept", "gripper.urdf"), ("gripper.urdf", "--report", "kept")),
        (("--report", "gripper.urdf", "kept"), ("gripper.urdf", "--report", "kept")),
        (
            ("--base", "free", "--report", "gripper.urdf", "--strict"),
            ("gripper.urdf", "--base", "free", "--strict", "--report"),
        ),
        (("--report", "puma560"), ("puma560", "--report")),
        (("--report", "chain:2"), ("chain:2", "--report")),
    ],
)
def test_file_may_come_after_the_report(capsys, folder, words, same):
    told = call(capsys, "info", *words)
    assert told == call(capsys, "info", *same)
    assert "of the report\n" in told.out or "triangle inequality" in told.err  # as --strict


def test_report_of_nothing_asks_for_a_file(capsys, folder):
    told = call(capsys, "info", "--report", "used")
    assert told.code == 2 and "FILE requires an argument" in told.err


def test_every_line_of_the_report_is_shown_on_demand(capsys, folder):
    report = pp.load("gripper.urdf").report
    out = call(capsys, "info", "gripper.urdf", "--report").out
    shown = out.split(f"{len(report)} lines of the report\n")[1].splitlines()
    assert shown == [str(line) for line in report]
    out = call(capsys, "info", "gripper.urdf", "--report", "kept", "implausible").out
    shown = out.split("of the report\n")[1].splitlines()
    assert shown == [str(line) for line in report.of("kept", "implausible")]
    assert 0 < len(shown) < len(report)


def test_unknown_status_is_a_mistake_of_the_command(capsys, folder):
    code, out, err = call(capsys, "info", "gripper.urdf", "--report", "refusd")
    assert (code, out) == (2, "")
    assert 'Did you mean "refused"?' in err


def test_remarks_of_one_sort_are_one_line():
    """Names and numbers make no sort; attributes and statuses do."""
    lines = [
        *(Remark("implausible", f"body 'b{k}': {k} + 1 < 7", ("a/b.urdf", k)) for k in (3, 5, 9)),
        Remark("ignored", "the attribute 'K' of <x> is unknown", ("a/b.urdf", 6)),
        Remark("ignored", "the attribute 'D' of <x> is unknown", ("a/b.urdf", 6)),
        Remark("refused", "given in Python"),
    ]
    assert list(paragraphs(lines, 10)) == [
        "b.urdf:3: body 'b3': 3 + 1 < 7 (and 2 more: lines 5, 9)",
        "b.urdf:6: the attribute 'K' of <x> is unknown",
        "b.urdf:6: the attribute 'D' of <x> is unknown",
        "given in Python",
    ]
    assert list(paragraphs(lines, 1))[1:] == ["... and 3 more by --report"]


def test_strict_refuses_what_no_machine_can_have(capsys, folder):
    code, out, err = call(capsys, "info", "gripper.urdf", "--strict")
    assert (code, out) == (1, "")
    assert "gripper.urdf:10:" in err and "triangle inequality" in err


# -- JSON ------------------------------------------------------------------------------


def refuse(constant):
    raise AssertionError(f"{constant} is no JSON")


def json_of(out):
    """One object on one line, and nothing else; NaN and Infinity are none."""
    assert out.endswith("\n") and out.count("\n") == 1
    return json.loads(out, parse_constant=refuse)


def test_json_has_every_number_of_the_machine(capsys, monkeypatch):
    model = everything()
    monkeypatch.setattr(command, "read_machine", lambda *_: model)
    code, out, err = call(capsys, "info", "x.urdf", "--json")
    assert (code, err) == (0, "")
    told = json_of(out)
    assert out.isascii()
    assert (told["name"], told["file"]) == (model.name, "x.urdf")
    assert (told["nq"], told["nv"], told["mass"]) == (model.nq, model.nv, 4.0)
    assert_allclose(told["mass_centre"], mass_centre(model))
    assert [body["name"] for body in told["bodies"]] == [body.name for body in model.bodies]
    assert [body["parent"] for body in told["bodies"]] == ["world", "φ", "φ", "toe"]
    assert_array_equal(told["bodies"][0]["inertia"], np.diag([1, 1, 3]))
    hip, _, toe, fin = told["joints"]
    assert hip["limits"] == {"lower": -1.0, "upper": None, "velocity": None, "effort": 3.0}
    assert (hip["kind"], hip["axis"], hip["q"], hip["v"]) == ("revolute", [0, 0, 1], [0, 1], [0, 1])
    assert (hip["damping"], hip["friction"]) == (0.1, 0.2)
    assert (hip["stiffness"], hip["rest"]) == (7.0, [0.25])
    assert (hip["rotor_inertia"], hip["gear_ratio"], hip["mimic"]) == (0.01, 10.0, None)
    assert toe["axis"] is None and toe["parameters"] == {"first": [1, 0, 0], "second": [0, 1, 0]}
    assert fin["mimic"] == {"joint": "hip", "ratio": -2.0, "offset": 0.5}
    assert fin["q"] == hip["q"]
    tip = next(frame for frame in told["frames"] if frame["name"] == "tip")
    assert (tip["body"], tip["position"]) == ("knee", [0, 0, 1])
    (loop,) = told["closures"]
    assert (loop["kind"], loop["equations"], loop["second"]["body"]) == ("spherical", 3, "world")
    assert loop["first"]["position"] == [1, 0, 0]
    assert told["couplings"] == [
        {
            "name": "bend",
            "joint": "knee_joint",
            "leader": "hip",
            "coefficients": [0, 0, 2],
            "centre": 0.3,
        }
    ]
    assert told["keyframes"] == {"home": {"q": [0.1, 0, 0, 0], "v": [0.2, 0, 0, 0]}}
    assert [x["message"] for x in told["report"]["entries"]] == [str(x) for x in model.report]


def test_json_of_a_file_has_its_report(capsys, folder):
    told = json_of(call(capsys, "info", "gripper.urdf", "--json").out)
    model = pp.load("gripper.urdf")
    assert told["report"]["counts"] == model.report.counts
    odd = [x for x in told["report"]["entries"] if x["status"] == "implausible"]
    assert [(x["file"], x["line"], x["notable"]) for x in odd] == [("gripper.urdf", 10, True)]
    assert told["base"]["mass"] == 5.0
    bundled = json_of(call(capsys, "info", "chain:2", "--json").out)
    assert bundled["file"] is None and bundled["report"] == {"counts": {}, "entries": []}


def test_json_of_a_machine_without_mass_has_no_mass_centre(capsys, folder):
    (folder / "alone.urdf").write_text('<robot name="alone"><link name="a"/></robot>')
    assert json_of(call(capsys, "info", "alone.urdf", "--json").out)["mass_centre"] is None


@pytest.mark.parametrize("kind", [joints.Custom(lambda q: (np.eye(3), [q[0], 0, 0]), 1)])
def test_joint_that_only_python_knows_is_told_too(kind):
    builder = pp.ModelBuilder()
    builder.add_body("a", joint=kind, mass=1.0)
    told = describe(builder.build(), None, None)
    json.dumps(told, allow_nan=False)
    assert told["joints"][0]["kind"] == "custom"


def test_error_leaves_nothing_on_standard_output(folder):
    (folder / "broken.urdf").write_text("<robot")
    code, out, err = run(folder, "info", "broken.urdf", "--json")
    assert (code, out) == (1, "")
    assert err.startswith("error: broken.urdf:1: ")


def test_numbers_come_back_exactly(capsys, folder):
    """Seventeen digits: what a program reads is what the model has."""
    model = pp.load("gripper.urdf")
    awkward = replace(model, gravity=(math.pi, 1e-300, -0.1))
    told = json.loads(json.dumps(describe(awkward, None, None)))
    assert tuple(told["gravity"]) == awkward.gravity
