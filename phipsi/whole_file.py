"""A file is written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from phipsi.errors import InputError, name_choices

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_KINDS = {
    stat.S_IFDIR: "a directory; give the name of a file in it",
    stat.S_IFCHR: "a device; give the name of a file",
    stat.S_IFBLK: "a device; give the name of a file",
    stat.S_IFIFO: "a pipe; give the name of a file",
    stat.S_IFSOCK: "a socket; give the name of a file",
}


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file once all are written and flushed.

    They go to a file beside it first, which then takes its name in one step.
    Whatever happens before that step, also an interrupt, leaves an earlier
    file of that name as it was, and nothing else behind.

    Files alone are replaced. A device, a pipe, a socket or a directory is refused, whoever
    asks; so is a link that leads to one.

    Args:
        path: of the file. A link is followed, and stays; where it leads to nothing yet, the
            file that it leads to is made.

    Raises:
        InputError: the file cannot be written; the message says why, and what to do.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(f"{folder}/numbers.txt") as stream:
    ...         _ = stream.write(b"1 2 3")
    ...     print(os.listdir(folder))
    ['numbers.txt']
    """
    file = checked_path(path)
    target = Path(os.path.realpath(file))
    with _explained(file, target):
        _check_replaceable(file, target)
        part = target.with_name(f".{secrets.token_hex(8)}.part")
        try:
            with open(part, "xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            _check_replaceable(file, target)  # work takes time
            if target.exists():
                shutil.copymode(target, part)
            os.replace(part, target)
        finally:
            with suppress(OSError):
                part.unlink()


def check_writable(path: str | os.PathLike[str]) -> None:
    """InputError where `replacing` could not even begin; nothing is written.

    >>> check_writable("no/run.nc")
    Traceback (most recent call last):
        ...
    phipsi.errors.InputError: no/run.nc: cannot be written: there is no directory 'no'; make ...
    """
    file = checked_path(path)
    target = Path(os.path.realpath(file))
    with _explained(file, target):
        _check_replaceable(file, target)
        os.stat(target.parent)  # where there is none, the system says so
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def checked_path(path: str | os.PathLike[str]) -> Path:
    """The path as a Path, or InputError if it is none.

    >>> checked_path("run.nc").name
    'run.nc'
    """
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise InputError(f"path is {path!r}; expected the path of a file") from None
    if "\0" in text or not text or not _is_encodable(text):
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


def _is_encodable(text: str) -> bool:
    """Whether the system has letters for it."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _check_replaceable(file: Path, target: Path) -> None:
    """InputError unless there is an ordinary file, or nothing.

    What the path opens is looked at, and what would be replaced: they differ where links are
    none of names, as those in /proc/self/fd.

    Args:
        file: the path as the user has it.
        target: where its links lead.
    """
    opened, replaced = _status(os.stat, file), _status(os.lstat, target)
    for found in (replaced, opened):
        if found is not None and not stat.S_ISREG(found.st_mode):
            kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no ordinary file; give the name of one")
            is_link = os.path.islink(file)
            where = f"it leads to {str(target)!r}, which is" if is_link else "it is"
            raise InputError(f"{file}: cannot be written: {where} {kind}")
    if opened and not replaced:
        raise InputError(
            f"{file}: cannot be written: it leads to a file that has no name; write elsewhere"
        )


def _status(look: Callable[[Path], os.stat_result], path: Path) -> os.stat_result | None:
    """What is at a path; None if nothing is."""
    try:
        return look(path)
    except FileNotFoundError:
        return None


@contextmanager
def _explained(file: Path, target: Path) -> Iterator[None]:
    """What the system refuses, as InputError: which file, what went wrong, what to do about it."""
    try:
        yield
    except OSError as error:
        is_beside = os.path.realpath(file.parent) == str(target.parent)
        folder = file.parent if is_beside else target.parent
        raise InputError(f"{file}: cannot be written: {_why(error, str(folder))}") from error


def _why(error: OSError, folder: str) -> str:
    if error.errno in _FULL:
        return "the disk is full; free some space or write elsewhere (an earlier file is kept)"
    if error.errno == errno.ELOOP:
        return "a link leads back to itself; write elsewhere"
    if error.errno == errno.ENAMETOOLONG:
        return "the name is too long; give a shorter one"
    if isinstance(error, FileNotFoundError):
        return f"there is no directory {folder!r}; make it first"
    if isinstance(error, NotADirectoryError):
        return f"{folder!r} is no directory; write elsewhere"
    reason = error.strerror or str(error)
    return f"{reason[:1].lower()}{reason[1:]}; check the rights on {folder!r} or write elsewhere"
