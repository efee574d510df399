"""What stands in the parentheses behind a letter: J('tool'), HH('elbow', 1), B(point('tool')).

An argument is a name, a number, a tuple of them, or what `forms` tells of.
"""

from __future__ import annotations

from collections.abc import Sequence

from phipsi.algebra.text.forms import FORMS, WRITTEN
from phipsi.algebra.text.place import failure
from phipsi.algebra.text.tokens import Token
from phipsi.cleaning import for_latex, quoted
from phipsi.errors import PhipsiError

DEEPEST_ARGUMENT = 8  # parentheses in one another


def in_unicode(argument: object) -> str:
    """An argument, as it may be typed."""
    if (form := WRITTEN.get(type(argument))) is None:
        return quoted(argument)
    name, parts = form
    return f"{name}({', '.join(map(in_unicode, parts(argument)))})"


def in_latex(argument: object) -> str:
    """An argument in LaTeX: names upright."""
    if isinstance(argument, str):
        return f"\\text{{{for_latex(argument)}}}"
    if type(argument) is tuple:
        return f"({', '.join(map(in_latex, argument))})"
    if isinstance(argument, (int, float)) and not isinstance(argument, bool):
        return repr(argument)
    if (form := WRITTEN.get(type(argument))) is None:
        return f"\\text{{{for_latex(repr(argument))}}}"
    name, parts = form
    return f"\\operatorname{{{name}}}({', '.join(map(in_latex, parts(argument)))})"


# -- as they are read ----------------------------------------------------------------------


def opens_arguments(tokens: Sequence[Token], at: int) -> bool:
    """Whether arguments stand here, and not an operand in parentheses."""
    if not _is(tokens[at], "("):
        return False
    first, second = tokens[at + 1], tokens[min(at + 2, len(tokens) - 1)]
    if _is(first, "-"):
        first, second = second, tokens[min(at + 3, len(tokens) - 1)]
    if first.kind == "number":
        return _is(second, ",", ")")
    return first.kind == "string" or (_word(first) in FORMS and _is(second, "("))


class Arguments:
    """Reads names, numbers, tuples of them, and what `add_form` has told of."""

    def __init__(self, text: str, tokens: Sequence[Token]):
        self.text, self.tokens = text, tokens

    def listed(self, at: int, close: str) -> tuple[tuple, int]:
        """What stands up to a closing sign, or up to the end; and what comes behind that."""
        given, named, at = self._items(at, close, 1)
        if named:
            raise self._fail(f"expected no {next(iter(named))}= here", at - 1)
        return given, at

    def _items(self, at: int, close: str, depth: int) -> tuple[tuple, dict[str, object], int]:
        given: list[object] = []
        named: dict[str, object] = {}
        if depth > DEEPEST_ARGUMENT:
            raise self._fail("too many parentheses in one another", at)
        while not self._closes(at, close):
            if given or named:
                if not _is(self.tokens[at], ","):
                    raise self._fail(f"expected , or {close}", at)
                at += 1
                if given and self._closes(at, close):
                    break  # (1,)
            if self.tokens[at].kind == "name" and _is(self.tokens[at + 1], "="):
                name = self.tokens[at].text
                named[name], at = self._item(at + 2, depth)
            else:
                item, at = self._item(at, depth)
                given.append(item)
        return tuple(given), named, at + 1

    def _closes(self, at: int, close: str) -> bool:
        token = self.tokens[at]
        return token.kind == "end" if close == "end" else _is(token, close)

    def _item(self, at: int, depth: int) -> tuple[object, int]:
        token = self.tokens[at]
        if token.kind in ("string", "number"):
            return token.value, at + 1
        if _is(token, "-") and self.tokens[at + 1].kind == "number":
            return -self.tokens[at + 1].value, at + 2
        if _is(token, "("):
            items, named, end = self._items(at + 1, ")", depth + 1)
            if not named:
                return items, end
        if _word(token) in FORMS and _is(self.tokens[at + 1], "("):
            given, named, end = self._items(at + 2, ")", depth + 1)
            try:
                return FORMS[_word(token)](*given, **named), end
            except (PhipsiError, TypeError) as error:
                raise self._fail(f"{_word(token)}(...): {error}", at) from None
        raise self._fail("expected a name in quotes, a number or a point", at)

    def _fail(self, message: str, at: int) -> PhipsiError:
        return failure(message, self.text, self.tokens[min(at, len(self.tokens) - 1)].span)


def _is(token: Token, *signs: str) -> bool:
    return token.kind == "sign" and token.text in signs


def _word(token: Token) -> str:
    if token.kind != "name":
        return ""
    return token.text if token.value is None else token.value.text
