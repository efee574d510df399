"""What is kept on disk between processes, and where.

    PHIPSI_CACHE        a directory, or "off"
    PHIPSI_CACHE_SIZE   how much it may hold, in MB; 512 if it is not set
    PHIPSI_CACHE_KEY    the file of the user's secret, by which it is sealed

They are read at each use. Without them the directory is `phipsi` where the system
keeps such things: in $XDG_CACHE_HOME or ~/.cache, on macOS in ~/Library/Caches, on
Windows in %LOCALAPPDATA%. The secret is `phipsi/cache.key` in $XDG_STATE_HOME or
~/.local/state, in ~/Library/Application Support, in %APPDATA%.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from functools import lru_cache

from phipsi.backends.disk.storage import Store
from phipsi.backends.disk.trust import complain

SIZE = 512  # MB
MEGABYTE = 1_000_000
OFF = ("off", "0", "no", "false")


def store() -> Store | None:
    """Where things are kept; None if nothing is to be kept, or nowhere.

    >>> import tempfile
    >>> from unittest import mock
    >>> with (
    ...     tempfile.TemporaryDirectory() as folder,
    ...     mock.patch.dict(os.environ, PHIPSI_CACHE=folder),
    ... ):
    ...     store().directory == folder
    True
    """
    place = directory()
    return None if is_off() or place is None else _store(place, bound(), secret_file())


def made_once(kind: str, key: bytes, make: Callable[[], bytes]) -> bytes:
    """What is kept, or what `make` returns, which is then kept; see `Store.made_once`.

    Args:
        kind: a word in small letters.
        key: a digest of all that the result of `make` depends on.
        make: what to do if there is nothing.
    """
    kept = store()
    return make() if kept is None else kept.made_once(kind, key, make)


def is_off() -> bool:
    """Whether the environment says that nothing is to be kept."""
    return _chosen().lower() in OFF or not bound()


def directory() -> str | None:
    """Where things are kept, or would be if it were not off; None for want of a home."""
    chosen = _chosen()
    if chosen and chosen.lower() not in OFF:
        return os.path.abspath(os.path.expanduser(chosen))
    return _of_system("LOCALAPPDATA", "~/Library/Caches", "XDG_CACHE_HOME", "~/.cache")


def secret_file() -> str | None:
    """The file of the user's secret; None for want of a home."""
    chosen = os.environ.get("PHIPSI_CACHE_KEY", "").strip()
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    mac = "~/Library/Application Support"
    place = _of_system("APPDATA", mac, "XDG_STATE_HOME", "~/.local/state")
    return None if place is None else os.path.join(place, "cache.key")


def _of_system(windows: str, mac: str, standard: str, otherwise: str) -> str | None:
    """Our directory among those of all programs: by names of the environment, and by paths."""
    if sys.platform == "win32":
        above = os.environ.get(windows, "")
    elif sys.platform == "darwin":
        above = os.path.expanduser(mac)
    else:
        above = os.environ.get(standard, "")
        if not os.path.isabs(above):  # as its standard says
            above = os.path.expanduser(otherwise)
    return os.path.join(above, "phipsi") if os.path.isabs(above) else None


def _chosen() -> str:
    """What the environment says."""
    return os.environ.get("PHIPSI_CACHE", "").strip()


def bound() -> int:
    """How much may be kept, bytes."""
    text = os.environ.get("PHIPSI_CACHE_SIZE", "").strip() or str(SIZE)
    try:
        size = float(text)
    except ValueError:
        size = math.nan
    if not 0.0 <= size < math.inf:
        complain("PHIPSI_CACHE_SIZE", f"{text!r} is no number of MB; {SIZE} is taken")
        size = SIZE
    return int(size * MEGABYTE)


@lru_cache(maxsize=8)
def _store(place: str, size: int, secret: str | None) -> Store:
    return Store(place, size, secret)
