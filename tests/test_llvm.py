"""Text becomes machine code, for one processor or another, and goes when it is not needed."""

import ctypes
import gc
import re
import subprocess
import sys
import threading
import weakref

import llvmlite.binding
import numpy as np
import pytest
from hand_kernels import BASELINE
from numpy._core._multiarray_umath import __cpu_features__

from phipsi.backends import llvm
from phipsi.backends.llvm import Target, compile_module, current_target, forced
from phipsi.errors import BackendError

PLAIN = Target(BASELINE, "", 2)
ADD = "define i64 @add(i64 %x) nounwind {\n  %y = add i64 %x, NUMBER\n  ret i64 %y\n}\n"

on_x86 = pytest.mark.skipif(llvm.architecture() != "x86_64", reason="reads x86 code")


def run(code, name, *arguments):
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))
    return kind(code.address(name))(*arguments)


def scaled(width):
    """Reads some doubles, multiplies and adds, writes them."""
    kind = f"<{width} x double>"
    return f"""
define void @scaled(ptr %x, ptr %y) nounwind
    "prefer-vector-width"="512" "min-legal-vector-width"="512" {{
  %a = load {kind}, ptr %x, align 8
  %b = fmul contract {kind} %a, splat (double 3.0)
  %c = fadd contract {kind} %b, splat (double 1.5)
  store {kind} %c, ptr %y, align 8
  ret void
}}
"""


def subprocess_says(script, *arguments):
    """What a script prints, in a process of its own."""
    run = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, *arguments]
    result = subprocess.run(run, capture_output=True, text=True, timeout=1200)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


# -- targets ---------------------------------------------------------------------------------


def test_the_host_has_as_many_lanes_as_its_registers_hold():
    has = __cpu_features__
    expected = 8 if has.get("AVX512F") else 4 if has.get("AVX2") else 2
    assert Target.host().lanes == expected
    assert current_target() is Target.host()


def test_a_forced_target_holds_inside_the_block_and_in_this_thread_only():
    seen = []
    with forced(PLAIN):
        assert current_target() is PLAIN
        thread = threading.Thread(target=lambda: seen.append(current_target()))
        thread.start()
        thread.join()
        with forced(Target.host()):
            assert current_target() is Target.host()
        assert current_target() is PLAIN
    assert seen == [Target.host()]
    with pytest.raises(KeyError), forced(PLAIN):
        raise KeyError
    assert current_target() is Target.host()


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("target", [Target.host(), PLAIN], ids=["host", "baseline"])
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_code_of_any_width_runs_on_any_target(width, target, level):
    code = compile_module(scaled(width), target, level)
    x = np.arange(10.0)
    y = np.full(10, -1.0)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    kind(code.address("scaled"))(x.ctypes.data, y.ctypes.data)
    assert np.array_equal(y[:width], 3.0 * x[:width] + 1.5)
    assert np.all(y[width:] == -1.0)


@on_x86
def test_a_target_decides_which_instructions_are_used():
    registers = {
        Target("x86-64", "", 2): "xmm",
        Target("x86-64", "+avx", 4): "ymm",
        Target("x86-64-v4", "", 8): "zmm",
    }
    for target, widest in registers.items():
        text = llvm.assembly(scaled(8), target)
        assert max(re.findall(r"%([xyz]mm)", text)) == widest
    assert "vfmadd" in llvm.assembly(scaled(8), Target("x86-64-v4", "", 8))
    assert "vfmadd" not in llvm.assembly(scaled(8), Target("x86-64", "+avx", 8))


def test_no_machine_code_where_memory_cannot_be_executed(monkeypatch):
    def refuse():
        raise OSError(1, "not permitted")

    monkeypatch.setattr(llvmlite.binding, "check_jit_execution", refuse)
    llvm._initialize.cache_clear()
    with pytest.raises(BackendError, match=r"no machine code can run here.*not permitted"):
        compile_module(ADD.replace("NUMBER", "1"), PLAIN)


# -- lifetime --------------------------------------------------------------------------------


def test_code_calls_its_own_functions_and_data_and_those_of_the_process():
    text = """
@count = internal global i64 40
declare i64 @labs(i64)
define internal i64 @next(i64 %x) noinline nounwind {
  %old = load i64, ptr @count
  %new = add i64 %old, %x
  store i64 %new, ptr @count
  ret i64 %new
}
define i64 @sum(i64 %x) nounwind {
  %y = call i64 @labs(i64 %x)
  %z = call i64 @next(i64 %y)
  ret i64 %z
}
"""
    code = compile_module(text, Target.host())
    assert [run(code, "sum", x) for x in (-1, 1, -5)] == [41, 42, 47]
    other = compile_module(text, Target.host())
    assert run(other, "sum", 0) == 40


def polynomial(count):
    """Powers of a number, all of them, then their sum."""
    powers = [f"  %a{k + 1} = fmul double %a{k}, %x\n" for k in range(count)]
    sums = [f"  %s{k + 1} = fadd double %s{k}, %a{count - k}\n" for k in range(count)]
    body = "".join(["  %a0 = fadd double 0.0, 1.0\n", *powers, "  %s0 = fadd double 0.0, 1.0\n"])
    body += "".join(sums) + f"  ret double %s{count}\n"
    return f"define double @total(double %x) nounwind {{\n{body}}}\n"


def test_code_in_the_order_of_its_text_leaves_the_scheduler_to_others():
    """LLVM has one switch for the whole process: it is as it was, after a fault too."""
    text, target = polynomial(100), Target.host()
    scheduled = llvm.compile_object(text, target, kept=False)
    in_order = llvm.compile_object(text, target, kept=False, in_order=True)
    assert in_order != scheduled  # a hundred powers do not fit into registers
    with pytest.raises(RuntimeError):
        llvm.compile_object(text.replace("@total", "@total @total"), target, in_order=True)
    assert llvm.compile_object(text, target, kept=False) == scheduled
    for file in (scheduled, in_order):
        code = llvm.Code(file, target)
        total = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.address("total"))
        assert total(2.0) == 2.0**101 - 1.0


def test_text_with_a_fault_raises_and_the_next_one_compiles():
    for text in ("define", "define i64 @f() {\n  ret i64 %x\n}\n"):
        with pytest.raises(RuntimeError):
            compile_module(text, Target.host())
    code = compile_module(ADD.replace("NUMBER", "3"), Target.host())
    assert run(code, "add", 4) == 7
    with pytest.raises(AssertionError, match="no function 'subtract'"):
        code.address("subtract")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_of_code_is_unmapped_when_the_code_goes():
    def is_mapped(address):
        with open("/proc/self/maps") as maps:
            ranges = [[int(x, 16) for x in line.split()[0].split("-")] for line in maps]
        return any(start <= address < end for start, end in ranges)

    code = compile_module(ADD.replace("NUMBER", "1"), Target.host())
    seen, address = weakref.ref(code), code.address("add")
    assert is_mapped(address)
    del code
    gc.collect()
    assert seen() is None
    assert not is_mapped(address)


LEAK = """
import resource
from phipsi.backends.llvm import Target, compile_module

def cycle(k):
    constants = [f"{k}.{i:03d}" for i in range(100)]
    lines = [f"%x{i + 1} = fadd double %x{i}, {c}" for i, c in enumerate(constants)]
    body = "\\n".join(lines)
    text = f"define double @f{k}(double %x0) nounwind {{\\n{body}\\nret double %x100\\n}}"
    compile_module(text, Target.host()).address(f"f{k}")

for k in range(100):
    cycle(k)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for k in range(100, 500):
    cycle(k)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="reads the memory in use by getrusage")
def test_hundreds_of_compilations_leave_nothing_behind():
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(subprocess_says(LEAK)) * unit < 3e6


# -- threads and processes -------------------------------------------------------------------


def test_threads_compile_at_once():
    results = {}

    def work(k):
        for i in range(10):
            number = 100 * k + i
            code = compile_module(ADD.replace("NUMBER", str(number)), Target.host())
            results[number] = run(code, "add", 1)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {100 * k + i: 100 * k + i + 1 for k in range(4) for i in range(10)}


FORK = """
import ctypes, os, threading
from phipsi.backends.llvm import Target, compile_module

def compiled(n):
    lines = [f"%x{i + 1} = add i64 %x{i}, {i % 7}" for i in range(n)]
    text = "define i64 @f(i64 %x0) {\\n" + "\\n".join(lines) + f"\\nret i64 %x{n}\\n}}"
    code = compile_module(text, Target.host())
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("f"))(0)

stop = threading.Event()
def work():
    while not stop.is_set():
        compiled(300)

thread = threading.Thread(target=work)
thread.start()
results = []
for _ in range(10):
    child = os.fork()
    if not child:
        os._exit(compiled(10))
    results.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
thread.join()
print(results == [sum(i % 7 for i in range(10))] * 10)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_child_process_compiles_even_if_forked_during_a_compilation():
    assert subprocess_says(FORK) == "True"
