"""What stages of `compile` have made, found again: in memory, on the machine, on disk."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache

from phipsi.algebra.identities import Equation
from phipsi.algebra.identities.equation import own_identities
from phipsi.algebra.node import Node, Symbol
from phipsi.algebra.own import MachineLetter
from phipsi.algebra.walk import letters_of
from phipsi.backends.disk.identity import Parts, of_blocks, of_expressions, of_machine
from phipsi.backends.disk.records import kept
from phipsi.errors import LoweringError
from phipsi.lowering.conditions import Facts, facts_of
from phipsi.lowering.program import Program
from phipsi.lowering.rewrite import BOUND, SHARED, Lower, Meter, choose, find_candidates
from phipsi.model import examples
from phipsi.model.model import Model

PROGRAMS = 512  # that are kept in memory

_programs: OrderedDict[tuple, Program] = OrderedDict()


def find_program(
    expressions: tuple[Node, ...],
    how: tuple[bool, str],
    free: tuple[Symbol, ...],
    make: Callable[[], Program],
) -> Program:
    """The program of expressions, one object for all machines.

    Args:
        expressions: those that are lowered.
        how: whether no joint of the machine follows another; what pivots are held against.
        free: the letters whose values are passed, some of them perhaps unused.
        make: makes the program.
    """
    known_as = expressions, how, free
    if known_as not in _programs:
        told = _digest(expressions)
        try:
            program = kept("program", None if told is None else (told, *how), make)
        except RecursionError:
            raise LoweringError(
                "the expression is nested too deeply to be lowered; pp.as_matrix evaluates it "
                "densely"
            ) from None
        _programs[known_as] = replace(program, free=free)
        while len(_programs) > PROGRAMS:
            _programs.popitem(last=False)
    _programs.move_to_end(known_as)
    return _programs[known_as]


def find_rewritten(
    expressions: Sequence[Node],
    model: Model | None,
    parameters: Sequence[str],
    limit: int | None,
    lower: Lower,
) -> tuple[Node, ...]:
    """Expressions that mean the same and cost less on this machine, if there are any.

    Args:
        expressions: of one function.
        model: the machine; None for a chain, where none is at hand.
        parameters: its numbers that are arguments.
        limit: nodes up to which the code is straight; None where it is never.
        lower: makes programs of expressions, which are counted.
    """
    typed, own = tuple(expressions), own_identities()
    model = _some_chain() if model is None else model
    known_as = "rewriting", typed, tuple(parameters), limit, own
    if known_as not in model.functions:
        facts = facts_of(model, parameters, own)
        distinct = tuple(dict.fromkeys(typed))
        bound = BOUND * min(SHARED, len(distinct)) // len(distinct)
        candidates = {x: _candidates(x, facts, own, bound) for x in distinct}
        chosen = typed
        if any(candidates.values()):
            key = _choice_key(typed, candidates, model, tuple(parameters), limit)
            how = model, lower, parameters, limit
            chosen = kept("choice", key, lambda: choose(typed, candidates, Meter(typed, *how)))
        model.functions[known_as] = chosen
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
    told, known = _digest((expression,)), _digest(sides)
    about = [(x.name, len(x.variables), sorted(map(str, x.conditions))) for x in own]
    met = sorted(map(str, facts.conditions)), facts.regular, facts.plain
    key = None if told is None or known is None else (told, known, about, *met, bound)
    return kept("rewriting", key, lambda: find_candidates(expression, facts, bound))


def _choice_key(
    typed: tuple[Node, ...],
    candidates: dict[Node, tuple[Node, ...]],
    model: Model,
    parameters: tuple[str, ...],
    limit: int | None,
) -> Parts | None:
    """What a choice depends on; None if nobody can tell."""
    every = (*typed, *(x for several in candidates.values() for x in several))
    told, machine = _digest(every), of_machine(model)
    if told is None or machine is None:
        return None
    return told, machine, of_blocks(every, model), parameters, limit


def _digest(expressions: tuple[Node, ...]) -> bytes | None:
    """A digest of expressions; None if nobody can tell, as of letters with functions."""
    if any(isinstance(x, MachineLetter) for x in letters_of(expressions)):
        return None
    return of_expressions(expressions)
