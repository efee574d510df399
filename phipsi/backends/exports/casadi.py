"""A computation as a CasADi function: for optimal control, with CasADi's derivatives.

The graph, node by node, in CasADi's scalar symbols SX. What is zero by the structure
of the machine is absent from the sparsity of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phipsi.backends.exports.c_names import result_names, symbol_names
from phipsi.backends.job import Computation
from phipsi.errors import BackendError, InputError
from phipsi.extras import need
from phipsi.graph.graph import GraphTooLargeError, Node
from phipsi.model.model import Model

LARGEST = 300_000  # nodes of a graph
OPTIONS = ()  # beside the name


def export(computation: Computation, model: Model, name: str) -> Any:
    """A `casadi.Function` of the arguments, by their names; vectors are columns.

    In names of files what is neither letter, digit, _ nor . becomes _, since CasADi writes
    them into code.

    Args:
        computation: what it computes.
        model: the machine.
        name: of the function.

    Raises:
        InputError: a name that CasADi does not take.
        BackendError: without CasADi, and for graphs too large.
        ZeroDivisionError: where a pivot is zero whatever the state.
    """
    ca = need("casadi", "export", "the export to CasADi")
    if not ca.Function.check_name(name):
        raise InputError(
            f"export: CasADi takes no function called {name!r}; expected letters, digits and _, "
            "the first a letter, no __, and none of 'null', 'jac', 'hess'"
        )
    try:
        traced = computation.traced(LARGEST)
    except GraphTooLargeError:
        raise BackendError(
            f"`{computation.doc}` on {model.name!r} is too large for CasADi: it has more than "
            f"{LARGEST} operations, and a graph has no loops over the bodies"
        ) from None
    names = symbol_names(computation.inputs)
    symbols = {key: ca.SX.sym(names[key], *shape) for key, shape in computation.inputs.items()}
    flat = [x for entries in traced.outputs for x in entries]
    values = _values(ca, traced.graph.live(flat), symbols)
    results = []
    for entries, shape in zip(traced.outputs, computation.outputs, strict=True):
        rows, columns = (*shape, 1, 1)[:2]
        result = ca.SX(rows, columns)
        for e, node in enumerate(entries):
            if node is not traced.graph.zero:
                result[e // columns, e % columns] = values[node]
        results.append(result)
    outputs = result_names(len(results))
    return ca.Function(name, list(symbols.values()), results, list(names.values()), outputs)


def _values(ca: Any, nodes: list[Node], symbols: dict[str, Any]) -> dict[Node, Any]:
    """Nodes in the symbols of CasADi."""
    meaning: dict[str, Callable] = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y,
        "neg": lambda x: -x,
        "sin": ca.sin,
        "cos": ca.cos,
        "sqrt": ca.sqrt,
        "exp": ca.exp,
        "arctan": ca.atan,
        "arctan2": ca.atan2,
        "abs": ca.fabs,
        "min": ca.fmin,
        "max": ca.fmax,
        "less": lambda x, y: x < y,
        "where": ca.if_else,
    }
    values: dict[Node, Any] = {}
    for node in nodes:
        if node.op == "input":
            name, entry = node.data  # row by row, where CasADi counts column by column
            values[node] = symbols[name][divmod(entry, symbols[name].shape[1])]
        elif node.op == "constant":
            values[node] = ca.SX(node.data)
        else:
            values[node] = meaning[node.op](*(values[x] for x in node.args))
    return values
