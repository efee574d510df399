"""Lines of an explanation with the letters of the papers, as `algebra.text` spells them."""

from __future__ import annotations

import re
import unicodedata

from phipsi.algebra.alphabet import PAPERS
from phipsi.algebra.node import Symbol
from phipsi.algebra.text.spelling import in_unicode

_NAME = re.compile(r"[A-Za-z_]\w*")
_GAP = re.compile(r"( {2,})")


def in_letters(line: str) -> str:
    """A line of ASCII with the letters of the papers; columns stay aligned.

    >>> in_letters("P+(k) = P(k) - G(k) H(k) P(k)"), in_letters("nu(k) = D^-1(k) eps(k)")
    ('P⁺(k) = P(k) − G(k) H(k) P(k)', 'ν(k) = D⁻¹(k) ε(k)')
    >>> in_letters("psi  filter")
    'ψ    filter'
    """
    cells = _GAP.split(line)  # cells and gaps, by turns
    for i in range(0, len(cells), 2):
        spelled = len(cells[i])
        cells[i] = _spelled(cells[i])
        if i + 1 < len(cells):
            cells[i + 1] += " " * (spelled - _width(cells[i]))
    return "".join(cells)


def _spelled(text: str) -> str:
    text = text.replace("^-1", "⁻¹").replace("^1/2", "^½").replace(" - ", " − ")
    text = re.sub(r"(?<=\w)\+(?!=)", "⁺", text)
    text = re.sub(r"\bsum_([a-z])\b", r"Σ_\1", text)
    text = re.sub(r"\beps(?=\b|_\d)", "epsilon", text)
    return _NAME.sub(lambda x: in_unicode(_look(x[0])), text)


def _look(name: str) -> str:
    """How a name is spelled out in papers."""
    letter = PAPERS.letters.get(name)
    return letter.record.look or name if isinstance(letter, Symbol) else name


def _width(text: str) -> int:
    """How many columns a text takes: accents take none."""
    return sum(not unicodedata.combining(sign) for sign in text)
