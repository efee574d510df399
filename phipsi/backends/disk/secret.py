"""The user's secret, by which files of his are told from those that others have put there.

A file of random bytes, made when something is first kept. It lies away from what it seals:
who may write to a cache, another container or whoever has packed a cache to be restored, has not
got it with the cache.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress

from phipsi.backends.disk import plain_files
from phipsi.backends.disk.trust import complain, directory_fault, place_fault, secret_fault

SIZE = 32  # bytes
ELSEWHERE = "set PHIPSI_CACHE_KEY to a file in a directory of your own"


def read_secret(path: str) -> bytes | None:
    """What the file holds; None if there is no file, or none to be trusted: a warning says why."""
    with suppress(OSError):
        if fault := directory_fault(os.path.dirname(path), ELSEWHERE):
            complain(os.path.dirname(path), fault)
            return None
        found = plain_files.read(path, SIZE, secret_fault)
        if found is not None and found.data is not None and len(found.data) == SIZE:
            return found.data
    return None


def make_secret(path: str) -> bytes | None:
    """The same, made if there is none; None also where nothing can be written.

    Of several processes that make one at the same time, all take that of the first.
    """
    found = read_secret(path)
    if found is None:
        with suppress(OSError):
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            if not directory_fault(os.path.dirname(path), ELSEWHERE):
                plain_files.write(path, secrets.token_bytes(SIZE), _place)
        found = read_secret(path)
    return found


def fault_of_secret(path: str | None) -> str:
    """Why there is no secret and none can be made; "" if there is, or can be."""
    if path is None:
        return f"there is no home directory for its key; {ELSEWHERE}"
    if read_secret(path) is not None:
        return ""
    with suppress(FileNotFoundError, NotADirectoryError):
        if fault := secret_fault(path, os.lstat(path)):
            return f"its key {path}: {fault}"
    return place_fault(os.path.dirname(path), ELSEWHERE)


def _place(part: str, path: str) -> None:
    """Give a new file its name, unless there is one by now that holds a secret."""
    with suppress(OSError), open(part, "rb") as stream:
        os.fsync(stream.fileno())  # a crash must not leave zeros for a secret
    try:
        os.link(part, path)
    except FileExistsError:
        if not secret_fault(path, os.lstat(path)) and os.path.getsize(path) != SIZE:
            os.replace(part, path)  # one that a crash has cut short
    except (OSError, NotImplementedError):  # no links on this disk
        os.replace(part, path)
