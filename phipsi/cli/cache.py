"""`phipsi cache`: what is kept on disk."""

from __future__ import annotations

import os
import time
from typing import Annotated

from cyclopts import Parameter
from rich.table import Table

from phipsi.backends.disk.cache import MEGABYTE, bound, directory, is_off, secret_file
from phipsi.backends.disk.sources import sources_fault
from phipsi.backends.disk.storage import DAY, Entry, Store
from phipsi.cleaning import visible
from phipsi.cli.screen import Screen, facts, number, plural, table


def cache(*, clear: Annotated[bool, Parameter(negative=(), show_default=False)] = False) -> None:
    """Show what is kept on disk for the next process, or remove it.

    Args:
        clear: remove all files that phipsi keeps there, and no other.
    """
    screen, place = Screen(), directory()
    store = None if place is None else Store(place, bound(), secret_file())
    if clear:
        count, size = store.clear() if store else (0, 0)
        where = f" from {visible(place)}" if place else ""
        screen.print(f"removed {plural(count, 'file')}, {megabytes(size)}{where}", soft_wrap=True)
        return
    entries = store.entries() if store else []
    told = {
        "directory": place or "none",
        "key": secret_file() or "none",
        "used": used(store),
        "holds": f"{plural(len(entries), 'file')}, {megabytes(sum(x.size for x in entries))}",
        "bound": megabytes(bound()),
    }
    screen.print(facts(told))
    if entries:
        screen.print()
        screen.print(kinds(entries, time.time()))


def used(store: Store | None) -> str:
    """Whether things are kept, and if not, why not.

    Args:
        store: of the directory; None if there is no place for one.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, PHIPSI_CACHE="off"):
    ...     used(Store("/home/me/.cache/phipsi", 1000, None))
    'no: PHIPSI_CACHE is off'
    """
    if os.environ.get("PHIPSI_CACHE", "").strip().lower() == "off":
        return "no: PHIPSI_CACHE is off"
    if is_off():
        return "no: PHIPSI_CACHE_SIZE is 0"
    if store is None:
        return "no: there is no home directory; set PHIPSI_CACHE to a directory of your own"
    if fault := store.fault():
        return f"no: {fault.removeprefix('not used, since ')}"
    if fault := sources_fault():
        return f"for object files alone: {fault}"
    return "yes"


def kinds(entries: list[Entry], now: float) -> Table:
    """A row for each kind of things that are kept.

    Args:
        entries: all of them.
        now: seconds since the epoch.

    >>> Screen().print(kinds([Entry("a", "object", 2_500_000, 0.0)], 90_000.0))
    kind     files     size   used in the last day
    object       1   2.5 MB                      0
    """
    made = table("kind", "files", "size", "used in the last day")
    for kind in sorted({entry.kind for entry in entries}):
        some = [entry for entry in entries if entry.kind == kind]
        lately = sum(now - entry.used <= DAY for entry in some)
        size = megabytes(sum(entry.size for entry in some))
        made.add_row(kind, f"{len(some):,}", size, f"{lately:,}")
    return made


def megabytes(size: int) -> str:
    """Bytes in MB.

    >>> megabytes(512_000_000), megabytes(12_345), megabytes(0)
    ('512 MB', '0.01235 MB', '0 MB')
    """
    return f"{number(size / MEGABYTE)} MB"
