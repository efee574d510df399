"""An expression on a machine as a function of another package."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from phipsi.algebra.node import Node
from phipsi.compile import compile, make_code
from phipsi.errors import InputError, name_choices
from phipsi.function.checks import check_model
from phipsi.function.exported import exported, solvable
from phipsi.model.model import Model, Point

# Where each target is: a module with `export(computation, model, name, **options)`.
TARGETS = {name: f"phipsi.backends.exports.{name}" for name in ("casadi", "jax", "sympy", "torch")}
COMPILED = ("jax", "torch")  # those that run our machine code


def export(
    model: Model,
    expression: Node | Sequence[Node],
    to: str,
    *,
    points: Sequence[Point] | None = None,
    parameters: Sequence[str] = (),
    name: str = "f",
    **options: Any,
) -> Any:
    """An expression on a machine as a function, or as formulas, of another package.

    Every target is made from the loops that machine code is made from, and gives the same
    numbers. A header for C is written by `Function.export_c`. Operators are those of the tree:
    of a machine with closures or couplings `Mass.inv @ (T - C)` is the motion of its tree, which
    `forward_dynamics` refuses to answer with, and not its own.

    Args:
        model: the machine.
        expression: as of `compile`; or several.
        to: "casadi" for a `casadi.Function`, with named arguments and the sparsity of the result;
            "jax" or "torch" for a function of arrays or tensors that is differentiable, to any
            order; "sympy" for a `sympy.Matrix` of formulas, or a tuple of those for several
            expressions.
        points: where the expression leaves points open, on which bodies they are; their
            positions stay an argument.
        parameters: numbers of the machine that are arguments, as of `compile`.
        name: of the function, where it has one.
        options: of the target: `simplify=False` of SymPy leaves formulas as they are found.

    Raises:
        InputError: an unknown target or option, points that are missing.
        BackendError: a package that is missing, or what the target cannot express.
        SolveError: an expression that has no value in any state.

    >>> import phipsi as pp
    >>> from phipsi.operators import Mass
    >>> pp.export(pp.examples.planar_arm(2), Mass, to="sympy")[0, 1]
    cos(q1)/2 + 1603/4800
    """
    check_model(model)
    if to in ("c", "C"):
        raise InputError(
            "export: a header of C is written by pp.compile(model, expression).export_c(path)"
        )
    if not isinstance(to, str) or to not in TARGETS:
        raise InputError(f"export: unknown target {to!r}; {name_choices(str(to), TARGETS)}")
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"export: name is {name!r}; expected letters, digits and _")
    function = compile(model, expression, parameters=parameters)
    computation = exported(function, points, is_watched=to == "sympy")
    target = import_module(TARGETS[to])
    known = list(target.OPTIONS)
    for option in options:
        if option not in known:
            raise InputError(
                f"export: {to!r} has no option {option!r}; {name_choices(option, known)}"
            )
    with solvable(function):
        compiled = {"make_code": make_code} if to in COMPILED else {}
        return target.export(computation, model, name, **compiled, **options)
