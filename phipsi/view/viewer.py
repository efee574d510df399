"""A machine or a motion in the browser."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from phipsi import dynamics
from phipsi.cleaning import brief, for_html
from phipsi.errors import InputError
from phipsi.model.model import Model
from phipsi.simulate.trajectory import Trajectory
from phipsi.view.handles import put
from phipsi.view.panel import JointPanel
from phipsi.view.player import Player
from phipsi.view.scene import WHERE, Scene, Where
from phipsi.view.server import HOST, close_server, free_port, open_server
from phipsi.view.stage import set_stage
from phipsi.view.subject import one_configuration, subject_of


class Viewer:
    """A page that shows a machine or a motion; `pp.view(..., block=False)` makes one.

    It can be reached from this machine alone. Close it, or use it in a `with` block.

    Args:
        shown: the machine, or the trajectory.
        q: configuration of the machine at first, (nq,).
        member: of a batch of motions, at first.
        port: of the page, or the next one that is free.
        collisions: whether collision shapes are seen at first, too.

    Attributes:
        name: of the machine.
        url: of the page.
    """

    def __init__(
        self,
        shown: Model | Trajectory,
        q: ArrayLike | None = None,
        member: int = 0,
        port: int | None = None,
        collisions: bool = False,
    ):
        subject = subject_of(shown, q, member)
        self._model, self.name = subject.model, subject.model.name
        self._player: Player | None = None
        self._panel: JointPanel | None = None
        self._choices: dict[str, Any] = {}  # of what is shown, by their labels
        self._choosing = threading.RLock()
        self._list: Any = None  # of what is not shown, on the page
        poses = subject.poses(subject.samples())
        self._server: Any = open_server(self.name, free_port(port))
        atexit.register(self.close)
        try:
            gui = self._server.gui
            gui.main_panel.dock_right()
            self._scene = Scene(self._server, self._model, poses[0], collisions)
            self._ground = set_stage(self._server, self._scene, poses)
            if isinstance(shown, Trajectory):
                self._player = Player(gui, shown, member, self._move)
            else:
                self._panel = JointPanel(gui, self._model, subject.q, self._move)
            self._add_choices(gui, collisions)
            self._list_problems()
        except BaseException:
            self.close()
            raise
        self.url = f"http://{HOST}:{self._server.get_port()}"

    @property
    def problems(self) -> tuple[str, ...]:
        """A line for each shape that cannot be shown."""
        return tuple(self._scene.problems)

    def set(self, q: ArrayLike) -> None:
        """Show a configuration, (nq,). A motion that plays is paused.

        Raises:
            InputError: `q` is no configuration, or the viewer is closed.
        """
        q = one_configuration(self._model, q)
        if self._server is None:
            raise InputError(f"the viewer of {self.name!r} is closed; open another one")
        if self._player is not None:
            self._player.pause()
        if self._panel is not None:
            self._panel.set(q)
        self._move(q)

    def close(self) -> None:
        """End the page. A second time does nothing."""
        server, self._server = self._server, None
        if server is not None:
            atexit.unregister(self.close)
            if self._player is not None:
                self._player.close()
            close_server(server)

    def __enter__(self) -> Viewer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "closed" if self._server is None else self.url
        return f"<Viewer of {self.name!r}: {where}>"

    def _move(self, q: np.ndarray) -> None:
        self._scene.move(dynamics.body_poses(self._model, q))

    def _add_choices(self, gui: Any, collisions: bool) -> None:
        """What is shown."""
        scene, ground = self._scene, self._ground
        with gui.add_folder("Show", expand_by_default=False):
            self._add_box(gui, "Shapes", True, lambda on: scene.show("shapes", _all_or_none(on)))
            if self._model.collisions:
                self._add_box(gui, "Collision shapes", collisions, self._show_collisions)
            if self._model.closures:
                self._add_box(gui, "Loops", True, scene.loops.show)
            inertias = gui.add_dropdown("Inertias", WHERE, initial_value=WHERE[0])
            joints = gui.add_dropdown("Joint axes", WHERE, initial_value=WHERE[0])
            self._add_box(gui, "Frames", False, scene.show_frames)
            self._add_box(gui, "Ground", True, lambda on: put(ground, visible=on))
        self._follow(inertias, lambda where: scene.show("inertias", where))
        self._follow(joints, lambda where: scene.show("joints", where))

    def _add_box(self, gui: Any, label: str, on: bool, changed: Callable[[bool], None]) -> None:
        box = self._choices[label] = gui.add_checkbox(label, on)
        self._follow(box, changed)

    def _follow(self, choice: Any, changed: Callable[[Any], None]) -> None:
        """Do as a box or a list says; several pages choose one after the other."""

        def choose(_: Any) -> None:
            with self._choosing:
                changed(choice.value)

        choice.on_update(choose)

    def _show_collisions(self, shown: bool) -> None:
        self._scene.show("collisions", _all_or_none(shown))
        self._list_problems()

    def _list_problems(self) -> None:
        """What cannot be shown, on the page."""
        if not self._scene.problems:
            return
        text = _as_html(self._scene.problems)  # viser would read Markdown's pictures from files
        if self._list is None:
            with self._server.gui.add_folder("Not shown", expand_by_default=False):
                self._list = self._server.gui.add_html(text)
        else:
            put(self._list, content=text)


def _as_html(lines: Iterable[str]) -> str:
    text = for_html("\n".join(map(brief, lines)))
    return f'<pre style="white-space: pre-wrap; overflow-wrap: anywhere">{text}</pre>'


def _all_or_none(shown: bool) -> Where:
    return "all" if shown else "none"
