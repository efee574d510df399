"""Whose files they are. What others could have written is never run."""

from __future__ import annotations

import os
import shlex
import stat
import warnings

from phipsi.cleaning import visible

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
OTHERS = stat.S_IRWXG | stat.S_IRWXO

ELSEWHERE = "set PHIPSI_CACHE to a directory of your own"

_told: set[str] = set()


def file_fault(path: str, found: os.stat_result) -> str:
    """Why a file is not to be trusted, and what to do about it; "" if it is.

    Args:
        path: of the file.
        found: what fstat says of the open file.
    """
    if not stat.S_ISREG(found.st_mode):
        return f"not used, since it is no ordinary file: rm {shlex.quote(path)}"
    return _fault(path, found, "remove it, or set PHIPSI_CACHE to another directory")


def secret_fault(path: str, found: os.stat_result) -> str:
    """The same of a file that nobody else may read: who has read it can do what it allows."""
    anew = f"rm {shlex.quote(path)}, and another is made"
    if not stat.S_ISREG(found.st_mode):
        return f"not used, since it is no ordinary file: {anew}"
    if not is_mine(found):
        return "not used, since it belongs to another user; set PHIPSI_CACHE_KEY to a file of yours"
    if os.name == "posix" and found.st_mode & OTHERS:
        return f"not used, since others may read or write it; {anew}"
    return ""


def directory_fault(path: str, elsewhere: str = ELSEWHERE) -> str:
    """Why a directory is not to be trusted, and what to do about it; "" if it is.

    A link to a directory is as good as the directory, if nobody else has made the link.

    Args:
        path: of the directory.
        elsewhere: what else to do.

    Raises:
        OSError: there is no such directory, or it cannot be looked at.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     os.chmod(folder, 0o777)
    ...     print(directory_fault(folder))
    not used, since others may write to it; chmod go-w ...of your own
    """
    link = os.lstat(path)
    if stat.S_ISLNK(link.st_mode) and not is_mine(link):
        return f"not used, since another user has made this link; {elsewhere}"
    found = os.stat(path)
    if not stat.S_ISDIR(found.st_mode):
        return f"not used, since it is no directory; {elsewhere}"
    return _fault(path, found, elsewhere)


def place_fault(path: str, elsewhere: str = ELSEWHERE) -> str:
    """Why no files can be kept in a directory, which may not be there yet; "" if they can."""
    try:
        if fault := directory_fault(path, elsewhere):
            return fault
    except (FileNotFoundError, NotADirectoryError):
        while not os.path.lexists(path) and path != os.path.dirname(path):
            path = os.path.dirname(path)
    except OSError as error:
        return f"it cannot be looked at: {error.strerror or error}"
    if not os.path.isdir(path):
        return f"{path} is no directory"
    if not os.access(path, os.W_OK | os.X_OK):
        return f"nothing can be written in {path}"
    return ""


def is_mine(found: os.stat_result) -> bool:
    """Whether this user has made it; always, where files have no owners that Python knows of."""
    return not hasattr(os, "geteuid") or found.st_uid == os.geteuid()


def complain(subject: str, fault: str) -> None:
    """Warn of a file, a directory or a setting, once in a process."""
    if subject not in _told:
        _told.add(subject)
        line = visible(f"phipsi's cache: {subject}: {fault}")
        warnings.warn(line, RuntimeWarning, stacklevel=2)


def _fault(path: str, found: os.stat_result, elsewhere: str) -> str:
    if not is_mine(found):
        return f"not used, since it belongs to another user; {elsewhere}"
    if os.name == "posix" and found.st_mode & OTHERS_WRITE:
        change = "" if found.st_mode & stat.S_ISVTX else f"chmod go-w {shlex.quote(path)}, or "
        return f"not used, since others may write to it; {change}{elsewhere}"
    return ""
