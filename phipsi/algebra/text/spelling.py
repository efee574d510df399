"""Names, as they are written: phi_tilde is φ̃ on the screen and \\tilde{\\phi} in LaTeX.

Whatever the script, a name is spelled out in one way, in ASCII: Greek letters by
their names, accents and subscripts behind an underscore, script and double-struck
letters behind a colon, which no other name has. So `φ̃`, `\\tilde\\phi` and
`phi_tilde` are one name, and so are `𝓔_φ`, `ℰ_φ` and `\\mathcal{E}_\\phi`:

>>> spell("Hφ̃").text, spell("𝓔_φ").text
('Hphi_tilde', 'cal:E_phi')
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from unicodedata import combining, decomposition, normalize

from phipsi.cleaning import for_latex

_SMALL = "αβγδεζηθικλμνξοπρστυφχψω"
_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho "
    "sigma tau upsilon phi chi psi omega"
)
GREEK = dict(zip(_SMALL, _NAMES.split(), strict=True))
GREEK |= {letter.upper(): word.capitalize() for letter, word in GREEK.items()}
GREEK |= {"ς": "sigma", "∆": "Delta"}
BY_NAME = {word: letter for letter, word in reversed(GREEK.items())}  # the letters, not the signs
# LaTeX has no commands for the capitals that look like Latin letters.
COMMANDS = {word for word in BY_NAME if word.islower()} - {"omicron"}
_CAPITALS = "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
COMMANDS |= set(_CAPITALS.split())

# Accents by the word that is written behind the name: the combining sign, LaTeX's commands.
ACCENTS = {
    "tilde": ("\u0303", "tilde", "widetilde"),
    "bar": ("\u0304", "bar", "overline"),
    "dot": ("\u0307", "dot"),
    "ddot": ("\u0308", "ddot"),
    "hat": ("\u0302", "hat", "widehat"),
    "vec": ("\u20d7", "vec"),
}
MARKS = {signs[0]: accent for accent, signs in ACCENTS.items()}
STYLES = {"cal": "mathcal", "bb": "mathbb"}

_CALLED = {"cal": "SCRIPT CAPITAL ", "bb": "DOUBLE-STRUCK CAPITAL "}  # by Unicode


@dataclass(frozen=True)
class Spelled:
    """A name in ASCII; `places[i]` is where the text begins whose spelling begins at i.

    `places` has no entry for an i in the middle of what one sign is spelled by.
    """

    text: str
    places: dict[int, int]


def spell(written: str) -> Spelled:
    """A name or a run of names in ASCII, sign by sign."""
    text, places = "", {}
    was_subscript = False
    for place, sign in enumerate(written):
        if not combining(sign) and sign != "\u20d7":
            places[len(text)] = place
        is_subscript = decomposition(sign).startswith("<sub>")
        spelled = _spell_sign(sign)
        if is_subscript and not was_subscript and spelled.isalpha():
            spelled = f"_{spelled}"
        text += spelled
        was_subscript = is_subscript
    places[len(text)] = len(written)
    return Spelled(text, places)


@cache
def _spell_sign(sign: str) -> str:
    if sign.isascii():
        return sign
    called = unicodedata.name(sign, "")
    for style, word in _CALLED.items():
        if word in called:
            return f"{style}:{called[-1]}"
    parts = normalize("NFKD", sign)
    spelled = (f"_{MARKS[part]}" if part in MARKS else GREEK.get(part, part) for part in parts)
    return normalize("NFC", "".join(spelled))


def is_sign_of_a_name(sign: str) -> bool:
    """Whether a sign may stand in a name: letters, digits, underscores, accents; no exponents."""
    if sign in "\u00b7\u0387":  # multiplication; Python has them in names
        return False
    made_of = decomposition(sign)
    if made_of.startswith("<super>"):
        return False
    is_known = sign in MARKS or sign in GREEK or made_of.startswith("<sub>")
    return is_known or f"a{sign}".isidentifier()


# -- how a name looks --------------------------------------------------------------------


def in_unicode(name: str) -> str:
    """A name, spelled out, with Greek letters and accents where it has any.

    >>> in_unicode("Lambda_c"), in_unicode("x_dot"), in_unicode("cal:M"), in_unicode("alphabet")
    ('Λ_c', 'ẋ', 'ℳ', 'alphabet')
    """
    if name.endswith("'"):
        return f"{in_unicode(name[:-1])}'"
    base, accents, rest = _parts(name)
    if not base:
        return name
    text = _letter(base)
    if accents and len(text) == 1:
        text = normalize("NFC", text + "".join(ACCENTS[accent][0] for accent in accents))
    else:
        text = "_".join((text, *accents))
    return "_".join((text, *(_letter(part) for part in rest)))


def in_latex(name: str) -> str:
    r"""A name, spelled out, in LaTeX: one letter with accents and subscripts, or an upright word.

    >>> print(in_latex("Lambda_c"), in_latex("x_dot"), in_latex("speed_of_tool"), in_latex("_x"))
    \Lambda_{c} \dot{x} \mathrm{speed}_{\mathrm{of},\mathrm{tool}} \mathrm{\_x}
    """
    if name.endswith("'"):
        return f"{in_latex(name[:-1])}'"
    base, accents, rest = _parts(spell(name).text)
    if not base:
        return f"\\mathrm{{{for_latex(name)}}}"
    word, digits = _numbered(base)
    if digits and (len(word) == 1 or word in COMMANDS):
        base, rest = word, (digits, *rest)
    text = _command(base)
    for accent in accents:
        text = f"\\{ACCENTS[accent][1]}{{{text}}}"
    return f"{text}_{{{','.join(map(_command, rest))}}}" if rest else text


def with_digits_below(name: str) -> str:
    """How a name is spelled that was printed in LaTeX, where the digits of its letter stand below.

    >>> with_digits_below("A0_0"), with_digits_below("A1_dot"), with_digits_below("x_1")
    ('A_0_0', 'A_dot_1', 'x_1')
    """
    base, accents, rest = _parts(name)
    word, digits = _numbered(base)
    if not digits or not (len(word) == 1 or word in COMMANDS):
        return name
    return "_".join((word, *accents, digits, *rest))


def _parts(name: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Base, accents and subscripts of a name; no base where it has another form."""
    base, *rest = name.split("_")
    if not all((base, *rest)):
        return "", (), ()
    accents = []
    while rest and rest[0] in ACCENTS:
        accents.append(rest.pop(0))
    return base, tuple(accents), tuple(rest)


def _numbered(part: str) -> tuple[str, str]:
    """A word and the digits at its end."""
    word = part.rstrip("0123456789")
    return word, part[len(word) :]


def _letter(part: str) -> str:
    style, _, letter = part.rpartition(":")
    if style:
        return _styled(style, letter)
    word, digits = _numbered(part)
    return BY_NAME[word] + digits if word in BY_NAME else part


def _styled(style: str, letter: str) -> str:
    """A script or double-struck capital: some have a place of their own among the signs."""
    for where in ("", "MATHEMATICAL "):
        try:
            return unicodedata.lookup(f"{where}{_CALLED[style]}{letter}")
        except KeyError:
            continue
    return letter


def _command(part: str) -> str:
    style, _, letter = part.rpartition(":")
    if style:
        return f"\\{STYLES[style]}{{{letter}}}"
    if part in COMMANDS:
        return f"\\{part}"
    return part if len(part) == 1 or part.isdecimal() else f"\\mathrm{{{for_latex(part)}}}"
