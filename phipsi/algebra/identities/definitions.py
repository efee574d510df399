"""What the letters stand for, as equations: the definition of each letter that has one."""

from __future__ import annotations

from phipsi.algebra.identities.equation import Equation
from phipsi.algebra.node import Symbol
from phipsi.algebra.operators import LETTERS

EQUATIONS = [
    Equation(
        f"definition of {letter.name}",
        letter,
        letter.definition,
        letter.record.cited,
        meaning=letter.record.says,
        printed=letter.record.printed,
    )
    for letter in LETTERS.values()
    if isinstance(letter, Symbol) and letter.definition is not None
]
