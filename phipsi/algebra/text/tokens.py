"""Text into tokens: names, numbers, exponents, signs; each knows where it stands.

Three notations are one stream: Python's (`phi.T @ M`), plain text (`φ* M`) and LaTeX
(`\\phi^{*} M`). What a name means is not decided here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from phipsi.algebra.text import commands
from phipsi.algebra.text.commands import Reader
from phipsi.algebra.text.exponents import read_exponent
from phipsi.algebra.text.place import failure
from phipsi.algebra.text.spelling import Spelled, is_sign_of_a_name, spell
from phipsi.cleaning import from_latex
from phipsi.errors import InputError

LONGEST = 10_000  # signs of a text
DEEPEST = 64  # brackets, and expressions, in one another
MOST = 1000  # terms of a sum, factors of a product
LONGEST_NUMBER = 400  # digits: more than the largest one has

_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]+|\.(?![A-Za-z]))?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_TIMES_TEN = re.compile(r"\s*\\times\s*10\s*\^\s*\{\s*(-?[0-9]{1,4})\s*\}")
_STRING = re.compile(r"""(["'])((?:\\.|(?!\1)[^\\])*)\1""", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}

_MINUS, _DOTS, _STARS = "-−–", "·⋅∙•", "∗⁎＊⋆"
_QUOTES = "'′’"
_SIGNS = "+@*/()[]{},=~._"
_BLANKS = "$&"  # of LaTeX, around and in formulas


@dataclass(frozen=True)
class Token:
    """A part of a text.

    Args:
        kind: "name", "number", "string", "power", "sign" or "end".
        text: what it is: a sign in its plainest form, a name as it was written.
        start: its first sign.
        end: behind its last.
        blank: whether a blank stands before it.
        thin: whether that is the thin space of LaTeX.
        value: of a number, a string, an exponent; the spelling of a name.
    """

    kind: str
    text: str
    start: int
    end: int
    blank: bool = False
    thin: bool = False
    value: Any = None

    @property
    def span(self) -> tuple[int, int]:
        """Where it stands."""
        return self.start, self.end

    @property
    def starts_operand(self) -> bool:
        """Whether an operand begins here."""
        if self.kind == "sign":
            return self.text in ("(", "[", "{", "wide", "frac")
        return self.kind in ("name", "letter", "number", "string")

    @property
    def ends_operand(self) -> bool:
        """Whether an operand may end here, so that a quote behind it is a star."""
        if self.kind == "sign":
            return self.text in (")", "]", "}", "'", "*", "~")
        return self.kind in ("name", "number", "power")


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text, the last of kind "end".

    Raises:
        InputError: it is no text, too long, or has a sign that means nothing.
    """
    if not isinstance(text, str):
        raise InputError(f"parse: expected a text, got {text!r}")
    if len(text) > LONGEST:
        raise InputError(
            f"parse: a text of {len(text)} signs; at most {LONGEST} are read. Name its parts, and "
            "pass them by symbols={...}"
        )
    return list(_scan(text, 0))


def tokens_between(text: str, begin: int, end: int) -> list[Token]:
    """The tokens of a part of a text."""
    return list(_scan(text[:end], begin))


def _scan(text: str, place: int) -> Iterator[Token]:
    blank, thin, was_operand = False, False, False
    while place < len(text):
        sign = text[place]
        if sign.isspace() or sign in _BLANKS:
            place, blank = place + 1, True
            continue
        if sign == "\\" and (space := commands.SPACES.match(text, place)):
            place, blank, thin = space.end(), True, thin or space[0] == "\\,"
            continue
        token = _token(text, place, was_operand)
        if token is None:  # a command that only sizes what follows
            place = commands.SIZES.match(text, place).end()  # type: ignore[union-attr]
            continue
        yield Token(token.kind, token.text, place, token.end, blank, thin, token.value)
        place, blank, thin, was_operand = token.end, False, False, token.ends_operand
    yield Token("end", "", len(text), len(text), blank)


def _token(text: str, place: int, was_operand: bool) -> Token | None:
    sign = text[place]

    def one(kind: str, plain: str, length: int = 1, value: Any = None) -> Token:
        return Token(kind, plain, place, place + length, value=value)

    if sign == "\\":
        return _command(text, place)
    if sign == "^":
        return _power(text, place, place + 1)
    if sign in _MINUS:
        return one("sign", "-")
    if sign in _DOTS:
        return one("sign", "·")
    if sign in _STARS or (sign in _QUOTES and (was_operand or sign != "'")):
        return one("sign", "'")
    if sign in "\"'":
        return _string(text, place)
    if number := _NUMBER.match(text, place):
        return _number(text, number)
    decomposed = unicodedata.decomposition(sign)
    if decomposed.startswith("<fraction>"):
        return one("number", sign, value=unicodedata.numeric(sign))
    if decomposed.startswith("<super>") or sign in "⁻⁺":
        return _power(text, place, place)
    is_below = sign == "_" and text[place + 1 : place + 2] in ("{", "\\")
    if is_sign_of_a_name(sign) and not is_below:
        return _name(text, place)
    if text.startswith("**", place):
        raise failure("** is no sign here; powers are A^2, .inv, .sqrt", text, (place, place + 2))
    if sign in _SIGNS:
        return one("sign", sign)
    raise failure(f"the sign {sign!r} means nothing here", text, (place, place + 1))


def _number(text: str, found: re.Match) -> Token:
    if len(found[0]) > LONGEST_NUMBER:
        raise failure("a number with too many digits", text, found.span())
    end = found.end()
    times_ten = _TIMES_TEN.match(text, end) if "e" not in found[0].lower() else None
    if times_ten:
        value: int | float = float(f"{found[0]}e{times_ten[1]}")
        end = times_ten.end()
    else:
        value = int(found[0]) if found[0].isdecimal() else float(found[0])
    return Token("number", found[0], found.start(), end, value=value)


def _string(text: str, place: int) -> Token:
    found = _STRING.match(text, place)
    if found is None:
        raise failure("a quote that is never closed", text, (place, place + 1))

    def plain(escape: re.Match) -> str:
        code = escape[1] or escape[2] or escape[3]
        if code is not None and int(code, 16) < 0x110000:
            return chr(int(code, 16))
        if escape[4] not in _ESCAPED:
            span = found.start(2) + escape.start(), found.start(2) + escape.end()
            raise failure(f"no sign is written {escape[0]!r}", text, span)
        return _ESCAPED[escape[4]]

    return Token("string", found[0], place, found.end(), value=_ESCAPE.sub(plain, found[2]))


def _name(text: str, place: int) -> Token:
    end = place
    while end < len(text) and is_sign_of_a_name(text[end]):
        end += 1
    run = text[place:end]
    if run.endswith("_") and text[end : end + 1] in ("{", "\\"):
        below, end = Reader(text).subscript(end)
        spelled = spell(run)
        spelled.places.pop(len(spelled.text))
        whole = spelled.text + below
        places = {**spelled.places, len(whole): end - place}
        return Token("name", text[place:end], place, end, value=Spelled(whole, places))
    return Token("name", run, place, end)


def _power(text: str, place: int, begin: int) -> Token:
    exponent, end = read_exponent(text, begin)
    return Token("power", text[place:end], place, end, value=exponent)


def _command(text: str, place: int) -> Token | None:
    if commands.SIZES.match(text, place):
        return None
    for pattern, plain in commands.SIGNS:
        if found := pattern.match(text, place):
            return Token("sign", plain, place, found.end())
    if fraction := commands.SHORT_FRACTION.match(text, place):
        return _quotient(text, fraction)
    if words := commands.TEXT.match(text, place):
        words_end = Reader(text).group_end(words.end() - 1)
        inside = from_latex(text[words.end() : words_end - 1])
        return Token("string", text[place:words_end], place, words_end, value=inside)
    spelled, end = Reader(text).name(place)
    whole = Spelled(spelled, {0: 0, len(spelled): end - place})
    return Token("name", text[place:end], place, end, value=whole)


def _quotient(text: str, fraction: re.Match) -> Token:
    top, bottom = int(fraction[1]), int(fraction[2])
    if bottom == 0:
        raise failure("cannot divide by zero", text, fraction.span())
    return Token("number", fraction[0], fraction.start(), fraction.end(), value=top / bottom)
