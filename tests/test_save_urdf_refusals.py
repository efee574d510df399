"""What URDF cannot express is named, and left out only if asked; nothing is half written."""

import errno
import os

import pytest
from bars import BAR
from test_save_urdf import TURN, assert_same, trip

import phipsi as pp
from phipsi import joints
from phipsi.errors import InputError, ModelError
from phipsi.model.files.urdf.save import save_urdf
from phipsi.model.geometry import Mesh, Sphere, Visual
from phipsi.model.tree import WORLD


def test_everything_that_cannot_be_written_is_named_and_no_file_is_left(tmp_path):
    builder = pp.ModelBuilder("strange", gravity=(0, 0, -1.62))
    builder.add_body("ball", joint=joints.Spherical(), **BAR)
    builder.add_body("screw", "ball", joints.Helical(pitch=0.1), **BAR)
    builder.add_body("spring", "screw", stiffness=3.0, **BAR)
    builder.add_closure("pin", "ball", "spring")
    builder.add_coupling("cam", "screw_joint", "spring_joint", [0, 0, 1])
    builder.add_keyframe("home", {})
    with pytest.raises(ModelError) as caught:
        save_urdf(builder.build(), tmp_path / "strange.urdf")
    assert str(caught.value) == (
        "save_urdf: 'strange' has what URDF cannot express: joint 'ball_joint' (Spherical), joint "
        "'screw_joint' (Helical); change them, or keep the machine by pickle.dumps(model). Also "
        "closure 'pin', coupling 'cam', keyframe 'home', the "
        "gravity (0.0, 0.0, -1.62) (gravity= of load); strict=False leaves them out and says so in "
        "the file"
    )
    with pytest.raises(ModelError, match=r"\(Helical\); change them, .*\(model\)$"):
        save_urdf(builder.build(), tmp_path / "strange.urdf", strict=False)
    assert os.listdir(tmp_path) == []


UNKNOWN_KINDS = [
    joints.Spherical(),
    joints.Universal(),
    joints.Helical(),
    joints.Cylindrical(),
    joints.SphericalEuler(),
    joints.Custom(lambda q: ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [q[0], 0, 0]), 1),
]


@pytest.mark.parametrize("kind", UNKNOWN_KINDS, ids=lambda kind: type(kind).__name__)
def test_joint_of_another_kind_is_refused(kind, tmp_path):
    builder = pp.ModelBuilder("m")
    builder.add_body("a", joint=kind, **BAR)
    with pytest.raises(ModelError) as caught:
        save_urdf(builder.build(), tmp_path / "m.urdf")
    assert str(caught.value) == (
        f"save_urdf: 'm' has what URDF cannot express: joint 'a_joint' ({type(kind).__name__}); "
        "change it, or keep the machine by pickle.dumps(model)"
    )


def beside(**options):
    def make():
        builder = pp.ModelBuilder("m")
        builder.add_body("a", **{"limits": pp.Limits(-1, 1), **BAR, **options})
        return builder

    return make


def closed():
    builder = beside()()
    builder.add_closure("p--in", "a", "world", joints.Revolute())
    return builder


def coupled():
    builder = beside()()
    builder.add_coupling("cam", "a_joint", None, [1])
    return builder


def posed():
    builder = beside()()
    builder.add_keyframe("home", {})
    return builder


LEFT_OUT = {
    "spring of a plane": (
        beside(joint=joints.Planar(), limits=None, stiffness=1.0),
        "the spring of joint 'a_joint'",
    ),
    "rest of a plane": (
        beside(joint=joints.Planar(), limits=None, rest=(1.0, 0.0, 0.0)),
        "the spring of joint 'a_joint'",
    ),
    "ends of a plane": (beside(joint=joints.Planar()), "the ends of joint 'a_joint'"),
    "ends in the air": (beside(joint=joints.Free()), "the ends of joint 'a_joint'"),
    "motor of a plane": (
        beside(joint=joints.Planar(), limits=None, rotor_inertia=1.0),
        "the motor of joint 'a_joint'",
    ),
    "gear of a plane": (
        beside(joint=joints.Planar(), limits=None, gear_ratio=2.0),
        "the motor of joint 'a_joint'",
    ),
    "motor that is off": (
        beside(limits=pp.Limits(-1, 1, effort=0.0)),
        "the effort 0 of joint 'a_joint'",
    ),
    "closure": (closed, "closure 'p--in'"),
    "coupling": (coupled, "coupling 'cam'"),
    "keyframe": (posed, "keyframe 'home'"),
    "gravity": (
        lambda: pp.ModelBuilder("m", gravity=(0, 0, 0)),
        "the gravity (0.0, 0.0, 0.0) (gravity= of load)",
    ),
}


@pytest.mark.parametrize(("make", "what"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_is_beside_the_tree_is_left_out_only_if_asked_and_the_file_says_so(
    make, what, tmp_path
):
    model = make().build()
    with pytest.raises(ModelError) as caught:
        save_urdf(model, tmp_path / "m.urdf")
    assert str(caught.value) == (
        f"save_urdf: 'm' has what URDF cannot express: {what}; strict=False leaves it out and says "
        "so in the file"
    )
    assert os.listdir(tmp_path) == []
    again = trip(model, tmp_path, strict=False)
    assert again.bodies == model.bodies and not again.is_closed
    text = (tmp_path / "trip.urdf").read_text()
    assert f"Left out, for URDF cannot express it: {what.replace('--', '- -')} -->" in text


@pytest.mark.parametrize("name", ["x---y", "--", "x-----", "-", "a->b", "-- >"])
def test_names_in_a_comment_cannot_end_it(name, tmp_path):
    builder = beside(limits=None)()
    builder.add_keyframe(name, {})
    assert trip(builder.build(), tmp_path, strict=False).bodies == builder.build().bodies
    text = (tmp_path / "trip.urdf").read_text()
    comment = text[text.index("<!--") + 4 : text.index("-->", text.index("Left out"))]
    assert "--" not in comment.rpartition("<!--")[2] and not comment.endswith("-")


NO_NAMES = ["bell\x07", "\uffff", " ", "\n"]  # no machine has others, but for files of meshes
NO_FILES = [*NO_NAMES, "\x00", "\ud800"]


@pytest.mark.parametrize(
    ("of", "name"),
    [(of, name) for of in ("body", "joint", "frame") for name in NO_NAMES]
    + [("mesh", name) for name in NO_FILES],
)
def test_name_that_no_file_can_hold_is_refused(of, name, tmp_path):
    builder = pp.ModelBuilder("m")
    given = {"body": "a", "joint": "j", "frame": "f", "mesh": "m", of: name}
    builder.add_body(given["body"], joint_name=given["joint"], **BAR)
    builder.add_frame(given["frame"], "world")
    builder.add_visuals("world", [Mesh(given["mesh"])])
    with pytest.raises(ModelError) as caught:
        save_urdf(builder.build(), tmp_path / "m.urdf", strict=False)
    assert str(caught.value) == (
        f"save_urdf: 'm' has what URDF cannot express: the name {name!r}; change it, or keep the "
        "machine by pickle.dumps(model)"
    )
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("named", ["machine", "shape"])
def test_other_text_may_be_blank_but_no_control_character(named, tmp_path):
    for name, fine in ((" ", True), ("\x07", False)):
        builder = pp.ModelBuilder(name if named == "machine" else "m")
        builder.add_visuals("world", [Visual.of(Sphere(1), name=name)])
        if fine:
            assert_same(builder.build(), trip(builder.build(), tmp_path))
            continue
        with pytest.raises(ModelError, match=r"the name '.x07'"):
            save_urdf(builder.build(), tmp_path / "m.urdf", strict=False)


def test_no_machine_is_refused(tmp_path):
    with pytest.raises(InputError, match="save_urdf: model is 'arm'; expected a Model"):
        save_urdf("arm", tmp_path / "x.urdf")


@pytest.mark.parametrize("path", [3, "", "a\0b"])
def test_no_path_is_refused(path):
    with pytest.raises(InputError, match=r"path is .*; expected the path of a file"):
        save_urdf(pp.chain(1), path)


def test_full_disk_leaves_the_earlier_file_and_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "arm.urdf"
    save_urdf(pp.chain(1), file)
    before = file.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"arm\.urdf: cannot be written: the disk is full"):
        save_urdf(pp.chain(2), file)
    assert file.read_bytes() == before and os.listdir(tmp_path) == ["arm.urdf"]


def test_world_frame_elsewhere_stays_where_it_is(tmp_path):
    builder = pp.ModelBuilder("m")
    builder.add_body("a", limits=pp.Limits(-1, 1), **BAR)
    builder.add_frame("door", "world", (1, 2, 3), TURN)
    builder.add_frame("sill", "door", (0, 0, 1))
    model = builder.build()
    again = trip(model, tmp_path)
    assert [(frame.name, frame.body) for frame in again.frames] == [
        ("door", WORLD),
        ("sill", WORLD),
    ]
    assert again.frame("door") == model.frame("door")
