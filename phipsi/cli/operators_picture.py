"""Which body feels which: operators of a machine as pictures."""

from __future__ import annotations

import os

import numpy as np

from phipsi.extras import need
from phipsi.lowering.dense import as_matrix
from phipsi.model.model import Model
from phipsi.operators import Mass, phi, psi
from phipsi.whole_file import replacing

PICTURES = {"phi": phi, "psi": psi, "Mass": Mass, "Mass.inv": Mass.inv}
SMALLEST = 1e-12  # of the largest entry; what is below is zero
TITLE = (
    "which body feels which, empty where zero: branches do not meet in phi and psi, "
    "in the inverse of the mass matrix they do"
)


def draw_operators(model: Model, q: np.ndarray, path: str | os.PathLike[str]) -> None:
    """Write a picture of phi, psi, the mass matrix and its inverse by the size of their entries.

    Args:
        model: the machine.
        q: its configuration, (nq,).
        path: of the picture, a .png.
    """
    need("matplotlib", "plot", "a picture")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 10), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (name, expression) in zip(figure.subplots(2, 2).flat, PICTURES.items(), strict=True):
        matrix = np.abs(as_matrix(model, expression, q))
        shown = np.log10(np.where(matrix > SMALLEST * matrix.max(), matrix, np.nan))
        figure.colorbar(axes.imshow(shown), ax=axes, shrink=0.8, label="log10 of the entry")
        of_bodies = expression.source is not None and expression.source.name == "body"
        sizes = [
            body.size if of_bodies else joint.kind.nv
            for body, joint in zip(model.bodies, model.joints, strict=True)
        ]
        stops = np.cumsum([0, *sizes])
        for stop in stops[1:-1]:
            axes.axhline(stop - 0.5, color="0.8", linewidth=0.6)
            axes.axvline(stop - 0.5, color="0.8", linewidth=0.6)
        middles = (stops[:-1] + stops[1:] - 1) / 2
        names = [body.name for body in model.bodies]
        axes.set_xticks(middles, names, rotation=90)
        axes.set_yticks(middles, names)
        axes.tick_params(labelsize=8, length=0)
        axes.set_title(f"{name}, {'body' if of_bodies else 'joint'} space")
    figure.suptitle(TITLE, fontsize=11)
    with replacing(path) as stream:
        figure.savefig(stream, format="png", dpi=120)
