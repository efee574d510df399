"""How fast this core is at most: its FMA peak, measured in the same run as the rest.

The loop is LLVM's machine code: chains of fused multiply-adds that do not wait for each other,
enough of them to fill every pipe, and nothing else.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import llvmlite.binding as llvm

CHAINS = 12  # 2 pipes x 4 or 5 cycles of latency are 8 or 10; with two factors 14 of 16 registers
LINKS = 8  # of each chain in one turn of the loop
TURNS = 1_000
LANES = (1, 4, 8)


@dataclass(frozen=True)
class Peak:
    """A loop of fused multiply-adds: `run` does `flops`, two for each lane of each of them."""

    lanes: int
    run: Callable[[], object]
    flops: int
    engine: Any  # owns the code


def make_peak(lanes: int) -> Peak:
    """The loop for a number of lanes."""
    engine = _compile(_loop(lanes))
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64)(engine.get_function_address("peak"))
    return Peak(lanes, partial(function, TURNS), 2 * lanes * CHAINS * LINKS * TURNS, engine)


def host_cpu() -> str:
    """The kind of processor, as LLVM calls it."""
    return llvm.get_host_cpu_name()


def _loop(lanes: int) -> str:
    """x = a x + a in every chain, a = 1/2: x stays near 1, and volatile, so it is not folded."""
    number, fma, half = "double", "llvm.fma.f64", "0.5"
    if lanes > 1:
        number, fma = f"<{lanes} x double>", f"llvm.fma.v{lanes}f64"
        half = f"<{', '.join(['double 0.5'] * lanes)}>"
    chains, align = range(CHAINS), 8 * lanes
    starts = [f"  %x{c}_0 = phi {number} [ %a, %entry ], [ %x{c}_{LINKS}, %loop ]" for c in chains]
    links = [
        f"  %x{c}_{k + 1} = call {number} @{fma}({number} %x{c}_{k}, {number} %a, {number} %a)"
        for k in range(LINKS)
        for c in chains
    ]
    ends = [f"  store volatile {number} %x{c}_{LINKS}, ptr @x, align {align}" for c in chains]
    return "\n".join(
        [
            f"@a = internal global {number} {half}",
            f"@x = internal global {number} {half}",
            f"declare {number} @{fma}({number}, {number}, {number})",
            "define void @peak(i64 %turns) {",
            "entry:",
            f"  %a = load volatile {number}, ptr @a, align {align}",
            "  br label %loop",
            "loop:",
            "  %turn = phi i64 [ 0, %entry ], [ %next, %loop ]",
            *starts,
            *links,
            "  %next = add i64 %turn, 1",
            "  %more = icmp ult i64 %next, %turns",
            "  br i1 %more, label %loop, label %done",
            "done:",
            *ends,
            "  ret void",
            "}",
        ]
    )


def _compile(text: str) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text, llvm.create_context())
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    engine = llvm.create_mcjit_compiler(module, target)
    engine.finalize_object()
    return engine
