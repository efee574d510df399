"""Mutated files of every format: a machine or a ModelError, in bounded memory."""

import signal
import tracemalloc
from contextlib import contextmanager
from pathlib import Path

import pytest
from file_seeds import SEEDS
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import mutated

import phipsi as pp

HANG = 60  # seconds for a file of a few kB, which takes milliseconds: then it will never end
ROOM = 64 * 2**20  # bytes, for a file of a few kB and what reads it


@contextmanager
def ending():
    """Turns a hang into a failure."""

    def give_up(*_):
        raise AssertionError("the file was being read for a minute")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(HANG)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("suffix", SEEDS)
@settings(deadline=None)
@given(data=st.data())
def test_a_mutated_file_is_a_machine_or_a_model_error(suffix, data, tmp_path_factory):
    file = tmp_path_factory.getbasetemp() / f"mutated{suffix}"
    file.write_bytes(data.draw(mutated(SEEDS[suffix])))
    strict = data.draw(st.booleans())
    tracemalloc.start()
    try:
        with ending():
            check_answer(file, strict)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < ROOM


def check_answer(file: Path, strict: bool) -> None:
    """A machine with its report, or an error that names the file."""
    try:
        model = pp.load(file, strict=strict)
    except pp.ModelError as error:
        assert str(error).startswith(f"{file}:")
        return
    assert len(model.report) > 0
    assert repr(model)


@pytest.mark.parametrize("suffix", SEEDS)
def test_the_seeds_are_machines(suffix, tmp_path):
    """Mutations of what is refused anyway would show nothing."""
    for k, text in enumerate(SEEDS[suffix]):
        file = tmp_path / f"{k}{suffix}"
        file.write_bytes(text)
        assert pp.load(file).bodies
