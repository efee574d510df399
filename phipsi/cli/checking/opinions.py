"""What each peer has to say about a file: its answers beside ours, or why there are none."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from phipsi.cli.checking.beside import Peer, UnreadError, beside, said
from phipsi.cli.checking.comparison import Comparison
from phipsi.cli.checking.laws import States
from phipsi.cli.checking.mujoco import MuJoCo
from phipsi.cli.checking.pinocchio import Pinocchio
from phipsi.model.files.reading import Reading
from phipsi.model.files.xmlfile import read_xml
from phipsi.model.model import Model

FORMATS = {"robot": "URDF", "sdf": "SDF", "mujoco": "MJCF"}  # by the root element


@dataclass(frozen=True)
class Witness:
    """A package that may know the answers, too.

    Args:
        name: of the package.
        module: as after `import`.
        install: as after `pip install`.
        reads: the root elements of the files that it reads.
        ask: makes its machine of its module, the file, how we have read it, and our model.
        since: the first version that is asked.
        before: what others than that do.
    """

    name: str
    module: str
    install: str
    reads: tuple[str, ...]
    ask: Callable[[Any, str, Reading, Model], Peer]
    since: tuple[int, ...] = ()
    before: str = ""

    def reason(self, version: str) -> str:
        """Why a version is not asked; "" if it is.

        >>> WITNESSES[1].reason("4.0.0"), WITNESSES[0].reason("2.6.20")
        ('', '')
        """
        found = tuple(map(int, re.findall(r"\d+", version)[: len(self.since)]))
        if found >= self.since:
            return ""
        needed = ".".join(map(str, self.since))
        return f"it is too old: pip install '{self.install}>={needed}'; older ones {self.before}"


WITNESSES = (
    Witness(
        "Pinocchio",
        "pinocchio",
        "pin",
        ("robot",),
        lambda module, file, reading, model: Pinocchio(module, file, model),
    ),
    Witness(
        "MuJoCo",
        "mujoco",
        "mujoco",
        ("robot", "mujoco"),
        MuJoCo,
        (3, 14),
        "know no mimic joints in URDF, and round inertias to seven digits",
    ),
)


@dataclass(frozen=True)
class Opinion:
    """What a peer says.

    Args:
        name: of the peer.
        version: of it; "" if it is not installed.
        reason: why it says nothing; "" if it does.
        comparisons: of its answers with ours.
        notes: what it makes of the file otherwise than we do.
    """

    name: str
    version: str = ""
    reason: str = ""
    comparisons: list[Comparison] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def differs(self) -> bool:
        """Whether some answer is another than ours."""
        return any(found.differs for found in self.comparisons)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "name": self.name,
            "version": self.version or None,
            "reason": self.reason or None,
            "notes": self.notes,
            "comparisons": [found.as_json() for found in self.comparisons],
        }


def root_of(file: str) -> str:
    """The root element of a file: "robot", "sdf" or "mujoco"."""
    return read_xml(file).tag


def hear(
    witness: Witness, file: str, model: Model, states: States, reading: Reading | None = None
) -> Opinion:
    """A peer's answers on a file.

    Args:
        witness: the peer.
        file: path of the file.
        model: what we read from it, a tree.
        states: q, v, tau and vdot by name, a row per state.
        reading: how we have read it; None for what `load` does unasked.
    """
    root = root_of(file)
    if root not in witness.reads:
        return Opinion(witness.name, reason=f"it reads no {FORMATS[root]}")
    try:
        module = import_module(witness.module)
    except ImportError:
        return Opinion(witness.name, reason=f"not installed: pip install {witness.install}")
    except Exception as error:  # as those do whose binaries do not fit
        return Opinion(witness.name, reason=f"it cannot be imported: {said(error)}")
    version = str(module.__version__)
    reason = witness.reason(version)
    if reason:
        return Opinion(witness.name, version, reason)
    try:
        peer = witness.ask(module, file, reading or Reading(), model)
    except UnreadError as error:
        return Opinion(witness.name, version, str(error))
    found = list(beside(model, states, peer))
    return Opinion(witness.name, version, "", found, peer.notes)
