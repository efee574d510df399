"""Tokens one after the other, names resolved as they are met."""

from __future__ import annotations

from dataclasses import replace

from phipsi.algebra.text.names import Names, NotALetterError
from phipsi.algebra.text.place import failure
from phipsi.algebra.text.tokens import Token, tokens_of
from phipsi.errors import PhipsiError


class Stream:
    """The tokens of one text; `at` is the number of the one that is read next."""

    def __init__(self, text: str, names: Names):
        self.tokens = tokens_of(text)
        self.text, self.names = text, names
        self.at = 0

    @property
    def token(self) -> Token:
        """The token that is read next."""
        return self.tokens[self.at]

    @property
    def here(self) -> str:
        """That token as it was written."""
        return self.text[self.token.start : self.token.end]

    def take(self) -> Token:
        """That token; the next one is next."""
        self.at += 1
        return self.tokens[self.at - 1]

    def is_sign(self, *signs: str) -> bool:
        """Whether it is one of some signs."""
        return self.token.kind == "sign" and self.token.text in signs

    def fail(self, message: str, span: tuple[int, int] | None = None) -> PhipsiError:
        """An error that points at it, or at another place."""
        return failure(message, self.text, span or self.token.span)

    def resolve(self, at: int) -> Token:
        """Token `at`; where it is a run of letters, the first of them, the others behind it."""
        token = self.tokens[at]
        if token.kind == "name":
            try:
                found = self.names.find(token.text, token.value)
            except NotALetterError as unknown:
                raise self.fail(str(unknown), token.span) from None
            letters = []
            for piece in found:
                start, end = token.start + piece.start, token.start + piece.end
                letters.append(Token("letter", piece.name, start, end, value=piece.value))
            letters[0] = replace(letters[0], blank=token.blank, thin=token.thin)
            self.tokens[at : at + 1] = letters
        return self.tokens[at]
