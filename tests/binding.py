"""Functions bound to arrays: those of the hand kernels, and compiled ones from below `Function`."""

from functools import partial

from phipsi.backends.bound import make_bound
from phipsi.backends.buffers import Buffers
from phipsi.backends.real import REALS


def bind(function, *arrays, out=None):
    """A function bound to arrays, in the order in which machine code takes them."""
    code = function._only_code("bound function")
    plan, names = code.plan, function._order
    shapes = dict(zip(names, plan.inputs, strict=True))
    given = dict(zip(names, arrays, strict=True))
    outputs = out if out is None or isinstance(out, tuple) else (out,)
    buffers = Buffers(shapes, given, plan.outputs, outputs, function.dtype)
    return make_bound(
        plan,
        code.single,
        work=code.work,
        tables=code.tables,
        target=plan.target,
        buffers=buffers,
        fallback=partial(function._carefully, (), given, out=buffers.outputs),
        result=buffers.outputs if function._several else buffers.outputs[0],
        name=code.name,
        doc=code.doc,
    )


class Careful:
    """The careful way of a bound function that says so, and counts."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return "carefully"


def bound_of(plan, arrays, out=None, careful=None, kernel=None, **more):
    """A hand kernel bound to arrays."""
    kind = REALS[plan.target.real].dtype
    names = [f"x{k}" for k in range(len(arrays))]
    shapes = dict(zip(names, plan.inputs, strict=True))
    given = dict(zip(names, arrays, strict=True))
    buffers = Buffers(shapes, given, plan.outputs, out, kind)
    words = {"work": 0, "tables": 0, "name": "bound", "doc": "Bound.", **more}
    return make_bound(
        plan,
        plan.keep.address("single") if kernel is None else kernel,
        target=plan.target,
        buffers=buffers,
        fallback=Careful() if careful is None else careful,
        result=buffers.outputs if len(plan.outputs) > 1 else buffers.outputs[0],
        **words,
    )
