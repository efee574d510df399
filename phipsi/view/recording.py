"""A motion as a page of its own, which plays without a server and without a network."""

from __future__ import annotations

import os
from numbers import Real

from numpy.typing import ArrayLike

from phipsi.cleaning import brief, for_html
from phipsi.errors import InputError
from phipsi.model.model import Model
from phipsi.simulate.trajectory import Trajectory
from phipsi.view.scene import Scene
from phipsi.view.server import close_server, open_server
from phipsi.view.stage import set_stage
from phipsi.view.subject import Subject, subject_of
from phipsi.whole_file import checked_path, replacing

LARGE = 50e6  # bytes of a page that browsers load slowly
MOST_FRAMES = 240.0  # a second


def write_page(
    path: str | os.PathLike[str],
    shown: Model | Trajectory,
    q: ArrayLike | None = None,
    member: int = 0,
    fps: float = 30.0,
    collisions: bool = False,
) -> list[str]:
    """Write a page that shows a machine, or plays a motion.

    The page holds everything it needs. The file is written whole or not at all.

    Args:
        path: of the file.
        shown: the machine, or the trajectory.
        q: configuration of the machine, (nq,).
        member: of a batch of motions.
        fps: frames for each second of the motion.
        collisions: whether collision shapes are seen, too.

    Returns:
        A line for each shape that cannot be shown, and one if the page is large.

    Raises:
        InputError: for a wrong argument, or a file that cannot be written.
    """
    is_rate = isinstance(fps, Real) and not isinstance(fps, bool) and 0.0 < fps <= MOST_FRAMES
    if not is_rate:
        raise InputError(f"view: fps is {fps!r}; expected frames a second, up to {MOST_FRAMES:g}")
    subject, target = subject_of(shown, q, member), checked_path(path)
    with replacing(target) as stream:  # what cannot be written is known at once
        page, problems = render(subject, float(fps), collisions)
        data = page.encode()
        stream.write(data)
    if len(data) > LARGE:
        problems.append(
            f"{target} has {len(data) / 1e6:.0f} MB, which browsers load slowly; "
            "a lower fps or a shorter motion makes it smaller"
        )
    return problems


def render(subject: Subject, fps: float, collisions: bool = False) -> tuple[str, list[str]]:
    """The page as text, and a line for each shape that cannot be shown.

    viser makes it from what it would send to a browser: its server listens on
    a free port of 127.0.0.1 meanwhile, and nobody calls.
    """
    model, poses = subject.model, subject.poses(subject.frames(fps))
    server = open_server(model.name)
    try:
        scene = Scene(server, model, poses[0], collisions)
        set_stage(server, scene, poses)
        film = server.get_scene_serializer()
        for pose in poses:
            scene.move(pose)
            film.insert_sleep(1.0 / fps if len(poses) > 1 else 0.0)
        page = film.as_html()
    finally:
        close_server(server)
    title = f"<title>{for_html(brief(model.name))}</title>"
    return page.replace("<title>Viser</title>", title, 1), scene.problems
