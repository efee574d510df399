"""Instructions of LLVM IR, written as arithmetic on numbers, bits and truth values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from phipsi.backends.real import REALS


class Code:
    """The instructions of a function.

    Args:
        lanes: numbers side by side.
        ways: entries of an array worked on in turn, instruction by instruction, so that
            one need not wait for the result of another.
        lines: what was written before.
        real: what numbers are, "double" or "float".
    """

    def __init__(
        self, lanes: int, ways: int = 1, lines: list[str] | None = None, real: str = "double"
    ):
        self.lanes, self.ways, self.real = lanes, ways, REALS[real]
        vector = "{}" if lanes == 1 else f"<{lanes} x {{}}>"
        kinds = (real, self.real.integer, "i1")
        self.types = {x: vector.format(t) for x, t in zip("TIB", kinds, strict=True)}
        self.suffix = self.real.suffix if lanes == 1 else f"v{lanes}{self.real.suffix}"
        self.lines: list[str] = [] if lines is None else lines

    def let(self, kind: type[V], pattern: str, *operands: Operand) -> V:
        """The values of an instruction, one for each way."""
        names = []
        for way in range(self.ways):
            names.append(f"%v{len(self.lines)}")
            texts = (self._text(x, way) for x in operands)
            self.lines.append(f"{names[-1]} = {pattern.format(*texts, **self.types)}")
        return kind(self, names)

    def _text(self, operand: Operand, way: int) -> str:
        if isinstance(operand, Value):
            return operand.names[way]
        is_number = isinstance(operand, float)
        constant = self.real.literal(operand) if is_number else str(operand)
        kind = self.real.name if is_number else self.real.integer
        return constant if self.lanes == 1 else f"splat ({kind} {constant})"


class Value:
    """What an instruction gave, one name for each way."""

    def __init__(self, code: Code, names: Sequence[str]):
        self.code, self.names = code, names


V = TypeVar("V", bound=Value)
Operand = Value | float | int


class Mask(Value):
    """Truth values."""


class Number(Value):
    """Doubles or floats."""

    def __add__(self, other: Operand) -> Number:
        return self.code.let(Number, "fadd {T} {}, {}", self, other)

    def __sub__(self, other: Operand) -> Number:
        return self.code.let(Number, "fsub {T} {}, {}", self, other)

    def __rsub__(self, other: Operand) -> Number:
        return self.code.let(Number, "fsub {T} {}, {}", other, self)

    def __mul__(self, other: Operand) -> Number:
        return self.code.let(Number, "fmul {T} {}, {}", self, other)

    def __truediv__(self, other: Operand) -> Number:
        return self.code.let(Number, "fdiv {T} {}, {}", self, other)

    def __neg__(self) -> Number:
        return self.code.let(Number, "fneg {T} {}", self)

    def __abs__(self) -> Number:
        return (self.bits & (self.code.real.sign - 1)).number

    def __lt__(self, other: Operand) -> Mask:
        return self.code.let(Mask, "fcmp olt {T} {}, {}", self, other)

    def __gt__(self, other: Operand) -> Mask:
        return self.code.let(Mask, "fcmp ogt {T} {}, {}", self, other)

    @property
    def bits(self) -> Bits:
        return self.code.let(Bits, "bitcast {T} {} to {I}", self)


class Bits(Value):
    """Integers of as many bits as numbers have."""

    def __add__(self, other: Operand) -> Bits:
        return self.code.let(Bits, "add {I} {}, {}", self, other)

    def __sub__(self, other: Operand) -> Bits:
        return self.code.let(Bits, "sub {I} {}, {}", self, other)

    def __and__(self, other: Operand) -> Bits:
        return self.code.let(Bits, "and {I} {}, {}", self, other)

    def __xor__(self, other: Operand) -> Bits:
        return self.code.let(Bits, "xor {I} {}, {}", self, other)

    def __lshift__(self, other: int) -> Bits:
        return self.code.let(Bits, "shl {I} {}, {}", self, other)

    def __rshift__(self, other: int) -> Bits:
        return self.code.let(Bits, "lshr {I} {}, {}", self, other)

    def is_zero(self) -> Mask:
        return self.code.let(Mask, "icmp eq {I} {}, {}", self, 0)

    def is_negative(self) -> Mask:
        return self.code.let(Mask, "icmp slt {I} {}, {}", self, 0)

    @property
    def number(self) -> Number:
        return self.code.let(Number, "bitcast {I} {} to {T}", self)


def choose(condition: Mask, x: Number | float, y: Number | float) -> Number:
    """x where the condition holds, else y."""
    return condition.code.let(Number, "select {B} {}, {T} {}, {T} {}", condition, x, y)


def fma(x: Number, y: Number | float, z: Number | float) -> Number:
    """x y + z, with one rounding or with two as the machine likes."""
    call = f"call {{T}} @llvm.fmuladd.{x.code.suffix}({{T}} {{}}, {{T}} {{}}, {{T}} {{}})"
    return x.code.let(Number, call, x, y, z)


def horner(coefficients: Sequence[float], x: Number) -> Number:
    """The polynomial c0 + c1 x + c2 x^2 + ..."""
    *rest, before, last = coefficients
    value = fma(x, last, before)
    for c in reversed(rest):
        value = fma(value, x, c)
    return value
