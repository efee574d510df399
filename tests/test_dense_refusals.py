"""as_matrix: what it refuses, and with which words."""

import tracemalloc

import numpy as np
import pytest
from refusals import Q2, refusal
from symbols import A, L, free_names, k, x

import phipsi as pp
from phipsi.lowering import dense
from phipsi.lowering.dense import as_matrix
from phipsi.operators import (
    C,
    H,
    H_dot,
    I,
    Jm,
    M,
    Mass,
    Q,
    S,
    S_q,
    T,
    V,
    X,
    a,
    b,
    beta,
    c,
    operator,
    phi,
    vector,
)

# -- what is refused -------------------------------------------------------------------


def test_model_and_expression_must_be_what_they_are_called(arm):
    assert refusal("arm", H, Q2) == "as_matrix: expected a Model, got str"
    assert refusal(arm, "H @", Q2).startswith("the text ends where a letter")
    assert refusal(arm, Q, Q2) == "as_matrix: expected an expression, or its text, got Opener"
    assert (
        refusal(arm, np.eye(2), Q2) == "as_matrix: expected an expression, or its text, got ndarray"
    )


def test_open_identity_has_no_matrix(arm):
    advice = "is open; compose it with an operator"
    assert refusal(arm, I, Q2) == f"as_matrix: the space of `I` {advice}"
    assert refusal(arm, 2 * I + I, Q2) == f"as_matrix: the space of `2 * I + I` {advice}"


@pytest.mark.parametrize(
    ("q", "message"),
    [
        ([0.0], "q has shape (1,); expected (*batch, 2), nq of 'planar arm of 2' being 2"),
        (0.0, "q has shape (); expected (*batch, 2), nq of 'planar arm of 2' being 2"),
        (None, "q: expected numbers, got None"),
        (np.zeros((2, 3)), "q has shape (2, 3)"),
        ([0.0, np.nan], "q[1] is nan; expected finite numbers"),
        ([0.0, -1e70], "q[1] is -1e+70; expected numbers below 1e+60"),
        ([[0.0, 1.0], [np.inf, 0.0]], "q[1, 0] is inf; expected finite numbers"),
        (["a", "b"], "q: expected numbers, got ['a', 'b']"),
        ([[0.0, 1.0], [2.0]], "q: expected numbers, got [[0.0, 1.0], [2.0]]"),
        ([object(), 1.0], "q: expected numbers, got "),
    ],
)
def test_configuration_that_is_none_is_refused(arm, q, message):
    assert refusal(arm, H, q).startswith(message)


def test_quaternion_must_have_length_one():
    craft = pp.examples.spacecraft()
    q = craft.neutral()
    q[:4] *= 2.0
    message = refusal(craft, H, q)
    assert message.startswith("q: the quaternion of joint 'root' has length 2; expected 1")


@pytest.mark.parametrize(
    ("v", "message"),
    [
        ([1.0], "v has shape (1,); expected (*batch, 2), nv of 'planar arm of 2' being 2"),
        ([1.0, np.nan], "v[1] is nan; expected finite numbers"),
        ("fast", "v: expected numbers, got 'fast'"),
    ],
)
def test_speeds_that_are_none_are_refused(arm, v, message):
    assert refusal(arm, V, Q2, v) == message


@pytest.mark.parametrize(
    "expression", [beta, V, a, b, C, Mass @ T - C, S[V], c("tip"), H_dot], ids=str
)
def test_missing_speeds_are_asked_for(arm, expression):
    values = {"T": np.zeros(2)} if "T" in str(expression) else {}
    assert refusal(arm, expression, Q2, **values) == (
        f"`{expression}` depends on the speeds: pass v=..."
    )


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        (T, "a vector of joint space"),
        (phi @ x, "a vector of body space"),
        (k * M, "a number"),
        (H @ A, "a block-diagonal map of body space to body space"),
        (L @ phi, "a block-diagonal map of body space to joint space"),
    ],
    ids=str,
)
def test_missing_value_is_asked_for(arm, expression, kind):
    (name,) = free_names(expression)
    assert refusal(arm, expression, Q2) == (
        f"`{expression}` needs a value for {name}, {kind}: pass {name}=..."
    )


def test_first_of_several_missing_values_is_asked_for(arm):
    """Deterministic: the order of the expression, not of a hash."""
    names = [f"z{i}" for i in range(8)]
    expression = sum(vector(name, "joint") for name in names)
    assert "needs a value for z0," in refusal(arm, expression, Q2)
    values = dict.fromkeys(names[:5], np.zeros(2))
    assert "needs a value for z5," in refusal(arm, expression, Q2, **values)


def test_unknown_value_lists_the_free_symbols(arm):
    message = refusal(arm, T - C, Q2, [0, 0], T=[0, 0], tau=[0, 0])
    assert message == "`T - C` has no free symbol 'tau'; valid names: 'T'"
    assert refusal(arm, H, Q2, M=3).endswith("; valid names: (none)")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            [0.0],
            "T has shape (1,); expected (*batch, 2), the size of joint space (nv) of "
            "'planar arm of 2' being 2",
        ),
        (0.0, "T has shape ()"),
        (None, "T: expected numbers, got None"),
        ([np.nan, 0.0], "T[0] is nan; expected finite numbers"),
        ("no", "T: expected numbers, got 'no'"),
    ],
)
def test_vector_value_that_is_none_is_refused(arm, value, message):
    assert refusal(arm, T, Q2, T=value).startswith(message)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            [np.eye(6)],
            "A: expected a list of 2 blocks, one per body of 'planar arm of 2', got 1",
        ),
        (3.0, "A: expected a list of 2 blocks, one per body of 'planar arm of 2', got float"),
        (np.zeros((3, 6, 6)), "A: expected a list of 2 blocks, one per body"),
        (
            [np.eye(6), np.eye(5)],
            "A[1] has shape (5, 5); expected (*batch, 6, 6), the block of body 'link2'; "
            "A is a list of blocks, one per body",
        ),
        ([np.eye(6), 1.0], "A[1] has shape (); expected (*batch, 6, 6)"),
        ([np.eye(6), np.full((6, 6), np.nan)], "A[1][0, 0] is nan; expected finite numbers"),
        ("AB", "A[0]: expected numbers, got 'A'"),
        (
            [np.zeros((2, 6, 6)), np.zeros((3, 6, 6))],
            "the batches do not broadcast: A[0] (2,), A[1] (3,)",
        ),
    ],
)
def test_blocks_that_do_not_fit_are_refused(arm, value, message):
    assert refusal(arm, A, Q2, A=value).startswith(message)


@pytest.mark.parametrize(
    ("space", "count", "each", "owner"),
    [
        ("joint", "2 blocks", "one per joint", "joint 'joint1'"),
        ("pose", "2 blocks", "one per body", "body 'link1'"),
        ("point", "1 block", "one per point", "point 0"),
        ("base", "1 block", "one in all", "base space"),
        ("coordinate", "1 block", "one in all", "coordinate space"),
    ],
)
def test_blocks_are_named_after_what_they_belong_to(arm, space, count, each, owner):
    Z = operator("Z", space, space)
    expression = Z + X("tip") if space == "point" else Z
    message = refusal(arm, expression, Q2, Z=[])
    assert message == f"Z: expected a list of {count}, {each} of 'planar arm of 2', got list"
    message = refusal(arm, expression, Q2, Z=np.zeros((int(count[0]), 7)))
    assert message.startswith("Z[0] has shape (7,); expected (*batch, ")
    assert message.endswith(f"), the block of {owner}; Z is a list of blocks, {each}")


def test_vector_of_coordinates_has_the_size_nv(arm):
    assert refusal(arm, S_q @ vector("w", "coordinate"), Q2, w=[1.0]) == (
        "w has shape (1,); expected (*batch, 2), nv of 'planar arm of 2' being 2"
    )


def test_scalar_value_that_is_none_is_refused(arm):
    assert refusal(arm, k * M, Q2, k="two") == "k: expected numbers, got 'two'"
    assert refusal(arm, k * M, Q2, k=np.nan) == "k is nan; expected finite numbers"


def test_two_symbols_of_one_name_are_refused(arm):
    """Also where a letter of the algebra has the name of none: only free ones can clash."""
    expression = H @ x + vector("x", "joint")
    assert refusal(arm, expression, Q2, x=np.zeros(12)) == (
        "two symbols are called 'x': a vector of body space, and a vector of joint space; "
        "rename one"
    )


@pytest.mark.parametrize("axes", ["World", "body", "", None, 3, np.array(["link", "world"])])
def test_unknown_axes_are_refused(arm, axes):
    message = refusal(arm, H, Q2, axes=axes)
    assert message.startswith(f"axes: unknown {axes!r}; ")
    assert "names: 'link', 'world'" in message
    assert message.endswith("; values go by name, as T=...") == (not isinstance(axes, str))


def test_batches_that_do_not_broadcast_are_refused(arm):
    message = refusal(arm, V, np.zeros((2, 2)), np.zeros((3, 2)))
    assert message == "the batches do not broadcast: q (2,), v (3,)"
    message = refusal(arm, Mass @ T, np.zeros((2, 2)), T=np.zeros((3, 2)))
    assert message == "the batches do not broadcast: q (2,), T (3,)"


# -- too large -------------------------------------------------------------------------


def test_machine_too_large_for_matrices_is_refused_before_memory_is_taken():
    model = pp.chain(20_000)
    q = model.neutral()
    blocks = [np.zeros((6, 6))] * len(model.bodies)
    for expression, values in ((Mass, {}), (Jm, {}), (A @ phi, {"A": blocks})):
        tracemalloc.start()
        message = refusal(model, expression, q, **values)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert message.startswith("as_matrix: 20000 bodies and batch () ask for up to ")
        assert message.endswith("matrices of 115 GB each; use a smaller machine or batch")
        assert peak < 40e6


def test_batch_too_large_for_matrices_is_refused(arm):
    q = np.zeros((2_000_000, 2))
    message = refusal(arm, Mass, q)
    assert message.startswith("as_matrix: 2 bodies and batch (2000000,) ask for up to ")
    many = np.zeros((2_000_000, 2))
    assert "batch (2000000,) ask for up to" in refusal(arm, Mass @ T, Q2, T=many)


def test_limit_is_about_memory_not_about_bodies():
    """A hundred bodies are a small machine."""
    model = pp.chain(100)
    assert as_matrix(model, H @ phi, model.neutral()).shape == (100, 600)
    assert dense.LARGEST < 1e10


def test_size_of_joint_space_is_explained_where_joints_follow_others():
    builder = pp.ModelBuilder("gripper")
    bar = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.1, 0.1, 0.1)}
    builder.add_body("finger", **bar)
    builder.add_body("thumb", mimic=("finger_joint", -1.0, 0.0), **bar)
    message = refusal(builder.build(), Mass @ T, [0.1], T=[1.0])
    assert message == (
        "T has shape (1,); expected (*batch, 2), the size of joint space (mimic joints count, "
        "nv is 1: S_q projects) of 'gripper' being 2"
    )
