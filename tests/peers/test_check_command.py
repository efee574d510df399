"""`phipsi check` beside Pinocchio and MuJoCo: it agrees on real robots, and finds what is wrong."""

import re
import sys
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path

import mujoco
import pinocchio as pin
import pytest
from checks import PENDULUM, QUANTITIES, checked, peer_of, verdicts
from commands import GRIPPER, call

import phipsi as pp
from phipsi import joints
from phipsi.cli import check as command
from phipsi.cli.checking import opinions
from phipsi.cli.checking.beside import beside
from phipsi.cli.checking.pinocchio import Pinocchio
from phipsi.cli.tasks import states_of

ROBOTS = Path(
    str(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data"))
)
UR5 = str(ROBOTS / "robots/ur_description/urdf/ur5_robot.urdf")
PANDA = str(ROBOTS / "robots/panda_description/urdf/panda.urdf")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    (tmp_path / "pendulum.xml").write_text(PENDULUM)
    return tmp_path


# -- agreement -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "base"),
    [
        ("ur_description/urdf/ur5_robot.urdf", "fixed"),
        ("panda_description/urdf/panda.urdf", "free"),  # with a mimic joint
        ("z1_description/urdf/z1.urdf", "free"),  # its root link is called world
        ("talos_data/robots/talos_full_v2.urdf", "free"),
        ("double_pendulum_description/urdf/double_pendulum_simple.urdf", "fixed"),  # held at zero
    ],
)
def test_real_robots_agree_with_both_peers(capsys, file, base):
    words = (ROBOTS / "robots" / file, "--base", base, "--states", 4)
    code, told = checked(capsys, *words)
    assert code == 0 and told["agrees"]
    for name in ("Pinocchio", "MuJoCo"):
        peer = peer_of(told, name)
        assert peer["reason"] is None and peer["version"]
        compared = verdicts(peer)
        compared.pop("mimic joints", "")
        assert compared == dict.fromkeys(QUANTITIES, "agrees")
        assert max(found["difference"] or 0.0 for found in peer["comparisons"]) < 1e-10


def test_free_root_agrees_whatever_it_is_called(capsys, folder):
    """The file has a joint of the name that the free one would have."""
    text = GRIPPER.replace('izz="0.9"', 'izz="0.1"').replace("shoulder", "root")
    (folder / "gripper.urdf").write_text(text)
    assert "root_2" in {joint.name for joint in pp.load("gripper.urdf", base="free").joints}
    code, told = checked(capsys, "gripper.urdf", "--base", "free", "--states", 2)
    assert code == 0
    assert [peer["reason"] for peer in told["peers"]] == [None, None]


def test_massless_hands_are_explained_and_no_alarm(capsys):
    file = ROBOTS / "robots/romeo_description/urdf/romeo.urdf"
    code, told = checked(capsys, file, "--base", "free", "--states", 2)
    assert code == 0
    found = verdicts(peer_of(told, "Pinocchio"))
    assert found.pop("forward dynamics") == "not compared"
    assert found.pop("mimic joints") == "not compared"  # their leaders come later in its tree
    assert set(found.values()) == {"agrees"}
    assert "mass and inertia of moving bodies" in peer_of(told, "MuJoCo")["reason"]
    assert any("has mass" in remark["message"] for remark in told["remarks"])


def test_massless_finger_is_nan_in_pinocchio_and_no_alarm(folder):
    """Where we have an answer: a rotor holds the finger that weighs nothing."""
    text = GRIPPER.replace('<mass value="0.1"/>', '<mass value="0"/>')
    text = text.replace('ixx="0.1" iyy="0.1" izz="0.1"', 'ixx="0" iyy="0" izz="0"')
    (folder / "gripper.urdf").write_text(re.sub(r"<mimic[^>]*>", "", text))
    model = pp.load("gripper.urdf")
    held = tuple(replace(joint, rotor_inertia=1.0) for joint in model.joints)
    peer = Pinocchio(pin, "gripper.urdf", model)
    *_, forward = beside(replace(model, joints=held), states_of(model, 2), peer)
    assert forward.quantity == "forward dynamics"
    assert forward.difference is None and "answers NaN" in forward.reason


def test_mjcf_agrees_with_mujoco(capsys, folder):
    """Several joints on a body, a ball joint, a free body, armature, the file's gravity."""
    code, told = checked(capsys, "pendulum.xml", "--states", 5)
    assert code == 0
    assert verdicts(peer_of(told, "MuJoCo")) == dict.fromkeys(QUANTITIES, "agrees")
    assert peer_of(told, "Pinocchio")["reason"] == "it reads no MJCF"
    assert sorted(path.name for path in folder.iterdir()) == ["gripper.urdf", "pendulum.xml"]


def test_text_shows_every_quantity_and_the_verdicts(capsys, folder):
    code, out, _ = call(capsys, "check", "gripper.urdf", "--mimic", "independent", "--states", 3)
    assert code == 0
    part = out.split(f"Pinocchio {pin.__version__}\n")[1].split("\n\n")[0].splitlines()
    assert [re.split(r"\s{2,}", line)[0] for line in part[1:7]] == QUANTITIES
    assert "- it leaves out the 5 kg that are welded to the world" in part
    last = out.splitlines()[-2:]
    assert last[1].startswith("phipsi and Pinocchio agree to ")
    assert "\n- MuJoCo " in out  # the triangle inequality keeps it from reading the file
    assert re.search(r"^- MuJoCo \S+: it cannot read this file: .*'balanceinertia'", out, re.M)


# -- disagreement ----------------------------------------------------------------------


def heavier(model):
    """One per mille more mass on the forearm."""
    k = model.index("elbow_joint")
    body = model.bodies[k]
    more = replace(body, inertia=replace(body.inertia, mass=1.001 * body.inertia.mass))
    return replace(model, bodies=(*model.bodies[:k], more, *model.bodies[k + 1 :]))


def shifted(model):
    """The wrist a micrometre off."""
    k = model.index("wrist_1_joint")
    joint = model.joints[k]
    x, y, z = joint.placement.position
    place = replace(joint.placement, position=(x, y, z + 1e-6))
    return _with_joint(model, k, replace(joint, placement=place))


def turned(model):
    """The shoulder turns the other way."""
    k = model.index("shoulder_lift_joint")
    joint = model.joints[k]
    axis = tuple(-x for x in joint.kind.axis)
    return _with_joint(model, k, replace(joint, kind=joints.Revolute(axis)))


def motorized(model):
    k = model.index("wrist_3_joint")
    return _with_joint(model, k, replace(model.joints[k], rotor_inertia=1e-3))


def lighter(model):
    """Gravity of another place on Earth."""
    return replace(model, gravity=(0.0, 0.0, -9.80))


def _with_joint(model, k, joint):
    return replace(model, joints=(*model.joints[:k], joint, *model.joints[k + 1 :]))


@pytest.mark.parametrize("peer", ["Pinocchio", "MuJoCo"])
@pytest.mark.parametrize(
    ("spoil", "quantities", "name"),
    [
        (heavier, {*QUANTITIES} - {"poses of links"}, "forearm_link"),
        (shifted, {*QUANTITIES} - {"inertias of bodies"}, None),
        (turned, {*QUANTITIES} - {"inertias of bodies"}, None),
        (motorized, {"mass matrix", "inverse dynamics", "forward dynamics"}, "wrist_3_joint"),
        (lighter, {"bias force", "inverse dynamics", "forward dynamics"}, None),
    ],
)
def test_machine_that_was_read_otherwise_is_found(
    capsys, monkeypatch, peer, spoil, quantities, name
):
    """The laws hold for every machine: only a peer can tell that it is the wrong one."""
    monkeypatch.setattr(command, "read_machine", lambda *_: spoil(pp.load(UR5)))
    code, told = checked(capsys, UR5, "--states", 3)
    assert code == 1 and not told["agrees"]
    found = peer_of(told, peer)
    assert {k for k, verdict in verdicts(found).items() if verdict == "differs"} == quantities
    assert all(law["verdict"] == "agrees" for law in told["laws"])
    if name is not None:
        first = next(x for x in found["comparisons"] if x["verdict"] == "differs")
        assert first["names"] == [name]


def test_difference_is_told_in_capital_letters(capsys, monkeypatch):
    monkeypatch.setattr(command, "read_machine", lambda *_: heavier(pp.load(UR5)))
    code, out, _ = call(capsys, "check", UR5, "--states", 2)
    assert code == 1
    assert "phipsi and itself agree to " in out
    for name in ("Pinocchio", "MuJoCo"):
        line = f"phipsi and {name} DIFFER: inertias of bodies, by 1e-03 at forearm_link\n"
        assert line in out
        assert re.search(
            rf"^phipsi and {name} DIFFER: mass matrix, by \S+ at \S+.*, state", out, re.M
        )
        assert f"phipsi and {name} agree" not in out


@pytest.mark.parametrize("peer", ["Pinocchio", "MuJoCo"])
@pytest.mark.parametrize("wrong", [{"ratio": -0.999}, {"offset": 0.4}, {"source": 0}])
def test_mimic_joint_that_was_read_otherwise_is_found(capsys, folder, monkeypatch, peer, wrong):
    """The peers hold their joints by our numbers; so these are compared by themselves."""
    (folder / "gripper.urdf").write_text(GRIPPER.replace('izz="0.9"', 'izz="0.1"'))
    model = pp.load("gripper.urdf")
    assert checked(capsys, "gripper.urdf", "--states", 2)[0] == 0
    k = model.index("other finger")
    leader = model.joints[wrong.get("source", 1)]
    mimic = replace(model.joints[k].mimic, **wrong)
    joint = replace(model.joints[k], mimic=mimic, q=leader.q, v=leader.v)
    monkeypatch.setattr(command, "read_machine", lambda *_: _with_joint(model, k, joint))
    code, told = checked(capsys, "gripper.urdf", "--states", 2)
    assert code == 1
    (found,) = [x for x in peer_of(told, peer)["comparisons"] if x["quantity"] == "mimic joints"]
    assert (found["verdict"], found["names"]) == ("differs", ["other finger"])


# -- peers that cannot be compared -----------------------------------------------------


def test_planar_joint_across_another_axis_is_explained(capsys, folder):
    """Pinocchio ignores the axis of a planar joint; MuJoCo makes three joints of it."""
    text = GRIPPER.replace('name="shoulder" type="continuous"', 'name="shoulder" type="planar"')
    (folder / "gripper.urdf").write_text(text)
    code, told = checked(capsys, "gripper.urdf", "--states", 2)
    assert code == 0
    reason = peer_of(told, "Pinocchio")["reason"]
    assert reason == "it ignores the axis of the planar joint 'shoulder'"


def test_peer_that_reads_other_joints_is_told(capsys, folder, monkeypatch):
    other = pin.buildModelFromUrdf(UR5)
    monkeypatch.setattr(pin, "buildModelFromUrdf", lambda *_: other)
    told = checked(capsys, "gripper.urdf", "--states", 2)[1]
    reason = peer_of(told, "Pinocchio")["reason"]
    assert reason.startswith("it reads another machine from this file: ") and "'shoulder'" in reason


def test_peer_that_fails_says_why_in_a_line(capsys, folder, monkeypatch):
    def fail(*_):
        raise RuntimeError("first\nsecond")

    monkeypatch.setattr(pin, "buildModelFromUrdf", fail)
    told = checked(capsys, "gripper.urdf", "--states", 2)[1]
    assert peer_of(told, "Pinocchio")["reason"] == "it cannot read this file: first"


@pytest.mark.parametrize(
    ("name", "module", "function", "quantities"),
    [
        ("MuJoCo", mujoco, "mj_mulM", {"mass matrix", "forward dynamics"}),
        ("MuJoCo", mujoco, "mj_inverse", {"bias force", "inverse dynamics"}),
        ("MuJoCo", mujoco, "mj_kinematics", {"poses of links", "mass matrix", "forward dynamics"}),
        ("MuJoCo", mujoco, "mju_quat2Mat", {"inertias of bodies"}),
        ("Pinocchio", pin, "aba", {"forward dynamics"}),
        ("Pinocchio", pin, "framesForwardKinematics", {"poses of links"}),
    ],
)
def test_peer_that_fails_to_answer_is_skipped(
    capsys, monkeypatch, name, module, function, quantities
):
    """As other versions of it may do: what is asked is another's code."""

    def fail(*_):
        raise TypeError("incompatible function arguments.\nThe following are supported:")

    monkeypatch.setattr(module, function, fail)
    code, told = checked(capsys, UR5, "--states", 2)
    assert code == 0
    found = peer_of(told, name)["comparisons"]
    skipped = {x["quantity"]: x["reason"] for x in found if x["verdict"] == "not compared"}
    assert skipped == dict.fromkeys(quantities, "it fails: incompatible function arguments.")
    assert {x["verdict"] for x in found} == {"agrees", "not compared"}


def test_mistake_of_ours_is_none_of_the_peer(monkeypatch, capsys):
    """It is an error of the command, which says that it is a bug."""

    def fail(*_):
        raise TypeError("ours")

    monkeypatch.setattr(pp.dynamics, "body_poses", fail)
    code, _, err = call(capsys, "check", UR5, "--states", 2)
    assert code == 1 and "TypeError: ours; this is a bug of phipsi" in err


def test_peer_whose_data_cannot_be_made_or_that_cannot_be_imported_is_told(capsys, monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(mujoco, "MjData", fail)
    told = checked(capsys, UR5, "--states", 2)[1]
    assert peer_of(told, "MuJoCo")["reason"] == "it fails: MemoryError"

    def broken(name):
        raise AttributeError("no attribute _ARRAY_API")

    monkeypatch.setattr(opinions, "import_module", broken)
    told = checked(capsys, UR5, "--states", 2)[1]
    for name in ("MuJoCo", "Pinocchio"):
        reason = peer_of(told, name)["reason"]
        assert reason == "it cannot be imported: no attribute _ARRAY_API"


def test_version_that_is_known_to_differ_is_not_asked(capsys, monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", "3.8.1")
    code, told = checked(capsys, UR5, "--states", 2)
    assert code == 0
    found = peer_of(told, "MuJoCo")
    assert found["version"] == "3.8.1" and found["comparisons"] == []
    assert found["reason"].startswith("it is too old: pip install 'mujoco>=3.14'; older ones ")
    for version in ("3.14.0", "3.14", "4.0.1rc2", "10.0"):
        assert opinions.WITNESSES[1].reason(version) == ""


def test_refusal_of_pinocchio_is_told_without_its_sources(capsys, folder):
    """An angle of two coordinates there, cosine and sine, that a joint of one shall follow."""
    text = GRIPPER.replace('joint="finger"', 'joint="shoulder"').replace(
        'name="other finger" type="prismatic"', 'name="other finger" type="revolute"'
    )
    (folder / "gripper.urdf").write_text(text)
    told = checked(capsys, "gripper.urdf", "--states", 2)[1]
    (found,) = [
        x for x in peer_of(told, "Pinocchio")["comparisons"] if x["quantity"] == "mimic joints"
    ]
    assert found["verdict"] == "not compared"
    assert found["reason"].startswith("it refuses them: ")
    assert "From file" not in found["reason"] and "sizes" in found["reason"]


def test_one_peer_may_be_missing(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    code, told = checked(capsys, UR5, "--states", 2)
    assert code == 0
    assert peer_of(told, "MuJoCo")["reason"] == "not installed: pip install mujoco"
    assert peer_of(told, "MuJoCo")["version"] is None
    assert peer_of(told, "Pinocchio")["reason"] is None
