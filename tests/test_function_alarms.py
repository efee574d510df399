"""States of which machine code complains: computed again, and no others."""

import numpy as np
import pytest
from test_function import FALL, llvm, numpy
from test_function_errors import gimbals

from phipsi.function import function as functions
from phipsi.operators import Mass, beta

KINETIC = 0.5 * (beta.T @ Mass @ beta)


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("unroll", [True, False])
def test_only_states_that_alarm_are_computed_again(monkeypatch, unroll, dtype):
    """By the interpreter, of single precision by double: here since they are nearly too large."""
    model = gimbals()
    function = llvm(model, [FALL, KINETIC], unroll=unroll, dtype=dtype)
    rng = np.random.default_rng(3)
    q, v, forces = rng.uniform(-1.0, 1.0, size=(3, 4, 50, 3))
    plain = function(q, v, forces)
    forces[1, 7] = forces[3, 49] = 0.8e60 if dtype is float else 0.8e9
    exact = numpy(model, [FALL, KINETIC])(q, v, forces)
    evaluated = []
    interpret = functions.evaluate

    def counted(program, machine, inputs):
        evaluated.append(inputs.batch)
        return interpret(program, machine, inputs)

    monkeypatch.setattr(functions, "evaluate", counted)
    results = function(q, v, forces)
    assert all((x == y)[0].all() for x, y in zip(results, plain, strict=True))
    close = 1e-10 if dtype is float else 2e-5
    for n in np.ndindex(4, 50):
        for found, right in zip(results, exact, strict=True):
            assert np.abs(found[n] - right[n]).max() <= close * (1.0 + np.abs(right[n]).max())
    assert evaluated == ([(2,)] if dtype is float else [])
    alone = function(q[1, 7], v[1, 7], forces[1, 7])
    assert all(np.array_equal(x, y[1, 7]) for x, y in zip(alone, results, strict=True))
    rows = np.empty((4, 50, 3), dtype), np.empty((4, 50), dtype)
    function(q, v, forces, out=rows)
    assert all(map(np.array_equal, rows, results))
