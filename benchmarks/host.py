"""The computer and the versions that a run was made with."""

import os
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

import llvmlite.binding as llvm

from .native import compiler_version
from .peak import host_cpu

PACKAGES = ("numpy", "llvmlite", "pin", "mujoco", "casadi", "example-robot-data")


def describe() -> dict[str, str]:
    """What a reader must know to compare numbers with others."""
    major, minor, patch = llvm.llvm_version_info
    return {
        "processor": f"{processor()} (LLVM: {host_cpu()}), {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "C compiler": compiler_version(),
        "phipsi": f"{version('phipsi')}, LLVM {major}.{minor}.{patch}",
        "packages": ", ".join(f"{name} {version(name)}" for name in PACKAGES),
        "date": date.today().isoformat(),
    }


def processor() -> str:
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
