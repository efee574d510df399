"""A file is written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from phipsi.errors import InputError, name_choices

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file once all are written and flushed.

    They go to a file beside it first, which then takes its name in one step.
    Whatever happens before that step, also an interrupt, leaves an earlier
    file of that name as it was, and nothing else behind.

    Args:
        path: of the file. A link is followed.

    Raises:
        InputError: the file cannot be written; the message says why, and what to do.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/numbers.txt") as stream:
    ...         _ = stream.write(b"1 2 3")
    ...     print(os.listdir(folder))
    ['numbers.txt']
    """
    target = Path(os.path.realpath(checked_path(path)))
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        if target.is_dir():
            raise IsADirectoryError
        with open(part, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            shutil.copymode(target, part)
        os.replace(part, target)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {_why(error, target)}") from error
    finally:
        with suppress(OSError):
            part.unlink()


def checked_path(path: str | os.PathLike[str]) -> Path:
    """The path as a Path, or InputError if it is none.

    >>> checked_path("run.nc").name
    'run.nc'
    """
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise InputError(f"path is {path!r}; expected the path of a file") from None
    if "\0" in text or not text:
        raise InputError(f"path is {text!r}; expected the path of a file")
    return Path(text)


def checked_suffix(path: str | os.PathLike[str], known: Iterable[str]) -> str:
    """The suffix of a path, one of those known, or InputError that lists them.

    >>> checked_suffix("run.NC", [".nc", ".csv"])
    '.nc'
    >>> checked_suffix("run.ncc", [".nc", ".csv"])
    Traceback (most recent call last):
        ...
    phipsi.errors.InputError: run.ncc: unknown suffix '.ncc'; did you mean '.nc'? ...
    """
    known = list(known)
    suffix = checked_path(path).suffix.lower()
    if suffix not in known:
        what = f"unknown suffix {suffix!r}" if suffix else "no suffix says which format it has"
        raise InputError(f"{path}: {what}; {name_choices(suffix, known)}")
    return suffix


def _why(error: OSError, target: Path) -> str:
    """What went wrong, and what to do about it."""
    folder = target.parent
    if error.errno in _FULL:
        return "the disk is full; free some space or write elsewhere (an earlier file is kept)"
    if isinstance(error, IsADirectoryError):
        return "it is a directory; give the name of a file in it"
    if isinstance(error, FileNotFoundError):
        return f"there is no directory {str(folder)!r}; make it first"
    if isinstance(error, NotADirectoryError):
        return f"{str(folder)!r} is no directory; write elsewhere"
    reason = error.strerror or str(error)
    return (
        f"{reason[:1].lower()}{reason[1:]}; check the rights on {str(folder)!r} or write elsewhere"
    )
