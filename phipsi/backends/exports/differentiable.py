"""Functions of NumPy arrays that know their derivatives: what JAX and PyTorch are handed.

A derivative is a function of the same kind, so that there are derivatives of any
order. All are by entries, and none raises an error of its own: where a state has no
value, its results are NaN.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from phipsi.backends.derivatives import JacobianVector, VectorJacobian
from phipsi.backends.exports.entries import ByEntries, with_unit_quaternions
from phipsi.backends.job import Computation, Shape
from phipsi.errors import BackendError, InputError, name_choices
from phipsi.graph.graph import GraphTooLargeError
from phipsi.lowering.template_derivatives import CONFIGURATION
from phipsi.model.configuration import broadcast
from phipsi.model.model import Model

LARGEST = 2_000_000  # nodes of a graph that is evaluated by NumPy where it is too long to compile

Run = Callable[..., Any]  # of arrays, one for each argument; returns one for each result
By = tuple[int, ...]  # arguments, by their places


class Differentiable(ABC):
    """A function of arrays (*batch, *shape), whose batches have equally many axes.

    Axes of length one are broadcast.

    Attributes:
        computation: what is differentiated further.
        model: the machine, for messages.
        make_code: what makes machine code, as `phipsi.compile.make_code` does.
        shapes: of the arguments in one state.
        outputs: of the results in one state.
    """

    def __init__(self, computation: Computation, model: Model, make_code: Callable):
        self.computation, self.model, self.make_code = computation, model, make_code
        self.shapes = tuple(computation.inputs.values())
        self.outputs = computation.outputs
        self._derivatives: dict[tuple[type, By], Differentiable] = {}
        self._run: Run | None = None

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        """The results, in double precision whatever the arguments are."""
        run = self.prepare()
        with np.errstate(all="ignore"):
            results = run(*(np.asarray(x, np.float64) for x in arrays))
        return [np.asarray(x) for x in (results if type(results) in (tuple, list) else [results])]

    def prepare(self) -> Run:
        """Its code, made at the first time: early enough for what is wrong to be told."""
        if self._run is None:
            self._run = self._code()
        return self._run

    def jvp(self, by: By) -> Differentiable:
        """`J t`: a function with a direction behind for each argument that varies.

        Args:
            by: which arguments vary.
        """
        return self._derivative(JacobianVectorProduct, by)

    def vjp(self, by: By) -> Differentiable:
        """`J* w`: a function with a weight behind for each result; derivatives by some arguments.

        Args:
            by: which arguments.
        """
        return self._derivative(VectorJacobianProduct, by)

    def _derivative(self, kind: type[_Product], by: By) -> Differentiable:
        if (kind, by) not in self._derivatives:
            self._derivatives[kind, by] = kind(self, by)
        return self._derivatives[kind, by]

    def batch(self, shapes: Sequence[Shape]) -> Shape:
        """The common batch of arguments of these shapes."""
        own = zip(shapes, self.shapes, strict=True)
        return np.broadcast_shapes(*(x[: len(x) - len(core)] for x, core in own))

    @abstractmethod
    def _code(self) -> Run:
        """What computes it."""

    def _compiled(self, computation: Computation) -> Run:
        """Machine code of a computation; NumPy on its graph where that is too long."""
        from phipsi.backends.llvm import compiling

        with compiling:
            try:
                return self.make_code(computation).way().gufunc
            except GraphTooLargeError:
                return self._evaluated(computation)

    def _evaluated(self, computation: Computation) -> Run:
        try:
            traced = computation.traced(LARGEST)
        except GraphTooLargeError:
            raise BackendError(
                f"`{computation.doc}` on {self.model.name!r} is too large: its graph has more than "
                f"{LARGEST:,} nodes"
            ) from None
        nodes = list(chain(*traced.outputs))

        def run(*arrays: np.ndarray) -> list[np.ndarray]:
            numbers: dict[tuple[str, int], Any] = {}
            batch = self.batch([x.shape for x in arrays])
            for (name, shape), array in zip(computation.inputs.items(), arrays, strict=True):
                flat = array.reshape(*array.shape[: array.ndim - len(shape)], prod(shape))
                numbers |= {(name, i): flat[..., i] for i in range(prod(shape))}
            found = traced.graph.evaluate(nodes, numbers)
            columns = iter([np.broadcast_to(x, batch) for x in found])
            return [
                np.stack([next(columns) for _ in entries], axis=-1).reshape(*batch, *shape)
                for entries, shape in zip(traced.outputs, computation.outputs, strict=True)
            ]

        return run


class Exported(Differentiable):
    """A computation on a machine, as a function that takes any numbers for q.

    Attributes:
        names: of the arguments.
    """

    def __init__(self, computation: Computation, model: Model, make_code: Callable):
        super().__init__(ByEntries(computation, model), model, make_code)
        self.base, self.names = computation, tuple(computation.inputs)

    def _code(self) -> Run:
        code, place = self._compiled(self.base), self.names.index(CONFIGURATION)

        def run(*arrays: np.ndarray) -> Any:
            q = with_unit_quaternions(self.model, arrays[place])
            return code(*arrays[:place], q, *arrays[place + 1 :])

        return run

    def placed(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """All arguments in their order; InputError for those that are unknown or missing."""
        if len(arguments) > len(self.names):
            raise InputError(
                f"{len(arguments)} arguments for `{self.base.doc}`; expected "
                f"{', '.join(self.names)}"
            )
        values = dict(zip(self.names, arguments, strict=False))
        for name, value in named.items():
            if name in values:
                raise InputError(f"{name} is given twice, by place and by name")
            if name not in self.names:
                raise InputError(
                    f"`{self.base.doc}` has no argument {name!r}; {name_choices(name, self.names)}"
                )
            values[name] = value
        missing = [name for name in self.names if name not in values]
        if missing:
            raise InputError(f"`{self.base.doc}` needs {', '.join(missing)}")
        return [values[name] for name in self.names]

    def aligned(self, shapes: Sequence[Shape]) -> list[Shape]:
        """Shapes of arguments with as many axes of batch in each; InputError if they do not fit."""
        batches: dict[str, Shape] = {}
        for name, shape, core in zip(self.names, shapes, self.shapes, strict=True):
            split = len(shape) - len(core)
            if split < 0 or shape[split:] != core:
                expected = "(*batch" + "".join(f", {n}" for n in core) + ")"
                raise InputError(
                    f"{name} has shape {tuple(shape)}; expected {expected} for `{self.base.doc}` "
                    f"on {self.model.name!r}"
                )
            batches[name] = shape[:split]
        axes = len(broadcast(batches))
        each = zip(batches.values(), self.shapes, strict=True)
        return [((1,) * (axes - len(batch)) + batch + core) for batch, core in each]


class _Product(Differentiable):
    """The Jacobian of a function times a vector.

    Args:
        base: the function.
        by: its arguments that vary.
    """

    def __init__(self, base: Differentiable, by: By):
        names = tuple(base.computation.inputs)
        kind = self._kind(base.computation, base.model, tuple(names[i] for i in by))
        super().__init__(kind, base.model, base.make_code)
        self.base, self.by = base, by

    _kind: Callable[..., Computation]

    def _code(self) -> Run:
        return self._compiled(self.computation)

    @abstractmethod
    def transpose(self, places: By) -> tuple[Differentiable, By]:
        """What takes weights of the results to derivatives by arguments that it is linear in.

        Args:
            places: of these arguments, all behind those of the base.

        Returns:
            A function of the arguments of the base and the weights, and which of its results.
        """


class JacobianVectorProduct(_Product):
    """`J t`, linear in t: its transpose is `J* w`."""

    _kind = JacobianVector

    def transpose(self, places: By) -> tuple[Differentiable, By]:
        first = len(self.base.shapes)
        by = tuple(self.by[i - first] for i in places)
        return self.base.vjp(by), tuple(range(len(by)))


class VectorJacobianProduct(_Product):
    """`J* w`, linear in w: its transpose is `J t`."""

    _kind = VectorJacobian

    def transpose(self, places: By) -> tuple[Differentiable, By]:
        first = len(self.base.shapes)
        return self.base.jvp(self.by), tuple(i - first for i in places)
