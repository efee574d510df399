"""Every identity, proved on machines against the dense meaning of both sides."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from identity_machines import AXES, CASES, MARGIN, TOLERANCE, Case
from machines import machines_with_states

import phipsi as pp
from phipsi.algebra import identities as known
from phipsi.algebra.identities import (
    IDENTITIES,
    TOPICS,
    Condition,
    Equation,
    forget_identity,
    identities,
    identity,
    papers_of,
)
from phipsi.errors import InputError, SpaceError
from phipsi.explain.deriving.add_identity import add_identity
from phipsi.explain.tables import identities_by_topic, identities_table
from phipsi.operators import (
    HH,
    E_phi,
    G,
    H,
    HH_s,
    I,
    K,
    M,
    Mass,
    P,
    R,
    V,
    letter,
    operator,
    phi,
    psi,
    scalar,
    vector,
)

OF_THE_PAPERS = list(identities())
CONDITIONED = [(one, condition) for one in OF_THE_PAPERS for condition in one.conditions]


def everywhere():
    return [(make(), axes) for make in CASES.values() for axes in AXES]


@pytest.fixture
def own_names():
    """What the user added goes again."""
    before = set(IDENTITIES)
    yield
    for name in set(IDENTITIES) - before:
        forget_identity(name)


# -- one test per rule -----------------------------------------------------------------


@pytest.mark.parametrize("equation", OF_THE_PAPERS, ids=lambda one: one.name)
def test_identity_holds_wherever_its_conditions_are_met(equation):
    """On chains and trees, joints of every kind, with rotors and without, in both axes."""
    tried = 0
    for case, axes in everywhere():
        if not case.lacks(equation, axes):
            assert case.mismatch(equation, axes) < TOLERANCE, (case.model.name, axes)
            tried += 1
    assert tried >= 2


@pytest.mark.parametrize(
    ("equation", "condition"), CONDITIONED, ids=lambda x: getattr(x, "name", None)
)
def test_condition_is_needed(equation, condition):
    """Where this one condition is not met and all others are, the equation fails."""
    without = [
        (case, axes) for case, axes in everywhere() if case.lacks(equation, axes) == {condition}
    ]
    assert max(case.mismatch(equation, axes) for case, axes in without) > MARGIN


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), machines_with_states(max_bodies=6), st.sampled_from(AXES))
def test_identities_hold_on_random_machines(data, machine, axes):
    """Any shape, base and joints, rotors on some; whatever equation holds there."""
    case = Case(*machine)
    names = [
        one.name
        for one in OF_THE_PAPERS
        if one not in TOPICS["closed chains"].EQUATIONS and not case.lacks(one, axes)
    ]
    assume(names)
    equation = identity(data.draw(st.sampled_from(names)))
    assert case.mismatch(equation, axes) < TOLERANCE


def test_a_wrong_identity_is_found():
    """The proof can fail: a star left out, an order exchanged, a sign."""
    A = operator("A", "body", "body")
    case = CASES["chain"]()
    for left, right, variables in (
        ((I - H @ phi @ K) @ H @ phi, H @ psi, ()),
        (phi @ M @ phi.T, R + phi @ R + R @ phi.T, ()),
        (phi @ A, A @ phi, (A,)),
        (psi @ K @ H @ phi, psi - phi, ()),
    ):
        wrong = Equation("wrong", left, right, "", variables=variables)
        assert case.mismatch(wrong, "link") > MARGIN


# -- the list --------------------------------------------------------------------------


def test_every_equation_has_a_topic_a_source_and_another_side():
    in_topics = [one for topic in TOPICS.values() for one in topic.EQUATIONS]
    assert in_topics == OF_THE_PAPERS
    ours = [one.name for one in OF_THE_PAPERS if not one.source]
    assert ours == ["symmetry of Jm"]
    assert all(re.fullmatch(r"\[.+\]", one.source) for one in OF_THE_PAPERS if one.source)
    assert {paper for one in OF_THE_PAPERS for paper in papers_of(one)} == {
        *("000", "001", "002", "003", "004-I", "004-II")
    }
    assert not [one.name for one in OF_THE_PAPERS if one.left == one.right]
    assert not [
        one.name for one in OF_THE_PAPERS if "  " in one.name or one.name != one.name.strip()
    ]


def test_no_equation_stands_twice():
    seen = {}
    for one in OF_THE_PAPERS:
        sides = frozenset((one.left, one.right))
        assert sides not in seen, (one.name, seen.get(sides))
        seen[sides] = one.name


def test_appendix_A_of_004_is_complete():
    """Each number that the tests of the papers type as an equation has a source here.

    (a.1) to (a.4), (a.6), (a.7) and (a.12) say what blocks are, (a.10) stands in E_psi.
    """
    text = (Path(__file__).parent / "papers" / "test_004_identities.py").read_text()
    numbers = set(re.findall(r'"\[?(a\.\d+)\]?', text)) - {"a.44", "a.45"}
    assert len(numbers) > 40
    sources = " ".join(one.source for one in OF_THE_PAPERS)
    assert not [number for number in sorted(numbers) if f"({number})" not in sources]


@pytest.mark.parametrize(
    ("paper", "results"),
    {
        "000": ["Identity 1.1", *(f"Lemma {n}" for n in (2.1, 2.2, 2.3, 4.3, 5.1, 5.2))],
        "001": [*(f"Identity {n}" for n in range(1, 7)), "(48)", "(56)", "(61)", "(67)"],
        "002": [
            *(f"Lemma {n}" for n in range(1, 6)),
            *(f"(3.{n})" for n in range(1, 14) if n != 8),
        ],
        "003": [
            *(f"Lemma {n}" for n in range(1, 6)),
            "(10)",
            "(15)",
            "(18)",
            "(19)",
            "(20)",
            "(26)",
        ],
        "004-I": [
            *("Fact 4.1", "Fact 4.2", "Theorem 4.1", "Identity 5.1", "Lemma A.1"),
            *(f"FD{n}" for n in range(1, 5)),
            *(f"Identity A.{n}" for n in (5, 6, 7)),
        ],
        "004-II": ["(5.13)", "(6.3)", "(6.7)", "(6.12)", "(6.13)", "(6.17)", "(6.20)", "(6.21)"],
    }.items(),
)
def test_the_named_results_of_each_paper_are_there(paper, results):
    """(3.8) of 002 defines what it names; derivatives are no equations between expressions."""
    parts = [part for one in identities(paper) for part in one.source.strip("[]").split("; ")]
    own = " ".join(part for part in parts if part.startswith(paper))
    assert not [result for result in results if result not in own]


def test_core_names_stand():
    """Names that others rely on."""
    for name in ("Lemma 1", "Lemma 1 without rotors", "Lemma 2", "Lemma 4", "Lemma 5"):
        assert not identity(name).derived
    for name in ("Lemma 3", "FD1", "FD3", "FD4"):
        assert identity(name).derived
    for called in ("J", "Mass", "D", "G", "K", "psi", "Omega", "C"):
        one = identity(f"definition of {called}")
        assert one.right == one.left.definition and not one.derived


def test_definitions_are_those_of_the_letters():
    defined = [
        x for x in pp.operators.__dict__.values() if getattr(x, "definition", None) is not None
    ]
    names = {f"definition of {x.name}" for x in defined}
    assert names == {name for name in IDENTITIES if name.startswith("definition of ")}


def test_identities_by_paper_condition_and_derivation():
    by_paper = identities(paper="003")
    assert identity("Lemma 4") in by_paper and identity("Identity A.7") not in by_paper
    serial = identities(condition=Condition.SERIAL)
    assert identity("Lemma 5 of 002") in serial and identity("Lemma 4") not in serial
    assert set(identities(derived=True)) | set(identities(derived=False)) == set(OF_THE_PAPERS)
    assert not set(identities(derived=True)) & set(identities(derived=False))
    assert identities(paper="000", condition=Condition.ONE_DOF) == ()
    assert str(identities(paper="nobody")) == "no identities"
    line = str(identities(condition=Condition.ONE_DOF))
    assert line == (
        "square root of D of one freedom: D.sqrt.T = D.sqrt for joints of one freedom"
        "  [002 (3.13); 003 sec. 6]"
    )
    assert repr(serial) == str(serial)


@pytest.mark.parametrize(("paper", "condition"), [(3, None), (None, "serial"), (None, 1)])
def test_bad_filters_are_refused(paper, condition):
    with pytest.raises(InputError, match=r"identities: "):
        identities(paper, condition)


def test_unknown_names_list_the_nearest():
    with pytest.raises(InputError, match=r"no identity 'Lemma 6'.*Lemma"):
        identity("Lemma 6")
    with pytest.raises(InputError, match="no identity 4"):
        identity(4)


def test_equations_in_every_notation():
    one = identity("Lemma 4")
    assert one.unicode() == "(I − H ψ K) H φ = H ψ"
    assert one.latex() == r"\left(I - H \psi K\right) H \phi = H \psi"
    assert one._repr_latex_() == rf"$\displaystyle {one.latex()}$"


# -- the user's own --------------------------------------------------------------------


def test_an_identity_of_ones_own_is_known_and_gives_way(own_names):
    A = operator("A", "body", "body")
    first = add_identity("swap", phi @ E_phi @ A, E_phi @ phi @ A, variables=[A])
    assert identity("swap") is first and first in identities() and not first.derived
    assert CASES["chain"]().mismatch(first, "link") < TOLERANCE
    second = add_identity(
        "swap", phi @ E_phi, E_phi @ phi, "[mine]", [Condition.SERIAL], "steps commute"
    )
    assert identity("swap") is second and first not in identities()
    assert (second.source, second.conditions) == ("[mine]", (Condition.SERIAL,))
    assert second.meaning == "steps commute" and papers_of(second) == ("mine",)


def test_an_identity_of_ones_own_is_forgotten(own_names):
    add_identity("swap", phi @ E_phi, E_phi @ phi)
    forget_identity("swap")
    with pytest.raises(InputError, match="no identity 'swap'"):
        identity("swap")
    for name in ("swap", "Lemma 4", 4):
        with pytest.raises(InputError, match=f"no identity of your own {name!r}"):
            forget_identity(name)
    assert identity("Lemma 4") in identities()
    assert not add_identity("swap", phi @ E_phi, E_phi @ phi).conditions


def test_an_open_identity_takes_the_space_of_the_other_side(own_names):
    assert add_identity("one", phi.inv @ phi, I).right == I.at(phi.source)
    assert add_identity("two", I, phi @ phi.inv).left == I.at(phi.source)


def twice_inertia(body, joint):
    return 2.0 * body.inertia.mass


A = operator("A", "body", "body")
FALSE = {
    "psi is phi": (H @ psi, H @ phi, {}),
    "of variables": (A @ phi, phi @ A, {"variables": [A]}),
    "by a millionth": (H @ psi @ M, (1 + 1e-6) * (H @ psi @ M), {}),
    "with rotors": (Mass, H @ phi @ M @ phi.T @ H.T, {}),
    "of trees": (phi, phi @ phi, {"conditions": "serial chains"}),
    "of a function": (letter("twice_M", "body", "body", twice_inertia) @ V, M @ V, {}),
    "of a joint": (HH_s @ phi, HH @ phi, {}),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_identity_is_refused_and_named_with_its_difference(own_names, name):
    left, right, options = FALSE[name]
    with pytest.raises(InputError, match=rf"^{name}: .* is false: .* differ by \d.* conditions="):
        add_identity(name, left, right, **options)
    assert name not in IDENTITIES
    assert add_identity(name, left, right, **options, check=False) is IDENTITIES[name]


def fails(body, joint):
    raise KeyError(body.name)


BELIEVED = {
    "holds": (Mass, H @ phi @ M @ phi.T @ H.T, {"conditions": [Condition.NO_ROTORS]}),
    "along a path": ("phi(0,1) phi(1,2)", "phi(0,2)", {"conditions": pp.OnPath(0, 1, 2)}),
    "free letters": (A @ V, 3 * V, {}),
    "a function of other machines": (letter("N", "body", "body", fails) @ V, V, {}),
    "no machine has it": ("phi(2,1) phi(1,0)", "phi(2,0)", {"conditions": pp.OnPath(2, 1, 0)}),
}


@pytest.mark.parametrize("name", BELIEVED)
def test_what_holds_or_has_no_value_is_added(own_names, name):
    left, right, options = BELIEVED[name]
    assert add_identity(name, left, right, **options) is IDENTITIES[name]


def test_identities_of_the_papers_stay(own_names):
    before = identity("Lemma 4")
    with pytest.raises(InputError, match="'Lemma 4' is an equation of the papers"):
        add_identity("Lemma 4", H @ psi, H @ phi)
    assert identity("Lemma 4") is before


x, k = vector("x", "body"), scalar("k")


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("", phi, psi), {}, "expected a name"),
        ((7, phi, psi), {}, "expected a name"),
        (("new", "phi Q", psi), {}, "Q is no operator by itself"),
        (("new", phi, 1), {}, "new: expected an expression, or its text, got int"),
        (("new", phi, phi), {}, "both sides are `phi`"),
        (("new", phi, psi, 3), {}, "expected a text as source, got int"),
        (("new", phi, psi), {"meaning": 3}, "expected a text as meaning, got int"),
        (("new", phi, psi), {"conditions": ["serial"]}, "new: no condition 'serial'"),
        (("new", phi, psi), {"conditions": 5}, "new: expected conditions, got 5"),
        (("new", phi, psi), {"variables": [phi]}, "phi cannot be a variable"),
        (("new", phi, psi), {"variables": phi}, "phi cannot be a variable"),
        (("new", phi @ x, psi @ x), {"variables": [x, k]}, "the variable k is not in `phi @ x`"),
    ],
)
def test_what_is_no_identity_is_refused(own_names, arguments, options, message):
    before = dict(IDENTITIES)
    with pytest.raises(InputError, match=message):
        add_identity(*arguments, **options)
    assert before == IDENTITIES


def test_sides_of_different_spaces_are_refused(own_names):
    with pytest.raises(SpaceError, match=r"new: cannot equate `H @ phi` and `G`"):
        add_identity("new", H @ phi, G)
    with pytest.raises(SpaceError, match="cannot equate"):
        add_identity("new", P @ H.T, H @ P)
    assert "new" not in IDENTITIES


def test_two_equations_of_one_name_are_a_mistake_of_ours():
    with pytest.raises(AssertionError, match="two equations 'Lemma 4'"):
        known.register([identity("Lemma 4")])


# -- tables ----------------------------------------------------------------------------


def test_table_of_identities_has_a_row_for_each():
    text = identities_by_topic()
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == len(OF_THE_PAPERS) + len(TOPICS)
    assert [line[4:].lower() for line in text.splitlines() if line.startswith("###")] == [
        title.lower() for title in TOPICS
    ]
    assert not [line for line in rows if line.count(" | ") != 3]
    row = "| Lemma 1 without rotors | `H @ phi @ M @ phi.T @ H.T = (I + H @ phi @ K) @ D @ "
    assert any(line.startswith(row) and "| no rotor inertia |" in line for line in rows)


def test_table_of_identities_in_another_notation():
    table = identities_table([identity("Lemma 5")], show=lambda one: f"${one.latex()}$")
    assert table.splitlines()[-1] == (
        r"| Lemma 5 | $\psi^{-1} = \phi^{-1} + K H$ | every tree | 003 Lemma 5 |"
    )
