"""A headless Chromium for the tests that look: pages opened, clicked, photographed.

It is driven through the DevTools protocol over a websocket; the package
`websockets` comes with viser.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    *("--ignore-gpu-blocklist", "--disable-background-networking", "--no-first-run"),
    *("--disable-dev-shm-usage", "--remote-debugging-port=0"),
)
KEYS = {"End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39}
PATIENCE = 60.0  # seconds, on a machine that is busy


def find_chromium() -> str:
    """Its path. The test is skipped without one, and fails where all peers are required."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        problem = f"no browser: none of {', '.join(NAMES)} is installed"
        if os.environ.get("PHIPSI_REQUIRE_PEERS"):
            pytest.fail(problem)
        pytest.skip(problem)
    return found


def until(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> object:
    """Wait for something to become true, and return it."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"waited in vain for {what}")


class Browser:
    """One page of a Chromium of its own.

    Args:
        width: of the window, pixels.
        height: of the window, pixels.
    """

    def __init__(self, width: int = 800, height: int = 500):
        from websockets.sync.client import connect

        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        own = (f"--user-data-dir={self._home.name}", f"--window-size={width},{height}")
        self._process = subprocess.Popen(
            [find_chromium(), *FLAGS, *own, "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            told = Path(self._home.name, "DevToolsActivePort")
            until(lambda: told.exists() and told.read_text().count("\n"), "the browser to start")
            port = told.read_text().splitlines()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
                page = next(x for x in json.load(answer) if x["type"] == "page")
            self._socket = connect(page["webSocketDebuggerUrl"], max_size=None)
            self._numbers = itertools.count(1)
            self.requested: list[str] = []  # the addresses that pages have asked for
            self.call("Page.enable")
            self.call("Network.enable")
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            self.call("Emulation.setDeviceMetricsOverride", **size)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._home.cleanup()

    def call(self, method: str, **parameters: object) -> dict:
        """A command of the DevTools protocol; its result."""
        number = next(self._numbers)
        text = json.dumps({"id": number, "method": method, "params": parameters})
        self._socket.send(text)
        while True:
            answer = json.loads(self._socket.recv(timeout=PATIENCE))
            if answer.get("method") == "Network.requestWillBeSent":
                self.requested.append(answer["params"]["request"]["url"][:100])
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, url: str) -> None:
        """Go to a page, and wait until it is there."""
        result = self.call("Page.navigate", url=url)
        assert not result.get("errorText"), result["errorText"]
        until(self._is_loaded, f"{url} to load")

    def _is_loaded(self) -> bool:
        try:
            return self.evaluate("document.readyState") == "complete"
        except RuntimeError:  # between two pages
            return False

    def set_network(self, on: bool) -> None:
        """Cut off the network, or bring it back."""
        speeds = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.call("Network.emulateNetworkConditions", offline=not on, **speeds)

    def evaluate(self, script: str) -> object:
        """The value of a JavaScript expression."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key, as "ArrowRight"."""
        named = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, **named)

    def click(self, x: float, y: float) -> None:
        """Click at a place in the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, save: str | Path | None = None) -> np.ndarray:
        """What is to be seen, (height, width, 3) from 0 to 255."""
        from PIL import Image

        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if save is not None:
            Path(save).write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
