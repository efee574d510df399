"""The grammar of typed equations, by recursive descent.

    sum      terms with + or - between them
    term     signed products with @ * · / between them, from the left
    product  operands side by side: H phi M
    operand  a letter, a number, a group or a function, then ' * ^-1 .T .inv ~

What stands side by side holds together tighter than a sign before it, and than @ and *,
which bind as in Python. A star is the adjoint: `phi* M`. With a blank before it, or
between a scalar and what it touches, it multiplies: `2 * M`, `k*M`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import add, matmul, mul, sub, truediv
from typing import Any

from phipsi.algebra.elements import element
from phipsi.algebra.node import (
    Node,
    Opener,
    Product,
    Sum,
    Symbol,
    Transpose,
    compose,
    scale,
)
from phipsi.algebra.operators import S, blockdiag, f, f0
from phipsi.algebra.text.arguments import Arguments, opens_arguments
from phipsi.algebra.text.commands import Reader
from phipsi.algebra.text.names import Names, is_articulated, is_pick_off, takes_arguments
from phipsi.algebra.text.place import failure, shortened
from phipsi.algebra.text.stream import Stream
from phipsi.algebra.text.tokens import DEEPEST, MOST, Token, tokens_between
from phipsi.errors import InputError, SpaceError

Number = int | float
PRIMES = ("'", "′", "\\prime")
CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Part:
    """An operand that was read, where it stands, how deep it is nested, the letter that it is."""

    value: Node | Number
    start: int
    end: int
    depth: int = 1
    name: str = ""

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end


class Parser(Stream):
    """Reads one text."""

    def __init__(self, text: str, names: Names):
        super().__init__(text, names)
        self.open = 0  # brackets around what is read
        self.any_joint = ""  # the index of a joint that is not named: i

    # -- sums and products ---------------------------------------------------------------

    def whole(self) -> Node:
        if self.token.kind == "end":
            raise InputError("parse: the text is empty; expected an expression such as H phi M")
        part = self.sum()
        if self.token.kind != "end":
            raise self.fail(self.unexpected())
        if not isinstance(part.value, Node):
            raise self.fail("a number alone is no expression; multiply it by I", part.span)
        return part.value

    def sum(self) -> Part:
        left = self.term()
        while self.is_sign("+", "-"):
            operation = add if self.take().text == "+" else sub
            left = self.join(operation, left, self.term(), Sum)
        return left

    def term(self) -> Part:
        left = self.signed()
        while True:
            if self.is_sign("@"):
                self.take()
                left = self.join(_compose, left, self.signed(), Product)
            elif self.is_sign("*", "·"):
                self.take()
                left = self.join(_times, left, self.signed())
            elif self.is_sign("/"):
                self.take()
                left = self.join(truediv, left, self.divisor())
                if self.token.starts_operand:
                    left = self.beside(left)
            elif self.token.starts_operand and self.token.thin:
                left = self.join(_times, left, self.product())
            else:
                return left

    def signed(self) -> Part:
        start, is_negative = self.token.start, False
        while self.is_sign("+", "-"):
            is_negative ^= self.take().text == "-"
        part = self.product()
        if not is_negative:
            return part
        return self.nested(-part.value, (start, part.end), part.depth + 1)

    def product(self) -> Part:
        left = self.operand()
        while self.token.starts_operand:
            if self.token.thin and _is_scalar(left.value):
                break
            left = self.beside(left)
        return left

    def beside(self, left: Part) -> Part:
        """What was read times the operand that follows without a sign."""
        right = self.operand()
        if not isinstance(right.value, Node):
            raise self.fail("a number stands before what it multiplies", right.span)
        return self.join(_side_by_side, left, right, Product)

    def divisor(self) -> Part:
        if self.token.kind != "number":
            raise self.fail("only numbers divide; write an inverse as A^-1, A.inv or inv(A)")
        token = self.take()
        return Part(token.value, *token.span)

    def join(
        self,
        operation: Callable[[Any, Any], Any],
        left: Part,
        right: Part,
        flat: type[Node] | tuple[()] = (),
    ) -> Part:
        """left and right in one expression; those of the kind `flat` are not nested in it."""
        try:
            value = operation(left.value, right.value)
            if not isinstance(value, Node) and not math.isfinite(float(value)):
                raise OverflowError
        except SpaceError as error:
            raise failure(str(error), self.text, right.span, SpaceError) from None
        except ZeroDivisionError:
            raise self.fail("cannot divide by zero", right.span) from None
        except OverflowError:
            raise self.fail("a number that is too large", right.span) from None
        span = left.start, right.end
        if not isinstance(value, Node):
            return Part(value, *span)
        if len(value.children) > MOST:
            raise self.fail(f"more than {MOST} terms or factors side by side", span)
        deep = (part.depth + (not isinstance(part.value, flat)) for part in (left, right))
        return self.nested(value, span, max(deep))

    def nested(self, value: Node | Number, span: tuple[int, int], depth: int) -> Part:
        if depth > DEEPEST:
            raise self.fail(f"more than {DEEPEST} expressions in one another", span)
        return Part(value, *span, depth)

    # -- operands ------------------------------------------------------------------------

    def operand(self) -> Part:
        part = self.primary()
        while True:
            if self.is_sign("'") and (primed := self.names.with_prime(part.name)) is not None:
                part = Part(primed, part.start, self.take().end)
            elif self.is_sign("'") or (self.is_sign("*") and self.star_is_adjoint(part)):
                part = self.suffixed(part, ("T",), self.take().end)
            elif self.token.kind == "power":
                part = self.powered(part)
            elif self.is_sign("."):
                self.take()
                part = self.suffixed(part, self.attribute(), self.tokens[self.at - 1].end)
            elif self.is_sign("~"):
                part = self.with_tilde(part, self.take().end)
            elif self.is_sign("(") and not self.token.blank and _has_elements(part.value):
                if self.is_name_without_quotes():
                    raise self.fail(
                        "a body of an element stands in quotes, or is a number: "
                        f"{part.value}('elbow', 'hand'), {part.value}(2, 1)",
                        self.tokens[self.at + 1].span,
                    )
                if not opens_arguments(self.tokens, self.at):
                    return part
                part = self.element(part)
            else:
                return part

    def element(self, part: Part) -> Part:
        """phi(2, 1), V('elbow'): one block; phi*(2, 1) is the star of phi(2, 1)."""
        places, self.at = Arguments(self.text, self.tokens).listed(self.at + 1, ")")
        span = part.start, self.tokens[self.at - 1].end
        value = part.value
        assert isinstance(value, Node)
        try:
            if isinstance(value, Transpose):
                return self.nested(element(value.children[0], places).T, span, part.depth + 2)
            return self.nested(element(value, places), span, part.depth + 1)
        except SpaceError as error:
            raise failure(str(error), self.text, span, SpaceError) from None

    def star_is_adjoint(self, part: Part) -> bool:
        """Whether the star behind an operand is its adjoint, and no multiplication.

        It multiplies a number; between blanks; and a scalar that it touches, as it touches
        what follows.
        """
        star, after = self.token, self.tokens[self.at + 1]
        if not isinstance(part.value, Node):
            return False
        if not after.starts_operand:
            return True
        if star.blank:
            return False
        if after.blank:
            return True
        after = self.resolve(self.at + 1)
        if not part.value.is_scalar and after.kind == "letter" and _is_scalar(after.value):
            here = self.text[part.start : after.end]
            before, behind = self.text[part.start : part.end], self.text[after.start : after.end]
            raise self.fail(
                f"`{here}` could be {behind} * {before} or {before}' {behind}; write one of these",
                (part.start, after.end),
            )
        return not part.value.is_scalar

    def attribute(self) -> tuple[str, ...]:
        token = self.take()
        if token.kind != "name" or token.text not in ("T", "inv", "sqrt"):
            raise self.fail("expected .T, .inv or .sqrt", token.span)
        return (token.text,)

    def powered(self, part: Part) -> Part:
        token = self.take()
        above = self.text[token.value.begin : token.value.end].strip()
        if above in PRIMES and (primed := self.names.with_prime(part.name)) is not None:
            return Part(primed, part.start, token.end)
        if token.value.suffixes is not None:
            return self.suffixed(part, token.value.suffixes, token.end)
        if above == "2":
            return self.suffixed(part, ("power",), token.end)
        raise self.fail("expected one of the exponents -1, *, T, 1/2, -1/2", token.span)

    def suffixed(self, part: Part, suffixes: tuple[str, ...], end: int) -> Part:
        """Adjoint, inverse and root of an operand, one after the other."""
        value: Any = part.value
        depth = part.depth
        if not isinstance(value, Node):
            raise self.fail("a number has no adjoint, inverse or root here", part.span)
        for suffix in suffixes:
            try:
                value = value**2 if suffix == "power" else getattr(value, suffix)
            except SpaceError as error:
                raise failure(str(error), self.text, part.span, SpaceError) from None
            depth += 1
        return self.nested(value, (part.start, end), depth)

    def with_tilde(self, part: Part, end: int) -> Part:
        """phi~ is phi_tilde, V~ is cross[V]."""
        value = self.names.with_tilde(part.name, part.value)
        if value is None:
            raise self.fail("phi and psi take a tilde, and vectors of body space", part.span)
        return self.nested(value, (part.start, end), part.depth + 1)

    def primary(self) -> Part:
        token = self.resolve(self.at)
        if token.kind == "letter":
            return self.letter()
        if token.kind == "number":
            return self.number()
        if token.kind == "string" and token.text.startswith("\\"):
            self.tokens[self.at] = replace(token, kind="name", text=token.value, value=None)
            return self.primary()
        if self.is_sign(*CLOSING):
            return self.group()
        if self.is_sign("frac"):
            self.take()
            return self.join(truediv, self.group("{"), self.group("{"))
        if self.is_sign("wide"):
            start = self.take().start
            part = self.group() if self.is_sign("{") else self.primary()
            return replace(self.with_tilde(part, part.end), start=start)
        raise self.fail(self.no_operand())

    def number(self) -> Part:
        """A number, or a fraction of two."""
        token = self.take()
        part = Part(token.value, *token.span)
        if self.is_sign("/") and self.tokens[self.at + 1].kind == "number":
            self.take()
            part = self.join(truediv, part, self.divisor())
        return part

    def group(self, expected: str = "") -> Part:
        if expected and not self.is_sign(expected):
            raise self.fail(f"expected {expected}")
        if self.open == DEEPEST:
            raise self.fail(f"more than {DEEPEST} brackets in one another")
        opened = self.take()
        self.open += 1
        part = self.sum()
        self.open -= 1
        if self.token.kind == "end":
            raise self.fail(f"this {opened.text} is never closed", opened.span)
        if not self.is_sign(CLOSING[opened.text]):
            raise self.fail(f"{self.unexpected()}; {opened.text} is still open")
        return replace(part, start=opened.start, end=self.take().end)

    # -- letters -------------------------------------------------------------------------

    def letter(self) -> Part:
        token = self.take()
        value = token.value
        if isinstance(value, str):
            return self.function(token)
        if self.is_sign("[") and _opens_bracket(value):
            inner = self.group()
            return self.made(value.__getitem__, token, inner)
        if self.is_sign("[") and is_articulated(value) and not self.token.blank:
            return self.of_inertia(token, value)
        if not isinstance(value, Node):
            advice = f"write {value.name}[x] with a vector x of body space"
            raise self.fail(f"{value.name} is no operator by itself; {advice}", token.span)
        if value == f and self.is_zero_in_parentheses():
            self.at += 3
            return Part(f0, token.start, self.tokens[self.at - 1].end)
        if takes_arguments(value):
            return self.with_arguments(token, value)
        return Part(value, *token.span, name=token.text)

    def of_inertia(self, token: Token, letter: Any) -> Part:
        """psi[M + M_a], D[M, N]: articulated letters of another inertia."""
        opened = self.take()
        self.open += 1
        parts = [self.sum()]
        if self.is_sign(","):
            self.take()
            parts.append(self.sum())
        self.open -= 1
        if not self.is_sign("]"):
            raise self.fail(f"{self.unexpected()}; {opened.text} is still open")
        inner = replace(parts[-1], start=parts[0].start, end=self.take().end)
        given = tuple(x.value for x in parts)
        return self.made(lambda _: letter[given], token, inner)

    def function(self, token: Token) -> Part:
        """inv(A), sqrt(A), transpose(A), blockdiag(A)."""
        if not self.is_sign("(", "{", "["):
            raise self.fail(f"{token.text} takes an operand in parentheses", token.span)
        inner = self.group()
        if token.text == "blockdiag":
            return self.made(blockdiag, token, inner)
        suffix = "T" if token.text == "transpose" else token.text
        part = self.suffixed(inner, (suffix,), inner.end)
        return replace(part, start=token.start)

    def made(self, make: Callable[[Any], Node], token: Token, inner: Part) -> Part:
        """What a function or a bracket makes of its inside."""
        try:
            value = make(inner.value)
        except SpaceError as error:
            raise failure(str(error), self.text, inner.span, SpaceError) from None
        return self.nested(value, (token.start, inner.end), inner.depth + 1)

    def is_zero_in_parentheses(self) -> bool:
        three = self.tokens[self.at : self.at + 3]
        return [token.text for token in three] == ["(", "0", ")"]

    def with_arguments(self, token: Token, letter: Any) -> Part:
        """B(point("tool")), HH("elbow", 1); a letter alone where no arguments follow."""
        if is_pick_off(letter) and self.token.kind == "power" and not self.token.value.suffixes:
            return self.with_index(token, letter)
        if self.is_name_without_quotes():
            raise self.fail(
                f"a body, a frame or a joint stands in quotes: {token.text}('...')",
                self.tokens[self.at + 1].span,
            )
        if not opens_arguments(self.tokens, self.at):
            return Part(letter, *token.span, name=token.text)
        given, self.at = Arguments(self.text, self.tokens).listed(self.at + 1, ")")
        return Part(letter(*given), token.start, self.tokens[self.at - 1].end)

    def with_index(self, token: Token, letter: Any) -> Part:
        r"""\mathbb{H}^{\text{elbow},1}, also with the subscript behind the index.

        An index alone, \mathbb{H}^i, is any joint: the letter by itself. All have the same index.
        """
        power = self.take()
        above = self.text[power.value.begin : power.value.end].strip()
        if is_any_joint := re.fullmatch("[A-Za-z]", above) is not None:
            self.any_joint = self.any_joint or above
            if above != self.any_joint:
                raise self.fail(
                    f"{self.any_joint} and {above} are two joints: name them, as in "
                    f"{letter.name}('elbow'), or number them",
                    power.span,
                )
        inside = tokens_between(self.text, power.value.begin, power.value.end)
        given = () if is_any_joint else Arguments(self.text, inside).listed(0, "end")[0]
        end = power.end
        is_run = self.token.kind == "name" and self.token.text.startswith("_")
        if self.is_sign("_") or is_run:
            below, end = Reader(self.text).subscript(self.token.start + 1)
            letter = self.names.known(f"{token.text}_{below}")
            if not is_pick_off(letter):
                raise self.fail(f"no letter of a joint has {below!r} below", (token.start, end))
            while self.token.start < end:
                self.take()
        if is_any_joint:
            return Part(letter, token.start, end)
        if not given:
            raise self.fail("expected a joint above the letter", power.span)
        return Part(letter(*given), token.start, end)

    def is_name_without_quotes(self) -> bool:
        """Whether a name that means nothing stands alone in parentheses."""
        if not self.is_sign("(") or self.tokens[self.at + 1].kind != "name":
            return False
        name, closed = self.tokens[self.at + 1 : self.at + 3]
        return closed.text in (")", ",") and not self.names.knows(name.text, name.value)

    # -- what is wrong -------------------------------------------------------------------

    def no_operand(self) -> str:
        token = self.token
        if token.kind == "end":
            return "the text ends where a letter, a number or a ( is expected"
        if token.kind == "string":
            return "a name in quotes stands in parentheses behind B, J, X, c or HH"
        return f"expected a letter, a number or a (, got `{shortened(self.here)}`"

    def unexpected(self) -> str:
        token = self.token
        if self.is_sign(")", "]", "}"):
            return f"this {token.text} closes nothing"
        if self.is_sign("="):
            return "an equation has two sides: parse each by itself"
        return f"expected + - @ * or an operand, got `{shortened(self.here)}`"


# -- the arithmetic of text ----------------------------------------------------------------


def _has_elements(value: object) -> bool:
    """Whether a parenthesis right behind it may hold places: of a letter, or of its star."""
    letter = value.children[0] if isinstance(value, Transpose) else value
    return isinstance(letter, Symbol) and not letter.arguments and not letter.is_scalar


def _opens_bracket(value: object) -> bool:
    return isinstance(value, Opener) or value == S


def _is_scalar(value: object) -> bool:
    return value.is_scalar if isinstance(value, Node) else isinstance(value, Number)


def _compose(left: Any, right: Any) -> Any:
    return (
        matmul(left, right)
        if isinstance(left, Node) or isinstance(right, Node)
        else mul(left, right)
    )


def _times(left: Any, right: Any) -> Any:
    try:
        return left * right
    except SpaceError as error:
        if not isinstance(left, Node) or not isinstance(right, Node):
            raise
        advice = f"The adjoint has no blank before its star: {left}* {right}"
        raise SpaceError(f"{error}\n  {advice}") from None


def _side_by_side(left: Node | Number, right: Node) -> Node:
    """left right: their product, also by a scalar."""
    if not isinstance(left, Node):
        return scale(left, right)
    if (left.is_scalar and right.target is None) or (right.is_scalar and left.source is None):
        return scale(left, right)
    fits = left.source is right.target or None in (left.source, right.target)
    if not fits and (left.is_scalar or right.is_scalar):
        return scale(left, right)
    return compose(left, right)
