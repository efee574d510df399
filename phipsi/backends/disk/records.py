"""What was made with much thought, kept on disk as a whole: programs, and compiled functions.

Found again, no expression is lowered for it and no graph traced. What is kept depends on
phipsi's sources, on Python's version, and on a key; without one it is made anew. It is
pickled: read only after the file was found to be of this user, writable by no one else,
and whole (`phipsi.backends.disk.storage`), as Python reads its own compiled files.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from phipsi.backends.disk import cache
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.sources import sources_digest

Made = TypeVar("Made")


def kept(kind: str, key: Any, make: Callable[[], Made]) -> Made:
    """What `make` returned when it was last called with this key, or returns now.

    Args:
        kind: a word in small letters.
        key: in parts that a digest takes: what the result depends on, beside phipsi itself;
            None for what must not be kept.
        make: what to do if nothing is found; its errors are not kept.
    """
    if key is None or cache.store() is None:
        return make()
    sources = sources_digest()
    if sources is None:
        return make()
    fresh: list[Made] = []

    def made() -> bytes:
        fresh.append(make())
        return pickle.dumps(fresh[0], pickle.HIGHEST_PROTOCOL)

    try:
        payload = cache.made_once(kind, digest(sources, sys.version_info[:2], key), made)
    except pickle.PicklingError:  # of functions that have no name in a module
        return fresh[0]
    if fresh:
        return fresh[0]
    try:
        return pickle.loads(payload)
    except Exception:  # costs time, nothing else
        return make()
