"""The command `phipsi`: info, simulate, view, bench, demo."""

from phipsi.cli.app import main

__all__ = ["main"]
