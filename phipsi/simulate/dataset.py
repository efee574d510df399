"""Trajectories as datasets of xarray, and those as NetCDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from phipsi.cleaning import for_netcdf
from phipsi.extras import need
from phipsi.simulate.labels import DERIVED, TAKEN, coordinate_labels, distinct, speed_labels
from phipsi.simulate.untrusted import read_netcdf

if TYPE_CHECKING:
    import xarray

    from phipsi.simulate.trajectory import Trajectory

EXTRA = "data"
ENGINE: Literal["h5netcdf"] = "h5netcdf"

AXES = ("x", "y", "z")
COMPONENTS = [f"{part}_{axis}" for part in ("angular", "linear") for axis in AXES]

# Of each array its dimensions after the batch and the time, its unit if all entries have
# one, and what it is.
VARIABLES: dict[str, tuple[tuple[str, ...], str | None, str]] = {
    "q": (("coordinate",), None, "configuration"),
    "v": (("speed",), None, "speeds"),
    "tau": (("speed",), None, "forces of the control"),
    "kinetic_energy": ((), "J", "kinetic energy"),
    "potential_energy": ((), "J", "potential energy of gravity and of springs"),
    "energy": ((), "J", "kinetic and potential energy"),
    "momentum": (("component",), None, "momentum about the origin of the world, world axes"),
    "poses": (("body", "row", "column"), None, "frames of the bodies in the world"),
}


def variables(traj: Trajectory, poses: bool) -> list[str]:
    """The names of the arrays that are stored."""
    given = ["q", "v"] if traj.tau is None else ["q", "v", "tau"]
    return given + [name for name in DERIVED if poses or name != "poses"]


def to_dataset(traj: Trajectory, poses: bool) -> xarray.Dataset:
    """The arrays of a trajectory, their dimensions and units named."""
    xr = need("xarray", EXTRA, "to_xarray")
    batch = [f"batch{k}" for k in range(len(traj.batch))] if len(traj.batch) > 1 else ["batch"]
    leading = [*batch[: len(traj.batch)], "time"]
    arrays = {}
    for name in variables(traj, poses):
        dimensions, unit, meaning = VARIABLES[name]
        attributes = {"long_name": meaning, **({} if unit is None else {"units": unit})}
        arrays[name] = ([*leading, *dimensions], traj[name], attributes)
    about: dict[str, Any] = {"model": traj.model.name, "complete": int(traj.complete)}
    about |= {
        name: int(value) if isinstance(value, bool) else value for name, value in traj.about.items()
    }
    return xr.Dataset(arrays, _coordinates(traj, poses), about)


def _coordinates(traj: Trajectory, poses: bool) -> dict[str, Any]:
    """What the entries along each dimension are called, and their units."""
    coordinates, speeds = coordinate_labels(traj.model), speed_labels(traj.model)
    found: dict[str, Any] = {"time": ("time", traj.times, {"long_name": "time", "units": "s"})}
    for dimension, name, texts in (
        ("coordinate", "coordinate", [label.name for label in coordinates]),
        ("coordinate", "coordinate_joint", [label.joint for label in coordinates]),
        ("coordinate", "coordinate_unit", [label.unit for label in coordinates]),
        ("speed", "speed", [label.name for label in speeds]),
        ("speed", "speed_joint", [label.joint for label in speeds]),
        ("speed", "speed_unit", [label.unit for label in speeds]),
        ("speed", "force_unit", [label.force_unit for label in speeds]),
        ("component", "component", COMPONENTS),
        ("component", "component_unit", ["N m s"] * 3 + ["N s"] * 3),
    ):
        found[name] = (dimension, np.array(texts, dtype=str))
    if poses:
        found["body"] = ("body", np.array([body.name for body in traj.model.bodies], dtype=str))
    return found


def need_netcdf() -> None:
    """BackendError unless NetCDF files can be read and written here."""
    for module in ("xarray", "h5netcdf", "h5py"):
        need(module, EXTRA, "a NetCDF file")


def to_netcdf(traj: Trajectory, poses: bool) -> memoryview:
    """The dataset as the bytes of a NetCDF file.

    In memory first: on a full disk HDF5 takes the process down (seen with h5py 3.16).
    """
    found = to_dataset(traj, poses)
    names = distinct(map(for_netcdf, map(str, found.attrs)))
    found.attrs = dict(zip(names, found.attrs.values(), strict=True))
    encoding = {name: {"_FillValue": None} for name in (*found.data_vars, "time")}
    return found.to_netcdf(engine=ENGINE, encoding=encoding)


def from_netcdf(path: Path) -> tuple[dict[str, list[str]], str, dict[str, Any]]:
    """Names of coordinates and speeds, the machine's name, and the arguments of Trajectory."""
    found = read_netcdf(path, ("coordinate", "speed", "time", "q", "v"), ("tau",))
    about = found[""]
    names = {name: [str(x) for x in found[name]] for name in ("coordinate", "speed")}
    arguments = {
        **{"times": found["time"], "q": found["q"], "v": found["v"]},
        "tau": found.get("tau"),
        "complete": bool(about["complete"]),
        "about": {name: value for name, value in about.items() if name not in TAKEN},
    }
    return names, str(about["model"]), arguments
