"""What the builder refuses, and how; names that a model does not know."""

import dataclasses

import numpy as np
import pytest
from bars import BAR, build
from machines import (
    MARKET,
)
from numpy.testing import assert_array_equal

import phipsi as pp
from phipsi import joints
from phipsi.errors import InputError, ModelError
from phipsi.model.inertia import Placement
from phipsi.model.joints import Fixed, Revolute, Spherical
from phipsi.model.tree import WORLD

NAN, INF = float("nan"), float("inf")


# -- refusals --------------------------------------------------------------------------


def add(**options):
    """A refusal of `add_body`: the body 'b' on 'a'."""
    return lambda builder: builder.add_body("b", "a", **{**BAR, **options})


def rotor(**options):
    options = {"axis": (0, 0, 1), "gear_ratio": 10.0, **BAR, **options}
    return lambda builder: builder.add_rotor("b", "a_joint", "a", **options)


SKEWED = [[1.0, 0.1, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]]
MIRROR = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]

REFUSED = {  # what is done to a builder that holds 'a', and what the message says
    # losses and limits, which lenient builders keep
    "damping negative": (add(damping=-0.5), "its joint has the damping -0.5, below 0; losses take"),
    "friction negative": (add(friction=-1), "its joint has the friction -1, below 0; losses take"),
    "velocity limit negative": (
        add(limits=pp.Limits(velocity=-2.0)),
        "its velocity limit is -2, below 0; give the size of the largest it can do, or keep it",
    ),
    "effort limit negative": (add(limits=pp.Limits(effort=-3.0)), "its effort limit is -3, below"),
    # masses
    "mass with a unit": (add(mass="3 kg"), "mass is '3 kg'; expected a finite number in kilograms"),
    "mass None": (add(mass=None), "mass is None; expected a finite number in kilograms"),
    "mass True": (add(mass=True), "mass is True; expected a finite number in kilograms"),
    "mass NumPy True": (add(mass=np.True_), "mass is np.True_; expected a finite number"),
    "mass complex": (add(mass=1j), "mass is 1j; expected a finite number in kilograms"),
    "mass a list": (add(mass=[1.0]), "mass is [1.0]; expected a finite number in kilograms"),
    "mass too large": (add(mass=10**400), "expected a finite number in kilograms"),
    "mass NaN": (add(mass=NAN), "mass is nan; expected a finite number in kilograms"),
    "mass infinite": (add(mass=INF), "mass is inf; expected a finite number in kilograms"),
    "mass negative": (add(mass=-1.0), "mass is -1 kg; it must not be negative"),
    "com short": (add(com=(1, 2)), "com is (1, 2); expected three finite numbers"),
    "com NaN": (add(com=(0, NAN, 0)), "com is (0, nan, 0); expected three finite numbers"),
    "com text": (add(com="xyz"), "com is 'xyz'; expected three finite numbers"),
    "com a number": (add(com=1.0), "com is 1.0; expected three finite numbers"),
    "com complex": (add(com=np.array([1j, 0, 0])), "expected three finite numbers"),
    # inertias
    "inertia a number": (add(inertia=1.0), "inertia is 1.0; expected a 3x3 matrix or its diag"),
    "inertia short": (add(inertia=(1, 1)), "inertia is (1, 1); expected three finite numbers"),
    "inertia of 3x2": (add(inertia=np.eye(3)[:, :2]), "expected 3 x 3 finite numbers"),
    "inertia ragged": (add(inertia=[[1, 0, 0], [0, 1], [0]]), "expected 3 x 3 finite numbers"),
    "inertia NaN": (add(inertia=np.diag([1, NAN, 1])), "expected 3 x 3 finite numbers"),
    "inertia asymmetric": (
        add(inertia=SKEWED),
        "inertia is not symmetric; give the 3x3 matrix about the mass centre",
    ),
    "negative moment": (
        add(inertia=(1.0, 1.0, -0.5)),
        "its rotational inertia has the negative moment -0.5; give the inertia about the mass "
        "centre in body axes, or keep it with strict=False",
    ),
    "negative by its corners": (
        add(inertia=[[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 2.0]]),
        "its rotational inertia has the negative moment -1; give the inertia",
    ),
    "triangle inequality": (
        add(inertia=(1.0, 1.0, 3.0)),
        "its principal moments break the triangle inequality: 1 + 1 < 3; give the inertia",
    ),
    "inertia but no mass": (
        add(mass=0.0),
        "it has rotational inertia but no mass; give the inertia",
    ),
    # placements
    "position short": (add(position=[1.0]), "position is [1.0]; expected three finite numbers"),
    "position NaN": (add(position=(NAN, 0, 0)), "expected three finite numbers"),
    "no rotation": (add(rotation=2 * np.eye(3)), "rotation is no rotation matrix: R R* must be I"),
    "reflection": (add(rotation=MIRROR), "rotation is no rotation matrix: R R* must be I and det"),
    "rotation of angles": (add(rotation=(0, 0, 1.57)), "expected 3 x 3 finite numbers"),
    "rotation NaN": (add(rotation=np.eye(3) * NAN), "expected 3 x 3 finite numbers"),
    # joints
    "joint a class": (add(joint=Revolute), "expected a kind of phipsi.joints, as joints.Revolute("),
    "joint a name": (
        add(joint="revolute"),
        "joint is 'revolute'; expected a kind of phipsi.joints",
    ),
    "zero axis": (
        add(joint=Revolute((0, 0, 0))),
        "has length zero; give a direction, as (0, 0, 1)",
    ),
    "parallel axes": (
        add(joint=joints.Universal(joints.X, joints.X)),
        "the axes of a Universal joint are parallel; they must differ",
    ),
    "joint name taken": (
        add(joint_name="a_joint"),
        "the joint name 'a_joint' is taken by body 'a'; give another joint_name",
    ),
    "joint name a number": (add(joint_name=7), "joint_name is 7; expected a text"),
    "parent a number": (
        lambda builder: builder.add_body("b", 0, **BAR),
        "parent is 0; expected a body's name, or 'world'",
    ),
    "parent a list": (
        lambda builder: builder.add_body("b", ["a"], **BAR),
        "parent is ['a']; expected a body's name, or 'world'",
    ),
    "limits reversed": (
        add(limits=pp.Limits(1.0, -1.0)),
        "the limits of the joint are [1.0, -1.0]; lower must not exceed upper",
    ),
    "limits NaN": (add(limits=pp.Limits(NAN, 1.0)), "expected pp.Limits(lower=-1.0"),
    "limits text": (add(limits=pp.Limits("-1", "1")), "expected pp.Limits(lower=-1.0"),
    "limits an array": (add(limits=np.zeros(2)), "expected pp.Limits("),
    "joint name empty": (add(joint_name=""), "joint_name is ''"),
    "limits a pair": (add(limits=(-1, 1)), "limits is (-1, 1); expected pp.Limits("),
    "damping text": (add(damping="low"), "damping is 'low'; expected a finite number in N s/m"),
    "friction NaN": (add(friction=NAN), "friction is nan; expected a finite number in N or N m"),
    # motors and mimics
    "rotor negative": (add(rotor_inertia=-0.1), "rotor_inertia is -0.1; it must not be negative"),
    "rotor text": (add(rotor_inertia="1"), "rotor_inertia is '1'; expected a finite number in kg"),
    "rotor on a weld": (
        add(joint=Fixed(), rotor_inertia=0.1),
        "joint 'b_joint' is Fixed and has a rotor_inertia; a motor needs a joint that moves",
    ),
    "gear None": (add(gear_ratio=None), "gear_ratio is None; expected a finite number in motor"),
    "gear zero": (add(gear_ratio=0), "gear_ratio is 0; give the motor turns per joint turn"),
    "follower of many": (
        add(joint=Spherical(), mimic=("a_joint", 1.0, 0.0)),
        "joint 'b_joint' is Spherical; only a joint with one coordinate can follow another",
    ),
    "follower that is fixed": (
        add(joint=Fixed(), mimic=("a_joint", 1.0, 0.0)),
        "joint 'b_joint' is Fixed; only a joint with one coordinate can follow another",
    ),
    "mimic a name": (add(mimic="a_joint"), "mimic is 'a_joint'; expected (joint name, ratio, off"),
    "mimic short": (add(mimic=("a_joint", 1.0)), "expected (joint name, ratio, offset)"),
    "mimic of a number": (add(mimic=(0, 1.0, 0.0)), "expected (joint name, ratio, offset)"),
    "mimic ratio": (add(mimic=("a_joint", "2", 0.0)), "mimic ratio is '2'; expected a finite"),
    "mimic offset": (add(mimic=("a_joint", 2.0, NAN)), "mimic offset is nan; expected a finite"),
    "rotor axis": (rotor(axis=(0, 0, 0)), "the axis of a Revolute joint has length zero; give"),
    "rotor axis short": (rotor(axis=(0, 1)), "axis is (0, 1); expected three finite numbers"),
    "rotor gear": (rotor(gear_ratio="fast"), "gear_ratio is 'fast'; expected a finite number in"),
    "rotor gear zero": (rotor(gear_ratio=0.0), "gear_ratio is 0; give the rotor turns per joint"),
    "rotor mass": (rotor(mass=-1.0), "mass is -1 kg; it must not be negative"),
}


@pytest.mark.parametrize(("mistake", "message"), REFUSED.values(), ids=REFUSED)
def test_refusal_names_the_body_and_the_remedy_and_leaves_the_builder_as_it_was(mistake, message):
    builder = pp.ModelBuilder("machine")
    builder.add_body("a", **BAR)
    before = builder.build()
    with pytest.raises(ModelError) as caught:
        mistake(builder)
    assert str(caught.value).startswith("body 'b': ")
    assert message in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert builder.build().bodies == before.bodies
    builder.add_body("b", "a", **BAR)  # the name is free, and so is the joint's
    assert [body.name for body in builder.build().bodies] == ["a", "b"]


NAMES = {
    "empty": (lambda b: b.add_body("", **BAR), "a body or frame needs a name, got ''"),
    "none": (lambda b: b.add_body(None, **BAR), "a body or frame needs a name, got None"),
    "body twice": (lambda b: b.add_body("a", **BAR), "the name 'a' is taken in 'machine'; give"),
    "world": (lambda b: b.add_body("world", **BAR), "the name 'world' is taken in 'machine'"),
    "body like a frame": (lambda b: b.add_body("f", **BAR), "the name 'f' is taken"),
    "frame like a body": (lambda b: b.add_frame("a", "a"), "the name 'a' is taken"),
    "frame twice": (lambda b: b.add_frame("f", "a"), "the name 'f' is taken in 'machine'"),
    "frame place": (
        lambda b: b.add_frame("g", "a", (0, 0)),
        "frame 'g': position is (0, 0); expected three finite numbers",
    ),
    "frame turn": (
        lambda b: b.add_frame("g", "a", rotation=np.ones((3, 3))),
        "frame 'g': rotation is no rotation matrix",
    ),
    "frame on a number": (
        lambda b: b.add_frame("g", 3),
        "frame 'g': body is 3; expected a body's name, or 'world'",
    ),
}


@pytest.mark.parametrize(("mistake", "message"), NAMES.values(), ids=NAMES)
def test_names_and_frames_are_checked_at_once(mistake, message):
    builder = pp.ModelBuilder("machine")
    builder.add_body("a", **BAR)
    builder.add_frame("f", "a")
    with pytest.raises(ModelError) as caught:
        mistake(builder)
    assert message in str(caught.value)
    assert [frame.name for frame in builder.build().frames] == ["f"]


MASSLESS = {"mass": 0.0, "inertia": None}

IMPOSSIBLE = {  # bodies of a machine, and what `build` says of it
    "unknown parent": (
        [("hand", "elbw", Revolute()), ("elbow", "world", Revolute())],
        "body 'hand': unknown parent 'elbw'; did you mean 'elbow'? Valid names: 'world', 'hand'",
    ),
    "its own parent": ([("a", "a", Revolute())], "body 'a': the bodies 'a' <- 'a' carry"),
    "cycle": (
        [("a", "c", Revolute()), ("b", "a", Revolute()), ("c", "b", Fixed())],
        "body 'a': the bodies 'a' <- 'c' <- 'b' <- 'a' carry each other in a circle; a tree needs "
        "one of them on the world",
    ),
    "cycle beside a tree": (
        [
            ("t", "world", Revolute()),
            ("x", "y", Revolute()),
            ("y", "z", Fixed()),
            ("z", "y", Revolute()),
        ],
        "body 'y': the bodies 'y' <- 'z' <- 'y' carry each other in a circle",
    ),
    "long cycle": (
        [(f"b{k}", f"b{(k + 1) % 9}", Revolute()) for k in range(9)],
        "body 'b0': the bodies 'b0' <- 'b1' <- 'b2' <- ... <- 'b0' carry each other",
    ),
    "massless tip": (
        [("a", "world", Revolute()), ("b", "a", Revolute(), MASSLESS)],
        "body 'b': nothing that joint 'b_joint' moves has mass, so forward dynamics is singular; "
        "give it a mass or make the joint fixed, or keep it with strict=False",
    ),
    "massless subtree": (
        [("a", "world", Revolute(), MASSLESS), ("b", "a", Revolute(), MASSLESS)],
        "body 'a': nothing that joint 'a_joint' moves has mass",
    ),
    "massless weld": (
        [("a", "world", Revolute(), MASSLESS), ("b", "a", Fixed(), MASSLESS)],
        "body 'a': nothing that joint 'a_joint' moves has mass",
    ),
    "massless but for a motor further out": (
        [
            ("a", "world", Revolute(), MASSLESS),
            ("b", "a", Revolute(), {**MASSLESS, "rotor_inertia": 0.1}),
        ],
        "body 'a': nothing that joint 'a_joint' moves has mass",
    ),
    "massless with a follower that stands still": (
        [
            ("a", "world", Revolute(), MASSLESS),
            ("b", "world", Revolute(), {"mimic": ("a_joint", 0.0, 0.0)}),
        ],
        "body 'a': nothing that joint 'a_joint' moves has mass",
    ),
    "mimic of nothing": (
        [("a", "world", Revolute()), ("b", "a", Revolute(), {"mimic": ("a_jont", 1.0, 0.0)})],
        "body 'b': joint 'b_joint' mimics the unknown joint 'a_jont'; did you mean 'a_joint'?",
    ),
    "mimic of a weld": (
        [("a", "world", Fixed()), ("b", "a", Revolute(), {"mimic": ("a_joint", 1.0, 0.0)})],
        "body 'b': joint 'b_joint' mimics 'a_joint', which is Fixed; only a joint with one coord",
    ),
    "mimic of itself": (
        [("a", "world", Revolute(), {"mimic": ("a_joint", 1.0, 0.0)})],
        "body 'a': the joints 'a_joint' <- 'a_joint' mimic each other in a circle; one of them mu",
    ),
    "mimics in a circle": (
        [
            ("a", "world", Revolute(), {"mimic": ("b_joint", 1.0, 0.0)}),
            ("b", "world", Revolute(), {"mimic": ("a_joint", 1.0, 0.0)}),
        ],
        "body 'a': the joints 'a_joint' <- 'b_joint' <- 'a_joint' mimic each other in a circle",
    ),
    "mimic of a circle": (
        [
            ("a", "world", Revolute(), {"mimic": ("b_joint", 1.0, 0.0)}),
            ("b", "world", Revolute(), {"mimic": ("c_joint", 1.0, 0.0)}),
            ("c", "world", Revolute(), {"mimic": ("b_joint", 1.0, 0.0)}),
        ],
        "body 'b': the joints 'b_joint' <- 'c_joint' <- 'b_joint' mimic each other in a circle",
    ),
    "mimic of a ball": (
        [("a", "world", Spherical()), ("b", "a", Revolute(), {"mimic": ("a_joint", 1.0, 0.0)})],
        "body 'b': joint 'b_joint' mimics 'a_joint', which is Spherical; only a joint with one",
    ),
}


@pytest.mark.parametrize(("bodies", "message"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_impossible_machine_is_refused_by_the_name_of_a_body(bodies, message):
    with pytest.raises(ModelError) as caught:
        build(*bodies)
    assert message in str(caught.value)


def test_builder_goes_on_after_a_refused_build():
    builder = pp.ModelBuilder()
    builder.add_body("hand", "arm", **BAR)
    builder.add_frame("tool", "finger")
    with pytest.raises(ModelError, match="body 'hand': unknown parent 'arm'"):
        builder.build()
    builder.add_body("arm", **BAR)
    with pytest.raises(ModelError, match=r"frame 'tool': unknown body 'finger'.*valid names"):
        builder.build()
    builder.add_body("finger", "hand", Fixed(), **BAR)
    assert [body.name for body in builder.build().bodies] == ["arm", "hand"]


def test_building_twice_gives_equal_machines():
    builder = pp.ModelBuilder()
    builder.add_body("a", **BAR)
    one = builder.build()
    builder.add_body("b", "a", **BAR)
    two = builder.build()
    assert (len(one.bodies), len(two.bodies)) == (1, 2)
    assert one.bodies == two.bodies[:1]


@pytest.mark.parametrize("gravity", [(0, 0), "down", None, (0, 0, NAN), 9.81])
def test_gravity_must_be_a_vector(gravity):
    with pytest.raises(ModelError, match=r"'machine': gravity is .*; expected three finite"):
        pp.ModelBuilder("machine", gravity=gravity)


def test_motors_and_followers_give_a_massless_joint_its_equation():
    motor = {**MASSLESS, "rotor_inertia": 0.1}
    build(("a", "world", Revolute(), motor))
    follower = {"mimic": ("a_joint", 2.0, 0.0)}
    build(("a", "world", Revolute(), MASSLESS), ("b", "world", Revolute(), follower))
    build(("a", "world", Revolute(), MASSLESS), ("b", "a", Revolute()))


def test_lenient_builder_keeps_unphysical_numbers_and_reports_them():
    model = build(
        ("a", "world", Revolute(), {"inertia": (1.0, 1.0, 3.0)}),
        ("b", "a", Revolute(), {"mass": 0.0}),
        ("c", "b", Fixed(), {"inertia": (1.0, 1.0, -1.0)}),
        ("d", "b", Revolute()),
        ("e", "d", Revolute(), MASSLESS),
        strict=False,
    )
    assert model.report.remarks == (
        "body 'a': its principal moments break the triangle inequality: 1 + 1 < 3",
        "body 'b': it has rotational inertia but no mass",
        "body 'c': its rotational inertia has the negative moment -1",
        "body 'e': nothing that joint 'e_joint' moves has mass, so forward dynamics is singular",
    )
    assert_array_equal(model.body("a").inertia.rotational, np.diag([1.0, 1.0, 3.0]))
    assert build(("a", "world", Revolute())).report.remarks == ()


def test_building_twice_reports_once():
    builder = pp.ModelBuilder(strict=False)
    builder.add_body("a", mass=0.0, inertia=(1.0, 1.0, 1.0))
    builder.add_body("b", "a")
    assert builder.build().report.remarks == builder.build().report.remarks
    assert len(builder.build().report.remarks) == 2


def line_of(body, part):
    return "robot.txt", part


PARTS = {  # which part of a body each refusal is about
    "damping negative": "dynamics",
    "friction negative": "dynamics",
    "velocity limit negative": "limits",
    "effort limit negative": "limits",
    "mass negative": "inertia",
    "com NaN": "inertia",
    "triangle inequality": "inertia",
    "zero axis": "kind",
    "limits reversed": "limits",
    "follower of many": "mimic",
    "mimic short": "mimic",
    "position short": "joint",
    "joint name taken": "joint",
    "rotor on a weld": "joint",
    "cycle": "joint",
    "unknown parent": "joint",
    "massless tip": "joint",
    "mimic of nothing": "mimic",
    "mimic of a ball": "mimic",
    "mimics in a circle": "mimic",
}


@pytest.mark.parametrize(("case", "part"), PARTS.items(), ids=PARTS)
def test_reader_of_a_file_gives_each_refusal_its_place(case, part):
    with pytest.raises(ModelError) as caught:
        if case in IMPOSSIBLE:
            build(*IMPOSSIBLE[case][0], where=line_of)
        else:
            builder = pp.ModelBuilder("machine", where=line_of)
            builder.add_body("a", **BAR)
            REFUSED[case][0](builder)
    assert str(caught.value).startswith(f"robot.txt:{part}: body ")
    assert (IMPOSSIBLE | REFUSED)[case][1] in str(caught.value)


@pytest.mark.parametrize("case", ["body twice", "frame like a body"])
def test_reader_of_a_file_gives_a_name_that_is_taken_its_place(case):
    builder = pp.ModelBuilder("machine", where=line_of)
    builder.add_body("a", **BAR)
    with pytest.raises(ModelError, match=r"^robot\.txt:body: (body|frame) 'a': the name 'a' is ta"):
        NAMES[case][0](builder)


def test_reader_of_a_file_gives_each_line_of_the_report_its_place():
    model = build(
        ("a", "world", Revolute(), {"mass": 0.0}),
        ("b", "a", Revolute(), MASSLESS),
        strict=False,
        where=line_of,
    )
    assert model.report.remarks == (
        "robot.txt:inertia: body 'a': it has rotational inertia but no mass",
        "robot.txt:joint: body 'b': nothing that joint 'b_joint' moves has mass, "
        "so forward dynamics is singular",
    )


@pytest.mark.parametrize("mass", [-1.0, NAN, "3 kg"])
def test_lenient_builder_still_refuses_what_is_no_mass(mass):
    with pytest.raises(ModelError, match="body 'a': mass is"):
        build(("a", "world", Revolute(), {"mass": mass}), strict=False)


# -- the model -------------------------------------------------------------------------

UNKNOWN = {
    "joint": (
        lambda m: m.joint("a_jont"),
        "'machine' has no joint 'a_jont'; did you mean 'a_joint'?",
    ),
    "body": (lambda m: m.body("toool"), "'machine' has no body 'toool'; valid names: 'a', 'b'"),
    "frame": (
        lambda m: m.frame("toool"),
        "'machine' has no frame 'toool'; did you mean 'tool'? Valid names: 'tool', 'a', 'b'",
    ),
    "index": (
        lambda m: m.index("c"),
        "'machine' has no joint or body 'c'; valid names: 'a_joint', 'b_joint', 'a', 'b'",
    ),
    "number": (
        lambda m: m.joint(0),
        "'machine' has no joint 0; by number, index the tuple; valid names: 'a_joint'",
    ),
    "list": (lambda m: m.body(["a"]), "'machine' has no body ['a']; "),
    "place": (lambda m: m.locate(pp.point("nowhere")), "'machine' has no frame 'nowhere'"),
    "nameless point": (lambda m: pp.point(3), "point: expected the name of a body or frame, got 3"),
    "flat point": (
        lambda m: pp.point("a", (1, 2)),
        "point on 'a': position is (1, 2); expected three finite numbers",
    ),
    "many points": (
        lambda m: pp.point("a", np.zeros((1000, 3))),
        "point on 'a': position has shape (1000, 3); expected (3,), one position for all states",
    ),
}


@pytest.mark.parametrize(("mistake", "message"), UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_names_are_answered_with_the_valid_ones(mistake, message):
    model = build(("a", "world", Revolute()), ("b", "a", Revolute()), frames=[("tool", "b")])
    with pytest.raises(InputError) as caught:
        mistake(model)
    assert message in str(caught.value)


def test_names_find_joints_bodies_and_frames():
    model = build(("a", "world", Revolute()), ("b", "a", Revolute()), frames=[("tool", "b")])
    assert model.joint("b_joint") is model.joints[1]
    assert model.body("b") is model.bodies[1]
    assert model.frame("tool").body == model.frame("b").body == 1
    assert model.index("b_joint") == model.index("b") == 1


def test_world_is_a_frame_too():
    model = build(("a", "world", Revolute()))
    world = model.frame("world")
    assert (world.name, world.body, world.placement) == ("world", WORLD, Placement())
    assert model.locate(pp.point("world", (1.0, 2.0, 3.0)))[1].position == (1.0, 2.0, 3.0)


def test_model_says_what_it_is_in_a_line():
    one = build(("a", "world", Revolute()))
    two = build(("a", "world", Revolute()), ("b", "a", Spherical()))
    assert repr(one) == "<Model 'machine': 1 body, nq = 1, nv = 1, 1 kg>"
    assert repr(two) == "<Model 'machine': 2 bodies, nq = 5, nv = 4, 2 kg>"


@pytest.mark.parametrize("name", MARKET)
def test_models_are_frozen(name):
    model = MARKET[name]()
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.name = "other"
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.bodies[0].inertia.mass = 3.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.joints[0].kind.axis = joints.X
    assert hash(model) == hash(model)
