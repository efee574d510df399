"""Blocks of operators and vectors: phi(i, j), V(k), as text and as numbers."""

import machines
import numpy as np
import pytest
from symbols import assert_close

import phipsi as pp
from phipsi.algebra.identities.equation import read_requirement
from phipsi.operators import (
    HH,
    C,
    D,
    H,
    M,
    Mass,
    Omega,
    T,
    V,
    at,
    at_joint,
    beta,
    blockdiag,
    f,
    operator,
    phi,
    psi,
    vector,
)

MACHINE = "forest"  # bodies 0, 1, 2 follow one another; 4 is in another tree

TEXTS = {
    "φ(0, 1)": at(0) @ phi @ at(1),
    r"\phi\left(0, 1\right)": at(0) @ phi @ at(1),
    "phi('body0', 'body1')": at("body0") @ phi @ at("body1"),
    "ψ*(0, 1)": (at(0) @ psi @ at(1)).T,
    "H(2)": at_joint(2) @ H @ at(2),
    "D(1, 1)": at_joint(1) @ D @ at_joint(1),
    "V(2)": at(2) @ V,
    "T(2)": at_joint(2) @ T,
    "Ω(2, 1) M(1) V(1)": at(2) @ Omega @ at(1) @ at(1) @ M @ at(1) @ at(1) @ V,
    "at(0) f": at(0) @ f,
    "(M(2) + M)": at(2) @ M @ at(2) + M,
    "D^-1(3)": at_joint(3) @ D.inv @ at_joint(3),
    "D⁻¹(3)": at_joint(3) @ D.inv @ at_joint(3),
    r"D^{-1}\left(3\right)": at_joint(3) @ D.inv @ at_joint(3),
    "D(3)^-1": at_joint(3) @ D.inv @ at_joint(3),
    "(D('a'))^{-1}": at_joint("a") @ D.inv @ at_joint("a"),
    "inv(D(3))": at_joint(3) @ D.inv @ at_joint(3),
    "D(3)^{1/2}": at_joint(3) @ D.sqrt @ at_joint(3),
    "D^{-1/2}(3)": at_joint(3) @ D.sqrt.inv @ at_joint(3),
    "D(3)^{-*}": (at_joint(3) @ D.inv @ at_joint(3)).T,
    "D(3)*^-1": at_joint(3) @ D.T.inv @ at_joint(3),
    "D*(3)^-1": at_joint(3) @ D.T.inv @ at_joint(3),
    "((at_joint(3) D at_joint(3))*)^-1": (at_joint(3) @ D @ at_joint(3)).T.inv,
    "Mass^-1(1, 2)": at_joint(1) @ Mass.inv @ at_joint(2),
    "Mass(1, 1)^-1": at_joint(1) @ blockdiag(Mass).inv @ at_joint(1),
    "M(2)^2": at(2) @ M @ at(2) @ at(2) @ M @ at(2),
    "(at_joint(3) D at_joint(3))^-1": (at_joint(3) @ D @ at_joint(3)).inv,
    "at(-1) phi at(-2)": at(-1) @ phi @ at(-2),
}


@pytest.mark.parametrize("text", TEXTS)
def test_elements_are_read_and_what_is_written_is_read_back(text):
    expression = pp.parse(text)
    assert expression == TEXTS[text]
    for written in (str(expression), expression.unicode(), expression.latex()):
        assert pp.parse(written) == expression


def test_elements_are_written_as_the_papers_write_them():
    assert pp.parse("phi(0,1) M(1) V(1)").unicode() == "φ(0, 1) M(1) V(1)"
    assert pp.parse("phi('a','b')").latex() == r"\phi\left(\text{a}, \text{b}\right)"


@pytest.fixture(scope="module")
def state():
    model = machines.MARKET[MACHINE]()
    return model, *machines.random_state(model, np.random.default_rng(4))


@pytest.mark.parametrize("operator_and_text", [(phi, "phi"), (psi, "psi"), (Omega, "Omega")])
@pytest.mark.parametrize("places", [(0, 1), (1, 0), (2, 2), (4, 1)])
def test_an_element_is_that_block_and_zero_elsewhere(state, operator_and_text, places):
    model, q, _ = state
    whole, text = operator_and_text
    i, j = (slice(6 * k, 6 * k + 6) for k in places)
    expected = np.zeros_like(matrix := pp.as_matrix(model, whole, q))
    expected[i, j] = matrix[i, j]
    element = pp.parse(f"{text}{places}")
    assert_close(pp.as_matrix(model, element, q), expected, 1.0)
    assert_close(pp.compile(model, element)(q), expected, 1.0)


def test_elements_multiply_as_blocks_do(state):
    """phi(i,k) phi(k,j) = phi(i,j) [001 (4)]; V(k) = phi*(p,k) V(p) + H*(k) beta(k) [001 (7)]."""
    model, q, v = state
    for left, right in (
        ("phi(0,1) phi(1,2)", "phi(0,2)"),
        ("phi*(1,2) V(1) + H*(2) beta(2)", "V(2)"),
    ):
        sides = [pp.as_matrix(model, pp.parse(x), q, v) for x in (left, right)]
        assert_close(*sides)


@pytest.mark.parametrize("unroll", [True, False])
def test_elements_are_compiled(state, unroll):
    model, q, v = state
    expressions = [at(1) @ V, at_joint(2) @ beta, at(0) @ phi @ at(1) @ M @ V, at(2) @ M @ at(2)]
    found = pp.compile(model, expressions, unroll=unroll, backend="llvm")(q, v)
    for expression, value in zip(expressions, found, strict=True):
        assert_close(value, pp.as_matrix(model, expression, q, v))


def test_elements_are_explained():
    assert "at(1)" in str(pp.explain("V(1)"))


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("phi(i, j)", pp.InputError, "a body of an element stands in quotes, or is a number"),
        ("phi(k+1, k)", pp.InputError, "a body of an element stands in quotes, or is a number"),
        ("J(k-1)", pp.InputError, "a body, a frame or a joint stands in quotes"),
        ("phi(2)", pp.SpaceError, "an element of `phi` has 2 places, got 1"),
        ("V(1, 2)", pp.SpaceError, "an element of `V` has 1 places, got 2"),
        ("gravity(1)", pp.SpaceError, "`gravity` has no elements by bodies"),
        ("phi(-1, 0)", pp.InputError, "no body has the number -1: bodies of elements go by"),
        ("phi(1.5, 0)", pp.InputError, "no body has the number 1.5"),
        ("phi('a', (1, 2))", pp.InputError, r"no body \(1, 2\) for an element of `phi`"),
        ("phi^-1(2, 1)", pp.InputError, r"could be the inverse of phi\(2, 1\), or an element of"),
        ("phi(2, 1)^-1", pp.SpaceError, "off the diagonal has no inverse here"),
        ("Mass(2, 1)^{1/2}", pp.SpaceError, "off the diagonal has no square root here"),
        ("H(1)^-1", pp.SpaceError, "cannot invert"),
        ("D^{-1}(k)", pp.InputError, "a body of an element stands in quotes, or is a number"),
        ("D^-1 (3)", pp.InputError, "a number stands before what it multiplies"),
        ("J(0)", pp.InputError, r"J is of points, which have no numbers: J\(point\('tool'\)\)"),
    ],
)
def test_what_is_no_element_is_refused(text, kind, message):
    with pytest.raises(kind, match=message):
        pp.parse(text)


def test_bodies_that_are_not_there_are_refused(state):
    model, q, _ = state
    for element in (pp.parse("phi('nobody', 1)"), pp.parse("phi(99, 1)")):
        with pytest.raises(pp.InputError):
            pp.as_matrix(model, element, q)
    A = operator("A", "body", "body")
    assert pp.parse("A(2)", symbols=[A]) == at(2) @ A @ at(2)


@pytest.mark.parametrize(
    ("text", "notation", "message"),
    [
        ("φ(1,0)", "003", "0 is the tip in 003, no body: bodies of elements go by"),
        ("a(0)", "001", r"0 is the tip in 001, a point and no body.*B\* V is the tip's velocity"),
        ("φ(-1,2)", "001", "no body has the number -1"),
        (r"\mathbb{H}^{0}", "000", "0 is the tip in 000"),
    ],
)
def test_numbers_that_a_paper_does_not_have_are_refused(text, notation, message):
    with pytest.raises(pp.InputError, match=message):
        pp.parse(text, notation=notation)


def test_numbers_of_a_paper_count_from_the_tip_and_names_are_names():
    assert pp.parse("φ(2,1)", notation="003") == at(-2) @ phi @ at(-1)
    assert pp.parse("φ('arm','hand')", notation="003") == at("arm") @ phi @ at("hand")
    assert pp.parse(r"\mathbb{H}^2", notation="000") == HH(-2)
    assert pp.parse("HH(2) at(2)", notation="000") == HH(2) @ at(2)
    assert (at(-2) @ phi @ at(-1)).latex(notation="001") == r"\phi\left(2, 1\right)"
    assert (at(-2) @ phi @ at(-1)).unicode() == "at(-2) φ at(-1)"
    assert (at(2) @ phi @ at(1)).unicode(notation="001") == "at(2) φ at(1)"
    assert (at_joint(-1) @ (T - C)).unicode(notation="002") == "T̂(1)"


@pytest.mark.parametrize("unroll", [True, False])
def test_numbers_below_zero_count_from_the_end(state, unroll):
    model, q, v = state
    n = len(model.bodies)
    for below, above in (
        (at(-1) @ V, at(n - 1) @ V),
        (at(-n) @ phi @ at(2 - n), at(0) @ phi @ at(2)),
        (HH(-2) @ V, HH(n - 2) @ V),
    ):
        assert_close(*(pp.as_matrix(model, x, q, v) for x in (below, above)), scale=1.0)
        found = pp.compile(model, [below, above], unroll=unroll)
        arguments = (q, v)[: len(found.inputs)]
        assert_close(*found(*arguments), scale=1.0)
    with pytest.raises(pp.InputError, match=f"no joint {-n - 1}"):
        pp.as_matrix(model, at(-n - 1), q)


# -- elements along a path -----------------------------------------------------------------

ALONG = {
    "phi(0,1) phi(1,2)": "phi(0,2)",
    "phi(0,1) phi(1,2) M(2) V(2)": "phi(0,2) M(2) V(2)",
    "psi*(1,2) psi*(0,1)": "psi*(0,2)",
}


@pytest.mark.parametrize("text", ALONG)
def test_elements_multiply_along_a_path_that_is_assumed(state, text):
    """[001 (4)]. Witness: dense matrices, where the bodies lie so; other machines are refused."""
    model, _, _ = state
    found = pp.derive(text, to=ALONG[text], assume=pp.OnPath(0, 1, 2))
    assert not found.missing and found.conditions == (pp.OnPath(0, 1, 2),)
    assert found.check().ok and found.check(model).ok
    star = machines.MARKET["star_of_free_bodies"]()
    with pytest.raises(pp.InputError, match=r"1, 2 on one path; .* is not such a machine"):
        found.check(star)
    with pytest.raises(pp.InputError, match="has no body 2; it has 2"):
        found.check(pp.chain(2))


@pytest.mark.parametrize("assume", [(), "serial chains", pp.OnPath(0, 2, 1), pp.OnPath(1, 2, 3)])
def test_elements_do_not_multiply_without_their_path(assume):
    """Serial chains are not enough: bodies may be of two chains."""
    found = pp.derive("phi(0,1) phi(1,2)", to="phi(0,2)", assume=assume, bound=8)
    assert found.missing and not found.check().ok
    assert '"bodies 0, 1, 2 on one path"' in found.verdict


def test_a_path_that_is_missing_is_named_from_the_base_outward():
    found = pp.derive("phi*(1,2) phi*(0,1)", to="phi*(0,2)", bound=8)
    assert '"bodies 0, 1, 2 on one path"' in found.verdict
    mixed = pp.derive("phi(0,1) M(1) phi*(2,1)", to="phi(0,2)", bound=4)
    assert "on one path" not in mixed.verdict


def test_a_path_that_no_machine_has_cannot_be_checked():
    found = pp.derive("phi(2,1) phi(1,0)", to="phi(2,0)", assume=pp.OnPath(2, 1, 0))
    assert not found.missing
    with pytest.raises(pp.SolveError, match="no random machine"):
        found.check()


def test_paths_name_bodies_as_elements_do():
    """Names, numbers from the base and from the tip; longer paths; as text, as commands have it."""
    along, whole = at("a") @ phi @ at(-2) @ phi @ at(-1), at("a") @ phi @ at(-1)
    for path in (pp.OnPath("a", -2, -1), "bodies 'a', -2, -1 on one path"):
        found = pp.derive(along, to=whole, assume=path)
        assert not found.missing and found.check(machines=2).ok
    found = pp.derive("phi(0,7) phi(7,8) phi(8,9)", to="phi(0,9)", assume=pp.OnPath(0, 7, 8, 9))
    assert not found.missing and found.check(machines=2).ok


def test_elements_on_the_diagonal_are_one():
    found = pp.derive("phi(0,1) psi(1,1)", to="phi(0,1)")
    assert not found.conditions and found.check().ok


NOT_BODIES = [(), (0, 1), (0, 1, 2.0), (0, True, 1), (0, "", 1), ("a", " ", "b")]


@pytest.mark.parametrize("bodies", NOT_BODIES)
def test_what_is_no_path_is_refused(bodies):
    with pytest.raises(pp.InputError, match="OnPath: expected names or numbers of three bodies"):
        pp.OnPath(*bodies)


def test_a_path_has_each_body_once():
    for given in ((0, 1, 0), ("a", "b", "b")):
        with pytest.raises(pp.InputError, match="OnPath: expected each body once, got"):
            pp.OnPath(*given)
    there_and_back = pp.derive("phi(0,1) phi(1,0)", to="phi(0,0)", bound=4)
    assert there_and_back.missing and "on one path" not in there_and_back.verdict


NAMES = ["hand", "left hand", "a, b", "0", "it's", 'say "x"', " padded", "two\nlines", "\\"]


@pytest.mark.parametrize("name", NAMES)
def test_the_text_of_a_path_is_read_back(name):
    path = pp.OnPath(0, name, -1)
    assert read_requirement(str(path)) == path


def test_plain_names_of_a_path_need_no_quotes():
    path = pp.OnPath(0, "left hand", "tip")
    assert read_requirement("bodies 0,left hand , tip on one path") == path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bodies ,, on one path", "no condition 'bodies ,, on one path'"),
        ("bodies 0,, 1, 2 on one path", "no condition"),
        ("bodies 'a' b, c, d on one path", "no condition"),
        ("bodies '', 1, 2 on one path", "OnPath: expected names"),
        ("bodies 0, 1, 0 on one path", "OnPath: expected each body once"),
        (r"bodies '\x', 1, 2 on one path", "OnPath: cannot read the name"),
    ],
)
def test_a_text_that_is_no_path_is_refused(text, message):
    with pytest.raises(pp.InputError, match=message):
        read_requirement(text)
    with pytest.raises(pp.InputError, match=f"assume: {message}"):
        pp.derive("phi(0,1)", assume=text)


# -- paths of a machine --------------------------------------------------------------------


def test_a_machine_grants_the_paths_that_it_has():
    chain = pp.chain(4)
    found = pp.derive("phi(0,1) phi(1,2)", to="phi(0,2)", model=chain)
    assert not found.missing and found.conditions == (pp.OnPath(0, 1, 2),)
    assert found.check(chain).ok
    shorter = pp.derive("phi(0,1) phi(1,2) phi(2,3)", model=chain)
    assert shorter.result == pp.parse("phi(0,3)") and shorter.check(chain).ok


def test_a_verdict_offers_no_path_that_the_machine_does_not_have():
    """Bodies 3 and 4 of the spacecraft are of two arms: the product is zero."""
    found = pp.derive("phi(0,3) phi(3,4)", to="phi(0,4)", model=pp.examples.spacecraft(), bound=8)
    assert found.missing and "on one path" not in found.verdict


def test_a_path_that_is_assumed_of_a_machine_without_its_bodies_is_named():
    for path, missing in ((pp.OnPath(0, 1, 77), "body 77"), (pp.OnPath(0, "hand", 2), "'hand'")):
        with pytest.raises(pp.InputError, match=f"^assume: {path}: .*{missing}"):
            pp.derive("phi(0,1)", model=pp.chain(3), assume=path)
    with pytest.raises(pp.InputError, match="assume: 'chain of 3' does not meet 'bodies 0, 2, 1"):
        pp.derive("phi(0,1)", model=pp.chain(3), assume=pp.OnPath(0, 2, 1))


@pytest.fixture
def along_the_arm():
    """[001 (4)] with V behind it, as an identity of the user's own."""
    sides = "phi(0,1) phi(1,2) V(2)", "phi(0,2) V(2)"
    pp.add_identity("along the arm", *sides, conditions="bodies 0, 1, 2 on one path")
    yield pp.parse(sides[0]), pp.parse(sides[1])
    pp.forget_identity("along the arm")


def test_paths_of_own_identities_are_asked_of_the_machine(along_the_arm):
    typed, short = along_the_arm
    assert pp.identity("along the arm").conditions == (pp.OnPath(0, 1, 2),)
    chain, star = pp.chain(3), machines.MARKET["star_of_free_bodies"]()
    found = pp.derive(typed, to=short, using="along the arm", model=chain)
    assert not found.missing and found.check(chain).ok
    assert pp.derive(typed, to=short, using="along the arm", model=star, bound=4).missing


def test_compile_uses_own_identities_along_the_paths_of_the_machine():
    A, x = operator("A", "body", "body"), vector("x", "body")
    pp.add_identity("on a path", A @ x, 3 * x, conditions=pp.OnPath(0, 1, 2))
    try:
        lines = {n: pp.compile(pp.chain(n), phi @ A @ x).program.expressions for n in (2, 3)}
        star = pp.compile(machines.MARKET["star_of_free_bodies"](), phi @ A @ x)
    finally:
        pp.forget_identity("on a path")
    assert lines == {2: (phi @ A @ x,), 3: (3 * (phi @ x),)}
    assert star.program.expressions == (phi @ A @ x,)
