"""Plans, entries and arrays for the tests of entries and of bound functions."""

import numpy as np
from hand_kernels import kernel_text, make_plan, target, twice_plus_first

from phipsi.backends.entry import Callers, make_entry
from phipsi.backends.gufunc import Plan
from phipsi.backends.llvm import Target, compile_module

INPUTS, OUTPUTS = ((7,), (2,)), ((7,),)
SEVERAL = (((7,), (2,)), ((7,), (), (2, 2)))
SHAPES = [
    (((),), ((),)),
    (((1,),), ((1, 1),)),
    (((6,), (6,), (6,)), ((6,),)),
    (((7,), (6,)), ((6, 6),)),
    (((7,), (6,), ()), ((6,), ())),
    (((2, 3), (1, 4)), ((3, 2), (1,), (4, 4), ())),
    (((5,),) * 40, ((3,),) * 24),
]
BATCHES = (1, 2, 7, 8, 9, 33, 100)


def entry_of(plan, name="entry", doc="", kernel=None, **more):
    given = {"work": 0, "tables": 0, "target": Target.host(), **more}
    kernel = plan.keep.address("single") if kernel is None else kernel
    names = more.pop("names", None) or tuple(f"x{i}" for i in range(len(plan.inputs)))
    given = {"inputs": names, "callers": Callers(names), **given}
    return make_entry(plan, kernel, name=name, doc=doc, **given)


def plan_of(function=twice_plus_first, inputs=INPUTS, outputs=OUTPUTS, lanes=1, **more):
    return make_plan(function, inputs, outputs, target("host", lanes), **more)


def single_plan(function, inputs, outputs, lanes):
    """A plan of a hand kernel in single precision; its constants are exact there, too."""
    here = Target.host()
    here = Target(here.cpu, here.features, lanes, "float")
    text = ""
    for name, width in (("lanes", lanes), ("single", 1)):
        own = kernel_text(function, inputs, width, name).replace("double", "float")
        text += own.replace(f"align {8 * width}\n", f"align {4 * width}\n")
    code = compile_module(text, here)
    addresses = {name: code.address(name) for name in ("lanes", "single")}
    return Plan(here, inputs, outputs, few=1, keep=code, **addresses)


def ordinary_entry():
    """Of single states; four at a time of many."""
    return entry_of(plan_of(lanes=4), "twice_plus_first", "Twice x, plus the first of z.")


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


def with_entry(value, at=0):
    x = np.ones(7)
    x[at] = value
    return x


X, Z = np.ones(7), np.ones(2)
XS, ZS = np.ones((9, 7)), np.ones((9, 2))


def with_state(value, state, at=0):
    x = XS.copy()
    x[state, at] = value
    return x


# Says where everything lies: input, output, room to work in, tables. It fills the room.
PLACES = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define i64 @single(ptr %ins, ptr %outs, ptr %work, ptr %tables) nounwind {
  call void @llvm.memset.p0.i64(ptr %work, i8 -1, i64 BYTES, i1 false)
  %in = load ptr, ptr %ins, align 8
  %out = load ptr, ptr %outs, align 8
  %out.1 = getelementptr ptr, ptr %out, i64 1
  %out.2 = getelementptr ptr, ptr %out, i64 2
  %out.3 = getelementptr ptr, ptr %out, i64 3
  store ptr %in, ptr %out, align 8
  store ptr %out, ptr %out.1, align 8
  store ptr %work, ptr %out.2, align 8
  store ptr %tables, ptr %out.3, align 8
  ret i64 0
}
"""


def places_entry(code, work, tables):
    here = target("host", 1)
    plan = Plan(here, [(3,)], [(4,)], lanes=code.address("single"), work=work, keep=code)
    return entry_of(plan, "places", work=work, tables=tables)
