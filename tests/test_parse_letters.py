"""`pp.parse`: articulated letters of other inertias, and false friends among the letters."""

import pytest

import phipsi as pp
from phipsi.operators import D, Jm, M, P, letter, operator, psi

# -- letters of other inertias, and false friends ----------------------------------------


@pytest.mark.parametrize("text", ["psi[M + N]", "ψ[M + N]", r"\psi[M + N]", "psi[ N + M ]"])
def test_articulated_letters_of_another_inertia(text):
    """psi of bodies that carry N along; the order of a sum is no matter of the machine."""
    N = letter("N", "body", "body", lambda body, joint: 1.0, positive=True)
    read = pp.parse(text, symbols=[N])
    assert read.arguments[0].W in (M + N, N + M)
    for written in (str(read), read.unicode(), read.latex()):
        assert pp.parse(written, symbols=[N]) == read


def test_articulated_letters_of_another_term_in_joint_space():
    assert pp.parse("D[M, 2 Jm]") == D[M, 2 * Jm]
    assert pp.parse("P[M, 0]") == P[M, 0 * Jm] == P[M, 0]
    assert pp.parse("D[M]") == D
    assert pp.parse("psi [M]") == pp.parse("psi M")  # a blank: a product


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("psi[phi]", pp.SpaceError, "W is `phi`; expected a block-diagonal operator of body space"),
        ("D[M, H phi M phi' H']", pp.SpaceError, "N is `H @ phi"),
        ("psi[M", pp.InputError, "is still open"),
        ("psi[M, Jm, Jm]", pp.InputError, "is still open"),
        ("I - J† J", pp.InputError, r"a dagger has two meanings.*J' \(J J'\)\^-1"),
        (r"J^{\dagger} J", pp.InputError, "a dagger has two meanings"),
        ("tau - C", pp.SpaceError, "Joint forces are T here; tau is G H"),
        ("Mass q_ddot", pp.InputError, "joint accelerations are beta_dot"),
        ("J_dot beta", pp.InputError, r"is X \(B\* phi\* a \+ c\)"),
    ],
)
def test_false_friends_are_named(text, kind, message):
    with pytest.raises(kind, match=message):
        pp.parse(text)


def test_inertias_that_are_none_are_refused():
    for inertia in ((), (M, Jm, Jm), (3,), (M, 3)):
        with pytest.raises(pp.SpaceError, match="expected an inertia W, or W and a term N"):
            psi[inertia]
    with pytest.raises(pp.SpaceError, match="W is `A`; expected"):
        D[operator("A", "body", "body")]
