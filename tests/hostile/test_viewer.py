"""A viewer whose callers mean no good: pages of other sites, programs, floods.

The viewer runs in a process of its own, as a user's does, and is attacked from this one. After
each blow it has to show what it is told, to have printed nothing, and not to have grown.
"""

from __future__ import annotations

import asyncio
import math
import random
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import fields
from http import HTTPStatus

import msgspec
import numpy as np
import pytest
from browser import until
from callers import (
    CAMERA,
    EVERY_MESSAGE,
    PATIENCE,
    Host,
    call,
    change,
    frame,
    inputs_of,
    is_cut,
    line_to,
    said,
    slider_of,
    until_let_in,
)
from viewing import lifting, shown
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import connect

import phipsi as pp
from phipsi.view import door
from phipsi.view.hearing import LONGEST_MESSAGE

BLOWS = 10  # kinds of them
TRIES = 3 * BLOWS  # at least
ROOM = 96  # MiB that a viewer may grow by, whatever is thrown at it


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host() as running:
        yield running


# -- who comes in ----------------------------------------------------------------------


OWN = "http://127.0.0.1:{port}"
FOREIGN_ORIGINS = (
    *("https://evil.com", "http://evil.com:{port}", "null", "http://127.0.0.1:1", "file://"),
    *("https://127.0.0.1:{port}", "http://localhost:{port}", "http://127.0.0.1.evil.com:{port}"),
    *("http://127.0.0.1", "", "http://127.0.0.1:{port}/", "http://evil.com@127.0.0.1:{port}"),
)
FOREIGN_HOSTS = (
    *("evil.com", "127.0.0.1.evil.com", "localhost.evil.com", "0.0.0.0", "127.0.0.2", "[::]"),
    *("2130706433", "evil.com:80@127.0.0.1", "127.0.0.1:80:80", "localhost.", ""),
)


def test_own_page_comes_in(host):
    for name in ("127.0.0.1", "localhost", "LOCALHOST"):
        with host.call(f"http://{name}:{host.port}", name) as page:
            assert "joint1" in inputs_of(page).values()
    assert host.fetch() == HTTPStatus.OK


def test_program_of_this_machine_comes_in(host):
    """Only browsers name an origin, and a program can name any."""
    with host.call() as page:
        assert inputs_of(page)


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_page_of_another_site_is_refused(host, origin):
    with pytest.raises(InvalidStatus, match="403"):
        host.call(origin.format(port=host.port))
    assert host.fetch(Origin=origin.format(port=host.port)) == HTTPStatus.FORBIDDEN


@pytest.mark.parametrize("name", FOREIGN_HOSTS)
def test_other_name_that_leads_here_is_refused(host, name):
    """As where the name server of a site says that the site is at 127.0.0.1."""
    assert host.fetch(Host=f"{name}:{host.port}") == HTTPStatus.FORBIDDEN
    with closing(line_to(host.port)) as line:
        line.sendall(
            f"GET / HTTP/1.1\r\nHost: {name}:{host.port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nOrigin: http://{name}\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        assert line.recv(4096).startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("header", ["Host", "Origin"])
def test_two_answers_to_one_question_are_refused(host, header):
    own = {"Host": f"127.0.0.1:{host.port}", "Origin": f"http://127.0.0.1:{host.port}"}
    twice = "".join(f"{header}: {x}\r\n" for x in (own[header], "http://evil.com"))
    with closing(line_to(host.port)) as line:
        rest = "" if header == "Host" else f"Host: {own['Host']}\r\n"
        line.sendall(f"GET / HTTP/1.1\r\n{rest}{twice}\r\n".encode())
        assert line.recv(4096).startswith(b"HTTP/1.1 403 ")


def test_no_name_at_all_is_refused(host):
    with closing(line_to(host.port)) as line:
        line.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert line.recv(4096).startswith(b"HTTP/1.1 403 ")


def test_page_is_held_in_no_frame_of_another_site(host):
    with urllib.request.urlopen(host.url, timeout=PATIENCE) as answer:
        policy = answer.headers["Content-Security-Policy"]
    assert policy == "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd"])
def test_no_file_is_given_away(host, path):
    assert host.fetch(path) == HTTPStatus.NOT_FOUND


def test_page_of_another_viser_is_told_to_load_again(host):
    with connect(
        f"ws://127.0.0.1:{host.port}", subprotocols=["viser-v0.0.1"], compression=None
    ) as page:
        with pytest.raises(ConnectionClosed) as closed:
            page.recv(timeout=PATIENCE)
        assert closed.value.rcvd.code == 1002


def test_only_so_many_look_at_once(host):
    pages = [host.call() for _ in range(door.MOST_CLIENTS)]
    try:
        for page in pages:
            assert inputs_of(page)
        with host.call() as one_more:
            with pytest.raises(ConnectionClosed) as closed:
                one_more.recv(timeout=PATIENCE)
            assert closed.value.rcvd.code == 1013
    finally:
        for page in pages:
            page.close()
    host.shows_what_it_is_told([0.4, 0.1])
    until_let_in(host)


def test_only_so_many_lines_are_open_at_once(host):
    lines = [line_to(host.port) for _ in range(door.MOST_CONNECTIONS + 4)]
    try:
        assert is_cut(lines[-1])
    finally:
        for line in lines:
            line.close()
    until_let_in(host)


def test_nobody_comes_in_while_a_page_is_written(arm, monkeypatch, tmp_path):
    """Its server is one of viser for a moment; it lets nobody in."""
    from phipsi.view import recording

    statuses = []

    def call(server, *arguments):
        url = f"http://127.0.0.1:{server.get_port()}"
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(url, timeout=PATIENCE)
        error.value.close()
        statuses.append(error.value.code)
        return set_stage(server, *arguments)

    set_stage = recording.set_stage
    monkeypatch.setattr(recording, "set_stage", call)
    pp.view(arm, html=tmp_path / "arm.html")
    assert statuses == [HTTPStatus.FORBIDDEN]


def test_viser_that_cannot_be_guarded_is_refused(arm, monkeypatch):
    """As one that serves in another way: nothing is left open."""
    from viser.infra import WebsockServer

    started = []
    work = WebsockServer._background_worker

    def start(self, ready):
        started.append(self)
        serve = door.websocket_server.serve
        monkeypatch.setattr(door.websocket_server, "serve", serve.args[0])
        work(self, ready)

    monkeypatch.setattr(WebsockServer, "_background_worker", start)
    with pytest.raises(pp.BackendError, match="the viewer cannot guard its page with viser"):
        shown(arm)
    (only,) = started
    assert not only._server_thread.is_alive()


def test_other_servers_are_served_as_ever():
    """A server that is no one of viser, made at the same moment, keeps its own rules."""

    async def serve_meanwhile() -> None:
        with door.Door().hung():
            serving = door.websocket_server.serve(handler, "127.0.0.1", 0)
        async with serving as server:
            assert (server.handler, server.process_request) == (handler, None)

    async def handler(connection):
        raise NotImplementedError

    before = door.websocket_server.serve
    asyncio.run(serve_meanwhile())
    assert door.websocket_server.serve is before


# -- what remains ----------------------------------------------------------------------


def test_slider_that_a_caller_would_remove_stays(host):
    with host.call() as page:
        names = inputs_of(page)
        page.send(msgspec.msgpack.encode(CAMERA))
        for uuid in names:
            page.send(change(uuid, removed=True))
            page.send(change(uuid, update_cb=7, sync_cb=7, value=0.1))
        host.shows_what_it_is_told([0.3, -0.2])


def test_slider_is_moved_by_a_page(host):
    """The other half of the tests above: a page is heard where it says what pages say."""
    with host.call(OWN.format(port=host.port)) as page:
        uuid = slider_of(page, "joint1")
        page.send(msgspec.msgpack.encode(CAMERA))
        place = None
        page.send(change(uuid, value=0.625))
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and place is None:
            for message in said(page.recv(timeout=PATIENCE)):
                if message["type"] == "SetPositionMessage" and message["name"] == "/1 link2":
                    place = message["position"]
        assert place is not None
        assert math.dist(place, (math.cos(0.625), 0.0, math.sin(0.625))) < 1e-6


@pytest.mark.parametrize("first", [frame(2, b"a", fin=False), frame(1, b"", fin=False)])
def test_message_in_parts_ends_the_call(host, first):
    """There could be any number of parts, all of them empty."""
    with closing(host.bare()) as line:
        line.sendall(first)
        assert is_cut(line)


def test_message_that_is_too_long_ends_the_call(host):
    with host.call() as page, pytest.raises(ConnectionClosed) as closed:
        page.send(bytes(LONGEST_MESSAGE + 1))
        while True:
            page.recv(timeout=PATIENCE)
    assert closed.value.rcvd.code == 1009


def test_what_is_said_waits_until_what_was_said_is_done(arm):
    """A slider is moved while the machine is busy: nothing piles up, and nothing is lost."""
    with shown(arm) as viewer:
        waiting = viewer._server._thread_executor._work_queue
        (slider,) = viewer._panel._sliders["joint1"]
        values = np.linspace(-3.0, 3.0, 401).tolist()
        page = call(viewer._server.get_port())
        with page:
            uuid = slider_of(page, "joint1")
            page.send(msgspec.msgpack.encode(CAMERA))
            with viewer._panel._lock:
                sender = threading.Thread(
                    target=lambda: [page.send(change(uuid, value=x)) for x in values]
                )
                sender.start()
                until(lambda: waiting.qsize() > 0, "all workers to be busy")
                time.sleep(0.2)
                assert waiting.qsize() < 4
            sender.join(PATIENCE)
            until(lambda: slider.value == 3.0, "the last value")


def test_viewer_ends_when_what_it_has_heard_is_done(arm, monkeypatch, capfd):
    """viser would warn of a move that is not sent any more; what comes later is not heard."""
    begun, moves = threading.Event(), []
    with shown(arm) as viewer:
        move = viewer._scene.move

        def move_slowly(poses) -> None:
            begun.set()
            time.sleep(0.2)
            move(poses)
            moves.append(poses)

        monkeypatch.setattr(viewer._scene, "move", move_slowly)
        page = call(viewer._server.get_port())
        uuid = slider_of(page, "joint1")
        page.send(msgspec.msgpack.encode(CAMERA))
        page.send(change(uuid, value=0.5))
        assert begun.wait(PATIENCE)
    assert len(moves) == 1
    page.close()
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def slide() -> pp.Model:
    """It has everything that moves: shapes, collision shapes, a loop that opens."""
    builder = pp.ModelBuilder("slide")
    box = [pp.geometry.Box((1, 1, 1))]
    builder.add_body("slide", joint=pp.joints.Prismatic((0, 0, 1)), mass=1.0, visuals=box)
    builder.add_collisions("slide", box)
    builder.add_closure("pin", "world", "slide", pp.joints.Spherical())
    return builder.build()


def test_what_was_removed_is_not_missed(slide):
    """A user has the nodes and the inputs of viser removed, one by one or all."""
    with shown(slide, collisions=True) as viewer:
        scene = viewer._scene
        removed = [scene._frames[0], *next(iter(viewer._panel._sliders.values()))]
        for handle in removed:
            handle.remove()
        viewer.set([0.1])
        viewer._server.scene.reset()
        viewer._server.gui.reset()
        viewer.set([7.0])
        for group in ("shapes", "collisions", "inertias", "joints"):
            scene.show(group, "all")
        scene.show_frames(True)
        scene.loops.show(False)
        viewer._list_problems()


def test_motion_whose_time_line_was_removed_plays_on(arm):
    with shown(lifting(arm)) as viewer:
        viewer._server.gui.reset()
        viewer._player._press()
        viewer.set([0.5, 0.0])
        before = viewer._player.playback.time
        viewer._player._press()
        viewer._player.playback.advance(0.1)
        assert viewer._player.playback.time != before
        assert viewer._player._thread.is_alive()


def test_error_that_is_no_removal_is_raised():
    from phipsi.view.handles import put

    class Broken:
        _impl = type("", (), {"removed": False})

        def __setattr__(self, name, value):
            raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        put(Broken(), value=1)


# -- floods ----------------------------------------------------------------------------


def anything(rng: random.Random, depth: int = 0) -> object:
    """What msgpack can hold."""
    kind = rng.randrange(9 if depth < 4 else 7)
    match kind:
        case 0:
            return rng.choice((None, True, False, 0, -1, 2**63, -(2**63)))
        case 1:
            return rng.choice((math.nan, math.inf, -0.0, 1e308, rng.random()))
        case 2:
            return rng.choice(("value", "removed", "update_cb", "props", "type", "uuid", "x" * 999))
        case 3:
            return rng.randbytes(rng.randrange(64))
        case 4 | 5 | 6:
            return rng.choice(EVERY_MESSAGE).__name__
        case 7:
            return [anything(rng, depth + 1) for _ in range(rng.randrange(5))]
        case _:
            return {str(anything(rng, 9)): anything(rng, depth + 1) for _ in range(3)}


def message(rng: random.Random, uuids: list[str]) -> bytes | str:
    """Random bytes; or a message of viser, of which some is not as it should be."""
    match rng.randrange(8):
        case 0:
            return rng.randbytes(rng.choice((0, 1, 10, 1000)))
        case 1:
            return rng.choice(("", "text", "{}", "\x00" * 100))
        case 2:
            return rng.choice((b"\x91", b"\x81\xa1a", b"\xdd\x7f\xff\xff\xff")) * rng.choice(
                (1, 3000)
            )
        case 3:
            return msgspec.msgpack.encode(anything(rng))
        case 4:
            return change(rng.choice(uuids), **{str(anything(rng, 9)): anything(rng)})
        case 5:
            return change(rng.choice(uuids), value=anything(rng, 3))
        case 6:
            return msgspec.msgpack.encode(CAMERA | {rng.choice(list(CAMERA)): anything(rng)})
        case _:
            kind = rng.choice(EVERY_MESSAGE)
            told = {each.name: rng.choice((anything(rng), *uuids)) for each in fields(kind)}
            return msgspec.msgpack.encode({"type": kind.__name__} | told)


def pour(line: socket.socket, data: bytes, times: int) -> None:
    """Send it again and again, until it is not taken."""
    with suppress(OSError):
        for _ in range(times):
            line.sendall(data)


def blow(host: Host, rng: random.Random, kind: int) -> None:
    """One of all that a caller may try."""
    with suppress(ConnectionClosed, InvalidHandshake, OSError, TimeoutError):
        match kind % BLOWS:
            case 0:  # no request
                with closing(line_to(host.port)) as line:
                    line.sendall(rng.randbytes(rng.choice((1, 100, 100_000))))
                    line.settimeout(0.05)
                    line.recv(100)
            case 1:  # requests of all sorts
                path = rng.choice(("/", "/" + "a" * 5000, "/%00", "/..%2f..", "/?" + "b" * 3000))
                host.fetch(path, **{rng.choice(("Host", "Origin", "Upgrade")): rng.choice("abc")})
            case 2:  # lines that are opened and left
                for line in [line_to(host.port) for _ in range(door.MOST_CONNECTIONS + 8)]:
                    line.close()
            case 3:  # pages that come and go
                for _ in range(5):
                    host.call().close()
            case 4:  # one message that is too long
                with host.call() as page:
                    page.send(bytes(rng.choice((LONGEST_MESSAGE + 1, 2**22))))
            case 5:  # a message that never ends
                with closing(host.bare()) as line:
                    pour(line, frame(2, b"", fin=False) + frame(0, b"", fin=False) * 10_000, 50)
            case 6:  # questions whose answers are not read
                with closing(host.bare()) as line:
                    pour(line, frame(9, bytes(125)) * 5000, 300)
            case 7:  # the slider, faster than it can be followed
                with host.call() as page:
                    names = inputs_of(page)
                    page.send(msgspec.msgpack.encode(CAMERA))
                    for uuid in names:
                        sent = (frame(2, change(uuid, value=rng.random())) for _ in range(200))
                        pour(page.socket, b"".join(sent), 2)
            case _:  # messages of all sorts
                with host.call() as page:
                    uuids = list(inputs_of(page))
                    page.send(msgspec.msgpack.encode(CAMERA))
                    for _ in range(100):
                        page.send(message(rng, uuids))


def attack(seed: int, seconds: float) -> int:
    """Blows at a viewer, which has to stand them all: so many were tried."""
    rng, end = random.Random(seed), time.monotonic() + seconds
    with Host() as host:
        until_let_in(host)
        before, tried = host.memory(), 0
        while tried < TRIES or time.monotonic() < end:
            blow(host, rng, tried)
            host.shows_what_it_is_told([rng.uniform(-3, 3), rng.uniform(-3, 3)])
            assert host.memory() < before + ROOM
            tried += 1
        until_let_in(host)
        host.end()
    return tried


def test_attack(fuzz):
    fuzz.tried(attack(fuzz.seed, fuzz.seconds), "blows at a viewer")
