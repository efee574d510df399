"""docs/tour.md, walked to its end: what its stages print is right."""

import re
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import phipsi as pp
from phipsi.algebra.parse import parse

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))
from _generate import generate  # noqa: E402


@cache
def tour() -> str:
    return generate((ROOT / "docs" / "tour.md").read_text(encoding="utf-8"), "tour.md")


@pytest.fixture
def shown(as_for_users) -> str:
    return tour()


def numbers(pattern: str, text: str) -> list[float]:
    match = re.search(pattern, text, re.MULTILINE)
    assert match, pattern
    return [float(x.replace(",", "")) for x in match.groups()]


def test_text_python_unicode_and_latex_are_one_expression(shown):
    """Each of the three forms that the page prints is read back to what was typed."""
    typed = parse("inv(H phi M phi' H' + Jm) (T - C)")
    python, *others = re.findall(r"^(?:True\n)?(\(H .+|\\left.+)$", shown, re.MULTILINE)[:3]
    assert [parse(text) for text in (python, *others)] == [typed] * 3


def test_derived_expressions_mean_what_was_typed(shown):
    craft, rng = pp.examples.spacecraft(), np.random.default_rng(1)
    q, v, torque = craft.random(rng), rng.normal(size=12), rng.normal(size=12)
    results = re.findall(r"^\(I - H @ psi @ K\)\.T @ D\.inv .*|^D⁻¹ .+$", shown, re.MULTILINE)
    assert len(results) == 2
    expected = pp.forward_dynamics(craft, q, v, torque)
    for text in results:
        assert np.allclose(pp.as_matrix(craft, parse(text), q, v, T=torque), expected)


def test_checks_and_laws_hold(shown):
    assert "on the spacecraft: True" in shown
    residuals = [float(x) for x in re.findall(r"^ +\d* +(\d\.\de[-+]\d+)  ", shown, re.MULTILINE)]
    assert len(residuals) == 4 and max(residuals) < 1e-9
    assert numbers(r"dense meaning: (\S+) rad", shown)[0] < 1e-9
    grows, given = numbers(r"energy grows by (\S+) W, the motors give (\S+) W", shown)
    assert grows == pytest.approx(given, abs=1e-8) and abs(given) > 1.0
    change, size = numbers(r"momentum changes by (\S+), of (\S+)$", shown)
    assert change < 1e-9 * size


def test_levels_and_drawings_are_all_there(shown):
    assert {1, 3, 4, 5, 6, 7} <= {x for x in range(1, 8) if f"Level {x}: " in shown}
    assert shown.count("<svg") == 2
    assert "Kalman gain" in shown


def test_end_is_the_compliance_between_the_hands(shown):
    assert "B* ψ* H* D⁻¹ H ψ B\n" in shown
