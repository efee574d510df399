"""The spine: from text to machine code, every stage in its order.

compile         text -> expressions         `parse`; a function of arrays around what follows
rewrite_...     expressions -> expressions  the cheapest that mean the same, on this machine
make_program    expressions -> program      found on disk, or made:
  settle          expressions -> expressions  definitions unfolded, inverses found
  lower           expressions -> statements   on bodies
  schedule        statements -> loops         over bodies
  verify          loops -> program            is it a legal one?
make_code       program -> machine code     at the first call, found on disk, or made:
  trace_job       program -> graph            every number a node, all loops gone
  write_kernel    graph -> text               LLVM IR of a tile of states
  compile_object  text -> object file         by LLVM
  load_straight   object file -> addresses    in memory, behind a gufunc and an entry of NumPy
  load_rolled     program -> addresses        where the graph would be too long: a template of each
                                              form of body, as text and object file; a table

The interpreter, `backend="numpy"`, runs the program as it is, and so does machine code where
it finds something wrong. Steps of simulations are written as several graphs, and go the same
way (`make_steps`).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import chain
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from phipsi.algebra.identities import Equation
from phipsi.algebra.identities.equation import own_identities
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.own import MachineLetter
from phipsi.algebra.parse import Symbols, as_expression
from phipsi.algebra.spaces import SCALAR
from phipsi.algebra.walk import letters_of, walk
from phipsi.backends.disk.identity import of_blocks, of_expressions, of_machine
from phipsi.backends.disk.records import kept
from phipsi.backends.parallel.workers import threads_or_default
from phipsi.backends.real import REALS
from phipsi.errors import InputError, LoweringError, name_choices
from phipsi.function import LANES, Function
from phipsi.function.call import Options
from phipsi.function.function import check_letters
from phipsi.function.move_function import MOVES, MoveFunction
from phipsi.graph.graph import GraphTooLargeError, count_operations
from phipsi.lowering import matrices
from phipsi.lowering.conditions import Facts, facts_of
from phipsi.lowering.covariance import infer_kinds
from phipsi.lowering.lower import TooManyTermsError
from phipsi.lowering.parameters import checked_names
from phipsi.lowering.program import Output, Program
from phipsi.lowering.rewrite import BOUND, LARGEST, SHARED, Meter, choose, find_candidates
from phipsi.lowering.schedule import schedule
from phipsi.lowering.settle import settle
from phipsi.lowering.verify import verify
from phipsi.model import examples
from phipsi.model.model import Model

if TYPE_CHECKING:
    from phipsi.backends.job import Computation
    from phipsi.backends.llvm import Target
    from phipsi.backends.machine_code import Loaded, MachineCode, Straight
    from phipsi.backends.sequence import StepComputation

BACKENDS = ("llvm", "numpy")
MOST_OPENED, OPENED_EACH = 200, 5  # terms of sums in a program, and for each part it is made of
DEFAULT = os.environ.get("PHIPSI_BACKEND", "llvm")


def make_program(expressions: Sequence[Node], plain: bool = True) -> Program:
    """Expressions as one program, which shares what they share.

    It depends on no machine; `plain` is whether no joint of it follows another.
    """
    return _make_program(tuple(expressions), plain, free_letters(expressions))


@lru_cache(maxsize=512)
def _make_program(
    expressions: tuple[Node, ...], plain: bool, passed: tuple[Symbol, ...]
) -> Program:
    """The program, one object for all machines; `passed` has letters whose values may be unused."""
    told = of_expressions(expressions)
    has_functions = any(isinstance(x, MachineLetter) for x in letters_of(expressions))
    key = None if told is None or has_functions else (told, plain)
    try:
        program = kept("program", key, lambda: _lower(expressions, plain))
    except RecursionError:
        raise LoweringError(
            "the expression is nested too deeply to be lowered; pp.as_matrix evaluates it densely"
        ) from None
    return replace(program, free=passed)


def rewrite_expressions(
    expressions: Sequence[Node],
    model: Model | None,
    parameters: Sequence[str] = (),
    limit: int | None = LARGEST,
) -> tuple[Node, ...]:
    """Expressions that mean the same and cost less on this machine, if there are any.

    The identities of the papers take part, and those of `add_identity`.

    Args:
        expressions: of one function.
        model: the machine; None for a chain, where none is at hand.
        parameters: its numbers that are arguments.
        limit: nodes up to which the code is straight; None where it is never.
    """
    typed, own = tuple(expressions), own_identities()
    model = _some_chain() if model is None else model
    known_as = "rewriting", typed, tuple(parameters), limit, own
    if known_as not in model.functions:
        facts = facts_of(model, parameters)
        distinct = tuple(dict.fromkeys(typed))
        bound = BOUND * min(SHARED, len(distinct)) // len(distinct)
        candidates = {x: _candidates(x, facts, own, bound) for x in distinct}
        model.functions[known_as] = _chosen(typed, candidates, model, tuple(parameters), limit)
    return model.functions[known_as]


@cache
def _some_chain() -> Model:
    return examples.chain(5)


@lru_cache(maxsize=512)
def _candidates(
    expression: Node, facts: Facts, own: tuple[Equation, ...], bound: int
) -> tuple[Node, ...]:
    """What a search finds that means the same; it depends on few facts of the machine."""
    sides = tuple(x for one in own for x in (one.left, one.right, *one.variables))
    told, known = of_expressions((expression,)), of_expressions(sides)
    has_functions = any(isinstance(x, MachineLetter) for x in letters_of((expression, *sides)))
    about = [(x.name, len(x.variables), sorted(map(str, x.conditions))) for x in own]
    met = sorted(map(str, facts.conditions)), facts.regular, facts.plain
    is_told = told is not None and known is not None and not has_functions
    key = (told, known, about, *met, bound) if is_told else None
    return kept("rewriting", key, lambda: find_candidates(expression, facts, bound))


def _chosen(
    typed: tuple[Node, ...],
    candidates: dict[Node, tuple[Node, ...]],
    model: Model,
    parameters: tuple[str, ...],
    limit: int | None,
) -> tuple[Node, ...]:
    """Of candidates, those that cost least on a machine."""
    every = (*typed, *(x for several in candidates.values() for x in several))
    if len(every) == len(typed):
        return typed
    plain = not model.has_mimics

    def choose_counted() -> tuple[Node, ...]:
        lower = partial(_lower, plain=plain)
        return choose(typed, candidates, Meter(typed, model, lower, parameters, limit))

    told, machine = of_expressions(every), of_machine(model)
    has_functions = any(isinstance(x, MachineLetter) for x in letters_of(every))
    is_told = told is not None and machine is not None and not has_functions
    key = (told, machine, of_blocks(every, model), parameters, limit) if is_told else None
    return kept("choice", key, choose_counted)


def _lower(expressions: tuple[Node, ...], plain: bool) -> Program:
    """The program of expressions, in time that is a polynomial of their length."""
    memo: dict[Node, Node] = {}
    settled = [settle(x, plain, memo) for x in expressions]
    most = MOST_OPENED + OPENED_EACH * len(set(chain.from_iterable(map(walk, settled))))
    try:
        return _lower_settled(expressions, settled, memo, plain, most)
    except TooManyTermsError:
        return _lower_settled(expressions, settled, memo, plain, None)


def _lower_settled(
    expressions: tuple[Node, ...],
    settled: Sequence[Node],
    memo: dict[Node, Node],
    plain: bool,
    most_opened: int | None,
) -> Program:
    kinds = infer_kinds(settled)
    typed = {after: before for before, after in memo.items()}
    how = kinds.letters, typed, kinds.covariant, most_opened
    low = matrices.MatrixLowering(plain, *how)
    for number, (node, ends) in enumerate(zip(settled, kinds.outputs, strict=True)):
        if node.source is SCALAR:
            matrices.emit_vector(low, number, node, ends)
        else:
            matrices.emit_matrix(low, number, node, ends)
    statements = low.finish()
    loops = schedule(statements)
    outputs = tuple(_output(x) for x in expressions)
    free, origins = free_letters(expressions), low.origins(statements)
    return verify(Program(loops, outputs, free, kinds.covariant, origins, expressions))


def free_letters(expressions: Sequence[Node]) -> tuple[Symbol, ...]:
    """The letters whose values are passed, in order of first appearance."""
    return tuple(x for x in letters_of(expressions) if x.free)


def _output(expression: Node) -> Output:
    assert expression.target is not None and expression.source is not None, "checked before"
    return Output(expression.target, expression.source)


# -- from a program to machine code, at the first call -----------------------------------------


def make_code(
    job: Computation, unroll: bool | None = None, lanes: int | None = None
) -> MachineCode:
    """Machine code of a program on a machine, for the processor that this runs on.

    Straight code is faster, and grows with the machine; what loops does not.

    Args:
        job: the program, with its arguments and results; or what was made of it, as a derivative.
        unroll: whether loops are unrolled; None to decide by size.
        lanes: states side by side; None for as many as registers hold.

    Raises:
        ZeroDivisionError: where a pivot is zero whatever the state.
        GraphTooLargeError: if too many nodes are needed; says why there is no code in loops.
    """
    from phipsi.backends import machine_code as backend  # LLVM, for those who need it
    from phipsi.backends import moves
    from phipsi.backends.job import Job
    from phipsi.lowering.template_derivatives import NotRolledError

    start, target, rollable = time.perf_counter(), _target(job.real, lanes), job.rollable

    def straight(limit: int) -> MachineCode:
        return backend.load_straight(job, target, make_straight(job, target, limit))

    def made() -> MachineCode:
        if rollable is None or unroll:
            return straight(backend.FORCED)
        # Functions and derivatives alike: beyond 40,000 live nodes straight code outgrows the
        # caches. J t of forward dynamics, single states: 40 bodies, 26,000 nodes, 4.6 us straight
        # and 5.4 us in loops; 80 bodies 13.9 and 9.0 us; 150 bodies 30 and 16 us.
        base, _ = rollable
        limit = backend.LARGEST if isinstance(base, Job) else moves.LARGEST
        bodies = len(base.model.bodies)
        if unroll is None and bodies <= limit // backend.LEAST:
            with suppress(GraphTooLargeError):
                return straight(limit)
        try:
            return backend.load_rolled(job, rollable, target)
        except (NotRolledError, GraphTooLargeError) as reason:
            with suppress(GraphTooLargeError):
                if bodies <= backend.FORCED // backend.LEAST:
                    return straight(backend.FORCED)
            raise GraphTooLargeError(str(reason)) from reason

    return replace(made(), seconds=time.perf_counter() - start)


def make_straight(
    job: Computation | StepComputation, target: Target, limit: int, single: int | None = None
) -> Straight:
    """Code of a computation, every loop over bodies gone; kept on disk where it can be told.

    Args:
        job: what to compute.
        target: what the code is made for.
        limit: of the nodes of a graph.
        single: nodes up to which single states have code of their own.

    Raises:
        GraphTooLargeError: if there are more nodes.
    """
    from phipsi.backends.kernel import write_kernel
    from phipsi.backends.llvm import compile_object, llvm_version
    from phipsi.backends.machine_code import SINGLE, Straight
    from phipsi.backends.partition import Task
    from phipsi.backends.sequence import trace_job

    most = SINGLE if single is None else single

    def made() -> Straight | None:
        try:
            task = trace_job(job, limit)
        except GraphTooLargeError:
            return None
        live = [x for x in task.live() if x.op not in ("input", "constant")]
        widths = [target.lanes, *([1] if target.lanes > 1 and len(live) <= most else [])]
        tiled, spreads = task, None
        if target.lanes > 1 and isinstance(task, Task):  # steps have several
            tiled, spreads = task.keeping_once()
        kernels = [write_kernel(tiled, target.lanes, real=target.real)]
        kernels += [write_kernel(task, lanes, real=target.real) for lanes in widths[1:]]
        alone = job.key is None  # else the record below keeps the whole
        files = [compile_object(x.text, target, kept=alone, in_order=x.in_order) for x in kernels]
        one = files[1] if len(files) > 1 else None
        return Straight(
            files[0], one, max(x.work for x in kernels), count_operations(live), spreads
        )

    processor = (target.cpu, target.features, target.lanes, target.real)
    key = None if job.key is None else (job.key, processor, llvm_version(), limit)
    found = kept("function", key, made)
    if found is None:
        raise GraphTooLargeError
    return found


def make_steps(job: StepComputation, limit: int) -> Loaded:
    """Machine code of the steps of a simulation, in memory.

    Args:
        job: what a step does.
        limit: of the nodes of a graph.

    Raises:
        ZeroDivisionError: where a pivot is zero whatever the state.
        GraphTooLargeError: if there are more nodes.
    """
    from phipsi.backends.machine_code import Loaded

    target = _target(job.real)
    return Loaded(make_straight(job, target, limit, single=sys.maxsize), target)


def _target(real: str, lanes: int | None = None) -> Target:
    """The processor that this runs on."""
    from phipsi.backends.llvm import current_target

    target = current_target().of(real)
    return target if lanes is None else replace(target, lanes=lanes)


# -- what a user asks for ----------------------------------------------------------------------


@overload
def compile(
    model: Model,
    expression: Node | str | Sequence[Node | str],
    parameters: Sequence[str] = (),
    unroll: bool | None = None,
    dtype: Any = float,
    *,
    lanes: int | None = None,
    threads: int | str | None = None,
    backend: str | None = None,
    rewrite: bool = True,
    symbols: Symbols = (),
    notation: str | None = None,
    alphabet: str | None = None,
) -> Function: ...
@overload
def compile(
    model: Model,
    expression: Callable[..., np.ndarray],
    *,
    dtype: Any = float,
    lanes: int | None = None,
    threads: int | str | None = None,
    backend: str | None = None,
) -> MoveFunction: ...
def compile(
    model: Model,
    expression: Node | str | Sequence[Node | str] | Callable[..., np.ndarray],
    parameters: Sequence[str] = (),
    unroll: bool | None = None,
    dtype: Any = float,
    *,
    lanes: int | None = None,
    threads: int | str | None = None,
    backend: str | None = None,
    rewrite: bool = True,
    symbols: Symbols = (),
    notation: str | None = None,
    alphabet: str | None = None,
) -> Function | MoveFunction:
    """An expression, or several that share what they share, as a function of arrays.

    The expression is lowered to loops over the bodies, O(N) for vectors and block
    diagonal operators, and O(1) per block for matrices; the loops become machine code,
    with several states of a batch side by side in the registers. Operators are those of the
    tree: closures and couplings of the machine are not in them.

    Args:
        model: the machine.
        expression: of the letters of `phipsi.operators`, or as text for `pp.parse`; or a
            sequence of expressions, whose function returns a tuple. `pp.integrate` and
            `pp.difference` are taken too, which are no expressions.
        parameters: numbers of the machine that are arguments: "gravity"; of a body
            "NAME.mass", "NAME.first_moment", "NAME.inertia", all ten "NAME.moments", of
            all bodies "moments"; of a joint "NAME.position", "NAME.placement",
            "NAME.rotor_inertia". They have batches as every argument has.
        unroll: True for straight code of this machine, False for code that all machines
            share and that loops over the bodies; None chooses by the size.
        dtype: float for double precision, or numpy.float32: twice as many states side by side,
            half the memory, seven digits; what it cannot decide is computed in double.
        lanes: states side by side: 1, 2, 4 or 8, of float32 also 16; None for as many as a
            register holds.
        threads: that share a large batch; "all" for as many as there are processors, None for
            what `set_threads` says. Results are the same, bit by bit.
        backend: "llvm" makes machine code at the first call; "numpy" runs the loops in
            Python, with the batch as arrays. None is "llvm", or what the environment
            variable PHIPSI_BACKEND says.
        rewrite: whether identities may be used, those of `add_identity` among them, to find a
            cheaper expression that means the same; False compiles the line as it is typed.
        symbols: your own letters in a text, as for `pp.parse`.
        notation: of the paper in which a text is read, as for `pp.parse`.
        alphabet: whose letters are known besides those of the papers, as for `pp.parse`.

    Returns:
        A function of q, v, the free letters in order of first appearance, points, and
        parameters.

    Raises:
        LoweringError: if some expression has no O(N) algorithm here; says why.

    >>> import phipsi as pp
    >>> from phipsi.operators import C, Mass, T
    >>> arm = pp.examples.planar_arm(2)
    >>> acceleration = pp.compile(arm, Mass.inv @ (T - C))
    >>> acceleration.inputs
    ('q', 'v', 'T')
    >>> acceleration([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]).round(2)
    array([-12.59,  16.76])
    """
    backend = check_backend(backend)
    check_model(model)
    if not isinstance(expression, (Node, str, list, tuple)):
        if isinstance(expression, FunctionType):
            return _compile_move(model, expression, backend, lanes, dtype, threads, parameters)
        kind = type(expression).__name__
        raise InputError(f"compile: expected an expression, or a list of several, got {kind}")
    several = isinstance(expression, (list, tuple))
    given = (expression,) if isinstance(expression, (Node, str)) else tuple(expression)
    expressions = tuple(
        as_expression("compile", x, symbols, notation, alphabet=alphabet) for x in given
    )
    if not expressions:
        raise InputError("compile: expected an expression or several, got none")
    real = _check_numbers(dtype, lanes, threads)
    if unroll is not None and type(unroll) is not bool:
        raise InputError(f"unroll: expected True, False or None, got {unroll!r}")
    if type(rewrite) is not bool:
        raise InputError(f"rewrite: expected True or False, got {rewrite!r}")
    names = checked_names(parameters)
    options = Options(backend, unroll, lanes, real, threads, make_code)
    return compile_expressions(model, expressions, several, options, names, rewrite)


def _compile_move(
    model: Model,
    move: Callable[..., np.ndarray],
    backend: str,
    lanes: int | None,
    dtype: Any,
    threads: int | str | None,
    parameters: Sequence[str],
) -> MoveFunction:
    """`pp.integrate` or `pp.difference` of a machine, made once for it."""
    if move not in MOVES:
        names = " and ".join(f"pp.{x.__name__}" for x in MOVES)
        raise InputError(
            f"compile: expected an expression, got the function {move.__name__}; of functions, "
            f"only {names} are compiled"
        )
    if checked_names(parameters):
        raise InputError(f"compile: {move.__name__} has no parameters")
    real = _check_numbers(dtype, lanes, threads)
    options = Options(backend, None, lanes, real, threads, make_code)
    key = MOVES[move], options
    if key not in model.functions:
        model.functions[key] = MoveFunction(model, *key)
    return model.functions[key]


def _check_numbers(dtype: Any, lanes: int | None, threads: int | str | None) -> str:
    """What numbers are in machine code; InputError for what cannot be, lanes and threads too."""
    real = check_dtype(dtype)
    widths = LANES[real]
    if lanes is not None and (type(lanes) is not int or lanes not in widths):
        raise InputError(f"lanes: expected one of {', '.join(map(str, widths))}, got {lanes!r}")
    threads_or_default(threads)
    return real


def check_model(model: Model) -> None:
    """InputError for what is no machine."""
    if not isinstance(model, Model):
        raise InputError(f"model: expected a Model, got {type(model).__name__}")


def check_backend(backend: str | None) -> str:
    """The name of a backend; InputError for one that does not exist."""
    name = DEFAULT if backend is None else backend
    if not isinstance(name, str) or name not in BACKENDS:
        raise InputError(f"backend: unknown {name!r}; {name_choices(str(name), BACKENDS)}")
    return name


def check_dtype(dtype: Any) -> str:
    """What numbers are in machine code, "double" or "float"; InputError for other kinds."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    for real in REALS.values():
        if found == real.dtype:
            return real.name
    raise InputError(f"dtype: expected float or numpy.float32, got {dtype!r}")


def compile_expressions(
    model: Model,
    expressions: tuple[Node, ...],
    several: bool,
    options: Options,
    parameters: tuple[str, ...],
    rewrite: bool,
) -> Function:
    """The function of expressions, in their stages; machine code is made at its first call.

    It is made once for each model, lives on it and dies with it.
    """
    functions = model.functions
    key = (expressions, several, options, parameters, own_identities() if rewrite else None)
    if key not in functions:
        check_letters(model, letters_of(expressions))
        chosen = expressions
        if rewrite:
            limit = LARGEST if options.backend == "llvm" and options.unroll is not False else None
            chosen = rewrite_expressions(expressions, model, parameters, limit)
        program = _make_program(chosen, not model.has_mimics, free_letters(expressions))
        function = Function(model, expressions, several, program, options, parameters)
        functions[key] = function  # its first call: function.options.make_code(function.job())
    return functions[key]
