"""A computation as one C99 header: no allocation, no dependency but <math.h>.

    int name(const double *q, ..., double *out)                           one state
    size_t name_batch(size_t count, const double *q, ..., double *out)    many, row by row

What goes wrong is told by what they return. The same cuts, fused products and
polynomials as in machine code: on a processor that fuses products, both give the
same bits, wherever exp and arctan, which come from <math.h>, do not appear.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property
from itertools import chain
from math import isfinite, prod

import numpy as np

from phipsi.backends.exports.c_library import EPILOGUE, number, prologue
from phipsi.backends.exports.c_main import STATES, store_states, write_main
from phipsi.backends.exports.c_names import (
    argument_names,
    checked_name,
    in_comment,
    result_names,
)
from phipsi.backends.exports.c_parts import MANY, ONE, Parts
from phipsi.backends.job import Computation, Shape
from phipsi.backends.partition import Partition, Task
from phipsi.errors import BackendError, SolveError
from phipsi.graph.graph import GraphTooLargeError
from phipsi.lowering.trace import Trace
from phipsi.scalars import HUGE

LARGEST = 60_000  # nodes of a graph that is written out
PART = 2_000  # nodes of one function
LANES = 8  # states side by side in a batch
STACK = 64 * 1024  # bytes of workspace beyond which the caller brings it


def write_header(
    computation: Computation, name: str, states: Mapping[str, np.ndarray], machine: str
) -> str:
    """The text of the header.

    Args:
        computation: what to write; its numbers are doubles.
        name: of the function, and what all other names begin with.
        states: of each argument one row per state, for the test main.
        machine: what the header says that it belongs to.

    Raises:
        BackendError: a graph too large to be written out, numbers that are not doubles, or not
            finite.
        SolveError: no state that has a value.
        ZeroDivisionError: where a pivot is zero whatever the state.
    """
    checked_name(name)
    if computation.real != "double":
        raise BackendError("C is written in double precision; compile without dtype='float32'")
    try:
        traced = computation.traced(LARGEST)
    except GraphTooLargeError:
        raise BackendError(
            f"`{computation.doc}` on {machine!r} is too large for C: it has more than {LARGEST} "
            "operations, and C is written without loops over the bodies"
        ) from None
    _check_numbers(computation, traced, machine)
    return _Header(computation, traced, name, states, machine).text()


def _check_numbers(computation: Computation, traced: Trace, machine: str) -> None:
    """BackendError for numbers that C has no digits for; what is not folded has no finite value."""
    for node in traced.graph.live([*chain(*traced.outputs), *traced.checks]):
        is_constant = node.op == "constant" and not isfinite(node.data)
        operands = node.args if node.op != "less" else ()
        if is_constant or (operands and all(x.op == "constant" for x in operands)):
            raise BackendError(
                f"`{computation.doc}` on {machine!r} holds a number that is not finite, "
                f"{traced.graph.text(node)}: C is written of finite ones; look for what is too "
                "large or infinite in the machine or in your own letters"
            )


class _Header:
    """A header, piece by piece."""

    def __init__(
        self,
        computation: Computation,
        traced: Trace,
        name: str,
        states: Mapping[str, np.ndarray],
        machine: str,
    ):
        self.computation, self.traced, self.name = computation, traced, name
        self.states, self.machine = states, machine
        self.NAME = name.upper()
        self.inputs = argument_names(computation.inputs, name)
        self.outputs = result_names(len(computation.outputs))
        task = Task(traced.graph, tuple(computation.inputs), traced.outputs, traced.checks)
        self.partition = Partition(task, PART)
        self.parts = Parts(self.partition, name, self.inputs, self.outputs)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Of arguments and results, by their names in C."""
        shapes = zip(self.outputs, self.computation.outputs, strict=True)
        inputs = {x: prod(self.computation.inputs[key]) for key, x in self.inputs.items()}
        return inputs | {x: prod(shape) for x, shape in shapes}

    @property
    def work(self) -> int:
        """Numbers that one state works in."""
        return max(self.partition.work, 1)

    @property
    def batch_work(self) -> int:
        """Numbers that a batch works in: tiles of arguments and results, and the workspace."""
        return LANES * (sum(self.sizes.values()) + self.work)

    def text(self) -> str:
        """The whole header."""
        ops = {x.op for part in self.partition.parts for x in part}
        guard = f"{self.NAME}_H"
        return "\n".join(
            [
                self._comment(),
                f"#ifndef {guard}\n#define {guard}\n",
                "#include <float.h>\n#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n",
                self._macros(),
                prologue(
                    self.name, bool(self.partition.angles), not ops.isdisjoint(("min", "max"))
                ),
                self.parts.text(),
                self._one(),
                self._batch(),
                EPILOGUE,
                self._main(),
                f"#endif /* {guard} */\n",
            ]
        )

    # -- words ---------------------------------------------------------------------------------

    def _comment(self) -> str:
        version = sys.modules["phipsi"].__version__  # of the package, which stands above
        lines = [
            f"{self.name}.h: {self.computation.doc}",
            *([f"of {self.machine}"] if self.machine else []),
            "",
            f"Written by phipsi {version}. C99, or C++; needs <math.h> and no more, "
            "allocates nothing.",
            "",
            *self._signatures(),
            "",
            "Arguments and results, each contiguous, matrices row by row; SI units, angles in rad:",
            *self._shapes(),
            "Results must not overlap arguments.",
            "",
            f"{self.name} returns 0, or the sum of",
            f"  1  an argument is NaN, infinite, or {HUGE:g} or more",
            "  2  a number that divides vanishes: the machine is singular in this state, or a",
            "     quaternion is not of length one, or a parameter has a value that no machine has",
            "The results are then not to be relied on.",
            f"{self.name}_batch takes one row per state, and returns in how many of them "
            f"{self.name} would",
            "not return 0. A state has the same result alone and in any batch.",
            "",
            f"A test: cc -O3 -march=native -D{self.NAME}_TEST_MAIN -x c {self.name}.h -o test -lm "
            "&& ./test",
        ]
        text = "\n".join(f" * {in_comment(line)}".rstrip() for line in lines)
        return f"/*\n{text}\n */"

    def _signatures(self) -> list[str]:
        return [
            f"  int {self.name}({self._parameters(self.work)});",
            f"  size_t {self.name}_batch(size_t count, {self._parameters(self.batch_work)});",
        ]

    def _shapes(self) -> list[str]:
        shapes: dict[str, Shape] = {
            self.inputs[key]: shape for key, shape in self.computation.inputs.items()
        }
        shapes |= zip(self.outputs, self.computation.outputs, strict=True)
        called = {x: key for key, x in self.inputs.items() if x != key}
        lines = [
            f"  {x:6} {' x '.join(map(str, shape)) or 'a number'}"
            + (f": {called[x]}" if x in called else "")
            for x, shape in shapes.items()
        ]
        for x, size in (("", self.work), ("BATCH_", self.batch_work)):
            if _is_brought(size):
                lines.append(f"  work   room for {self.NAME}_{x}WORK numbers, of any value")
        return lines

    def _macros(self) -> str:
        sizes = [f"#define {self.NAME}_SIZE_{x.upper()} {n}" for x, n in self.sizes.items()]
        room = [("LANES", LANES), ("WORK", self.work), ("BATCH_WORK", self.batch_work)]
        return "\n".join([*sizes, *(f"#define {self.NAME}_{x} {n}" for x, n in room), ""])

    # -- code ----------------------------------------------------------------------------------

    def _parameters(self, work: int) -> str:
        arrays = [f"const double *{x}" for x in self.inputs.values()]
        arrays += [f"double *{x}" for x in self.outputs]
        return ", ".join([*arrays, *(["double *work"] if _is_brought(work) else [])])

    def _look(self, n: str, tile: str = "") -> list[str]:
        return [
            f"{self.name}_look({n}, {self.NAME}_SIZE_{x.upper()}, {tile}{x}, squares);"
            for x in self.inputs.values()
        ]

    def _one(self) -> str:
        room = [] if _is_brought(self.work) else [f"double work[{self.NAME}_WORK];"]
        lines = [
            *room,
            "double squares[1] = {0.0};",
            "int64_t bad[1];",
            *self._look("1"),
            f"bad[0] = squares[0] < {number(HUGE * HUGE)} ? 0 : 1;",
            f"{self.name}_{ONE}({self.parts.arguments});",
            "return (int)bad[0];",
        ]
        return self._function(f"int {self.name}({self._parameters(self.work)})", lines)

    def _batch(self) -> str:
        NAME, names = self.NAME, [*self.inputs.values()]
        size = {x: f"{NAME}_SIZE_{x.upper()}" for x in (*names, *self.outputs)}
        tiles, start = [], "work"
        for x in size:
            tiles.append(f"double *const tile_{x} = {start};")
            start = f"tile_{x} + {NAME}_LANES * {size[x]}"
        rows = {x: f"{x} + first * {size[x]}" for x in size}
        many = [*(f"tile_{x}" for x in size), "room", "bad"]
        one = [*rows.values(), *(["work"] if _is_brought(self.work) else [])]
        lines = [
            *([] if _is_brought(self.batch_work) else [f"double work[{NAME}_BATCH_WORK];"]),
            *tiles,
            f"double *const room = {start};",
            "size_t first, l, failed = 0;",
            f"for (first = 0; first + {NAME}_LANES <= count; first += {NAME}_LANES) {{",
            f"    double squares[{NAME}_LANES] = {{0.0}};",
            f"    int64_t bad[{NAME}_LANES];",
            *(f"    {self.name}_pack({size[x]}, {rows[x]}, tile_{x});" for x in names),
            *(f"    {x}" for x in self._look(f"{NAME}_LANES", "tile_")),
            f"    for (l = 0; l < {NAME}_LANES; ++l)",
            f"        bad[l] = squares[l] < {number(HUGE * HUGE)} ? 0 : 1;",
            f"    {self.name}_{MANY}({', '.join(many)});",
            *(f"    {self.name}_rows_{x}(tile_{x}, {rows[x]});" for x in self.outputs),
            f"    for (l = 0; l < {NAME}_LANES; ++l)",
            "        failed += bad[l] != 0;",
            "}",
            "for (; first < count; ++first)",
            f"    failed += {self.name}({', '.join(one)}) != 0;",
            "return failed;",
        ]
        parameters = f"size_t count, {self._parameters(self.batch_work)}"
        return self._function(f"size_t {self.name}_batch({parameters})", lines)

    def _main(self) -> str:
        traced, numbers = self.traced, sum(self.sizes.values())
        stored = store_states(self.computation, traced, self.states, numbers)
        if not len(stored.results[0]):
            raise SolveError(
                f"`{self.computation.doc}` has no finite value in any of {STATES} random states "
                f"of {self.machine!r}: C is not written, since nothing could test it"
            )
        brought = (_is_brought(self.work), _is_brought(self.batch_work))
        return write_main(self.name, stored, self.inputs, self.outputs, brought)

    def _function(self, head: str, lines: list[str]) -> str:
        body = "\n".join(f"    {line}" for line in lines)
        return f"\n{self.NAME}_PUBLIC {head}\n{{\n{body}\n}}\n"


def _is_brought(numbers: int) -> bool:
    """Whether so many numbers are too many for the stack."""
    return 8 * numbers > STACK
