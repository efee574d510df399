"""How a file is to be read."""

from __future__ import annotations

from dataclasses import dataclass

from phipsi.errors import InputError, name_choices
from phipsi.model.inertia import Vector3

BASES = ("fixed", "free")
MIMICS = ("enforce", "independent")
MEANT = {  # what others call them
    **dict.fromkeys(("float", "floating", "freeflyer", "free_flyer", "free-flyer"), "free"),
    **dict.fromkeys(("fix", "static", "weld", "welded", "world"), "fixed"),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What a user asks of a reader.

    Args:
        base: "fixed" welds what hangs on nothing to the world, "free" lets it move; None
            for what the file says.
        mimic: "enforce" makes joints follow that shall, "independent" frees them.
        strict: refuse what is implausible, or cannot be honoured.
        gravity: in place of the file's; None for that.
        packages: directories in which files are looked for.
    """

    base: str | None = None
    mimic: str = "enforce"
    strict: bool = False
    gravity: Vector3 | None = None
    packages: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.base is not None:
            _check_choice("base", self.base, BASES)
        _check_choice("mimic", self.mimic, MIMICS)


def _check_choice(name: str, value: str, valid: tuple[str, ...]) -> None:
    if value not in valid:
        meant = MEANT.get(str(value).lower(), str(value))
        raise InputError(f"load: {name} is {value!r}; {name_choices(meant, valid)}")
