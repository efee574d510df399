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
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import add, sub, truediv
from typing import Any

from phipsi.algebra.alphabet import PAPERS
from phipsi.algebra.elements import element, inverse_element, is_ambiguous
from phipsi.algebra.node import (
    Identity,
    Node,
    Product,
    Sum,
    Transpose,
    compose,
    scale,
)
from phipsi.algebra.operators import blockdiag, f, f0
from phipsi.algebra.spaces import BODY
from phipsi.algebra.text.arguments import Arguments, opens_arguments
from phipsi.algebra.text.commands import Reader
from phipsi.algebra.text.names import Names, is_articulated, is_pick_off, takes_arguments
from phipsi.algebra.text.parts import (
    Number,
    Part,
    compose_or_multiply,
    has_elements,
    is_of_points,
    is_scalar,
    multiply,
    opens_bracket,
    side_by_side,
    spelled_out,
)
from phipsi.algebra.text.place import failure, shortened
from phipsi.algebra.text.stream import Stream
from phipsi.algebra.text.tokens import DEEPEST, MOST, Token, tokens_between
from phipsi.errors import InputError, PhipsiError, SpaceError

PRIMES = ("'", "′", "\\prime")
LONGEST_POWER = 5  # digits
STATE = {"theta", "q"}  # arguments of letters that are none, (θ, θ̇); no letter is called so
RATES = {"theta_dot", "theta_ddot", "beta", "beta_dot", "q_dot", "q_ddot", "v", "t"}
COUNTED = (
    "bodies of elements go by their names, or by numbers, from 0 with parents first; in the "
    "notation of a paper from 1 at the tip"
)
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Parser(Stream):
    """Reads one text."""

    def __init__(self, text: str, names: Names):
        super().__init__(text, names)
        self.open = 0  # brackets around what is read
        self.any_joint = ""  # the index of a joint that is not named: i
        self.factors: set[int] = set()  # where brackets begin that hold a factor, no inertia

    # -- sums and products ---------------------------------------------------------------

    def whole(self) -> Node:
        if self.token.kind == "end":
            raise InputError("parse: the text is empty; expected an expression such as H phi M")
        try:
            part = self.sum()
        except SpaceError:  # perhaps of what a bracket would have held apart
            self.check_closed()
            raise
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
                left = self.join(compose_or_multiply, left, self.signed(), Product)
            elif self.is_sign("*", "·"):
                self.take()
                left = self.join(multiply, left, self.signed())
            elif self.is_sign("/"):
                self.take()
                left = self.join(truediv, left, self.divisor())
                if self.token.starts_operand:
                    left = self.beside(left)
            elif self.token.starts_operand and self.token.thin:
                left = self.join(multiply, left, self.product())
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
            if self.token.thin and is_scalar(left.value):
                break
            left = self.beside(left)
        return left

    def beside(self, left: Part) -> Part:
        """What was read times the operand that follows without a sign."""
        right = self.operand()
        if not isinstance(right.value, Node):
            raise self.fail("a number stands before what it multiplies", right.span)
        return self.join(side_by_side, left, right, Product)

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
            if self.is_sign("'") and (primed := self.primed(part)) is not None:
                part = replace(primed, end=self.take().end)
            elif self.is_sign("'") or (self.is_sign("*") and self.star_is_adjoint(part)):
                part = self.suffixed(part, ("T",), self.take().end)
            elif self.token.kind == "power":
                part = self.powered(part)
            elif self.is_sign("."):
                self.take()
                part = self.suffixed(part, self.attribute(), self.tokens[self.at - 1].end)
            elif self.is_sign("~"):
                part = self.with_tilde(part, self.take().end)
            elif part.name and (end := self.end_of_state()):
                self.at = end
                part = replace(part, end=self.tokens[self.at - 1].end)
            elif self.is_sign("(") and not self.token.blank and has_elements(part):
                if self.is_name_without_quotes():
                    raise self.fail(
                        "a body of an element stands in quotes, or is a number: "
                        f"{part.name}('elbow', 'hand'), {part.name}(2, 1)",
                        self.tokens[self.at + 1].span,
                    )
                if not opens_arguments(self.tokens, self.at):
                    return part
                part = self.at_tip(part) or self.element(part)
            else:
                return part

    def primed(self, part: Part) -> Part | None:
        """T', where the prime is part of the name."""
        primed = self.names.with_prime(part.name) if part.is_bare else None
        return None if primed is None else replace(part, value=primed, name=f"{part.name}'")

    def end_of_state(self) -> int | None:
        """Behind arguments that only say that a letter depends on the state: (θ, θ̇), (q, v)."""
        at, end = self.at + 1, None
        while self.is_sign("(") and end is None and self.tokens[at].kind == "name":
            word = spelled_out(self.tokens[at])
            known = STATE if at == self.at + 1 else STATE | RATES
            closed = self.tokens[at + 1]
            if word not in known or word in self.names.own or closed.text not in (",", ")"):
                return None
            at += 2
            end = at if closed.text == ")" else None
        return end

    def at_tip(self, part: Part) -> Part | None:
        """V(0), Λ(0) of a paper: at the tip; None for other elements."""
        if self.names.notation is None or not self.is_zero_in_parentheses():
            return None
        value = self.names.known(f"{part.name}(0)") if part.is_bare else None
        assert isinstance(part.value, Node)
        if not isinstance(value, Node) and not is_of_points(part.value):
            paper = self.names.notation
            raise self.fail(
                f"0 is the tip in {paper}, a point and no body; bodies count from 1 there, from "
                "the tip. B carries forces of points to their bodies, B* V is the tip's velocity",
                self.tokens[self.at + 1].span,
            )
        self.at += 3
        whole = part.value if value is None else value
        return Part(whole, part.start, self.tokens[self.at - 1].end)  # type: ignore[arg-type]

    def element(self, part: Part) -> Part:
        """phi(2, 1), V('elbow'): one block; phi*(2, 1) is the star of phi(2, 1)."""
        places, end = Arguments(self.text, self.tokens).listed(self.at + 1, ")")
        span = part.start, self.tokens[end - 1].end
        value = part.value
        if part.is_bare and isinstance(known := self.names.known(f"{part.name}(k)"), Node):
            value = known
        assert isinstance(value, Node)
        star = isinstance(value, Transpose)
        value = value.children[0] if star else value
        if is_ambiguous(value):
            letter, given = value.children[0], ", ".join(map(repr, places))
            raise self.fail(
                f"this could be the inverse of {letter}({given}), or an element of {letter}^-1; "
                "write the second as at(i) ... at(j)",
                span,
            )
        places = self.counted(places, span)
        self.at = end
        try:
            block = element(value, places)
        except PhipsiError as error:
            raise failure(str(error), self.text, span, type(error)) from None
        read = replace(self.nested(block, span, part.depth + 1), element=(value, places))
        return self.suffixed(read, ("T",), span[1]) if star else read

    def counted(self, places: tuple, span: tuple[int, int]) -> tuple:
        """The places of an element as the machine counts bodies; k of a paper is -k."""
        for place in places:
            is_number = isinstance(place, (int, float))
            if is_number and (type(place) is not int or place < 0):
                raise self.fail(f"no body has the number {place}: {COUNTED}", span)
        if self.names.notation is None:
            return places
        if 0 in places:
            raise self.fail(f"0 is the tip in {self.names.notation}, no body: {COUNTED}", span)
        return tuple(-x if isinstance(x, int) else x for x in places)

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
        if not part.value.is_scalar and after.kind == "letter" and is_scalar(after.value):
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
        if above in PRIMES and (primed := self.primed(part)) is not None:
            return replace(primed, end=token.end)
        if token.value.suffixes is not None:
            return self.suffixed(part, token.value.suffixes, token.end)
        number = unicodedata.normalize("NFKD", above)
        if number.isdecimal():
            return self.multiplied(part, number, token)
        raise self.fail("expected one of the exponents -1, *, T, 1/2, -1/2, 2, 3", token.span)

    def multiplied(self, part: Part, exponent: str, token: Token) -> Part:
        """A^2 = A A; A^0 = I."""
        value, span = part.value, (part.start, token.end)
        if not isinstance(value, Node):
            raise self.fail("a number has no power here", part.span)
        if not value.is_square:
            try:
                value**2
            except SpaceError as error:
                raise failure(str(error), self.text, part.span, SpaceError) from None
        count = int(exponent) if len(exponent) < LONGEST_POWER else MOST + 1
        if count * len(value.factors) > MOST:
            raise self.fail(f"more than {MOST} terms or factors side by side", span)
        if count == 0 and value.is_scalar:
            raise self.fail("a scalar to the power 0 is the number 1; write 1", span)
        times = scale if value.is_scalar else compose
        power = reduce(times, [value] * count) if count else Identity()
        depth = part.depth + (count if value.is_scalar else 1)
        return self.nested(power, span, depth)

    def suffixed(self, part: Part, suffixes: tuple[str, ...], end: int) -> Part:
        """Adjoint, inverse and root of an operand, one after the other."""
        value: Any = part.value
        depth = part.depth
        if not isinstance(value, Node):
            raise self.fail("a number has no adjoint, inverse or root here", part.span)
        whole = part.element  # an inverse of an element is that of its block
        for suffix in suffixes:
            try:
                if whole is not None and suffix != "T" and whole[0].is_square:
                    value = inverse_element(*whole, suffix)
                    whole = value.factors[1], whole[1]
                else:
                    value = getattr(value, suffix)
                    whole = _starred(whole) if suffix == "T" else None
            except SpaceError as error:
                raise failure(str(error), self.text, part.span, SpaceError) from None
            depth += 1
        raised = self.nested(value, (part.start, end), depth)
        return replace(raised, name=part.name, element=whole)

    def with_tilde(self, part: Part, end: int) -> Part:
        """phi~ is phi_tilde, V~ is cross[V]."""
        value = self.names.with_tilde(part.name, part.value)
        if value is None:
            advice = self.names.missing.get(f"{part.name}_tilde")
            advice = advice or "phi and psi take a tilde, and vectors of body space"
            raise self.fail(advice, part.span)
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
        part = replace(self.sum(), is_bare=False)
        self.open -= 1
        if self.token.kind == "end":
            raise self.fail(f"this {opened.text} is never closed", opened.span)
        if not self.is_sign(CLOSING[opened.text]):
            raise self.fail(f"{self.unexpected()}; {opened.text} is still open")
        return replace(part, start=opened.start, end=self.take().end)

    def check_closed(self) -> None:
        """InputError that points at the last bracket that no other one closes, if there is one."""
        opened: list[Token] = []
        for token in self.tokens:
            if token.kind != "sign":
                continue
            if token.text in CLOSING:
                opened.append(token)
            elif opened and token.text == CLOSING[opened[-1].text]:
                opened.pop()
        if opened:
            raise self.fail(f"this {opened[-1].text} is never closed", opened[-1].span)

    # -- letters -------------------------------------------------------------------------

    def letter(self) -> Part:
        token = self.take()
        value = token.value
        if isinstance(value, str):
            return self.function(token)
        if self.is_sign("[") and opens_bracket(value):
            inner = self.group()
            return self.made(value.__getitem__, token, inner)
        is_near = self.is_sign("[") and not self.token.blank
        if is_near and is_articulated(value) and self.token.start not in self.factors:
            return self.of_inertia(token, value)
        if not isinstance(value, Node):
            advice = f"write {value.name}[x] with a vector x of body space"
            raise self.fail(f"{value.name} is no operator by itself; {advice}", token.span)
        part = Part(value, *token.span, name=token.text, is_bare=True)
        if value == f and self.is_zero_in_parentheses():
            self.at += 3
            return Part(f0, token.start, self.tokens[self.at - 1].end)
        if takes_arguments(value) and self.end_of_state() is None:
            return self.with_arguments(token, part)
        return part

    def of_inertia(self, token: Token, letter: Any) -> Part:
        """psi[M + M_a], D[M, N]: articulated letters of another inertia.

        What is none is a factor: D[I + H phi K]* [002 (3.4)], psi[P a + b] [001 (67)].
        """
        begin = self.at
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
        if len(parts) == 1 and self.is_factor(letter, inner.value):
            self.factors.add(opened.start)
            self.at = begin
            return Part(letter, *token.span, name=token.text, is_bare=True)
        return self.made(lambda _: letter[given], token, inner)

    def is_factor(self, letter: Any, value: Node | Number) -> bool:
        """Whether what stands in brackets behind an articulated letter is no inertia.

        In the notation of phipsi, an operator of body space is meant to be one, and refused.
        """
        if not isinstance(value, Node):
            return False
        is_operator = value.source is BODY and value.target is BODY
        if not is_operator:
            return value.source is not None
        try:
            letter[value]
        except SpaceError:
            return self.names.notation is not None
        return False

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

    def with_arguments(self, token: Token, part: Part) -> Part:
        """B(point("tool")), HH("elbow", 1); a letter alone where no arguments follow."""
        letter: Any = part.value
        if is_pick_off(letter) and self.token.kind == "power" and not self.token.value.suffixes:
            return self.with_index(token, letter)
        if self.is_name_without_quotes():
            raise self.fail(
                f"a body, a frame or a joint stands in quotes: {token.text}('...')",
                self.tokens[self.at + 1].span,
            )
        if not opens_arguments(self.tokens, self.at):
            return part
        if is_of_points(letter) and (at_tip := self.at_tip(part)) is not None:
            return at_tip
        given, end = Arguments(self.text, self.tokens).listed(self.at + 1, ")")
        if is_of_points(letter) and any(isinstance(x, (int, float)) for x in given):
            raise self.fail(
                f"{token.text} is of points, which have no numbers: {token.text}(point('tool'))",
                (token.start, self.tokens[end - 1].end),
            )
        self.at = end
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
        if letter.record.alphabet is PAPERS:  # at(2) is ours: it counts as the machine does
            given = (*self.counted(given[:1], power.span), *given[1:])
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
        """Whether a name that means nothing stands alone in parentheses, or as in k + 1."""
        if not self.is_sign("(") or self.tokens[self.at + 1].kind != "name":
            return False
        name, *rest = self.tokens[self.at + 1 : self.at + 5]
        if len(rest) == 3 and rest[0].text in ("+", "-") and rest[1].kind == "number":
            rest = rest[2:]
        return rest[0].text in (")", ",") and not self.names.knows(name.text, name.value)

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


def _starred(element: tuple[Node, tuple] | None) -> tuple[Node, tuple] | None:
    """What the star of an element is an element of, and where."""
    return None if element is None else (element[0].T, element[1][::-1])
