"""What was made with much thought, kept on disk as a whole: programs, and compiled functions.

Found again, no expression is lowered for it and no graph traced. What is kept depends on
phipsi's sources, on Python's version, and on a key; without one it is made anew. It is
data, in which nothing can be run (`phipsi.backends.disk.encoding`), and read only after its
seal was found right (`phipsi.backends.disk.storage`): the machine code in it will run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from phipsi.backends.disk import cache
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.encoding import NotStorableError, decode, encode
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
        return encode(fresh[0])

    try:
        payload = cache.made_once(kind, digest(sources, sys.version_info[:2], key), made)
    except NotStorableError:  # as of functions of the user's
        return fresh[0]
    if fresh:
        return fresh[0]
    try:
        return decode(payload)
    except Exception:  # costs time, nothing else
        return make()
