"""What slots of a program are called in a drawing: the papers' letters, without places."""

from __future__ import annotations

import re
from collections.abc import Iterable

from phipsi.explain.levels.layout import in_letters
from phipsi.explain.levels.notation import Notation
from phipsi.lowering.program import Effect, Program, Slot, Statement

_PLACE = re.compile(r"\((?:[a-z0]|[a-z],[a-z])\)")
_SUM = re.compile(r"sum_[a-z] ")


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

    def handed(self, slots: Iterable[Slot]) -> list[str]:
        """What bodies send along an edge: what a child makes for a sum, or what a parent has."""
        said: list[str] = []
        for slot in slots:
            made = self.notation.uses.makers[slot]
            sent = [self.notation.pushed(x) for x in made if x.effect is Effect.PUSH]
            texts = [_PLACE.sub("", str(x)).replace(" = ", "\u00a0=\u00a0") for x in sent]
            said += [in_letters(x) for x in texts] or [self.of(slot)]
        return list(dict.fromkeys(said))

    def entering(self, statements: Iterable[Statement]) -> list[str]:
        """What the user gives."""
        return self.listed(x.target for x in statements if x.target is not None)
