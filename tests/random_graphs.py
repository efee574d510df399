"""Random programs of one number at a time, to be run on any kind of scalar.

A program is a list of steps (operation, places of its operands). Run on leaves
it appends one value per step, so that values are used again and again.
"""

import numpy as np
from hypothesis import strategies as st

from phipsi import scalars

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 3.0, 1e300, -1e300, 1e-300, 5e-324, 2.0**1023]

# On any scalar.
OPERATIONS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "sin": scalars.sin,
    "cos": scalars.cos,
    "sqrt": scalars.sqrt,
    "exp": scalars.exp,
    "arctan": scalars.arctan,
    "abs": scalars.absolute,
    "arctan2": scalars.arctan2,
    "min": scalars.minimum,
    "max": scalars.maximum,
    "where": lambda a, b, x, y: scalars.where(scalars.less(a, b), x, y),
}

# On np.float64, by NumPy alone.
BY_NUMPY = OPERATIONS | {
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "arctan": np.arctan,
    "abs": np.abs,
    "arctan2": np.arctan2,
    "min": np.minimum,
    "max": np.maximum,
    "where": lambda a, b, x, y: x if a < b else y,
}

# Functions that stay smooth and small, so that derivatives of derivatives do.
TAME = OPERATIONS | {
    "div": lambda x, y: x / (1.0 + y * y),
    "sqrt": lambda x: scalars.sqrt(1.0 + x * x),
    "exp": lambda x: scalars.exp(scalars.sin(x)),
    "arctan2": lambda y, x: scalars.arctan2(y, 2.0 + x * x),
}

ARITY = {"neg": 1, "sin": 1, "cos": 1, "sqrt": 1, "exp": 1, "arctan": 1, "abs": 1, "where": 4}


@st.composite
def programs(draw, leaves, operations=tuple(OPERATIONS), most=12):
    """Steps that start from so many leaves."""
    steps = []
    for n in range(leaves, leaves + draw(st.integers(1, most))):
        op = draw(st.sampled_from(operations))
        steps.append((op, *(draw(st.integers(0, n - 1)) for _ in range(ARITY.get(op, 2)))))
    return steps


def run(program, leaves, operations=OPERATIONS):
    """All values, those of the leaves first."""
    values = list(leaves)
    for op, *places in program:
        values.append(operations[op](*(values[i] for i in places)))
    return values
