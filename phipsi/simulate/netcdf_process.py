"""What the process does that reads a NetCDF file for `untrusted.read_netcdf`: nothing else.

It is run by its text, and imports nothing of phipsi. Its argument is JSON; what it answers is a
line of JSON, and then the arrays that this tells, one after the other.
"""

from __future__ import annotations

import json
import math
import sys
from importlib import import_module
from typing import Any

BASE = 2_000_000_000  # bytes of address space that Python and its libraries take
MOST_ATTRIBUTES = 1000


def keep_within(most: int, seconds: int) -> None:
    """Limits of memory, time and files, where the system has such."""
    try:
        import resource
    except ImportError:
        return
    limits = {"AS": BASE + 4 * most, "CPU": seconds, "FSIZE": 2 * most, "CORE": 0}
    for name, limit in limits.items():
        try:
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
        except (AttributeError, ValueError, OSError):  # none here, or a lower one in force
            continue


def read(
    path: str, names: list[str], optional: list[str], hidden: list[str], most: int
) -> tuple[Any, ...]:
    """Texts, arrays and attributes by name; those that are hidden are the format's own."""
    h5py = import_module("h5py")
    texts, arrays = {}, {}
    with h5py.File(path, "r") as file:
        for name in (*names, *(x for x in optional if x in file)):
            found = _opened(h5py, file, name, most)
            if h5py.check_string_dtype(found.dtype):
                texts[name] = found.asstr()[...].tolist()
            elif found.dtype.kind in "fiu":
                arrays[name] = found[...]
            else:
                raise TypeError(f"{name} is of type {found.dtype}, which are no numbers or texts")
        if len(file.attrs) > MOST_ATTRIBUTES:
            raise ValueError(f"it has {len(file.attrs)} attributes")
        told = (x for x in file.attrs if x not in hidden)
        return texts, arrays, {name: _attribute(h5py, file, name, most) for name in told}


def _opened(h5py: Any, file: Any, name: str, most: int) -> Any:
    """A dataset that is in this file, and no larger than it can be."""
    link = file.get(name, getlink=True)
    if link is None:
        raise KeyError(name)
    found = file[name] if isinstance(link, h5py.HardLink) else None
    if not isinstance(found, h5py.Dataset) or found.is_virtual or found.external:
        raise ValueError(f"{name} is no array of this file")
    if math.prod(max(x, 1) for x in found.shape) * found.dtype.itemsize > most:
        raise ValueError(f"{name} of shape {found.shape} is larger than its file can hold")
    return found


def _attribute(h5py: Any, file: Any, name: str, most: int) -> Any:
    found = file.attrs.get_id(name)
    if math.prod(max(x, 1) for x in found.shape or ()) * found.dtype.itemsize > most:
        raise ValueError(f"attribute {name} is larger than its file can hold")
    value = file.attrs[name]
    if isinstance(value, h5py.Empty):
        return ""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value.decode() if isinstance(value, bytes) else value


def main() -> None:
    """Read what the argument asks for, and answer."""
    asked = json.loads(sys.argv[1])
    keep_within(asked["most"], asked.pop("seconds"))
    try:
        texts, arrays, attributes = read(**asked)
        shapes = {name: (x.dtype.str, x.shape) for name, x in arrays.items()}
        said = json.dumps({"texts": texts, "arrays": shapes, "attributes": attributes})
    except Exception as error:
        line = (str(error).splitlines() or [""])[0][:1000]
        arrays, said = {}, json.dumps({"error": f"{type(error).__name__}: {line}"})
    out = sys.stdout.buffer
    out.write(said.encode() + b"\n")
    for x in arrays.values():
        out.write(x.tobytes())
    out.flush()


if __name__ == "__main__":
    main()
