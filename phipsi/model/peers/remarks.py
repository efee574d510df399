"""What there is to say about a model that is taken over, and what cannot be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from phipsi.errors import InputError, ModelError, name_choices
from phipsi.model.report import Place, Remark, Status

MIMICS = ("enforce", "independent")

PlaceOf = Callable[[str, str], Place | None]  # of a tag and a name: where the file has it


def no_file(tag: str, name: str) -> Place | None:
    """The place of what came without a file."""
    return None


class Remarks:
    """Collects the lines of a report about a peer's model.

    Args:
        strict: raise what is refused, instead of noting it.
        place_of: where a file tells of an element, by tag and name.
    """

    def __init__(self, strict: bool, place_of: PlaceOf = no_file):
        self.strict = strict
        self.place_of = place_of
        self.lines: list[Remark] = []

    def say(
        self, status: Status, message: str, tag: str, name: str = "", notable: bool = False
    ) -> None:
        """Something to know about an element."""
        label = f"<{tag} {name!r}>" if name else f"<{tag}>"
        place = self.place_of(tag, name)
        self.lines.append(Remark(status, message, place, label, notable))

    def refuse(self, message: str, tag: str, name: str = "") -> None:
        """An element that the machine is without; ModelError when strict."""
        if self.strict:
            place = self.place_of(tag, name)
            front = f"{place[0]}:{place[1]}: " if place else ""
            raise ModelError(f"{front}{message}; strict=False leaves it out")
        self.say("refused", message, tag, name, notable=True)

    def single(self, values: np.ndarray, what: str, joint: str, instead: float = 0.0) -> float:
        """The value that all speeds of a joint have; where they differ, refused by name.

        Args:
            values: one for each speed.
            what: what they are.
            joint: the name of the joint.
            instead: what the joint has if they are left out.
        """
        if (values == values[0]).all() or np.isnan(values).any():
            return float(values.max())  # what is no number is refused where the joint is made
        numbers = ", ".join(f"{x:g}" for x in values)
        text = f"joint {joint!r} has {what} that differs from speed to speed: {numbers}; "
        self.refuse(f"{text}a joint has one here, and this is left out", "joint", joint)
        return instead

    def say_of_all(
        self, status: Status, message: str, tag: str, names: Sequence[str], limit: int = 4
    ) -> None:
        """The same of many: a line for each, and one to read."""
        if not names:
            return
        if status == "refused" and self.strict:
            self.refuse(f"{tag} {names[0]!r}: {message}", tag, names[0])
        for name in names:
            self.say(status, f"{tag} {name!r}: {status}, {message}", tag, name)
        shown = ", ".join(repr(name) for name in names[:limit])
        rest = f", ... ({len(names)} in all)" if len(names) > limit else ""
        text = f"{tag} {shown}{rest}: {message}"
        self.lines.append(Remark(status, text, self.place_of(tag, names[0]), f"<{tag}>", True))


def check_mimic(mimic: str, function: str) -> None:
    """One of the two ways, or InputError."""
    if mimic not in MIMICS:
        choices = name_choices(str(mimic), MIMICS)
        raise InputError(f"{function}: mimic is {mimic!r}; {choices}")
