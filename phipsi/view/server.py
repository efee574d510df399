"""The server behind the page: viser, on this machine alone, behind a door, and quiet."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any

from phipsi.cleaning import brief
from phipsi.errors import BackendError, InputError
from phipsi.extras import need

HOST = "127.0.0.1"  # no other machine can reach it
FIRST_PORT = 8080
PORTS_TRIED = 200


def open_server(title: str, port: int | None = None) -> Any:
    """A viser server that listens on 127.0.0.1 only, for the pages that it has sent itself.

    Args:
        title: of the panel.
        port: to listen on; None lets nobody in.

    Raises:
        BackendError: viser is not installed, or is one that cannot be guarded.
    """
    need("viser", "view", "the viewer")
    from phipsi.view.guarded import GuardedServer  # a server of viser

    with quiet():
        server = GuardedServer(HOST, port or 0, brief(title), is_open=port is not None)
    server.gui.configure_theme(show_share_button=False, show_logo=False)
    return server


def close_server(server: Any) -> None:
    """Stop it, and its threads."""
    with quiet():
        server.stop()


def free_port(port: int | None) -> int:
    """The port asked for, or the next one that is free.

    Args:
        port: to begin with; None for 8080.

    Raises:
        InputError: `port` is no port.
        BackendError: none of the next 200 ports is free.
    """
    first = FIRST_PORT if port is None else port
    if isinstance(first, bool) or not isinstance(first, Integral) or not 0 < first < 65536:
        raise InputError(f"view: port is {port!r}; expected a number from 1 to 65535, or None")
    last = min(int(first) + PORTS_TRIED, 65536)
    for candidate in range(int(first), last):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, candidate))
            except OSError:
                continue
            return candidate
    raise BackendError(
        f"view: no port from {first} to {last - 1} is free on {HOST}; give another port="
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing that viser prints about itself is seen."""
    console = need("rich", "view", "the viewer").get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
