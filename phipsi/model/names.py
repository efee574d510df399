"""Names that the parts of a machine are given where nobody gave them one."""

from __future__ import annotations

from collections.abc import Container, MutableSet

ROOT_JOINT = "root"  # the free joint that carries what hangs on nothing


def unused(name: str, taken: Container[str]) -> str:
    """The name, with a number if it is taken.

    Args:
        name: wanted.
        taken: the names that are not free.

    >>> unused("arm", {"arm", "arm_2"})
    'arm_3'
    """
    candidate, k = name, 2
    while candidate in taken:
        candidate, k = f"{name}_{k}", k + 1
    return candidate


def take(name: str, taken: MutableSet[str]) -> str:
    """The same; it is taken from now on."""
    found = unused(name, taken)
    taken.add(found)
    return found
