"""Formulas in sines and cosines, brought to the form that one would print.

A quotient of polynomials in sin x and cos x has one form with `sin^2 = 1 - cos^2`
everywhere and nothing left to cancel. Products of sines and cosines are then sums of
those of sums of angles, as cos q1 cos q2 - sin q1 sin q2 = cos(q1 + q2); the shorter
of the two forms is taken.
"""

from __future__ import annotations

from typing import Any

import sympy
from sympy.simplify.fu import TR8, TR10


def simplified(x: Any) -> Any:
    """A formula, simplified; as it is, where it is no quotient of polynomials in sines and cosines.

    >>> x, y = sympy.symbols("x y")
    >>> simplified(sympy.cos(x) * sympy.cos(y) - sympy.sin(x) * sympy.sin(y))
    cos(x + y)
    >>> simplified((1 - sympy.sin(x) ** 2) / sympy.cos(x))
    cos(x)
    """
    try:
        return _simplified(x)
    except sympy.PolynomialError:
        return x


def _simplified(x: Any) -> Any:
    x = TR10(sympy.expand(x, trig=False)) if _has_sums(x) else x
    angles = sorted({y.args[0] for y in x.atoms(sympy.sin, sympy.cos)}, key=sympy.default_sort_key)
    pairs = [(sympy.Dummy("c"), sympy.Dummy("s"), angle) for angle in angles]
    into = {sympy.cos(a): c for c, _, a in pairs} | {sympy.sin(a): s for _, s, a in pairs}
    plain = sympy.together(x.xreplace(into))
    above, below = (_reduced(y, pairs) for y in sympy.fraction(plain))
    above, below = sympy.fraction(sympy.cancel(above / below))
    if below.is_number:
        above, below = sympy.expand(above / below), sympy.S.One
    elif _is_negative(below, pairs):
        above, below = -above, -below
    back = {y: x for x, y in into.items()}
    above, below = (_shortest(_reduced(y, pairs).xreplace(back)) for y in (above, below))
    return above / below


def _has_sums(x: Any) -> bool:
    return any(y.args[0].is_Add for y in x.atoms(sympy.sin, sympy.cos))


def _reduced(x: Any, pairs: list) -> Any:
    """A polynomial with no higher power of a sine than the first."""
    for c, s, _ in pairs:
        terms = sympy.Poly(x, s).all_coeffs()[::-1] if x.has(s) else [x]
        powers = [t * (1 - c**2) ** (i // 2) for i, t in enumerate(terms)]
        x = sympy.expand(sum(powers[::2]) + s * sum(powers[1::2]))
    return x


def _is_negative(x: Any, pairs: list) -> bool:
    """Whether what is left of a polynomial without sines and cosines is negative."""
    rest = sympy.expand(x).subs({y: 0 for c, s, _ in pairs for y in (c, s)})
    return bool(rest.could_extract_minus_sign())


def _shortest(x: Any) -> Any:
    """As powers of sines and cosines, or as sines and cosines of sums; common factors outside
    where that is much shorter."""
    shortest = min((x, sympy.expand(TR8(x))), key=sympy.count_ops)
    factored = sympy.factor_terms(x)
    is_much = sympy.count_ops(factored) < 0.75 * sympy.count_ops(shortest)
    return factored if is_much else shortest
