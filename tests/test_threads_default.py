"""How many threads: what users say, what the environment says, and what is refused."""

import os
import subprocess
import sys

import numpy as np
import pytest

import phipsi as pp
from phipsi.backends.parallel import workers
from phipsi.backends.parallel.workers import MOST, available_processors, get_threads, set_threads

WRONG = [0, -1, True, 1.0, 2.5, "two", "", "ALL", None, [2], MOST + 1, np.int64(2)]


@pytest.fixture
def default():
    before = get_threads()
    yield
    set_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 7, MOST])
def test_what_is_set_is_what_is_got(default, threads):
    set_threads(threads)
    assert get_threads() == threads


def test_all_is_as_many_as_this_process_has_processors(default):
    set_threads("all")
    expected = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert get_threads() == expected


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors cannot be chosen")
def test_processors_that_this_process_may_not_use_are_not_counted():
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert available_processors() == 1
    finally:
        os.sched_setaffinity(0, before)


def test_processors_are_counted_where_none_can_be_chosen(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert available_processors() == os.cpu_count()
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_processors() == 1


@pytest.mark.parametrize("threads", WRONG, ids=repr)
def test_what_is_no_number_of_threads_is_refused_and_changes_nothing(default, threads):
    set_threads(3)
    with pytest.raises(pp.InputError, match="threads: expected a whole number from 1 to 256"):
        set_threads(threads)
    assert get_threads() == 3


def test_the_error_says_what_was_given():
    with pytest.raises(pp.InputError) as error:
        set_threads("many")
    assert str(error.value) == (
        "threads: expected a whole number from 1 to 256, or 'all' for as many as there are "
        "processors, got 'many'"
    )


ASK = "from phipsi.backends.parallel.workers import get_threads; print(get_threads())"


def run(script, **environment):
    """What a script prints, or the last line of its error, with other variables."""
    variables = {k: v for k, v in os.environ.items() if k != workers.VARIABLE} | environment
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=variables, timeout=600
    )
    return result.stdout.strip() or result.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(("text", "threads"), [(None, 1), ("", 1), (" 5 ", 5), ("all", 0)])
def test_the_environment_says_how_many(text, threads):
    environment = {} if text is None else {workers.VARIABLE: text}
    assert run(ASK, **environment) == str(threads or available_processors())


@pytest.mark.parametrize("text", ["0", "two", "1.5"])
def test_nonsense_in_the_environment_is_refused_when_somebody_asks(text):
    said = run(ASK, PHIPSI_THREADS=text)
    assert "InputError: PHIPSI_THREADS: expected a whole number from 1 to 256" in said
    assert text in said
    assert run("import phipsi; print('imported')", PHIPSI_THREADS=text) == "imported"


def test_what_is_set_by_the_program_comes_before_the_environment():
    script = f"from phipsi.backends.parallel.workers import set_threads; set_threads(4); {ASK}"
    assert run(script, PHIPSI_THREADS="nonsense") == "4"


def test_functions_refuse_nonsense_in_the_environment():
    script = """
import phipsi as pp
from phipsi.operators import Mass
pp.compile(pp.chain(2), Mass, backend="llvm")([0.0, 0.0])
"""
    assert "InputError: PHIPSI_THREADS: expected" in run(script, PHIPSI_THREADS="none")
