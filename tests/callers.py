"""A viewer in a process of its own, and ways to call it that no browser takes."""

from __future__ import annotations

import json
import math
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import suppress

import msgspec
import viser
import zstandard
from viser import _messages as messages
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

PATIENCE = 20.0  # s
UNTAKEN = 0.3  # s, after which nothing more is sent to who does not take it
EVERY_MESSAGE = [kind for kind in messages.Message.get_subclasses() if kind.__name__[0] != "_"]

# The user's program: it does what it reads on lines, and answers on lines.
PROGRAM = """
import json, resource, sys
import phipsi as pp

def memory():  # the most that there was, MiB; the other call counts the parent, too, on Linux
    try:
        with open("/proc/self/status") as status:
            return next(int(x.split()[1]) / 2**10 for x in status if x.startswith("VmHWM"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

arm = pp.examples.planar_arm(2)
with pp.view(arm, block=False, open_browser=False) as viewer:
    print(json.dumps(viewer.url), flush=True)
    for line in sys.stdin:
        what, *q = json.loads(line)
        if what == "set":
            viewer.set(q)
            told = [float(x) for x in viewer._scene._frames[1].position]
            told += [sliders[0].value for sliders in viewer._panel._sliders.values()]
        else:
            told = memory()
        print(json.dumps(told), flush=True)
"""


def line_to(port: int) -> socket.socket:
    """A line on which nothing was said yet."""
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def call(port: int, origin: str | None = None, name: str = "127.0.0.1") -> ClientConnection:
    """A websocket to a viewer, of a page of some origin that calls it by some name."""
    return connect(
        f"ws://{name}:{port}",
        sock=line_to(port),
        origin=origin,
        subprotocols=[f"viser-v{viser.__version__}"],
        compression=None,
        max_size=None,
        ping_interval=None,
        close_timeout=0.1,
        open_timeout=PATIENCE,
    )


class Host:
    """The viewer in its own process."""

    def __enter__(self) -> Host:
        self._printed = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            text=True,
        )
        self.url = self._read()
        self.port = int(self.url.rpartition(":")[2])
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._printed.close()

    def _read(self) -> object:
        line = self._process.stdout.readline()
        assert line, self.printed()
        return json.loads(line)

    def ask(self, *line: object) -> object:
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        return self._read()

    def shows_what_it_is_told(self, q: list[float]) -> None:
        """The second joint of a planar arm is at the end of the first rod: (cos, 0, sin).

        What callers have said before may still move it.
        """
        end, place = time.monotonic() + PATIENCE, (math.cos(q[0]), 0.0, math.sin(q[0]))
        while True:
            x, y, z, *sliders = self.ask("set", *q)
            if sliders == q and math.dist((x, y, z), place) < 1e-6:
                return
            assert time.monotonic() < end, (x, y, z, sliders, q)
            time.sleep(0.01)

    def memory(self) -> float:
        """The most that it had, MiB."""
        return self.ask("memory")

    def end(self) -> None:
        """End it as a user does; nobody has made it print anything."""
        out, _ = self._process.communicate(timeout=PATIENCE)
        assert (self._process.returncode, out + self.printed()) == (0, "")

    def printed(self) -> str:
        self._printed.seek(0)
        return self._printed.read()

    # -- ways to call it

    def call(self, origin: str | None = None, name: str = "127.0.0.1") -> ClientConnection:
        """A websocket to it."""
        return call(self.port, origin, name)

    def bare(self) -> socket.socket:
        """A websocket of which nobody reads."""
        line = line_to(self.port)
        line.sendall(
            f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: viser-v{viser.__version__}\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        line.settimeout(UNTAKEN)
        return line

    def fetch(self, path: str = "/", **headers: str) -> int:
        """The status of the answer to a request."""
        request = urllib.request.Request(self.url + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code


def said(raw: bytes) -> list[dict]:
    """The messages in what a server of viser sends: two lengths, and msgpack in zstd."""
    packed = int.from_bytes(raw[8:16], "little")
    return msgspec.msgpack.decode(zstandard.decompress(raw[16 : 16 + packed]))["messages"]


def inputs_of(page: ClientConnection) -> dict[str, str]:
    """The names of sliders, boxes and buttons, and what stands beside them."""
    found: dict[str, str] = {}
    while True:
        for message in said(page.recv(timeout=PATIENCE)):
            if message["type"].startswith("Gui") and "label" in message.get("props", {}):
                found[message["uuid"]] = message["props"]["label"]
            if message["type"] == "ReplayDoneMessage":
                return found


def slider_of(page: ClientConnection, joint: str) -> str:
    """The name of a slider."""
    (uuid,) = (name for name, label in inputs_of(page).items() if label == joint)
    return uuid


def change(uuid: str, /, **updates: object) -> bytes:
    return msgspec.msgpack.encode({"type": "GuiUpdateMessage", "uuid": uuid, "updates": updates})


def frame(opcode: int, data: bytes, fin: bool = True) -> bytes:
    """A frame of a websocket, with a mask of zeros."""
    length = (
        bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    )
    return bytes([opcode | 0x80 * fin]) + length + bytes(4) + data


CAMERA = {
    "type": "ViewerCameraMessage",
    "wxyz": [1.0, 0.0, 0.0, 0.0],
    "position": [0.0, 0.0, 1.0],
    "fov": 1.0,
    "near": 0.1,
    "far": 10,
    "image_height": 300,
    "image_width": 400,
    "look_at": [0.0, 0.0, 0.0],
    "up_direction": [0, 0, 1],
}


def is_cut(line: socket.socket) -> bool:
    """Whether a line ends, after what was on it already."""
    line.settimeout(5.0)  # who says nothing is cut after 10
    try:
        while line.recv(2**16):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def until_let_in(host: Host) -> None:
    """The places of those who have gone are free after a moment."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(ConnectionClosed, InvalidHandshake, OSError), host.call() as page:
            if inputs_of(page):
                return
        time.sleep(0.05)
    raise AssertionError("nobody is let in any more")
