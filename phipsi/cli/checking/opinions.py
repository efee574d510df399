"""What each peer has to say about a file: its answers beside ours, or why there are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from phipsi.cli.checking.beside import Peer, UnreadError, beside
from phipsi.cli.checking.comparison import Comparison
from phipsi.cli.checking.laws import States
from phipsi.cli.checking.mujoco import MuJoCo
from phipsi.cli.checking.pinocchio import Pinocchio
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
        ask: makes its machine of its module, the file, the root element and our model.
    """

    name: str
    module: str
    install: str
    reads: tuple[str, ...]
    ask: Callable[[Any, str, str, Model], Peer]


WITNESSES = (
    Witness(
        "Pinocchio",
        "pinocchio",
        "pin",
        ("robot",),
        lambda module, file, root, model: Pinocchio(module, file, model),
    ),
    Witness(
        "MuJoCo",
        "mujoco",
        "mujoco",
        ("robot", "mujoco"),
        lambda module, file, root, model: MuJoCo(module, file, root == "robot", model),
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


def hear(witness: Witness, file: str, model: Model, states: States) -> Opinion:
    """A peer's answers on a file.

    Args:
        witness: the peer.
        file: path of the file.
        model: what we read from it, a tree.
        states: q, v, tau and vdot by name, a row per state.
    """
    root = root_of(file)
    if root not in witness.reads:
        return Opinion(witness.name, reason=f"it reads no {FORMATS[root]}")
    try:
        module = import_module(witness.module)
    except ImportError:
        return Opinion(witness.name, reason=f"not installed: pip install {witness.install}")
    version = str(module.__version__)
    try:
        peer = witness.ask(module, file, root, model)
    except UnreadError as error:
        return Opinion(witness.name, version, str(error))
    found = list(beside(model, states, peer))
    return Opinion(witness.name, version, "", found, peer.notes)
