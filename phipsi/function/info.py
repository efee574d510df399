"""What a function costs, and how it is run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Info:
    """What one call of a function costs for one state, and how it is run.

    Args:
        flops: sums, products, quotients and square roots.
        sincos: sines and cosines.
        sweeps: loops over the bodies; None of a derivative, which has none of its own.
        stored_per_body: numbers kept between the loops; None of a derivative without loops.
        nodes: operations of the machine code, of all kinds; None without.
        lanes: states that it computes side by side; None without.
        path: "unrolled" or "rolled" machine code, or "interpreter".
        compile_seconds: that machine code took to make; None without.
    """

    flops: int
    sincos: int
    sweeps: int | None
    stored_per_body: float | None
    nodes: int | None = None
    lanes: int | None = None
    path: str = "interpreter"
    compile_seconds: float | None = None
