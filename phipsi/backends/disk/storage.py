"""Files that are made once and read often, by many processes at once.

A directory of the user's own, with a file for each thing kept. A file appears
under its name in one step, complete. In it stands what it is, and a seal: HMAC-SHA256
of that and of all that it holds, with a secret of the user's that lies elsewhere. So what is
damaged, has been moved to another name, or was put there by somebody without the secret, is
never returned. Whatever fails here, a full disk or a directory that vanishes, costs the time
to make a thing again, and raises nothing.
"""

from __future__ import annotations

import hmac
import os
import random
import re
import stat
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from phipsi.backends.disk import plain_files, turns
from phipsi.backends.disk.secret import fault_of_secret, make_secret, read_secret
from phipsi.backends.disk.trust import complain, directory_fault, file_fault, is_mine, place_fault

MAGIC = b"phipsi\n\2"  # the last byte is the version of the format
_SEALED = struct.Struct("<8s32s")  # magic, seal of magic and rest
_LENGTH = struct.Struct("<H")  # of the label, which then comes, and then the payload

ENTRY = re.compile(r"(?P<kind>[a-z]+)-[0-9a-f]{64}\.phipsi")
LEFT_OVER = re.compile(r"\.(?:[0-9a-f]{16}|[a-z]+-[0-9a-f]{64})\.(?P<kind>part|lock)")

HOUR, DAY = 3600.0, 86400.0
LARGEST = 64_000_000  # bytes of a file; the longest code there is, of 150,000 nodes, takes a tenth
SHARES = 64  # a process looks at the whole directory when it has added this share of the bound
FILLED = 7 / 8  # of the bound, after the oldest have gone


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
        secret: the file of the user's secret, made when something is put; None for want of a home.

    >>> import tempfile
    >>> from phipsi.backends.disk.digest import digest
    >>> key = digest("the text")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(f"{folder}/cache", 1_000_000, f"{folder}/key")
    ...     store.put("object", key, b"machine code")
    ...     store.get("object", key), store.get("text", key)
    (b'machine code', None)
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        bound: int,
        secret: str | os.PathLike[str] | None,
    ):
        self.directory, self.bound = os.fspath(directory), bound
        self.secret = None if secret is None else os.fspath(secret)
        self._known: bytes | None = None  # the secret, once it was read
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
            secret = self._secret_by(read_secret) if self._is_trusted() else None
            if secret is not None:
                return self._read(self.path(kind, key), secret, _label(kind, key))
        return None

    def put(self, kind: str, key: bytes, payload: bytes) -> None:
        """Keep it, if that is possible here.

        Args:
            kind: a word in small letters.
            key: a digest of all that the payload depends on.
            payload: what `get` is to return.
        """
        secret, path = self._prepared(), self.path(kind, key)
        if secret is None:
            return
        whole = _sealed(secret, _label(kind, key), payload)
        with suppress(OSError):
            if len(whole) <= self._limit and self._may_replace(path):
                plain_files.write(path, whole)
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
        return place_fault(self.directory) or fault_of_secret(self.secret)

    # -- inside --------------------------------------------------------------------------

    def _prepared(self) -> bytes | None:
        """The secret to seal with, if something can be kept here; both places made if need be."""
        with suppress(OSError):
            os.makedirs(self.directory, 0o700, exist_ok=True)
        return self._secret_by(make_secret) if self._is_trusted() else None

    def _secret_by(self, find: Callable[[str], bytes | None]) -> bytes | None:
        """The user's secret, read or made, and remembered."""
        if self._known is None and self.secret is not None:
            self._known = find(self.secret)
        return self._known

    def _is_trusted(self) -> bool:
        """Whether the directory is the user's alone; a warning if it is another's too."""
        try:
            fault = directory_fault(self.directory)
        except OSError:
            return False
        if fault:
            complain(self.directory, fault)
        return not fault

    @property
    def _limit(self) -> int:
        """Bytes of one file."""
        return min(self.bound, LARGEST)

    def _read(self, path: str, secret: bytes, label: bytes) -> bytes | None:
        found = plain_files.read(path, self._limit)
        if found is None:
            return None
        payload = None if found.data is None else _unsealed(secret, label, found.data)
        with suppress(OSError):
            if payload is None:
                os.unlink(path)
            elif time.time() - found.written > DAY:
                os.utime(path)
        return payload

    def _may_replace(self, path: str) -> bool:
        """Whether nothing is there, or something of ours."""
        try:
            return not file_fault(path, os.lstat(path))
        except FileNotFoundError:
            return True

    @contextmanager
    def _turn(self, kind: str, key: bytes) -> Iterator[None]:
        """Alone with this key, as far as that is possible here."""
        if self._prepared() is None:
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


def _sealed(secret: bytes, label: bytes, payload: bytes) -> bytes:
    """The contents of a file: the seal, what it is, and what it holds."""
    rest = b"".join((_LENGTH.pack(len(label)), label, payload))
    return _SEALED.pack(MAGIC, _seal(secret, rest)) + rest


def _unsealed(secret: bytes, label: bytes, whole: bytes) -> bytes | None:
    """What a file holds; None if the seal is another's, or of something else."""
    rest = memoryview(whole)[_SEALED.size :]
    begin = _LENGTH.pack(len(label)) + label
    if not whole.startswith(MAGIC) or rest[: len(begin)] != begin:
        return None
    seal = whole[len(MAGIC) : _SEALED.size]
    return bytes(rest[len(begin) :]) if hmac.compare_digest(seal, _seal(secret, rest)) else None


def _seal(secret: bytes, rest: bytes | memoryview) -> bytes:
    found = hmac.new(secret, MAGIC, "sha256")
    found.update(rest)
    return found.digest()
