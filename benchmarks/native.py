"""C code, compiled for this processor and loaded."""

import ctypes
import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

FLAGS = ("-O3", "-march=native")


def compiler() -> list[str]:
    """The command, as CC names it."""
    return shlex.split(os.environ.get("CC", "cc"))


def compiler_version() -> str:
    """The first line of what the compiler says of itself."""
    said = subprocess.run([*compiler(), "--version"], check=True, capture_output=True, text=True)
    return said.stdout.partition("\n")[0]


def load_c(source: str, *options: str) -> ctypes.CDLL:
    """The library that is made of C code; options go to the compiler."""
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder, "code.c"), Path(folder, "code.so")
        code.write_text(source, encoding="utf-8")
        command = [*compiler(), *FLAGS, "-shared", "-fPIC", "-o", library, code, *options, "-lm"]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))


def bind(function: Any, inputs: Sequence[np.ndarray], out: np.ndarray, *handles: int) -> partial:
    """A call of `void f(handles..., long count, const double** inputs, double* out)`.

    Args:
        function: of a library.
        inputs: contiguous, one row per state.
        out: contiguous.
        handles: pointers that the function takes before.
    """
    assert all(x.flags.c_contiguous for x in (*inputs, out))
    pointers = (ctypes.c_void_p * len(inputs))(*(x.ctypes.data for x in inputs))
    function.argtypes = [*[ctypes.c_void_p] * len(handles), ctypes.c_long, *[ctypes.c_void_p] * 2]
    function.restype = None
    return partial(function, *handles, len(out), pointers, out.ctypes.data)
