"""The test main of an exported header: stored states against stored results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import Template

import numpy as np

from phipsi.backends.exports.c_library import number
from phipsi.backends.job import Computation
from phipsi.lowering.trace import Trace

TOLERANCE = 1e-12  # of the largest number of a result
NUMBERS = 20_000  # stored at most, one state apart
STATES = 9  # a whole tile and one more

_MAIN = Template("""\
#ifdef ${NAME}_TEST_MAIN
#include <stdio.h>

/* The largest error of results so far, in parts of the largest number of each; they are cleared. */
static void ${name}_compare(const size_t states, const size_t size, double *found,
    const double *wanted, double *error)
{
    size_t i, s;
    for (s = 0; s < states; ++s, found += size, wanted += size) {
        double largest = 0.0;
        for (i = 0; i < size; ++i)
            if (fabs(wanted[i]) > largest)
                largest = fabs(wanted[i]);
        for (i = 0; i < size; ++i) {
            const double e = fabs(found[i] - wanted[i]) / (largest > 0.0 ? largest : 1.0);
            if (!(e <= *error))
                *error = e;
            found[i] = 0.0;
        }
    }
}

int main(void)
{
    ${arrays}
    double error = 0.0;
    size_t s, failed = 0;
    for (s = 0; s < ${states}; ++s)
        failed += ${name}(${one}) != 0;
    ${compare}
    failed += ${name}_batch(${states}, ${batch});
    ${compare}
    printf("${name}: ${states} states, %u failed, largest error %.1e\\n", (unsigned)failed, error);
    return failed == 0 && error <= ${tolerance} ? 0 : 1;
}
#endif
""")


def write_main(
    name: str,
    arguments: Mapping[str, np.ndarray],
    results: Mapping[str, np.ndarray],
    brought: tuple[bool, bool],
) -> str:
    """A main that runs stored states, one by one and as a batch.

    Args:
        name: of the function.
        arguments: by their names in C, one row per state.
        results: likewise.
        brought: whether the function, and its batch, are given room to work in.
    """
    NAME = name.upper()
    states = len(next(iter(results.values())))
    sizes = {x: f"{NAME}_SIZE_{x.upper()}" for x in (*arguments, *results)}
    arrays = [f"static const double {x}[] = {_listed(a)};" for x, a in arguments.items()]
    arrays += [f"static const double wanted_{x}[] = {_listed(a)};" for x, a in results.items()]
    arrays += [f"static double {x}[{states} * {sizes[x]}];" for x in results]
    if any(brought):
        arrays.append(f"static double work[{NAME}_BATCH_WORK];")
    compare = []
    for x in results:
        compare.append(f"{name}_compare({states}, {sizes[x]}, {x}, wanted_{x}, &error);")
    one = [f"{x} + s * {size}" for x, size in sizes.items()]
    return _MAIN.substitute(
        name=name,
        NAME=NAME,
        arrays="\n    ".join(arrays),
        states=states,
        one=", ".join([*one, *(["work"] if brought[0] else [])]),
        batch=", ".join([*sizes, *(["work"] if brought[1] else [])]),
        compare="\n    ".join(compare),
        tolerance=number(TOLERANCE),
    )


def stored_states(states: Mapping[str, np.ndarray], numbers: int) -> dict[str, np.ndarray]:
    """As many of the states as make no long file, `numbers` being those of one state."""
    count = min(max(NUMBERS // max(numbers, 1), 1), STATES)
    return {key: np.asarray(rows)[:count] for key, rows in states.items()}


def stored_results(
    computation: Computation, traced: Trace, states: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    """What the graph gives for states, by NumPy: one array per result, one row per state."""
    count = len(next(iter(states.values())))
    keyed: dict[tuple[str, int], np.ndarray] = {}
    for key in computation.inputs:
        rows = np.reshape(states[key], (count, -1))
        keyed |= {(key, e): rows[:, e] for e in range(rows.shape[1])}
    flat = [x for entries in traced.outputs for x in entries]
    values = iter(traced.graph.evaluate(flat, keyed))
    return [
        np.stack([np.broadcast_to(next(values), count) for _ in entries], axis=1)
        for entries in traced.outputs
    ]


def _listed(rows: np.ndarray) -> str:
    return "{" + ", ".join(_lines(rows)) + "}"


def _lines(rows: np.ndarray) -> Iterable[str]:
    for row in rows:
        yield "\n        " + ", ".join(map(number, np.ravel(row)))
