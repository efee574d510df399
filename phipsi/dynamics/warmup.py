"""Compiling ahead of the first call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from phipsi.dynamics.energy import kinetic_energy, momentum, potential_energy
from phipsi.dynamics.forward import accelerations, forward_dynamics
from phipsi.dynamics.inverse import bias_force, gravity_force, inverse_dynamics
from phipsi.dynamics.kinematics import body_poses, body_velocities
from phipsi.dynamics.manifold import integrate
from phipsi.dynamics.mass import mass_matrix, mass_matrix_inverse
from phipsi.dynamics.points import (
    jacobian,
    jacobian_dot_v,
    operational_compliance,
    operational_inertia,
)
from phipsi.errors import InputError, ModelError, SolveError, name_choices
from phipsi.function.checks import check_model
from phipsi.model.model import Model, Point

# Of each function, how many vectors of the size of the speeds it takes beside q.
SPEEDS: dict[Callable, int] = {
    forward_dynamics: 2,
    inverse_dynamics: 2,
    mass_matrix: 0,
    mass_matrix_inverse: 0,
    bias_force: 1,
    gravity_force: 0,
    body_poses: 0,
    body_velocities: 1,
    accelerations: 2,
    kinetic_energy: 1,
    potential_energy: 0,
    momentum: 1,
    integrate: 1,
}
AT_POINTS: dict[Callable, int] = {
    jacobian: 0,
    jacobian_dot_v: 1,
    operational_compliance: 0,
    operational_inertia: 0,
}


def warmup(
    model: Model, *functions: Callable[..., Any], points: Sequence[Point | str] = ()
) -> None:
    """Compile functions for a machine before they are needed, as ahead of a control loop.

    Each is called once, at the neutral configuration, at rest, without external wrenches
    and by its default method: those have code of their own. With a cache on disk the
    next process finds it there. Expressions that you compile yourself are ready after a
    look at `fn.info()`.

    Args:
        model: the machine.
        functions: of this package, as `pp.forward_dynamics`; none for all that need no more
            than a state, a vector, and points, and that a machine with loops has.
        points: at which Jacobians and the like will be asked for; without, those are left.

    Raises:
        InputError: for what is no machine, and no such function.
        ModelError: a function is named that a machine with loops does not have.

    >>> import phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> pp.warmup(arm, pp.forward_dynamics, pp.mass_matrix)
    >>> pp.mass_matrix(arm, [0.0, 0.0]).round(4)  # compiled already
    array([[2.6679, 0.834 ],
           [0.834 , 0.334 ]])
    """
    check_model(model)
    known = SPEEDS | AT_POINTS
    for function in functions:
        if not callable(function) or function not in known:
            names = [x.__name__ for x in known]
            name = getattr(function, "__name__", repr(function))
            raise InputError(f"warmup: {name} is no such function; {name_choices(name, names)}")
        if function in AT_POINTS and not points:
            raise InputError(f"warmup: {function.__name__} needs points: pass points=[...]")
    q, v = model.neutral(), np.zeros(model.nv)
    chosen = functions or (*SPEEDS, *(AT_POINTS if points else ()))
    for function in chosen:
        arguments: list[Any] = [q, *[v] * known[function]]
        if function in AT_POINTS:
            arguments.append(points)
        try:
            function(model, *arguments)
        except SolveError:  # compiled all the same
            pass
        except ModelError:  # a machine with loops has no such function
            if functions:
                raise
