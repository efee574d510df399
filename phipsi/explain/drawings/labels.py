"""What slots of a program are called in a drawing: the papers' letters, without places."""

from __future__ import annotations

import re
from collections.abc import Iterable

from phipsi.algebra.text.spelling import in_unicode
from phipsi.explain.levels.notation import Notation
from phipsi.lowering.program import Program, Slot, Statement

_NAME = re.compile(r"[A-Za-z_]\w*")
_PLACE = re.compile(r"\((?:[a-z0]|[a-z],[a-z])\)")
_SUM = re.compile(r"sum_[a-z] ")


def in_letters(line: str) -> str:
    """A line of ASCII with the letters of the papers.

    >>> in_letters("P+(k) = P(k) - G(k) H(k) P(k)"), in_letters("nu(k) = D^-1(k) eps(k)")
    ('P⁺(k) = P(k) − G(k) H(k) P(k)', 'ν(k) = D⁻¹(k) ε(k)')
    """
    line = line.replace("^-1", "⁻¹").replace(" - ", " − ")
    line = re.sub(r"(?<=\w)\+(?!=)", "⁺", line)
    line = re.sub(r"\bsum_([a-z])\b", r"Σ_\1", line)
    line = re.sub(r"\beps(?=\b|_\d)", "epsilon", line)
    return _NAME.sub(lambda x: in_unicode(x[0]), line)


class Labels:
    """Labels for the slots of a program.

    Args:
        program: the loops.
    """

    def __init__(self, program: Program):
        self.notation = Notation(program)
        self._named = {x.slot: x.name for x in self.notation.quantities}

    def of(self, slot: Slot) -> str:
        """What a slot is called, or what it is; of a sum over children, what one of them sends."""
        if slot in self._named:
            return in_letters(self._named[slot])
        if self.notation.maker_of(slot).step == "transform":
            return in_letters("phi")  # the numbers of phi(p,k)
        return in_letters(_PLACE.sub("", _SUM.sub("", str(self.notation.value(slot)))))

    def listed(self, slots: Iterable[Slot]) -> list[str]:
        """The labels of some slots, each once."""
        return list(dict.fromkeys(map(self.of, slots)))

    def entering(self, statements: Iterable[Statement]) -> list[str]:
        """What the user gives."""
        return self.listed(x.target for x in statements if x.target is not None)
