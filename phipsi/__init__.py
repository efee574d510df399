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

from importlib import import_module
from typing import TYPE_CHECKING, Any

from phipsi import joints
from phipsi.backends.parallel.workers import get_threads, set_threads
from phipsi.compile import Function, compile
from phipsi.dynamics import (
    accelerations,
    bias_force,
    body_poses,
    body_velocities,
    difference,
    forward_dynamics,
    forward_dynamics_delayed,
    gravity_force,
    integrate,
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

if TYPE_CHECKING:  # imported on first use: they are many, and few programs need them
    from phipsi.algebra.identities import (
        Condition,
        Equation,
        OnPath,
        forget_identity,
        identities,
        identity,
    )
    from phipsi.algebra.parse import parse
    from phipsi.explain.deriving.add_identity import add_identity
    from phipsi.explain.deriving.derivation import Derivation
    from phipsi.explain.deriving.derive import derive
    from phipsi.explain.diagnosing.diagnose import diagnose
    from phipsi.explain.diagnosing.diagnosis import Diagnosis
    from phipsi.explain.drawings import Drawing, draw_blocks, draw_dataflow
    from phipsi.explain.letter_check import LetterCheck, check_letter
    from phipsi.explain.levels.explain import explain
    from phipsi.explain.levels.explanation import Explanation
    from phipsi.explain.sample import sample_force, sample_velocity

__version__ = "0.1.0"

__all__ = [
    "BackendError",
    "Body",
    "Closure",
    "Condition",
    "Coupling",
    "Derivation",
    "Diagnosis",
    "Drawing",
    "Equation",
    "Explanation",
    "Frame",
    "Function",
    "InputError",
    "Joint",
    "Keyframe",
    "LetterCheck",
    "Limits",
    "LoweringError",
    "Model",
    "ModelBuilder",
    "ModelError",
    "OnPath",
    "PhipsiError",
    "Point",
    "Remark",
    "Report",
    "SolveError",
    "SpaceError",
    "Trajectory",
    "accelerations",
    "add_identity",
    "as_matrix",
    "bias_force",
    "body_poses",
    "body_velocities",
    "chain",
    "check_letter",
    "compile",
    "control",
    "derive",
    "diagnose",
    "difference",
    "draw_blocks",
    "draw_dataflow",
    "examples",
    "explain",
    "export",
    "forget_identity",
    "forward_dynamics",
    "forward_dynamics_delayed",
    "from_mujoco",
    "from_pinocchio",
    "geometry",
    "get_threads",
    "gravity_force",
    "identities",
    "identity",
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
    "parse",
    "point",
    "potential_energy",
    "rollout",
    "sample_force",
    "sample_velocity",
    "save_urdf",
    "set_threads",
    "simulate",
    "view",
    "warmup",
]

_ON_FIRST_USE = {
    "phipsi.algebra.identities": (
        "Condition",
        "Equation",
        "OnPath",
        "forget_identity",
        "identities",
        "identity",
    ),
    "phipsi.algebra.parse": ("parse",),
    "phipsi.explain.deriving.add_identity": ("add_identity",),
    "phipsi.explain.deriving.derivation": ("Derivation",),
    "phipsi.explain.deriving.derive": ("derive",),
    "phipsi.explain.diagnosing.diagnose": ("diagnose",),
    "phipsi.explain.diagnosing.diagnosis": ("Diagnosis",),
    "phipsi.explain.drawings": ("Drawing", "draw_blocks", "draw_dataflow"),
    "phipsi.explain.levels.explain": ("explain",),
    "phipsi.explain.levels.explanation": ("Explanation",),
    "phipsi.explain.letter_check": ("LetterCheck", "check_letter"),
    "phipsi.explain.sample": ("sample_force", "sample_velocity"),
}

import_module("phipsi.explain")  # the room, once: later imports of it leave the name alone
del globals()["explain"]  # which is that of the function


def __getattr__(name: str) -> Any:
    for module, names in _ON_FIRST_USE.items():
        if name in names:
            value = globals()[name] = getattr(import_module(module), name)
            return value
    raise AttributeError(f"module 'phipsi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
