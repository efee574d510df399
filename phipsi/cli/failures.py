"""How a command ends: its exit code, and one line that says what is wrong and what to do.

Where an expression cannot be read, the lines below it point at the place.

0     all is well
1     something is wrong with the machine, the numbers or the files, or answers differ
2     the command was not understood
130   interrupted by Ctrl-C
141   whoever read the output has closed the pipe
"""

from __future__ import annotations

import os
import re
import sys
import traceback

from cyclopts import CycloptsError

from phipsi.cleaning import visible, visible_lines
from phipsi.cli.screen import Screen
from phipsi.errors import PhipsiError

FINE, WRONG, MISUSED, INTERRUPTED, UNREAD = 0, 1, 2, 130, 141

POINTS = re.escape("points=[pp.point(...), ...]")
# What errors of the library call an option, and what it is called here.
OPTIONS = {
    r"\blosses=False\b": "--no-losses",
    r"\blimits=False\b": "--no-limits",
    r"\bevery=": "--every",
    r"\bmost_steps\b": "--most-steps",
    r"\ba larger tolerance\b": "a larger --tolerance",
    r"\braise the tolerance\b": "raise --tolerance",
    r"^tolerance is\b": "--tolerance is",
    r"\bmimic=[\"']independent[\"']": "--mimic independent",
    r"\bbase=[\"']free[\"']": "--base free",
    r"\b(?:with|by) strict=False\b": "without --strict",
    r"\bstrict=False leaves it out\b": "without --strict it is left out",
    r"(?:\bload\(\.\.\., )?\bpackages=(?:\[\.\.\.\]\)?)?": "--packages",
    r" Pass your own by symbols=\[\.\.\.\]|, or pass your own by symbols=\[\.\.\.\]": "",
    r"\. Name its parts, and pass them by symbols=\{\.\.\.\}": "",
    r"\bnotation=\"([\w-]+)\"": r"--notation \1",
    r"^notation: ": "--notation: ",
    r"\bbound=": "--bound ",
    r"\brewrite=True\b": "--rewrite",
    r"\bassume=": "--assume",
    r"\bpass a model\b": "name one by --model",
    r"\bfor numbers, pass (?:\w+=\.\.\., )*points=\.\.\.": "for numbers, name points by --at",
    rf"\bpass {POINTS} or write {re.escape('B(pp.point(...))')}": "name them by --at",
    rf"\bpass {POINTS}": "name points by --at",
}
PLACE = "\n  at column "  # begins what points at a place in the expression
INTEGRATORS = r"\bintegrator=('\w+'(?: or '\w+')*)"


def report(error: BaseException, debug: bool = False) -> int:
    """Say on standard error what went wrong.

    Args:
        error: what was raised.
        debug: show where, too.

    Returns:
        the exit code.

    >>> from phipsi.errors import InputError
    >>> report(InputError("duration is 0"))  # prints "error: duration is 0"
    1
    """
    if isinstance(error, OSError):
        _forget_output()
    if isinstance(error, BrokenPipeError):
        return UNREAD
    if debug and not isinstance(error, CycloptsError):
        sys.stderr.write(visible_lines("".join(traceback.format_exception(error))))
    line, code = _told(error)
    screen = Screen(stderr=True)
    screen.print(visible(line), soft_wrap=True, style="red")
    _, mark, place = str(error).partition(PLACE)
    if mark:
        screen.print(with_options(f"{mark[1:]}{place}"), soft_wrap=True, style="red")
    return code


def spoken(error: BaseException) -> str:
    """What an error says, in one line, with the options of the command line by their names.

    >>> spoken(ValueError("take integrator='euler' or 'midpoint', or losses=False"))
    'take --integrator euler or midpoint, or --no-losses'
    """
    said, _, _ = str(error).partition(PLACE)
    text = " ".join(line.strip() for line in said.splitlines())
    return text if isinstance(error, CycloptsError) else with_options(text)


def with_options(text: str) -> str:
    """A text of the library, with the options of the command line by their names.

    >>> with_options("name the directory by packages=, or load(..., packages=[...])")
    'name the directory by --packages, or --packages'
    """
    for said, option in OPTIONS.items():
        text = re.sub(said, option, text)
    return re.sub(INTEGRATORS, lambda found: "--integrator " + found[1].replace("'", ""), text)


def _told(error: BaseException) -> tuple[str, int]:
    text = spoken(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", INTERRUPTED
    if isinstance(error, CycloptsError):
        command = " ".join(("phipsi", *(error.command_chain or ())))
        return f"error: {text} See: {command} --help", MISUSED
    if isinstance(error, PhipsiError):
        return f"error: {text}", WRONG
    if isinstance(error, OSError):
        return f"error: the output cannot be written: {error.strerror or text}", WRONG
    if isinstance(error, MemoryError):
        return f"error: out of memory: {text or 'too many numbers'}; ask for fewer states", WRONG
    kind = type(error).__name__
    return f"error: {kind}: {text}; this is a bug of phipsi, and --debug shows where", WRONG


def _forget_output() -> None:
    """What is still to be written is written nowhere, so that nothing fails at the exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # there is no file behind it
        pass
