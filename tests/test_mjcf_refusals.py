"""Hostile and mistaken MJCF files: a ModelError with file and line, and nothing read elsewhere."""

import contextlib
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mjcf_text import SEED, TETRAHEDRON, ball, machine
from mutations import mutated

import phipsi as pp
from phipsi.model.files.mjcf import files as mjcf_files
from phipsi.model.files.mjcf import meshes, tree

mujoco = pytest.importorskip("mujoco")

ATTACH = '<asset><model name="c" file="{}"/></asset>'
MESH = '<asset><mesh name="m" {}/></asset>'
HEAVY = '<body><freejoint/><geom type="mesh" mesh="m"/></body>'


@pytest.fixture
def refusal(tmp_path):
    """The message of the ModelError that a text is answered with; files are beside it."""

    def message(text, files=None, **how):
        folder = tmp_path / "around" / "robots"
        for name, content in {"robot.xml": text, **(files or {})}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(pp.ModelError) as caught:
            pp.load(folder / "robot.xml", **how)
        return str(caught.value).replace(f"{folder}{os.sep}", "")

    return message


# -- words and numbers


MISTAKES = {
    "unknown element": (machine("<boddy/>"), "robot.xml:4: <boddy> is unknown in <worldbody>; did"),
    "unknown section": (machine("", "<worldbuddy/>"), "robot.xml:2: <worldbuddy> is unknown in"),
    "composite": (machine(ball() + "\n<composite/>"), "robot.xml:5: bodies that bend"),
    "unknown attribute": (machine(ball('<joint axle="0 0 1"/>')), "robot.xml:4: <joint>: "),
    "nested wrong": (machine(ball('<joint><body name="b"/></joint>')), "robot.xml:4: <body 'b'>: "),
    "unknown class": (machine(ball('<joint class="x"/>')), "robot.xml:4: <joint>: unknown default"),
    "not a number": (machine(ball('<joint pos="1 b 3"/>')), "robot.xml:4: <joint>: bad format"),
    "two of a name": (machine(ball() + "\n" + ball()), "robot.xml:5: <body 'ball'>: "),
    "no mass": (machine('\n<body name="b"><joint/></body>'), "robot.xml:5: <body 'b'>: mass and"),
    "unknown body": (
        machine(ball(), after='<equality><weld body1="bell"/></equality>'),
        "robot.xml:6: <weld>: un",
    ),
    "keyframe": (
        machine(ball(), after='<keyframe><key qpos="1 2 3"/></keyframe>'),
        "robot.xml:6: <key>: keyframe '': invalid qpos size",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_told_with_their_line(refusal, name):
    text, expected = MISTAKES[name]
    assert refusal(text, strict=True).startswith(expected)


@pytest.mark.parametrize(
    "number", ["nan", "NaN(1)", "inf", "-infinity", "1e61", "-1e300", "1e999", "0x1p1000"]
)
@pytest.mark.parametrize("attribute", ["pos", "stiffness", "axis"])
def test_numbers_are_finite_and_sensible(refusal, number, attribute, capfd):
    text = machine(ball(f'\n<joint {attribute}="0 {number} 1"/>'))
    assert refusal(text).startswith(f'robot.xml:5: <joint {attribute}="0 {number} 1">: expected')
    assert capfd.readouterr() == ("", "")  # MuJoCo would warn of NaN


def test_long_attributes_are_shown_in_short(refusal):
    text = machine(ball(f'<joint pos="{"0 " * 1000}nan"/>'))
    assert len(refusal(text)) < 200


def test_limits_may_be_infinite(tmp_path):
    file = tmp_path / "robot.xml"
    file.write_text(machine(ball('<joint name="j" range="-inf inf"/>')))
    assert pp.load(file).joint("j").limits.upper == float("inf")


def test_memory_that_is_not_there_is_an_error(refusal, monkeypatch):
    def greedy(*_, **__):
        raise MemoryError

    monkeypatch.setattr(mujoco.MjSpec, "from_string", greedy)
    assert refusal(machine(ball())) == ("robot.xml:1: <mujoco>: it needs more memory than there is")


# -- depth and number


def nested(tag, count):
    return f"<{tag}>" * count + f"</{tag}>" * count


@pytest.mark.parametrize("tag", ["frame", "body", "replicate", "geom"])
def test_depth_is_bounded(refusal, tag):
    assert "elements are in each other here" in refusal(machine(nested(tag, 100_000)))


def test_what_mujoco_still_takes_is_taken(tmp_path):
    file = tmp_path / "robot.xml"
    deep = tree.DEEPEST - 3
    body = '<body><joint/><geom size="0.1"/>'
    file.write_text(machine(body * deep + "</body>" * deep))
    assert len(pp.load(file).bodies) == deep


def test_depth_of_attached_models_adds_up(refusal):
    """Each file alone is not too deep; one in the other is."""
    half = tree.DEEPEST // 2
    inner = f'<mujoco model="c"><worldbody>{nested("frame", half)}</worldbody></mujoco>'
    open_, close = "<frame>" * half, "</frame>" * half
    text = machine(f'{open_}<attach model="c" prefix="x"/>{close}', ATTACH.format("c.xml"))
    assert "elements are in each other here" in refusal(text, {"c.xml": inner})


def test_depth_of_attachments_within_a_file_adds_up(refusal):
    links = [f'<body name="b{k}"><attach body="b{k + 1}" prefix="x"/></body>' for k in range(500)]
    assert "elements are in each other here" in refusal(machine("".join(links)))


@pytest.mark.parametrize("count", ["-1", "1.5", "1e9", "30000"])
def test_replicas_are_whole_and_bounded(refusal, count):
    text = machine(f'<replicate count="{count}">{ball()}</replicate>')
    assert "expected a whole number from 0 to 20,000" in refusal(text)


def test_replicas_of_replicas_are_bounded(refusal):
    many = '<replicate count="100">'
    text = machine(f"{many * 3}{ball()}{'</replicate>' * 3}")
    assert "becomes more than 20,000 elements" in refusal(text)


def test_attachments_that_double_are_bounded(refusal):
    """Thirty bodies, each of which has the next one twice."""
    twice = '<attach body="b{0}" prefix="x"/><attach body="b{0}" prefix="y"/>'
    bodies = [f'<body name="b{k}">{twice.format(k + 1)}</body>' for k in range(30)]
    assert "becomes more than 20,000 elements" in refusal(
        machine("".join(bodies) + ball("", "b30"))
    )


def test_attachments_go_in_no_circle(refusal):
    text = machine('<body name="b"><body><attach body="b" prefix="x"/></body></body>')
    assert "<body 'b'> is attached to itself, without end" in refusal(text)


@pytest.mark.parametrize("params", ["300 1 1", "100 100 100", "-1e9 1"])
def test_built_in_meshes_are_bounded(refusal, params):
    text = machine(ball(), MESH.format(f'builtin="plate" params="{params}"'))
    assert refusal(text) == "robot.xml:2: <mesh 'm'> is too fine; give it smaller params"


def test_hulls_are_bounded(refusal, monkeypatch):
    monkeypatch.setattr(meshes, "MOST_FOR_HULL", 10)
    inline = MESH.format('vertex="0 0 0 1 0 0 0 1 0 0 0 1"')
    assert "which is too large for that" in refusal(machine(HEAVY, inline))
    points = TETRAHEDRON.partition("f")[0]
    for attributes, files in {
        'file="m.obj"': {"m.obj": points},
        'file="m.obj" inertia="convex"': {"m.obj": TETRAHEDRON},
        'file="m.msh"': {"m.msh": bytes([4] + [0] * 63)},
    }.items():
        text = machine(HEAVY, MESH.format(attributes))
        assert refusal(text, files).startswith("robot.xml:2: masses are computed of the hull")


def test_machines_of_too_many_files_are_refused(refusal, monkeypatch):
    monkeypatch.setattr(tree, "MOST_FILES", 2)
    parts = {f"p{k}.xml": f"<x>{ball('', f'b{k}')}</x>" for k in range(3)}
    text = machine("".join(f'<include file="{name}"/>' for name in parts))
    assert "more than 2 files" in refusal(text, parts)


def test_machines_of_too_many_bytes_are_refused(refusal, monkeypatch):
    monkeypatch.setattr(mjcf_files, "MOST_BYTES", 100)
    text = machine('<include file="p.xml"/>')
    assert "larger than 0 MiB together" in refusal(text, {"p.xml": f"<x>{ball()}{' ' * 99}</x>"})


# -- files


OUTSIDE = {
    "above": "../../../secret.xml",
    "far above": "../" * 40 + "etc/secret.xml",
    "root": "/etc/secret.xml",
    "backslashes": "..\\..\\..\\secret.xml",
    "through a folder": "parts/../../../../secret.xml",
}


@pytest.mark.parametrize("where", OUTSIDE)
def test_no_file_is_read_outside(refusal, where, tmp_path, monkeypatch):
    (tmp_path / "secret.xml").write_text(f"<x>{ball()}</x>")
    opened = []
    monkeypatch.setattr(mjcf_files.Files, "read", lambda self, path: opened.append(path))
    include = f'<include file="{OUTSIDE[where]}"/>'
    assert "which leads out of" in refusal(machine(include))
    assert "which leads out of" in refusal(machine(ball(), ATTACH.format(OUTSIDE[where])))
    mesh = MESH.format(f'file="{OUTSIDE[where].replace(".xml", ".stl")}"')
    assert "which leads out of" in refusal(machine(HEAVY, mesh))
    assert not opened


def test_meshes_outside_are_left_out_if_they_have_no_mass(tmp_path):
    file = tmp_path / "a" / "b" / "robot.xml"
    file.parent.mkdir(parents=True)
    body = ball() + '<body><geom type="mesh" mesh="m" mass="0"/></body>'
    file.write_text(machine(body, MESH.format('file="../../../secret.stl"')))
    model = pp.load(file)
    assert len(model.visuals) == 1
    (line,) = model.report.refused
    assert "which leads out of" in line
    with pytest.raises(pp.ModelError, match=r"robot.xml:2: .*which leads out of"):
        pp.load(file, strict=True)


def test_what_is_beside_the_folder_and_in_packages_is_read(tmp_path):
    for folder in ("around/robots", "around/shared", "packages"):
        (tmp_path / folder).mkdir(parents=True)
    file = tmp_path / "around" / "robots" / "robot.xml"
    (tmp_path / "around" / "shared" / "a.xml").write_text(f"<x>{ball('', 'a')}</x>")
    (tmp_path / "packages" / "b.xml").write_text(f"<x>{ball('', 'b')}</x>")
    file.write_text(machine('<include file="../shared/a.xml"/><include file="b.xml"/>'))
    model = pp.load(file, packages=[tmp_path / "packages"])
    assert {"a", "b"} <= {frame.name for frame in model.frames}


NAMES = {
    "https://example.com/a.xml": "expected a path on this computer",
    "file:///etc/a.xml": "expected a path on this computer",
    "missing.xml": "and there is none; looked in",
    "folder.xml": "and there is none; looked in",
    "pipe.xml": "and there is none; looked in",
    "robot.txt": "expected one that ends in .xml or .mjcf",
    "/etc/passwd": "expected one that ends in .xml or .mjcf",
    "robot.xml": "is included a second time",
}


@pytest.mark.parametrize("name", NAMES)
def test_included_files_are_files(refusal, name, tmp_path):
    folder = tmp_path / "around" / "robots"
    (folder / "folder.xml").mkdir(parents=True)
    os.mkfifo(folder / "pipe.xml")
    text = refusal(machine(f'\n<include file="{name}"/>'))
    assert text.startswith("robot.xml:5: ")
    assert NAMES[name] in text


def test_file_that_is_missing_is_a_plain_model_error(tmp_path):
    """Not one of a private kind, whose path would stand in front of the message."""
    heavy = machine(HEAVY, MESH.format('file="no.stl"'))
    for text in (machine('<include file="no.xml"/>'), heavy):
        (tmp_path / "robot.xml").write_text(text)
        with pytest.raises(pp.ModelError, match="and there is none; looked in") as caught:
            pp.load(tmp_path / "robot.xml")
        assert type(caught.value) is pp.ModelError


NO_BODY = "robot.xml:1: <mujoco> has no <body>; expected at least one. Is it a part"
FRAGMENTS = {
    "<mujoco>\n<body/></mujoco>": "robot.xml:2: <body> stands in <mujoco>, so this looks like a",
    "<mujoco><asset/></mujoco>": NO_BODY,
    machine("<geom size='1'/>"): NO_BODY,
    "<mujocoinclude/>": "robot.xml:1: <mujocoinclude> is a part for <include>; load the file that",
}


@pytest.mark.parametrize("text", FRAGMENTS)
def test_part_of_a_file_is_no_machine(refusal, text):
    said = refusal(text)
    assert said.startswith(FRAGMENTS[text])
    assert said.lower().endswith("load the file that includes it")


def test_a_file_includes_no_other_that_includes_it(refusal):
    text = machine('<include file="a.xml"/>')
    assert "a.xml:1: 'robot.xml' is included a second time" in refusal(
        text, {"a.xml": '<x><include file="robot.xml"/></x>'}
    )


def test_included_files_are_parsed_as_strictly(refusal):
    text = machine('<include file="a.xml"/>')
    bomb = '<!DOCTYPE x [<!ENTITY e "e">]><x>&e;</x>'
    assert refusal(text, {"a.xml": bomb}).startswith("a.xml:1: a document type declaration")
    assert refusal(text, {"a.xml": "<x>\n<y></x>"}).startswith("a.xml:2: broken XML")
    assert refusal(text, {"a.xml": ""}).startswith("a.xml:1: the file is empty")


def test_attached_files_are_models_and_not_each_other(refusal):
    text = machine('<attach model="c" prefix="x"/>', ATTACH.format("c.xml"))
    assert refusal(text, {"c.xml": "<robot/>"}).startswith("c.xml:1: the root element is <robot>")
    again = machine(ball(), ATTACH.format("robot.xml"))
    assert refusal(text, {"c.xml": again}).startswith("c.xml:2: 'robot.xml' is a model of itself")


def test_files_that_cannot_be_read_are_told(refusal, monkeypatch):
    def broken(path, stream):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(mjcf_files, "read_some", broken)
    text = machine('<include file="a.xml"/>')
    assert refusal(text, {"a.xml": "<x/>"}) == "a.xml: cannot be read: Input/output error"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("m.stl", None, "<mesh> names the file 'm.stl', and there is none"),
        ("m.dae", "<COLLADA/>", "masses are computed of the mesh 'm.dae'; MuJoCo reads .stl"),
        ("m.stl", "solid", "<mesh 'm'>: "),
        ("m.obj", "f 1 2 3", "<mesh 'm'>: "),
        ("m.msh", "x" * 99, "<mesh 'm'>: "),
        ("m.obj", "", "<mesh 'm'>: "),
    ],
)
def test_meshes_that_masses_are_computed_of_must_be_meshes(refusal, name, content, expected):
    text = refusal(
        machine(HEAVY, MESH.format(f'file="{name}"')), {} if content is None else {name: content}
    )
    assert text.startswith(f"robot.xml:2: {expected}")
    assert "mesh0" not in text  # what MuJoCo calls it


# -- anything


EVERYTHING = machine(
    f'<replicate count="2" offset="1 0 0">{ball()}</replicate>'
    '<frame pos="0 0 1"><body name="b"><freejoint/><geom type="mesh" mesh="m"/>'
    '<geom type="capsule" mesh="s" mass="1"/>'
    '<body><joint name="j" type="ball" stiffness="2"/><joint name="k" type="slide"/>'
    '<geom fromto="0 0 0 0 0 1" size="0.1"/><site name="s"/></body></body></frame>',
    '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>'
    '<mesh name="s" builtin="sphere" params="1"/></asset>',
    '<equality><connect body1="b" anchor="0 0 0"/><joint joint1="k" polycoef="1 0 0 0 0"/>'
    "</equality>"
    '<actuator><position joint="k" kp="3"/><muscle joint="k"/></actuator>'
    '<tendon><spatial><site site="s"/><site site="s"/></spatial></tendon>',
)


@settings(deadline=None, max_examples=300)
@given(text=mutated([SEED.encode(), EVERYTHING.replace("><", ">\n<").encode()]), data=st.data())
def test_mutated_files_are_machines_or_errors_with_their_place(text, data, tmp_path_factory):
    file = tmp_path_factory.getbasetemp() / "mutated.xml"
    file.write_bytes(text)
    base = data.draw(st.sampled_from([None, "fixed", "free"]))
    with contextlib.suppress(pp.InputError):  # of base="free", where all is on joints
        try:
            model = pp.load(file, base=base, strict=data.draw(st.booleans()))
        except pp.ModelError as error:
            assert str(error).startswith(f"{file}:")
        else:
            assert len(model.report) >= len(model.bodies)
