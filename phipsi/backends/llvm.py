"""LLVM IR as text becomes machine code in memory.

Each module is parsed in a context of its own, since LLVM keeps the constants of
a context until the context dies, and is turned into an object file, from which
the code is loaded. So nothing of the IR stays behind, and what was loaded goes
when its `Code` goes. Object files are kept on disk, for the next process (see
`cache`). LLVM's optimisation passes are left out: they add nothing to straight
code without repetitions.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import RLock
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from phipsi.backends.disk import cache
from phipsi.backends.disk.digest import digest
from phipsi.backends.real import REALS
from phipsi.errors import BackendError

# One thread at a time compiles, and llvmlite lets one thread at a time into LLVM. A child process
# that is forked while another thread does would wait for their locks forever: so a fork waits
# first, in the order in which a thread that compiles takes the locks.
compiling = RLock()
_locks = [x for x in (compiling, getattr(llvm.ffi.lib, "_lock", None)) if x is not None]


def _enter() -> None:
    for lock in _locks:
        lock.__enter__()


def _leave() -> None:
    for lock in reversed(_locks):
        lock.__exit__(None, None, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_enter, after_in_parent=_leave, after_in_child=_leave)


@dataclass(frozen=True)
class Target:
    """What code is made for.

    Args:
        cpu: its name, as LLVM calls it.
        features: those it has and has not, such as "+avx2,-avx512f"; "" for those of the name.
        lanes: how many numbers one register holds, the width of a tile.
        real: what numbers are, as LLVM calls it: "double" or "float".
    """

    cpu: str
    features: str
    lanes: int
    real: str = "double"

    @property
    def bytes(self) -> int:
        """Of one number."""
        return REALS[self.real].bytes

    def of(self, real: str) -> Target:
        """The same processor, for numbers of this kind: a register holds twice as many floats."""
        if real == self.real:
            return self
        lanes = 2 * self.lanes if real == "float" else self.lanes // 2
        return replace(self, real=real, lanes=lanes)

    @staticmethod
    @lru_cache(maxsize=1)
    def host() -> Target:
        """The processor that this runs on."""
        has = llvm.get_host_cpu_features()
        lanes = 8 if has.get("avx512f") else 4 if has.get("avx2") else 2
        return Target(llvm.get_host_cpu_name(), has.flatten(), lanes)


_forced: ContextVar[Target | None] = ContextVar("_forced", default=None)


def current_target() -> Target:
    """The processor that this runs on, or what `forced` put in its place."""
    return _forced.get() or Target.host()


def find_target(real: str, lanes: int | None = None) -> Target:
    """The current one for numbers of a kind, and so many states side by side if it is told."""
    target = current_target().of(real)
    return target if lanes is None else replace(target, lanes=lanes)


@contextmanager
def forced(target: Target) -> Iterator[Target]:
    """Code that is made inside is made for this target; the host must be able to run it."""
    token = _forced.set(target)
    try:
        yield target
    finally:
        _forced.reset(token)


class Code:
    """Machine code in memory, for as long as this object lives.

    Args:
        object_file: what `compile_object` made.
        target: what it was made for.
    """

    def __init__(self, object_file: bytes, target: Target):
        self.target = target
        context = llvm.create_context()
        module = llvm.parse_assembly("", context)
        self._engine = llvm.create_mcjit_compiler(module, _target_machine(target, 0))
        # Not at exit: a thread may still be inside.
        weakref.finalize(self, _free, self._engine, context).atexit = False
        with llvm.ObjectFileRef.from_data(object_file) as objects:
            self._engine.add_object_file(objects)
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function begins."""
        address = self._engine.get_function_address(name)
        assert address, f"no function {name!r} in this code"
        return address


def compile_module(text: str, target: Target, level: int = 2, *, kept: bool = True) -> Code:
    """Compile IR and load it.

    Args:
        text: of one module.
        target: what to make it for; the host must be able to run it.
        level: of optimisation in code generation, 0 to 3.
        kept: as in `compile_object`.
    """
    return Code(compile_object(text, target, level, kept=kept), target)


def compile_object(
    text: str, target: Target, level: int = 2, *, kept: bool = True, in_order: bool = False
) -> bytes:
    """Compile IR into an object file.

    Args:
        text: of one module.
        target: what to make it for.
        level: of optimisation in code generation, 0 to 3.
        kept: take it from the disk if it is there, and leave it there if not. False for texts that
            no other process will write again, such as those with addresses.
        in_order: instructions stay in the order of the text; else LLVM schedules them.
    """

    def compiled() -> bytes:
        with _parsed(text) as module, _scheduled(not in_order):
            return _target_machine(target, level).emit_object(module)

    if not kept:
        return compiled()
    asked = (target.cpu, target.features, target.lanes, target.real, level, in_order)
    return cache.made_once("object", digest(text, llvm_version(), asked), compiled)


def llvm_version() -> tuple:
    """What compiles: versions, and the family of processors."""
    return (llvm.llvm_version_info, llvmlite.__version__, llvm.get_process_triple())


def assembly(text: str, target: Target, level: int = 2) -> str:
    """The same code for a reader: what the assembler would be given."""
    with _parsed(text) as module:
        return _target_machine(target, level).emit_assembly(module)


def architecture() -> str:
    """The family of processors this runs on, such as x86_64 or aarch64."""
    return llvm.get_triple_parts(llvm.get_process_triple()).Arch


@contextmanager
def _parsed(text: str) -> Iterator[Any]:
    """A module that is sound."""
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        module.verify()
        yield module


@contextmanager
def _scheduled(wanted: bool) -> Iterator[None]:
    """Inside, LLVM's scheduler runs before registers are given out, or does not.

    LLVM has one switch for the whole process. Others who compile meanwhile get code that is as
    right as theirs.
    """
    with compiling:
        if not wanted:
            llvm.set_option("phipsi", "--enable-misched=0")
        try:
            yield
        finally:
            if not wanted:
                llvm.set_option("phipsi", "--enable-misched=1")


def _target_machine(target: Target, level: int) -> Any:
    _initialize()
    family = llvm.Target.from_triple(llvm.get_process_triple())
    return family.create_target_machine(target.cpu, target.features, opt=level, jit=True)


@lru_cache(maxsize=1)
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    try:
        llvm.check_jit_execution()
    except OSError as error:
        raise BackendError(f"no machine code can run here: {error}") from error


def _free(engine: Any, context: Any) -> None:
    """The engine before the context in which its module lives."""
    engine.close()
    context.close()
