"""Derivatives of functions of arrays, as functions of arrays: made by `fn.jvp` and `fn.vjp`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from phipsi.errors import (
    BackendError,
    InputError,
    PhipsiError,
    SlowPathWarning,
    warn_caller,
)
from phipsi.function.arrays import ArrayFunction
from phipsi.function.call import Bodies, Call, Lists
from phipsi.function.function import Function
from phipsi.function.info import Info
from phipsi.function.point_entries import FRAMES, frames_of
from phipsi.function.results import copied
from phipsi.function.second_order import (
    evaluate_exchanged,
    exchanged_for,
    has_columns,
    has_systems,
    is_longer,
    may_exchange,
)
from phipsi.graph.graph import FLOPS, GraphTooLargeError, count_operations
from phipsi.lowering import trace
from phipsi.lowering.template_derivatives import SYSTEMS_ONCE
from phipsi.lowering.trace import LEAST, Trace
from phipsi.model.configuration import broadcast, check_array

if TYPE_CHECKING:
    from phipsi.backends.derivatives import Derivative as Job
    from phipsi.backends.machine_code import MachineCode
    from phipsi.model.model import Point

LARGEST = 2_000_000  # nodes of a graph that NumPy evaluates, if that is asked for
LONGEST = 300_000  # of one in place of machine code: beyond, a call would take a second and more
GRAPHS = 8  # that are kept, one for each choice of the bodies that points are on
MOST = 64  # arguments and results of machine code, as NumPy has it
NUMBERS = (float, int, np.float64, np.float32)  # that weights may be, in place of arrays
PRODUCTS = {"jvp": "J t", "vjp": "J* w"}  # J being the Jacobian


class Derivative(ArrayFunction):
    """The Jacobian of a function times a vector: `J t` (jvp) or `J* w` (vjp).

    It is called like the function itself, with the vector behind: directions dq,
    dv, ... of its arguments, or a weight w for each result. Directions of q are
    tangents, as those of `integrate`. Where there is no machine code, NumPy
    evaluates its graph, with a `SlowPathWarning`.

    Attributes:
        base: the function.
        kind: "jvp" or "vjp".
        varying: the arguments of the function that derivatives are by.
        added: the names of t or w among the arguments.
        by: the arguments of the function that derivatives are by; some of them in a part, below.
        model, inputs, outputs, backend, dtype: as those of the function.
    """

    def __init__(self, base: ArrayFunction, kind: str, by: tuple[str, ...] | None = None):
        super().__init__(base.model, kind == "vjp" or base._several, base.options)
        self.base, self.kind = base, kind
        self.by = base.varying if by is None else by
        self._passes_points = base._passes_points
        self._block_shapes = base._block_shapes
        self.added = self._names()
        self.varying = (*base.varying, *self.added)
        self.inputs = (*base.inputs, *self.added)
        text = PRODUCTS[kind]
        if kind == "jvp":
            self.outputs = tuple(f"{text} of {x}" for x in base.outputs)
        else:
            self.outputs = tuple(f"{text} of {base._text}, by {x}" for x in self.by)
        self._order = (*base._order, *self.added) if base._order else ()
        self._skips = bool(self._order) and "v" not in base._order  # a direction comes behind it
        self._traced: OrderedDict[tuple, Trace] = OrderedDict()  # graphs that NumPy evaluates
        self._refused: dict[tuple, str] = {}  # bodies for which there is nothing, and why
        self._zeros: dict[Any, dict[str, np.ndarray]] = {}  # directions left out, by frames
        self._asked: Bodies = {}  # that code is being made for

    def _names(self) -> tuple[str, ...]:
        from phipsi.backends.derivatives import direction_names, weight_names

        base = self.base
        if self.kind == "jvp":
            return direction_names(self.by, base.inputs)
        return weight_names(len(base.outputs), base.inputs)

    @cached_property
    def _text(self) -> str:
        return f"{PRODUCTS[self.kind]} of {self.base._text}"

    def info(self, points: Sequence[Point] | None = None) -> Info:
        """What it costs, as `Function.info`.

        Args:
            points: where the function takes points, which; they decide the cost.
        """
        if self._passes_points and points is None:
            raise InputError(f"the cost of `{self._text}` depends on points: pass points")
        if self._parts:
            return _sum_of([x.info(points) for x in self._parts])
        if self._is_exchanged and isinstance(self.base, Derivative):
            return _sum_of([x.info(points) for x in exchanged_for(self.base)])
        lists = self._lists(points or ())
        code = self._compiled_at(lists) if self.backend == "llvm" else None
        if code is not None:
            how = code.nodes, code.lanes, code.path, code.seconds
            bodies = max(len(self.model.bodies), 1)
            stored = None if code.stored is None else code.stored / bodies
            return Info(code.flops, code.sincos, None, stored, *how)
        traced = self._graph(self._bodies(lists))
        counts = count_operations(traced.graph.live(chain(*traced.outputs, traced.checks)))
        flops = sum(n for op, n in counts.items() if op in FLOPS)
        return Info(flops, sum(counts.get(op, 0) for op in ("sin", "cos")), None, None)

    def __reduce__(self) -> tuple:
        return Derivative, (self.base, self.kind, self.by)

    def __repr__(self) -> str:
        return f"<Derivative ({', '.join(self.inputs)}) -> {self._text} of {self.model.name!r}>"

    # -- many arguments ------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> list[Derivative]:
        """Derivatives by some arguments each, where those by all have too many; else none.

        `J t` is the sum of theirs, and `J* w` has their results one after the other.
        """
        fixed = len(self.base.inputs) + (len(self.base.outputs) if self.kind == "jvp" else 0)
        fixed += len(self.added) if self.kind == "vjp" else 0
        room = MOST - fixed
        if room >= len(self.by) or room < 1:
            return []
        cuts = range(0, len(self.by), room)
        return [Derivative(self.base, self.kind, self.by[i : i + room]) for i in cuts]

    def _carefully(
        self,
        arguments: Sequence[Any],
        named: dict[str, Any],
        threads: int | str | None = None,
        out: Any = None,
    ) -> Any:
        if not self._parts and not self._is_exchanged:
            return super()._carefully(arguments, named, threads, out)
        values = self._by_name(arguments, named)
        if self._is_exchanged:
            call = self._call(dict(values))  # looks at everything
            job = self._computation(self._bodies(call.points))
            assert job is not None, "else there would be no call"
            assert isinstance(self.base, Derivative)
            made = evaluate_exchanged(self.base, self.added, values, threads)
            shapes = ((*call.batch, *shape) for shape in job.outputs)
            results = [self._rounded(x) for x in map(_spread, made, shapes)]
            return tuple(results if out is None else copied(results, out, self.dtype, True))
        mine = {x: values.pop(x) for x in self.added if x in values}
        found: list[tuple] = []
        names = dict(zip(self.by, self.added, strict=False))
        for part in self._parts:
            own = mine
            if self.kind == "jvp":
                pairs = zip(part.by, part.added, strict=True)
                own = {x: mine[names[of]] for of, x in pairs if names[of] in mine}
            if own:
                result = part(**values, **own, threads=threads)
                found.append(result if self._several else (result,))
        if self.kind == "jvp":
            results = [sum(x[1:], start=x[0]) for x in zip(*found, strict=True)]
        else:
            results = list(chain(*found))
        if out is not None:
            results = copied(results, out, self.dtype, self._several)
        return tuple(results) if self._several else results[0]

    # -- second derivatives --------------------------------------------------------------------

    @cached_property
    def _is_exchanged(self) -> bool:
        """Whether it is made of derivatives that have loops, having none itself; by its form."""
        first = self.base
        if self.kind == "jvp" or not isinstance(first, Derivative) or self.options.unroll:
            return False
        if not isinstance(first.base, Function) or first.by != first.base.varying:
            return False
        program = first.base.program
        if self.backend != "llvm" or not has_columns(program) or has_systems(program):
            return False
        if not may_exchange(self.model):
            return False
        return self.options.unroll is False or is_longer(first.base, trace.LARGEST)

    def _only_code(self, what: str) -> MachineCode:
        if self._is_exchanged:
            raise BackendError(
                f"`{self._text}` on {self.model.name!r} is made of several functions, and has no "
                f"{what} of its own; take that of `.vjp.jvp`"
            )
        return super()._only_code(what)

    def _check_systems(self) -> None:
        """BackendError, before anything is traced, for what would be refused after all."""
        function = self.base
        while isinstance(function, Derivative):
            function = function.base
        if function is self.base or not isinstance(function, Function) or self.options.unroll:
            return
        if has_systems(function.program) and is_longer(function, LONGEST):
            self._refuse(SYSTEMS_ONCE)

    # -- calls ---------------------------------------------------------------------------------

    def _by_code(self, arguments: tuple, named: dict[str, Any]) -> Any:
        """A call that leaves out directions is one with zeros, which its entry takes.

        Weights that are plain numbers are arrays there.
        """
        more: dict[str, Any] = {
            x: np.array(named[x], self.dtype) for x in self.added if type(named.get(x)) in NUMBERS
        }
        if self.kind == "jvp":
            more |= self._zeros_for(arguments, named)
        if more:
            return self(*arguments, **(named | more))
        return super()._by_code(arguments, named)

    def _zeros_for(self, arguments: tuple, named: Mapping[str, Any]) -> Mapping[str, np.ndarray]:
        """The directions that are left out; none where all are."""
        points: Any = ()
        if self._passes_points:
            passed = {**dict(zip(self.inputs, arguments, strict=False)), **named}
            points = passed.get("points", ())
        try:
            key = (len(arguments), *named, frames_of(points))
            found = self._zeros.get(key)
            if found is None:
                found = self._make_zeros({*self.inputs[: len(arguments)], *named}, points)
                while len(self._zeros) >= FRAMES:
                    self._zeros.pop(next(iter(self._zeros)), None)
                self._zeros[key] = found
        except (TypeError, PhipsiError):  # no points: a careful call says so
            return {}
        return found

    def _make_zeros(self, given: set[str], points: Any) -> dict[str, np.ndarray]:
        missing = [x for x in self.added if x not in given]
        if len(missing) == len(self.added):
            return {}
        job = self._computation(self._bodies(self._lists(points)))
        shapes = {} if job is None else job.added
        return {x: np.zeros(shapes[x], self.dtype) for x in missing if x in shapes}

    def _entry(self, *arguments: Any, **named: Any) -> Callable | None:
        entry = super()._entry(*arguments, **named)
        is_alone = self._several and len(self.outputs) == 1
        return entry if entry is None or not is_alone else partial(_in_tuple, entry)

    @property
    def _is_plain(self) -> bool:
        """Results are what an entry returns, or that in a tuple."""
        return True

    # -- arguments -----------------------------------------------------------------------------

    def _check_missing(self, values: Mapping[str, Any]) -> None:
        own = {name: values[name] for name in self.added if name in values}
        self.base._check_missing({x: y for x, y in values.items() if x not in own})
        for name, value in own.items():
            if value is None:
                raise InputError(f"{name}: expected numbers, got None")
        missing = [name for name in self.added if name not in own]
        if missing and self.kind == "vjp":
            raise InputError(f"`{self._text}` needs weights of the results: pass {missing[0]}")
        if not own:
            raise InputError(
                f"`{self._text}` needs a direction: pass {' or '.join(self.added)}, others are zero"
            )

    def _call(self, values: dict[str, Any]) -> Call:
        given = {name: values.pop(name) for name in self.added if name in values}
        call = self.base._call(values)
        job = self._computation(self._bodies(call.points))
        if job is None:
            raise BackendError(
                f"`{self._text}` on {self.model.name!r} has no derivative: some argument is empty"
            )
        arrays = {
            name: check_array(name, given[name], shape, f"for `{self.base._text}`")
            if name in given
            else np.zeros(shape)
            for name, shape in job.added.items()
        }
        return self._joined(call, job, arrays)

    def _joined(self, call: Call, job: Job, arrays: Mapping[str, np.ndarray]) -> Call:
        """A call of the function itself, and the vectors behind."""
        cores = {name: x.ndim - len(job.added[name]) for name, x in arrays.items()}
        batches = {name: x.shape[: cores[name]] for name, x in arrays.items()}
        batch = broadcast({"the arguments": call.batch, **batches})

        def packed() -> list[np.ndarray]:
            return [*call.packed(), *arrays.values()]

        def at(states: np.ndarray) -> Call:
            numbers = np.arange(prod(call.batch)).reshape(call.batch)
            own = np.broadcast_to(numbers, batch).reshape(-1)[states]
            several = {}
            for name, x in arrays.items():
                shape = job.added[name]
                whole = np.broadcast_to(x, (*batch, *shape)).reshape(-1, *shape)
                several[name] = whole[states]
            return self._joined(call.at(own), job, several)

        is_complex = call.is_complex or any(map(np.iscomplexobj, arrays.values()))
        exact = partial(self._once_more, call, job, packed, batch, is_complex)
        return Call(batch, is_complex, call.points, packed, exact, at)

    def _buffer(self, name: str, values: Mapping[str, Any]) -> Any:
        if name not in self.added:
            return self.base._buffer(name, values)
        if name not in values:
            raise InputError(f"`{self._text}` reads {name}: pass an array to bind it to")
        return values[name]

    def _lists(self, passed: Sequence[Any]) -> Lists:
        return self.base._lists(passed)

    def _positions(self, passed: Sequence[Any]) -> np.ndarray:
        return self.base._positions(passed)

    # -- what is computed ----------------------------------------------------------------------

    def _computation(self, bodies: Bodies) -> Job | None:
        from phipsi.backends.derivatives import JacobianVector, VectorJacobian

        base = self.base._computation(bodies)
        if base is None:
            return None
        kind = JacobianVector if self.kind == "jvp" else VectorJacobian
        return kind(base, self.model, self.by)

    @cached_property
    def _in_double(self) -> Derivative:
        return Derivative(self.base._in_double, self.kind, self.by)

    @property
    def unwatched(self) -> Derivative:
        return Derivative(self.base.unwatched, self.kind, self.by)

    def _compile(self, bodies: Bodies) -> MachineCode | None:
        if _key(bodies) in self._refused:
            raise BackendError(self._refused[_key(bodies)])
        count = len(self.inputs) + len(self.outputs)
        if count > MOST:
            raise BackendError(
                f"`{self._text}` on {self.model.name!r} has {count} arguments and results; machine "
                f"code takes {MOST}: pass parameters together, as 'moments' of all bodies"
            )
        if self._is_exchanged:
            return None
        self._asked = bodies
        self._check_systems()
        return super()._compile(bodies)

    def _too_large(self, reason: str) -> MachineCode | None:
        """NumPy takes longer graphs, slowly; of what is too long for it, too, an error says so."""
        why = reason or self._why_unrolled()
        where = f"`{self._text}` on {self.model.name!r}"
        try:
            if self._is_beyond(LONGEST):
                raise GraphTooLargeError
            self._trace(self._asked, LONGEST)
        except GraphTooLargeError:
            self._refuse(why)
        told = self.model.functions
        if ("slow", self._text) not in told:
            told["slow", self._text] = True
            warn_caller(
                f"{where} is evaluated by NumPy, node by node: its graph is too long to compile, "
                f"and it has no loops, since {why}; {self._way_out()}",
                SlowPathWarning,
            )
        return None

    def _refuse(self, why: str) -> NoReturn:
        message = (
            f"`{self._text}` on {self.model.name!r} has no machine code: it has no loops, since "
            f"{why}, and more than {LONGEST:,} numbers without them; {self._way_out()}"
        )
        self._refused[_key(self._asked)] = message
        raise BackendError(message) from None

    def _is_beyond(self, limit: int) -> bool:
        """Whether arguments and results alone are too many numbers, or the bodies."""
        job = self._computation(self._asked)
        if job is None:
            return False
        numbers = sum(map(prod, (*job.inputs.values(), *job.outputs)))
        return max(numbers, LEAST * len(self.model.bodies)) > limit

    def _why_unrolled(self) -> str:
        if self.options.unroll:
            return "unroll=True was asked for"
        return "too much is done once for the whole machine"

    def _way_out(self) -> str:
        if self.options.unroll:
            return "leave unroll to phipsi"
        if isinstance(self.base, Derivative):
            return "derivatives of first order have loops: take differences of these"
        return "fewer points, or a smaller space, would do"

    def _once_more(
        self, call: Call, job: Job, packed: Any, batch: tuple[int, ...], is_complex: bool
    ) -> list[np.ndarray]:
        """The results after the function itself has had its say: by doubles, or by NumPy.

        What makes machine code complain are pivots of the function. If it has a value
        there, the numbers of machine code are good.
        """
        call.exact()  # SolveError where there is no value
        wide = self if self.options.real == "double" else self._in_double
        code = None if is_complex else wide._compiled(call)
        if code is None:
            return self._by_graph(call, job, packed, batch)
        results = code.way().gufunc(*packed())
        return [results] if len(self.outputs) == 1 else list(results)

    def _by_graph(
        self, call: Call, job: Job, packed: Any, batch: tuple[int, ...]
    ) -> list[np.ndarray]:
        """The results by NumPy, node by node."""
        traced = self._graph(self._bodies(call.points))
        numbers: dict[tuple[str, int], Any] = {}
        for (name, shape), array in zip(job.inputs.items(), packed(), strict=True):
            flat = array.reshape(*array.shape[: array.ndim - len(shape)], -1)
            numbers |= {(name, i): flat[..., i] for i in range(flat.shape[-1])}
        with np.errstate(all="ignore"):
            values = traced.graph.evaluate(list(chain(*traced.outputs)), numbers)
        found = iter(values)
        results = []
        for shape, entries in zip(job.outputs, traced.outputs, strict=True):
            columns = [np.broadcast_to(next(found), batch) for _ in entries]
            results.append(np.stack(columns, axis=-1).reshape((*batch, *shape)))
        return [x[()] if x.ndim == 0 else x for x in results]

    def _graph(self, bodies: Bodies) -> Trace:
        """What NumPy evaluates; BackendError where that is too long."""
        try:
            return self._trace(bodies, LARGEST)
        except GraphTooLargeError:
            raise BackendError(
                f"`{self._text}` on {self.model.name!r} is too large for NumPy: its graph has "
                f"more than {LARGEST:,} nodes"
            ) from None

    def _trace(self, bodies: Bodies, limit: int) -> Trace:
        """The graph for a choice of bodies, kept for the next calls."""
        key = _key(bodies)
        found = self._traced.pop(key, None)
        if found is None:
            job = self._computation(bodies)
            assert job is not None
            found = job.traced(limit)
            while len(self._traced) >= GRAPHS:
                self._traced.popitem(last=False)
        self._traced[key] = found
        return found


def _key(bodies: Bodies) -> tuple:
    return tuple((key, *several) for key, several in bodies.items())


def _sum_of(several: Sequence[Info]) -> Info:
    """What parts cost together; how the first is run."""
    first, stored = several[0], [x.stored_per_body for x in several]
    return replace(
        first,
        flops=sum(x.flops for x in several),
        sincos=sum(x.sincos for x in several),
        stored_per_body=None if None in stored else sum(x or 0.0 for x in stored),
        nodes=None if first.nodes is None else sum(x.nodes or 0 for x in several),
        compile_seconds=sum(x.compile_seconds or 0.0 for x in several),
    )


def _spread(result: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A result that some arguments did not take part in, with the batch of all."""
    return result if np.shape(result) == shape else np.broadcast_to(result, shape)


def _in_tuple(entry: Callable, /, *arguments: Any, **named: Any) -> tuple[Any] | None:
    """The one result of an entry, as a function of several returns it."""
    out = named.get("out")
    if type(out) is tuple and len(out) == 1:
        named["out"] = out[0]
    result = entry(*arguments, **named)
    return None if result is None else (result,)
