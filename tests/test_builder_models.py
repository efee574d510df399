"""A machine added to another: all of it comes along, or nothing."""

import math

import numpy as np
import pytest
from bars import BAR
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import machines, random_state
from numpy.testing import assert_allclose
from urdf_text import arm, read_text

import phipsi as pp
from phipsi import joints, spatial
from phipsi.errors import ModelError
from phipsi.model.geometry import Box, Sphere, Visual
from phipsi.model.inertia import Placement
from phipsi.model.tree import WORLD
from phipsi.operators import C, Mass, S_q

PLACE = {"position": (1.0, 2.0, 3.0), "rotation": spatial.rotation_from_rpy((0.4, -0.3, 1.1))}
TURN = np.array(PLACE["rotation"])


def everything() -> pp.Model:
    """A machine with a thing of each sort, some of them on the world."""
    builder = pp.ModelBuilder("everything", gravity=(0, 0, -1.62))
    builder.add_body("stand", joint=joints.Fixed(), position=(0, 0, 1), mass=4.0, com=(0, 0, 0.5))
    options = {"limits": pp.Limits(-1, 1, 2, 3), "damping": 0.1, "friction": 0.2}
    options |= {"rotor_inertia": 0.01, "gear_ratio": 30.0, "stiffness": 5.0, "rest": 0.25}
    builder.add_body("a", "stand", joint_name="turn", visuals=[Box((1, 1, 1))], **options, **BAR)
    builder.add_body("b", "a", joints.Prismatic(), mimic=("turn", 2.0, 0.5), **BAR)
    builder.add_body("c", "a", joints.Spherical(), position=(1, 0, 0), **BAR)
    builder.add_body("d", "c", position=(1, 0, 0), **BAR)
    builder.add_body("lamp", "d", joints.Fixed(), position=(0, 0, 0.1), mass=0.5)
    builder.add_frame("tip", "lamp", (1, 0, 0))
    builder.add_frame("door", "world", (0, 5, 0))
    builder.add_visuals("door", [Visual.of(Sphere(0.1), (0, 0, 1), color=(1, 0, 0))])
    builder.add_collisions("lamp", [Sphere(0.2)])
    builder.add_closure("string", "door", "tip", joints.Spherical(), second_position=(0, 0, 1))
    builder.add_closure("rod", "world", "d", joints.Spherical(), position=(0, 1, 0))
    builder.add_coupling("cam", "d_joint", "turn", [0, 0, 1.0], centre=0.3)
    builder.add_coupling("stop", "d_joint", None, [0.1])
    builder.add_keyframe("home", {"turn": [0.3]}, {"c_joint": [1, 2, 3]})
    return builder.build()


def placed(model: pp.Model, body: int, placement: Placement) -> Placement:
    """Of something on the model's world, once that stands at PLACE."""
    return Placement.of(**PLACE).then(placement) if body == WORLD else placement


@pytest.mark.parametrize("prefix", ["", "left "])
def test_every_thing_comes_along(prefix):
    guest = everything()
    builder = pp.ModelBuilder("host", gravity=(0, 0, -3.71))
    builder.add_body("cart", joint=joints.Prismatic((1, 0, 0)), **BAR)
    builder.add_model(guest, prefix, "cart", **PLACE)
    host = builder.build()
    assert host.gravity == (0.0, 0.0, -3.71)
    assert [body.name for body in host.bodies] == ["cart", *(prefix + x.name for x in guest.bodies)]
    for theirs, ours in zip(guest.joints, host.joints[1:], strict=True):
        assert ours.name == prefix + theirs.name
        assert ours.kind == theirs.kind and ours.limits == theirs.limits
        for field in ("damping", "friction", "rotor_inertia", "gear_ratio", "stiffness", "rest"):
            assert getattr(ours, field) == getattr(theirs, field)
    tied = host.joint(prefix + "b_joint").mimic
    assert (host.joints[tied.source].name, tied.ratio, tied.offset) == (prefix + "turn", 2.0, 0.5)
    for theirs, ours in zip(guest.bodies, host.bodies[1:], strict=True):
        assert ours.inertia == theirs.inertia
    for sort in ("frames", "visuals", "collisions"):
        for theirs, ours in zip(getattr(guest, sort), getattr(host, sort), strict=True):
            assert ours.name == prefix + theirs.name
            assert ours.body == (0 if theirs.body == WORLD else theirs.body + 1)
            expected = placed(guest, theirs.body, theirs.placement).matrix
            assert_allclose(ours.placement.matrix, expected, atol=1e-15)
    assert [x.color for x in host.visuals] == [x.color for x in guest.visuals]
    for theirs, ours in zip(guest.closures, host.closures, strict=True):
        assert (ours.name, ours.kind) == (prefix + theirs.name, theirs.kind)
        for end, other in ((ours.first, theirs.first), (ours.second, theirs.second)):
            assert end.link == ("cart" if other.link == "world" else prefix + other.link)
            expected = placed(guest, other.body, other.placement).matrix
            assert_allclose(end.placement.matrix, expected, atol=1e-15)
    cam, stop = host.couplings
    assert (cam.name, host.joints[cam.joint].name) == (prefix + "cam", prefix + "d_joint")
    assert (host.joints[cam.leader].name, cam.coefficients, cam.centre) == (
        prefix + "turn",
        (0.0, 0.0, 1.0),
        0.3,
    )
    assert stop.leader is None
    state, theirs = host.keyframes[prefix + "home"], guest.keyframes["home"]
    assert state.q == (0.0, *theirs.q) and state.v == (0.0, *theirs.v)


def test_what_was_welded_to_its_world_is_part_of_what_carries_it():
    """Steiner by hand: the stand's mass joins the cart's, at the place where it stands."""
    builder = pp.ModelBuilder("host")
    builder.add_body("cart", joint=joints.Free(), mass=2.0, com=(1, 0, 0))
    builder.add_model(everything(), parent="cart", **PLACE)
    host = builder.build()
    at = np.array(PLACE["position"]) + TURN @ [0, 0, 1.5]
    cart = host.bodies[0].inertia
    assert cart.mass == 6.0 and host.base_inertia.mass == 0.0
    com = (2.0 * np.array([1, 0, 0]) + 4.0 * at) / 6.0
    assert_allclose(cart.com, com, rtol=1e-15)
    apart = at - [1, 0, 0]
    expected = 2.0 * 4.0 / 6.0 * (apart @ apart * np.eye(3) - np.outer(apart, apart))
    assert_allclose(cart.rotational, expected, rtol=1e-13)
    builder = pp.ModelBuilder("host")
    builder.add_model(everything(), **PLACE)
    assert builder.build().base_inertia.mass == 4.0
    assert_allclose(builder.build().base_inertia.com, at, rtol=1e-15)


def test_machine_can_stand_on_a_frame_of_another_and_on_what_comes_later():
    chain = pp.examples.planar_arm(2)
    builder = pp.ModelBuilder("stack")
    builder.add_model(chain, "upper ", "lower tip", position=(0, 0, 0.1))
    builder.add_model(chain, "lower ")
    stack = builder.build()
    assert [body.name for body in stack.bodies] == [
        *("lower link1", "lower link2", "upper link1", "upper link2")
    ]
    q = np.array([0.3, -0.4, 0.5, 0.6])
    low, high = pp.body_poses(chain, q[:2]), pp.body_poses(chain, q[2:])
    floor = low[1] @ chain.frame("tip").placement.matrix
    floor[:3, 3] += floor[:3, :3] @ [0, 0, 0.1]
    assert_allclose(pp.body_poses(stack, q), [*low, *(floor @ pose for pose in high)], atol=1e-15)


@settings(max_examples=20)
@given(one=machines(max_bodies=5, mimics=True), two=machines(max_bodies=5), data=st.data())
def test_machines_side_by_side_are_each_as_they_were(one, two, data):
    """Mass matrix and bias of the union, block by block; gravity is the builder's."""
    builder = pp.ModelBuilder("union", gravity=(0, 0, 0))
    builder.add_model(one, "one ")
    builder.add_model(two, "two ")
    union = builder.build()
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    (q1, v1), (q2, v2) = random_state(one, rng), random_state(two, rng)
    q, v = np.concatenate([q1, q2]), np.concatenate([v1, v2])
    found = pp.as_matrix(union, S_q.T @ Mass @ S_q, q)
    n = one.nv
    assert not found[:n, n:].any() and not found[n:, :n].any()
    assert_close(found[:n, :n], pp.as_matrix(one, S_q.T @ Mass @ S_q, q1))
    assert_close(found[n:, n:], pp.as_matrix(two, S_q.T @ Mass @ S_q, q2))
    for model, own_q, own_v, part in ((one, q1, v1, slice(n)), (two, q2, v2, slice(n, None))):
        floating = pp.ModelBuilder("floating", gravity=(0, 0, 0))
        floating.add_model(model)
        alone = pp.as_matrix(floating.build(), S_q.T @ C, own_q, own_v)
        assert_close(pp.as_matrix(union, S_q.T @ C, q, v)[part], alone)


def assert_close(ours, theirs):
    """But for roundoff of the largest entry."""
    assert_allclose(ours, theirs, rtol=0, atol=1e-13 * (1 + np.abs(theirs).max()))


def test_machine_added_to_nothing_is_the_same_machine():
    guest = everything()
    builder = pp.ModelBuilder("everything", gravity=guest.gravity)
    builder.add_model(guest)
    again = builder.build()
    for sort in ("name", "gravity", "bodies", "joints", "frames", "visuals", "collisions"):
        assert getattr(again, sort) == getattr(guest, sort)
    for sort in ("base_inertia", "closures", "couplings", "keyframes", "report"):
        assert getattr(again, sort) == getattr(guest, sort)


# -- reports ---------------------------------------------------------------------------

ODD = arm('<axis xyz="0 0 1"/>').replace('izz="1"', 'izz="3"', 1)


def test_report_has_the_lines_of_each_machine_once(tmp_path):
    guest = read_text(tmp_path, ODD)
    builder = pp.ModelBuilder("host", strict=False)
    builder.add_body("light")
    builder.add_model(guest, "a ")
    builder.add_model(guest, "b ")
    host = builder.build()
    assert len(guest.report.implausible) == 1
    assert list(host.report)[: 2 * len(guest.report)] == [*guest.report, *guest.report]
    assert host.report[-1] == (
        "body 'light': nothing that joint 'light_joint' moves has mass, so forward dynamics is "
        "singular"
    )
    assert len(host.report) == 2 * len(guest.report) + 1


def test_joint_without_mass_is_told_of_once():
    light = pp.ModelBuilder("light", strict=False)
    light.add_body("a")
    builder = pp.ModelBuilder("host", strict=False)
    builder.add_model(light.build())
    assert len(builder.build().report) == 1


def test_strict_builder_refuses_an_implausible_machine(tmp_path):
    guest = read_text(tmp_path, ODD)
    builder = pp.ModelBuilder("host")
    with pytest.raises(ModelError) as caught:
        builder.add_model(guest)
    assert str(caught.value).startswith("add_model: 'trial': its report has 1 implausible line: ")
    assert "trial.urdf:2: body 'base': its principal moments break the triangle" in str(
        caught.value
    )
    assert str(caught.value).endswith("keep it as it is in a ModelBuilder(..., strict=False)")
    assert builder.build().bodies == ()


# -- refusals --------------------------------------------------------------------------

CLASHES = {
    "body": (
        lambda b: b.add_body("a", **BAR),
        "the names 'a' of its bodies or frames are taken in 'host'; give it a prefix, as "
        "prefix='everything_'",
    ),
    "frame": (lambda b: b.add_frame("tip", "world"), "the names 'tip' of its bodies or frames"),
    "welded link": (lambda b: b.add_body("lamp", **BAR), "the names 'lamp' of its bodies or fra"),
    "joint": (lambda b: b.add_body("x", joint_name="turn", **BAR), "the names 'turn' of its joi"),
    "closure": (lambda b: b.add_closure("rod", "x", "y"), "the names 'rod' of its closures are"),
    "coupling": (
        lambda b: b.add_coupling("cam", "x", "y", [1]),
        "the names 'cam' of its couplings are taken in 'host'",
    ),
    "keyframe": (lambda b: b.add_keyframe("home", {}), "the names 'home' of its keyframes are"),
    "all": (
        lambda b: b.add_model(everything()),
        "the names 'a', 'b', 'c', 'd', 'stand', 'lamp', ... of its bodies or frames are taken",
    ),
}


@pytest.mark.parametrize(("first", "message"), CLASHES.values(), ids=CLASHES)
def test_clash_of_names_is_refused_and_nothing_is_added(first, message):
    builder = pp.ModelBuilder("host")
    first(builder)
    before = {name: len(things) for name, things in sizes(builder).items()}
    with pytest.raises(ModelError) as caught:
        builder.add_model(everything())
    assert str(caught.value).startswith(f"add_model: 'everything': {message}")
    assert {name: len(things) for name, things in sizes(builder).items()} == before
    builder.add_model(everything(), "other ")


def sizes(builder):
    parts = vars(builder._parts)
    return {name: things for name, things in parts.items() if hasattr(things, "__len__")}


def test_clash_in_spite_of_a_prefix_asks_for_another():
    builder = pp.ModelBuilder("host")
    builder.add_model(everything(), "left ")
    with pytest.raises(ModelError, match="are taken in 'host'; give it another prefix, as prefix"):
        builder.add_model(everything(), "left ")


def test_name_that_becomes_the_worlds_is_refused():
    builder = pp.ModelBuilder("guest, the")
    builder.add_body("ld", **BAR)
    host = pp.ModelBuilder("host")
    with pytest.raises(ModelError, match=r"the names 'world' of its bodies .* prefix='left_'"):
        host.add_model(builder.build(), "wor")


WRONG = {
    "no machine": (("panda.urdf",), "add_model: model is 'panda.urdf'; expected a Model, as pp.lo"),
    "prefix": ((pp.chain(1), 1), "add_model: 'chain of 1': prefix is 1; expected a text, as 'left"),
    "parent": ((pp.chain(1), "", 3), "add_model: 'chain of 1': parent is 3; expected a body's na"),
    "place": (
        (pp.chain(1), "", "world", (0, math.nan, 0)),
        "add_model: 'chain of 1': position is (0, nan, 0); expected three finite numbers",
    ),
    "turn": (
        (pp.chain(1), "", "world", (0, 0, 0), np.ones((3, 3))),
        "add_model: 'chain of 1': rotation is no rotation matrix",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_argument_is_refused(arguments, message):
    builder = pp.ModelBuilder("host")
    with pytest.raises(ModelError) as caught:
        builder.add_model(*arguments)
    assert str(caught.value).startswith(message)
    assert builder.build().bodies == ()


def test_unknown_parent_is_refused_when_the_machine_is_built():
    builder = pp.ModelBuilder("host")
    builder.add_model(pp.chain(1), parent="tabel")
    builder.add_frame("table", "world")
    with pytest.raises(ModelError, match="body 'link1': unknown parent 'tabel'; did you mean 'tab"):
        builder.build()
    bench = pp.ModelBuilder("bench")
    bench.add_body("slab", joint=joints.Fixed(), mass=1.0)
    builder = pp.ModelBuilder("host")
    builder.add_model(bench.build(), parent="tabel")
    with pytest.raises(ModelError, match="add_model: unknown parent 'tabel'; valid names: 'world'"):
        builder.build()
