r"""Exponents: A^-1, A^{-1}, A⁻¹, A^T, A^{\top}, D^{1/2}, D^{-\frac{1}{2}}."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from phipsi.algebra.text.place import failure

# What one exponent can say: properties of a node, one after the other.
EXPONENTS = {
    ("T",): "*",
    ("inv",): "-1",
    ("sqrt",): "1/2",
    ("inv", "T"): "-*",
    ("sqrt", "T"): "*/2",
    ("sqrt", "inv"): "-1/2",
    ("sqrt", "inv", "T"): "-*/2",
}
# By what an exponent is in its plainest form.
MEANINGS = {plain: suffixes for suffixes, plain in EXPONENTS.items()}
MEANINGS |= {"-1*": ("inv", "T"), "*-1": ("T", "inv")}

_BARE = re.compile(
    r"\s*[-−]?\s*(?:1/2|½|\*/2|[0-9]+|[*'′∗⁎A-Za-z]|\\[td]?frac\s*(?:[0-9]\s*[0-9]|\{1\}\s*\{2\})"
    r"|\\(?:top|ast|star|prime|intercal)(?![A-Za-z]))"
)
_FRACTION = re.compile(r"\\[td]?frac\s*\{?\s*([*0-9]+)\s*\}?\s*\{?\s*([0-9])\s*\}?")
_STAR = re.compile(
    r"\\(?:top|ast|star|prime|intercal)(?![A-Za-z])"
    r"|\\(?:mathrm|mathsf|text|mathit|intercal)\s*\{?\s*[Tt]\s*\}?|[Tt'′∗⁎]"
)
_DIVIDED = re.compile(r"/[0-9]")
_OPENED = re.compile(r"\s*(\\left)?\s*[({]")
_SPACE = re.compile(r"\\[,;:! ]|\s")


@dataclass(frozen=True)
class Exponent:
    """What stands above the line.

    Args:
        suffixes: what it asks for: "inv", "T", "sqrt", one after the other; None if nothing known.
        begin: its first sign, and
        end: behind its last, inside the braces.
    """

    suffixes: tuple[str, ...] | None
    begin: int
    end: int


def read_exponent(text: str, place: int) -> tuple[Exponent, int]:
    """The exponent that begins at a place, behind the ^ or with a sign that stands high itself.

    Returns:
        The exponent and where the text goes on.
    """
    if place == 0 or text[place - 1] != "^" or _is_high(text, place):
        end = place
        while end < len(text) and _is_high(text, end):
            end += 1
        plain = "".join(unicodedata.normalize("NFKD", sign) for sign in text[place:end])
        return Exponent(_meaning(plain), place, end), end
    if opened := _OPENED.match(text, place):
        close = {"{": "}", "(": ")"}[opened[0][-1]]
        end = closing(text, opened.end() - 1, close)
        inside = text[opened.end() : end - 1]
        return Exponent(_meaning(inside), opened.end(), end - 1), end
    bare = _BARE.match(text, place)
    if bare is None:
        raise failure("expected an exponent: ^-1, ^*, ^T, ^1/2", text, (place - 1, place))
    if divided := _DIVIDED.match(text, bare.end()):
        raise failure(
            "of fractions above the line, 1/2 and -1/2 are known; brackets around the power "
            "where it is divided: (A^2)/2",
            text,
            (bare.start(), divided.end()),
        )
    return Exponent(_meaning(bare[0]), bare.start(), bare.end()), bare.end()


def closing(text: str, opened: int, close: str) -> int:
    """Behind the bracket that closes the one at a place; InputError if there is none."""
    depth, place = 0, opened
    while place < len(text):
        sign = text[place]
        if sign == "\\":  # an escaped sign is none
            place += 2
            continue
        depth += (sign == text[opened]) - (sign == close)
        place += 1
        if depth == 0:
            return place
    raise failure(f"this {text[opened]} is never closed", text, (opened, opened + 1))


def _is_high(text: str, place: int) -> bool:
    if place >= len(text):
        return False
    sign = text[place]
    return unicodedata.decomposition(sign).startswith("<super>") or sign in "⁻⁺ᐟ"


def _meaning(exponent: str) -> tuple[str, ...] | None:
    plain = _STAR.sub("*", _FRACTION.sub(r"\1/\2", exponent))
    plain = _SPACE.sub("", plain).replace("½", "1/2").replace("1⁄2", "1/2").replace("ᐟ", "/")
    return MEANINGS.get(plain.replace("−", "-").replace("{", "").replace("}", ""))
