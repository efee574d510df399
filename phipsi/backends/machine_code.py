"""A program on a machine as machine code behind a NumPy function.

Unrolled: every loop gone, every constant in its place, for machines whose graph
is small enough to be compiled in a second or two. Rolled: one piece of code for
each form of body, run from a table, for machines of any size. Both give the same
numbers up to roundoff.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from phipsi.backends.entry import make_entry
from phipsi.backends.gufunc import Plan, make_gufunc
from phipsi.backends.job import Job, Shape
from phipsi.backends.kernel import write_kernel
from phipsi.backends.llvm import Target, compile_module, current_target
from phipsi.backends.looped import looped_program
from phipsi.backends.partition import Task
from phipsi.graph.graph import FLOPS, GraphTooLargeError, count_operations

LARGEST = 60_000  # nodes of a graph that is unrolled; about two thirds of them are live
FORCED = 150_000  # nodes of one that is unrolled because it was asked for
SINGLE = 40_000  # live nodes up to which single states have code of their own
FEW = 1  # so many states left over are done one by one: a tile costs about as much as one state


@dataclass(frozen=True)
class MachineCode:
    """Machine code of a program on a machine.

    Args:
        gufunc: the function of arrays; it raises no error of its own.
        entry: the same for ordinary arrays of one state or of many, with less ado: None where
            arguments are of another kind, or something is wrong; None altogether where there is
            no such entry.
        counter: its first entry counts the tiles in which something went wrong.
        outputs: shapes of the results of one state.
        path: "unrolled" or "rolled".
        lanes: states side by side.
        nodes: operations in one state.
        flops: sums, products, quotients and square roots among them.
        sincos: sines and cosines.
        stored: numbers kept between loops; None where there are no loops any more.
        seconds: that it took to make.
    """

    gufunc: np.ufunc
    entry: Callable | None
    counter: memoryview
    outputs: tuple[Shape, ...]
    path: str
    lanes: int
    nodes: int
    flops: int
    sincos: int
    stored: int | None
    seconds: float


def compile_job(job: Job, unroll: bool | None = None, lanes: int | None = None) -> MachineCode:
    """Machine code for the processor that this runs on.

    Args:
        job: what to compile.
        unroll: whether loops are unrolled; None to decide by size.
        lanes: states side by side; None for as many as registers hold.

    Raises:
        ZeroDivisionError: where a pivot is zero whatever the state.
        GraphTooLargeError: if too many nodes are needed.
    """
    start = time.perf_counter()
    target = current_target()
    if lanes is not None:
        target = replace(target, lanes=lanes)
    if unroll is None:
        try:
            code = _unrolled(job, target, LARGEST)
        except GraphTooLargeError:
            code = _rolled(job, target)
    else:
        code = _unrolled(job, target, FORCED) if unroll else _rolled(job, target)
    return replace(code, seconds=time.perf_counter() - start)


def _unrolled(job: Job, target: Target, limit: int | None) -> MachineCode:
    traced = job.traced(limit)
    task = Task(traced.graph, tuple(job.inputs), traced.outputs, traced.checks)
    live = [x for x in task.live() if x.op not in ("input", "constant")]
    kernel = write_kernel(task, target.lanes)
    code = compile_module(kernel.text, target)
    alone = code if target.lanes == 1 else None
    if alone is None and len(live) <= SINGLE:
        alone = compile_module(write_kernel(task, 1).text, target)
    lanes, single = (0 if x is None else x.address("kernel") for x in (code, alone))
    room = 8 * kernel.work
    keep = (code, alone)
    plan = _plan(job, target, lanes=lanes, single=single, work=target.lanes * room, keep=keep)
    entry = _entry(job, plan, target, single, room, 0)
    return _code(job, plan, entry, "unrolled", target, count_operations(live))


def _rolled(job: Job, target: Target) -> MachineCode:
    plain = not job.machine.model.has_mimics
    looped = looped_program(job.program, tuple(job.inputs), plain, target).on(
        job.machine, job.points, job.matrices
    )
    tables = looped.rows.ctypes.data
    plan = _plan(
        job,
        target,
        lanes=looped.kernels[0],
        single=looped.kernels[1],
        work=8 * target.lanes * looped.work,
        tables=tables,
        keep=looped,
    )
    entry = _entry(job, plan, target, looped.kernels[1], 8 * looped.work, tables)
    return _code(job, plan, entry, "rolled", target, looped.operations, looped.stored)


def _plan(job: Job, target: Target, **addresses: Any) -> Plan:
    return Plan(target, list(job.inputs.values()), job.outputs, few=FEW, **addresses)


def _entry(
    job: Job, plan: Plan, target: Target, kernel: int, work: int, tables: int
) -> Callable | None:
    names = {"name": job.name, "doc": job.doc}
    return make_entry(plan, kernel, work=work, tables=tables, target=target, **names)


def _code(
    job: Job,
    plan: Plan,
    entry: Callable | None,
    path: str,
    target: Target,
    operations: Mapping[str, int],
    stored: int | None = None,
) -> MachineCode:
    return MachineCode(
        make_gufunc(plan, job.name, job.doc),
        entry,
        plan.counter,
        job.outputs,
        path,
        target.lanes,
        nodes=sum(operations.values()),
        flops=sum(n for op, n in operations.items() if op in FLOPS),
        sincos=sum(operations.get(op, 0) for op in ("sin", "cos")),
        stored=stored,
        seconds=0.0,
    )
