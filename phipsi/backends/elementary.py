"""Sine and cosine, exponential and arcus tangent as LLVM IR: no library is called.

    {T, T} @sincos(T x)                              the sine first
    void @sincos_array(ptr x, ptr s, ptr c, i64 n)   of n > 0 entries; three separate arrays
    void @sincos_large(ptr x, ptr s, ptr c, i64 n)   of n > 0 numbers those that are done apart
    T @exp(T x)
    T @arctan(T x)
    T @arctan2(T y, T x)                             signed zeros and infinities as in C

T is `double` or `float`, or a vector of 2, 4, 8, 16 of them; all lanes and all widths
give the same bits on one machine. A function is a reduction and a polynomial, without branches.
Only angles from those of `reduction.LIMITS` on, infinity and NaN are done apart, after the
rest.

Largest errors found, in units in the last place of the exact result. Of doubles, in a search
of 10^8 numbers and among those of `test_errors_are_as_small_as_documented`: sine and cosine
0.79, or 0.88 on a machine that does not fuse products with sums; exp 0.81; arctan 1.36;
arctan2 1.50. Of floats, all of them: sine and cosine 0.82, or 0.92; exp 0.77; arctan 1.36;
and of 3 10^8 points arctan2 1.53.

The coefficients interpolate what is left of each series at zeros of a Chebyshev
polynomial, near the smallest possible error (`test_coefficients_interpolate`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Context
from fractions import Fraction
from math import inf, pi

from phipsi.backends import reduction
from phipsi.backends.instructions import Bits, Code, Mask, Number, Value, choose, fma, horner
from phipsi.backends.real import REALS
from phipsi.backends.reduction import LIMITS

SIN = (  # (sin r - r) / (r^3/2) in r^2, r up to pi/4
    -0.33333333333333265,
    0.016666666666644837,
    -0.0003968253965962413,
    5.511462738727288e-06,
    -5.010151683653912e-08,
    3.1793630015673553e-10,
)
COS = (  # (cos r - 1 + r^2/2) / r^4 in r^2, r up to pi/4
    0.041666666666666644,
    -0.0013888888888882061,
    2.480158729442023e-05,
    -2.755731576479866e-07,
    2.0875912664852156e-09,
    -1.1369298846560313e-11,
)
EXP = (  # (exp r - 1 - r) / r^2 in r, r up to log(2)/2
    0.5000000000000006,
    0.1666666666666667,
    0.04166666666657314,
    0.008333333333326141,
    0.0013888888932488599,
    0.00019841269874800493,
    2.4801504346997686e-05,
    2.7557255425746435e-06,
    2.7626357241447223e-07,
    2.510520637395701e-08,
)
ARCTAN = (  # (arctan r - r) / r^3 in r^2, r up to 1/3
    -0.33333333333333276,
    0.19999999999975232,
    -0.14285714281946818,
    0.11111110826769936,
    -0.09090896726623814,
    0.07691973838395752,
    -0.06660867983924693,
    0.058171328514780615,
    -0.04798531148337997,
    0.027919902460780795,
)
# The same of floats, with fewer terms.
SIN_OF_FLOAT = (-0.3333331, 0.016664354, -0.00039034383)
COS_OF_FLOAT = (0.041666657, -0.0013887731, 2.4477102e-05)
EXP_OF_FLOAT = (0.5, 0.16666667, 0.04166635, 0.008333298, 0.0013941108, 0.00019899274)
ARCTAN_OF_FLOAT = (-0.33333257, 0.19993153, -0.1409563, 0.08976567)
SERIES = {
    "double": {"sin": SIN, "cos": COS, "exp": EXP, "arctan": ARCTAN},
    "float": {
        "sin": SIN_OF_FLOAT,
        "cos": COS_OF_FLOAT,
        "exp": EXP_OF_FLOAT,
        "arctan": ARCTAN_OF_FLOAT,
    },
}
# Added to a double up to 2^51 in size, it leaves its integer part in the last bits of the sum.
ROUND = 1.5 * 2.0**52
ROUNDS = {"double": ROUND, "float": 1.5 * 2.0**23}
AT_ONCE = 5  # angles that `inline_sincos` works on in turn: with more, registers are wanting
FEW = 8  # angles that it is meant for

# -- sine and cosine ---------------------------------------------------------------------


def _sincos(x: Number) -> tuple[Number, Number, Mask]:
    """sin x and cos x, and where they are valid: |x| = k pi/2 + hi + lo."""
    first, *middle, last = reduction.parts_of_half_pi(x.code.real.name)
    size = abs(x)
    small = size < LIMITS[x.code.real.name]
    shift = ROUNDS[x.code.real.name]
    t = fma(size, 2 / pi, shift)
    k = t - shift
    hi = fma(k, -first, size)  # exact
    lost: list[Number] = []  # when hi is rounded
    for part in middle:
        y = k * part  # exact
        before, hi = hi, hi - y
        lost.append(before - hi - y)
    lo = fma(k, -last, lost[0] if len(lost) == 1 else lost[0] + lost[1])
    return *_turn(x, t.bits, hi, lo), small


def _turn(x: Number, k: Bits, hi: Number, lo: Number) -> tuple[Number, Number]:
    """sin x and cos x of |x| = k pi/2 + hi + lo, by the sine and cosine of hi + lo.

    With z = hi^2: sin = hi + lo + z/2 (hi SIN(z) - lo), cos = 1 - z/2 + z^2 COS(z) - hi lo.
    They change places where k is odd. The sine changes its sign with bit 1 of k and
    with x, the cosine with bit 1 of k + 1.
    """
    real, z = hi.code.real, hi * hi
    by_sin, by_cos = (horner(SERIES[real.name][name], z) for name in ("sin", "cos"))
    half = z * 0.5
    sine = hi + fma(half, fma(hi, by_sin, -lo), lo)
    near = 1.0 - half
    cosine = near + fma(z * z, by_cos, fma(hi, -lo, 1.0 - near - half))
    even = (k & 1).is_zero()
    quadrant = k << (8 * real.bytes - 2)
    s = choose(even, sine, cosine).bits ^ ((x.bits ^ quadrant) & real.sign)
    c = choose(even, cosine, sine).bits ^ ((quadrant + real.sign // 2) & real.sign)
    return s.number, c.number


def _write_sincos(lanes: int, real: str) -> str:
    code = Code(lanes, real=real)
    s, c, small = _sincos(Number(code, ["%x"]))
    T = code.types["T"]
    return f"""\
define internal {{{T}, {T}}} @sincos({T} %x) nounwind{_aligned(code)} {{
entry:
  %x.at = alloca {T}, align 8
  %s.at = alloca {T}, align 8
  %c.at = alloca {T}, align 8
  {_joined(code)}
  {_all(small.names[0], lanes)}
  br i1 %all, label %done, label %large
large:
  store {T} %x, ptr %x.at, align 8
  store {T} {s.names[0]}, ptr %s.at, align 8
  store {T} {c.names[0]}, ptr %c.at, align 8
  call void @sincos_large(ptr %x.at, ptr %s.at, ptr %c.at, i64 {lanes})
  %s.large = load {T}, ptr %s.at, align 8
  %c.large = load {T}, ptr %c.at, align 8
  br label %done
done:
  %s = phi {T} [ {s.names[0]}, %entry ], [ %s.large, %large ]
  %c = phi {T} [ {c.names[0]}, %entry ], [ %c.large, %large ]
  %first = insertvalue {{{T}, {T}}} poison, {T} %s, 0
  %both = insertvalue {{{T}, {T}}} %first, {T} %c, 1
  ret {{{T}, {T}}} %both
}}
"""


def _write_sincos_array(lanes: int, real: str) -> str:
    """Two entries at a time; the last is done twice if their number is odd.

    Measured with 8 lanes on a machine with AVX-512: two in turn take a twentieth less
    time than one by one, three or four no less than two.
    """
    code = Code(lanes, ways=2, real=real)
    index = Value(code, ["%i", "%j"])
    T, B, size = code.types["T"], code.types["B"], code.real.bytes * lanes

    def at(base: str) -> Value:
        return code.let(Value, f"getelementptr {{T}}, ptr {base}, i64 {{}}", index)

    x = code.let(Number, f"load {{T}}, ptr {{}}, align {size}", at("%x"))
    s, c, small = _sincos(x)
    for values, places in ((s, at("%s")), (c, at("%c"))):
        for value, place in zip(values.names, places.names, strict=True):
            code.lines.append(f"store {T} {value}, ptr {place}, align {size}")
    return f"""\
define internal void @sincos_array(ptr %x, ptr %s, ptr %c, i64 %n) nounwind{_aligned(code)} {{
entry:
  %last = sub i64 %n, 1
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %good = phi {B} [ {"true" if lanes == 1 else "splat (i1 true)"}, %entry ], [ %good.j, %loop ]
  %behind = add i64 %i, 1
  %inside = icmp ult i64 %behind, %n
  %j = select i1 %inside, i64 %behind, i64 %last
  {_joined(code)}
  %good.i = and {B} %good, {small.names[0]}
  %good.j = and {B} %good.i, {small.names[1]}
  %next = add i64 %i, 2
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  {_all("%good.j", lanes)}
  br i1 %all, label %done, label %large
large:
  %numbers = mul i64 %n, {lanes}
  call void @sincos_large(ptr %x, ptr %s, ptr %c, i64 %numbers)
  br label %done
done:
  ret void
}}
"""


def inline_sincos(
    lanes: int, angles: Sequence[str], work: str, real: str = "double"
) -> tuple[list[str], list[str], list[str]]:
    """Instructions in the middle of a function, and the names of the sines and cosines they make.

    They call `sincos_large`, begin in the block `entry` and end in another. For 5 angles and 8
    lanes they take a third less time than `sincos_array`.

    Args:
        lanes: numbers side by side.
        angles: names of values.
        work: an address of room for three numbers of each angle.
        real: what numbers are, "double" or "float".
    """
    sines: list[str] = []
    cosines: list[str] = []
    small: list[str] = []
    lines: list[str] = []
    n = len(angles)
    many = -(-n // -(-n // AT_ONCE))
    for k in range(0, n, many):
        some = angles[k : k + many]
        code = Code(lanes, len(some), lines, real)
        for names, values in zip((sines, cosines, small), _sincos(Number(code, some)), strict=True):
            names += values.names
    T, size = code.types["T"], code.real.bytes * lanes
    good, *others = small
    for i, name in enumerate(others):
        lines.append(f"%good{i} = and {code.types['B']} {good}, {name}")
        good = f"%good{i}"
    lines += [*_all(good, lanes).split("\n"), "br i1 %all, label %sines, label %large", "large:"]
    for k, several in enumerate((angles, sines, cosines)):
        for i, value in enumerate(several):
            at = f"%large{n * k + i}"
            lines.append(f"{at} = getelementptr i8, ptr {work}, i64 {size * (n * k + i)}")
            lines.append(f"store {T} {value}, ptr {at}, align {size}")
    arrays = f"ptr %large0, ptr %large{n}, ptr %large{2 * n}"
    lines.append(f"call void @sincos_large({arrays}, i64 {n * lanes})")
    far = [f"%far{i}" for i in range(2 * n)]
    lines += [f"{x} = load {T}, ptr %large{n + i}, align {size}" for i, x in enumerate(far)]
    lines += ["br label %sines", "sines:"]
    near = [*sines, *cosines]
    both = [f"%sine{i}" for i in range(2 * n)]
    for name, x, y in zip(both, near, far, strict=True):
        lines.append(f"{name} = phi {T} [ {x}, %entry ], [ {y}, %large ]")
    return lines, both[:n], both[n:]


def _write_sincos_large(real: str) -> str:
    """The large ones among n numbers, one by one; the others are left as they are.

    Floats are reduced as doubles, whose remainder is then split into two floats.
    """
    code = Code(1, real=real)
    number, size = REALS[real], REALS[real].bytes
    x, hi, lo = (Number(code, [name]) for name in ("%x", "%hi", "%lo"))
    s, c = _turn(x, Bits(code, ["%k"]), hi, lo)
    reduced = "{i64, double, double}"
    split = f"""\
  %k = extractvalue {reduced} %reduced, 0
  %hi = extractvalue {reduced} %reduced, 1
  %lo = extractvalue {reduced} %reduced, 2"""
    if real == "float":
        split = f"""\
  %k.wide = extractvalue {reduced} %reduced, 0
  %k = trunc i64 %k.wide to i32
  %rest = extractvalue {reduced} %reduced, 1
  %hi = fptrunc double %rest to float
  %hi.wide = fpext float %hi to double
  %lo.wide = fsub double %rest, %hi.wide
  %lo = fptrunc double %lo.wide to float"""
    widened = (
        "bitcast double %size to double" if real == "double" else "fpext float %size to double"
    )
    return f"""\
{reduction.source()}
define internal void @sincos_large(ptr %xs, ptr %ss, ptr %cs, i64 %n) cold noinline nounwind {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %following ]
  %x.at = getelementptr {real}, ptr %xs, i64 %i
  %s.at = getelementptr {real}, ptr %ss, i64 %i
  %c.at = getelementptr {real}, ptr %cs, i64 %i
  %x = load {real}, ptr %x.at, align {size}
  %bits = bitcast {real} %x to {number.integer}
  %size.bits = and {number.integer} %bits, {number.sign - 1}
  %size = bitcast {number.integer} %size.bits to {real}
  %small = fcmp olt {real} %size, {number.literal(LIMITS[real])}
  br i1 %small, label %following, label %large
large:
  %wide = {widened}
  %reduced = call {reduced} @reduce_large(double %wide)
{split}
  {_joined(code)}
  store {real} {s.names[0]}, ptr %s.at, align {size}
  store {real} {c.names[0]}, ptr %c.at, align {size}
  br label %following
following:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


# -- exponential -------------------------------------------------------------------------


# Numbers beyond which every result is infinite or zero; the limits of |x| and |y| from which on
# sums would overflow or halves underflow, and powers of two that take them back.
EXP_ENDS = {"double": (720.0, -760.0), "float": (90.0, -106.0)}
ARCTAN_ENDS = {
    "double": ((2.0**1000, 2.0**-100), (2.0**-900, 2.0**100)),
    "float": ((2.0**120, 2.0**-20), (2.0**-70, 2.0**60)),
}


def _write_exp(lanes: int, real: str) -> str:
    """exp x = 2^k exp(hi + lo), x = k log 2 + hi + lo.

    The power of 2 is taken in two halves, for it may lie outside the numbers where the
    result does not. Beyond the bounds, every result is infinite or zero.
    """
    code = Code(lanes, real=real)
    digits, middle = code.real.digits, code.real.half_range
    log2 = Fraction(Context(prec=60).ln(2))
    l1, l2 = reduction.cut(log2, (digits - middle.bit_length(), digits))  # k is that short
    highest, lowest = EXP_ENDS[real]
    x = Number(code, ["%x"])
    x = choose(x > highest, highest, x)
    x = choose(x < lowest, lowest, x)
    shift = ROUNDS[real] + 2 * middle
    t = fma(x, float(1 / log2), shift)
    k = t - shift
    r = fma(k, -l1, x)  # exact
    y = k * l2
    hi = r - y
    lo = r - hi - y
    near = hi + 1.0
    value = near + (hi - (near - 1.0) + fma(hi * hi, horner(SERIES[real]["exp"], hi), lo))
    power = t.bits & (4 * middle - 1)  # k + 2 middle
    half = power >> 1
    for h in (half, power - half):
        value = value * ((h - 1) << (digits - 1)).number  # 2^(h - middle): its exponent is h - 1
    return _function("exp", ("x",), value)


# -- arcus tangent -----------------------------------------------------------------------


def _write_arctan2(lanes: int, real: str) -> str:
    """The angle of (x, y), by the quotient of the smaller b by the larger a of |x| and |y|.

    arctan b/a = arctan 1/2 + arctan (b - a/2) / (a + b/2), so that one division leaves
    the argument of the polynomial between -1/3 and 1/3. From there pi/2 or pi is added,
    or it is taken from them, as the quadrant asks.
    """
    code = Code(lanes, real=real)
    sign, digits = code.real.sign, code.real.digits
    y, x = Number(code, ["%y"]), Number(code, ["%x"])
    steep = abs(x) < abs(y)
    a = choose(steep, abs(y), abs(x))
    b = choose(steep, abs(x), abs(y))
    finite = a < inf
    b = choose(finite, b, choose(b < inf, 0.0, 1.0))
    a = choose(finite, a, 1.0)
    # Neither sums that overflow nor halves that underflow; 0/0 is 0.
    (large, less), (small, more) = ARCTAN_ENDS[real]
    scale = choose(a > large, less, choose(a < small, more, 1.0))
    a, b = a * scale, b * scale
    a = choose(a > 0.0, a, 1.0)

    behind = x.bits.is_negative()
    backwards = choose(steep, -x, x).bits & sign
    far = a * 0.26 < b
    quarter, half = (_two_parts(n * reduction.half_pi(200), digits) for n in (1, 2))
    offset = _two_parts(reduction.arctan_of_inverse(2, 200), digits)
    start = [choose(steep, q, choose(behind, h, 0.0)) for q, h in zip(quarter, half, strict=True)]
    step = [(choose(far, x, 0.0).bits ^ backwards).number for x in offset]
    hi = start[0] + step[0]
    lo = start[0] - hi + step[0] + (start[1] + step[1])

    q = choose(far, fma(a, -0.5, b), b) / choose(far, fma(b, 0.5, a), a)
    q = (q.bits ^ backwards).number
    z = q * q
    angle = hi + (q + fma(z * q, horner(SERIES[real]["arctan"], z), lo))
    angle = (angle.bits ^ (y.bits & sign)).number
    unknown = code.let(Mask, "fcmp uno {T} {}, {}", x, y)
    return _function("arctan2", ("y", "x"), choose(unknown, x + y, angle))


def _two_parts(value: int, digits: int) -> tuple[float, ...]:
    """A value times 2^200 as the sum of two numbers of so many bits."""
    return reduction.cut(Fraction(value, 1 << 200), (digits, digits))


def _write_arctan(lanes: int, real: str) -> str:
    code = Code(lanes, real=real)
    call = "call {T} @arctan2({T} {}, {T} {})"
    return _function("arctan", ("x",), code.let(Number, call, Number(code, ["%x"]), 1.0))


# -- functions ---------------------------------------------------------------------------

_WRITERS: dict[str, Callable[[int, str], str]] = {
    "sincos": _write_sincos,
    "sincos_array": _write_sincos_array,
    "sincos_large": lambda lanes, real: _write_sincos_large(real),
    "exp": _write_exp,
    "arctan": _write_arctan,
    "arctan2": _write_arctan2,
}


def source(lanes: int, needed: Iterable[str], real: str = "double") -> str:
    """The IR of functions, internal to the module that it becomes a part of.

    Args:
        lanes: 1, 2, 4, 8 or 16.
        needed: names of functions, without the @.
        real: what numbers are, "double" or "float".
    """
    names = set(needed)
    assert names <= _WRITERS.keys(), f"no function is called {names - _WRITERS.keys()}"
    if "arctan" in names:
        names.add("arctan2")
    if names & {"sincos", "sincos_array"}:
        names.add("sincos_large")
    texts = [write(lanes, real) for name, write in _WRITERS.items() if name in names]
    codes = (Code(1, real=real), Code(lanes, real=real))
    called = {code.suffix: code.types["T"] for code in codes}
    declared = [
        f"declare {T} @llvm.fmuladd.{suffix}({T}, {T}, {T})\n"
        for suffix, T in called.items()
        if any(f"@llvm.fmuladd.{suffix}(" in text for text in texts)
    ]
    return "\n".join([*declared, *texts])


def _aligned(code: Code) -> str:
    """Registers that spill do not cross cache lines: see `write.Width.attributes`."""
    size = code.real.bytes * code.lanes
    return f" alignstack({size})" if size > 16 else ""


def _function(name: str, parameters: Sequence[str], value: Number) -> str:
    """A function that gives one value."""
    T = value.code.types["T"]
    listed = ", ".join(f"{T} %{x}" for x in parameters)
    return f"""\
define internal {T} @{name}({listed}) nounwind{_aligned(value.code)} {{
  {_joined(value.code)}
  ret {T} {value.names[0]}
}}
"""


def _joined(code: Code) -> str:
    return "\n  ".join(code.lines)


def _all(mask: str, lanes: int) -> str:
    """The instructions for %all: whether a mask is true in all lanes."""
    if lanes == 1:
        return f"%all = and i1 {mask}, true"
    return (
        f"%lanes = bitcast <{lanes} x i1> {mask} to i{lanes}\n  %all = icmp eq i{lanes} %lanes, -1"
    )
