"""What is timed on a user's machine: the functions that an engineer calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from phipsi import dynamics
from phipsi.model.model import Model

MANY = 1024  # states of a batch
ROOM = 2**28  # bytes that the results of a batch take at most


@dataclass(frozen=True)
class Task:
    """A question, and who answers it.

    Args:
        name: as it is called in the table.
        function: of `pp`.
        arguments: names of its inputs, keys of the states.
        call: the name of the function of Pinocchio that does the same.
        batch: the name of the one that does it for many states, in C++; "" if there is none.
        is_matrix: whether the answer is nv x nv; else it has nv entries.
    """

    name: str
    function: Callable[..., np.ndarray]
    arguments: tuple[str, ...]
    call: str
    batch: str = ""
    is_matrix: bool = False

    def count(self, model: Model) -> int:
        """How many states make a batch: fewer where their results would fill the memory."""
        entries = model.nv**2 if self.is_matrix else model.nv
        return max(1, min(MANY, ROOM // (8 * max(entries, 1))))


TASKS = (
    Task("forward dynamics", dynamics.forward_dynamics, ("q", "v", "tau"), "aba", "abaInParallel"),
    Task(
        "inverse dynamics", dynamics.inverse_dynamics, ("q", "v", "vdot"), "rnea", "rneaInParallel"
    ),
    Task("mass matrix", dynamics.mass_matrix, ("q",), "crba", is_matrix=True),
    Task("its inverse", dynamics.mass_matrix_inverse, ("q",), "computeMinverse", is_matrix=True),
)


def states_of(model: Model, count: int = MANY, seed: int = 0) -> dict[str, np.ndarray]:
    """Random states of a machine, the same for a seed: q, v, tau, vdot by name, a row each.

    >>> import phipsi as pp
    >>> states_of(pp.chain(2), 3)["q"].shape
    (3, 2)
    """
    rng = np.random.default_rng(seed)
    q = np.array([model.random(rng) for _ in range(count)])
    v, tau, vdot = rng.normal(size=(3, count, model.nv))
    return {"q": q, "v": v, "tau": tau, "vdot": vdot}
