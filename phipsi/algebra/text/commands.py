r"""LaTeX: which commands are signs, and how a name is read: \tilde{\phi}, \mathcal{E}_\phi."""

from __future__ import annotations

import re

from phipsi.algebra.text.exponents import closing
from phipsi.algebra.text.place import failure
from phipsi.algebra.text.spelling import (
    ACCENTS,
    COMMANDS,
    STYLES,
    is_sign_of_a_name,
    spell,
)
from phipsi.cleaning import from_latex
from phipsi.errors import name_choices

DEEPEST_NAME = 8  # accents on accents

SPACES = re.compile(r"\\(?:[,;:! \n\\()\[\]]|(?:quad|qquad|thinspace|nonumber)(?![A-Za-z]))")
_BIG = "left|right|middle|[bB]ig[lrm]?|[bB]igg[lrm]?|displaystyle|textstyle|limits|mathop"
SIZES = re.compile(rf"\\(?:{_BIG})(?![A-Za-z])")
SHORT_FRACTION = re.compile(r"\\[td]?frac\s*([0-9])\s*([0-9])")
TEXT = re.compile(r"\\text(?:rm|it|bf)?\s*\{")
_WORD = r"\\(?:operatorname\*?|mathrm|mathit|mathsf|mathbf|boldsymbol|bm|text(?:rm|it|bf)?)\s*"
WORD = re.compile(_WORD)
SIGNS = [
    (re.compile(pattern + r"(?![A-Za-z])"), plain)
    for pattern, plain in [
        (r"\\cdot", "·"),
        (r"\\[td]?frac(?!\s*[0-9])", "frac"),
        (r"\\widetilde", "wide"),
    ]
]
SIGNS += [(re.compile(r"\\\{"), "{"), (re.compile(r"\\\}"), "}")]

_COMMAND = re.compile(r"\\([A-Za-z]+)")
_VARIANTS = {f"var{word}": word for word in COMMANDS} | {"straightphi": "phi"}
_STYLE = {command: style for style, command in STYLES.items()} | {"mathscr": "cal"}
_ACCENT = {command: word for word, (_, *commands) in ACCENTS.items() for command in commands}
_KNOWN = [
    *sorted(COMMANDS),
    *_STYLE,
    *_ACCENT,
    "cdot",
    "frac",
    "sqrt",
    "operatorname",
    "left",
    "right",
]


class Reader:
    """Names in a text of LaTeX, spelled out; see `spelling`."""

    def __init__(self, text: str):
        self.text = text

    def name(self, place: int, depth: int = 0) -> tuple[str, int]:
        """The name that begins at a place, and where the text goes on."""
        spelled, end = self._base(place, depth)
        while below := re.compile(r"\s*_\s*").match(self.text, end):
            subscript, end = self.subscript(below.end())
            spelled = f"{spelled}_{subscript}"
        return spelled, end

    def subscript(self, place: int) -> tuple[str, int]:
        r"""What stands below the line: one sign, one command, or a list in braces."""
        if self.text[place : place + 1] != "{":
            return self._base(place, 1)
        end = self.group_end(place)
        parts, at = [], place + 1
        while at < end - 1:
            part, at = self._run(at, end - 1)
            parts.append(part)
            comma = re.compile(r"\s*,?\s*").match(self.text, at)
            at = comma.end() if comma else at
        if not parts:
            raise failure("nothing stands below the line", self.text, (place, end))
        return "_".join(parts), end

    def group_end(self, place: int) -> int:
        """Behind the brace that closes the one at a place."""
        return closing(self.text, place, "}")

    def _base(self, place: int, depth: int) -> tuple[str, int]:
        """One letter or word, with its accents."""
        text = self.text
        while text[place : place + 1].isspace():
            place += 1
        if depth > DEEPEST_NAME:
            raise failure("too many accents on one another", text, (place, place + 1))
        if text[place : place + 1] == "{":
            end = self.group_end(place)
            spelled, inner = self._run(place + 1, end - 1, depth + 1)
            while text[inner : inner + 1].isspace():
                inner += 1
            if inner != end - 1:
                raise failure("expected one name in these braces", text, (place, end))
            return spelled, end
        if word := WORD.match(text, place):
            return self._word(word.end(), depth)
        if command := _COMMAND.match(text, place):
            return self._command(command, depth)
        if place >= len(text) or not is_sign_of_a_name(text[place]):
            raise failure("expected a letter", text, (place, place + 1))
        return spell(text[place]).text, place + 1

    def _run(self, place: int, limit: int, depth: int = 1) -> tuple[str, int]:
        """A name of several signs, as it may stand in braces."""
        end = place
        while end < limit and is_sign_of_a_name(self.text[end]):
            end += 1
        run = self.text[place:end]
        if not run:
            return self.name(place, depth + 1)
        if run.endswith("_"):
            subscript, end = self.subscript(end)
            return spell(run).text + subscript, end
        return spell(run).text, end

    def _word(self, place: int, depth: int) -> tuple[str, int]:
        if self.text[place : place + 1] != "{":
            return self._base(place, depth + 1)
        end = self.group_end(place)
        word = from_latex(self.text[place + 1 : end - 1])
        if word.isidentifier():
            return spell(word).text, end
        return self._base(place, depth + 1)

    def _command(self, command: re.Match, depth: int) -> tuple[str, int]:
        word, end = command[1], command.end()
        word = _VARIANTS.get(word, word)
        if word in COMMANDS or word == "sqrt":
            return word, end
        if word in _ACCENT:
            base, end = self._base(end, depth + 1)
            return f"{base}_{_ACCENT[word]}", end
        if word in _STYLE:
            base, end = self._base(end, depth + 1)
            return f"{_STYLE[word]}:{base}", end
        advice = name_choices(word, _KNOWN)
        raise failure(f"no LaTeX command {command[0]!r} here; {advice}", self.text, command.span())
