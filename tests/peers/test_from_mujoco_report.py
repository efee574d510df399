"""How MuJoCo's models look here, and what their reports say is left out."""

import mujoco
import numpy as np
import pytest
from peers.mjcf_machines import path_of
from peers.mujoco_bridge import error, leg, pose, read, state

import phipsi as pp
from phipsi.model.peers.mujoco.machine import convert

TOLERANCE = 1e-12


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo leaves its warnings in a file where it runs."""
    monkeypatch.chdir(tmp_path)


# -- looks


def test_geoms_are_shown_or_kept_for_contact():
    model = pp.from_mujoco(leg())
    seen = {visual.name: visual for visual in model.visuals}
    kept = {visual.name: visual for visual in model.collisions}
    assert seen["chest"].shape == pp.geometry.Box((0.2, 0.4, 0.6))
    assert seen["chest"].color == (1.0, 0.0, 0.0, 0.5)
    assert "chest" not in kept
    assert kept["hull"].shape == pp.geometry.Capsule(0.2, 0.6)
    assert "hull" not in seen
    assert {type(x.shape).__name__ for x in model.visuals} == {
        "Box",
        "Cylinder",
        "Ellipsoid",
        "Sphere",
    }


def test_geoms_are_where_mujoco_has_them():
    peer = leg()
    model, data = pp.from_mujoco(peer), mujoco.MjData(peer)
    q, _ = state(model)
    data.qpos = model.to_mujoco(q)
    mujoco.mj_forward(peer, data)
    poses = pp.body_poses(model, q)
    number = {peer.geom(g).name or f"geom{g}": g for g in range(peer.ngeom)}
    shown = (*model.visuals, *model.collisions)
    assert {visual.name for visual in shown} == set(number)
    for visual in shown:
        g = number[visual.name]
        expected = pose(data.geom_xpos[g], data.geom_xmat[g])
        assert error(poses[visual.body] @ visual.placement.matrix, expected) < TOLERANCE


def test_meshes_lie_as_in_their_files():
    """MuJoCo moves a mesh to its mass centre; here its file is placed so that it fits again."""
    trimesh = pytest.importorskip("trimesh")
    peer = mujoco.MjModel.from_xml_path(str(path_of("hand")))
    model, data = pp.from_mujoco(peer), mujoco.MjData(peer)
    data.qpos = model.to_mujoco(model.neutral())
    mujoco.mj_forward(peer, data)
    poses = pp.body_poses(model, model.neutral())
    number = {peer.geom(g).name or f"geom{g}": g for g in range(peer.ngeom)}
    meshes = [x for x in model.visuals if isinstance(x.shape, pp.geometry.Mesh)]
    assert len(meshes) > 10
    for visual in meshes[:6]:
        g = number[visual.name]
        k = peer.geom_dataid[g]
        start, count = peer.mesh_vertadr[k], peer.mesh_vertnum[k]
        own = peer.mesh_vert[start : start + count] @ data.geom_xmat[g].reshape(3, 3).T
        own = own + data.geom_xpos[g]
        file = trimesh.load(visual.shape.path).vertices * visual.shape.scale
        carrier = np.eye(4) if visual.body < 0 else poses[visual.body]
        place = carrier @ visual.placement.matrix
        ours = file @ place[:3, :3].T + place[:3, 3]
        assert ours.min(axis=0) == pytest.approx(own.min(axis=0), abs=1e-6)
        assert ours.max(axis=0) == pytest.approx(own.max(axis=0), abs=1e-6)


def test_colours_of_materials_and_what_cannot_be_drawn():
    peer = mujoco.MjModel.from_xml_string("""
      <mujoco>
        <asset>
          <material name="blue" rgba="0 0 1 1"/>
          <mesh name="inline" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/>
          <hfield name="hills" nrow="2" ncol="2" size="1 1 1 1"/>
        </asset>
        <worldbody>
          <geom name="floor" type="plane" size="1 1 1"/>
          <geom name="hills" type="hfield" hfield="hills"/>
          <geom name="ball" size="0.1" material="blue"/>
          <geom name="red ball" size="0.1" material="blue" rgba="1 0 0 1"/>
          <geom name="inline" type="mesh" mesh="inline"/>
        </worldbody>
      </mujoco>""")
    model = pp.from_mujoco(peer)
    assert [(x.name, x.color) for x in model.visuals] == [
        ("ball", (0.0, 0.0, 1.0, 1.0)),
        ("red ball", (1.0, 0.0, 0.0, 1.0)),
    ]
    assert "5 geoms for contact: kept, but nothing touches here" in model.report.kept
    assert model.report.ignored == (
        "geom 'floor' is not drawn: it is a plane",
        "geom 'hills' is not drawn: it is a field of heights",
        "geom 'inline' is not drawn: its mesh is in no file",
    )


# -- what is left out

ODD = """
<mujoco>
  %s
  <worldbody>
    <camera name="eye" mode="track"/>
    <body name="hand" mocap="true"> <geom size="0.1"/> </body>
    <body name="stick" %s> <joint name="turn" %s/> <geom size="1"/> <site name="s1"/> </body>
    <body name="ball">
      <joint name="ball" type="ball" %s/> <geom size="1"/> <site name="s2"/>
    </body>
  </worldbody>
  %s
</mujoco>
"""


def tendon(attributes=""):
    """A rope between the two sites."""
    sites = '<site site="s1"/> <site site="s2"/>'
    return f'<tendon> <spatial name="rope" {attributes}> {sites} </spatial> </tendon>'


def odd(option="", body="", hinge="", ball="", rest=""):
    return mujoco.MjModel.from_xml_string(ODD % (option, body, hinge, ball, rest))


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"option": '<option density="1.2"/>'}, "the medium has density 1.2 and viscosity 0; its"),
        ({"body": 'gravcomp="1"'}, "body 'stick': its weight is taken away by gravcomp there"),
        ({"hinge": 'stiffness="1 2 0"'}, "joint 'turn': its stiffness depends on where it is"),
        (
            {"hinge": 'stiffness="1" springyield="0.1"'},
            "joint 'turn': its spring yields; that is left out",
        ),
        ({"hinge": 'damping="1 2 0"'}, "joint 'turn': its damping depends on where it is"),
        (
            {"ball": 'range="0 90" limited="true"'},
            "joint 'ball' is a ball; that it turns by at most 1.5708 rad is left out",
        ),
        (
            {"rest": tendon('stiffness="3"')},
            "tendon 'rope': its own stiffness, damping, friction or armature is left out",
        ),
        (
            {"rest": tendon('range="0 1" limited="true"')},
            "tendon 'rope': its limits are left out",
        ),
        (
            {
                "rest": tendon()
                + '<actuator> <motor name="winch" tendon="rope" damping="2"/> </actuator>'
            },
            "actuator 'winch': its armature or damping is left out",
        ),
        (
            {"rest": tendon() + '<equality> <tendon name="taut" tendon1="rope"/> </equality>'},
            "equality 'taut' is of type 'tendon', which is not enforced",
        ),
    ],
)
def test_what_moves_the_machine_and_is_left_out_is_refused(parts, text):
    peer = odd(**parts)
    model = pp.from_mujoco(peer)
    found = [line for line in model.report.remarks if line.startswith(text)]
    assert [line.status for line in found] == ["refused"]
    with pytest.raises(pp.ModelError) as caught:
        pp.from_mujoco(peer, strict=True)
    assert str(caught.value).startswith(text)
    assert str(caught.value).endswith("; strict=False leaves it out")


def test_cloth_is_refused():
    peer = mujoco.MjModel.from_xml_string("""
      <mujoco><worldbody>
        <flexcomp name="cloth" type="grid" count="3 3 1" spacing="0.1 0.1 0.1" radius="0.01"/>
      </worldbody></mujoco>""")
    remarks = pp.from_mujoco(peer).report.refused
    assert "flex 'cloth': nothing holds its vertices together here" in remarks


def test_what_does_not_move_the_machine_is_told():
    model = pp.from_mujoco(
        odd(
            rest=f"""
              {tendon()}
              <sensor> <jointpos joint="turn"/> <jointvel joint="turn"/> </sensor>
              <equality> <weld name="off" body1="stick" active="false"/> </equality>
              <actuator>
                <position name="servo" joint="turn"/> <motor name="winch" tendon="rope"/>
              </actuator>""",
        )
    )
    assert not model.closures
    assert model.report.remarks == (
        "equality 'off' is not active, and ignored",
        "body 'hand': data.mocap_pos moves it there; here it is welded to the world",
        "actuator 'servo': its control law is ignored; forces are given as tau",
    )
    for text in (
        "camera 'eye' follows what it looks at, and is ignored",
        "tendon 'rope': ignored, it does not pull by itself",
        "actuator 'winch': ignored, forces are given as tau",
        "2 sensors: ignored, of no concern to motion",
    ):
        assert text in model.report.ignored
    assert "actuator 'servo': used, its control law is ignored; forces are given as tau" in (
        model.report.used
    )
    assert not [line for line in model.report.ignored if "servo" in line]


def test_what_keyframes_have_beside_states_is_told():
    key = '<key name="k" time="2" ctrl="1" mpos="1 2 3"/> <key name="plain"/>'
    rest = f'<actuator> <motor joint="turn"/> </actuator> <keyframe> {key} </keyframe>'
    kept = [line for line in pp.from_mujoco(odd(rest=rest)).report.kept if "keyframe" in line]
    assert kept == ["keyframe 'k': kept without its time, mpos, ctrl"]


def test_bodies_that_sleep_at_first_are_told():
    for flag, count in (("enable", 1), ("disable", 0)):
        option = f'<option> <flag sleep="{flag}"/> </option>'
        remarks = pp.from_mujoco(odd(option, body='sleep="init"')).report.remarks
        assert len([line for line in remarks if "body 'stick': it sleeps there" in line]) == count


def test_friction_of_a_free_joint_is_told():
    free = '<body name="b"> <joint name="j" type="free" frictionloss="2"/> <geom size="1"/> </body>'
    peer = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{free}</worldbody></mujoco>")
    (line,) = pp.from_mujoco(peer).report.remarks
    assert line.startswith("joint 'j' is free and has a frictionloss; MuJoCo's acts along the axes")


def test_a_compiled_model_does_not_know_where_meshes_were():
    assert any("refpos" in line for line in pp.from_mujoco(read("hand")).report.kept)


def test_a_keyframe_may_put_followers_elsewhere():
    tie = '<equality> <joint joint1="toe" joint2="rail" polycoef="0 2 0 0 0"/> </equality>'
    model = pp.from_mujoco(leg(tie))
    qpos = model.to_mujoco(model.neutral())
    for key, remarks in ((qpos, 0), (qpos + 0.1 * (np.arange(16) == 14), 1)):
        text = f'<keyframe> <key name="k" qpos="{" ".join(map(str, key))}"/> </keyframe>'
        found = pp.from_mujoco(leg(tie + text)).report.remarks
        assert len(found) == remarks
    assert found[0].startswith("keyframe 'k' has joints elsewhere than they follow")


def test_a_reader_of_files_tells_where():
    """Remarks and refusals begin with the place that the reader knows."""
    lines = {("body", "stick"): 3, ("joint", "turn"): 4}

    def place_of(tag, name):
        return ("odd.xml", lines[tag, name]) if (tag, name) in lines else None

    def refusal(peer):
        with pytest.raises(pp.ModelError) as caught:
            convert(peer, strict=True, place_of=place_of)
        return str(caught.value)

    glued = odd(rest='<equality> <weld name="glue" body1="stick"/> </equality>')
    stick = glued.body("stick").id
    remarks = convert(odd(body='gravcomp="1"'), place_of=place_of).report.remarks
    assert [(x.file, x.line) for x in remarks if "stick" in x] == [("odd.xml", 3)]
    assert refusal(odd(body='gravcomp="1"')).startswith("odd.xml:3: body 'stick': its weight")
    glued.body_inertia[stick] = 1.0, 1.0, 3.0
    assert refusal(glued).startswith("odd.xml:3: body 'stick': its principal moments")
    glued.body_inertia[stick] = glued.body_mass[stick] = 0.0
    assert refusal(glued).startswith("odd.xml:4: body 'stick': nothing that joint 'turn' moves")
    glued.eq_data[0, 2] = np.nan
    assert refusal(glued) == "from_mujoco: eq_data[0, 2] is nan, no number"


def test_a_keyframe_that_is_no_state_is_refused():
    peer = odd(rest='<keyframe> <key name="none"/> <key name="home"/> </keyframe>')
    peer.key_qpos[0] = 0.0
    text = "keyframe 'none' is left out: q: the quaternion of joint 'ball' has length zero"
    model = pp.from_mujoco(peer)
    assert [line.status for line in model.report if line.startswith(text)] == ["refused"]
    assert list(model.keyframes) == ["home"]
    with pytest.raises(pp.ModelError, match=text):
        pp.from_mujoco(peer, strict=True)


def test_inertias_that_do_not_fit_their_shapes_are_told():
    peer = odd()
    peer.body_inertia[peer.body("stick").id] *= 50.0
    text = "body 'stick': its moments of inertia are up to "
    assert [line[: len(text)] for line in pp.from_mujoco(peer).report.implausible] == [text]
    with pytest.raises(pp.ModelError, match=text):
        pp.from_mujoco(peer, strict=True)
