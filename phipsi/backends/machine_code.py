"""Machine code of a computation: the stages that make it, and the ways to call it.

Unrolled: every loop gone, every constant in its place, for machines whose graph
is small enough to be compiled in a second or two. Rolled: one piece of code for
each form of body, run from a table, for machines of any size. Both give the same
numbers up to roundoff.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from phipsi.backends import moves
from phipsi.backends.bound import make_bound
from phipsi.backends.buffers import Buffers
from phipsi.backends.disk.records import kept
from phipsi.backends.entry import Callers, make_entry
from phipsi.backends.gufunc import Plan, make_gufunc
from phipsi.backends.job import Computation, Shape
from phipsi.backends.kernel import Kernel, write_kernel
from phipsi.backends.llvm import Code, Target, compile_object, compiling, llvm_version
from phipsi.backends.looped import ProgramLoops, looped_program
from phipsi.backends.looped_moves import MoveLoops
from phipsi.backends.parallel.workers import threads_or_default
from phipsi.backends.partition import Spread, Task
from phipsi.backends.pieces import Looped, Loops
from phipsi.backends.sequence import StepComputation, Steps
from phipsi.graph.graph import FLOPS, GraphTooLargeError, count_operations
from phipsi.lowering.template_derivatives import NotRolledError
from phipsi.lowering.trace import LARGEST, LEAST

FORCED = 150_000  # nodes of one that is unrolled because it was asked for, or cannot be rolled
SINGLE = 40_000  # live nodes up to which single states have code of their own
FEW = 1  # so many states left over are done one by one: a tile costs about as much as one state


@dataclass(frozen=True)
class Way:
    """One way to call machine code.

    Args:
        plan: what the driver is told.
        gufunc: the function of arrays; it raises no error of its own.
    """

    plan: Plan
    gufunc: np.ufunc

    @property
    def counter(self) -> memoryview:
        """Its first entry counts the tiles in which something went wrong."""
        return self.plan.counter


@dataclass(frozen=True)
class MachineCode:
    """Machine code of a computation.

    Args:
        plan: what the driver is told of it; it keeps the code alive.
        single: address of the kernel of one state, or 0.
        work: bytes that this kernel needs to work in.
        tables: address that is handed to the kernels, or 0.
        inputs: names of what it reads, in order.
        name: of the function.
        doc: what it says of itself.
        path: "unrolled" or "rolled".
        operations: how many of each kind are done in one state.
        stored: numbers kept between loops; None where there are no loops any more.
        seconds: that it took to make.
    """

    plan: Plan
    single: int
    work: int
    tables: int
    inputs: tuple[str, ...]
    name: str
    doc: str
    path: str
    operations: Mapping[str, int]
    stored: int | None = None
    seconds: float = 0.0
    _ways: dict[int, Way] = field(default_factory=dict)

    @property
    def outputs(self) -> tuple[Shape, ...]:
        """Shapes of the results of one state."""
        return self.plan.outputs

    @property
    def lanes(self) -> int:
        """States side by side."""
        return self.plan.target.lanes

    @property
    def nodes(self) -> int:
        """Operations in one state."""
        return sum(self.operations.values())

    @property
    def flops(self) -> int:
        """Sums, products, quotients and square roots among them."""
        return sum(n for op, n in self.operations.items() if op in FLOPS)

    @property
    def sincos(self) -> int:
        """Sines and cosines among them."""
        return sum(self.operations.get(op, 0) for op in ("sin", "cos"))

    def way(self, threads: int | str | None = None) -> Way:
        """How it is called with this many threads; None for the package's default."""
        number = threads_or_default(threads)
        if number not in self._ways:
            plan = self.plan if number == 0 else self.plan.with_threads(number)
            gufunc = make_gufunc(plan, self.name, self.doc)
            self._ways[number] = Way(plan, gufunc)
        return self._ways[number]

    def entry(self, callers: Callers, threads: int | str | None = None) -> Callable | None:
        """The same for ordinary arrays, with less ado; see `entry.make_entry`."""
        plan = self.way(threads).plan
        what: dict[str, Any] = {"inputs": self.inputs, "callers": callers, "target": plan.target}
        return make_entry(plan, self.single, **what, **self._rest)

    def bound(
        self, buffers: Buffers, fallback: Callable[[], Any], result: Any, threads: int | str | None
    ) -> Callable[[], Any]:
        """It tied to arrays; see `bound.make_bound`."""
        plan = self.way(threads).plan
        what = {"buffers": buffers, "fallback": fallback, "result": result}
        # The loop tells large machines how many threads were asked for; a kernel alone does not.
        is_told = threads is not None and self.path == "rolled"
        kernel = 0 if is_told else self.single
        return make_bound(plan, kernel, target=plan.target, **what, **self._rest)

    @property
    def _rest(self) -> dict[str, Any]:
        names = {"name": self.name, "doc": self.doc}
        return {"work": self.work, "tables": self.tables, **names}


# -- unrolled ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernels:
    """The text of unrolled code.

    Args:
        many: the kernel for lanes.
        one: that for single states; None where it is the same, or would be too long.
        operations: how many of each kind there are.
        spreads: of each output, where its entries are in a tile for lanes that keeps none twice.
    """

    many: Kernel
    one: Kernel | None
    operations: Mapping[str, int]
    spreads: tuple[Spread, ...] | None = None


@dataclass(frozen=True)
class Straight:
    """Unrolled code, not yet loaded.

    Args:
        many, one: the object files for lanes and for single states.
        work: numbers that a lane needs to work in.
        operations, spreads: as of the kernels.
    """

    many: bytes
    one: bytes | None
    work: int
    operations: Mapping[str, int]
    spreads: tuple[Spread, ...] | None = None


class Loaded:
    """Unrolled code in memory.

    Args:
        straight: what was compiled.
        target: what it was made for.

    Attributes:
        many, single: addresses of the kernels of many states and of one; 0 if there is none.
        room: bytes that one lane needs to work in.
        operations: how many of each kind there are.
        keep: what must live as long as the addresses are used.
    """

    def __init__(self, straight: Straight, target: Target):
        code = Code(straight.many, target)
        alone = code if target.lanes == 1 else None
        if straight.one is not None:
            alone = Code(straight.one, target)
        self.target, self.keep = target, (code, alone)
        self.many, self.single = (0 if x is None else x.address("kernel") for x in self.keep)
        self.room = target.bytes * straight.work
        self.operations, self.spreads = straight.operations, straight.spreads

    @property
    def places(self) -> dict[str, Any]:
        """What a plan is told of it."""
        work = self.target.lanes * self.room
        kernels = {"lanes": self.many, "single": self.single}
        return {**kernels, "work": work, "keep": self.keep, "spreads": self.spreads}


def write_kernels(task: Task | Steps, target: Target) -> Kernels:
    """The LLVM IR of a graph, or of steps of several: for lanes, and for single states.

    Args:
        task: what to compute.
        target: what the code is made for.

    Raises:
        BackendError: if a constant is too large for a float.
    """
    live = [x for x in task.live() if x.op not in ("input", "constant")]
    tiled, spreads = task, None
    if target.lanes > 1 and isinstance(task, Task):
        tiled, spreads = task.keeping_once()
    many = write_kernel(tiled, target.lanes, real=target.real)
    # Steps are long because there are many of them: one state has code of its own at any length.
    is_short = isinstance(task, Steps) or len(live) <= SINGLE
    one = write_kernel(task, 1, real=target.real) if target.lanes > 1 and is_short else None
    return Kernels(many, one, count_operations(live), spreads)


def compile_kernels(kernels: Kernels, target: Target, kept: bool = False) -> Straight:
    """The object files of kernels.

    Args:
        kernels: their text.
        target: what the code is made for.
        kept: whether files are kept one by one; else `find_straight` keeps the whole.
    """
    several = [x for x in (kernels.many, kernels.one) if x is not None]
    files = [compile_object(x.text, target, kept=kept, in_order=x.in_order) for x in several]
    one = files[1] if kernels.one is not None else None
    work = max(x.work for x in several)
    return Straight(files[0], one, work, kernels.operations, kernels.spreads)


def find_straight(
    job: Computation | StepComputation, target: Target, limit: int, make: Callable[[], Straight]
) -> Straight:
    """Unrolled code, found on disk or made; that it would be too long is kept as well.

    Args:
        job: what to compute.
        target: what the code is made for.
        limit: of the nodes of a graph.
        make: makes it.

    Raises:
        GraphTooLargeError: if there are more nodes.
    """

    def made() -> Straight | None:
        try:
            return make()
        except GraphTooLargeError:
            return None

    processor = (target.cpu, target.features, target.lanes, target.real)
    key = None if job.key is None else (job.key, processor, llvm_version(), limit)
    found = kept("function", key, made)
    if found is None:
        raise GraphTooLargeError
    return found


def load_straight(
    job: Computation | StepComputation, target: Target, straight: Straight
) -> MachineCode | Loaded:
    """Unrolled code in memory; of a computation, with what the driver is told of it."""
    code = Loaded(straight, target)
    if isinstance(job, StepComputation):  # its plan depends on how many steps there are
        return code
    plan = _plan(job, target, operations=sum(code.operations.values()), **code.places)
    what = tuple(job.inputs), job.name, job.doc, "unrolled", code.operations
    return MachineCode(plan, code.single, code.room, 0, *what)


# -- rolled ------------------------------------------------------------------------------------


def find_loops(job: Computation, target: Target) -> Loops:
    """The loops over bodies, or of a move over joints; machines share what they have alike."""
    assert job.rollable is not None, "there are loops to keep"
    base, products = job.rollable
    inputs, counts = tuple(job.inputs), [*map(prod, job.outputs)]
    if isinstance(base, moves.Move):
        return MoveLoops(base, products, inputs, counts, target)
    plain = not base.model.has_mimics
    tells = target.real == "float" or not base.machine.is_regular
    code = looped_program(base.program, inputs, plain, target, base.about, products, tells)
    return ProgramLoops(code, base.machine, base.points, base.matrices, counts)


def load_rolled(job: Computation, target: Target, looped: Looped) -> MachineCode:
    """Code in loops over a table of the machine, and what the driver is told of it."""
    tables = looped.rows.ctypes.data
    many, single = looped.kernels
    room = target.bytes * looped.work
    work = target.lanes * room
    operations = sum(looped.operations.values())
    addresses = {"lanes": many, "single": single, "work": work, "tables": tables}
    plan = _plan(job, target, keep=looped, operations=operations, **addresses)
    what = tuple(job.inputs), job.name, job.doc, "rolled", looped.operations, looped.stored
    return MachineCode(plan, single, room, tables, *what)


def _plan(job: Computation, target: Target, **addresses: Any) -> Plan:
    return Plan(target, list(job.inputs.values()), job.outputs, few=FEW, **addresses)


# -- which of both -----------------------------------------------------------------------------


def choose_path(
    job: Computation | StepComputation,
    unroll: bool | None,
    make_straight: Callable[[int], Any],
    make_rolled: Callable[[Computation], MachineCode],
) -> Any:
    """Straight code where it is short, else code in loops, else straight code of any length.

    Straight code is faster, and grows with the machine; what loops does not.

    Args:
        job: what to compute.
        unroll: whether loops are unrolled; None to decide by size.
        make_straight: makes unrolled code of a graph of so many nodes at the most.
        make_rolled: makes rolled code.

    Raises:
        GraphTooLargeError: if too many nodes are needed; says why there is no code in loops.
    """
    if isinstance(job, StepComputation):
        return make_straight(job.largest)
    if job.rollable is None or unroll:
        return make_straight(FORCED)
    # Functions and derivatives alike: beyond 40,000 live nodes straight code outgrows the
    # caches. J t of forward dynamics, single states: 40 bodies, 26,000 nodes, 4.6 us straight
    # and 5.4 us in loops; 80 bodies 13.9 and 9.0 us; 150 bodies 30 and 16 us.
    base, _ = job.rollable
    limit = moves.LARGEST if isinstance(base, moves.Move) else LARGEST
    bodies = len(base.model.bodies)
    if unroll is None and bodies <= limit // LEAST:
        with suppress(GraphTooLargeError):
            return make_straight(limit)
    try:
        with compiling:  # what is missing for this machine is made once
            return make_rolled(job)
    except (NotRolledError, GraphTooLargeError) as reason:
        with suppress(GraphTooLargeError):
            if bodies <= FORCED // LEAST:
                return make_straight(FORCED)
        raise GraphTooLargeError(str(reason)) from reason
