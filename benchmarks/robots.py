"""The robots that are measured: mimic joints move independently, here and for every peer."""

from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import distribution
from pathlib import Path

import numpy as np

import phipsi as pp

SHARED = "cmeel.prefix/share/example-robot-data/robots"

# (title, file of example-robot-data, base)
FILES = {
    "ur5": ("UR5", "ur_description/urdf/ur5_robot.urdf", "fixed"),
    "panda": ("Panda", "panda_description/urdf/panda.urdf", "fixed"),
    "solo12": ("solo12", "solo_description/robots/solo12.urdf", "free"),
    "talos": ("Talos", "talos_data/robots/talos_full_v2.urdf", "free"),
    "g1": ("G1", "g1_description/urdf/g1_29dof_rev_1_0.urdf", "free"),
}


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot and the states at which it is measured, the same in every run.

    Args:
        name: a key of `FILES`.
        count: of states.
    """

    name: str
    count: int

    @property
    def title(self) -> str:
        return FILES[self.name][0]

    @property
    def base(self) -> str:
        """Fixed or free."""
        return FILES[self.name][2]

    @property
    def path(self) -> Path:
        folder = Path(str(distribution("example-robot-data").locate_file(SHARED)))
        return folder / FILES[self.name][1]

    @cached_property
    def model(self) -> pp.Model:
        """One for all robots of that name: what is compiled for it is compiled once."""
        return _model_of(self.path, self.base)

    @cached_property
    def states(self) -> dict[str, np.ndarray]:
        """q, v, tau and vdot, one row per state."""
        return _states_of(self.model, self.count)


@cache
def _model_of(path: Path, base: str) -> pp.Model:
    return pp.load(path, base=base, mimic="independent")


@cache
def _states_of(model: pp.Model, count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    q = np.array([model.random(rng) for _ in range(count)])
    v, tau, vdot = rng.normal(size=(3, count, model.nv))
    return {"q": q, "v": v, "tau": tau, "vdot": vdot}
