"""An expression on a machine as a function of arrays."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.spaces import POINTS, SCALAR
from phipsi.algebra.walk import letters_of
from phipsi.errors import BackendError, InputError, SolveError
from phipsi.graph.graph import GraphTooLargeError
from phipsi.lowering.cost import cost_of
from phipsi.lowering.evaluate import evaluate, located
from phipsi.lowering.inputs import Inputs, by_name, checked_points
from phipsi.lowering.letters import OF_A_JOINT, OF_SPEEDS, SPATIAL, joint_axis
from phipsi.lowering.machine import Machine
from phipsi.lowering.program import Program
from phipsi.lowering.show import show
from phipsi.lowering.sides import check_point_counts, points_of
from phipsi.model.model import Model, Point

if TYPE_CHECKING:
    from phipsi.backends.machine_code import MachineCode

LANES = (1, 2, 4, 8)  # states side by side
CODES = 32  # for so many choices of the bodies that points are on
PATIENCE = 1.0  # seconds of compiling after which a person at a terminal is told


@dataclass(frozen=True)
class Info:
    """What one call of a function costs for one state, and how it is run.

    Args:
        flops: sums, products, quotients and square roots.
        sincos: sines and cosines.
        sweeps: loops over the bodies.
        stored_per_body: numbers kept between the loops.
        nodes: operations of the machine code, of all kinds; None without.
        lanes: states that it computes side by side; None without.
        path: "unrolled" or "rolled" machine code, or "interpreter".
        compile_seconds: that machine code took to make; None without.
    """

    flops: int
    sincos: int
    sweeps: int
    stored_per_body: float
    nodes: int | None = None
    lanes: int | None = None
    path: str = "interpreter"
    compile_seconds: float | None = None


class Function:
    """An expression on a machine, as a function of arrays. Made by `compile`.

    The first call compiles. Arguments broadcast over their leading axes, in any memory
    layout; `out=` takes an array, or a tuple of those for several outputs.

    Attributes:
        model: the machine.
        expressions: what it computes, one for each output.
        inputs: the names of its arguments, in order: q, v (None will do where no
            speeds appear), the free letters in order of first appearance, points
            where B, J, X, c or free letters of point space stand for points that are passed.
        outputs: the expressions as text.
        program: the loops over bodies that it runs.
        backend: "llvm" or "numpy".
    """

    def __init__(
        self,
        model: Model,
        expressions: tuple[Node, ...],
        several: bool,
        program: Program,
        backend: str = "numpy",
        unroll: bool | None = None,
        lanes: int | None = None,
    ):
        self.model, self.expressions, self.program = model, expressions, program
        self.backend = backend
        self._several, self._unroll, self._lanes = several, unroll, lanes
        self._letters = letters_of(expressions)
        check_letters(model, self._letters)
        own = [x.arguments for x in self._at_points()]
        in_points = any(POINTS in (x.source, x.target) for x in (*self._letters, *expressions))
        self._passes_points = not all(own) if own else in_points
        if not self._passes_points:
            self._check_counts(())
        free = [x.name for x in program.free]
        self.inputs = ("q", "v", *free, *(["points"] if self._passes_points else []))
        self.outputs = tuple(map(str, expressions))
        self._has_speeds = any(x.name in OF_SPEEDS for x in self._letters)
        self._machine = Machine(model, program.shifted)
        self._codes: dict[tuple, MachineCode | None] = {}
        self._code: MachineCode | None = None  # where points need not be looked at
        self._quick: Callable | None = None  # its entry for ordinary arrays
        vectors_only = all(x.source is SCALAR for x in program.free)
        is_direct = vectors_only and not list(self._at_points())
        order = ("q", *(["v"] if self._has_speeds else []), *free)
        self._order = order if is_direct else ()  # arguments that go to machine code as they are
        self._skips = is_direct and not self._has_speeds and bool(free)  # v, in second place

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        """The value of the expression, or a tuple of those of several.

        Args:
            arguments: in the order of `inputs`, each (*batch, n); the batches broadcast.
            named: the same by name, and `out`: an array, or a tuple of those, for the results.
        """
        code = self._code
        if code is None:
            return self._carefully(arguments, named)
        direct = self._placed(arguments, named) if named or self._skips else arguments
        if len(direct) == len(self._order):
            quick = self._quick
            if quick is not None:
                result = quick(*direct)
                if result is not None:
                    return result
            counter = code.counter
            before = counter[0]
            try:
                result = code.gufunc(*direct)
            except (TypeError, ValueError, NotImplementedError):
                return self._carefully(arguments, named)
            if counter[0] == before and (type(result) is np.ndarray or _are_plain(result)):
                return (result,) if self._several and type(result) is not tuple else result
        return self._carefully(arguments, named)

    def _placed(self, arguments: tuple, named: dict[str, Any]) -> tuple:
        """All arguments in the order of machine code; none if something else is asked for."""
        values = dict(zip(self.inputs, arguments, strict=False))
        if len(arguments) > len(values) or not values.keys().isdisjoint(named):
            return ()
        values |= named
        if not self._has_speeds and values.get("v", self) is None:
            del values["v"]
        is_all = values.keys() == set(self._order)
        return tuple(values[name] for name in self._order) if is_all else ()

    def _carefully(self, arguments: Sequence[Any], named: dict[str, Any]) -> Any:
        """A call whose arguments are looked at first, and named if they are wrong."""
        out = named.pop("out", None)
        values = self._by_name(arguments, named)
        q, v, points = (values.pop(name, None) for name in ("q", "v", "points"))
        inputs = Inputs(self.model, self.expressions, q, v, points, values)
        code = None if np.issubdtype(inputs.dtype, np.complexfloating) else self._compiled(inputs)
        if code is None:
            results = evaluate(self.program, self._machine, inputs)
            if out is not None:
                results = self._copied(results, out)
        else:
            results = self._run(code, inputs, out)
        return tuple(results) if self._several else results[0]

    @property
    def gufunc(self) -> np.ufunc:
        """The NumPy function underneath, of doubles only: no error of its own, NaN goes through.

        Its inputs are q, v where speeds appear, the free letters, blocks of operators one
        after the other in one vector, and where points are written into the expression the
        positions of all of them on their bodies, in one vector.
        """
        if self.backend != "llvm":
            raise BackendError(f"the backend {self.backend!r} makes no NumPy function")
        if self._passes_points:
            raise BackendError(
                "this function takes points, and has one NumPy function for each choice of "
                "bodies; write the points into the expression, as J(pp.point(...))"
            )
        code = self._compiled_at(self._lists(()))
        if code is None:
            raise BackendError(
                f"`{self._text}` has no machine code on {self.model.name!r}: it is empty, or has "
                "no value in any state"
            )
        return code.gufunc

    def info(self, points: Sequence[Point] | None = None) -> Info:
        """What the function costs on its machine: counted, not timed.

        Machine code is made if it is not there yet; constants folded into it are no flops.

        Args:
            points: where the function takes points, which; they decide the cost.

        >>> import phipsi as pp
        >>> from phipsi.operators import C, Mass, T
        >>> pp.compile(pp.chain(10), Mass.inv @ (T - C)).info().sweeps
        3
        """
        if self._passes_points and points is None:
            raise InputError(f"the cost of `{self._text}` depends on points: pass points")
        self._check_counts(points or ())
        located = {key: checked_points(x) for key, x in self._lists(points or ()).items()}
        code = self._compiled_at(located) if self.backend == "llvm" else None
        sweeps, bodies = self.program.sweeps, max(len(self.model.bodies), 1)
        if code is not None and code.stored is not None:
            stored = code.stored / bodies
        else:
            try:
                cost = cost_of(self.program, self.model, located)
            except ZeroDivisionError:
                raise SolveError(
                    f"`{self._text}` has no value in any state of {self.model.name!r}, and so no "
                    "cost; a call says why"
                ) from None
            stored = cost.stored_per_body
        if code is None:
            return Info(cost.flops, cost.operations.sincos, sweeps, stored)
        how = code.nodes, code.lanes, code.path, code.seconds
        return Info(code.flops, code.sincos, sweeps, stored, *how)

    def __reduce__(self) -> tuple:
        """What it is; machine code stays here."""
        options = self.backend, self._unroll, self._lanes
        return Function, (self.model, self.expressions, self._several, self.program, *options)

    def __str__(self) -> str:
        """The loops over the bodies, as formulas."""
        return show(self.program)

    def __repr__(self) -> str:
        outputs = ", ".join(map(str, self.expressions))
        return f"<Function ({', '.join(self.inputs)}) -> {outputs} of {self.model.name!r}>"

    # -- arguments ---------------------------------------------------------------------------

    def _by_name(self, arguments: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Arguments by their names, or InputError."""
        if len(arguments) > len(self.inputs):
            raise InputError(
                f"{len(arguments)} arguments for `{self._text}`; expected {', '.join(self.inputs)}"
            )
        values = dict(zip(self.inputs, arguments, strict=False))
        for name, value in named.items():
            if name in values:
                raise InputError(f"{name} is given twice, by place and by name")
            values[name] = value
        needed = {"v": self._has_speeds, "points": self._passes_points}
        for name, value in values.items():
            if value is None and needed.get(name, True):
                raise InputError(f"{name}: expected numbers, got None")
        if "q" not in values:
            raise InputError(f"`{self._text}` needs the configuration: pass q")
        return values

    @property
    def _text(self) -> str:
        return ", ".join(map(str, self.expressions))

    def _at_points(self) -> Iterator[Symbol]:
        """The letters that stand for points."""
        return (x for x in self._letters if POINTS in (x.source, x.target) and not x.free)

    def _check_counts(self, passed: Sequence[Point]) -> None:
        """InputError where letters meet that stand for different numbers of points."""
        for one in self.expressions:
            check_point_counts(one, lambda points: len(checked_points(points or passed)))

    def _lists(self, passed: Sequence[Point]) -> dict[tuple, Sequence[Any]]:
        """The lists of points that letters stand for: their own, and the one passed."""
        lists = {x.arguments: x.arguments or passed for x in self._at_points()}
        return lists | ({(): passed} if self._passes_points else {})

    # -- machine code ------------------------------------------------------------------------

    def _compiled(self, inputs: Inputs) -> MachineCode | None:
        """The code for the bodies that points are on; None where there is nothing to compile."""
        if self.backend != "llvm":
            return None
        return self._compiled_at(self._lists(inputs.points))

    def _compiled_at(self, lists: Mapping[tuple, Sequence[Any]]) -> MachineCode | None:
        checked = {key: checked_points(several) for key, several in lists.items()}
        bodies = {
            key: [self.model.locate(x)[0] for x in several] for key, several in checked.items()
        }
        key = tuple((key, *several) for key, several in bodies.items())
        with suppress(KeyError):
            return self._codes[key]
        from phipsi.backends.llvm import compiling  # LLVM, for those who need it

        with compiling:
            if key not in self._codes:
                code = self._compile(bodies)
                while len(self._codes) >= CODES:
                    del self._codes[next(iter(self._codes))]
                self._codes[key] = code
                if not key:
                    self._found(code)
            return self._codes[key]

    def _found(self, code: MachineCode | None) -> None:
        """Code that serves every call: no points to look at."""
        self._code = code
        alone = self._several and len(self.expressions) == 1  # the result is a tuple of one
        if code is not None and self._order and not alone:
            self._quick = code.entry

    def _compile(self, bodies: dict[tuple, list[int]]) -> MachineCode | None:
        from phipsi.backends.job import Job
        from phipsi.backends.machine_code import compile_job

        points = 3 * sum(map(len, bodies.values()))
        shapes: dict[str, tuple[int, ...]] = {"q": (self.model.nq,)}
        if self._has_speeds:
            shapes["v"] = (self.model.nv,)
        for letter in self.program.free:
            shapes[letter.name] = self._input_shape(letter, bodies)
        if points:
            shapes["points"] = (points,)
        outputs = tuple(self._output_shape(x, bodies) for x in self.expressions)
        if any(0 in shape for shape in (*shapes.values(), *outputs)):
            return None
        job = Job(self.program, self._machine, bodies, shapes, outputs, "phipsi", self._text)
        with _told(f"compiling `{self._text}` for {self.model.name!r}"):
            try:
                return compile_job(job, self._unroll, self._lanes)
            except ZeroDivisionError:
                return None  # no state has a value; the interpreter says why
            except GraphTooLargeError:
                for_what = (
                    "to be unrolled: leave unroll to phipsi, or" if self._unroll else "to compile:"
                )
                raise BackendError(
                    f"`{self._text}` on {self.model.name!r} is too large {for_what} take "
                    "backend='numpy'"
                ) from None

    def _input_shape(self, letter: Symbol, bodies: dict[tuple, list[int]]) -> tuple[int, ...]:
        rows, widths = (
            self._machine.block_sizes(x, bodies) for x in (letter.target, letter.source)
        )
        if letter.is_scalar:
            return ()
        if letter.source is SCALAR:
            return (sum(rows),)
        return (sum(n * m for n, m in zip(rows, widths, strict=True)),)

    def _output_shape(self, expression: Node, bodies: dict[tuple, list[int]]) -> tuple[int, ...]:
        def size(target: bool) -> int:
            points = points_of(expression, target)
            if points is not None:
                return SPATIAL * len(bodies[points])
            space = expression.target if target else expression.source
            assert space is not None
            return sum(self._machine.block_sizes(space, bodies))

        if expression.source is not SCALAR:
            return size(True), size(False)
        return () if expression.target is SCALAR else (size(True),)

    def _run(self, code: MachineCode, inputs: Inputs, out: Any) -> list[np.ndarray]:
        """Machine code on arguments that are known to fit; what it complains of is looked at."""
        arguments = self._packed(inputs)
        before = code.counter[0]
        if out is None:
            results = code.gufunc(*arguments)
        else:
            results = code.gufunc(*arguments, out=self._checked_out(out, code, inputs))
        if code.counter[0] != before:
            exact = evaluate(self.program, self._machine, inputs)  # SolveError if it is right
            return self._copied(exact, out) if out is not None else exact
        return [results] if len(self.expressions) == 1 else list(results)

    def _packed(self, inputs: Inputs) -> list[np.ndarray]:
        q = inputs.q
        if not self._has_speeds and inputs.v is not None:  # not needed, but its batch counts
            q = np.broadcast_to(q, (*inputs.batch, q.shape[-1]))
        arguments = [q, inputs.v] if self._has_speeds else [q]
        for letter in self.program.free:
            parts = inputs.given[letter]
            if letter.source is SCALAR:
                value = parts[0][..., 0, 0] if letter.is_scalar else parts[0][..., 0]
            else:
                batch = np.broadcast_shapes(*(x.shape[:-2] for x in parts))
                rows = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in parts]
                value = np.concatenate([x.reshape(*batch, -1) for x in rows], axis=-1)
            arguments.append(value)
        lists, points = self._lists(inputs.points), located(inputs)
        places = [x for key in lists for _, place in points[key] for x in place]
        return [*arguments, *([np.array(places)] if places else [])]

    def _checked_out(self, out: Any, code: MachineCode, inputs: Inputs) -> tuple:
        """The arrays that results go to, or InputError."""
        arrays = out if isinstance(out, tuple) else (out,)
        self._check_out(arrays, [(*inputs.batch, *core) for core in code.outputs])
        return arrays

    def _check_out(self, arrays: Sequence[Any], shapes: Sequence[tuple[int, ...]]) -> None:
        if len(arrays) != len(self.expressions):
            raise InputError(
                f"out: expected {len(self.expressions)} arrays, one for each output, "
                f"got {len(arrays)}"
            )
        for array, shape in zip(arrays, shapes, strict=True):
            if not isinstance(array, np.ndarray) or array.dtype != np.float64:
                kind = getattr(array, "dtype", type(array).__name__)
                raise InputError(f"out: expected an array of float64, got {kind}")
            if array.shape != shape:
                raise InputError(f"out has shape {array.shape}; expected {shape}")
            if not array.flags.writeable:
                raise InputError("out: the array is read-only")

    def _copied(self, results: Sequence[np.ndarray], out: Any) -> list[np.ndarray]:
        arrays = out if isinstance(out, tuple) else (out,)
        if any(np.iscomplexobj(x) for x in results):
            raise InputError("out takes real results; complex arguments give complex ones")
        self._check_out(arrays, [np.shape(x) for x in results])
        for array, result in zip(arrays, results, strict=True):
            array[...] = result
        return list(arrays)


def _are_plain(results: Any) -> bool:
    """Whether results are what other ways give: arrays of no subclass, whatever arguments were."""
    several = results if type(results) is tuple else (results,)
    return all(type(x) in (np.ndarray, np.float64) for x in several)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """A person at a terminal is told what takes so long."""
    if not sys.stderr.isatty():
        yield
        return
    timer = threading.Timer(PATIENCE, print, [f"phipsi: {what} ..."], {"file": sys.stderr})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def check_letters(model: Model, letters: Sequence[Symbol]) -> None:
    """Points and joints that letters name must exist, and free letters have names of their own."""
    by_name([x for x in letters if x.free])
    for letter in letters:
        if letter.name in OF_A_JOINT and not letter.free:
            joint_axis(model, *letter.arguments)
        elif POINTS in (letter.source, letter.target) and letter.arguments:
            for point in checked_points(letter.arguments):
                model.locate(point)
