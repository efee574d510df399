"""The remainder of an angle by pi/2: constants for small angles, LLVM IR for large ones.

Small angles x = |x|, below those of `LIMITS`, take Cody and Waite's way: x - k pi/2
with pi/2 cut into three parts, for floats into four. All but the last are so short that
their products by k are exact, with or without fused multiplication and addition.

Large angles take Payne and Hanek's: x = m 2^e with m of 53 bits, so

    x 2/pi  mod 4  =  m (2/pi 2^e  mod 4)  mod 4

and of the bits of 2/pi only the 192 that follow those of weight 4 2^-e matter. No
double comes closer to a multiple of pi/2 than 2^-61, so that the first 60 bits of
the remainder are right.

Sources: W. Cody, W. Waite, Software manual for the elementary functions (1980);
M. Payne, R. Hanek, Radian reduction for trigonometric functions (1983). The worst
case: J.-M. Muller, Elementary functions, on the worst cases of range reduction.
"""

from __future__ import annotations

import math
import struct
from fractions import Fraction

LIMIT = 2.0**16  # doubles below are small angles; the quotients by pi/2 have at most 16 bits
EXACT = 53 - 16  # bits of a number whose product by such a quotient is exact
LIMITS = {"double": LIMIT, "float": 2.0**10}  # floats likewise, with quotients of 10 bits
_WIDTHS = {"double": (EXACT, EXACT, 53), "float": (24 - 10, 24 - 10, 24 - 10, 24)}
_GUARD = 32  # bits beyond those asked for
# What to take from the exponent's 11 bits for the place of the first bit of 2/pi that matters, if
# a word of zeros stands before the point; how many words are read for the largest exponent.
_BEFORE = 1023 + 52 + 2 - 64
_WORDS = (2047 - _BEFORE) // 64 + 4


def arctan_of_inverse(n: int, bits: int) -> int:
    """arctan(1/n) 2^bits, by its series, rounded down or up."""
    power = (1 << bits + _GUARD) // n
    total, i = power, 1
    while power:
        power //= n * n
        i += 2
        total += power // i if i % 4 == 1 else -(power // i)
    return total >> _GUARD


def half_pi(bits: int) -> int:
    """pi/2 2^bits, rounded down; J. Machin: pi/4 = 4 arctan 1/5 - arctan 1/239."""
    inner = bits + _GUARD
    quarter = 4 * arctan_of_inverse(5, inner) - arctan_of_inverse(239, inner)
    return 2 * quarter >> _GUARD


def two_over_pi(bits: int) -> int:
    """2/pi 2^bits, rounded down."""
    return (1 << 2 * bits + _GUARD) // half_pi(bits + _GUARD)


def parts_of_half_pi(real: str) -> tuple[float, ...]:
    """pi/2 as a sum of doubles or floats: the reduction of small angles takes them in turn."""
    return cut(Fraction(half_pi(200), 1 << 200), _WIDTHS[real])


def cut(value: Fraction, widths: tuple[int, ...]) -> tuple[float, ...]:
    """A number as a sum of doubles of so many bits each, the largest first, all of one sign."""
    parts = []
    for width in widths:
        unit = Fraction(2) ** (math.frexp(float(value))[1] - width)
        part = value // unit * unit
        parts.append(float(part))
        value -= part
    return tuple(parts)


def literal(x: float) -> str:
    """A double as IR writes it."""
    return f"0x{struct.pack('>d', x).hex().upper()}"


def source() -> str:
    """The IR of `@reduce_large`, on one number.

    {i64 k, double hi, double lo} @reduce_large(double x), for x >= 1: the
    remainder x - k pi/2 = hi + lo, at most pi/4 in size, and k up to multiples of 4.
    Infinity and NaN give NaN.

    The first word of the table stands for the bits of 2/pi before the point, all zero.
    """
    digits = two_over_pi(64 * (_WORDS - 1))
    table = [digits >> 64 * i & (1 << 64) - 1 for i in reversed(range(_WORDS))]
    return f"""\
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare i64 @llvm.ctlz.i64(i64, i1)

@two_over_pi = internal constant [{_WORDS} x i64] [{", ".join(f"i64 {w}" for w in table)}]

define internal {{i64, double, double}} @reduce_large(double %x) nounwind {{
  %bits = bitcast double %x to i64
  %exponent = lshr i64 %bits, 52
  %fraction = and i64 %bits, {(1 << 52) - 1}
  %m = or i64 %fraction, {1 << 52}
  ; the 192 bits of 2/pi that matter: w2 w1 w0
  %first = sub i64 %exponent, {_BEFORE}
  %word = lshr i64 %first, 6
  %shift = and i64 %first, 63
  %at3 = getelementptr i64, ptr @two_over_pi, i64 %word
  %at2 = getelementptr i64, ptr %at3, i64 1
  %at1 = getelementptr i64, ptr %at3, i64 2
  %at0 = getelementptr i64, ptr %at3, i64 3
  %t3 = load i64, ptr %at3
  %t2 = load i64, ptr %at2
  %t1 = load i64, ptr %at1
  %t0 = load i64, ptr %at0
  %w2 = call i64 @llvm.fshl.i64(i64 %t3, i64 %t2, i64 %shift)
  %w1 = call i64 @llvm.fshl.i64(i64 %t2, i64 %t1, i64 %shift)
  %w0 = call i64 @llvm.fshl.i64(i64 %t1, i64 %t0, i64 %shift)
  ; times m, modulo 2^192: r2 r1 r0; its first two bits are the quadrant
  %m.wide = zext i64 %m to i128
  %w0.wide = zext i64 %w0 to i128
  %w1.wide = zext i64 %w1 to i128
  %product0 = mul i128 %m.wide, %w0.wide
  %carry0 = lshr i128 %product0, 64
  %product1 = mul i128 %m.wide, %w1.wide
  %sum1 = add i128 %product1, %carry0
  %carry1 = lshr i128 %sum1, 64
  %carry = trunc i128 %carry1 to i64
  %product2 = mul i64 %m, %w2
  %r2 = add i64 %product2, %carry
  %r1 = trunc i128 %sum1 to i64
  %r0 = trunc i128 %product0 to i64
  ; the rest is a fraction f of pi/2, between -1/2 and 1/2; its size is a1 a0
  %f1 = call i64 @llvm.fshl.i64(i64 %r2, i64 %r1, i64 2)
  %f0 = call i64 @llvm.fshl.i64(i64 %r1, i64 %r0, i64 2)
  %below = lshr i64 %r2, 62
  %up = lshr i64 %f1, 63
  %k = add i64 %below, %up
  %negative = ashr i64 %f1, 63
  %a1 = xor i64 %f1, %negative
  %a0 = xor i64 %f0, %negative
  ; |f| = 2^-zeros b, and times pi/2; b and pi/2 have 64 bits each
  %zeros = call i64 @llvm.ctlz.i64(i64 %a1, i1 false)
  %b = call i64 @llvm.fshl.i64(i64 %a1, i64 %a0, i64 %zeros)
  %b.wide = zext i64 %b to i128
  %r = mul i128 %b.wide, {half_pi(63)}
  ; its first 53 bits and the next 63, as two doubles
  %r.first = lshr i128 %r, 75
  %r.next = lshr i128 %r, 12
  %first.bits = trunc i128 %r.first to i64
  %next.bits = trunc i128 %r.next to i64
  %next.63 = and i64 %next.bits, {(1 << 63) - 1}
  %first.number = sitofp i64 %first.bits to double
  %next.number = sitofp i64 %next.63 to double
  %power = sub i64 1023, %zeros
  %power.bits = shl i64 %power, 52
  %sign = shl i64 %negative, 63
  %scale.bits = or i64 %power.bits, %sign
  %scale = bitcast i64 %scale.bits to double
  %first.unit = fmul double %scale, {literal(2.0**-52)}
  %next.unit = fmul double %scale, {literal(2.0**-115)}
  %high = fmul double %first.number, %first.unit
  %low = fmul double %next.number, %next.unit
  %nothing = fsub double %x, %x
  %both = fadd double %high, %low
  %rounded = fsub double %both, %high
  %lo = fsub double %low, %rounded
  %hi = fadd double %both, %nothing
  %out1 = insertvalue {{i64, double, double}} poison, i64 %k, 0
  %out2 = insertvalue {{i64, double, double}} %out1, double %hi, 1
  %out3 = insertvalue {{i64, double, double}} %out2, double %lo, 2
  ret {{i64, double, double}} %out3
}}
"""
