"""What an engineer asks of a machine: each function is one operator expression of the papers.

    inverse.py       inverse_dynamics, bias_force, gravity_force
    forward.py       forward_dynamics by FD1, FD2, FD3, FD4 or Cholesky; accelerations
    delayed.py       forward_dynamics_delayed: two sweeps, with the velocities of an instant ago
    mass.py          mass_matrix, mass_matrix_inverse
    manifold.py      integrate, difference
    kinematics.py    body_poses, body_velocities
    points.py        jacobian, jacobian_dot_v, operational_compliance, operational_inertia
    energy.py        kinetic_energy, potential_energy, momentum
    warmup.py        warmup: all of these compiled ahead

    terms.py         how gravity, external wrenches and a moved base enter the equations
    loops.py         what machines with loops are refused, and how to go on
    evaluate.py      from an expression to arrays

Arrays are `(*batch, n)`; every function broadcasts over leading axes. Joints that
follow others are not in q and v: S_q, the identity elsewhere, projects on the rest.
A machine with loops has the kinematics, energies, mass matrix and inverse dynamics of
its tree; what follows from forces, for which those of the loops are missing, raises.
"""

from phipsi.dynamics.delayed import forward_dynamics_delayed
from phipsi.dynamics.energy import kinetic_energy, momentum, potential_energy
from phipsi.dynamics.forward import accelerations, forward_dynamics
from phipsi.dynamics.inverse import bias_force, gravity_force, inverse_dynamics
from phipsi.dynamics.kinematics import body_poses, body_velocities
from phipsi.dynamics.manifold import difference, integrate
from phipsi.dynamics.mass import mass_matrix, mass_matrix_inverse
from phipsi.dynamics.points import (
    jacobian,
    jacobian_dot_v,
    operational_compliance,
    operational_inertia,
)
from phipsi.dynamics.warmup import warmup

__all__ = [
    "accelerations",
    "bias_force",
    "body_poses",
    "body_velocities",
    "difference",
    "forward_dynamics",
    "forward_dynamics_delayed",
    "gravity_force",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "jacobian_dot_v",
    "kinetic_energy",
    "mass_matrix",
    "mass_matrix_inverse",
    "momentum",
    "operational_compliance",
    "operational_inertia",
    "potential_energy",
    "warmup",
]
