"""Ordinary files, read without waiting for anybody and no further than to a limit."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from phipsi.backends.disk.trust import complain, file_fault

_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY  # a pipe is opened, and seen to be one
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY


class Contents(NamedTuple):
    """What a file holds, None if it is longer than allowed, and when it was written."""

    data: bytes | None
    written: float


def read(
    path: str, limit: int, fault_of: Callable[[str, os.stat_result], str] = file_fault
) -> Contents | None:
    """A file of this user; None, and a warning, for one that is not to be trusted.

    Args:
        path: of the file; a link is not followed.
        limit: bytes. Of a longer file nothing is read, whatever size it claims.
        fault_of: of the path and the open file, why it is not to be trusted; "" if it is.

    Raises:
        OSError: there is none, or it cannot be read.
    """
    try:
        file = os.open(path, _READ)
    except OSError:
        if os.path.islink(path):
            complain(path, fault_of(path, os.lstat(path)))
        raise
    try:
        found = os.fstat(file)
        if fault := fault_of(path, found):
            complain(path, fault)
            return None
        if found.st_size > limit:
            return Contents(None, found.st_mtime)
        with os.fdopen(file, "rb", closefd=False) as stream:
            return Contents(stream.read(found.st_size), found.st_mtime)
    finally:
        os.close(file)


def write(path: str, data: bytes, place: Callable[[str, str], None] | None = None) -> None:
    """Have a file appear under its name in one step, whole and readable by this user alone.

    Args:
        path: of the file.
        data: what it is to hold.
        place: gives a file, the first, its name, the second; None to replace what is there.

    Raises:
        OSError: it cannot be written; nothing is left behind.
    """
    part = os.path.join(os.path.dirname(path), f".{secrets.token_hex(8)}.part")
    try:
        file = os.open(part, _WRITE, 0o600)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(file, rest) :]
        finally:
            os.close(file)
        (place or os.replace)(part, path)
    finally:
        with suppress(OSError):
            os.unlink(part)
