"""`pp.derive` says how far it is, on a terminal, and an interrupt leaves nothing half-done."""

import io
import re
import sys

import pytest

import phipsi as pp
from phipsi import progress as progress_bars
from phipsi.algebra.rewriting.normal import tidied
from phipsi.algebra.rewriting.search import Search
from phipsi.operators import B, D, H, J, Mass, T, psi

LINE = J @ Mass.inv @ J.T
GOAL = B.T @ psi.T @ H.T @ D.inv @ H @ psi @ B


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def watched(monkeypatch, stream):
    """A stream as standard error, which is told everything at once."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress_bars, "PATIENCE", 0.0)
    monkeypatch.setattr(progress_bars, "OFTEN", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return stream


@pytest.mark.parametrize("options", [{}, {"to": GOAL}, {"model": pp.chain(3)}], ids=str)
def test_terminals_are_shown_how_many_expressions_were_looked_at(monkeypatch, options):
    terminal = watched(monkeypatch, Terminal())
    pp.derive(LINE, **options)
    assert "deriving" in terminal.getvalue()
    assert re.search(r"\d+ expressions looked at", terminal.getvalue())


def test_who_does_not_want_it_is_shown_nothing(monkeypatch):
    terminal = watched(monkeypatch, Terminal())
    pp.derive(LINE, progress=False)
    assert terminal.getvalue() == ""


def test_pipes_and_notebooks_are_shown_nothing_unasked(monkeypatch):
    pipe = watched(monkeypatch, io.StringIO())
    pp.derive(LINE)
    assert pipe.getvalue() == ""
    pp.derive(LINE, progress=True)
    assert "expressions looked at" in pipe.getvalue()


def test_what_is_soon_done_is_done_quietly(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    pp.derive(Mass.inv @ Mass @ T)
    assert stream.getvalue() == ""


def test_an_interrupt_leaves_nothing_behind(monkeypatch):
    """The bar is closed, its cursor shown again; what was kept of expressions is forgotten."""
    terminal = watched(monkeypatch, Terminal())
    expected = pp.derive(LINE, progress=False)
    known = set(pp.identities())
    look, looked_at = Search.look_at_next, []

    def interrupt(search):
        looked_at.append(search)
        if len(looked_at) == 3:
            raise KeyboardInterrupt
        look(search)

    with monkeypatch.context() as patch:
        patch.setattr(Search, "look_at_next", interrupt)
        with pytest.raises(KeyboardInterrupt):
            pp.derive(LINE)
    assert "\x1b[?25h" in terminal.getvalue()
    assert tidied.cache_info().currsize == 0
    assert set(pp.identities()) == known
    assert pp.derive(LINE, progress=False) == expected
