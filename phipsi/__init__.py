"""phipsi: multibody dynamics on the Spatial Operator Algebra.

>>> import phipsi as pp
>>> from phipsi.operators import H, phi, M
>>> arm = pp.examples.planar_arm(2)
>>> pp.as_matrix(arm, H @ phi @ M @ phi.T @ H.T, arm.neutral()).round(4)
array([[2.6679, 0.834 ],
       [0.834 , 0.334 ]])
"""

# First of all: it looks at the files that are imported now.
from phipsi.backends.disk import sources as _sources  # noqa: F401

# isort: split

from phipsi import joints
from phipsi.backends.parallel.workers import get_threads, set_threads
from phipsi.compile import Function, compile
from phipsi.dynamics import (
    accelerations,
    bias_force,
    body_poses,
    body_velocities,
    forward_dynamics,
    forward_dynamics_delayed,
    gravity_force,
    inverse_dynamics,
    jacobian,
    jacobian_dot_v,
    kinetic_energy,
    mass_matrix,
    mass_matrix_inverse,
    momentum,
    operational_compliance,
    operational_inertia,
    potential_energy,
    warmup,
)
from phipsi.errors import (
    BackendError,
    InputError,
    LoweringError,
    ModelError,
    PhipsiError,
    SolveError,
    SpaceError,
)
from phipsi.export import export
from phipsi.lowering.dense import as_matrix
from phipsi.model import examples, geometry
from phipsi.model.build import ModelBuilder
from phipsi.model.closure import Closure, Coupling
from phipsi.model.configuration import difference, integrate
from phipsi.model.examples import chain
from phipsi.model.files.load import load
from phipsi.model.files.urdf.save import save_urdf
from phipsi.model.model import Body, Frame, Joint, Keyframe, Limits, Model, Point, point
from phipsi.model.peers.mujoco.machine import from_mujoco
from phipsi.model.peers.pinocchio.machine import from_pinocchio
from phipsi.model.report import Remark, Report
from phipsi.simulate import control
from phipsi.simulate.run import rollout, simulate
from phipsi.simulate.trajectory import Trajectory
from phipsi.view import view

__version__ = "0.1.0"

__all__ = [
    "BackendError",
    "Body",
    "Closure",
    "Coupling",
    "Frame",
    "Function",
    "InputError",
    "Joint",
    "Keyframe",
    "Limits",
    "LoweringError",
    "Model",
    "ModelBuilder",
    "ModelError",
    "PhipsiError",
    "Point",
    "Remark",
    "Report",
    "SolveError",
    "SpaceError",
    "Trajectory",
    "accelerations",
    "as_matrix",
    "bias_force",
    "body_poses",
    "body_velocities",
    "chain",
    "compile",
    "control",
    "difference",
    "examples",
    "export",
    "forward_dynamics",
    "forward_dynamics_delayed",
    "from_mujoco",
    "from_pinocchio",
    "geometry",
    "get_threads",
    "gravity_force",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "jacobian_dot_v",
    "joints",
    "kinetic_energy",
    "load",
    "mass_matrix",
    "mass_matrix_inverse",
    "momentum",
    "operational_compliance",
    "operational_inertia",
    "point",
    "potential_energy",
    "rollout",
    "save_urdf",
    "set_threads",
    "simulate",
    "view",
    "warmup",
]
