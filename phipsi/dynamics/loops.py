"""Machines with loops: which functions are still right, and what the others say.

Kinematics, energies, the mass matrix and inverse dynamics are those of the tree, and right for
a machine whose loops are closed: its state is one of the tree. What follows from forces is not:
the loops answer with forces of their own.
"""

from __future__ import annotations

from typing import Any

from phipsi.errors import ModelError
from phipsi.function.checks import check_model
from phipsi.model.model import Model

MOST_NAMES = 6  # of closures, in a message
ROWS = {
    "closures": "for each closure the rows that its joint holds of the differences of pp.jacobian "
    "and pp.jacobian_dot_v between its anchors",
    "couplings": "for each coupling a row of the derivatives of its equation",
}


def check_open(model: Model, asker: str) -> None:
    """ModelError for a machine with closures or couplings, which the asker would pass over.

    A ModelError, since it is the machine that does not suit: the arguments are right, and
    nothing is singular. Nobody takes it for a singular state and goes on.

    Args:
        model: the machine.
        asker: the function whose answer would be that of the tree.
    """
    check_model(model)
    if not model.is_closed:
        return
    rows = " and ".join(ROWS[what] for what in _held(model))
    raise ModelError(
        f"{asker}: {model.name!r} has loops ({loops_of(model)}), which answer with forces of "
        "their own; these are not computed, and the answer would be that of the tree alone. Take "
        "tree = model.opened() and solve Mass vdot - A* f = tau - C with A vdot = -A_dot v for "
        "vdot and the forces f: Mass and C are pp.mass_matrix(tree, q) and "
        f"pp.bias_force(tree, q, v), A and A_dot v have {rows} (docs/dynamics.md, 'Machines with "
        f"loops', does it). If it is the tree that you mean, call {asker} on it"
    )


def loops_of(model: Model) -> str:
    """What holds a machine together beside its tree, by a few names.

    >>> from phipsi import ModelBuilder, joints
    >>> builder = ModelBuilder("gate")
    >>> builder.add_body("leaf", mass=1.0, com=(0.5, 0, 0))
    >>> builder.add_closure("latch", "leaf", "world", joints.Spherical(), position=(1, 0, 0))
    >>> loops_of(builder.build())
    "closures 'latch'"
    """
    return "; ".join(f"{what} {_listed(parts)}" for what, parts in _held(model).items())


def _held(model: Model) -> dict[str, tuple[Any, ...]]:
    held = {"closures": model.closures, "couplings": model.couplings}
    return {what: parts for what, parts in held.items() if parts}


def _listed(parts: tuple[Any, ...]) -> str:
    names = ", ".join(repr(part.name) for part in parts[:MOST_NAMES])
    return f"{names}, ..." if len(parts) > MOST_NAMES else names
