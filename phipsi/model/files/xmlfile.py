"""XML files, read whole and in bounds; see `xmlparser` for what becomes of their bytes."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

from phipsi.errors import InputError, ModelError
from phipsi.model.files.element import Element as Element
from phipsi.model.files.xmlparser import parse_xml as parse_xml
from phipsi.model.report import shorten

MOST_BYTES = 2**28  # of a file: the largest machines known need a thousandth of it
SOME_BYTES = 2**20  # read first: room is made for what is asked for, not for what there is


def read_xml(path: str | os.PathLike[str]) -> Element:
    """The root element of an XML file.

    Raises:
        InputError: `path` is no path.
        ModelError: the file cannot be read, or is not well-formed XML; the
            message has its line.
    """
    file = _file_name(path)
    return parse_xml(file, _read(file))


def _file_name(path: str | os.PathLike[str]) -> str:
    try:
        file = os.fsdecode(path)
    except TypeError:
        raise InputError(f"path is {path!r}; expected the path of a file") from None
    if "\0" in file or file.lstrip().startswith("<"):
        raise InputError(
            f"path is {shorten(file)!r}; expected the path of a file, not its contents"
        )
    return file


def _read(file: str) -> bytes:
    try:
        with open(file, "rb") as stream:
            return read_some(file, stream)
    except FileNotFoundError:
        raise ModelError(
            f"{file}: no such file (looked from {os.getcwd()!r}); check the path"
        ) from None
    except IsADirectoryError:
        raise ModelError(f"{file}: this is a directory; give the file in it") from None
    except OSError as error:
        raise ModelError(f"{file}: cannot be read: {error.strerror or error}") from None


def read_some(file: str, stream: BinaryIO) -> bytes:
    """All of a file of sensible size; a device has no end."""
    if stat.S_ISCHR(os.fstat(stream.fileno()).st_mode):
        raise ModelError(f"{file}: this is a device; give a file")
    data = stream.read(SOME_BYTES)
    while len(data) <= MOST_BYTES and (more := stream.read(len(data))):
        data += more
    if len(data) > MOST_BYTES:
        raise ModelError(
            f"{file}: larger than {MOST_BYTES >> 20} MiB, which no machine needs; check the path"
        )
    return data
