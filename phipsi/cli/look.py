"""`phipsi view`: a machine, or a motion of it, in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from phipsi.cleaning import visible
from phipsi.cli.machine import AS_WRITTEN, Reading, read_machine
from phipsi.cli.outputs import Outputs
from phipsi.cli.screen import Screen, working
from phipsi.cli.whole import Whole
from phipsi.model.model import Model
from phipsi.simulate.trajectory import Trajectory


def view(
    file: str,
    /,
    *,
    reading: Annotated[Reading, Parameter(name="*")] = AS_WRITTEN,
    motion: Path | None = None,
    html: Path | None = None,
    port: Whole | None = None,
    browser: bool = True,
    collisions: bool = False,
) -> None:
    """Look at a machine in the browser, and move its joints.

    The page can be reached from this computer alone. Ctrl-C ends it.

    Args:
        file: URDF, SDF or MJCF; or a machine of phipsi's own: spacecraft, puma560, chain:20 ...
        reading: of the file.
        motion: play what phipsi simulate --out has written.
        html: write a page that needs no server, instead.
        port: of the page; 8080, or the next one that is free.
        browser: open the page, or only say where it is.
        collisions: show the shapes for contact, too.
    """
    from phipsi.view import view as look

    Outputs(html=html).check()
    model = read_machine(file, reading)
    shown: Model | Trajectory = model if motion is None else Trajectory.load(motion, model)
    if html is None:
        look(shown, port=port, open_browser=browser, collisions=collisions)
        return
    with working(f"writing {html}"):
        look(shown, html=html, collisions=collisions)
    Screen().print(visible(f"wrote {html}; open it in a browser"), soft_wrap=True)
