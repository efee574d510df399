"""Arrays from files that may be damaged, or made to do harm: sizes are checked before memory is.

What a file declares is believed up to `ROOM` times its own length, unpacked. Beyond that it is
taken for damaged: trajectories do not shrink so much.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np

from phipsi.cleaning import NETCDFS_OWN
from phipsi.errors import BackendError, InputError
from phipsi.simulate import netcdf_process

ROOM = 10  # bytes of arrays, for each byte of their file
AT_ONCE = 1 << 20  # bytes that are read in one go
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack any amount at once
PATIENCE, PACE = 60.0, 5e6  # seconds for any NetCDF file, and bytes of it for each second more
MARGIN = 1 << 20  # bytes of names and attributes, beside arrays


class UnreadableError(Exception):
    """A file that holds no such arrays; says why not."""


def open_ordinary(path: Path) -> BinaryIO:
    """A file to be read; InputError for a pipe or a device, on which a reader may wait for ever."""
    flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    file = os.open(path, os.O_RDONLY | flags)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        if path.is_dir():
            raise IsADirectoryError
        raise InputError(f"{path}: this is no ordinary file; give the path of one")
    return os.fdopen(file, "rb")


# -- NumPy -----------------------------------------------------------------------------------


def read_npz(path: Path, names: Sequence[str], optional: Sequence[str]) -> dict[str, np.ndarray]:
    """Arrays of numbers and texts from a .npz file.

    Args:
        path: of the file.
        names: of arrays that must be there.
        optional: of others, left out where there are none.

    Raises:
        Exception: of any kind, for a file that does not hold them.
    """
    with open_ordinary(path) as stream:
        left = ROOM * os.fstat(stream.fileno()).st_size
        with zipfile.ZipFile(_Sparing(stream)) as archive:
            there = [x for x in optional if f"{x}.npy" in archive.NameToInfo]
            found: dict[str, np.ndarray] = {}
            for name in (*names, *there):
                found[name] = _array(archive, name, left)
                left -= found[name].nbytes
        return found


class _Sparing:
    """A file of which nobody reads much at once, such as a directory of a million entries."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(min(size, AT_ONCE + 1) if size >= 0 else AT_ONCE + 1)
        if len(data) > AT_ONCE:
            raise zipfile.BadZipFile("its directory is too long")
        return data


def _array(archive: zipfile.ZipFile, name: str, most: int) -> np.ndarray:
    """An array of an archive, of so many bytes at the most."""
    info = archive.getinfo(f"{name}.npy")
    if info.compress_type not in PACKINGS or info.flag_bits & 1:
        raise UnreadableError(f"{name} is packed in a way that is not read")
    with archive.open(info) as stream:
        version = np.lib.format.read_magic(stream)
        if version not in HEADERS:
            raise UnreadableError(f"{name} is of a version that is not read")
        shape, by_columns, dtype = HEADERS[version](stream)
        size = checked_size(name, shape, dtype, most)
        data = bytearray(size)
        _fill(memoryview(data), stream, name)
    return np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C")


def checked_size(name: str, shape: Sequence[int], dtype: np.dtype, most: int) -> int:
    """How many bytes an array has; UnreadableError if it has more, or holds no numbers or texts."""
    if dtype.kind not in "biufU" or not dtype.itemsize:
        raise UnreadableError(f"{name} is of type {dtype.str!r}, which are no numbers or texts")
    if any(type(x) is not int or x < 0 for x in shape):
        raise UnreadableError(f"{name} has no shape")
    if dtype.itemsize * math.prod(max(x, 1) for x in shape) > most + MARGIN:
        raise UnreadableError(f"{name} of shape {tuple(shape)} is larger than its file can hold")
    return dtype.itemsize * math.prod(shape)


def _fill(rest: memoryview, stream: IO[bytes], name: str) -> None:
    while rest:
        part = stream.read(min(len(rest), AT_ONCE // 2))
        if not part:
            raise EOFError(f"{name} ends too early")
        rest[: len(part)] = part
        rest = rest[len(part) :]


# -- NetCDF ----------------------------------------------------------------------------------


def read_netcdf(path: Path, names: Sequence[str], optional: Sequence[str]) -> dict[str, Any]:
    """Arrays and attributes of a NetCDF file, read by a process of its own.

    HDF5 does not come to an end with some damaged files, and breaks down on others, which nothing
    within its process can prevent.

    Args:
        path: of the file.
        names: of arrays that must be there; those of texts are lists.
        optional: of others, left out where there are none.

    Returns:
        the arrays by name, and under "" the attributes.

    Raises:
        BackendError: there is no process to be had.
        UnreadableError: for a file that does not hold them.
    """
    with open_ordinary(path) as stream:
        size = os.fstat(stream.fileno()).st_size
    most, seconds = ROOM * size, PATIENCE + size / PACE
    told = json.dumps(
        {
            "path": os.path.abspath(path),
            "names": [*names],
            "optional": [*optional],
            "hidden": [*NETCDFS_OWN],
            "most": most + MARGIN,
            "seconds": math.ceil(seconds),
        }
    )
    command = [sys.executable, "-P", "-c", inspect.getsource(netcdf_process), told]
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with tempfile.TemporaryFile() as answer:
        try:
            done = subprocess.run(
                command, stdout=answer, timeout=seconds, env=_environment(), check=False, **quiet
            )
        except subprocess.TimeoutExpired:
            raise UnreadableError(f"HDF5 found no end of it in {seconds:.0f} s") from None
        except OSError as error:
            raise BackendError(
                f"{path}: a NetCDF file is read by a process of its own, and none can be started "
                f"here: {error.strerror or error}; write trajectories to .npz instead"
            ) from error
        if done.returncode:
            raise UnreadableError(f"HDF5 broke down over it, with code {done.returncode}")
        answer.seek(0)
        return _understood(answer, most)


def _environment() -> dict[str, str]:
    """Of the other process: modules as here, one thread, and no filters from elsewhere."""
    paths = os.pathsep.join(x for x in sys.path if x)
    alone = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return {**os.environ, **alone, "PYTHONPATH": paths, "HDF5_PLUGIN_PRELOAD": "::"}


def _understood(answer: IO[bytes], most: int) -> dict[str, Any]:
    """What the other process has said: no more believed than the file itself."""
    said = json.loads(answer.readline(most + MARGIN))
    if "error" in said:
        raise UnreadableError(said["error"])
    found: dict[str, Any] = {"": dict(said["attributes"]), **said["texts"]}
    for name, (kind, shape) in said["arrays"].items():
        dtype = np.dtype(kind)
        size = checked_size(name, shape, dtype, most)
        data = bytearray(size)
        _fill(memoryview(data), answer, name)
        found[name] = np.frombuffer(data, dtype).reshape(shape)
    return found
