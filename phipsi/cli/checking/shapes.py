"""Whether masses fit the shapes of bodies, meshes too: these are read for it."""

from __future__ import annotations

import numpy as np

from phipsi.cli.failures import with_options
from phipsi.cli.screen import plural
from phipsi.errors import BackendError, ModelError
from phipsi.model.inertia import Vector3
from phipsi.model.model import Model
from phipsi.model.plausibility import mesh_remarks
from phipsi.model.report import Remark
from phipsi.view.meshes import read_mesh


def odd_shapes(model: Model) -> tuple[list[Remark], str]:
    """What is odd about inertias beside shapes; and why some shapes were not looked at.

    Args:
        model: the machine.

    >>> import phipsi as pp
    >>> builder = pp.ModelBuilder("crate")
    >>> lost = pp.geometry.Mesh("package://no/where.stl")
    >>> builder.add_body("crate", mass=1.0, inertia=(1, 1, 1), visuals=[lost])
    >>> odd_shapes(builder.build())
    ([], '1 mesh was not looked at: package://no/where.stl: no file was found; --packages says ...')
    """
    failed: dict[str, str] = {}

    def extents(path: str) -> tuple[Vector3, Vector3] | None:
        if path in failed:
            return None
        try:
            points = np.concatenate([surface.vertices for surface in read_mesh(path)])
        except (ModelError, BackendError) as error:
            failed[path] = str(error)
            return None
        (a, b, c), (x, y, z) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        return (a, b, c), (x, y, z)

    found = mesh_remarks(model, extents)
    if not failed:
        return found, ""
    count = plural(len(failed), "mesh was", "meshes were")
    return found, with_options(f"{count} not looked at: {next(iter(failed.values()))}")
