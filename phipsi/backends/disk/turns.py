"""One at a time: of many processes that want the same thing made, one makes it.

A file is locked for as long as a process works. The kernel releases the lock of a
process that ends, however it ends. Who waits does so for a while only, then goes
on as if he were alone: a lock saves work, nothing depends on it.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

fcntl: Any
try:
    import fcntl
except ImportError:  # on Windows everyone goes on alone
    fcntl = None

PATIENCE = 30.0  # seconds, until whoever waits goes on alone
SHORTEST, LONGEST = 0.001, 0.05  # seconds, between two looks


@contextmanager
def turn(path: str, is_over: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Be the only one inside, of all threads and processes that name the same file.

    The file is made for this and removed after it.

    Args:
        path: of the file, in a directory that others cannot write to.
        is_over: there is nothing left to wait for.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, turn(f"{folder}/lock"):
    ...     os.listdir(folder)
    ['lock']
    """
    file = _take(path, is_over)
    try:
        yield
    finally:
        if file is not None:
            _give_back(file, path)


def _take(path: str, is_over: Callable[[], bool]) -> IO[bytes] | None:
    """The locked file, or None to go on without."""
    pause, end = SHORTEST, time.monotonic() + PATIENCE
    while fcntl is not None:
        try:
            file = _try(path)
        except OSError:  # no locks on this disk, or no files
            return None
        if file is not None:
            return file
        if is_over() or time.monotonic() > end:
            return None
        time.sleep(pause)
        pause = min(1.5 * pause, LONGEST)
    return None


def _try(path: str) -> IO[bytes] | None:
    """The locked file, or None if another has locked it, or has just removed it."""
    file = open(path, "a+b", buffering=0, opener=_open_own)  # noqa: SIM115
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(f"{path} is no file, and stays as it is")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(file.fileno()), os.lstat(path)):
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        file.close()
        raise
    file.close()
    return None


def _open_own(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


def _give_back(file: IO[bytes], path: str) -> None:
    """Removed first: who opens it after that makes another, and who has it open sees that.

    So a child that was forked meanwhile, and has it open as well, stops nobody.
    """
    with file, suppress(OSError):
        os.unlink(path)
