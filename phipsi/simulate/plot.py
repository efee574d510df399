"""Trajectories as pictures, drawn by matplotlib without a display and without pyplot."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from phipsi.cleaning import visible
from phipsi.errors import InputError
from phipsi.extras import need
from phipsi.simulate.panels import Line, Panel, make_panels
from phipsi.whole_file import checked_suffix, replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from phipsi.simulate.trajectory import Trajectory

# Formats, and what keeps the time of writing out of each.
FORMATS: dict[str, dict[str, None]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
DPI = 150
WIDTH, HEIGHT, TALLEST = 10.0, 2.3, 4.6  # of the figure and of a panel, inches
COLUMN = 2.0  # inches, for the second column of a legend
TEXT, SMALL = 9.0, 7.5  # points
MARGIN = 0.35  # inches above and below a panel
SPACING = 0.4  # between the names of a legend, in heights of letters
INK, FAINT = "#333333", "#dddddd"
FEW = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c564b")
HEAVY = {"color": "#b8b8b8", "linewidth": 3.0}
MANY = "turbo"  # a scale of colours, for more lines than that
LEGEND_COLUMNS = 2
THIN_LINES = 12  # batches of up to so many motions are drawn one by one


def draw(
    traj: Trajectory, quantities: Sequence[str], path: str | os.PathLike[str] | None
) -> Figure:
    """A figure of some quantities of a trajectory, also written to a file if one is named."""
    suffix = None if path is None else checked_suffix(path, FORMATS)
    need("matplotlib", "plot", "a plot")
    panels = [panel for panel in make_panels(traj, quantities) if panel.lines]
    if not panels or not math.prod(traj.batch):
        raise InputError(f"plot: there is nothing to draw in {traj!r}")
    figure = _make_figure(traj, panels)
    if path is not None and suffix is not None:
        _write(figure, path, suffix)
    return figure


def _make_figure(traj: Trajectory, panels: Sequence[Panel]) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    heights = [_height(panel) for panel in panels]
    width = WIDTH + COLUMN * (max(map(_columns, panels)) - 1)
    figure = Figure(figsize=(width, sum(heights) + 0.8), layout="constrained")
    FigureCanvasAgg(figure)
    title = figure.suptitle(_title(traj), x=0.01, ha="left", fontsize=TEXT + 2, color=INK)
    title.set_parse_math(False)
    column = figure.subplots(len(panels), 1, sharex=True, squeeze=False, height_ratios=heights)[
        :, 0
    ]
    for axes, panel in zip(column, panels, strict=True):
        _draw_panel(axes, traj, panel)
    column[-1].set_xlabel("time, s", fontsize=TEXT, color=INK)
    figure.align_ylabels(column)
    return figure


def _draw_panel(axes: Axes, traj: Trajectory, panel: Panel) -> None:
    handles = []
    for line, style in zip(panel.lines, _styles(panel.lines), strict=True):
        handles.append(_draw_line(axes, traj.times, line, style))
    axes.set_ylabel(panel.title, fontsize=TEXT, color=INK)
    axes.margins(x=0.0)
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=TEXT - 1, colors=INK, length=2.5)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(INK)
    _add_legend(axes, panel, handles)


def _draw_line(axes: Axes, times: np.ndarray, line: Line, style: dict[str, Any]) -> Any:
    """One number over time: a line, for a small batch thin ones, for a large one a band."""
    values = line.values.reshape(-1, len(times))
    if len(times) == 1:
        style = {**style, "marker": "o"}  # a line through one point would not be seen
    if len(values) == 1:
        return axes.plot(times, values[0], **{"linewidth": 1.3, **style})[0]
    if len(values) <= THIN_LINES:
        return axes.plot(times, values.T, **{**style, "linewidth": 0.7, "alpha": 0.8})[0]
    low, middle, high = _spread(values)
    axes.fill_between(times, low, high, color=style["color"], alpha=0.15, linewidth=0.0)
    return axes.plot(times, middle, **{"linewidth": 1.3, **style})[0]


def _spread(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Least, median and greatest at each time; what is not finite does not count."""
    ordered = np.sort(np.where(np.isfinite(values), values, np.nan), axis=0)  # NaN comes last
    count = np.sum(np.isfinite(ordered), axis=0)
    last = np.maximum(count - 1, 0)
    column = np.arange(values.shape[1])
    middle = 0.5 * (ordered[last // 2, column] + ordered[(last + 1) // 2, column])
    return ordered[0], middle, ordered[last, column]


def _styles(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Colours that can be told apart; for many lines a scale of them, every other line dashed."""
    if sum(not line.heavy for line in lines) <= len(FEW):
        colors = iter(FEW)
        return [HEAVY if line.heavy else {"color": next(colors)} for line in lines]
    from matplotlib import colormaps

    shades = 0.9 * colormaps[MANY](np.linspace(0.04, 0.96, len(lines)))[:, :3]
    width = max(0.5, 1.2 - 0.01 * len(lines))
    return [
        {"color": shade, "linestyle": ("-", "--")[k % 2], "linewidth": width}
        for k, shade in enumerate(shades)
    ]


def _rows(height: float) -> int:
    """How many names of a legend fit beside a panel, its own margins taken off."""
    return int(72.0 * (height - MARGIN) / (SMALL * (1.1 + SPACING)))


def _height(panel: Panel) -> float:
    """Higher with more lines, so that their names fit beside it."""
    return min(max(HEIGHT, HEIGHT * len(panel.lines) / _rows(HEIGHT)), TALLEST)


def _columns(panel: Panel) -> int:
    """How many columns the names of a panel take."""
    return min(math.ceil(len(panel.lines) / _rows(_height(panel))), LEGEND_COLUMNS)


def _add_legend(axes: Axes, panel: Panel, handles: Sequence[Any]) -> None:
    """Names beside the panel; where they are too many, of the lines that move most."""
    shown, title = list(range(len(handles))), None
    room = _rows(_height(panel)) * LEGEND_COLUMNS
    if len(shown) > room:
        shown = sorted(np.argsort(-_ranges(panel), kind="stable")[: room - 2].tolist())
        title = f"those of {len(handles)} that move most"
    legend = axes.legend(
        [handles[k] for k in shown],
        [panel.lines[k].label for k in shown],
        title=title,
        ncols=_columns(panel),
        loc="upper left",
        bbox_to_anchor=(1.01, 1.02),
        borderaxespad=0.0,
        alignment="left",
        frameon=False,
        fontsize=SMALL,
        title_fontproperties={"size": SMALL},
        labelcolor=INK,
        handlelength=2.0,
        columnspacing=1.2,
        labelspacing=SPACING,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)  # a dollar sign in a name is one


def _ranges(panel: Panel) -> np.ndarray:
    """How far each line goes from its least to its greatest value."""
    found = [line.values[np.isfinite(line.values)] for line in panel.lines]
    return np.array([np.ptp(values) if values.size else 0.0 for values in found])


def _title(traj: Trajectory) -> str:
    remarks = [visible(traj.model.name)]
    if traj.batch:
        count = math.prod(traj.batch)
        band = " (median and range)" if count > THIN_LINES else ""
        remarks.append(f"{count} motions{band}")
    if "integrator" in traj.about:
        remarks.append(visible(str(traj.about["integrator"])))
    if not traj.complete:
        remarks.append("interrupted")
    return ", ".join(remarks)


def _write(figure: Figure, path: str | os.PathLike[str], suffix: str) -> None:
    """The picture to a file; the same picture gives the same bytes."""
    import matplotlib

    with replacing(path) as stream, matplotlib.rc_context({"svg.hashsalt": "phipsi"}):
        figure.savefig(stream, format=suffix[1:], dpi=DPI, metadata=FORMATS[suffix])
