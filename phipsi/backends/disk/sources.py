"""Which phipsi this is: a digest of the sources that run.

What phipsi has made serves the phipsi that would make the same again, so its
sources are part of the key under which it is kept. The version number would not
do: in an editable install sources change every minute.

The code that runs is the code that was imported, and the files may have changed
since. So they are looked at when phipsi is imported, before any other of its
modules, and again when the digest is asked for after more were. If one has changed, come or
gone, nobody can say which sources run, and there is no digest. Nor is there one
where modules come from elsewhere than source files: from archives, from compiled
files alone. Then phipsi works as ever, and keeps nothing.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterable

HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Seconds. A file that was written this shortly before it was looked at may be written again with
# no change of its times, which file systems keep no more exactly than that.
COARSE = 2.0

Look = tuple[tuple[str, int, int, int, int], ...]


def look(home: str) -> Look:
    """Name, times, size and number of every source file below a directory, in order of the names.

    The second time is that of the last change of any kind: nobody can set it back.

    Raises:
        OSError: there is no such directory, or it cannot be read.
    """
    found, folders = [], [home]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    x = entry.stat()
                    found.append((entry.path, x.st_mtime_ns, x.st_ctime_ns, x.st_size, x.st_ino))
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)
    return tuple(sorted(found))


class Sources:
    """The sources below a directory, as they were when this was made.

    Args:
        home: the directory.
    """

    def __init__(self, home: str):
        self.home, self.fault = home, ""
        self._digest: bytes | None = None
        self._look: Look = ()
        try:
            self._look = look(home)
        except OSError:
            self.fault = "phipsi's sources cannot be read"
        newest = max((max(times) for _, *times, _, _ in self._look), default=0)
        if time.time() - newest * 1e-9 < COARSE:
            self.fault = "phipsi's sources have changed just before it was imported"

    def digest(self, origins: Iterable[str | None]) -> bytes | None:
        """Of the contents of all files; None if they are not, or no more, those that run.

        Args:
            origins: the files from which the running modules came; None of one that came from none.
        """
        if self.fault:
            return None
        try:
            if self._digest is None:
                self._digest = self._read()
            if look(self.home) != self._look:
                self.fault = "phipsi's sources have changed since it was imported"
        except OSError:
            self.fault = "phipsi's sources cannot be read"
        if not {file for file, *_ in self._look}.issuperset(origins):
            self.fault = "phipsi was not imported from its source files"
        return None if self.fault else self._digest

    def _read(self) -> bytes:
        whole = hashlib.sha256()
        for path, *_ in self._look:
            with open(path, "rb", buffering=0) as file:
                part = hashlib.sha256(file.read()).digest()
            whole.update(os.path.relpath(path, self.home).encode("utf-8", "surrogatepass"))
            whole.update(b"\0" + part)
        return whole.digest()


_sources = Sources(HOME)  # phipsi/__init__.py imports this module first
_asked: tuple[list[str], bytes | None] | None = None  # modules that were loaded; the answer


def sources_digest() -> bytes | None:
    """Of the sources that run, 32 bytes; None if nobody can say which those are.

    It takes about 3 ms for the first time in a process, 1 ms when modules were loaded since it was
    last asked for. What is loaded already runs on, whatever becomes of its file.
    """
    global _asked
    loaded = _loaded()
    if _asked is None or _asked[0] != loaded:
        _asked = loaded, _sources.digest(_origins(loaded))
    return _asked[1]


def sources_fault() -> str:
    """Why there is no digest; "" if there is one."""
    sources_digest()
    return _sources.fault


def _loaded() -> list[str]:
    """The names of the modules of phipsi that are loaded."""
    return [x for x in list(sys.modules) if x == "phipsi" or x.startswith("phipsi.")]


def _origins(loaded: Iterable[str]) -> list[str | None]:
    """The files of modules, by their names."""
    specs = [getattr(sys.modules.get(name), "__spec__", None) for name in loaded]
    return [None if x is None or x.origin is None else os.path.abspath(x.origin) for x in specs]
