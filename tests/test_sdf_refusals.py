"""SDF files that are broken, hostile or huge: each is refused with its line, or loads."""

import re
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sdf_text import SOLID, joint, link, pose_of, read_text, write

import phipsi as pp
from phipsi.model.files.load import load
from phipsi.model.files.sdf import include, models

ModelError = pp.errors.ModelError


@pytest.fixture
def read(tmp_path):
    """read(body, **options): the model called trial with that body, from line 3 on."""
    return partial(read_text, tmp_path)


# -- models ----------------------------------------------------------------------------

AB = f'<link name="a">{SOLID}</link>'.replace("\n", "") + "\n" + link("b").replace("\n", "") + "\n"
HINGE = AB + '<joint name="j" type="revolute">\n<parent>a</parent>\n<child>b</child>\n'
Z = "<axis><xyz>0 0 1</xyz></axis>"
OPEN = "<axis><xyz>0 0 1</xyz>"
SPRING = "<spring_stiffness>-1</spring_stiffness>"
SCREW = HINGE.replace("revolute", "screw") + Z
GEARS = HINGE.replace("revolute", "gearbox") + Z + Z.replace("axis>", "axis2>") + "\n"

REFUSALS = {
    "no links": ("", 2, "<model 'trial'> has no <link>"),
    "nameless link": ("<link/>", 3, 'needs a name="..."'),
    "two links of one name": (
        AB + '<link name="b"/>',
        5,
        "a second link called 'b', the first is in line 4",
    ),
    "link and joint of one name": (
        AB + joint("a", "a", "b"),
        5,
        "joint 'a' has the name of the link in line 3",
    ),
    "the world's name": (
        '<link name="world"/>',
        3,
        "the name 'world' is reserved; rename the <link>",
    ),
    "a reserved name": ('<frame name="__me__"/>', 3, "the name '__me__' is reserved"),
    "one name by two ways": (
        '<model name="a"><link name="b"/></model>\n<link name="a::b"/>',
        4,
        "link 'a::b' has the name of that in",
    ),
    # poses
    "six numbers": ('<link name="a">\n<pose>1 2 3</pose></link>', 4, "expected 6 numbers"),
    "seven numbers": (
        '<link name="a">\n<pose rotation_format="quat_xyzw">1 2 3 0 0 0</pose></link>',
        4,
        "expected 7 numbers",
    ),
    "no number": ('<link name="a">\n<pose>1 2 3 a b c</pose></link>', 4, "expected 6 numbers"),
    "endless": ('<link name="a">\n<pose>1 2 3 0 0 inf</pose></link>', 4, "finite numbers"),
    "rotation format": (
        '<link name="a">\n<pose rotation_format="zyx">1 2 3 0 0 0</pose></link>',
        4,
        "the rotation_format 'zyx' is unknown; use euler_rpy or quat_xyzw",
    ),
    "degrees of a quaternion": (
        '<link name="a">\n<pose degrees="1" rotation_format="quat_xyzw">0 0 0 0 0 0 1</pose>'
        "</link>",
        4,
        "a quaternion has no degrees",
    ),
    "quaternion of length zero": (
        '<link name="a">\n<pose rotation_format="quat_xyzw">1 2 3 0 0 0 0</pose></link>',
        4,
        "the quaternion has length zero",
    ),
    "no truth value": (
        "<static>\nperhaps</static>",
        3,
        "'perhaps' is no truth value; write true or false",
    ),
    "unknown relative_to": (
        AB + '<link name="c">\n<pose relative_to="B">0 0 0 0 0 0</pose></link>',
        6,
        "the <pose> of <link 'c'> is relative to 'B', which is unknown here; did you mean 'b'?",
    ),
    "pose of the model": (
        '<pose relative_to="b">0 0 0 0 0 0</pose>' + AB,
        3,
        "of <model 'trial'> is relative to 'b'",
    ),
    "inside of a link": (
        AB + '<link name="c">\n<pose relative_to="a::b">0 0 0 0 0 0</pose></link>',
        6,
        "is relative to 'a::b', which is unknown here",
    ),
    "the world in a model": (
        '<link name="c">\n<pose relative_to="world">0 0 0 0 0 0</pose></link>',
        4,
        "relative to 'world'",
    ),
    "circle of poses": (
        '<link name="a"><pose relative_to="b"/></link>\n'
        '<link name="b"><pose relative_to="a"/></link>',
        3,
        "'a' -> 'b' -> 'a' are relative to each other in a circle",
    ),
    "pose of itself": (
        '<link name="a"><pose relative_to="a"/></link>',
        3,
        "'a' -> 'a' are relative",
    ),
    "circle by a joint": (
        AB + '<link name="c"><pose relative_to="j"/></link>\n' + joint("j", "a", "c"),
        5,
        "'c' -> 'j' -> 'c' are relative to each other",
    ),
    "circle of frames": (
        AB + '<frame name="f" attached_to="g"/>\n<frame name="g" attached_to="f"/>',
        5,
        "'f' -> 'g' -> 'f' are attached to each other in a circle",
    ),
    "circle of poses of frames": (
        AB + '<frame name="f"><pose relative_to="g"/></frame>\n'
        '<frame name="g"><pose relative_to="f"/></frame>',
        5,
        "'f' -> 'g' -> 'f' are relative to each other in a circle",
    ),
    "unknown attached_to": (
        AB + '<frame name="f" attached_to="c"/>',
        5,
        "frame 'f' is attached to 'c', which is unknown here",
    ),
    "unknown placement frame": (
        '<model name="m" placement_frame="q">' + AB + "</model>",
        3,
        "the placement_frame of <model 'm'> is 'q', which is unknown here",
    ),
    "placement frame in a circle": (
        '<model name="m" placement_frame="f"><frame name="f"><pose relative_to="f"/></frame>'
        + AB
        + "</model>",
        3,
        "are relative to each other in a circle",
    ),
    "unknown canonical link": (
        '<model name="m" canonical_link="q">' + AB + '</model><frame name="f" attached_to="m"/>',
        3,
        "the canonical_link of <model 'm'> is 'q', which is unknown here",
    ),
    "frame of nothing": (
        AB + '<model name="m"/><frame name="f" attached_to="m"/>',
        5,
        "<model 'm'> has no <link>",
    ),
    # joints
    "no type": (HINGE.replace(' type="revolute"', "") + "</joint>", 5, 'needs a type="..."'),
    "unknown type": (
        HINGE.replace("revolute", "revolut") + Z + "</joint>",
        5,
        "joint 'j' has the unknown type 'revolut'; did you mean 'revolute'?",
    ),
    "no parent": (
        HINGE.replace("<parent>a</parent>", "") + Z + "</joint>",
        5,
        "<joint> has no <parent>",
    ),
    "no child": (
        HINGE.replace("<child>b</child>", "") + Z + "</joint>",
        5,
        "<joint> has no <child>",
    ),
    "empty child": (HINGE.replace(">b</child", "></child") + Z + "</joint>", 7, "<child> is empty"),
    "unknown parent": (
        HINGE.replace(">a</parent", ">c</parent") + Z + "</joint>",
        6,
        "joint 'j' has the parent 'c', which is unknown here; valid names: 'a', 'b', 'j'",
    ),
    "unknown child": (
        HINGE.replace(">b</child", ">c</child") + Z + "</joint>",
        7,
        "joint 'j' has the child 'c', which is unknown here",
    ),
    "both ends one": (
        HINGE.replace(">b</child", ">a</child") + Z + "</joint>",
        5,
        "joint 'j' connects 'a' with itself",
    ),
    "the world with itself": (
        AB + joint("j", "world", "world"),
        5,
        "joint 'j' connects 'world' with itself",
    ),
    "no axis": (HINGE + "</joint>", 5, "<joint> has no <axis>"),
    "no second axis": (
        HINGE.replace("revolute", "universal") + Z + "</joint>",
        5,
        "has no <axis2>",
    ),
    "axis without numbers": (HINGE + "<axis/></joint>", 8, "<axis> has no <xyz>"),
    "axis of two numbers": (HINGE + "<axis><xyz>0 1</xyz></axis></joint>", 8, "expected 3 numbers"),
    "axis of length zero": (
        HINGE + "\n<axis><xyz>0 0 0</xyz></axis></joint>",
        9,
        "body 'b': the axis of a Revolute joint has length zero",
    ),
    "axis in no frame": (
        HINGE + '<axis>\n<xyz expressed_in="q">0 0 1</xyz></axis></joint>',
        9,
        "the axis of joint 'j' is expressed in 'q', which is unknown here",
    ),
    "parallel axes": (
        HINGE.replace("revolute", "universal") + Z + Z.replace("axis>", "axis2>") + "</joint>",
        8,
        "parallel",
    ),
    "axis of length zero in a loop": (
        HINGE + Z + "</joint>\n" + joint("k", "b", "a", "<axis><xyz>0 0 0</xyz></axis>"),
        9,
        "closure 'k': the axis of a Revolute joint has length zero",
    ),
    "two axes of one name": (HINGE + Z + "\n" + Z + "</joint>", 9, "a second <axis> in <joint>"),
    "lower above upper": (
        HINGE + OPEN + "\n<limit><lower>1</lower><upper>0</upper></limit></axis></joint>",
        9,
        "body 'b': the limits of the joint are [1.0, 0.0]; lower must not exceed upper",
    ),
    "limit that is no number": (
        HINGE + "<axis><xyz>0 0 1</xyz>\n<limit>\n<lower>nan</lower></limit></axis></joint>",
        10,
        "finite numbers",
    ),
    "negative spring": (
        HINGE + OPEN + f"<dynamics>{SPRING}</dynamics></axis></joint>",
        5,
        "body 'b': stiffness is -1; it must not be negative",
    ),
    "no thread": (
        SCREW + "</joint>",
        5,
        "<joint 'j'> needs a <screw_thread_pitch> in metres per turn",
    ),
    "no thread of old": (
        SCREW + "\n<thread_pitch>0</thread_pitch></joint>",
        9,
        "<thread_pitch> is 0",
    ),
    "no reference body": (GEARS + "</joint>", 5, "gearbox 'j' needs a <gearbox_reference_body>"),
    "unknown reference body": (
        GEARS + "<gearbox_reference_body>c</gearbox_reference_body></joint>",
        9,
        "gearbox 'j' has the reference 'c', which is unknown here",
    ),
    "mimic of nobody": (
        HINGE + '<axis><xyz>0 0 1</xyz>\n<mimic joint="k"/></axis></joint>',
        9,
        "joint 'j' mimics 'k', which is unknown here",
    ),
    "mimic of a link": (
        HINGE + '<axis><xyz>0 0 1</xyz>\n<mimic joint="a"/></axis></joint>',
        9,
        "joint 'j' mimics 'a', which is a link",
    ),
    "mimic of itself": (
        HINGE + '<axis><xyz>0 0 1</xyz>\n<mimic joint="j"/></axis></joint>',
        9,
        "the joints 'j' <- 'j' mimic each other in a circle",
    ),
    # links
    "negative mass": (
        '<link name="a">\n<inertial><mass>-2</mass></inertial></link>',
        4,
        "body 'a': mass is -2 kg; it must not be negative",
    ),
    "mass that is no number": (
        '<link name="a"><inertial>\n<mass>two</mass></inertial></link>',
        4,
        "expected one number",
    ),
    "two inertials": (
        '<link name="a"><inertial/>\n<inertial/></link>',
        4,
        "a second <inertial> in <link>",
    ),
    "auto that is no truth value": (
        '<link name="a">\n<inertial auto="maybe"/></link>',
        4,
        "'maybe' is no truth value",
    ),
    # includes
    "no uri": (AB + "<include/>", 5, "<include> has no <uri>"),
    "of itself": (AB + "<include><uri>trial.sdf</uri></include>", 5, "includes itself"),
    "placement without a pose": (
        AB + "<include><uri>other.sdf</uri>\n<placement_frame>f</placement_frame></include>",
        6,
        "a <placement_frame> is placed by a <pose>; add one",
    ),
    "of two models": (
        AB + "<include><uri>two.sdf</uri></include>",
        5,
        "two.sdf has 2 models; an <include> means one",
    ),
    "of a circle": (AB + "<include><uri>ring.sdf</uri></include>", None, "includes itself"),
    "of a broken file": (
        AB + "<include><uri>broken.sdf</uri></include>",
        None,
        "broken.sdf:2: broken XML",
    ),
}


@pytest.fixture
def others(tmp_path):
    """Files to include."""
    model = '<model name="{}"><link name="l"/>{}</model>'
    write(tmp_path, model.format("other", ""), name="other.sdf")
    write(tmp_path, model.format("one", "") + model.format("two", ""), name="two.sdf")
    back = "<include><uri>{}.sdf</uri></include>"
    write(tmp_path, model.format("ring", back.format("ring2")), name="ring.sdf")
    write(tmp_path, model.format("ring2", back.format("ring")), name="ring2.sdf")
    (tmp_path / "broken.sdf").write_text("<sdf>\n</model>")


@pytest.mark.parametrize("case", REFUSALS)
def test_broken_files_are_refused_with_their_line(read, tmp_path, others, case):
    body, line, message = REFUSALS[case]
    with pytest.raises(ModelError) as caught:
        read(body)
    place = f"{tmp_path / 'trial.sdf'}:{line}: " if line else str(tmp_path)
    assert str(caught.value).startswith(place), caught.value
    assert message in str(caught.value)


ROOTS = {
    "no version": ("<sdf></sdf>", 'needs a version="..."'),
    "old": ('<sdf version="1.3"></sdf>', "expected 1.4 to 1.12; convert the file: gz sdf -p"),
    "new": ('<sdf version="2.0"></sdf>', "expected 1.4 to 1.12"),
    "no number": ('<sdf version="latest"></sdf>', "expected 1.4 to 1.12"),
    "nothing": ('<sdf version="1.6"/>', "<sdf> has neither a <model> nor a <world>"),
    "two worlds": (
        '<sdf version="1.6"><world name="a"/><world name="b"/></sdf>',
        "<sdf> has a <world> and more; keep one world",
    ),
    "world and model": (
        '<sdf version="1.6"><world name="a"/><model name="b"/></sdf>',
        "<sdf> has a <world> and more",
    ),
    "empty world": ('<sdf version="1.6"><world name="a"/></sdf>', "<world 'a'> has no <link>"),
    "nameless model": ('<sdf version="1.6"><model/></sdf>', 'needs a name="..."'),
    "gravity of two numbers": (
        '<sdf version="1.6"><world name="a"><gravity>0 1</gravity><model name="m"><link name="l"/>'
        "</model></world></sdf>",
        "expected 3 numbers",
    ),
    "entities": (
        '<!DOCTYPE sdf [<!ENTITY a "b">]><sdf version="1.6"><model name="&a;"/></sdf>',
        "a document type declaration (<!DOCTYPE>) is refused",
    ),
}


@pytest.mark.parametrize("case", ROOTS)
def test_broken_roots_are_refused(tmp_path, case):
    text, message = ROOTS[case]
    file = tmp_path / "trial.sdf"
    file.write_text(text)
    with pytest.raises(ModelError, match=re.escape(message)):
        load(file)


# -- hostile files ---------------------------------------------------------------------


def nested(depth: int) -> str:
    return '<model name="m">' * depth + link("l") + "</model>" * depth


def test_models_are_nested_to_a_bounded_depth(read):
    machine = read(nested(include.MOST_LEVELS - 1))
    assert machine.bodies[0].name == "m::" * (include.MOST_LEVELS - 1) + "l"
    with pytest.raises(ModelError, match=r"trial.sdf:3: models are nested more than 64 deep"):
        read(nested(10_000))


def test_placement_frames_of_nested_models_are_followed_to_that_depth(read):
    """Each model puts the one in it at 1 m: from within, they are at 5, -4, 5 ... in each other."""
    depth = include.MOST_LEVELS - 2
    frame = '<model name="m" placement_frame="m"><pose>0 0 1 0 0 0</pose>'
    text = (
        frame * depth
        + '<model name="m">'
        + pose_of("0 0 5 0 0 0")
        + link("l")
        + "</model>" * (depth + 1)
    )
    (only,) = read(text).joints
    np.testing.assert_allclose(only.placement.position, (0, 0, 32 * 5 - 31 * 4), atol=1e-12)


def test_a_chain_of_included_files_is_as_deep_as_models_may_be(tmp_path):
    inner = '<model name="m"><include><uri>f{}.sdf</uri></include></model>'
    for k in range(100):
        write(tmp_path, inner.format(k + 1), name=f"f{k}.sdf")
    write(tmp_path, f'<model name="m">{link("l")}</model>', name="f100.sdf")
    assert load(tmp_path / "f60.sdf").nv == 6
    with pytest.raises(ModelError, match="models are nested more than 64 deep"):
        load(tmp_path / "f0.sdf")


def test_files_that_multiply_are_stopped(tmp_path, monkeypatch):
    """Each file includes the next ten times: ten files would be ten thousand million models."""
    inner = "<include><name>m{}</name><uri>f{}.sdf</uri></include>"
    for k in range(10):
        text = "".join(inner.format(copy, k + 1) for copy in range(10))
        write(tmp_path, f'<model name="m">{text}</model>', name=f"f{k}.sdf")
    write(tmp_path, '<model name="m"><link name="l"/></model>', name="f10.sdf")
    monkeypatch.setattr(include, "MOST_INCLUDES", 2_000)
    with pytest.raises(ModelError, match="more than 2,000 files are included"):
        load(tmp_path / "f0.sdf")
    monkeypatch.setattr(models, "MOST_PARTS", 300)
    with pytest.raises(ModelError, match="have more than 300 links, joints and frames"):
        load(tmp_path / "f0.sdf")


def test_a_long_circle_is_found_and_abridged(read):
    count = 3_000
    text = "".join(
        f'<link name="l{k}"><pose relative_to="l{(k + 1) % count}"/></link>' for k in range(count)
    )
    with pytest.raises(ModelError, match=r"'l0' -> 'l1' -> 'l2' -> '\.\.\.' -> 'l0' are relative"):
        read(text)


def test_a_ring_of_many_links_is_one_closure(read):
    count = 400
    text = "".join(link(f"l{k}", pose=f"{k} 0 0 0 0 0") for k in range(count))
    text += "".join(joint(f"j{k}", f"l{k}", f"l{(k + 1) % count}") for k in range(count))
    machine = read(text)
    assert (len(machine.bodies), [each.name for each in machine.closures]) == (count, ["j399"])


AXIS = "<axis><xyz expressed_in='b'>0 1 0</xyz><limit><lower>-1</lower></limit></axis>"
TWO_AXES = "<axis><xyz>0 1 0</xyz></axis><axis2><xyz>1 0 0</xyz></axis2>"
WHOLE = (
    '<model name="m"><pose>0 0 1 0 0 0</pose>'
    + link("a")
    + link("b", pose="0 0 1 0 0 0@a")
    + '<frame name="f" attached_to="b"><pose>0 0 1 0 0 0</pose></frame>'
    + joint("j", "a", "f", AXIS)
    + '<model name="n" placement_frame="c">'
    + link("c")
    + link("d")
    + joint("k", "c", "d", type="ball")
    + "</model>"
    + joint("l", "b", "n::c", type="fixed")
    + joint("o", "n::d", "a", TWO_AXES, "universal")
    + "</model>"
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_files_load_or_are_refused(tmp_path, data):
    """Words swapped, cut, doubled: a machine or a ModelError, never anything else."""
    words = re.findall(r"<[^>]*>|[^<>]+", WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        k = data.draw(st.integers(0, len(words) - 1))
        match data.draw(st.sampled_from(["cut", "double", "swap", "word"])):
            case "cut":
                words[k] = ""
            case "double":
                words[k] *= 2
            case "swap":
                other = data.draw(st.integers(0, len(words) - 1))
                words[k], words[other] = words[other], words[k]
            case "word":
                names = ["a", "b", "c", "n", "n::c", "__model__", "world", "-1e300", "nan", "0", ""]
                attribute = re.sub(
                    r'"[^"]*"', f'"{data.draw(st.sampled_from(names))}"', words[k], count=1
                )
                words[k] = attribute if '"' in words[k] else data.draw(st.sampled_from(names))
    file = write(tmp_path, "".join(words))
    try:
        report = load(file).report
    except ModelError:
        return
    assert len(report) > 0
