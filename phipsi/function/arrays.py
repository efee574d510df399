"""A function of arrays, whatever it computes: how it is called, and where its code is.

__call__        ordinary arrays go to machine code directly, by its entry
_by_code        others go there by NumPy, if it can convert and broadcast them
_carefully      whatever else was passed is looked at, named if it is wrong, converted
_run            machine code; what it complains of is computed again by the interpreter
"""

from __future__ import annotations

import os
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from phipsi.backends.parallel.workers import threads_or_default
from phipsi.backends.real import REALS
from phipsi.cleaning import visible
from phipsi.errors import BackendError, InputError, SlowPathWarning, name_choices, warn_caller
from phipsi.function.call import Bodies, Call, Lists, Options
from phipsi.function.point_entries import PointEntries
from phipsi.function.results import alarmed, are_plain, checked_out, copied, kept_apart
from phipsi.graph.graph import GraphTooLargeError
from phipsi.lowering.inputs import checked_points
from phipsi.masks import holds_masked
from phipsi.model.model import Model

if TYPE_CHECKING:
    from phipsi.backends.job import Computation, Shape
    from phipsi.backends.machine_code import MachineCode, Way
    from phipsi.function.derivative import Derivative

CODES = 32  # for so many choices of the bodies that points are on
PATIENCE = 1.0  # seconds of compiling after which a person at a terminal is told


class ArrayFunction(ABC):
    """A function of arrays on a machine, as machine code where there can be any.

    Attributes:
        model: the machine.
        inputs: the names of its arguments, in order.
        outputs: what it computes, as text, one for each result.
        varying: the arguments that derivatives are by.
        backend: "llvm" or "numpy".
        dtype: of its numbers in machine code, and of its results.
    """

    model: Model
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    varying: tuple[str, ...]
    _order: tuple[str, ...]  # arguments that go to machine code as they are; none if some do not
    _skips: bool  # whether the second argument, v, is not among them
    _passes_points: bool
    _block_shapes: Mapping[str, tuple[int, ...] | None]  # of operators in blocks; None if uneven

    def __init__(self, model: Model, several: bool, options: Options):
        self.model, self.options = model, options
        self.backend, self.dtype = options.backend, REALS[options.real].dtype
        self._several = several
        self._forget_code()
        self._is_told = False  # whether a user was told of states that the interpreter computes

    def _forget_code(self) -> None:
        """The next call compiles."""
        self._codes: dict[tuple, MachineCode | None] = {}
        self._code: MachineCode | None = None  # where points need not be looked at
        self._quick: Callable | None = None  # its entry for ordinary arrays
        self._quick_at = PointEntries()  # entries where points are passed
        self._point_place = 0  # where points stand among the arguments

    # -- what differs --------------------------------------------------------------------------

    @property
    @abstractmethod
    def _text(self) -> str:
        """What it computes, for messages."""

    @abstractmethod
    def _call(self, values: dict[str, Any]) -> Call:
        """Arguments by name, looked at; InputError for what is wrong."""

    @abstractmethod
    def _computation(self, bodies: Bodies) -> Computation | None:
        """What is compiled for points on these bodies; None where some argument is empty."""

    @abstractmethod
    def _positions(self, passed: Sequence[Any]) -> np.ndarray:
        """Of all points on their bodies, one after the other."""

    @abstractmethod
    def _lists(self, passed: Sequence[Any]) -> Lists:
        """The lists of points that letters stand for: their own, and the one passed."""

    @property
    @abstractmethod
    def _in_double(self) -> ArrayFunction:
        """The same function in double precision."""

    @property
    def unwatched(self) -> ArrayFunction:
        """The same where nobody looks at checks: what is singular is infinite."""
        return self

    @abstractmethod
    def _buffer(self, name: str, values: Mapping[str, Any]) -> Any:
        """What machine code reads an argument from: the user's array, or positions of points."""

    @abstractmethod
    def _check_missing(self, values: Mapping[str, Any]) -> None:
        """InputError where an argument that is needed is missing, or None."""

    # -- calls ---------------------------------------------------------------------------------

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        """The value of the expression, or a tuple of those of several.

        Args:
            arguments: in the order of `inputs`, each (*batch, n); the batches broadcast.
            named: the same by name, and `out`: an array, or a tuple of those, for the results;
                `threads`: that the batch is shared among, if it is large.
        """
        quick = self._quick
        if quick is not None:
            result = quick(*arguments, **named) if named else quick(*arguments)
            if result is not None:
                return result
        elif "points" in named:
            points = named.pop("points")
            found = self._quick_at.at(points)
            if found is not None:
                quick, at = found
                result = quick(at, *arguments, **named)
                if result is not None:
                    return result
            named["points"] = points
        elif len(arguments) > self._point_place > 0:
            place = self._point_place
            found = self._quick_at.at(arguments[place])
            if found is not None:
                quick, at = found
                result = quick(at, *arguments[:place], *arguments[place + 1 :], **named)
                if result is not None:
                    return result
        return self._by_code(arguments, named)

    def _by_code(self, arguments: tuple, named: dict[str, Any]) -> Any:
        """A call that goes to machine code if NumPy can take its arguments as they are."""
        if self._block_shapes and self._quick is not None:
            places, names = self._stacked(arguments, named)
            result = self._quick(*places, **names)
            if result is not None:
                return result
        threads, out = named.pop("threads", None), named.pop("out", None)
        # NumPy would drop the masks.
        if holds_masked(arguments) or (named and holds_masked(named.values())):
            return self._carefully(arguments, named, threads, out)
        if out is not None:  # what is written must be read no more, should something be wrong
            arguments = tuple(kept_apart(x, out) for x in arguments)
            named = {name: kept_apart(x, out) for name, x in named.items()}
        code = self._code
        if code is None:
            return self._carefully(arguments, named, threads, out)
        direct = self._placed(arguments, named) if named or self._skips else arguments
        if len(direct) == len(self._order):
            way = code.way(self.options.threads if threads is None else threads)
            before = way.counter[0]
            try:
                into = {} if out is None else {"out": self._into(code, direct, out)}
                result = way.gufunc(*direct, **into)
            except (TypeError, ValueError, NotImplementedError):  # InputError among them
                return self._carefully(arguments, named, threads, out)
            if way.counter[0] == before and are_plain(result):
                return (result,) if self._several and type(result) is not tuple else result
        return self._carefully(arguments, named, threads, out)

    def _into(self, code: MachineCode, direct: Sequence[Any], out: Any) -> tuple[np.ndarray, ...]:
        """Where the results of arguments that fit go; InputError where they do not."""
        batches = [
            np.shape(x)[: np.ndim(x) - len(core)]
            for x, core in zip(direct, code.plan.inputs, strict=True)
        ]
        batch = np.broadcast_shapes(*batches)
        shapes = [(*batch, *core) for core in code.outputs]
        return checked_out(out, shapes, self.dtype, self._several)

    def _stacked(
        self, arguments: tuple, named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments, lists of blocks of one size as one array."""

        def stacked(name: str, value: Any) -> Any:
            shape = self._block_shapes.get(name)
            if shape is None or type(value) not in (list, tuple):
                return value
            blocks = [x if type(x) is np.ndarray else None for x in value]
            if all(
                x is not None and x.shape == shape[1:] and x.dtype.kind in "iuf" for x in blocks
            ):
                return np.array(blocks, self.dtype)
            return value

        by_place = zip(self.inputs, arguments, strict=False)
        rest = arguments[len(self.inputs) :]
        return (
            (*(stacked(*x) for x in by_place), *rest),
            {name: stacked(name, value) for name, value in named.items()},
        )

    def _placed(self, arguments: tuple, named: dict[str, Any]) -> tuple:
        """All arguments in the order of machine code; none if something else is asked for."""
        values = dict(zip(self.inputs, arguments, strict=False))
        if len(arguments) > len(values) or not values.keys().isdisjoint(named):
            return ()
        values |= named
        if self._skips and values.get("v", self) is None:
            del values["v"]
        is_all = values.keys() == set(self._order)
        return tuple(values[name] for name in self._order) if is_all else ()

    def _carefully(
        self,
        arguments: Sequence[Any],
        named: dict[str, Any],
        threads: int | str | None = None,
        out: Any = None,
    ) -> Any:
        """A call whose arguments are looked at first, and named if they are wrong.

        Nothing that is written to `out` is read again: arguments share no memory with it.
        """
        threads_or_default(threads)
        call = self._call(self._by_name(arguments, named))
        code = None if call.is_complex else self._compiled(call)
        if code is None:
            results = self._exact(call)
            if out is not None:
                results = copied(results, out, self.dtype, self._several)
        else:
            results = self._run(code, call, out, threads)
            if self._passes_points:
                self._remember(code, self._by_name(arguments, named)["points"])
        return tuple(results) if self._several else results[0]

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
            if name not in self.inputs and name != "points":  # which may be there for others
                choices = name_choices(name, (*self.inputs, "out", "threads"))
                raise InputError(f"`{self._text}` has no argument {name!r}; {choices}")
            values[name] = value
        self._check_missing(values)
        return values

    def _run(
        self, code: MachineCode, call: Call, out: Any, threads: int | str | None
    ) -> Sequence[np.ndarray]:
        """Machine code on arguments that are known to fit; what it complains of is looked at."""
        arguments = [np.asarray(x, self.dtype) for x in call.packed()]
        way = code.way(self.options.threads if threads is None else threads)
        before = way.counter[0]
        if out is None:
            results = way.gufunc(*arguments)
        else:
            shapes = [(*call.batch, *core) for core in code.outputs]
            arrays = checked_out(out, shapes, self.dtype, self._several)
            results = way.gufunc(*arguments, out=arrays)
        found = [results] if len(self.outputs) == 1 else list(results)
        return found if way.counter[0] == before else self._mended(way, call, arguments, found)

    def _mended(
        self, way: Way, call: Call, arguments: Sequence[np.ndarray], found: list[Any]
    ) -> Sequence[np.ndarray]:
        """Results with those states computed again of which machine code complained."""
        states = prod(call.batch)
        shapes = way.plan.inputs
        flat = [
            np.broadcast_to(x, (*call.batch, *core)).reshape(states, *core)
            for x, core in zip(arguments, shapes, strict=True)
        ]
        wrong = alarmed(way, flat) if states > 1 else np.zeros(states, int)
        if not wrong.size:  # another thread's alarm
            return found
        exact = self._exact(call.at(wrong) if call.batch else call)  # SolveError if it is right
        if self.options.real == "double":  # else doubles will have done
            self._tell_exact()
        where = np.unravel_index(wrong, call.batch) if call.batch else ...
        for i, right in enumerate(exact):
            if isinstance(found[i], np.ndarray):
                found[i][where] = right
            else:
                found[i] = right
        return found

    def _exact(self, call: Call) -> Sequence[np.ndarray]:
        """The results by the interpreter; of single precision by double, if that will do."""
        if self.options.real == "double" or call.is_complex:
            return call.exact()
        wide = self._in_double
        code = wide._compiled(call)
        results = call.exact() if code is None else wide._run(code, call, None, None)
        return [self._rounded(x) for x in results]

    def _tell_exact(self) -> None:
        """Warn once that states are computed by the interpreter although there is code."""
        if not self._is_told:
            self._is_told = True
            warn_caller(
                f"`{self._text}` on {self.model.name!r}: machine code leaves states to the "
                "interpreter, which is slow: those nearly singular, or of huge numbers",
                SlowPathWarning,
            )

    def _rounded(self, result: np.ndarray) -> np.ndarray:
        return result if np.iscomplexobj(result) else result.astype(self.dtype)

    # -- machine code --------------------------------------------------------------------------

    @property
    def gufunc(self) -> np.ufunc:
        """The NumPy function underneath, of `dtype` only: no error of its own, NaN goes through.

        Its inputs are q, v where speeds appear, the free letters, blocks of operators one
        after the other in one vector, and where points are written into the expression the
        positions of all of them on their bodies, in one vector; then parameters.
        """
        return self._only_code("NumPy function").way(self.options.threads).gufunc

    def _only_code(self, what: str) -> MachineCode:
        """The machine code that serves every call, or BackendError."""
        if self.backend != "llvm":
            raise BackendError(f"the backend {self.backend!r} makes no {what}")
        if self._passes_points:
            raise BackendError(
                f"this function takes points, and has one {what} for each choice of "
                "bodies; write the points into the expression, as J(pp.point(...))"
            )
        code = self._compiled_at(self._lists(()))
        if code is None:
            raise BackendError(
                f"`{self._text}` has no machine code on {self.model.name!r}: it is empty, or has "
                "no value in any state"
            )
        return code

    def _compiled(self, call: Call) -> MachineCode | None:
        """The code for the bodies that points are on; None where there is nothing to compile."""
        return self._compiled_at(call.points) if self.backend == "llvm" else None

    def _compiled_at(self, lists: Lists) -> MachineCode | None:
        bodies = self._bodies(lists)
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
                if not self._passes_points:
                    self._found(code)
            return self._codes[key]

    def _bodies(self, lists: Lists) -> Bodies:
        """Of lists of points, the bodies that they are on."""
        checked = {key: checked_points(several) for key, several in lists.items()}
        return {key: [self.model.locate(x)[0] for x in several] for key, several in checked.items()}

    def _found(self, code: MachineCode | None) -> None:
        """Code that serves every call: no points are passed."""
        if code is None:
            return
        if self._order:
            self._code = code
        entry = self._entry(code)
        if entry is not None and "points" in code.inputs:  # those that letters name
            entry = partial(entry, self.positions_at(()))
        self._quick = entry

    def _remember(self, code: MachineCode, points: Any) -> None:
        """Let calls at these points, and at others on their frames, be quick from now on."""
        if self._quick_at.at(points) is None:
            entry = self._entry(code, points)
            if entry is not None:
                self.tie_points(self._quick_at, points, entry)
                self._point_place = self.inputs.index("points")

    def tie_points(self, entries: PointEntries, points: Any, entry: Callable) -> None:
        """Let an entry of this function, which takes positions first, be found by points."""
        first = 0
        for key, several in self._lists(points).items():
            if not key:  # the list that is passed
                break
            first += 3 * len(checked_points(several))
        entries.add(self.model, points, entry, self.positions_at(points), first)

    def positions_at(self, points: Any) -> np.ndarray:
        """Of all points on their bodies, as machine code takes them: one vector."""
        return self._positions(points).astype(self.dtype)

    def entry(
        self,
        points: Any,
        names: Sequence[str],
        inputs: Mapping[str, Shape],
        outputs: Sequence[Shape | None],
        threads: int | str | None = None,
    ) -> Callable | None:
        """Its machine code as a function of ordinary arrays alone, with `out`.

        It returns None for whatever else is passed, and where something is wrong: a call of this
        function says what. There is no such function, None, without machine code. Positions of
        points are its first argument, if there are any.

        Args:
            points: those passed; None if the function takes none.
            names: of its arguments, in order.
            inputs: shapes of arguments in which callers pass them, if others, by name.
            outputs: shapes of results in which callers get them; None for those of this function.
            threads: that share a large batch; None for what the function was made with.
        """
        passed = () if points is None else points
        code = self._compiled_at(self._lists(passed)) if self.backend == "llvm" else None
        if code is None:
            return None
        shapes = [x or y for x, y in zip(outputs, code.outputs, strict=True)]
        return self._entry(code, passed, names, inputs, tuple(shapes), threads)

    def _entry(
        self,
        code: MachineCode,
        points: Any = (),
        names: Sequence[str] | None = None,
        inputs: Mapping[str, Shape] | None = None,
        outputs: tuple[Shape, ...] | None = None,
        threads: int | str | None = None,
    ) -> Callable | None:
        from phipsi.backends.entry import Callers  # LLVM, for those who need it

        shapes = dict(self._block_shapes)
        if not self._is_plain or None in shapes.values():
            return None
        own = tuple(self.inputs if names is None else names)
        callers = Callers(
            (*["points"] * ("points" in code.inputs), *(x for x in own if x != "points")),
            {x: y for x, y in shapes.items() if y is not None} | dict(inputs or {}),
            outputs,
            (*shapes, "points"),
        )
        return code.entry(callers, self.options.threads if threads is None else threads)

    @property
    def _is_plain(self) -> bool:
        """Whether results are what an entry returns: not a tuple of one."""
        return not self._several or len(self.outputs) > 1

    def _compile(self, bodies: Bodies) -> MachineCode | None:
        job, make_code = self._computation(bodies), self.options.make_code
        if job is None or make_code is None:
            return None
        with _told(f"compiling `{self._text}` for {self.model.name!r}"):
            try:
                return make_code(job, self.options.unroll, self.options.lanes)
            except ZeroDivisionError:
                return None  # no state has a value; the interpreter says why
            except GraphTooLargeError as error:
                return self._too_large(str(error))

    def _too_large(self, reason: str) -> MachineCode | None:
        """What is done where there are too many nodes.

        Args:
            reason: why there is no rolled code either; empty where that was not asked for.
        """
        for_what = (
            "to be unrolled: leave unroll to phipsi, or" if self.options.unroll else "to compile:"
        )
        raise BackendError(
            f"`{self._text}` on {self.model.name!r} is too large {for_what} take backend='numpy'"
        ) from None

    # -- control loops -------------------------------------------------------------------------

    def bind(
        self, /, *arguments: Any, out: Any = None, threads: int | str | None = None, **named: Any
    ) -> Callable[[], Any]:
        """A function without arguments on fixed arrays: it reads these, and writes those of `out`.

        For control loops: what a call finds out about its arguments is found out
        once. What is left is machine code itself, which takes the time of the
        computation and about 0.03 microseconds. It returns the array of results,
        always the same, or a tuple of those of several; and raises what a call
        would raise, as for NaN or a singular state.

        Args:
            arguments: as in a call, but arrays of `dtype`, the numbers of each state side by
                side: their contents count when the function runs. Points count as they are now.
            out: an array for the results, or a tuple of those of several; None for new ones.
            threads: that share a batch, if it is large.
            named: arguments by name.

        Raises:
            InputError: for what is no such array, or arrays that overlap.

        >>> import numpy as np, phipsi as pp
        >>> from phipsi.operators import C, Mass, T
        >>> arm = pp.examples.planar_arm(2)
        >>> q, v, tau = np.zeros(2), np.zeros(2), np.zeros(2)
        >>> fall = pp.compile(arm, Mass.inv @ (T - C)).bind(q, v, tau)
        >>> q[:] = 0.1, 0.2
        >>> fall().round(2)
        array([-12.63,  17.13])
        """
        from phipsi.backends.bound import plain_bound
        from phipsi.backends.buffers import Buffers

        threads = self.options.threads if threads is None else threads
        threads_or_default(threads)
        values = self._by_name(arguments, named)
        job = self._computation(self._bodies(self._lists(values.get("points", ()))))
        if job is None:
            raise BackendError(f"`{self._text}` on {self.model.name!r} is empty: nothing to bind")
        arrays = {name: self._buffer(name, values) for name in job.inputs}
        outputs = out if out is None or isinstance(out, tuple) else (out,)
        buffers = Buffers(job.inputs, arrays, job.outputs, outputs, self.dtype)
        kept = {x: y for x, y in values.items() if x in job.inputs or x == "points"}
        result = buffers.outputs if self._several else buffers.outputs[0]
        careful = partial(self._carefully, (), kept, threads, result)
        code = None
        if self.backend == "llvm":
            code = self._compiled_at(self._lists(values.get("points", ())))
        if code is None:
            return plain_bound(careful, job.name, job.doc)
        return code.bound(buffers, careful, result, threads)

    def export_c(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        points: Sequence[Any] | None = None,
    ) -> None:
        """Write the function as a header of C99: one file, no allocation, no dependency.

        It computes one state, or a batch, and with NAME_TEST_MAIN defined holds a main
        that compares with results of this function: to 1e-12, or as far as rounding goes
        where states are badly conditioned.

        Args:
            path: of the header, written whole or not at all.
            name: of the C function; by default that of the file.
            points: where the function takes points, on which bodies.

        Raises:
            InputError: the file cannot be written, or names no C function.
            BackendError: too large to be written without loops, or a number that is not finite.
            SolveError: if no state has a value.

        >>> import os, tempfile, phipsi as pp
        >>> from phipsi.operators import Mass
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pp.compile(pp.chain(2), Mass).export_c(f"{folder}/mass.h")
        ...     os.listdir(folder)
        ['mass.h']
        """
        from phipsi.function.exported import export_c

        export_c(self, path, name, points)

    # -- derivatives ---------------------------------------------------------------------------

    @cached_property
    def jvp(self) -> Derivative:
        """`J t`, J being the Jacobian: how results change as arguments change along t.

        A function like this one, with a direction for each argument behind: dq of
        `integrate(q, dq)`, dv, dT and so on; those that are not passed are zero.
        Made by forward differentiation of the graph: about as costly as two to
        three calls of the function, whatever its size.

        >>> import numpy as np, phipsi as pp
        >>> from phipsi.operators import C, Mass, T
        >>> arm = pp.examples.planar_arm(2)
        >>> fall = pp.compile(arm, Mass.inv @ (T - C))
        >>> fall.jvp.inputs
        ('q', 'v', 'T', 'dq', 'dv', 'dT')
        >>> q, v, tau = np.array([0.1, 0.2]), np.zeros(2), np.zeros(2)
        >>> slope = fall.jvp(q, v, tau, dq=[1.0, 0.0])
        >>> step = np.array([1e-6, 0.0])
        >>> bool(np.allclose(slope, (fall(q + step, v, tau) - fall(q - step, v, tau)) / 2e-6))
        True
        """
        from phipsi.function.derivative import Derivative

        return Derivative(self, "jvp")

    @cached_property
    def vjp(self) -> Derivative:
        """`J* w`, J being the Jacobian: derivatives by all arguments of the results times w.

        A function like this one, with a weight w behind, of the shape of the
        result (w0, w1, ... for several); it returns a tuple, of the shapes of the
        arguments, but (*batch, nv) by q: along the tangents of `integrate`. Made
        by reverse differentiation: about as costly as three to four calls of the
        function, however many arguments there are.

        >>> import numpy as np, phipsi as pp
        >>> from phipsi.operators import U
        >>> arm = pp.examples.planar_arm(2)
        >>> (by_q,) = pp.compile(arm, U).vjp([0.1, 0.2], w=1.0)
        >>> bool(np.allclose(by_q, pp.gravity_force(arm, [0.1, 0.2])))
        True
        """
        from phipsi.function.derivative import Derivative

        return Derivative(self, "vjp")


@contextmanager
def _told(what: str) -> Iterator[None]:
    """A person at a terminal is told what takes so long."""
    if not sys.stderr.isatty():
        yield
        return
    timer = threading.Timer(PATIENCE, print, [visible(f"phipsi: {what} ...")], {"file": sys.stderr})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
