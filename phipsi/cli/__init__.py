"""The command `phipsi`: info, check, simulate, view, bench, cache, demo."""

from phipsi.cli.app import main

__all__ = ["main"]
