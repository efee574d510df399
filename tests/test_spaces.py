"""What does not fit is refused when it is typed, with a sentence that says why."""

import operator as python
from fractions import Fraction

import numpy as np
import pytest

import phipsi as pp
from phipsi import operators
from phipsi.algebra.spaces import BODY, Space
from phipsi.operators import (
    HH,
    B,
    C,
    D,
    E,
    H,
    I,
    J,
    K,
    M,
    Mass,
    P,
    Q,
    S,
    S_q,
    T,
    U,
    V,
    alpha,
    beta,
    blockdiag,
    cross,
    f0,
    gravity,
    operator,
    phi,
    psi,
    scalar,
    vector,
)

k = scalar("k")
x = vector("x", "body")


def refusal(build, *arguments, error=pp.SpaceError):
    """The message of the error that `build(*arguments)` raises."""
    with pytest.raises(error) as caught:
        build(*arguments)
    assert isinstance(caught.value, pp.PhipsiError)
    return str(caught.value)


# -- products --------------------------------------------------------------------------


def test_misfit_is_told_word_for_word():
    assert refusal(lambda: phi @ M @ H) == (
        "cannot compose M @ H in `phi @ M @ H`\n"
        "  H maps body space to joint space; M starts from body space. Did you mean H.T?"
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: H @ beta,
            "cannot compose H @ beta in `H @ beta`\n"
            "  beta is a vector of joint space; H starts from body space. Did you mean H.T?",
        ),
        (
            lambda: H.T @ V,
            "cannot compose H.T @ V in `H.T @ V`\n"
            "  V is a vector of body space; H.T starts from joint space. Did you mean H?",
        ),
        (
            lambda: M @ (H @ phi),
            "cannot compose M @ H in `M @ H @ phi`\n"
            "  H maps body space to joint space; M starts from body space. "
            "Did you mean (H @ phi).T?",
        ),
        (
            lambda: (M + P) @ (2 * H),
            "cannot compose (M + P) @ (2 * H) in `(M + P) @ (2 * H)`\n"
            "  2 * H maps body space to joint space; (M + P) starts from body space. "
            "Did you mean (2 * H).T?",
        ),
        (
            lambda: 2 * phi @ H,
            "cannot compose 2 * phi @ H in `2 * phi @ H`\n"
            "  H maps body space to joint space; 2 * phi starts from body space. "
            "Did you mean H.T?",
        ),
        (
            lambda: beta @ beta,
            "cannot compose beta @ beta in `beta @ beta`\n"
            "  beta is a vector of joint space; beta is a vector. Did you mean beta.T?",
        ),
        (
            lambda: beta @ T,  # rather the inner product than the outer one
            "cannot compose beta @ T in `beta @ T`\n"
            "  T is a vector of joint space; beta is a vector. Did you mean beta.T?",
        ),
        (
            lambda: x @ H,
            "cannot compose x @ H in `x @ H`\n  H maps body space to joint space; x is a vector.",
        ),
        (
            lambda: S_q @ T,
            "cannot compose S_q @ T in `S_q @ T`\n"
            "  T is a vector of joint space; S_q starts from coordinate space. "
            "Did you mean S_q.T?",
        ),
        (
            lambda: phi @ E @ beta,
            "cannot compose E @ beta in `phi @ E @ beta`\n"
            "  beta is a vector of joint space; E starts from base space.",
        ),
        (
            lambda: k @ H,
            "cannot compose k @ H in `k @ H`\n"
            "  H maps body space to joint space; k starts from scalar space. "
            "Scalars multiply by *.",
        ),
        (
            lambda: (I - H @ psi @ K) @ M,
            "cannot compose (I - H @ psi @ K) @ M in `(I - H @ psi @ K) @ M`\n"
            "  M maps body space to body space; (I - H @ psi @ K) starts from joint space.",
        ),
    ],
)
def test_product_that_does_not_fit_quotes_the_whole_and_suggests_what_does(build, message):
    assert refusal(build) == message


@pytest.mark.parametrize(
    ("left", "right"), [(M, H), (H.T, V), (H, beta), (M, H @ phi), (S_q, T), (J, f0), (B.T, J)]
)
def test_suggested_transpose_fits(left, right):
    """What the message proposes can be composed."""
    suggestion = refusal(lambda: left @ right).split("Did you mean ")[1].rstrip("?")
    if suggestion == f"{left.T}":
        assert (left.T @ right).target is left.source
    else:
        assert suggestion in (f"{right.T}", f"({right}).T")
        assert (left @ right.T).source is right.target


# -- sums ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: H - M,
            "cannot add `H` and `-M` in `H - M`\n"
            "  `H` maps body space to joint space; `-M` maps body space to body space",
        ),
        (
            lambda: M + phi + H.T,
            "cannot add `M + phi` and `H.T` in `M + phi + H.T`\n"
            "  `M + phi` maps body space to body space; `H.T` maps joint space to body space",
        ),
        (
            lambda: H + H.T,
            "cannot add `H` and `H.T` in `H + H.T`\n"
            "  `H` maps body space to joint space; `H.T` maps joint space to body space. "
            "Did you mean H?",
        ),
        (
            lambda: T + V,
            "cannot add `T` and `V` in `T + V`\n"
            "  `T` is a vector of joint space; `V` is a vector of body space",
        ),
        (
            lambda: V + M,
            "cannot add `V` and `M` in `V + M`\n"
            "  `V` is a vector of body space; `M` maps body space to body space",
        ),
        (
            lambda: I + H,
            "cannot add `I` and `H` in `I + H`\n"
            "  `I` maps a space that is still open to itself; `H` maps body space to joint space",
        ),
        (
            lambda: T + I,
            "cannot add `T` and `I` in `T + I`\n"
            "  `T` is a vector of joint space; `I` maps a space that is still open to itself",
        ),
    ],
)
def test_sum_that_does_not_fit_shows_both_sides(build, message):
    assert refusal(build) == message


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: D + 2, "a number has no space in `D + ...`; write 2 * I"),
        (lambda: 2.5 + D, "a number has no space in `... + D`; write 2.5 * I"),
        (lambda: D - 1, "a number has no space in `D - ...`; write 1 * I"),
        (lambda: 1 - D, "a number has no space in `... - D`; write 1 * I"),
        (lambda: np.float64(3) + D, "a number has no space in `... + D`; write 3.0 * I"),
        (lambda: H @ 2, "a number has no space in `H @ ...`; write 2 * I"),
        (lambda: 2 @ H, "a number has no space in `... @ H`; write 2 * I"),
        (lambda: U - 1, "a number has no space in `U - ...`; write 1 * I"),
        (
            lambda: T - 1,
            "a number has no space in `T - ...`; name what you add with operators.vector(...)",
        ),
        (
            lambda: 1 + T.T,
            "a number has no space in `... + T.T`; name what you add with operators.vector(...)",
        ),
        (
            lambda: H + 1,
            "a number has no space in `H + ...`; name what you add with operators.operator(...)",
        ),
    ],
)
def test_number_has_no_space(build, message):
    assert refusal(build) == message


def test_what_the_message_about_numbers_proposes_works():
    assert str(D + 2 * I) == "D + 2 * I"
    assert str(1 * I - D) == "I - D"
    assert str(U - 1 * I) == "U - I"
    assert str(T - vector("ones", "joint")) == "T - ones"


# -- arrays ----------------------------------------------------------------------------

ADVICE = (
    "; name it with operators.vector(...) or operators.operator(...) "
    "and pass its value at evaluation"
)


@pytest.mark.parametrize(
    ("symbol", "apply"),
    [("@", python.matmul), ("+", python.add), ("-", python.sub)],
    ids=["matmul", "add", "sub"],
)
@pytest.mark.parametrize("array", [np.eye(2), np.ones(3), [1.0, 2.0], "text", None])
def test_arrays_are_refused_on_both_sides_with_advice(symbol, apply, array):
    kind = type(array).__name__
    assert refusal(apply, H, array) == (
        f"{kind} is no operator or vector in `H {symbol} ...`{ADVICE}"
    )
    assert refusal(apply, array, H) == (
        f"{kind} is no operator or vector in `... {symbol} H`{ADVICE}"
    )


def test_arrays_do_not_take_expressions_apart():
    """NumPy hands the operation to us, and makes no array of objects of it."""
    message = "cannot multiply `H` by array([1., 1., 1.]); expected a real number"
    assert refusal(lambda: np.ones(3) * H) == message
    assert refusal(lambda: H * np.ones(3)) == message
    assert (np.float64(2) * H).factor == 2.0


# -- scalars ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: M * P,
            "cannot multiply `M` and `P` by *\n  * is for scalars; did you mean `M @ P`?",
        ),
        (
            lambda: T * C,
            "cannot multiply `T` and `C` by *\n  * is for scalars; did you mean `T.T @ C`?",
        ),
        (
            lambda: (M + P) * V,
            "cannot multiply `M + P` and `V` by *\n  * is for scalars; did you mean `(M + P) @ V`?",
        ),
        (
            lambda: I * M,
            "cannot multiply `I` and `M` by *\n  * is for scalars; did you mean `I @ M`?",
        ),
        (
            lambda: M * H,
            "cannot multiply `M` and `H` by *\n  * is for scalars; operators compose by @",
        ),
        (lambda: 2j * M, "cannot multiply `M` by 2j; expected a real number"),
        (lambda: M * "a", "cannot multiply `M` by 'a'; expected a real number"),
        (lambda: True * M, "cannot multiply `M` by True; expected a real number"),
        (lambda: None * M, "cannot multiply `M` by None; expected a real number"),
        (lambda: float("nan") * M, "cannot multiply `M` by nan; expected a finite number"),
        (lambda: M * np.inf, "cannot multiply `M` by inf; expected a finite number"),
        (
            lambda: 1e200 * (1e200 * M),
            "cannot multiply `1e+200 * M` by inf; expected a finite number",
        ),
        (lambda: M / 0, "cannot divide `M` by zero"),
        (lambda: M / P, "cannot divide `M` by P; multiply by its .inv instead"),
        (lambda: 1 / M, "cannot divide 1 by `M`; multiply by its .inv instead"),
    ],
)
def test_scalar_that_is_none_is_refused(build, message):
    assert refusal(build) == message


def test_integer_beyond_the_floats_is_refused():
    assert refusal(lambda: 10**400 * M).endswith("expected a finite number")
    assert refusal(lambda: M / 10**400).endswith("expected a finite number")
    assert refusal(lambda: M / 1e-320) == "cannot multiply `M` by inf; expected a finite number"
    assert refusal(lambda: M / Fraction(1, 10**400)) == "cannot divide `M` by zero"


def test_scalar_expressions_multiply_from_both_sides():
    energy = beta.T @ Mass @ beta
    assert str(energy * M) == str(energy * M) == "beta.T @ Mass @ beta * M"
    assert M * energy == energy * M
    assert (energy * M).source is BODY


# -- functions -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: H.inv,
            "cannot invert `H`\n  `H` maps body space to joint space; "
            "only what maps a space to itself has an inverse",
        ),
        (
            lambda: (T - C).inv,
            "cannot invert `T - C`\n  `T - C` is a vector of joint space; "
            "only what maps a space to itself has an inverse",
        ),
        (
            lambda: phi.sqrt,
            "cannot take the square root of `phi`\n  `phi` maps body space to body space and is "
            "causal; sqrt is for memoryless maps of a space to itself, such as D",
        ),
        (
            lambda: Mass.sqrt,
            "cannot take the square root of `Mass`\n  `Mass` maps joint space to joint space and "
            "is mixed; sqrt is for memoryless maps of a space to itself, such as D",
        ),
        (
            lambda: (x @ x.T).sqrt,
            "cannot take the square root of `x @ x.T`\n  `x @ x.T` maps body space to body space "
            "and is mixed; sqrt is for memoryless maps of a space to itself, such as D",
        ),
        (
            lambda: H.sqrt,
            "cannot take the square root of `H`\n  `H` maps body space to joint space and is "
            "memoryless; sqrt is for memoryless maps of a space to itself, such as D",
        ),
        (
            lambda: blockdiag(V),
            "cannot take blockdiag(V)\n  `V` is a vector of body space; only a map between bodies "
            "and joints, or of a space to itself, has blocks on a diagonal",
        ),
        (
            lambda: blockdiag(phi @ B),
            "cannot take blockdiag(phi @ B)\n  `phi @ B` maps point space to body space; only a "
            "map between bodies and joints, or of a space to itself, has blocks on a diagonal",
        ),
        (lambda: blockdiag(3), "cannot take blockdiag(3); expected an expression"),
    ],
)
def test_function_of_what_it_is_not_for_is_refused(build, message):
    assert refusal(build) == message


@pytest.mark.parametrize("bracket", [S, Q, cross], ids=["S", "Q", "cross"])
@pytest.mark.parametrize("inside", [beta, M, I, f0, k, 3, "V", None], ids=str)
def test_bracket_takes_a_body_vector_and_nothing_else(bracket, inside):
    name = "S" if bracket is S else bracket.name
    assert refusal(lambda: bracket[inside]) == (
        f"cannot take {name}[{inside}]\n  {name}[.] takes a vector of body space, such as V"
    )


def test_bracket_takes_any_body_vector():
    for vector_ in (V, x, phi.T @ H.T @ beta, 2 * x, E @ gravity, alpha):
        assert (S[vector_].source, S[vector_].target) == (BODY, BODY)


@pytest.mark.parametrize("name", ["Q", "cross"])
def test_opener_alone_is_no_operator(name):
    opener = {"Q": Q, "cross": cross}[name]
    message = (
        f"{name} is no operator by itself in `H @ ...`; "
        f"write {name}[x] with a vector x of body space"
    )
    assert refusal(lambda: H @ opener) == message
    assert refusal(lambda: opener @ H) == message.replace("H @ ...", "... @ H")


# -- the user's own --------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["", "2x", "a b", "lambda", "None", "x.y", 3, None], ids=lambda name: repr(name)
)
def test_symbol_needs_an_identifier(name):
    for make in (lambda: operator(name, "body", "body"), lambda: vector(name, "body")):
        assert refusal(make, error=pp.InputError) == (
            f"a symbol needs a name that is an identifier, got {name!r}"
        )
    assert refusal(scalar, name, error=pp.InputError)


@pytest.mark.parametrize("name", ["H", "phi", "I", "Q", "cross", "S_q", "T"])
def test_a_symbol_may_have_the_name_of_a_letter_and_is_another_one(name):
    own = vector(name, "body")
    assert own != getattr(operators, name)
    assert pp.parse(f"phi' {name}" if name != "phi" else name, symbols=[own]).factors[-1] is own


@pytest.mark.parametrize("name", ["model", "expression", "q", "v", "axes", "points"])
def test_arguments_of_functions_are_taken(name):
    assert refusal(scalar, name, error=pp.InputError) == (
        f"the name {name!r} is an argument of as_matrix and of compiled functions; "
        "choose another one"
    )


@pytest.mark.parametrize("space", ["bodies", 3, None, [], Space("wheel", "a wheel")])
def test_unknown_space_lists_the_known_ones(space):
    message = refusal(vector, "z", space, error=pp.InputError)
    assert message.startswith("no space ")
    assert message.endswith(
        "names: 'body', 'joint', 'point', 'base', 'coordinate', 'pose', 'scalar'"
    )


def test_misspelt_space_gets_a_hint():
    assert "did you mean 'joint'?" in refusal(vector, "z", "joints", error=pp.InputError)


@pytest.mark.parametrize(
    ("source", "target"),
    [("scalar", "body"), ("body", "point"), ("base", "body"), ("coordinate", "joint")],
)
def test_operator_without_a_diagonal_is_refused(source, target):
    assert refusal(operator, "Z", source, target) == (
        f"cannot make Z from {source} space to {target} space: it has no diagonal\n"
        "  a block-diagonal operator maps between bodies and joints, or a space to itself, "
        "a dense one from or to a space(...) of your own; see also vector(...)"
    )


@pytest.mark.parametrize(
    ("source", "target"),
    [("body", "joint"), ("joint", "body"), ("point", "point"), ("base", "base"), (BODY, BODY)],
)
def test_operator_between_paired_spaces_is_made(source, target):
    made = operator("Z", source, target)
    assert made.free
    assert made.causality.value == "memoryless"


def test_letter_refuses_arguments_it_cannot_keep():
    assert refusal(lambda: HH(), error=pp.InputError) == "HH(): expected at least one argument"
    assert refusal(lambda: HH([1]), error=pp.InputError) == (
        "HH(...): expected names, numbers or points, got [1]"
    )
    assert refusal(lambda: B(np.zeros(3)), error=pp.InputError).startswith("B(...): expected")


def test_refused_expression_leaves_its_parts_as_they_were():
    product = phi @ M
    refusal(lambda: product @ H)
    assert str(product) == "phi @ M"
    assert (product @ H.T).source.name == "joint"


# -- what other notations write ----------------------------------------------------------

CALLED = "evaluate it by pp.compile(model, expression)(q, ...)"
SQUARE_ONLY = "only what maps a space to itself has powers"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: S(V), "S takes a vector of bodies in brackets; write S[V]"),
        (lambda: Q(V), "Q takes a vector of bodies in brackets; write Q[V]"),
        (lambda: cross(2 * V), "cross takes a vector of bodies in brackets; write cross[2 * V]"),
        (lambda: cross(), "cross takes a vector of bodies in brackets; write cross[x]"),
        (lambda: S(2), "S takes a vector of bodies in brackets; write S[x]"),
        (lambda: phi(V), "`phi` is no function; write phi @ V"),
        (lambda: (M + P)(V), "`M + P` is no function; write (M + P) @ V"),
        (lambda: phi(2), "`phi` is no function; write 2 * phi"),
        (lambda: Mass([0.0, 0.0]), f"`Mass` is no function; {CALLED}"),
        (lambda: V(), f"`V` is no function; {CALLED}"),
        (
            lambda: V[0],
            "`V` has no entries until it is evaluated; index the array that a compiled function "
            "or as_matrix returns",
        ),
        (
            lambda: Mass**2,
            "cannot raise `Mass` to a power; write Mass @ Mass, or .inv, or .sqrt",
        ),
        (
            lambda: (M + P) ** -1,
            "cannot raise `M + P` to a power; write (M + P) @ (M + P), or .inv, or .sqrt",
        ),
        (lambda: V**2, "cannot raise `V` to a power; write V.T @ V"),
        (lambda: U**2, "cannot raise `U` to a power; write U * U, or .inv, or .sqrt"),
        (
            lambda: H**2,
            "cannot raise `H` to a power; `H` maps body space to joint space; " + SQUARE_ONLY,
        ),
    ],
)
def test_other_notation_is_answered_with_ours(build, message):
    assert refusal(build) == message


def test_expression_is_no_sequence():
    """Although it answers V[0]."""
    for use in (iter, tuple, lambda x: 0 in x):
        with pytest.raises(TypeError, match="not iterable"):
            use(V)
