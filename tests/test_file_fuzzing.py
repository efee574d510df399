"""Mutated files of every format: a machine or a ModelError, in bounded memory."""

import math
import signal
import tracemalloc
import xml.etree.ElementTree as ET
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
    if file.suffix == ".urdf":
        check_nothing_is_lost(file, model)


def check_nothing_is_lost(file: Path, model: pp.Model) -> None:
    """Every link of a URDF file is in its machine with its mass, as another parser counts them."""
    try:
        links = ET.fromstring(file.read_bytes()).findall("link")
    except ET.ParseError:  # it minds namespaces
        return
    names = {body.name for body in model.bodies} | {frame.name for frame in model.frames}
    missing = {link.get("name") for link in links} - names
    assert missing <= {"world"}  # which is the world, or is called something else
    renamed = len(names) - (len(links) - len(missing))
    assert len(missing) == renamed or (missing == {"world"} and renamed == 0)
    masses = [float(mass.get("value")) for link in links for mass in link.findall("inertial/mass")]
    assert math.isclose(model.mass, sum(masses), rel_tol=1e-9)


def test_loss_is_seen(tmp_path):
    """The check fails for a machine that is without one of the links of its file."""
    file = tmp_path / "seed.urdf"
    file.write_bytes(SEEDS[".urdf"][0])
    model = pp.load(file)
    check_nothing_is_lost(file, model)
    file.write_bytes(file.read_bytes().replace(b"</robot>", b'<link name="more"/></robot>'))
    with pytest.raises(AssertionError):
        check_nothing_is_lost(file, model)
    file.write_bytes(SEEDS[".urdf"][0].replace(b'mass value="1"', b'mass value="3"'))
    with pytest.raises(AssertionError):
        check_nothing_is_lost(file, model)


@pytest.mark.parametrize("suffix", SEEDS)
def test_the_seeds_are_machines(suffix, tmp_path):
    """Mutations of what is refused anyway would show nothing."""
    for k, text in enumerate(SEEDS[suffix]):
        file = tmp_path / f"{k}{suffix}"
        file.write_bytes(text)
        assert pp.load(file).bodies
