"""as_matrix: points and joints by name."""

import machines
import numpy as np
import pytest
from refusals import Q2, refusal
from symbols import assert_close

import phipsi as pp
from phipsi.lowering.dense import as_matrix
from phipsi.model.tree import WORLD
from phipsi.operators import HH, B, Gamma_delta, I, J, M, Mass, X, c, f0, operator


@pytest.mark.parametrize("expression", [B, J, J @ Mass.inv @ J.T, B @ f0, X, c], ids=str)
def test_points_must_be_passed_or_written(arm, expression):
    values = {"f0": np.zeros(6)} if "f0" in str(expression) else {}
    assert refusal(arm, expression, Q2, [1.0, 2.0], **values) == (
        "B, J, X and c stand for points: pass points=[pp.point(...), ...] or write B(pp.point(...))"
    )


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], "points: the list is empty; pass points=[pp.point(...), ...]"),
        (5, "points: expected a list of pp.point(...), got 5"),
        ([[0, 0, 0]], "points: expected pp.point(body_or_frame, position), got [0, 0, 0]"),
        ([None], "points: expected pp.point(body_or_frame, position), got None"),
        (
            {"tip": (0, 0, 0.1)},
            "points: expected a list of pp.point(name, position), got a dict",
        ),
        ({"tip", "link2"}, "points: expected a list of pp.point(name, position), got a set"),
    ],
)
def test_points_that_are_none_are_refused(arm, points, message):
    assert refusal(arm, J, Q2, points=points) == message


def test_body_or_frame_is_asked_for_by_name(arm):
    for one in (arm.body("link2"), arm.frame("tip")):
        for points in (one, [one]):
            assert refusal(arm, J, Q2, points=points) == (
                f"points: expected a name, got a {type(one).__name__}; write {one.name!r} "
                f"or pp.point({one.name!r}, position)"
            )


def test_letter_at_something_else_than_points_is_refused(arm):
    message = refusal(arm, J(5), Q2)
    assert message == "points: expected pp.point(body_or_frame, position), got 5"


def test_name_stands_for_the_origin_of_its_frame(arm):
    """A frame's name, or a single point, where points are asked for."""
    tip = pp.point("tip")
    known = pp.as_matrix(arm, J(tip), Q2, axes="world")
    for expression, points in ((J("tip"), None), (J, "tip"), (J, ["tip"]), (J, tip)):
        assert np.array_equal(pp.as_matrix(arm, expression, Q2, None, "world", points), known)
    assert "has no frame 'tpi'; did you mean 'tip'?" in refusal(arm, J("tpi"), Q2)


def test_unknown_frame_of_a_point_lists_the_known_ones(arm):
    for expression, points in ((J, [pp.point("tpi")]), (J(pp.point("tpi")), None)):
        assert refusal(arm, expression, Q2, points=points) == (
            "'planar arm of 2' has no frame 'tpi'; did you mean 'tip'? "
            "Valid names: 'tip', 'link1', 'link2'"
        )


def test_point_space_without_points_has_no_size(arm):
    message = "the expression maps point space: pass points=[pp.point(...), ...]"
    assert refusal(arm, f0, Q2, f0=np.zeros(6)) == message
    Z = operator("Z", "point", "point")
    assert refusal(arm, Z, Q2, Z=[np.eye(6)]) == message


def test_different_numbers_of_points_do_not_mix(arm):
    tip, elbow = pp.point("tip"), pp.point("link2")
    mixed = J(tip) + J(tip, elbow)
    assert refusal(arm, mixed, Q2) == f"`{mixed}` mixes letters at different numbers of points"
    mixed = X(tip) @ c(tip, elbow)
    assert refusal(arm, mixed, Q2, [1.0, 2.0]) == (
        f"`{mixed}` mixes letters at different numbers of points"
    )
    mixed = B(tip) @ J(tip, elbow)
    assert refusal(arm, mixed, Q2) == f"`{mixed}` mixes letters at different numbers of points"
    unclear = B(tip) @ f0 + B(tip, elbow) @ f0
    assert refusal(arm, unclear, Q2, f0=np.zeros(6)) == (
        "the size of point space is not clear: the expression has letters at 1 and 2 points"
    )


def test_letters_at_different_points_mix_where_the_spaces_allow(arm):
    tip, elbow = pp.point("tip"), pp.point("link2")
    both = as_matrix(arm, J, Q2, points=[tip, elbow])
    assert np.array_equal(as_matrix(arm, J(tip, elbow), Q2), both)
    assert_close(as_matrix(arm, J(tip) @ J(tip, elbow).T, Q2), both[:6] @ both.T)
    assert_close(as_matrix(arm, J(tip) - J(elbow), Q2), both[:6] - both[6:])
    bare_and_own = as_matrix(arm, J - J(elbow), Q2, points=[tip])
    assert_close(bare_and_own, both[:6] - both[6:])
    assert_close(as_matrix(arm, I + J(tip) @ J(elbow).T, Q2), np.eye(6) + both[:6] @ both[6:].T)
    v, points = [1.0, 2.0], [tip, elbow]
    both = as_matrix(arm, c, Q2, v, points=points)
    assert np.array_equal(as_matrix(arm, c(tip, elbow), Q2, v), both)
    apart = as_matrix(arm, c(tip) @ c(elbow, tip).T, Q2, v, axes="world")
    assert apart.shape == (6, 12)
    turns = as_matrix(arm, X, Q2, points=points)
    assert np.array_equal(as_matrix(arm, X(elbow), Q2, points=points), turns[6:, 6:])
    at_tip, at_elbow = (turns @ both).reshape(2, 6)
    difference = as_matrix(arm, X(tip) @ c(tip) - X(elbow) @ c(elbow), Q2, v)
    assert_close(difference, at_tip - at_elbow)


def test_points_on_one_body_are_coupled(arm):
    """B* M B is memoryless, yet joins two points of one body: inverse and root see both."""
    points = [pp.point("link2"), pp.point("tip")]
    Z = operator("Z", "point", "point")
    coupled = Z + B.T @ M @ B
    assert coupled.causality.value == "memoryless"
    known = {"points": points, "Z": [np.eye(6), 2 * np.eye(6)]}
    matrix = as_matrix(arm, coupled, Q2, **known)
    assert matrix[:6, 6:].any()
    assert_close(as_matrix(arm, coupled.inv, Q2, **known), np.linalg.inv(matrix))
    root = as_matrix(arm, coupled.sqrt, Q2, **known)
    assert_close(root @ root.T, matrix)


def test_points_on_the_world_do_not_move():
    model = machines.MARKET["welded"]()
    on_world = [frame.name for frame in model.frames if frame.body == WORLD]
    assert on_world == ["stand"]
    q = model.random(np.random.default_rng(0))
    points = [pp.point("stand", (1.0, 2.0, 3.0)), pp.point("tip")]
    for axes in ("link", "world"):
        matrix = as_matrix(model, J, q, axes=axes, points=points)
        assert not matrix[:6].any()
        assert matrix[6:].any()
        convective = as_matrix(model, c, q, np.ones(model.nv), axes=axes, points=points)
        assert not convective[:6].any()
        assert convective[6:].any()
    turns = as_matrix(model, X, q, points=points)
    assert np.array_equal(turns[:6], np.eye(6, 12))
    assert np.abs(turns[6:, 6:] - np.eye(6)).max() > 0.1


@pytest.mark.parametrize(
    ("letter", "message"),
    [
        (
            HH,
            "HH, HH_s, HH_delta and Gamma_delta belong to a joint and one of its speeds, at and "
            "at_joint to a body: "
            "write HH(joint) or HH(joint, axis)",
        ),
        (Gamma_delta, "HH, HH_s, HH_delta and Gamma_delta belong to a joint"),
        (HH(0, 0, 0), "HH, HH_s, HH_delta and Gamma_delta belong to a joint"),
        (
            HH("joint3"),
            "'planar arm of 2' has no joint or body 'joint3'; did you mean 'joint2'? "
            "Valid names: 'joint1', 'joint2', 'link1', 'link2'",
        ),
        (HH(2), "no joint 2; expected a name or a number from 0 to 1"),
        (HH(-3), "no joint -3; expected a name or a number from 0 to 1"),
        (HH(True), "no joint True; expected a name or a number from 0 to 1"),
        (HH(1.5), "no joint 1.5; expected a name or a number from 0 to 1"),
        (HH(None), "no joint None; expected a name or a number from 0 to 1"),
        (HH(0, 1), "joint 'joint1' has no speed 1; expected a number from 0 to 0"),
        (Gamma_delta(0, -1), "joint 'joint1' has no speed -1; expected a number from 0 to 0"),
        (HH(0, "x"), "joint 'joint1' has no speed 'x'; expected a number from 0 to 0"),
    ],
    ids=str,
)
def test_joint_or_speed_that_is_none_is_refused(arm, letter, message):
    assert refusal(arm, letter, Q2).startswith(message)


@pytest.mark.parametrize("wrong", ["tip", None, np.zeros(3)], ids=repr)
def test_only_a_point_can_be_located(arm, wrong):
    with pytest.raises(pp.InputError, match=r"^locate: expected pp.point\(body_or_frame"):
        arm.locate(wrong)


@pytest.mark.parametrize("wrong", [None, 3, np.array(["world", "tip"])], ids=repr)
def test_only_a_name_finds_a_frame(arm, wrong):
    with pytest.raises(pp.InputError, match="has no frame"):
        arm.frame(wrong)
