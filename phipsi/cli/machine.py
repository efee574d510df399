"""The machine that a command is about: a file, or one that comes with phipsi."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from phipsi.errors import InputError, name_choices
from phipsi.model import examples
from phipsi.model.files import reading as readers
from phipsi.model.files.load import load
from phipsi.model.model import Model

BUNDLED: dict[str, Callable[..., Model]] = {
    "spacecraft": examples.spacecraft,
    "puma560": examples.puma560,
    "branching_tree": examples.branching_tree,
    "planar_arm": examples.planar_arm,
    "chain": examples.chain,
}
COUNTED = ("planar_arm", "chain")  # those that take a number of bodies
BODIES = 6  # of a chain, if nobody says how many


@dataclass(frozen=True)
class Reading:
    """How a file is read.

    Args:
        base: whether the root link is welded to the world or moves; by default as the file says.
        mimic: whether mimic joints follow their leaders, or move on their own.
        strict: refuse what no machine can have, and what cannot be honoured.
        packages: where package:// names of meshes are looked up; as often as you like.
    """

    base: Literal["fixed", "free"] | None = None
    mimic: Literal["enforce", "independent"] = "enforce"
    strict: Annotated[bool, Parameter(negative=(), show_default=False)] = False
    packages: Annotated[tuple[Path, ...], Parameter(negative=(), show_default=False)] = ()

    @property
    def asked(self) -> readers.Reading:
        """The same, as readers of files take it."""
        found = tuple(map(str, self.packages))
        return readers.Reading(self.base, self.mimic, self.strict, packages=found)


AS_WRITTEN = Reading()


def read_machine(file: str, reading: Reading = AS_WRITTEN) -> Model:
    """The machine of a file, or a bundled one by its name.

    Args:
        file: path of a URDF, SDF or MJCF file; or the name of a bundled machine, for chain
            and planar_arm with the number of bodies after a colon if you like.
        reading: of a file.

    Raises:
        InputError: there is neither, or a bundled machine cannot be read that way.
        ModelError: the file describes no machine.

    >>> read_machine("chain:3")
    <Model 'chain of 3': 3 bodies, nq = 3, nv = 3, 3 kg>
    """
    if not is_bundled(file):
        return load(file, reading.base, reading.mimic, reading.strict, packages=reading.packages)
    name, _, count = file.partition(":")
    if name not in BUNDLED:
        raise InputError(
            f"{file!r} is neither a file nor a machine that comes with phipsi; "
            f"{name_choices(name, BUNDLED)}"
        )
    if reading != AS_WRITTEN:
        raise InputError(
            f"{name!r} comes with phipsi, as it is; --base, --mimic, --strict and --packages are "
            "for files"
        )
    if count and name not in COUNTED:
        raise InputError(f"{name!r} takes no number of bodies; write {name}")
    if not count and name != "chain":
        return BUNDLED[name]()
    return BUNDLED[name](int(count or BODIES))


def is_bundled(file: str) -> bool:
    """Whether this must be the name of a bundled machine: a word, and no file is called so.

    >>> is_bundled("puma560"), is_bundled("robot.urdf")
    (True, False)
    """
    return re.fullmatch(r"\w+(:\d+)?", file) is not None and not Path(file).exists()
