"""The files that a simulation leaves: data, picture, page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from phipsi.cli.screen import working
from phipsi.extras import need
from phipsi.simulate import files, plot
from phipsi.simulate.dataset import need_netcdf
from phipsi.simulate.trajectory import Trajectory
from phipsi.whole_file import check_writable, checked_suffix

PAGES = (".html", ".htm")


@dataclass(frozen=True)
class Outputs:
    """What to write.

    Args:
        out: data, for xarray (.nc), NumPy (.npz) or a spreadsheet (.csv).
        plot: a picture of coordinates and energies, .png, .svg or .pdf.
        html: a page that plays the motion, without a server.
    """

    out: Path | None = None
    plot: Path | None = None
    html: Path | None = None

    def check(self) -> None:
        """Find out before any work is done what could not be written after it.

        Raises:
            InputError: an unknown suffix, or a place where nothing can be written.
            BackendError: a package is missing; the message has the line that installs it.
        """
        if self.out is not None and checked_place(self.out, files.FORMATS) == ".nc":
            need_netcdf()
        if self.plot is not None:
            checked_place(self.plot, plot.FORMATS)
            need("matplotlib", "plot", "a plot")
        if self.html is not None:
            checked_place(self.html, PAGES)
            need("viser", "view", "the viewer")

    def write(self, motion: Trajectory) -> Iterator[str]:
        """Write all that is asked for, and say of each file where it is."""
        if self.out is not None:
            motion.save(self.out)
            yield f"wrote {self.out}: the data"
        if self.plot is not None:
            motion.plot(path=self.plot)
            yield f"wrote {self.plot}: coordinates and energies"
        if self.html is not None:
            from phipsi.view import view

            with working(f"writing {self.html}"):
                view(motion, html=self.html)
            yield f"wrote {self.html}: the motion, to be opened in a browser"


NOWHERE = Outputs()


def checked_place(path: Path, suffixes: Iterable[str]) -> str:
    """The suffix of a file that can be written, or InputError.

    >>> checked_place(Path("run.NC"), [".nc", ".csv"])
    '.nc'
    """
    suffix = checked_suffix(path, suffixes)
    check_writable(path)
    return suffix
