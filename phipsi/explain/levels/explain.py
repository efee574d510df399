"""Any expression explained: the seven levels of [001 Fig. 3], of what really runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.algebra.parse import Symbols, as_expression
from phipsi.algebra.spaces import POINTS
from phipsi.algebra.walk import letters_of
from phipsi.compile import make_readable, rewrite_expressions
from phipsi.errors import InputError, LoweringError, SolveError, name_choices
from phipsi.explain.levels.cost import price_of
from phipsi.explain.levels.explanation import TITLES, Explanation, Level, Part
from phipsi.explain.levels.layout import paragraph
from phipsi.explain.levels.link_levels import (
    coordinates_level,
    joint_level,
    sweeps_level,
    transitions_level,
)
from phipsi.explain.levels.meanings import VIEWS
from phipsi.explain.levels.notation import Notation
from phipsi.explain.levels.operator_levels import expression_level, nature_level, operators_level
from phipsi.explain.levels.part_expressions import express_parts
from phipsi.explain.levels.record import Values, numbers_text, recorded
from phipsi.explain.levels.roles import meaning_of, unit_text
from phipsi.explain.levels.rows import check_rows
from phipsi.explain.levels.sweeps import sweeps_of
from phipsi.lowering.inputs import Inputs
from phipsi.model.model import Model, Point


def explain(
    expression: Node | str | Sequence[Node | str],
    model: Model | None = None,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    view: str = "mechanics",
    inspect: bool = False,
    points: Sequence[Point] | None = None,
    symbols: Symbols = (),
    notation: str | None = None,
    alphabet: str | None = None,
    rewrite: bool = False,
    **values: Any,
) -> Explanation:
    """What an expression is: seven levels, from its letters down to coordinates.

    1 the expression, 2 its operators, 3 what each of them is, 4 the sweeps as recursions, 5 the
    transitions from link to link, 6 within the link and across the joint, 7 coordinates
    [001 Fig. 3, sec. IX]. The sweeps are those of the expression as it is typed; where `compile`
    runs a cheaper one on the machine, the first line says which, and `rewrite=True` explains
    that one. Every intermediate quantity has a name, a
    formula, an expression of its own and a meaning.

    Args:
        expression: of the letters of `phipsi.operators`, or its text; or several, which share what
            they share.
        model: the machine, for its joints, its cost and its numbers.
        q: (nq,), one state; by default the neutral one.
        v: (nv,), by default zero.
        view: "mechanics", or "estimation" for the same quantities as state, innovation, Kalman
            gain and covariance [004-I sec. 4].
        inspect: whether to return every intermediate in `.values`, by name and body, in the
            link frames of the file.
        points: what the bare letters B, J, X and c stand for.
        symbols: your own letters in a text, as for `pp.parse`.
        notation: of the paper in which a text is read, as for `pp.parse`.
        alphabet: whose letters are known besides those of the papers, as for `pp.parse`.
        rewrite: whether to explain what `compile` makes of the expression by identities, instead
            of the expression as it is typed. Without a model, what it makes of it on any machine.
        values: of the free letters, by name. Without any, there are no numbers.

    Returns:
        The explanation; print it, or one `.level(n)`.

    Raises:
        InputError: no expression, an open space, an unknown view, wrong or missing values.
        LoweringError: an expression so deep that not even its letters can be listed.
        SolveError: with `inspect`, where something has no value in this state.

    >>> import phipsi as pp
    >>> from phipsi.operators import C, Mass, T
    >>> told = explain(Mass.inv @ (T - C))
    >>> print(told.level(4).text.splitlines()[7])
        z(k) = sum_c phi(k,c) [z(c) + G(c) eps(c)]
    >>> arm = pp.examples.planar_arm(2)
    >>> seen = explain(Mass.inv @ (T - C), arm, T=[0.0, 0.0], inspect=True)
    >>> seen.values["beta_dot"]["joint1"].round(2)
    array([-12.59])
    """
    expressions = _checked(expression, symbols, notation, alphabet)
    if not isinstance(view, str) or view not in VIEWS:
        raise InputError(f"view: unknown {view!r}; {name_choices(str(view), VIEWS)}")
    if model is not None and not isinstance(model, Model):
        raise InputError(f"model: expected a Model, got {type(model).__name__}")
    if type(rewrite) is not bool:
        raise InputError(f"rewrite: expected True or False, got {rewrite!r}")
    try:
        is_decided = rewrite or model is not None  # else what compile runs is not known yet
        chosen = rewrite_expressions(expressions, model) if is_decided else expressions
        told = _told_of_rewriting(expressions, chosen, rewrite)
        shown = chosen if rewrite else expressions
        return _explained(shown, model, q, v, view, inspect, points, values, told)
    except RecursionError:
        raise LoweringError(
            "explain: the expression is nested too deeply; pp.as_matrix evaluates it densely"
        ) from None


def _told_of_rewriting(typed: Sequence[Node], chosen: Sequence[Node], rewrite: bool) -> str:
    """Which expressions are explained, where `compile` runs others than were typed."""
    if tuple(typed) == tuple(chosen):
        return ""
    before, after = (", ".join(f"`{x}`" for x in some) for some in (typed, chosen))
    if rewrite:
        return f"Explained as compile runs it; typed was {before}."
    return f"Explained as typed; compile runs {after} instead, which rewrite=True explains."


def _explained(
    expressions: tuple[Node, ...],
    model: Model | None,
    q: ArrayLike | None,
    v: ArrayLike | None,
    view: str,
    inspect: bool,
    points: Sequence[Point] | None,
    values: Mapping[str, Any],
    told: str,
) -> Explanation:
    plain = model is None or not model.has_mimics
    inputs, why_not = _inputs(expressions, model, q, v, points, values, inspect)
    upper = (
        expression_level(expressions, plain, told),
        operators_level(expressions, plain, view),
        nature_level(expressions, plain, view),
    )
    try:
        check_rows(expressions)
        notation = Notation(make_readable(expressions, plain))
    except (LoweringError, SolveError) as error:
        if inspect:
            raise
        why = f"no sweeps: {error}"
        return Explanation(expressions, view, _levels(*upper, *[why] * 4), (), why, "")
    sweeps = sweeps_of(notation, expressions)
    forms = express_parts(notation)
    price = price_of(notation.program, expressions, model, inputs)
    numbers, found = _numbers(notation, inputs, why_not, q is None, v is None, inspect)
    lower = (
        sweeps_level(notation, sweeps, forms, price, view),
        transitions_level(notation, sweeps, forms),
        joint_level(notation, sweeps, view),
        coordinates_level(notation, model, sweeps),
    )
    parts = tuple(
        Part(
            x.name,
            x.line,
            forms.get(x.name),
            meaning_of(notation, x, view, forms.get(x.name)),
            unit_text(x.unit, x.slot, x.kinds[0]),
        )
        for x in notation.quantities
    )
    levels = _levels(*upper, *lower)
    return Explanation(expressions, view, levels, parts, price.text, numbers, found)


def _levels(*texts: str) -> tuple[Level, ...]:
    numbered = enumerate(zip(TITLES, texts, strict=True), 1)
    return tuple(Level(number, title, text) for number, (title, text) in numbered)


# -- what the user passes ----------------------------------------------------------------------


def _checked(
    expression: Node | str | Sequence[Node | str],
    symbols: Symbols,
    notation: str | None,
    alphabet: str | None,
) -> tuple[Node, ...]:
    """The expressions, read where they are text; InputError for what is none."""
    given = (expression,) if isinstance(expression, (Node, str)) else expression
    if not isinstance(given, (list, tuple)):
        kind = type(expression).__name__
        raise InputError(
            f"explain: expected an expression, its text, or a list of several, got {kind}"
        )
    if not given:
        raise InputError("explain: expected an expression or several, got none")
    return tuple(
        as_expression("explain", one, symbols, notation, alphabet=alphabet) for one in given
    )


def _inputs(
    expressions: tuple[Node, ...],
    model: Model | None,
    q: ArrayLike | None,
    v: ArrayLike | None,
    points: Sequence[Point] | None,
    values: Mapping[str, Any],
    inspect: bool,
) -> tuple[Inputs | None, str]:
    """The state and values, checked; or why there are no numbers."""
    if model is None:
        state = {"q": q, "v": v, "points": points}
        given = [*(name for name, x in state.items() if x is not None), *values]
        if inspect or given:
            what = "inspect=True" if inspect else ", ".join(given)
            raise InputError(f"explain: {what} asks for numbers: pass the machine, model=...")
        return None, ""
    free = [x.name for x in letters_of(expressions) if x.free]
    missing = [x for x in dict.fromkeys(free) if x not in values]
    at_points = [x for x in letters_of(expressions) if POINTS in (x.source, x.target)]
    if any(not x.arguments for x in at_points) and points is None:
        missing.append("points")
    if missing and not inspect and not values and points is None:
        return None, f"for numbers, pass {', '.join(f'{x}=...' for x in missing)}"
    speeds = [0.0] * model.nv if v is None else v
    inputs = Inputs(model, expressions, model.neutral() if q is None else q, speeds, points, values)
    if inputs.batch:
        raise InputError(
            f"explain: expected one state, got a batch of {inputs.batch}; pass one row of it"
        )
    if inputs.dtype.kind == "c":
        raise InputError("explain: expected real numbers, got complex ones")
    return inputs, ""


def _numbers(
    notation: Notation,
    inputs: Inputs | None,
    why_not: str,
    is_neutral: bool,
    is_at_rest: bool,
    inspect: bool,
) -> tuple[str, Values | None]:
    """The numbers as a table, and as arrays where these are asked for."""
    if inputs is None:
        return why_not, None
    try:
        found = recorded(notation, inputs)
    except (SolveError, InputError) as error:
        if inspect:
            raise
        return f"no numbers: {error}", None
    q = "q neutral (no q was passed)" if is_neutral else "q as passed"
    v = "v = 0 (no v was passed)" if is_at_rest else "v as passed"
    head = f"{inputs.model.name!r} at {q}, {v}; in link frames, rotation first, SI units"
    given = {"q", "beta", *(letter.name for letter in inputs.given)}
    return f"{paragraph(head)}\n{numbers_text(found, given)}", found if inspect else None
