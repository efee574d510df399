"""The test main of an exported header: stored states against stored results.

How far both may differ follows from the graph: it is run again with every number that
it rounds moved by an ulp, up or down by chance. Where a state is badly conditioned
these runs differ much, and so may what compilers make of the same code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from string import Template

import numpy as np

from phipsi.backends.exports.c_library import number
from phipsi.backends.job import Computation
from phipsi.lowering.trace import Trace
from phipsi.scalars import HUGE

TOLERANCE = 1e-12  # at least allowed, of the largest number of a result
SAMPLES = 8  # runs in which every number is rounded otherwise
MARGIN = 4.0  # times what these differ by; compilers change less, but not by chance
NUMBERS = 20_000  # stored at most, one state apart
STATES = 9  # a whole tile and one more

_MAIN = Template("""\
#ifdef ${NAME}_TEST_MAIN
#include <stdio.h>

/* How many numbers of results are wrong; they are cleared. Errors are in parts of the largest
   number of a result. The worst so far is kept, and beside it what rounding allows there. */
static size_t ${name}_compare(const size_t states, const size_t size, double *found,
    const double *wanted, const double *allowed, double *worst)
{
    size_t i, s, wrong = 0;
    for (s = 0; s < states; ++s, found += size, wanted += size) {
        double largest = 0.0;
        for (i = 0; i < size; ++i)
            if (fabs(wanted[i]) > largest)
                largest = fabs(wanted[i]);
        for (i = 0; i < size; ++i) {
            const double error = fabs(found[i] - wanted[i]) / (largest > 0.0 ? largest : 1.0);
            if (!(error <= allowed[s]))
                ++wrong;
            if (!(error * worst[1] <= worst[0] * allowed[s])) {
                worst[0] = error;
                worst[1] = allowed[s];
            }
            found[i] = 0.0;
        }
    }
    return wrong;
}

int main(void)
{
    ${arrays}
    double worst[2] = {0.0, ${tolerance}};
    size_t s, failed = 0, wrong = 0;
    for (s = 0; s < ${states}; ++s)
        failed += ${name}(${one}) != 0;
    ${compare}
    failed += ${name}_batch(${states}, ${batch});
    ${compare}
    printf("${name}: ${states} states, %u failed, %u numbers wrong; "
        "rounding allows errors of %.1e, largest error %.1e\\n",
        (unsigned)failed, (unsigned)wrong, worst[1], worst[0]);
    return failed == 0 && wrong == 0 ? 0 : 1;
}
#endif
""")


@dataclass(frozen=True)
class Stored:
    """States, and what is right there.

    Args:
        arguments: of each one row per state, by the names that the computation has for them.
        results: one array per result, one row per state.
        allowed: of each result, state by state, the error that rounding explains, in parts of
            the largest number of the result.
    """

    arguments: Mapping[str, np.ndarray]
    results: Sequence[np.ndarray]
    allowed: Sequence[np.ndarray]


def write_main(
    name: str,
    stored: Stored,
    inputs: Mapping[str, str],
    outputs: Sequence[str],
    brought: tuple[bool, bool],
) -> str:
    """A main that runs stored states, one by one and as a batch.

    Args:
        name: of the function.
        stored: the states.
        inputs: the names of arguments in C, by their names here.
        outputs: the names of results in C.
        brought: whether the function, and its batch, are given room to work in.
    """
    NAME = name.upper()
    states = len(stored.results[0])
    sizes = {x: f"{NAME}_SIZE_{x.upper()}" for x in (*inputs.values(), *outputs)}
    tables = {x: stored.arguments[key] for key, x in inputs.items()}
    tables |= {f"wanted_{x}": a for x, a in zip(outputs, stored.results, strict=True)}
    tables |= {f"allowed_{x}": a for x, a in zip(outputs, stored.allowed, strict=True)}
    arrays = [f"static const double {x}[] = {_listed(a)};" for x, a in tables.items()]
    arrays += [f"static double {x}[{states} * {sizes[x]}];" for x in outputs]
    if any(brought):
        arrays.append(f"static double work[{NAME}_BATCH_WORK];")
    compare = []
    for x in outputs:
        given = f"{states}, {sizes[x]}, {x}, wanted_{x}, allowed_{x}, worst"
        compare.append(f"wrong += {name}_compare({given});")
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


def store_states(
    computation: Computation, traced: Trace, states: Mapping[str, np.ndarray], numbers: int
) -> Stored:
    """Those of the states that have a value, as many as make no long file; maybe none.

    Args:
        computation: what is exported.
        traced: its graph.
        states: of each argument one row per state.
        numbers: those of one state.
    """
    rows = {key: np.reshape(states[key], (len(states[key]), -1)) for key in computation.inputs}
    results, is_good = _evaluate(traced, rows)
    nearby = [
        _evaluate(traced, rows, _Rounding(np.random.default_rng(seed))) for seed in range(SAMPLES)
    ]
    with np.errstate(all="ignore"):
        is_good = np.all([is_good, *(good for _, good in nearby)], axis=0)
        is_good &= sum(np.sum(x * x, axis=1) for x in rows.values()) < HUGE * HUGE
    count = min(max(NUMBERS // max(numbers, 1), 1), STATES)
    kept = np.flatnonzero(is_good)[:count]
    wanted = [x[kept] for x in results]
    allowed = [
        _allowed(x, np.stack([near[i][kept] for near, _ in nearby])) for i, x in enumerate(wanted)
    ]
    return Stored({x: a[kept] for x, a in rows.items()}, wanted, allowed)


def _allowed(wanted: np.ndarray, nearby: np.ndarray) -> np.ndarray:
    """The error that rounding explains, state by state, in parts of the largest number.

    Args:
        wanted: (states, numbers).
        nearby: (samples, states, numbers), the same rounded otherwise.
    """
    largest = np.abs(wanted).max(axis=1, initial=0.0)
    with np.errstate(over="ignore"):
        moved = np.abs(nearby - wanted).max(axis=(0, 2), initial=0.0)
        moved /= np.where(largest > 0.0, largest, 1.0)
        return np.clip(MARGIN * moved, TOLERANCE, np.finfo(float).max)[:, None]


class _Rounding:
    """Moves every number that was rounded by an ulp or two, up or down."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng

    def __call__(self, x: np.ndarray) -> np.ndarray:
        signs = self._rng.integers(0, 2, np.shape(x)) * 2.0 - 1.0
        return np.asarray(x * (1.0 + np.finfo(float).eps * signs))


def _evaluate(
    traced: Trace, rows: Mapping[str, np.ndarray], rounded: _Rounding | None = None
) -> tuple[list[np.ndarray], np.ndarray]:
    """What the graph gives by NumPy, one row per state; and which states have a value."""
    count = len(next(iter(rows.values()), [()]))
    keyed = {(key, e): x for key, several in rows.items() for e, x in enumerate(several.T)}
    flat = [*chain(*traced.outputs), *traced.checks]
    with np.errstate(all="ignore"):
        values = iter(traced.graph.evaluate(flat, keyed, rounded))
    results = [
        np.stack([np.broadcast_to(next(values), count) for _ in entries], axis=1)
        for entries in traced.outputs
    ]
    is_good = np.ones(count, bool)
    for holds in values:
        is_good &= holds
    for result in results:
        is_good &= np.isfinite(result).all(axis=1)
    return results, is_good


def _listed(rows: np.ndarray) -> str:
    return "{" + ", ".join(_lines(rows)) + "}"


def _lines(rows: np.ndarray) -> Iterable[str]:
    for row in rows:
        yield "\n        " + ", ".join(map(number, np.ravel(row)))
