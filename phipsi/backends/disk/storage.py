"""Files that are made once and read often, by many processes at once.

A directory of the user's own, with a file for each thing kept. A file appears
under its name in one step, complete; what is in it says what it is, and a
checksum, that it is whole. What is not whole, or not the user's alone, is never
returned. Whatever fails here, a full disk or a directory that vanishes, costs
the time to make a thing again, and raises nothing.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import secrets
import stat
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from phipsi.backends.disk import turns
from phipsi.backends.disk.trust import complain, directory_fault, file_fault, is_mine

MAGIC = b"phipsi\n\1"  # the last byte is the version of the format
_CHECKED = struct.Struct("<8s32s")  # magic, sha256 of the rest
_LENGTH = struct.Struct("<H")  # of the label, which then comes, and then the payload

ENTRY = re.compile(r"(?P<kind>[a-z]+)-[0-9a-f]{64}\.phipsi")
LEFT_OVER = re.compile(r"\.(?:[0-9a-f]{16}|[a-z]+-[0-9a-f]{64})\.(?P<kind>part|lock)")

HOUR, DAY = 3600.0, 86400.0
SHARES = 64  # a process looks at the whole directory when it has added this share of the bound
FILLED = 7 / 8  # of the bound, after the oldest have gone

_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_READ |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_WRITE |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class Entry(NamedTuple):
    """A file of a store: its path, what it is, its bytes, and when it was used, to a day."""

    path: str
    kind: str
    size: int
    used: float


class Store:
    """Things by kind and key, in a directory.

    Args:
        directory: where; made when something is put there.
        bound: bytes; beyond them, what was not used for longest goes.

    >>> import tempfile
    >>> from phipsi.backends.disk.digest import digest
    >>> key = digest("the text")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder, 1_000_000)
    ...     store.put("object", key, b"machine code")
    ...     store.get("object", key), store.get("text", key)
    (b'machine code', None)
    """

    def __init__(self, directory: str | os.PathLike[str], bound: int):
        self.directory, self.bound = os.fspath(directory), bound
        # Many short processes look at the whole directory as often as a long one.
        self._added = random.random() * bound / SHARES

    # -- one thing -----------------------------------------------------------------------

    def get(self, kind: str, key: bytes) -> bytes | None:
        """What was put there, or None if there is nothing that is whole and the user's own.

        Args:
            kind: a word in small letters.
            key: a digest.
        """
        with suppress(OSError):
            if self._is_trusted():
                return self._read(self.path(kind, key), _label(kind, key))
        return None

    def put(self, kind: str, key: bytes, payload: bytes) -> None:
        """Keep it, if that is possible here.

        Args:
            kind: a word in small letters.
            key: a digest of all that the payload depends on.
            payload: what `get` is to return.
        """
        whole, path = _sealed(_label(kind, key), payload), self.path(kind, key)
        if len(whole) > self.bound:
            return
        with suppress(OSError):
            os.makedirs(self.directory, 0o700, exist_ok=True)
            if self._is_trusted() and self._may_replace(path):
                self._write(path, whole)
                self._added += len(whole)
                if self._added * SHARES >= self.bound:
                    self._added = 0.0
                    self._make_room()

    def made_once(self, kind: str, key: bytes, make: Callable[[], bytes]) -> bytes:
        """What is kept, or what `make` returns, which is then kept.

        Of the threads and processes that want it at the same time, one makes it; the others
        wait for it, for `turns.PATIENCE` seconds at most.

        Args:
            kind: a word in small letters.
            key: a digest of all that the result of `make` depends on.
            make: what to do if there is nothing.
        """
        found = self.get(kind, key)
        if found is None:
            with self._turn(kind, key):
                found = self.get(kind, key)  # somebody may have been faster
                if found is None:
                    found = make()
                    self.put(kind, key, found)
        return found

    def path(self, kind: str, key: bytes) -> str:
        """Of the file of a thing."""
        name = f"{kind}-{key.hex()}.phipsi"
        assert ENTRY.fullmatch(name), f"{kind!r} is no kind, or {key!r} no digest"
        return os.path.join(self.directory, name)

    # -- all of it -----------------------------------------------------------------------

    def entries(self) -> list[Entry]:
        """All that is kept, what was not used for longest first."""
        return sorted(self._files(ENTRY), key=lambda entry: entry.used)

    def clear(self) -> tuple[int, int]:
        """Remove all files that a store of this user has made, and no other.

        Returns:
            how many files, and how many bytes.
        """
        removed = [file.size for file in self._files(ENTRY, LEFT_OVER) if _remove(file.path)]
        return len(removed), sum(removed)

    def fault(self) -> str:
        """Why nothing can be kept here; "" if it can."""
        place = self.directory
        try:
            if fault := directory_fault(place):
                return fault
        except (FileNotFoundError, NotADirectoryError):
            while not os.path.lexists(place) and place != os.path.dirname(place):
                place = os.path.dirname(place)
        except OSError as error:
            return f"it cannot be looked at: {error.strerror or error}"
        if not os.path.isdir(place):
            return f"{place} is no directory"
        if not os.access(place, os.W_OK | os.X_OK):
            return f"nothing can be written in {place}"
        return ""

    # -- inside --------------------------------------------------------------------------

    def _is_trusted(self) -> bool:
        """Whether the directory is the user's alone; a warning if it is another's too."""
        try:
            fault = directory_fault(self.directory)
        except OSError:
            return False
        if fault:
            complain(self.directory, fault)
        return not fault

    def _read(self, path: str, label: bytes) -> bytes | None:
        try:
            file = os.open(path, _READ)
        except OSError:
            if os.path.islink(path):
                complain(path, file_fault(path, os.lstat(path)))
            return None
        with os.fdopen(file, "rb", buffering=0) as stream:
            found = os.fstat(file)
            if fault := file_fault(path, found):
                complain(path, fault)
                return None
            payload = _unsealed(label, stream.read())
        with suppress(OSError):
            if payload is None:
                os.unlink(path)
            elif time.time() - found.st_mtime > DAY:
                os.utime(path)
        return payload

    def _may_replace(self, path: str) -> bool:
        """Whether nothing is there, or something of ours."""
        try:
            return not file_fault(path, os.lstat(path))
        except FileNotFoundError:
            return True

    def _write(self, path: str, whole: bytes) -> None:
        part = os.path.join(self.directory, f".{secrets.token_hex(8)}.part")
        try:
            file = os.open(part, _WRITE, 0o600)
            try:
                rest = memoryview(whole)
                while rest:
                    rest = rest[os.write(file, rest) :]
            finally:
                os.close(file)
            os.replace(part, path)
        finally:
            with suppress(OSError):
                os.unlink(part)

    @contextmanager
    def _turn(self, kind: str, key: bytes) -> Iterator[None]:
        """Alone with this key, as far as that is possible here."""
        with suppress(OSError):
            os.makedirs(self.directory, 0o700, exist_ok=True)
        if not self._is_trusted():
            yield
            return
        path = self.path(kind, key)
        lock = os.path.join(self.directory, f".{kind}-{key.hex()}.lock")
        with turns.turn(lock, is_over=lambda: os.path.lexists(path)):
            yield

    def _files(self, *names: re.Pattern[str]) -> list[Entry]:
        """Files of this user with names of these forms; no links, and none of others."""
        kept = []
        with suppress(OSError), os.scandir(self.directory) as files:
            for file in files:
                name = next(filter(None, (form.fullmatch(file.name) for form in names)), None)
                if name is None:
                    continue
                with suppress(OSError):  # gone meanwhile
                    found = file.stat(follow_symlinks=False)
                    if stat.S_ISREG(found.st_mode) and is_mine(found):
                        kind = name["kind"]
                        kept.append(Entry(file.path, kind, found.st_size, found.st_mtime))
        return kept

    def _make_room(self) -> None:
        """Remove what was not used for longest, and what interrupted processes have left behind."""
        for file in self._files(LEFT_OVER):
            if time.time() - file.used > HOUR:
                _remove(file.path)
        entries = self.entries()
        size = sum(entry.size for entry in entries)
        target = FILLED * self.bound if size > self.bound else size
        for entry in entries:
            if size <= target:
                break
            _remove(entry.path)
            size -= entry.size


def _remove(path: str) -> bool:
    """Whether it is gone now and was there before."""
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def _label(kind: str, key: bytes) -> bytes:
    """What a file says that it is."""
    return kind.encode() + b"-" + key


def _sealed(label: bytes, payload: bytes) -> bytes:
    """The contents of a file: whether it is whole, what it is, and what it holds."""
    rest = b"".join((_LENGTH.pack(len(label)), label, payload))
    return _CHECKED.pack(MAGIC, hashlib.sha256(rest).digest()) + rest


def _unsealed(label: bytes, whole: bytes) -> bytes | None:
    """What a file holds; None if it is damaged, of another format, or says that it is another."""
    rest = memoryview(whole)[_CHECKED.size :]
    if whole[: _CHECKED.size] != _CHECKED.pack(MAGIC, hashlib.sha256(rest).digest()):
        return None
    begin = _LENGTH.pack(len(label)) + label
    return bytes(rest[len(begin) :]) if rest[: len(begin)] == begin else None
