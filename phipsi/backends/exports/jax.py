"""A computation as a JAX function, with derivatives of any order by our own graph.

One primitive stands for all functions; its parameter says which. JAX is told how
it is run (by a callback), how it is batched (by broadcasting), differentiated (by a
function of the same kind, `J t`) and transposed (by another, `J* w`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from phipsi.backends.exports.differentiable import Differentiable, Exported
from phipsi.backends.job import Computation
from phipsi.errors import InputError
from phipsi.extras import need
from phipsi.model.model import Model

OPTIONS = ()  # beside the name


def export(computation: Computation, model: Model, name: str, *, make_code: Callable) -> Callable:
    """A function of JAX arrays (*batch, n), for jit, vmap, grad, jvp, jacfwd, hessian and so on.

    Quaternions in q are divided by their lengths. States without a value give NaN.

    Args:
        computation: what it computes.
        model: the machine.
        name: of the function.
        make_code: what makes machine code, as `phipsi.compile.make_code` does.

    Raises:
        BackendError: without JAX.
        ZeroDivisionError: where a pivot is zero whatever the state.

    >>> import jax, numpy as np, phipsi as pp
    >>> from phipsi.operators import U
    >>> arm = pp.examples.planar_arm(2)
    >>> potential = pp.export(arm, U, to="jax")
    >>> slope = jax.jit(jax.grad(potential))(np.array([0.1, 0.2]))
    >>> bool(np.allclose(slope, pp.gravity_force(arm, [0.1, 0.2]), rtol=1e-5))
    True
    """
    jax = need("jax", "export", "the export to JAX")
    function, primitive = Exported(computation, model, make_code), _primitive()
    function.prepare()

    def call(*arguments: Any, **named: Any) -> Any:
        arrays = _arrays(jax, function, function.placed(arguments, named))
        shapes = function.aligned([x.shape for x in arrays])
        lined = [
            x if x.shape == shape else x.reshape(shape)
            for x, shape in zip(arrays, shapes, strict=True)
        ]
        results = primitive.bind(*lined, function=function)
        return results[0] if len(results) == 1 else tuple(results)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{computation.doc} of {model.name!r}, a function of {', '.join(function.names)}"
    return call


def _arrays(jax: Any, function: Exported, values: Sequence[Any]) -> list[Any]:
    """Arguments as arrays of one kind of real numbers."""
    arrays = []
    for name, value in zip(function.names, values, strict=True):
        try:
            array = value if isinstance(value, jax.Array) else jax.numpy.asarray(value)
        except (TypeError, ValueError):
            raise InputError(f"{name}: expected an array, got {type(value).__name__}") from None
        if jax.numpy.iscomplexobj(array):
            raise InputError(f"{name}: expected real numbers, got {array.dtype}")
        arrays.append(array)
    dtype = jax.numpy.result_type(float, *arrays)
    return [x if x.dtype == dtype else x.astype(dtype) for x in arrays]


@cache
def _primitive() -> Any:
    """The primitive, with its rules."""
    import jax
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    primitive = Primitive("phipsi")
    primitive.multiple_results = True

    @primitive.def_impl
    def run(*arrays: Any, function: Differentiable) -> list[Any]:
        dtype = arrays[0].dtype
        return [jax.numpy.asarray(x, dtype) for x in function(*arrays)]

    @primitive.def_abstract_eval
    def shaped(*avals: Any, function: Differentiable) -> list[Any]:
        batch, dtype = function.batch([x.shape for x in avals]), avals[0].dtype
        return [jax.core.ShapedArray((*batch, *core), dtype) for core in function.outputs]

    def lower(context: Any, *operands: Any, function: Differentiable) -> Any:
        function.prepare()

        def callback(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
            dtype = arrays[0].dtype
            return tuple(x.astype(dtype, copy=False) for x in function(*arrays))

        results, _, _ = mlir.emit_python_callback(
            context,
            callback,
            None,
            list(operands),
            context.avals_in,
            context.avals_out,
            has_side_effect=False,
            returns_token=False,
        )
        return results

    def batched(arrays: Any, axes: Any, *, function: Differentiable) -> Any:
        moved = [
            jax.numpy.expand_dims(x, 0) if axis is None else jax.numpy.moveaxis(x, axis, 0)
            for x, axis in zip(arrays, axes, strict=True)
        ]
        results = primitive.bind(*moved, function=function)
        return results, [0] * len(results)

    def differentiated(primals: Any, tangents: Any, *, function: Differentiable) -> Any:
        by = tuple(i for i, x in enumerate(tangents) if type(x) is not ad.Zero)
        along = [tangents[i] for i in by]
        values = primitive.bind(*primals, function=function)
        return values, primitive.bind(*primals, *along, function=function.jvp(by))

    def transposed(weights: Any, *arrays: Any, function: Any) -> list[Any]:
        places = tuple(i for i, x in enumerate(arrays) if ad.is_undefined_primal(x))
        product, which = function.transpose(places)
        fixed = arrays[: len(function.base.shapes)]
        given = [ad.instantiate_zeros(x) for x in weights]
        found = primitive.bind(*fixed, *given, function=product)
        results: list[Any] = [None] * len(arrays)
        for place, i in zip(places, which, strict=True):
            results[place] = _summed(found[i], arrays[place].aval.shape)
        return results

    mlir.register_lowering(primitive, lower)
    batching.primitive_batchers[primitive] = batched
    ad.primitive_jvps[primitive] = differentiated
    ad.primitive_transposes[primitive] = transposed
    return primitive


def _summed(x: Any, shape: tuple[int, ...]) -> Any:
    """Summed over the axes along which an argument of this shape was broadcast."""
    axes = tuple(i for i, n in enumerate(shape) if n != x.shape[i])
    return x.sum(axes, keepdims=True) if axes else x
