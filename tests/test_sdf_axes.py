"""The axes of SDF joints: whatever the file says of one is in the machine, or told."""

from functools import partial

import numpy as np
import pytest
from sdf_text import about, arm, joint, link, pose_of, read_text, world_poses, write

import phipsi as pp
from phipsi import joints
from phipsi.model.files.account import Notes
from phipsi.model.files.sdf.axis import Axis
from phipsi.model.files.xmlfile import Element

ModelError = pp.errors.ModelError


@pytest.fixture
def read(tmp_path):
    """read(body, version, **options): the model called trial with that body."""
    return partial(read_text, tmp_path)


def axis(inside: str = "", xyz: str = "0 0 1", tag: str = "axis") -> str:
    return f"<{tag}><xyz>{xyz}</xyz>{inside}</{tag}>"


LIMIT = """<limit><lower>-0.1</lower><upper>0.3</upper><velocity>2</velocity>
    <effort>50</effort></limit>"""
DYNAMICS = """<dynamics><damping>0.7</damping><friction>0.1</friction>
    <spring_stiffness>5</spring_stiffness><spring_reference>0.2</spring_reference></dynamics>"""
START = "<initial_position>0.25</initial_position>"


# -- pistons ---------------------------------------------------------------------------


def test_what_acts_in_a_piston_acts_along_it_and_not_about_it(read):
    """A slider that may also turn: the way has the limits and the spring, the turn has none."""
    model = read(arm(axis(LIMIT + DYNAMICS + START), "piston"), "1.6")
    turn, way = model.joints
    assert (turn.name, turn.kind) == ("j@turn", joints.Revolute((0, 0, 1)))
    assert (turn.limits, turn.damping, turn.friction) == (pp.Limits(), 0.0, 0.0)
    assert (turn.stiffness, turn.rest) == (0.0, ())
    assert (way.name, way.kind) == ("j", joints.Prismatic((0, 0, 1)))
    assert way.limits == pp.Limits(-0.1, 0.3, 2.0, 50.0)
    assert (way.damping, way.friction, way.stiffness, way.rest) == (0.7, 0.1, 5.0, (0.2,))
    assert model.keyframes["initial_position"].q == (0.0, 0.25)
    assert not model.report.remarks and not model.report.ignored


def test_a_piston_in_two_pieces_moves_as_in_one(read):
    """Both q are the turn, then the way; in a joint frame that is neither link's."""
    place = link("base", pose="1 0 0 0 0 0.4") + link("tip", pose="1 1 0 0.2 0 0")
    models = [
        read(place + joint("j", "base", "tip", pose_of("0 0 0.3 0 0.5 0") + axis(part), "piston"))
        for part in ("", "<dynamics><damping>1</damping></dynamics>")
    ]
    assert [len(model.joints) for model in models] == [2, 3]
    q = models[0].random(np.random.default_rng(0))
    v = np.arange(8.0)
    np.testing.assert_allclose(*(world_poses(model, q)["tip"] for model in models), atol=1e-14)
    np.testing.assert_allclose(*(pp.mass_matrix(model, q) for model in models), atol=1e-13)
    forces = [pp.inverse_dynamics(model, q, v, np.ones(8)) for model in models]
    np.testing.assert_allclose(*forces, atol=1e-12)


def test_a_free_piston_is_one_joint_and_its_start_and_rest_are_of_its_way(read):
    inside = "<dynamics><damping>0</damping><spring_reference>0.1</spring_reference></dynamics>"
    model = read(arm(axis(inside + START), "piston"), "1.6")
    (only,) = model.joints
    assert (only.kind, only.rest) == (joints.Cylindrical((0, 0, 1)), (0.0, 0.1))
    assert model.keyframes["initial_position"].q == (0.0, 0.25)
    assert not model.report.remarks and not model.report.ignored


def test_the_way_of_a_piston_may_follow_and_lead(read):
    body = arm(axis(), "piston") + link("c") + link("d")
    body += joint("k", "base", "c", axis('<mimic joint="j"><multiplier>3</multiplier></mimic>'))
    body += joint("l", "base", "d", axis('<mimic joint="k"/>'), "piston")
    model = read(body)
    assert [each.name for each in model.joints] == ["j@turn", "j", "k", "l@turn", "l"]
    assert model.nv == 3
    assert [model.joint(name).mimic.ratio for name in ("k", "l")] == [3.0, 3.0]
    assert not model.report.remarks
    poses = world_poses(model, [0.4, 0.1, 0.2])
    np.testing.assert_allclose(poses["tip"][:3, 3], (0, 0, 0.1), atol=1e-15)
    np.testing.assert_allclose(poses["c"][:3, :3], about(np.array([0, 0, 1]), 0.3), atol=1e-15)
    np.testing.assert_allclose(poses["d"][:3, 3], (0, 0, 0.3), atol=1e-15)


# -- names of what a joint becomes -----------------------------------------------------


def test_pieces_give_way_to_joints_links_and_frames_of_their_name(read):
    """The file has a joint j@axis2, a link tip@j@axis, and a frame end@k."""
    two = axis(DYNAMICS) + axis("", "1 0 0", "axis2")
    body = arm(two, "universal") + link("tip@j@axis") + '<frame name="end@k"/>'
    body += joint("j@axis2", "base", "tip@j@axis") + link("end")
    body += joint("k", "base", "end", pose_of("0 0 1 0 0 0") + axis())
    model = read(body)
    assert [each.name for each in model.joints] == ["j", "j@axis2_2", "j@axis2", "k"]
    assert [each.name for each in model.bodies] == ["tip@j@axis_2", "tip", "tip@j@axis", "end@k_2"]
    assert {"end", "end@k", "base"} == {each.name for each in model.frames}
    assert not model.report.remarks


def test_bodies_that_would_have_one_name_have_two(read):
    """Link a on joint b@c, and link a@b on joint c."""
    body = link("base") + link("a") + link("a@b")
    body += joint("b@c", "base", "a", pose_of("0 0 1 0 0 0") + axis())
    body += joint("c", "base", "a@b", pose_of("0 0 2 0 0 0") + axis())
    assert [each.name for each in read(body).bodies] == ["base", "a@b@c", "a@b@c_2"]


def test_a_free_joint_gives_way_to_a_piece_of_its_name(read):
    """Link x@turn hangs free beside others, and a piston is called root_x."""
    body = link("x@turn") + link("a") + link("b")
    model = read(body + joint("root_x", "a", "b", axis(DYNAMICS), "piston"))
    names = ["root_x@turn_2", "root_a", "root_x@turn", "root_x"]
    assert [each.name for each in model.joints] == names


def test_the_axes_of_two_pieces_must_not_be_parallel_either(read):
    body = arm(axis(DYNAMICS) + axis(tag="axis2"), "universal").replace("\n", " ")
    with pytest.raises(ModelError, match=r"trial.sdf:3: joint 'j': .*parallel"):
        read(body)


def test_what_is_wrong_with_the_second_axis_is_told_in_its_line(read):
    wrong = "\n<limit><lower>1</lower><upper>0</upper></limit>"
    body = arm(axis("\n") + axis(wrong, "1 0 0", "axis2"), "universal")
    with pytest.raises(ModelError, match=r"the limits of the joint are \[1.0, 0.0\]") as caught:
        read(body)
    line = body[: body.index("<limit>")].count("\n") + 3
    assert f"trial.sdf:{line}: " in str(caught.value)


# -- what is lost is told --------------------------------------------------------------

PALM = link("palm") + link("a") + link("b") + joint("wrist", "world", "palm", type="fixed")
GEARS = PALM + joint("ja", "palm", "a") + joint("jb", "palm", "b")


def gearbox(inside: str) -> str:
    reference = "<gearbox_reference_body>palm</gearbox_reference_body>"
    return joint("box", "a", "b", reference + axis(inside) + axis(tag="axis2"), "gearbox")


RING = link("a") + link("b") + joint("ab", "a", "b")
FOLLOWS = PALM + joint("ja", "palm", "a")
NOTED = {
    "ends of a gearbox": (
        GEARS + gearbox(LIMIT),
        "joint 'box' only couples others, and so is without its lower, upper, velocity, effort",
        ["lower", "upper", "velocity", "effort"],
    ),
    "start of a gearbox": (
        GEARS + gearbox(START),
        "joint 'box' only couples others, and so is without its initial_position",
        ["initial_position"],
    ),
    "ends of a closure": (
        RING + joint("ba", "b", "a", axis(LIMIT)),
        "joint 'ba' closes a loop, and so is without its lower, upper, velocity, effort",
        ["lower", "upper", "velocity", "effort"],
    ),
    "start of a closure": (
        RING + joint("ba", "b", "a", axis(START)),
        "joint 'ba' closes a loop, and so is without its initial_position",
        ["initial_position"],
    ),
    "start of a closing piston": (
        RING + joint("ba", "b", "a", axis(START), "piston"),
        "joint 'ba' closes a loop, and so is without its initial_position",
        ["initial_position"],
    ),
    "start of a follower": (
        FOLLOWS + joint("jb", "palm", "b", axis(START + '<mimic joint="ja"/>')),
        "joint 'jb' follows another, and so is without its initial_position",
        ["initial_position"],
    ),
    "start of a gear": (
        FOLLOWS + joint("jb", "palm", "b", axis(START)) + gearbox(""),
        "joint 'jb' follows another, and so is without its initial_position",
        ["initial_position"],
    ),
    "ends of what has none": (
        arm(axis(LIMIT), "continuous"),
        "joint 'j' turns without end, and so is without its lower, upper",
        ["lower", "upper"],
    ),
}


@pytest.mark.parametrize("case", NOTED)
def test_limits_and_starts_that_are_lost_are_noted(read, case):
    body, text, tags = NOTED[case]
    report = read(body, "1.7", strict=True).report
    (remark,) = report.remarks
    assert remark.endswith(text) and remark.status == "ignored"
    lost = [line.element for line in report.ignored if not line.notable]
    assert lost == [f"<{tag}>" for tag in tags]


REFUSED = {
    "a gearbox": (GEARS + gearbox(DYNAMICS), "joint 'box' only couples others"),
    "a closure": (RING + joint("ba", "b", "a", axis(DYNAMICS)), "joint 'ba' closes a loop"),
    "a closure of two axes": (
        RING + joint("ba", "b", "a", axis() + axis(DYNAMICS, "1 0 0", "axis2"), "universal"),
        "joint 'ba' closes a loop",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_act_in_a_joint_and_is_lost_is_refused(read, case):
    body, text = REFUSED[case]
    text += ", and so is without its damping, friction, spring_stiffness"
    report = read(body).report
    (remark,) = report.remarks
    assert text in remark and remark.status == "refused" and remark.element == "<damping>"
    lost = ["<friction>", "<spring_stiffness>", "<spring_reference>"]
    assert [line.element for line in report.ignored] == lost
    with pytest.raises(ModelError, match=r"trial.sdf:\d+: joint .*; strict=False leaves it out"):
        read(body, strict=True)


def test_numbers_that_say_nothing_are_no_loss(read):
    nothing = """<limit><lower>-1e16</lower><upper>1e16</upper><effort>-1</effort></limit><dynamics>
        <damping>0</damping><spring_reference>3</spring_reference></dynamics>"""
    start = "<initial_position>0</initial_position>"
    for body in (GEARS + gearbox(nothing + start), RING + joint("ba", "b", "a", axis(nothing))):
        assert not read(body, strict=True).report.remarks


def test_what_is_asked_to_be_independent_starts_where_it_says(read):
    body = FOLLOWS + joint("jb", "palm", "b", axis(START + '<mimic joint="ja"/>'))
    model = read(body, mimic="independent")
    assert model.keyframes["initial_position"].q == (0.0, 0.25)


def test_a_joint_of_what_stands_loses_nothing(read):
    inside = axis(LIMIT + DYNAMICS + START + '<mimic joint="j"/>')
    body = "<static>1</static>" + link("a") + link("b") + joint("j", "a", "b", inside)
    report = read(body, strict=True).report
    assert not report.remarks and not report.ignored
    assert "<damping>" in {line.element for line in report.merged}


def test_a_number_that_nothing_takes_is_told_whatever_it_is():
    """Not only those that are known to be lost somewhere."""
    part = Element("damping", {}, "file", 7)
    own = Axis(Element("axis", {}, "file", 6), (0, 0, 1), {"damping": 1.0}, {"damping": part})
    own.tell_losses("j", "", Notes())
    assert part.status == "refused" and "joint 'j' has no place for it" in part.reason
    other = Axis(own.element, own.direction, own.numbers, own.parts)
    part.status = "used"
    assert other.take("damping") == 1.0
    other.tell_losses("j", "", Notes(strict=True))
    assert part.status == "used"


def test_a_file_that_is_read_twice_loses_what_one_of_its_machines_loses(read, tmp_path):
    """Included twice; one copy's joint closes a loop, the other's carries."""
    inner = link("a") + link("b") + joint("ab", "a", "b", axis(DYNAMICS))
    write(tmp_path, f'<model name="m">{inner}</model>', name="m.sdf")
    copy = "<include><name>{}</name><uri>m.sdf</uri></include>"
    body = joint("first", "x::a", "x::b") + copy.format("x") + copy.format("y")
    model = read(body)
    assert [loop.name for loop in model.closures] == ["x::ab"]
    assert model.joint("y::ab").damping == 0.7
    assert "joint 'x::ab' closes a loop" in model.report.refused[0]


# -- joints that point the other way ---------------------------------------------------

TYPES = ["revolute", "prismatic", "screw", "piston", "universal", "revolute2", "continuous"]


def random_tree(seed: int, count: int = 7) -> tuple[str, str, int]:
    """A machine, and the same with joints flipped: ends swapped, axes negated and swapped.

    Whatever the file says of an axis goes with it; and the number of joints that are flipped.
    """
    rng = np.random.default_rng(seed)

    def numbers(size: int) -> str:
        return " ".join(f"{x:.3f}" for x in rng.uniform(-1, 1, size))

    def say(tag: str, low: float = 0.0) -> str:
        return f"<{tag}>{rng.uniform(low, 1):.3f}</{tag}>"

    def inside(alike: str) -> str:
        own = f"<dynamics>{alike}{say('spring_reference', -1)}</dynamics>"
        return own + say("initial_position", -1)

    text = ""
    for k in range(count):
        inertial = f"<inertial><pose>{numbers(6)}</pose>{say('mass', 0.5)}<inertia><ixx>1</ixx>"
        inertial += "<iyy>1.2</iyy><izz>1.5</izz><ixy>.1</ixy></inertia></inertial>"
        text += link(f"l{k}", inertial, numbers(6))
    text += joint("base", "world", "l0", type="fixed")
    files, flips = [text, text], 0
    for k in range(1, count):
        type = str(rng.choice(TYPES))
        spring = say("damping") + say("spring_stiffness")
        acts = [spring, spring if rng.uniform() < 0.5 else say("damping") + say("friction")]
        acts = ["", ""] if type == "piston" and rng.uniform() < 0.5 else acts
        axes = [(rng.uniform(-1, 1, 3), inside(each)) for each in acts]
        axes = axes if type in ("universal", "revolute2") else axes[:1]
        ends, pose = (f"l{rng.integers(k)}", f"l{k}"), numbers(6)
        flip = bool(rng.integers(2))
        flips += flip
        for number in range(2):
            if number and flip:
                ends, axes = ends[::-1], [(-xyz, own) for xyz, own in axes[::-1]]
            own = f'<pose relative_to="__model__">{pose}</pose>'
            for tag, (xyz, rest) in zip(("axis", "axis2"), axes, strict=False):
                direction = " ".join(map(repr, xyz.tolist()))
                own += f'<{tag}><xyz expressed_in="__model__">{direction}</xyz>{rest}</{tag}>'
            own += "<screw_thread_pitch>0.7</screw_thread_pitch>" if type == "screw" else ""
            files[number] += joint(f"j{k}", *ends, own, type)
    return *files, flips


@pytest.mark.parametrize("seed", range(10))
def test_a_tree_is_the_same_machine_whichever_way_its_joints_point(read, seed):
    """Coordinate by coordinate: mass matrix, forces, what acts in the joints, where they start."""
    *texts, flips = random_tree(seed)
    straight, turned = (read(text, "1.7") for text in texts)
    assert flips and straight.closures == turned.closures == ()
    assert ["its parent" in line for line in turned.report.remarks] == [True] * flips
    assert not straight.report.remarks
    rng = np.random.default_rng(seed)
    q, v, vdot = straight.random(rng), *rng.normal(size=(2, straight.nv))
    masses = [pp.mass_matrix(each, q) for each in (straight, turned)]
    np.testing.assert_allclose(*masses, rtol=1e-9, atol=1e-9)
    forces = [pp.inverse_dynamics(each, q, v, vdot) for each in (straight, turned)]
    np.testing.assert_allclose(*forces, rtol=1e-9, atol=1e-9)
    for one, other in zip(straight.joints, turned.joints, strict=True):
        assert (one.damping, one.friction) == (other.damping, other.friction)
        assert (one.limits, one.stiffness, one.rest) == (other.limits, other.stiffness, other.rest)
    starts = [each.keyframes["initial_position"].q for each in (straight, turned)]
    assert starts[0] == starts[1] and any(starts[0])


def test_random_trees_have_all_that_may_be_turned(read):
    """Universal joints in one piece and in two, pistons likewise, among the flipped."""
    found = set()
    for seed in range(10):
        model = read(random_tree(seed)[1], "1.7")
        turned = {line.split("'")[1] for line in model.report.remarks}
        for each in model.joints:
            if each.name.partition("@")[0] in turned:
                found.add((type(each.kind).__name__, each.name.partition("@")[2]))
    assert found >= {("Universal", ""), ("Revolute", "axis2"), ("Helical", ""), ("Continuous", "")}
    assert found >= {("Cylindrical", ""), ("Revolute", "turn"), ("Prismatic", "")}
