"""The parts of a run that have tables of their own, in the order of the page."""

from . import (
    calls,
    cold,
    control_loop,
    derivations,
    derivatives,
    exported_c,
    functions,
    loading,
    parameters,
    single_precision,
    threads,
)

SECTIONS = (
    control_loop.SECTION,
    functions.SECTION,
    calls.SECTION,
    threads.SECTION,
    single_precision.SECTION,
    parameters.SECTION,
    exported_c.SECTION,
    cold.SECTION,
    loading.SECTION,
    derivatives.SECTION,
    derivations.SECTION,
)
