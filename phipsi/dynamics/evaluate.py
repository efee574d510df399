"""From a recipe to arrays, the same way for every function of this folder.

A recipe makes the expression for a machine. The first answer compiles it; from then on the
machine code that was made is found by the recipe alone, and called with the user's arrays:
at once by `straight_to` and its like, which pass by the function that users call, or by
`answer`, which that function calls.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import cached_property, partial, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from phipsi.algebra.node import Node
from phipsi.algebra.spaces import BODY, POSE, SCALAR
from phipsi.compile import compile
from phipsi.errors import InputError, SolveError
from phipsi.function.arrays import ArrayFunction
from phipsi.function.checks import check_backend, check_model
from phipsi.function.point_entries import PointEntries, plain_points
from phipsi.function.results import copied
from phipsi.lowering.inputs import SPATIAL
from phipsi.lowering.watch import SINGULAR
from phipsi.model.configuration import check_array
from phipsi.model.model import Model, Point
from phipsi.model.tree import WORLD, WORLD_NAME

NOWHERE = object()  # instead of points: the expression has none
EVERY_BODY = object()  # instead of points: the origins of all bodies, a row of 6 for each
BY_BODY = ("velocities",)  # arguments that always have a row for each body

Public = TypeVar("Public", bound=Callable[..., Any])  # a function that users call


class Recipe:
    """What a function computes, of which arguments.

    Machines find their code by it; it equals no other, which is quickly told.

    Args:
        make: `make(model, *options)` is the expression, or a tuple of several, or what else
            `compile` takes; it raises what the machine is refused for.
        names: of the arguments: q, v and the free letters of the expression.
        options: passed to `make`.
    """

    def __init__(
        self, make: Callable[..., Any], names: tuple[str, ...], options: tuple[Any, ...] = ()
    ):
        self.make, self.names, self.options = make, names, options
        self._others: dict[Hashable, Recipe] = {}

    def __call__(self, model: Model, *options: Any) -> Any:
        return self.make(model, *self.options, *options)

    def of(self, *options: Any, names: tuple[str, ...] = ()) -> Recipe:
        """The same with more options and arguments: always one object."""
        key = options, names
        if key not in self._others:
            self._others[key] = Recipe(self.make, self.names + names, self.options + options)
        return self._others[key]

    @cached_property
    def loaded(self) -> Recipe:
        """The same with external wrenches, the first flag of `terms_of`."""
        return self.of(True, names=("external",))


def recipe(*names: str) -> Callable[[Callable[..., Any]], Recipe]:
    """A function that makes expressions, as a recipe of these arguments."""
    return lambda make: Recipe(make, names)


# What goes wrong on the straight way: not compiled yet, no machine code; no model, no points.
ASTRAY = AttributeError, IndexError, KeyError, TypeError


# Each of the next three is written out: one call more would cost as much as they spare. They
# leave at once if an argument is named that no machine code takes, as `threads` is.


def straight_to(recipe: Recipe) -> Callable[[Public], Public]:
    """Calls of a public function go straight to the machine code of a recipe.

    So they cost what calls of its compiled function do. The function itself is called where
    there is no machine code yet, and where that refuses its arguments: by returning None,
    before it has done anything.

    Args:
        recipe: what the function answers if it is called with no more than the machine, the
            recipe's arguments under their own names, and perhaps `out`.
    """
    known = {*recipe.names, "out"}

    def decorate(function: Public) -> Public:
        @wraps(function)
        def call(model: Model, *arguments: Any, **named: Any) -> Any:
            result = None
            try:
                if not named:
                    result = model.functions[recipe](*arguments)
                elif "out" in named or named.keys() <= known:
                    result = model.functions[recipe](*arguments, **named)
            except ASTRAY:
                pass
            return function(model, *arguments, **named) if result is None else result

        return call  # type: ignore[return-value]

    return decorate


def straight_to_points(recipe: Recipe) -> Callable[[Public], Public]:
    """The same of a function whose last argument is points, behind one array or two."""
    count = len(recipe.names) + 1
    known = {*recipe.names, "points", "out"}
    assert count in (2, 3), "calls by place are written out, without new tuples"

    def decorate(function: Public) -> Public:
        @wraps(function)
        def call(model: Model, *arguments: Any, **named: Any) -> Any:
            result = None
            try:
                # Where there are fewer or more, points may stand in another's place.
                if len(arguments) == count:
                    points, entries = arguments[-1], model.functions[recipe]
                    entry, at = entries[points] if type(points) is str else entries.at(points)
                    if named:
                        result = entry(at, *arguments[:-1], **named)
                    elif count == 2:
                        result = entry(at, arguments[0])
                    else:
                        result = entry(at, arguments[0], arguments[1])
                elif "points" in named and named.keys() <= known:
                    others = {**named}
                    entry, at = model.functions[recipe].at(others.pop("points"))
                    result = entry(at, *arguments, **others)
            except ASTRAY:
                pass
            return function(model, *arguments, **named) if result is None else result

        return call  # type: ignore[return-value]

    return decorate


def straight_to_loaded(recipe: Recipe) -> Callable[[Public], Public]:
    """The same of a function of three arrays that may be passed `external` behind them.

    A wrench at a point and wrenches on every body go straight, too, where arrays are by place.
    """
    loaded = recipe.loaded
    known = {*recipe.names, "out"}

    def decorate(function: Public) -> Public:
        @wraps(function)
        def call(model: Model, *arguments: Any, **named: Any) -> Any:
            result = None
            try:
                external, others = None, named
                if len(arguments) == 4:
                    q, v, w, external = arguments
                elif "external" in named:
                    (q, v, w), others = arguments, {**named}
                    external = others.pop("external")
                if external is None:
                    if not named:
                        result = model.functions[recipe](*arguments)
                    elif "out" in named or named.keys() <= known:
                        result = model.functions[recipe](*arguments, **named)
                elif type(external) is dict:
                    if len(external) == 1:
                        ((point, wrench),) = external.items()
                        entries = model.functions[loaded]
                        is_point = type(point) is Point
                        entry, at = entries.at(point) if is_point else entries[point]
                        if others:
                            result = entry(at, q, v, w, wrench, **others)
                        else:
                            result = entry(at, q, v, w, wrench)
                elif others:
                    result = model.functions[loaded].everywhere(q, v, w, external, **others)
                else:
                    result = model.functions[loaded].everywhere(q, v, w, external)
            except (*ASTRAY, ValueError):  # another number of arguments
                pass
            return function(model, *arguments, **named) if result is None else result

        return call  # type: ignore[return-value]

    return decorate


def answer(
    model: Model,
    recipe: Recipe,
    arrays: Sequence[Any],
    points: Any = NOWHERE,
    backend: str | None = None,
    out: Any = None,
    threads: int | str | None = None,
    wrenches: Mapping[Point | str, Any] | None = None,
) -> Any:
    """The value of a recipe, or a tuple of those of several expressions.

    Vectors of body space are answered a row for each body, poses as 4 x 4 matrices.

    Args:
        model: the machine.
        recipe: what is asked.
        arrays: the values of its arguments, in their order; none may be missing.
        points: at which, for expressions at points; NOWHERE for others.
        backend: that of `compile`.
        out: an array for the result, or a tuple of those of several; None for new ones.
        threads: that share a large batch.
        wrenches: the user's, at the points; they are looked at where machine code refuses
            the array that was made of them.
    """
    given = arrays
    try:
        key = recipe if backend is None and threads is None else _key(recipe, backend, threads)
        entry = model.functions[key]  # the interpreter has none
        if points is EVERY_BODY:
            entry = entry.everywhere
        elif points is not NOWHERE:
            entry, at = entry.at(points)
            given = at, *arrays
    except ASTRAY:
        entry = None
    if entry is not None:
        result = entry(*given) if out is None else entry(*given, out=out)
        if result is not None:
            return result
    if points is not NOWHERE and points is not EVERY_BODY:
        plain = plain_points(points)
        if plain is not points:
            return answer(model, recipe, arrays, plain, backend, out, threads, wrenches)
    return _evaluate(model, recipe, arrays, points, backend, out, threads, wrenches)


def _evaluate(
    model: Model,
    recipe: Recipe,
    arrays: Sequence[Any],
    points: Any,
    backend: str | None,
    out: Any,
    threads: int | str | None,
    wrenches: Mapping[Point | str, Any] | None,
) -> Any:
    """The same, with everything looked at; the next call of its kind will be quicker."""
    check_model(model)
    function, shapes, several = _function(model, recipe, check_backend(backend))
    if isinstance(points, Iterable) and not isinstance(points, (str, list, tuple, Mapping, Set)):
        with suppress(TypeError):  # an array of no dimension
            points = tuple(points)
    values = dict(zip(recipe.names, arrays, strict=True))
    if wrenches is not None:
        values["external"] = _checked_wrenches(model, wrenches)
    if points is not NOWHERE:
        values["points"] = points
    for name, value in values.items():
        if value is None:
            wanted = "pp.point(...), a frame's name, or a list" if name == "points" else "numbers"
            raise InputError(f"{name}: expected {wanted}, got None")
    rows = {*BY_BODY, *(["external"] if points is EVERY_BODY else [])} & values.keys()
    for name in rows:
        values[name] = _from_bodies(model, name, values[name])
    if points is EVERY_BODY:
        values["points"] = [body.name for body in model.bodies]
    if threads is not None:
        values["threads"] = threads
    if not any(shapes):
        result = function(**values) if out is None else function(**values, out=out)
    else:
        found = function(**values)
        results = [
            x if shape is None else x.reshape(*x.shape[:-1], *shape)
            for x, shape in zip(found if several else (found,), shapes, strict=True)
        ]
        if out is not None:
            results = copied(results, out, np.dtype(float), several)
        result = tuple(results) if several else results[0]
    key = _key(recipe, backend, threads)
    if function.backend == "llvm" and not _is_known(model, key, points):
        inputs = {name: (len(model.bodies), SPATIAL) for name in rows}
        at = values.get("points")
        entry = function.entry(at, recipe.names, inputs, shapes, threads)
        if points is NOWHERE:
            model.functions[key] = entry
        elif entry is not None:
            entries = model.functions.setdefault(key, PointEntries())
            if points is EVERY_BODY:
                entries.everywhere = partial(entry, function.positions_at(at))
            else:
                function.tie_points(entries, points, entry)
    return result


def _key(recipe: Recipe, backend: str | None, threads: int | str | None) -> Hashable:
    """What the machine code of a recipe is found by on a machine."""
    if backend is None and threads is None:
        return recipe
    return recipe, backend, type(threads), threads  # True is no number of threads


def _function(model: Model, recipe: Recipe, backend: str) -> tuple[ArrayFunction, list, bool]:
    """The compiled function of a recipe, shapes of its results, whether there are several."""
    key = "function", recipe, backend
    known = model.functions.get(key)
    if known is None:
        expression = recipe(model)
        several = isinstance(expression, tuple)
        shapes = [_public_shape(model, x) for x in (expression if several else (expression,))]
        function = compile(model, expression, backend=backend, rewrite=False)
        known = model.functions[key] = function, shapes, several
    return known


def _is_known(model: Model, key: Hashable, points: Any) -> bool:
    """Whether the machine code is found already, or never will be."""
    if points is NOWHERE:
        return key in model.functions
    known = model.functions.get(key)
    if known is None:
        return False
    return (known.everywhere if points is EVERY_BODY else known.at(points)) is not None


def _public_shape(
    model: Model, expression: Node | Callable[..., np.ndarray]
) -> tuple[int, ...] | None:
    """In what shape a result is answered, if not in that of the compiled function."""
    if not isinstance(expression, Node):
        return None
    if expression.source is SCALAR and expression.target is BODY:
        return len(model.bodies), SPATIAL
    if expression.source is SCALAR and expression.target is POSE:
        return len(model.bodies), 4, 4
    return None


def _from_bodies(model: Model, name: str, rows: ArrayLike) -> np.ndarray:
    """The user's (*batch, n, 6) as a vector of body space, or InputError."""
    n = len(model.bodies)
    reason = f"a row of 6 for each of the {n} bodies of {model.name!r}"
    other = " or a dict {point: wrench}" if name == "external" else ""
    array = check_array(name, rows, (n, SPATIAL), reason, other)
    return array.reshape(*array.shape[:-2], SPATIAL * n)


def _checked_wrenches(model: Model, wrenches: Mapping[Point | str, Any]) -> np.ndarray:
    """Wrenches at points, one after the other; InputError for those that act nowhere."""
    blocks = []
    for point, wrench in wrenches.items():
        _check_place(model, point)
        blocks.append(check_array(f"external[{point!r}]", wrench, (6,), "[moment; force]"))
    try:
        return np.concatenate(np.broadcast_arrays(*blocks), axis=-1)
    except ValueError:
        shapes = ", ".join(map(str, (x.shape for x in blocks)))
        raise InputError(f"external: the batches do not broadcast: {shapes}") from None


def _check_place(model: Model, point: Point | str) -> None:
    """InputError for a wrench at a point of no body, or of the world."""
    if not isinstance(point, (str, Point)):
        own = getattr(point, "name", None)  # of a body or a frame
        got = repr(point) if own is None else f"a {type(point).__name__}; write {own!r}"
        raise InputError(
            f"external: expected pp.point(...) or the name of a frame as key, got {got}"
        )
    name = point if isinstance(point, str) else point.frame
    try:
        frame = model.frame(name)
    except InputError as error:
        raise InputError(f"external: {error}") from None
    if frame.body == WORLD:
        where = "is the world" if name == WORLD_NAME else "is fixed to the world"
        raise InputError(
            f"external: {name!r} {where}, which no wrench moves; name a frame on a body of "
            f"{model.name!r}"
        )


# -- small dense systems, for comparison --------------------------------------------------


def cholesky_solve(matrix: np.ndarray, right: np.ndarray, complaint: str) -> np.ndarray:
    """x of `matrix x = right` by A = L L*; SolveError with the complaint if it is singular.

    A pivot is zero if it is roundoff beside the diagonal entry that it is left of.
    """
    diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
    try:
        L = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise SolveError(complaint) from None
    if np.any(np.diagonal(L, axis1=-2, axis2=-1) ** 2 * SINGULAR <= diagonal):
        raise SolveError(complaint)
    y = np.linalg.solve(L, right[..., None])
    return np.linalg.solve(np.swapaxes(L, -1, -2), y)[..., 0]
