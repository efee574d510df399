"""Exported headers, compiled and called."""

import ctypes
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

CC = shlex.split(os.environ.get("CC", "cc"))
CXX = shlex.split(os.environ.get("CXX", "c++"))
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror")

needs_compiler = pytest.mark.skipif(
    shutil.which(CC[0]) is None and not os.environ.get("PHIPSI_REQUIRE_PEERS"),
    reason="no C compiler",
)


def compile_c(*arguments, command=CC):
    """Run the compiler; it must be content."""
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def run_main(header, *options, folder=None):
    """Exit code and output of the test main of a header."""
    header = Path(header)
    program = Path(folder or header.parent, f"{header.stem}_test")
    main = f"-D{header.stem.upper()}_TEST_MAIN"
    compile_c(*(options or ("-O1",)), main, "-x", "c", header, "-o", program, "-lm")
    done = subprocess.run([program], capture_output=True, text=True)
    return done.returncode, done.stdout


class Exported:
    """A header as functions of arrays.

    Args:
        header: its path.
        inputs: the sizes of its arguments, in order.
        outputs: the sizes of its results.
        works: numbers of workspace to bring for one state, and for a batch.
    """

    def __init__(self, header, inputs, outputs, options=("-O1",), works=(0, 0)):
        header = Path(header)
        self.inputs, self.outputs, self.works = inputs, outputs, works
        arrays = [f"const double *i{i}" for i in range(len(inputs))]
        arrays += [f"double *o{i}" for i in range(len(outputs))]
        names = [x.split("*")[1] for x in arrays]
        ones, manys = (", ".join([*names, *(["work"] if work else [])]) for work in works)
        parameters = ", ".join([*arrays, "double *work"])
        code = (
            f'#include "{header.name}"\n'
            f"int one({parameters}) {{ (void)work; return {header.stem}({ones}); }}\n"
            f"size_t many(size_t n, {parameters})"
            f" {{ (void)work; return {header.stem}_batch(n, {manys}); }}\n"
        )
        source, library = header.with_suffix(".c"), header.with_suffix(".so")
        source.write_text(code)
        compile_c(*options, "-shared", "-fPIC", source, "-o", library, "-lm")
        self.library = ctypes.CDLL(str(library))
        self.library.many.restype = ctypes.c_size_t

    def __call__(self, *arguments):
        """What it returns, and the results, for one state."""
        rows = [np.array(x, float).reshape(1, -1) for x in arguments]
        code, results = self._call(self.library.one, rows, self.works[0])
        return code, [x[0] for x in results]

    def batch(self, *arguments):
        """How many states failed, and the results, one row per state."""
        rows = [np.ascontiguousarray(x, float) for x in arguments]
        count = ctypes.c_size_t(len(rows[0]))
        return self._call(self.library.many, rows, self.works[1], count)

    def _call(self, function, rows, work, *count):
        assert [x[0].size for x in rows] == list(self.inputs)
        results = [np.full((len(rows[0]), n), np.nan) for n in self.outputs]
        room = np.full(max(work, 1), np.nan)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*rows, *results, room)]
        return function(*count, *pointers), results
