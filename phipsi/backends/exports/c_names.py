"""What things are called in C."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from phipsi.errors import InputError

# Words of C and C++, functions of <math.h>, and the names that exported code uses itself.
_WORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class
compl const const_cast constexpr continue decltype default delete do double dynamic_cast else enum
explicit export extern false float for friend goto if inline int long main mutable namespace new
noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
restrict return short signed sizeof static static_assert static_cast struct switch template this
thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
wchar_t while xor xor_eq
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp10 exp2
expm1 fabs fdim finite floor fma fmax fmin fmod fpclassify frexp gamma hypot ilogb isfinite
isgreater isgreaterequal isinf isless islessequal islessgreater isnan isnormal isunordered j0 j1
jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter
nexttoward pow pow10 remainder remquo rint round scalb scalbln scalbn signbit signgam significand
sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn abs abort calloc div exit free labs malloc
memcmp memcpy memmove memset printf puts strcmp strlen double_t float_t intmax_t intptr_t
max_align_t offsetof ptrdiff_t size_t uintmax_t uintptr_t stderr stdin stdout linux unix
bad count error failed first i l many n room rows s squares work
"""
WORDS = frozenset(_WORDS.split())
# Types and macros of the headers that exported code includes.
THEIRS = re.compile(
    r"u?int\w*_t|NAN|NULL|EOF|BUFSIZ|INFINITY|HUGE\w*"
    r"|(DBL|FLT|LDBL|FP|M|MATH|DECIMAL|U?INT|SIZE|PTRDIFF|WCHAR|WINT|SIG)_\w*|U?INT\d+_\w*",
    re.ASCII,
)
# Names that exported code uses itself; sizes are macros in capitals, so that case does not count.
RESULTS = re.compile(r"(in|out)\d*", re.ASCII | re.IGNORECASE)
OURS = re.compile(r"x\d*|tile_.*|wanted_.*|.*_SIZE_.*", re.ASCII)


def checked_name(name: str) -> str:
    """The name of a C function, or InputError.

    >>> checked_name("ur5")
    'ur5'
    >>> checked_name("5 axes")
    Traceback (most recent call last):
        ...
    phipsi.errors.InputError: name is '5 axes'; expected the name of a C function: letters, ...
    """
    if not isinstance(name, str) or not _fits(name):
        raise InputError(
            f"name is {name!r}; expected the name of a C function: letters, digits and _, "
            "the first a letter, and no word of C or C++"
        )
    return name


def name_of_file(path: str | os.PathLike[str]) -> str:
    """The name of the function that a header stands for: that of the file without its suffix.

    >>> name_of_file("build/ur5.h")
    'ur5'
    """
    stem = Path(path).stem
    if not _fits(stem):
        raise InputError(
            f"{path}: no C function can be called {stem!r}; give it a name, as name='arm'"
        )
    return stem


def argument_names(names: Iterable[str], function: str = "") -> dict[str, str]:
    """What arguments are called in C: as here, as far as C allows it.

    No two differ by case alone, since macros are named after them, and none is called as
    the function is.

    >>> argument_names(["q", "work", "link2.mass"])
    {'q': 'q', 'work': 'in1', 'link2.mass': 'link2_mass'}
    """
    found: dict[str, str] = {}
    for i, name in enumerate(names):
        near = re.sub(r"\W", "_", name, flags=re.ASCII)
        taken = {x.upper() for x in found.values()}
        is_free = _fits(near) and not OURS.fullmatch(near) and near != function
        found[name] = near if is_free and near.upper() not in taken else f"in{i}"
    return found


def result_names(count: int) -> list[str]:
    """What results are called in C.

    >>> result_names(1), result_names(2)
    (['out'], ['out0', 'out1'])
    """
    return ["out"] if count == 1 else [f"out{i}" for i in range(count)]


def _fits(name: str) -> bool:
    is_word = name in WORDS or THEIRS.fullmatch(name) or RESULTS.fullmatch(name)
    return bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name, re.ASCII)) and not is_word
