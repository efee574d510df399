"""Where the print of the papers is wrong: the printed form fails, the corrected one holds."""

import re

import pytest
from identity_machines import AXES, CASES, MARGIN, TOLERANCE
from test_identities import everywhere

import phipsi as pp
from phipsi.algebra.errata import ERRATA, PAPERS, errata
from phipsi.algebra.identities import Equation
from phipsi.errors import InputError, SpaceError
from phipsi.explain.tables import errata_table

TYPED = [one for one in ERRATA if one.left is not None]
MISFITS = [one for one in ERRATA if one.misfit]


def named(erratum):
    return f"{erratum.paper} {erratum.where}"


def equation(erratum, side):
    return Equation(named(erratum), erratum.left, side, "", erratum.conditions)


@pytest.mark.parametrize("erratum", TYPED, ids=named)
def test_corrected_form_holds(erratum):
    corrected, tried = equation(erratum, erratum.right), 0
    for case, axes in everywhere():
        if not case.lacks(corrected, axes):
            assert case.mismatch(corrected, axes) < TOLERANCE, (case.model.name, axes)
            tried += 1
    assert tried >= 3


@pytest.mark.parametrize("erratum", TYPED, ids=named)
def test_printed_form_fails(erratum):
    """On some machine that meets every condition of the corrected form."""
    printed = equation(erratum, erratum.wrong)
    cases = [CASES[name]() for name in ("chain", "tree of one-dof joints", "rotors")]
    apart = [
        case.mismatch(printed, axes)
        for case in cases
        for axes in AXES
        if not case.lacks(printed, axes)
    ]
    assert max(apart) > MARGIN


@pytest.mark.parametrize("erratum", MISFITS, ids=named)
def test_printed_form_is_refused_where_its_spaces_do_not_meet(erratum):
    with pytest.raises(SpaceError):
        eval(erratum.misfit, {name: getattr(pp.operators, name) for name in pp.operators.__all__})


def test_every_paper_has_its_errata_and_each_stands_once():
    assert sorted({one.paper for one in ERRATA}) == sorted(PAPERS)
    assert len({named(one) for one in ERRATA}) == len(ERRATA)
    assert [one.paper for one in ERRATA] == sorted((one.paper for one in ERRATA), key=PAPERS.index)
    assert [one for paper in PAPERS for one in errata(paper)] == list(errata()) == list(ERRATA)
    for one in ERRATA:
        assert one.where and one.printed and one.correct and one.printed != one.correct
        assert (one.left is None) == (one.wrong is None) == (one.right is None)
        assert one.left is None or one.wrong != one.right


def test_unknown_papers_are_refused():
    with pytest.raises(InputError, match="errata: no paper '005'"):
        errata("005")
    with pytest.raises(InputError, match="errata: no paper 3"):
        errata(3)


def test_tables_of_errata():
    for paper in PAPERS:
        lines = errata_table(paper).splitlines()
        assert len(lines) == 2 + len(errata(paper))
        assert lines[0] == "| where | printed | correct |"
    whole = errata_table().splitlines()
    assert len(whole) == 2 + len(ERRATA)
    assert "| 001 | (65) | `- H - zeta` | `- H zeta` |" in whole
    assert not [line for line in whole[2:] if len(re.findall(r" (?<!\\)\| ", line)) != 3]
