"""A computation as a PyTorch function, with derivatives of any order by our own graph.

One `autograd.Function` serves all: its first argument says which of ours is called.
Backwards it calls itself with `J* w`, forwards with `J t`, so that derivatives
have derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from phipsi.backends.exports.differentiable import Differentiable, Exported
from phipsi.backends.job import Computation
from phipsi.errors import InputError
from phipsi.extras import need
from phipsi.model.model import Model

OPTIONS = ()  # beside the name


def export(computation: Computation, model: Model, name: str, *, make_code: Callable) -> Callable:
    """A function of tensors (*batch, n) on the CPU, for autograd and torch.func.

    Quaternions in q are divided by their lengths. States without a value give NaN.

    Args:
        computation: what it computes.
        model: the machine.
        name: of the function.
        make_code: what makes machine code, as `phipsi.compile.make_code` does.

    Raises:
        BackendError: without PyTorch.
        ZeroDivisionError: where a pivot is zero whatever the state.

    >>> import numpy as np, phipsi as pp, torch
    >>> from phipsi.operators import U
    >>> arm = pp.examples.planar_arm(2)
    >>> potential = pp.export(arm, U, to="torch")
    >>> q = torch.tensor([0.1, 0.2], dtype=torch.float64, requires_grad=True)
    >>> potential(q).backward()
    >>> bool(np.allclose(q.grad, pp.gravity_force(arm, [0.1, 0.2])))
    True
    """
    torch = need("torch", "torch", "the export to PyTorch")
    function, node = Exported(computation, model, make_code), _node()
    function.prepare()

    def call(*arguments: Any, **named: Any) -> Any:
        tensors = _tensors(torch, function, function.placed(arguments, named))
        shapes = function.aligned([tuple(x.shape) for x in tensors])
        lined = [
            x if x.shape == shape else x.reshape(shape)
            for x, shape in zip(tensors, shapes, strict=True)
        ]
        return node.apply(function, *lined)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{computation.doc} of {model.name!r}, a function of {', '.join(function.names)}"
    return call


def _tensors(torch: Any, function: Exported, values: Sequence[Any]) -> list[Any]:
    """Arguments as tensors of one kind of real numbers."""
    for name, value in zip(function.names, values, strict=True):
        if not isinstance(value, torch.Tensor):
            raise InputError(f"{name}: expected a tensor, got {type(value).__name__}")
        if not value.is_floating_point():
            raise InputError(f"{name}: expected a tensor of real numbers, got {value.dtype}")
        if value.device.type != "cpu":
            raise InputError(
                f"{name} is on the device {value.device}; phipsi computes on the CPU: pass "
                f"{name}.cpu()"
            )
    dtype = values[0].dtype
    for value in values[1:]:
        dtype = torch.promote_types(dtype, value.dtype)
    return [x.to(dtype) for x in values]


@cache
def _node() -> Any:
    """What autograd is told of all functions."""
    import torch

    class Phipsi(torch.autograd.Function):
        """Calls a function; derivatives call others."""

        @staticmethod
        def forward(function: Differentiable, *tensors: Any) -> Any:
            dtype = tensors[0].dtype
            results = function(*(x.numpy(force=True) for x in tensors))
            found = tuple(torch.from_numpy(x).to(dtype) for x in results)
            return found[0] if len(found) == 1 else found

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.function = inputs[0]
            ctx.save_for_backward(*inputs[1:])
            ctx.save_for_forward(*inputs[1:])

        @staticmethod
        def backward(ctx: Any, *weights: Any) -> Any:
            by = tuple(i for i, needed in enumerate(ctx.needs_input_grad[1:]) if needed)
            slopes = Phipsi.apply(ctx.function.vjp(by), *ctx.saved_tensors, *weights)
            several = slopes if isinstance(slopes, tuple) else (slopes,)
            results: list[Any] = [None] * len(ctx.needs_input_grad)
            for i, slope in zip(by, several, strict=True):
                results[i + 1] = slope.sum_to_size(ctx.saved_tensors[i].shape)
            return tuple(results)

        @staticmethod
        def jvp(ctx: Any, _: None, *tangents: Any) -> Any:
            by = tuple(i for i, x in enumerate(tangents) if x is not None)
            along = [tangents[i] for i in by]
            return Phipsi.apply(ctx.function.jvp(by), *ctx.saved_tensors, *along)

        @staticmethod
        def vmap(info: Any, axes: Any, function: Differentiable, *tensors: Any) -> Any:
            moved = [
                x.unsqueeze(0) if axis is None else x.movedim(axis, 0)
                for x, axis in zip(tensors, axes[1:], strict=True)
            ]
            results = Phipsi.apply(function, *moved)
            return results, (0,) * len(results) if isinstance(results, tuple) else 0

    return Phipsi
