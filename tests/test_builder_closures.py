"""Loops, couplings, keyframes, springs and contact shapes, as the builder takes them."""

import math
import pickle

import numpy as np
import pytest
from bars import BAR
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import phipsi as pp
from phipsi import joints
from phipsi.errors import ModelError
from phipsi.model.geometry import Box, Sphere, Visual
from phipsi.model.tree import WORLD

# -- a four-bar linkage whose angles trigonometry knows --------------------------------

CRANK, COUPLER, ROCKER, GROUND = 1.0, 3.5, 3.0, 4.0


def close_four_bar(turn: float) -> tuple[float, float, float]:
    """The angles of crank, coupler (against the crank) and rocker at a crank angle.

    By the cosine theorem in the triangle of the crank's tip, the rocker's foot
    and the pin between coupler and rocker.
    """
    x, y = GROUND - CRANK * math.cos(turn), -CRANK * math.sin(turn)
    diagonal, slope = math.hypot(x, y), math.atan2(y, x)
    at_tip = math.acos((COUPLER**2 + diagonal**2 - ROCKER**2) / (2 * COUPLER * diagonal))
    at_foot = math.acos((ROCKER**2 + diagonal**2 - COUPLER**2) / (2 * ROCKER * diagonal))
    return turn, slope + at_tip - turn, slope + math.pi - at_foot


def four_bar(first: str, **options) -> pp.Model:
    """A linkage in the plane across z; the pin is on `first`, at the coupler's tip."""
    builder = pp.ModelBuilder("four-bar")
    builder.add_body("crank", **BAR)
    builder.add_body("coupler", "crank", position=(CRANK, 0, 0), **BAR)
    builder.add_body("rocker", position=(GROUND, 0, 0), **BAR)
    builder.add_body("elbow", "coupler", joints.Fixed(), position=(1, 0, 0))
    builder.add_body("pin hole", "elbow", joints.Fixed(), position=(COUPLER - 1, 0, 0), mass=0.1)
    builder.add_frame("mark", "elbow", (1.5, 0, 0), [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    options = {"second_position": (ROCKER, 0, 0), **options}
    builder.add_closure("pin", first, "rocker", joints.Revolute(), **options)
    return builder.build()


def pose_of(model: pp.Model, q, body: int, placement) -> np.ndarray:
    """Of a frame on a body, in the world."""
    carrier = np.eye(4) if body == WORLD else pp.body_poses(model.opened(), q)[body]
    return carrier @ placement.matrix


def apart(model: pp.Model, q) -> np.ndarray:
    """From the first anchor of the pin to the second."""
    (pin,) = model.closures
    first, second = (
        pose_of(model, q, end.body, end.placement)[:3, 3] for end in (pin.first, pin.second)
    )
    return second - first


ENDS = {  # the same point, told from each thing that can be named
    "body": ("coupler", {"position": (COUPLER, 0, 0)}),
    "welded link": ("elbow", {"position": (COUPLER - 1, 0, 0)}),
    "link welded to a welded link": ("pin hole", {}),
    "frame, turned": ("mark", {"position": (0, -1.0, 0)}),
}


@pytest.mark.parametrize(("first", "options"), ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("turn", [0.3, 2.0, -1.1])
def test_anchors_of_a_four_bar_meet_where_trigonometry_closes_it(first, options, turn):
    model = four_bar(first, **options)
    assert_allclose(apart(model, close_four_bar(turn)), 0.0, atol=1e-14)
    assert np.linalg.norm(apart(model, [turn, 0.1, 0.2])) > 0.1
    pin = model.closures[0]
    assert (pin.name, pin.kind, pin.equations) == ("pin", joints.Revolute(), 5)
    assert (pin.first.link, model.bodies[pin.first.body].name) == (first, "coupler")
    assert (pin.second.link, model.bodies[pin.second.body].name) == ("rocker", "rocker")


@pytest.mark.parametrize("carrier", ["world", "bench", "bench mark"])
def test_world_can_be_an_end_of_a_loop(carrier):
    """The same linkage as a chain of three whose end is held at the rocker's foot."""
    builder = pp.ModelBuilder("chain")
    builder.add_body("crank", **BAR)
    builder.add_body("coupler", "crank", position=(CRANK, 0, 0), **BAR)
    builder.add_body("rocker", "coupler", position=(COUPLER, 0, 0), **BAR)
    builder.add_body("bench", joint=joints.Fixed(), position=(0, 5, 0), mass=50.0)
    builder.add_frame("bench mark", "bench", (0, -5, 0))
    foot = (GROUND, -5 if carrier == "bench" else 0, 0)
    builder.add_closure(
        "pin", carrier, "rocker", joints.Revolute(), position=foot, second_position=(ROCKER, 0, 0)
    )
    model = builder.build()
    turn, coupler, rocker = close_four_bar(0.7)
    assert_allclose(
        apart(model, [turn, coupler, rocker - math.pi - coupler - turn]), 0.0, atol=1e-14
    )
    assert (model.closures[0].first.link, model.closures[0].first.body) == (carrier, WORLD)


def test_anchor_axes_are_those_given():
    """A pin about y whose axes are turned on both bodies: at the neutral state they agree."""
    turn = pp.spatial.rotation_from_rpy((0.3, -0.2, 0.9))
    builder = pp.ModelBuilder("two")
    builder.add_body("a", position=(0, 1, 0), rotation=turn, **BAR)
    builder.add_body("b", **BAR)
    builder.add_closure(
        "weld", "a", "b", position=(1, 2, 3), second_position=(4, 5, 6), second_rotation=turn
    )
    model = builder.build()
    (weld,) = model.closures
    first = pose_of(model, [0, 0], weld.first.body, weld.first.placement)
    second = pose_of(model, [0, 0], weld.second.body, weld.second.placement)
    assert_allclose(first[:3, :3], turn, atol=1e-15)
    assert_allclose(second[:3, :3], turn, atol=1e-15)
    assert_allclose(first[:3, 3], np.array([0, 1, 0]) + np.array(turn) @ [1, 2, 3], atol=1e-14)
    assert_allclose(second[:3, 3], [4, 5, 6])
    assert (weld.kind, weld.equations) == (joints.Fixed(), 6)


def test_machine_says_that_it_is_closed_and_what_it_is_without():
    model = four_bar("coupler")
    assert model.is_closed and "1 closure" in repr(model)
    tree = model.opened()
    assert not tree.is_closed and tree.closures == () and tree.bodies == model.bodies
    assert pickle.loads(pickle.dumps(model)).closures == model.closures


# -- frames carry, too -----------------------------------------------------------------


def test_frames_carry_bodies_frames_and_shapes_as_what_they_are_on_does():
    """The same machine told twice: from the body, and from a frame that is turned on it."""
    turn = np.array(pp.spatial.rotation_from_rpy((0.3, -0.2, 0.9)))
    inner = np.array(pp.spatial.rotation_from_rpy((-1.0, 0.4, 0.1)))
    shift, more = np.array([0.1, 0.2, 0.3]), np.array([-0.4, 0.0, 0.5])
    ball = Sphere(0.1)

    by_frames = pp.ModelBuilder("same")
    by_frames.add_frame("late", "seat", more, inner)
    by_frames.add_body("hand", "late", **BAR)
    by_frames.add_frame("seat", "arm", shift, turn)
    by_frames.add_body("arm", **BAR)
    by_frames.add_visuals("late", [ball])
    by_frames.add_collisions("late", [ball])

    by_bodies = pp.ModelBuilder("same")
    place = {"position": shift + turn @ more, "rotation": turn @ inner}
    by_bodies.add_body("arm", **BAR)
    by_bodies.add_body("hand", "arm", **place, **BAR)
    by_bodies.add_frame("late", "arm", **place)
    by_bodies.add_frame("seat", "arm", shift, turn)
    by_bodies.add_visuals("arm", [Visual.of(ball, name="late", **place)])
    by_bodies.add_collisions("arm", [Visual.of(ball, name="late", **place)])

    one, two = by_frames.build(), by_bodies.build()
    q = [0.4, -1.3]
    assert_allclose(pp.body_poses(one, q), pp.body_poses(two, q), atol=1e-15)
    assert [frame.name for frame in one.frames] == ["late", "seat"]
    for ours, theirs in (
        *zip(one.frames, two.frames, strict=True),
        (one.visuals[0], two.visuals[0]),
        (one.collisions[0], two.collisions[0]),
    ):
        assert (ours.name, ours.body) == (theirs.name, theirs.body)
        assert_allclose(ours.placement.matrix, theirs.placement.matrix, atol=1e-15)


# -- couplings, keyframes, springs, contact shapes -------------------------------------


def two_arms(**options) -> pp.ModelBuilder:
    builder = pp.ModelBuilder("two arms")
    builder.add_body("base", joint=joints.Free(), joint_name="root", **BAR)
    builder.add_body("a", "base", **BAR, **options)
    builder.add_body("b", "base", joints.Prismatic(), **BAR)
    builder.add_body("ball", "base", joints.Spherical(), **BAR)
    builder.add_body("c", "base", mimic=("a_joint", -2.0, 0.1), **BAR)
    return builder


def test_couplings_know_their_joints_by_number():
    builder = two_arms()
    builder.add_coupling("cam", "b_joint", "a_joint", [1, 0.5, -0.25], centre=0.1)
    builder.add_coupling("held", "a_joint", None, np.array([0.3]))
    cam, held = builder.build().couplings
    assert (cam.joint, cam.leader, cam.coefficients, cam.centre) == (2, 1, (1.0, 0.5, -0.25), 0.1)
    assert (held.joint, held.leader, held.coefficients, held.centre) == (1, None, (0.3,), 0.0)
    assert builder.build().is_closed


def test_keyframe_has_what_is_given_and_is_neutral_elsewhere():
    builder = two_arms()
    turned = [0.0, 0.0, math.sin(0.2), math.cos(0.2)]
    builder.add_keyframe("rest", {})
    builder.add_keyframe("up", {"ball_joint": turned, "a_joint": [0.5]}, {"b_joint": (2,)})
    model = builder.build()
    assert list(model.keyframes) == ["rest", "up"]
    assert model.keyframes["rest"].q == tuple(model.neutral())
    assert model.keyframes["rest"].v == (0.0,) * model.nv
    q, v = model.neutral(), np.zeros(model.nv)
    q[model.joint("ball_joint").q], q[model.joint("a_joint").q] = turned, 0.5
    v[model.joint("b_joint").v] = 2.0
    assert model.keyframes["up"].q == tuple(q) and model.keyframes["up"].v == tuple(v)


def test_spring_is_kept_with_the_coordinates_in_which_it_is_at_rest():
    builder = pp.ModelBuilder("springs")
    builder.add_body("a", stiffness=3, rest=0.5, **BAR)
    builder.add_body("b", "a", stiffness=2.0, **BAR)
    turned = (0.0, 0.0, math.sin(0.2), math.cos(0.2))
    builder.add_body("c", "b", joints.Spherical(), stiffness=1.0, rest=np.array(turned), **BAR)
    found = [(joint.stiffness, joint.rest) for joint in builder.build().joints]
    assert found == [(3.0, (0.5,)), (2.0, ()), (1.0, turned)]


def test_contact_shapes_are_kept_apart_from_looks():
    builder = pp.ModelBuilder("box")
    builder.add_body("a", visuals=[Box((1, 1, 1))], **BAR)
    builder.add_body("cap", "a", joints.Fixed(), position=(0, 0, 1))
    builder.add_collisions("cap", [Sphere(0.5), Visual.of(Sphere(0.2), (0, 0, 1), name="top")])
    builder.add_collisions("world", [Box((9, 9, 1))])
    model = builder.build()
    assert [shape.shape for shape in model.visuals] == [Box((1, 1, 1))]
    assert [(shape.name, shape.body) for shape in model.collisions] == [
        ("cap", 0),
        ("top", 0),
        ("world", WORLD),
    ]
    assert model.collisions[1].placement.position == (0.0, 0.0, 2.0)


# -- refusals --------------------------------------------------------------------------


def closure(**options):
    options = {"name": "pin", "first": "a", "second": "b", **options}
    return lambda builder: builder.add_closure(**options)


def coupling(**options):
    known = {"name": "cam", "joint": "a_joint", "leader": "b_joint", "coefficients": [0, 1]}
    return lambda builder: builder.add_coupling(**known | options)


def keyframe(name, *args):
    return lambda builder: builder.add_keyframe(name, *args)


def spring(**options):
    return lambda builder: builder.add_body("s", **BAR, **options)


NAN = float("nan")
OWN = "needs a name of its own; give another one"

AT_ONCE = {
    "closure without a name": (closure(name=""), f"closure '': a closure {OWN}"),
    "closure called None": (closure(name=None), f"closure None: a closure {OWN}"),
    "closure twice": (closure(name="taken"), f"closure 'taken': a closure {OWN}"),
    "closure kind": (closure(joint="ball"), "closure 'pin': joint is 'ball'; expected a kind"),
    "closure axis": (
        closure(joint=joints.Revolute((0, 0, 0))),
        "closure 'pin': the axis of a Revolute joint has length zero",
    ),
    "closure on a number": (closure(first=1), "closure 'pin': first is 1; expected a body's name"),
    "closure to none": (closure(second=None), "closure 'pin': second is None; expected a body's"),
    "closure place": (closure(position=(0, 0)), "closure 'pin': position is (0, 0); expected"),
    "closure second place": (
        closure(second_position=(0, NAN, 0)),
        "closure 'pin': position is (0, nan, 0); expected three finite numbers",
    ),
    "closure turn": (closure(rotation=np.ones((3, 3))), "closure 'pin': rotation is no rotation"),
    "closure second turn": (
        closure(second_rotation=np.ones((3, 3))),
        "closure 'pin': rotation is no rotation",
    ),
    "coupling without a name": (coupling(name=""), f"coupling '': a coupling {OWN}"),
    "coupling twice": (coupling(name="taken"), f"coupling 'taken': a coupling {OWN}"),
    "coupling of a number": (
        coupling(joint=3),
        "coupling 'cam': it ties 3 to 'b_joint'; expected the names of joints",
    ),
    "coupling of nothing": (coupling(joint=None), "coupling 'cam': it ties None to 'b_joint'"),
    "coupling to a list": (coupling(leader=["x"]), "coupling 'cam': it ties 'a_joint' to ['x']"),
    "coupling to itself": (
        coupling(leader="a_joint"),
        "coupling 'cam': joint 'a_joint' cannot follow itself; name another leader, or None",
    ),
    "coupling of no numbers": (
        coupling(coefficients=[]),
        "coupling 'cam': it has no coefficients; give at least the constant",
    ),
    "coupling of texts": (
        coupling(coefficients=["1"]),
        "coupling 'cam': a coefficient is '1'; expected a finite number in rad or m, by powers",
    ),
    "coupling of one number": (
        coupling(coefficients=2.0),
        "coupling 'cam': coefficients is 2.0; expected numbers",
    ),
    "coupling centre": (coupling(centre=NAN), "coupling 'cam': centre is nan; expected a finite"),
    "keyframe without a name": (keyframe("", {}), f"keyframe '': a keyframe {OWN}"),
    "keyframe twice": (keyframe("taken", {}), f"keyframe 'taken': a keyframe {OWN}"),
    "keyframe of an array": (
        keyframe("up", np.zeros(3)),
        "keyframe 'up': q is array([0., 0., 0.]); expected the numbers of each joint, as {'elbow'",
    ),
    "keyframe of bare numbers": (
        keyframe("up", {}, {"a_joint": 1.0}),
        "keyframe 'up': v is {'a_joint': 1.0}; expected the numbers of each joint",
    ),
    "keyframe NaN": (
        keyframe("up", {"a_joint": [NAN]}),
        "keyframe 'up': q of 'a_joint' is nan; expected a finite number in SI units",
    ),
    "spring pushes": (
        spring(stiffness=-1.0),
        "body 's': stiffness is -1; it must not be negative",
    ),
    "spring text": (spring(stiffness="1"), "body 's': stiffness is '1'; expected a finite number"),
    "rest long": (
        spring(stiffness=1.0, rest=[0, 0]),
        "body 's': rest has 2 numbers; joint 's_joint' is Revolute and has 1 coordinates",
    ),
    "rest an object": (
        spring(rest=object),
        "body 's': rest is <class 'object'>; expected the joint's coordinates",
    ),
    "rest NaN": (spring(rest=NAN), "body 's': rest is nan; expected a finite number in rad or m"),
    "contact of a number": (
        lambda builder: builder.add_collisions("a", [1.0]),
        "body 'a': visuals is [1.0]; expected a list of shapes",
    ),
    "contact on a number": (
        lambda builder: builder.add_collisions(1, [Sphere(1.0)]),
        "body is 1; expected a body's name, or 'world'",
    ),
}


def full_builder() -> pp.ModelBuilder:
    builder = two_arms()
    builder.add_closure("taken", "a", "b")
    builder.add_coupling("taken", "a_joint", "b_joint", [0, 0, 1])
    builder.add_keyframe("taken", {})
    return builder


@pytest.mark.parametrize(("mistake", "message"), AT_ONCE.values(), ids=AT_ONCE)
def test_refusal_at_once_leaves_the_builder_as_it_was(mistake, message):
    builder = full_builder()
    with pytest.raises(ModelError) as caught:
        mistake(builder)
    assert str(caught.value).startswith(message)
    model = builder.build()
    assert len(model.closures) == len(model.couplings) == len(model.keyframes) == 1
    assert len(model.bodies) == 5 and model.collisions == ()


AT_BUILD = {
    "closure of nothing": (
        closure(first="aa"),
        "closure 'pin': unknown first body 'aa'; did you mean 'a'? Valid names: 'world', 'base'",
    ),
    "closure to nothing": (closure(second="hand"), "closure 'pin': unknown second body 'hand'; va"),
    "coupling of an unknown joint": (
        coupling(joint="a_jont"),
        "coupling 'cam': no joint of one coordinate is called 'a_jont'; did you mean 'a_joint'?",
    ),
    "coupling to a ball": (
        coupling(leader="ball_joint"),
        "coupling 'cam': no joint of one coordinate is called 'ball_joint'",
    ),
    "keyframe of an unknown joint": (
        keyframe("up", {"elbow": [1.0]}),
        "keyframe 'up': no joint with coordinates is called 'elbow'; valid names: 'root', 'a_joi",
    ),
    "keyframe of a follower": (
        keyframe("up", {}, {"c_joint": [1.0]}),
        "keyframe 'up': no joint with coordinates is called 'c_joint'",
    ),
    "keyframe too short": (
        keyframe("up", {"ball_joint": [1.0, 0.0, 0.0]}),
        "keyframe 'up': joint 'ball_joint' has 4 numbers there, got 3",
    ),
    "keyframe too long": (
        keyframe("up", {}, {"ball_joint": [1.0, 0.0, 0.0, 0.0]}),
        "keyframe 'up': joint 'ball_joint' has 3 numbers there, got 4",
    ),
    "keyframe of no rotation": (
        keyframe("up", {"root": [0, 0, 0, 2.0, 0, 0, 0]}),
        "keyframe 'up': the quaternion of joint 'root' has length 2; expected 1 (x, y, z, w ord",
    ),
    "contact on nothing": (
        lambda builder: builder.add_collisions("hand", [Sphere(1.0)]),
        "add_collisions: unknown body 'hand'; valid names: 'world', 'base'",
    ),
    "looks on nothing": (
        lambda builder: builder.add_visuals("hand", [Sphere(1.0)]),
        "add_visuals: unknown body 'hand'; valid names: 'world', 'base'",
    ),
    "frames on each other": (
        lambda builder: [builder.add_frame(*ends) for ends in (("f", "g"), ("g", "f"))],
        "frame 'f': the frames 'f' <- 'g' <- 'f' are on each other in a circle; put one of them",
    ),
    "body on a frame on nothing": (
        lambda builder: [builder.add_frame("f", "hand"), builder.add_body("t", "f", **BAR)],
        "frame 'f': unknown body 'hand'; valid names: 'world', 'base', 'a', 'b', 'ball', 'c', 't'",
    ),
    "body on a frame on itself": (
        lambda builder: [builder.add_frame("f", "t"), builder.add_body("t", "f", **BAR)],
        "body 't': the bodies 't' <- 't' carry each other in a circle; a tree needs",
    ),
}


@pytest.mark.parametrize(("mistake", "message"), AT_BUILD.values(), ids=AT_BUILD)
def test_machine_that_names_what_is_not_there_is_refused(mistake, message):
    builder = full_builder()
    mistake(builder)
    with pytest.raises(ModelError) as caught:
        builder.build()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("mistake", "what"),
    [
        (AT_ONCE["closure axis"][0], "closure 'pin'"),
        (AT_ONCE["coupling of no numbers"][0], "coupling 'cam'"),
        (AT_BUILD["closure of nothing"][0], "closure 'pin'"),
        (AT_BUILD["coupling to a ball"][0], "coupling 'cam'"),
        (AT_BUILD["keyframe of a follower"][0], "keyframe 'up'"),
    ],
)
def test_reader_of_a_file_gives_each_refusal_its_place(mistake, what):
    builder = pp.ModelBuilder("m", where=lambda name, part: (f"{part} of {name}.sdf", 7))
    builder.add_body("a", joint=joints.Spherical(), joint_name="ball_joint", **BAR)
    builder.add_body("b", joint_name="a_joint", **BAR)
    builder.add_body("c", mimic=("a_joint", 1.0, 0.0), **BAR)
    with pytest.raises(ModelError) as caught:
        mistake(builder)
        builder.build()
    name = what.split("'")[1]
    assert str(caught.value).startswith(f"closure of {name}.sdf:7: {what}: ")


# -- whatever the numbers --------------------------------------------------------------


@given(
    turn=st.floats(-3.0, 3.0),
    at=st.tuples(*[st.floats(-2.0, 2.0)] * 3),
    rpy=st.tuples(*[st.floats(-3.0, 3.0)] * 3),
)
def test_anchor_moves_with_its_body_as_a_point_does(turn, at, rpy):
    """The pose of an anchor is that of the same place told as a frame of the body."""
    rotation = pp.spatial.rotation_from_rpy(rpy)
    builder = pp.ModelBuilder("m")
    builder.add_body("a", joint=joints.Revolute((1, 2, 3)), position=(0, 1, 0), **BAR)
    builder.add_frame("f", "a", at, rotation)
    builder.add_closure("c", "a", "world", position=at, rotation=rotation)
    builder.add_closure("d", "world", "f")
    model = builder.build()
    loop, other = model.closures
    frame = model.frame("f")
    assert loop.first.placement == other.second.placement == frame.placement
    assert loop.first.body == other.second.body == frame.body
    here = pose_of(model, [turn], loop.first.body, loop.first.placement)
    turned = np.array(pp.spatial.rotation(np.array([1, 2, 3]) / math.sqrt(14), turn))
    assert_allclose(here[:3, 3], [0, 1, 0] + turned @ at, atol=1e-14)


@pytest.mark.parametrize("second", ["arm", "tool", "tip"])
def test_closure_of_a_body_with_itself_is_refused_or_left_out(second):
    """A welded link and a frame are on the body that carries them."""

    def made(strict):
        builder = pp.ModelBuilder("arm", strict=strict)
        builder.add_body("arm", mass=1.0, inertia=(1, 1, 1))
        builder.add_body("tool", "arm", joints.Fixed(), mass=1.0)
        builder.add_frame("tip", "tool", position=(1, 0, 0))
        builder.add_closure("loop", "arm", second)
        return builder

    text = f"closure 'loop': both its ends, 'arm' and {second!r}, are on the same body"
    with pytest.raises(pp.ModelError, match=text):
        made(strict=True).build()
    model = made(strict=False).build()
    assert not model.is_closed
    (line,) = model.report.refused
    assert line.startswith(text) and line.endswith("it is left out")
