"""What there is to say about a model that was taken over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phipsi.errors import InputError, ModelError, name_choices
from phipsi.model.report import Place, Remark, Status

MIMICS = ("enforce", "independent")

PlaceOf = Callable[[str, str], Place | None]  # of a tag and a name: where the file has it


def no_file(tag: str, name: str) -> Place | None:
    """The place of what came without a file."""
    return None


class Notes:
    """Collects the lines of a report.

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


def unused(name: str, taken: set[str]) -> str:
    """The name, with a number if it is taken; it is taken then."""
    candidate, k = name, 2
    while candidate in taken:
        candidate, k = f"{name}_{k}", k + 1
    taken.add(candidate)
    return candidate
