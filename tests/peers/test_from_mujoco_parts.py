"""Parts of MuJoCo's models, one by one: joints anywhere on a body, springs, motors, ties."""

import math
import pickle

import mujoco
import numpy as np
import pytest
from peers.mjcf_machines import path_of
from peers.mujoco_bridge import LEG, error, frame_pose, full_mass_matrix, leg, pose, read, state

import phipsi as pp
from phipsi import joints

TOLERANCE = 1e-12


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo leaves its warnings in a file where it runs."""
    monkeypatch.chdir(tmp_path)


# -- bodies and joints


def test_joints_may_be_anywhere_and_several_on_a_body():
    """Poses, mass matrix and bias; with references, offsets, a ball off its body's frame."""
    peer = leg()
    model, data = pp.from_mujoco(peer), mujoco.MjData(peer)
    layout = model.layouts["mujoco"]
    names = [body.name for body in model.bodies]
    thigh = ["thigh@yaw", "thigh@lift", "thigh@pitch"]
    assert names == ["trunk", *thigh, "shin@ankle", "toe", "rail"]
    assert model.gravity == (0.0, 0.1, -9.7)
    for seed in range(3):
        q, v = state(model, seed)
        data.qpos, data.qvel = model.to_mujoco(q, v)
        mujoco.mj_forward(peer, data)
        poses = pp.body_poses(model, q)
        for i in range(peer.nbody):
            found = frame_pose(model, poses, peer.body(i).name)
            assert error(found, pose(data.xpos[i], data.xmat[i])) < TOLERANCE
        for i in range(peer.nsite):
            found = frame_pose(model, poses, peer.site(i).name)
            assert error(found, pose(data.site_xpos[i], data.site_xmat[i])) < TOLERANCE
        full, T = full_mass_matrix(peer, data), layout.speed_map(q)
        bias = T.T @ (data.qfrc_bias + full @ layout.rate(q, v))
        assert error(pp.mass_matrix(model, q), T.T @ full @ T) < TOLERANCE
        assert error(pp.bias_force(model, q, v), bias) < TOLERANCE


def test_coordinates_of_hinges_and_slides_are_those_of_mujoco():
    model = pp.from_mujoco(leg())
    q, v = state(model)
    qpos, qvel = model.to_mujoco(q, v)
    assert qpos[7:10].tolist() == q[7:10].tolist()
    assert qvel[6:9].tolist() == v[6:9].tolist()


def test_limits_losses_springs_and_motors_are_kept():
    model = pp.from_mujoco(
        leg(
            """
  <actuator>
    <motor name="m1" joint="yaw" gear="3" ctrllimited="true" ctrlrange="-2 1.5"/>
    <general joint="yaw" gear="-2" gainprm="4" ctrllimited="true" ctrlrange="-1 1"
             forcelimited="true" forcerange="-3 3" armature="0.5" damping="0.25"/>
    <motor joint="pitch" gear="100" forcelimited="true" forcerange="-1 1"/>
    <motor joint="toe"/>
    <motor joint="ankle" gear="1 0 0 0 0 0" forcelimited="true" forcerange="-1 1"/>
  </actuator>"""
        )
    )
    yaw, lift, pitch = (model.joint(name) for name in ("yaw", "lift", "pitch"))
    assert yaw.reflected_inertia == pytest.approx(0.02 + 2**2 * 0.5)
    assert yaw.damping == pytest.approx(2**2 * 0.25)
    assert yaw.limits == pp.Limits(effort=3 * 2.0 + 2 * 3.0)
    assert lift.limits == pp.Limits(-1.0, 2.0)
    assert pitch.limits == pp.Limits(-0.5, 0.8, effort=6.0)
    assert (pitch.damping, pitch.friction, pitch.stiffness, pitch.rest) == (0.3, 0.05, 7.0, (0.2,))
    assert model.joint("ankle").rest == (0.0, 0.0, 0.0, 1.0)
    assert math.isinf(model.joint("toe").limits.effort)
    assert math.isinf(model.joint("ankle").limits.effort)


def test_motors_add_the_inertia_and_damping_that_mujoco_feels():
    peer = leg('<actuator> <motor joint="toe" gear="3" armature="2" damping="0.5"/> </actuator>')
    model, data = pp.from_mujoco(peer), mujoco.MjData(peer)
    q, v = state(model)
    data.qpos, data.qvel = model.to_mujoco(q, v)
    mujoco.mj_forward(peer, data)
    row = model.joint("toe").v.start
    there = peer.jnt_dofadr[peer.joint("toe").id]
    full = full_mass_matrix(peer, data)
    assert pp.mass_matrix(model, q)[row, row] == pytest.approx(full[there, there])
    assert data.qfrc_damper[there] == pytest.approx(-model.joint("toe").damping * v[row])


def test_a_spring_of_a_free_joint_rests_in_our_order():
    peer = mujoco.MjModel.from_xml_string("""
      <mujoco><worldbody><body pos="1 2 3" quat="0.5 0.5 0.5 -0.5">
        <joint type="free" stiffness="3" armature="0.1"/> <geom size="1"/>
      </body></worldbody></mujoco>""")
    model = pp.from_mujoco(peer)
    (joint,) = model.joints
    assert joint.name == "root"
    assert joint.rest == (0.5, 0.5, -0.5, 0.5, 1.0, 2.0, 3.0)
    (remark,) = model.report.remarks
    assert "'root' is free and has an armature" in remark


def test_keyframes_are_states_in_our_coordinates():
    rest = '<keyframe> <key name="home" qpos="%s"/> <key time="1"/> </keyframe>'
    peer = leg()
    rng = np.random.default_rng(5)
    qpos = mujoco.mj_integratePos  # moves in place
    start = peer.qpos0.copy()
    qpos(peer, start, rng.normal(size=peer.nv), 1.0)
    model = pp.from_mujoco(leg(rest % " ".join(str(x) for x in start)))
    assert list(model.keyframes) == ["home", "key1"]
    assert model.to_mujoco(model.keyframes["home"].q) == pytest.approx(start)
    assert model.keyframes["key1"].v == (0.0,) * model.nv


def test_nameless_parts_are_named():
    two = mujoco.MjModel.from_xml_string("""
      <mujoco><worldbody>
        <body name="a"><freejoint/><geom size="1"/><site/><site name="a"/><camera/></body>
        <body name="body1"><freejoint/><geom size="1"/></body>
        <body><joint/><joint axis="1 0 0"/><geom size="1"/></body>
      </worldbody></mujoco>""")
    model = pp.from_mujoco(two, "two")
    assert model.name == "two"
    assert [x.name for x in model.joints] == [
        "a_joint",
        "body1_joint",
        "body3_joint",
        "body3_joint_2",
    ]
    assert [x.name for x in model.frames] == ["site0", "a_site", "camera0"]
    assert model.report.remarks == (
        "site 'a': a body or frame has this name, so it is called NAME_site",
    )


def test_a_body_may_be_called_as_another_at_its_joint():
    """ "a" is off its joint, so it would be "a@j" here, which another is already."""
    peer = mujoco.MjModel.from_xml_string("""
      <mujoco><worldbody>
        <body name="a@j"><joint name="k"/><geom size="1"/></body>
        <body name="a"><joint name="j" pos="1 0 0"/><geom size="1"/><site name="a@j_2"/></body>
      </worldbody></mujoco>""")
    model = pp.from_mujoco(peer)
    assert [body.name for body in model.bodies] == ["a@j", "a@j_2"]
    assert [frame.name for frame in model.frames] == ["a", "a@j_2_site"]


def test_a_ball_may_have_losses_that_differ_from_axis_to_axis():
    """They are refused by name, not taken from the first axis."""
    peer = leg()
    start = peer.jnt_dofadr[peer.joint("ankle").id]
    for name, said in (
        ("armature", "an armature"),
        ("damping", "a damping"),
        ("frictionloss", "a frictionloss"),
    ):
        values = getattr(peer, f"dof_{name}")
        values[start : start + 3] = 1.0, 2.0, 3.0
        text = f"joint 'ankle' has {said} that differs from speed to speed: 1, 2, 3; "
        (remark,) = pp.from_mujoco(peer).report.refused
        assert remark.startswith(text)
        with pytest.raises(pp.ModelError) as caught:
            pp.from_mujoco(peer, strict=True)
        assert str(caught.value).startswith(text)
        values[start : start + 3] = 0.0


def test_a_motor_without_a_gear_gives_no_force():
    model = pp.from_mujoco(leg('<actuator> <motor joint="toe" gear="0"/> </actuator>'))
    assert model.joint("toe").limits.effort == 0.0


def test_what_has_no_joint_is_welded():
    model = pp.from_mujoco(leg())
    assert model.frame("plate").body == model.frame("thigh").body
    peer = read("fetch")
    model = pp.from_mujoco(peer)
    assert model.mass == pytest.approx(peer.body_mass.sum())


# -- ties


@pytest.mark.parametrize("seed", range(3))
def test_loops_close_where_mujocos_constraints_vanish(seed):
    """The distance of the anchors is the residual of `connect` and `weld`, in any state."""
    peer = leg("""
      <equality>
        <connect name="pin" body1="shin" body2="trunk" anchor="0.1 0.2 0.3"/>
        <weld name="glue" body1="toe" body2="plate" anchor="0.1 0 0.2" relpose="1 2 3 1 0.5 0 0.2"/>
        <weld name="glue at the pose of now" body1="rail"/>
        <connect name="sites" site1="badge" site2="hook"/>
        <weld name="welded sites" site1="badge" site2="hook"/>
        <weld name="no torque" body1="toe" body2="rail" torquescale="0"/>
      </equality>""")
    model, data = pp.from_mujoco(peer), mujoco.MjData(peer)
    q, _ = state(model, seed)
    data.qpos = model.to_mujoco(q)
    mujoco.mj_forward(peer, data)
    poses = pp.body_poses(model, q)
    residuals = iter(data.efc_pos[: data.ne])
    assert [closure.name for closure in model.closures] == [
        peer.equality(k).name for k in range(peer.neq)
    ]
    kinds = [type(closure.kind).__name__ for closure in model.closures]
    assert kinds == ["Spherical", "Fixed", "Fixed", "Spherical", "Fixed", "Spherical"]
    for closure in model.closures:
        ends = []
        for anchor in (closure.first, closure.second):
            carrier = np.eye(4) if anchor.body < 0 else poses[anchor.body]
            ends.append(carrier @ anchor.placement.matrix)
        apart = ends[0][:3, 3] - ends[1][:3, 3]
        expected = [next(residuals) for _ in range(3)]
        assert apart == pytest.approx(expected, abs=1e-12)
        if "weld" in closure.name or "glue" in closure.name or closure.name == "no torque":
            turn = ends[0][:3, :3].T @ ends[1][:3, :3]
            rest = np.array([next(residuals) for _ in range(3)])
            sine = np.linalg.norm(turn - turn.T) / math.sqrt(8)  # of the angle between
            half = math.sin(math.atan2(sine, (np.trace(turn) - 1) / 2) / 2)
            if closure.equations == 6:
                assert np.linalg.norm(rest) == pytest.approx(half)
            else:
                assert not rest.any()


def test_joints_that_follow_satisfy_mujocos_constraints():
    """With references, in a chain; the mass matrix is the projected one."""
    peer = leg("""
      <equality>
        <joint name="first" joint1="toe" joint2="pitch" polycoef="0.1 -0.7 0 0 0"/>
        <joint name="second" joint1="yaw" joint2="toe" polycoef="0 2 0 0 0"/>
      </equality>""")
    model, data = pp.from_mujoco(peer), mujoco.MjData(peer)
    assert {x.name for x in model.joints if x.mimic} == {"toe", "yaw"}
    assert not model.is_closed
    q, v = state(model)
    data.qpos, data.qvel = model.to_mujoco(q, v)
    mujoco.mj_forward(peer, data)
    assert data.ne == 2
    assert data.efc_pos[:2] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert data.efc_vel[:2] == pytest.approx([0.0, 0.0], abs=1e-12)
    layout, full = model.layouts["mujoco"], full_mass_matrix(peer, data)
    T = layout.speed_map(q)
    assert error(pp.mass_matrix(model, q), T.T @ full @ T) < TOLERANCE
    bias = T.T @ (data.qfrc_bias + full @ layout.rate(q, v))
    assert error(pp.bias_force(model, q, v), bias) < TOLERANCE


def test_joints_that_cannot_follow_are_couplings():
    """Curves, a second leader, circles, held joints: each as far off as MuJoCo's residual."""
    peer = leg("""
      <equality>
        <joint name="curve" joint1="rail" joint2="pitch" polycoef="0.1 -0.7 0.5 0 0.3"/>
        <joint name="line" joint1="toe" joint2="pitch" polycoef="0 2 0 0 0"/>
        <joint name="second leader" joint1="toe" joint2="yaw"/>
        <joint name="circle" joint1="pitch" joint2="toe" polycoef="0 0.5 0 0 0"/>
        <joint name="held" joint1="lift" polycoef="0.4 0 0 0 0"/>
        <joint name="flat" joint1="yaw" joint2="lift" polycoef="0.4 0 0 0 0"/>
      </equality>""")
    model, data = pp.from_mujoco(peer), mujoco.MjData(peer)
    assert [x.name for x in model.joints if x.mimic] == ["toe"]
    names = [x.name for x in model.couplings]
    assert names == ["curve", "second leader", "circle", "held", "flat"]
    q, _ = state(model)
    data.qpos = qpos = model.to_mujoco(q)
    mujoco.mj_forward(peer, data)
    residuals = dict(
        zip((peer.equality(k).name for k in range(peer.neq)), data.efc_pos, strict=False)
    )
    where = {
        name: qpos[peer.jnt_qposadr[peer.joint(name).id]]
        for name in ("rail", "pitch", "toe", "yaw", "lift")
    }
    for tie in model.couplings:
        own = where[model.joints[tie.joint].name]
        leader = 0.0 if tie.leader is None else where[model.joints[tie.leader].name]
        value = np.polynomial.Polynomial(tie.coefficients)(leader - tie.centre)
        assert own - value == pytest.approx(residuals[tie.name], abs=1e-12)


def test_followers_may_be_freed():
    peer = leg('<equality> <joint name="line" joint1="toe" joint2="pitch"/> </equality>')
    model = pp.from_mujoco(peer, mimic="independent")
    assert model.nv == peer.nv
    assert model.report.remarks == (
        "joint 'toe' moves on its own; equality 'line' is not enforced",
    )
    with pytest.raises(pp.InputError, match=r"from_mujoco: mimic is 'free'; valid names"):
        pp.from_mujoco(peer, mimic="free")


# -- what is given


def test_a_spec_is_compiled_and_stays_as_it_is():
    spec = mujoco.MjSpec.from_string(LEG % "")
    model = pp.from_mujoco(spec)
    assert repr(model) == repr(pp.from_mujoco(leg()))
    assert spec.compile().nv == model.nv


@pytest.mark.parametrize(
    ("wrong", "called"),
    [
        (None, "NoneType"),
        ("humanoid.xml", "str"),
        (mujoco, "module"),
        (mujoco.MjModel, "the class MjModel"),
        (mujoco.MjSpec, "the class MjSpec"),
    ],
)
def test_what_is_no_model_of_mujoco_is_refused(wrong, called):
    text = f"expected a mujoco.MjModel or mujoco.MjSpec, got {called}; for a file, use pp.load"
    with pytest.raises(pp.InputError, match=text):
        pp.from_mujoco(wrong)


def test_a_spec_that_mujoco_cannot_compile_is_refused():
    spec = mujoco.MjSpec()
    spec.worldbody.add_body(name="weightless").add_joint(name="turn")
    with pytest.raises(pp.ModelError, match=r"from_mujoco: MuJoCo cannot compile this spec: mass"):
        pp.from_mujoco(spec)


def test_a_machine_is_pickled_with_its_layout():
    model = pp.from_mujoco(leg())
    again = pickle.loads(pickle.dumps(model))
    q, v = state(model)
    for x, y in zip(model.to_mujoco(q, v), again.to_mujoco(q, v), strict=True):
        assert x.tolist() == y.tolist()


def test_the_loader_reads_the_same_machine():
    """Numbers equal, whichever way a file comes."""
    for name in ("humanoid", "walker", "quadruped", "fetch"):
        taken = pp.from_mujoco(mujoco.MjModel.from_xml_path(str(path_of(name))))
        loaded = pp.load(path_of(name))
        assert loaded.bodies == taken.bodies
        assert loaded.joints == taken.joints
        assert loaded.closures == taken.closures
        assert loaded.gravity == taken.gravity
        q, v = state(taken)
        for x, y in zip(taken.to_mujoco(q, v), loaded.to_mujoco(q, v), strict=True):
            assert x.tolist() == y.tolist()
        assert isinstance(loaded.joints[0].kind, joints.JointKind)
