"""What is asked of every robot, in the papers' operators and as an engineer asks it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import phipsi as pp
from phipsi.algebra.node import Node
from phipsi.dynamics import mass
from phipsi.dynamics.forward import FD4
from phipsi.dynamics.inverse import newton_euler
from phipsi.dynamics.terms import terms_of


@dataclass(frozen=True)
class Task:
    """A question.

    Args:
        key: as it is called on the command line.
        name: as it is called in tables.
        expression: what is compiled.
        arguments: names of the inputs, keys of a robot's states.
        checked: the function of `pp` that answers it, arguments and results checked.
        is_matrix: whether the answer is nv x nv; else it has nv entries.
    """

    key: str
    name: str
    expression: Node
    arguments: tuple[str, ...]
    checked: Callable[..., np.ndarray]
    is_matrix: bool = False

    def shape(self, nv: int) -> tuple[int, ...]:
        """Of the answer for one state."""
        return (nv, nv) if self.is_matrix else (nv,)


TERMS = terms_of()
FORWARD = Task(
    "forward",
    "forward dynamics",
    FD4(TERMS.a_g, TERMS.b),
    ("q", "v", "tau"),
    pp.forward_dynamics,
)
INVERSE = Task(
    "inverse",
    "inverse dynamics",
    newton_euler(TERMS.a_g, TERMS.b),
    ("q", "v", "vdot"),
    pp.inverse_dynamics,
)
MASS = Task("mass", "mass matrix", mass.MASS, ("q",), pp.mass_matrix, is_matrix=True)
MASS_INVERSE = Task(
    "mass-inverse",
    "inverse of the mass matrix",
    mass.MASS_INVERSE,
    ("q",),
    pp.mass_matrix_inverse,
    is_matrix=True,
)
TASKS = {task.key: task for task in (FORWARD, INVERSE, MASS, MASS_INVERSE)}
