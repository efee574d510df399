"""phipsi: multibody dynamics on the Spatial Operator Algebra.

    import phipsi as pp
    from phipsi.operators import H, phi, M

    robot = pp.examples.puma560()
    pp.as_matrix(robot, H @ phi @ M @ phi.T @ H.T, robot.neutral())
"""

from phipsi.errors import (
    BackendError,
    InputError,
    LoweringError,
    ModelError,
    PhipsiError,
    SolveError,
    SpaceError,
)
from phipsi.lowering.dense import as_matrix
from phipsi.model import examples, joints
from phipsi.model.build import ModelBuilder
from phipsi.model.configuration import difference, integrate
from phipsi.model.examples import chain
from phipsi.model.model import Body, Frame, Joint, Limits, Model, Point, point

__version__ = "0.1.0"

__all__ = [
    "BackendError",
    "Body",
    "Frame",
    "InputError",
    "Joint",
    "Limits",
    "LoweringError",
    "Model",
    "ModelBuilder",
    "ModelError",
    "PhipsiError",
    "Point",
    "SolveError",
    "SpaceError",
    "as_matrix",
    "chain",
    "difference",
    "examples",
    "integrate",
    "joints",
    "point",
]
