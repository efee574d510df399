"""The spine: from text to machine code.

`run_stages` has every stage in its order; each is a function of the module that owns it. What is
found again instead of being made is in `phipsi.caching`, what is asked of arguments in
`phipsi.function.checks`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from phipsi.algebra.identities.equation import own_identities
from phipsi.algebra.node import Node
from phipsi.algebra.parse import Symbols, as_expression
from phipsi.algebra.walk import letters_of
from phipsi.caching import find_program, find_rewritten
from phipsi.errors import InputError
from phipsi.function import Function
from phipsi.function.call import Options
from phipsi.function.checks import check_model, check_options
from phipsi.function.function import check_letters
from phipsi.function.move_function import MOVES, MoveFunction
from phipsi.lowering.parameters import checked_names
from phipsi.lowering.program import Guard, Program
from phipsi.lowering.schedule import schedule
from phipsi.lowering.settle import settle_expressions
from phipsi.lowering.statements import free_letters, lower_expressions
from phipsi.lowering.trace import LARGEST
from phipsi.lowering.verify import verify
from phipsi.model.model import Model

if TYPE_CHECKING:
    from phipsi.backends.job import Computation
    from phipsi.backends.machine_code import Loaded, MachineCode, Straight
    from phipsi.backends.pieces import Drawn
    from phipsi.backends.sequence import StepComputation


@dataclass(eq=False)
class Lines:
    """What a program is made of.

    Args:
        typed: expressions, or their text.
        model: the machine that they are rewritten for; None for any.
        plain: whether no joint of the machine follows another.
        parameters: numbers of the machine that are arguments.
        limit: nodes up to which the code is straight; None where it is never.
        rewrite: whether identities may be used.
        symbols, notation, alphabet: in which text is read, as for `pp.parse`.
        guard: what pivots are held against.
        is_kept: whether the program is kept, in memory and on disk.
    """

    typed: Sequence[Node | str]
    model: Model | None = None
    plain: bool = True
    parameters: tuple[str, ...] = ()
    limit: int | None = LARGEST
    rewrite: bool = True
    symbols: Symbols = ()
    notation: str | None = None
    alphabet: str | None = None
    guard: Guard = Guard.NUMBERS
    is_kept: bool = True

    @cached_property
    def parsed(self) -> tuple[Node, ...]:
        """The expressions."""
        return tuple(
            as_expression("compile", x, self.symbols, self.notation, alphabet=self.alphabet)
            for x in self.typed
        )


@overload
def run_stages(source: Lines) -> Program: ...
@overload
def run_stages(
    source: Computation, unroll: bool | None = None, lanes: int | None = None
) -> MachineCode: ...
@overload
def run_stages(source: StepComputation) -> Loaded: ...
def run_stages(
    source: Lines | Computation | StepComputation,
    unroll: bool | None = None,
    lanes: int | None = None,
) -> Program | MachineCode | Loaded:
    """Every stage, from text to machine code.

    They run in two parts. `compile` runs the first: lines become a program, which the interpreter
    can run. The first call of the function runs the second: the program on its machine, with the
    bodies that points are on, is a job, and becomes machine code. Derivatives of it, moves on the
    configuration manifold, and steps of simulations are jobs as well.

    Args:
        source: lines, or a job.
        unroll: whether loops of a job are unrolled; None to decide by size.
        lanes: states side by side; None for as many as registers hold.

    Raises:
        LoweringError: lines that have no O(N) algorithm here; says why.
        ZeroDivisionError: a job in which a pivot is zero whatever the state.
        GraphTooLargeError: a job of too many nodes; says why there is no code in loops.
    """
    if isinstance(source, Lines):
        # text -> expressions
        expressions = source.parsed
        # expressions -> expressions: the cheapest that mean the same, counted on the machine
        chosen = expressions
        if source.rewrite:
            where = source.model, source.parameters, source.limit
            chosen = rewrite_expressions(expressions, *where)

        def lower_chosen() -> Program:
            # expressions -> expressions: definitions unfolded, inverses found
            settled = settle_expressions(chosen, source.plain)
            # expressions -> statements on bodies, what is shared computed once
            lowered = lower_expressions(settled, source.plain, source.guard)
            # statements -> loops over the bodies, as few as their data allow
            loops = schedule(lowered.statements)
            # loops -> program, if it is a legal one
            return verify(lowered.in_loops(loops, chosen))

        if not source.is_kept:
            return lower_chosen()
        how = source.plain, source.guard.value
        return find_program(chosen, how, free_letters(expressions), lower_chosen)

    from phipsi.backends import llvm, machine_code, pieces, sequence  # for those who need them

    job, target = source, llvm.find_target(source.real, lanes)

    def make_straight(limit: int) -> MachineCode | Loaded:
        def make_objects() -> Straight:
            # program -> graph: every number a node, all loops gone
            graph = sequence.trace_job(job, limit)
            # graph -> text: LLVM IR of a kernel for a tile of states, and of one for one state
            kernels = machine_code.write_kernels(graph, target)
            # text -> object files
            return machine_code.compile_kernels(kernels, target, kept=job.key is None)

        straight = machine_code.find_straight(job, target, limit, make_objects)
        # object files -> addresses, behind a gufunc and an entry of NumPy
        return machine_code.load_straight(job, target, straight)

    def make_rolled(job: Computation) -> MachineCode:
        loops = machine_code.find_loops(job, target)

        def make_objects() -> Drawn:
            # program -> templates: a graph of each form of body that is new
            templates = loops.trace_templates()
            # templates -> text: LLVM IR, as above
            written = pieces.write_templates(templates, loops.inputs, target)
            # text -> object files
            return pieces.compile_templates(written, target)

        drawn = pieces.find_templates(loops, make_objects)
        # object files -> addresses
        loops.add_pieces(pieces.load_templates(drawn, target))
        # addresses -> table of the machine, behind a gufunc and an entry of NumPy
        return machine_code.load_rolled(job, target, loops.make_table())

    return machine_code.choose_path(job, unroll, make_straight, make_rolled)


# -- parts of it, for others -------------------------------------------------------------------


def make_program(expressions: Sequence[Node], plain: bool = True) -> Program:
    """Expressions as they are typed, as one program, which shares what they share.

    It depends on no machine; `plain` is whether no joint of it follows another.
    """
    return run_stages(Lines(tuple(expressions), plain=plain, rewrite=False))


def make_readable(expressions: Sequence[Node], plain: bool = True) -> Program:
    """The same program for those who read it, not run it: it guards against nothing."""
    typed = tuple(expressions)
    return run_stages(Lines(typed, plain=plain, rewrite=False, guard=Guard.NOTHING))


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
    plain = model is None or not model.has_mimics

    def lower(several: tuple[Node, ...]) -> Program:
        return run_stages(Lines(several, plain=plain, rewrite=False, is_kept=False))

    return find_rewritten(expressions, model, parameters, limit, lower)


def make_code(
    job: Computation, unroll: bool | None = None, lanes: int | None = None
) -> MachineCode:
    """Machine code of a job, for the processor that this runs on; arguments as of `run_stages`."""
    start = time.perf_counter()
    code = run_stages(job, unroll, lanes)
    return replace(code, seconds=time.perf_counter() - start)


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
    check_model(model)
    options = check_options(backend, unroll, lanes, dtype, threads, make_code)
    names = checked_names(parameters)
    if isinstance(expression, FunctionType):
        return _compile_move(model, expression, options, names)
    if not isinstance(expression, (Node, str, list, tuple)):
        kind = type(expression).__name__
        raise InputError(f"compile: expected an expression, or a list of several, got {kind}")
    several = isinstance(expression, (list, tuple))
    typed = (expression,) if isinstance(expression, (Node, str)) else tuple(expression)
    if not typed:
        raise InputError("compile: expected an expression or several, got none")
    if type(rewrite) is not bool:
        raise InputError(f"rewrite: expected True or False, got {rewrite!r}")
    lines = Lines(
        typed,
        model,
        plain=not model.has_mimics,
        parameters=names,
        limit=None if unroll is False else LARGEST,
        rewrite=rewrite,
        symbols=symbols,
        notation=notation,
        alphabet=alphabet,
    )
    return _compile_lines(model, lines, several, options)


def _compile_lines(model: Model, lines: Lines, several: bool, options: Options) -> Function:
    """The function of lines, made once for each machine; it lives on it and dies with it."""
    own = own_identities() if lines.rewrite else None
    key = lines.parsed, several, options, lines.parameters, own
    if key not in model.functions:
        check_letters(model, letters_of(lines.parsed))
        program = run_stages(lines)
        made = Function(model, lines.parsed, several, program, options, lines.parameters)
        model.functions[key] = made
    return model.functions[key]


def _compile_move(
    model: Model, move: Callable[..., np.ndarray], options: Options, names: Sequence[str]
) -> MoveFunction:
    """`pp.integrate` or `pp.difference` of a machine, made once for it."""
    if move not in MOVES:
        known = " and ".join(f"pp.{x.__name__}" for x in MOVES)
        raise InputError(
            f"compile: expected an expression, got the function {move.__name__}; of functions, "
            f"only {known} are compiled"
        )
    if names:
        raise InputError(f"compile: {move.__name__} has no parameters")
    key = MOVES[move], replace(options, unroll=None)
    if key not in model.functions:
        model.functions[key] = MoveFunction(model, *key)
    return model.functions[key]
