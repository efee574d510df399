"""A computation as formulas: exact, and simplified for small machines.

The interpreter runs on SymPy expressions, with the numbers of the machine as
fractions: Mass and Mass^-1 of an arm come out as one would derive them by hand
[001 X.C: "the spatial operator factorizations are completely symbolic"].
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from math import prod
from typing import Any

from phipsi.backends.exports.c_names import symbol_names
from phipsi.backends.exports.fixed import Fixed
from phipsi.backends.job import Computation, Job
from phipsi.errors import BackendError, InputError
from phipsi.extras import need
from phipsi.graph.graph import GraphTooLargeError, Node
from phipsi.lowering.blocks import plus
from phipsi.lowering.interpret import Run
from phipsi.lowering.parameters import Parameters
from phipsi.lowering.trace import symbolic_values
from phipsi.model.model import Model

# Operations up to which formulas are simplified, which takes up to some twenty seconds.
SIMPLIFIED = 300
QUOTIENTS = 160  # likewise, where something is divided by what depends on the state
ODD = 60  # likewise, where angles begin at no part of a turn, as rounded numbers of files do
LARGEST = 5_000  # operations up to which there are formulas at all
OPTIONS = ("simplify",)  # beside the name


def export(computation: Computation, model: Model, name: str, simplify: bool = True) -> Any:
    """A `sympy.Matrix`, vectors as columns; of several expressions a tuple.

    Its symbols are q0, q1, ... for the entries of q, and so on; the plain name for a number. In
    names of files what is neither letter, digit, _ nor . becomes _, since SymPy prints them
    as code.

    Args:
        computation: an expression on a machine.
        model: the machine.
        name: not used.
        simplify: whether to simplify.

    Raises:
        InputError: two entries of arguments that one symbol would stand for.
        BackendError: without SymPy, and for machines too large.
        ZeroDivisionError: where a pivot is zero whatever the state.
    """
    sympy = need("sympy", "export", "the export to SymPy")
    _check_symbols(computation)
    _check_size(computation, model, simplify)
    from phipsi.backends.exports.trigonometry import simplified

    results = []
    for entries, shape in zip(_formulas(computation), computation.outputs, strict=True):
        rows, columns = (*shape, 1, 1)[:2]
        done = [simplified(x) for x in entries] if simplify else entries
        results.append(sympy.Matrix(rows, columns, done))
    return results[0] if len(results) == 1 else tuple(results)


def _check_size(computation: Computation, model: Model, simplify: bool) -> None:
    """BackendError for what would take too long."""
    most = 10 * LARGEST
    try:
        traced = computation.traced(most)
    except GraphTooLargeError:
        size, limit = f"more than {most}", SIMPLIFIED if simplify else LARGEST
    else:
        live = traced.graph.live([x for entries in traced.outputs for x in entries])
        divides = any(x.op == "div" for x in live)
        size, limit = str(len(live)), LARGEST
        if simplify:
            limit = QUOTIENTS if divides else SIMPLIFIED
            limit = min(limit, ODD) if any(map(_is_odd, live)) else limit
        if len(live) <= limit:
            return
    what, remedy = "for formulas", ""
    if simplify:
        what, remedy = "to be simplified", f"; with simplify=False up to {LARGEST} are possible"
    raise BackendError(
        f"`{computation.doc}` on {model.name!r} is too large {what}: it takes {size} operations, "
        f"and {limit} are the limit{remedy}"
    )


def _is_odd(node: Node) -> bool:
    """Whether this is a sine or cosine of a joint angle that begins at no part of a turn."""
    if node.op not in ("sin", "cos") or node.args[0].op not in ("add", "sub"):
        return False
    starts = [x.data for x in node.args[0].args if x.op == "constant"]
    return any(abs(math.remainder(x, math.pi / 12)) > 1e-15 * (1.0 + abs(x)) for x in starts)


def _check_symbols(computation: Computation) -> None:
    """InputError where entries of two arguments have one name, as q1 and the entry 1 of q."""
    owners: dict[str, str] = {}
    names = symbol_names(computation.inputs)
    for name, shape in computation.inputs.items():
        near = names[name]
        for symbol in [f"{near}{i}" for i in range(prod(shape))] if shape else [near]:
            other = owners.setdefault(symbol, name)
            if other != name:
                raise InputError(
                    f"export: the symbol {symbol!r} would stand for entries of {other!r} and of "
                    f"{name!r}; rename one"
                )


class _Symbols:
    """Stands for the graph whose inputs a program is run on: its inputs are symbols."""

    def __init__(self, computation: Computation):
        self.inputs = computation.inputs
        self.names = symbol_names(computation.inputs)
        self.places = computation.places if isinstance(computation, Fixed) else {}

    def input(self, key: tuple[str, int]) -> Any:
        """A symbol, or the number that stands in its place."""
        import sympy

        from phipsi.backends.exports.exact import Exact, exact_number

        place = self.places.get(key, key)
        if isinstance(place, float):
            return Exact(exact_number(place))
        name, entry = place
        is_number, near = not self.inputs.get(name, (1,)), self.names.get(name, name)
        return Exact(sympy.Symbol(near if is_number else f"{near}{entry}"))


def _formulas(computation: Computation) -> list[list[Any]]:
    """The entries of all results, row by row, as SymPy expressions."""
    from phipsi.backends.exports.exact import made_exact, value_of

    job = computation.base if isinstance(computation, Fixed) else computation
    assert isinstance(job, Job), "formulas are of expressions on machines"
    symbols: Any = _Symbols(computation)
    values = symbolic_values(job.program, job.machine, job.points, symbols)
    machine = copy(job.machine.with_values(values.parameters))
    machine.links = tuple(map(made_exact, machine.links))
    values = replace(values, parameters={})
    machine.parameters = Parameters(machine.model)
    taken: list[dict[tuple[int, int], Any]] = [{} for _ in job.outputs]
    Run(job.program, machine, values, [_adder(x) for x in taken]).run()
    return [
        [value_of(found.get((i, j), 0)) for i in range(rows) for j in range(columns)]
        for found, (rows, columns) in zip(taken, job.matrices, strict=True)
    ]


def _adder(taken: dict) -> Any:
    def add(i: int, j: int, value: Any) -> None:
        taken[i, j] = plus(taken.get((i, j), 0), value)

    return add
