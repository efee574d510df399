"""Machines on the screen: `pp.view`."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from numpy.typing import ArrayLike

from phipsi.cleaning import brief
from phipsi.model.model import Model
from phipsi.simulate.trajectory import Trajectory
from phipsi.view.browser import open_page
from phipsi.view.recording import write_page
from phipsi.view.viewer import Viewer

__all__ = ["Viewer", "view"]

MOST_LINES = 8  # about what cannot be shown


def view(
    shown: Model | Trajectory,
    *,
    q: ArrayLike | None = None,
    member: int = 0,
    port: int | None = None,
    open_browser: bool = True,
    block: bool = True,
    html: str | os.PathLike[str] | None = None,
    fps: float = 30.0,
    collisions: bool = False,
) -> Viewer | Path | None:
    """Look at a machine or at a motion, in the browser.

    A machine has a slider for each joint; a motion has a time line, plays and
    pauses, faster and slower. Bodies are drawn by the shapes and meshes of
    their file; where there are none, by their inertia ellipsoids, joint axes
    and lines from joint to joint. A joint that closes a loop has a mark on each
    end, and a line between them where q does not close it. What cannot be shown
    is listed.

    The page is served on 127.0.0.1: no other machine can reach it. Where no
    browser opens, its address is printed all the same. With `html` no page is
    served, but a file written that plays by itself, without a server and
    without a network.

    Args:
        shown: the machine, or a trajectory.
        q: configuration of the machine, (nq,); by default its neutral one, moved into
            the limits of the joints unless that would open loops.
        member: of a batch of trajectories, counted through all its axes.
        port: of the page, 8080 by default; the next one if it is taken.
        open_browser: open the page, where there is a browser to do so.
        block: stay until Ctrl-C is pressed; False returns at once.
        html: the file to write instead.
        fps: frames in the file for each second of the motion.
        collisions: show the shapes for contact too, in orange, the others seen through
            them. The page can show and hide both; their meshes are read when shown.

    Returns:
        With `block` None; without it the Viewer, which has `.url`, `.set(q)` and
        `.close()`. With `html` the path of the file.

    Raises:
        InputError: for arguments of wrong shape, type or value, and for a file that
            cannot be written.
        BackendError: a package is missing; the message has the line that installs it.

    >>> import tempfile, phipsi as pp
    >>> arm = pp.examples.planar_arm(2)
    >>> view(arm, html=tempfile.mkdtemp() + "/arm.html").name
    'arm.html'
    >>> with view(arm, open_browser=False, block=False) as viewer:
    ...     viewer.set([0.3, 0.5])
    ...     print(viewer)
    <Viewer of 'planar arm of 2': http://127.0.0.1:...>
    """
    if html is not None:
        _warn(write_page(html, shown, q, member, fps, bool(collisions)))
        return Path(html)
    viewer = Viewer(shown, q, member, port, bool(collisions))
    _warn(viewer.problems)
    if open_browser and not open_page(viewer.url):
        print(f"no browser opens here; open this page in one: {viewer.url}", flush=True)
    if not block:
        return viewer
    with suppress(KeyboardInterrupt), viewer:
        print(f"{brief(viewer.name)}: {viewer.url} (Ctrl-C ends it)", flush=True)
        threading.Event().wait()
    return None


def _warn(problems: Sequence[str]) -> None:
    """Say what is not as the user expects it, the first lines of much."""
    for line in problems[:MOST_LINES]:
        print(f"view: {brief(line)}", file=sys.stderr)
    if len(problems) > MOST_LINES:
        print(f"view: ... and {len(problems) - MOST_LINES} more", file=sys.stderr)
