"""`pp.parse` of hostile texts: bounded, and refused with a reason."""

from pathlib import Path

import pytest
import symbols
from hypothesis import given, settings
from hypothesis import strategies as st

from phipsi.algebra.parse import parse
from phipsi.algebra.text.tokens import DEEPEST, LONGEST, MOST
from phipsi.errors import InputError, SpaceError
from phipsi.operators import H

OWN = [symbols.A, symbols.N, symbols.L, symbols.x, symbols.y, symbols.k, symbols.m]

HOSTILE = [
    *("(" * 100_000, "H + " * 250_000, "(" * 9_999, "[" * 9_999, "{" * 9_999, "S[" * 4_999),
    *("inv(" * 2_400, "J(" * 4_999, "J('a'," + "(" * 9_000, "HH^{" * 2_400, "M^{" + "(" * 9_000),
    *("H" * 9_999, "HφMφ" * 2_400, "_" * 9_999, "a_" * 4_999, "𝓜" * 9_999, "\u0303" * 9_999),
    *("M" + "'" * 9_998, "'" * 9_999, '"' * 9_999, "M" + "^-1" * 3_000, "^" * 9_999, "⁻" * 9_999),
    *(r"\tilde{" * 1_400, r"\frac{" * 1_600, r"\text{" * 1_600, "\\" * 9_999, r"\mathcal" * 1_200),
    *("2*" * 4_999 + "M", "9" * 9_999, "1/" * 4_999, "M@" * 4_999, "M^2" * 3_000, "\0" * 9_999),
    *("E_{" * 3_000, "E_" + "{" * 9_000, "E_" + r"\tilde_" * 1_000),
    "__import__('os').system('true')",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:10])
def test_hostile_texts_are_refused_and_not_quoted_in_full(text):
    with pytest.raises((InputError, SpaceError)) as caught:
        parse(text, OWN)
    assert len(str(caught.value)) < 1_000


def test_the_page_states_the_bounds():
    page = (Path(__file__).parents[1] / "docs" / "text.md").read_text(encoding="utf-8")
    bounds = f"{LONGEST} signs, {DEEPEST} brackets in one another and {MOST} terms or factors"
    assert bounds in page


def test_a_row_of_signs_is_one_sign():
    assert parse("-" * 9_999 + "H") == -H


PIECES = "H phi φ ψ ' * ^ ^-1 ^{ } { ( ) [ ] S[ Q J( 'tool' \" point( frame= 1 / 2 0.5 ½ ⁻¹ ᵀ ~ _"
PIECES += r" , = + - · @ \phi \tilde \mathcal{M} \mathbb \frac \text{ \left \, \right \\ $ .T .inv"
PIECES += r" k A x inv( sqrt \widetilde{ HH ^{0} _\delta _{ f(0) M V I e5 \sqrt{ 🤖 D^1/2 & ."
PIECES += r" \operatorname{ \times10^{3}"
JUNK = st.lists(st.sampled_from([*PIECES.split(), " ", "\n", "\u0303", "\u200b"]), max_size=12)


@settings(max_examples=400)
@given(JUNK.map("".join))
def test_junk_is_refused_with_a_place_or_is_an_expression(text):
    try:
        expression = parse(text, OWN)
    except (InputError, SpaceError) as error:
        assert "the text is empty" in str(error) or "^" in str(error).split("\n")[-1]
    else:
        assert parse(str(expression), OWN) == expression
