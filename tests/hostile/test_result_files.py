"""Trajectory files that are damaged, or made to do harm: an error that names them, and soon."""

import io
import os
import pickle
import random
import shutil
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from motions import refusal, waving

import phipsi as pp
from phipsi.errors import BackendError
from phipsi.simulate import untrusted
from phipsi.simulate.trajectory import Trajectory

h5py = pytest.importorskip("h5py")

TRIES = {".npz": 200, ".csv": 150, ".nc": 12}
ARM = pp.examples.planar_arm(2)
PATIENCE = 2.0  # seconds for a file of HDF5 without end, instead of a minute


class Trap:
    """Unpickled, it leaves a file behind."""

    def __init__(self, flag):
        self.flag = flag

    def __reduce__(self):
        return os.mkdir, (str(self.flag),)


@pytest.fixture
def path(tmp_path):
    """Of a file of arrays that is as it should be."""
    waving(ARM, 20, tau=np.ones((20, 2))).save(tmp_path / "run.npz")
    return tmp_path / "run.npz"


# -- any damage ----------------------------------------------------------------------------------


def damaged(whole, rng):
    """Bytes with something wrong in them."""
    data = bytearray(whole)
    match rng.randrange(6):
        case 0:
            for _ in range(rng.randrange(1, 5)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 1:
            data[rng.randrange(len(data))] = rng.choice([0, 127, 128, 255])
        case 2:
            at = rng.randrange(len(data) - 8)
            data[at : at + 8] = rng.choice([b"\xff" * 8, bytes(8), rng.randbytes(8)])
        case 3:
            del data[rng.randrange(len(data)) :]
        case 4:
            at, to = rng.randrange(len(data)), rng.randrange(len(data))
            part = data[at : at + rng.randrange(1, 64)]
            data[to : to + len(part)] = part
        case 5:
            at = rng.randrange(len(data))
            data[at:at] = rng.randbytes(rng.randrange(1, 64))
    return bytes(data)


def attack(seed, seconds, folder):
    """Damage files of each format and load them: a trajectory, or an error that names the file."""
    rng, end, count = random.Random(seed), time.monotonic() + seconds, 0
    wholes = {}
    for suffix in TRIES:
        motion = waving(ARM, 5, () if suffix == ".csv" else (2,), about={"note": "x", "dt": 1e-3})
        motion.save(folder / f"whole{suffix}")
        wholes[suffix] = (folder / f"whole{suffix}").read_bytes()
    tries = [suffix for suffix, times in TRIES.items() for _ in range(times)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(untrusted, "PATIENCE", PATIENCE)
        while count < len(tries) or time.monotonic() < end:
            suffix = tries[count % len(tries)]
            path = folder / f"damaged{suffix}"
            path.write_bytes(damaged(wholes[suffix], rng))
            start = time.monotonic()
            try:
                found = Trajectory.load(path, ARM)
            except pp.InputError as error:
                assert str(error).startswith(str(path)), error
            else:
                assert found.q.shape[-1] == ARM.nq and found.v.shape == (*found.q.shape[:-1], 2)
            assert time.monotonic() - start < 10 * PATIENCE
            count += 1
    return count


def test_attack(fuzz, tmp_path):
    fuzz.tried(attack(fuzz.seed, fuzz.seconds, tmp_path), "damaged result files")


# -- .npz ----------------------------------------------------------------------------------------


def with_member(path, name, data, packing=zipfile.ZIP_STORED):
    """The same file with other bytes for one of its arrays."""
    with zipfile.ZipFile(path) as archive:
        members = {x: archive.read(x) for x in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for x, old in members.items():
            new = data if x == f"{name}.npy" else old
            kind = packing if x == f"{name}.npy" else zipfile.ZIP_STORED
            archive.writestr(x, new, kind)


def header(descr="'<f8'", shape="(20, 2)", by_columns="False", version=b"\1\0"):
    text = f"{{'descr': {descr}, 'fortran_order': {by_columns}, 'shape': {shape}, }}".encode()
    size = struct.pack("<H" if version == b"\1\0" else "<I", len(text) + 1)
    return b"\x93NUMPY" + version + size + text + b"\n"


def refused_in_bounds(path, memory=5_000_000):
    """The message, found soon and with little memory."""
    tracemalloc.start()
    start = time.monotonic()
    try:
        message = refusal(Trajectory.load, path, ARM)
        assert tracemalloc.get_traced_memory()[1] < memory
    finally:
        tracemalloc.stop()
    assert time.monotonic() - start < 10.0
    assert message.startswith(str(path))
    return message


@pytest.mark.parametrize(
    ("head", "why"),
    [
        (header(shape="(1000000000000, 2)"), "larger than its file can hold"),
        (header(shape="(9223372036854775807, 9223372036854775807)"), "larger than its file"),
        (header(shape="(99999999999999999999999, 0)"), "larger than its file can hold"),
        (header(shape="(-20, 2)"), "has no shape"),
        (header(shape="(20, -2)"), "has no shape"),
        (header(shape="(True, 2)"), "has no shape"),
        (header(shape="'20'"), "shape is not valid"),
        (header(shape="(20, 2.0)"), "shape is not valid"),
        (header(shape="(20, 2, 1)"), "EOFError"),
        (header(descr="'|O'"), "no numbers or texts"),
        (header(descr="'O'"), "no numbers or texts"),
        (header(descr="'<c16'"), "no numbers or texts"),
        (header(descr="'<M8[ns]'"), "no numbers or texts"),
        (header(descr="'|V2147483647'"), "no numbers or texts"),
        (header(descr="'<U2147483647'"), "holds no whole trajectory"),
        (header(descr="'<U0'"), "no numbers or texts"),
        (header(descr="[('a', '<f8'), ('b', '|O')]"), "no numbers or texts"),
        (header(descr="'f8,f8'"), "no numbers or texts"),
        (header(descr="__import__('os')"), "malformed node"),
        (header(descr="'<f8'" + " " * 20_000), "is large and may not be safe"),
        (header(descr="(" * 5000), "holds no whole trajectory"),
        (header(version=b"\3\0"), "of a version that is not read"),
        (header(version=b"\x09\0"), "holds no whole trajectory"),
        (b"\x93NUMPY\2\0\xff\xff\xff\xff{}", "holds no whole trajectory"),
        (b"", "holds no whole trajectory"),
    ],
    ids=range(25),
)
@pytest.mark.parametrize("name", ["q", "coordinate"])
def test_what_headers_declare_is_checked_before_memory_is_taken(path, name, head, why):
    with_member(path, name, head + b"\0" * 300)
    message = refused_in_bounds(path)
    if name == "q" and why != "EOFError":
        assert why in message


@pytest.mark.parametrize("name", ["q", "coordinate", "about"])
def test_pickles_in_files_are_not_read(path, name):
    flag = path.parent / "flag"
    stream = io.BytesIO()
    array = np.empty(1, dtype=object)
    array[0] = Trap(flag)
    np.lib.format.write_array(stream, array, allow_pickle=True)
    with_member(path, name, stream.getvalue())
    assert "which are no numbers or texts" in refused_in_bounds(path)
    with_member(path, name, pickle.dumps(Trap(flag)))
    refused_in_bounds(path)
    path.write_bytes(pickle.dumps(Trap(flag)))
    refused_in_bounds(path)
    assert not flag.exists()


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_unpacks_to_far_more_than_it_is_is_refused(path, packing):
    rows = 4_000_000
    with_member(path, "q", header(shape=f"({rows}, 2)") + bytes(16 * rows), packing)
    assert path.stat().st_size < 200_000
    message = refused_in_bounds(path)
    deflated = packing == zipfile.ZIP_DEFLATED
    assert ("larger than its file" if deflated else "packed in a way that is not read") in message


def test_a_file_that_was_packed_as_usual_is_read(path):
    whole = Trajectory.load(path, ARM)
    with np.load(path) as found:
        arrays = dict(found)
    np.savez_compressed(path, **arrays)
    assert np.array_equal(Trajectory.load(path, ARM).q, whole.q)


def test_a_directory_of_a_million_names_is_not_read(path):
    with zipfile.ZipFile(path) as archive:
        members = {x: archive.read(x) for x in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for k in range(30_000):
            archive.writestr(f"{k:020}.npy", b"")
        for name, data in members.items():
            archive.writestr(name, data)
    assert "its directory is too long" in refused_in_bounds(path)


def test_names_with_dots_and_slashes_are_names_alone(path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../../outside.npy", b"x")
        archive.writestr("/q.npy", b"x")
    Trajectory.load(path, ARM)
    assert sorted(os.listdir(path.parent)) == ["run.npz"]


@pytest.mark.parametrize("bit", [0x1, 0x41])
def test_what_is_encrypted_is_refused(path, bit):
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\1\2")
    while at >= 0:
        data[at + 8] |= bit
        at = data.rfind(b"PK\1\2", 0, at)
    path.write_bytes(data)
    refused_in_bounds(path)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "9" * 10_000, "[1]", '"x"', "{", '{"a": [1, 2]}', '{"a": {"b": {}}}', "NaN"],
)
def test_what_is_said_about_a_motion_is_checked(path, text):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array(text))
    with_member(path, "about", stream.getvalue())
    refused_in_bounds(path, memory=30_000_000)


# -- all formats ---------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", TRIES)
def test_what_is_no_ordinary_file_is_not_waited_for(tmp_path, suffix):
    pipe, endless = tmp_path / f"pipe{suffix}", tmp_path / f"endless{suffix}"
    os.mkfifo(pipe)
    endless.symlink_to("/dev/zero")
    for path in (pipe, endless):
        assert "this is no ordinary file" in refused_in_bounds(path)


@pytest.mark.parametrize("suffix", [".npz", ".nc"])
def test_a_file_with_holes_takes_no_memory(tmp_path, suffix):
    path = tmp_path / f"run{suffix}"
    path.touch()
    os.truncate(path, 1 << 34)
    refused_in_bounds(path)


@pytest.mark.parametrize("suffix", TRIES)
def test_states_that_do_not_fit_together_are_refused_with_the_name_of_the_file(tmp_path, suffix):
    path = tmp_path / f"run{suffix}"
    motion = waving(ARM, 3)
    motion.save(path)
    if suffix == ".csv":
        path.write_text(path.read_text().replace("\n0.", "\n9."))
    elif suffix == ".npz":
        with np.load(path) as found:
            np.savez(path, **{**found, "time": np.array([0.0, 2.0, 1.0])})
    else:
        with h5py.File(path, "r+") as file:
            file["time"][:] = [0.0, 2.0, 1.0]
    assert "times: expected finite numbers, each greater" in refused_in_bounds(path)


def test_a_table_with_many_columns_is_refused_soon(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(",".join(f"q.joint{k}" for k in range(300_000)) + "\n")
    assert "no column 'time'" in refused_in_bounds(path, memory=200_000_000)


# -- NetCDF --------------------------------------------------------------------------------------


@pytest.fixture
def netcdf(tmp_path, monkeypatch):
    monkeypatch.setattr(untrusted, "PATIENCE", PATIENCE)
    waving(ARM, 20, about={"note": "x" * 500}).save(tmp_path / "run.nc")
    return tmp_path / "run.nc"


def test_a_heap_of_texts_without_end_is_given_up(netcdf):
    """An object without a number and a size: HDF5 2.0 goes on at the same place for ever."""
    data = bytearray(netcdf.read_bytes())
    at = data.index(b"GCOL")
    data[at + 16 : at + 16 + 600] = bytes(600)
    netcdf.write_bytes(data)
    refused_in_bounds(netcdf)


def rewritten(path, change):
    with h5py.File(path, "r+") as file:
        change(file)


def huge(file):
    del file["q"]
    file.create_dataset("q", shape=(1 << 40, 2), dtype="f8", chunks=(1024, 2))


def bomb(file):
    del file["q"]
    chunks = (100_000, 2)
    file.create_dataset("q", data=np.zeros((2_000_000, 2)), chunks=chunks, compression="gzip")


def elsewhere(file):
    del file["q"]
    file.create_dataset("q", (20, 2), "f8", external=[("/dev/zero", 0, h5py.h5f.UNLIMITED)])


def linked(file):
    del file["q"]
    file["q"] = h5py.ExternalLink("/dev/zero", "/q")


def soft(file):
    del file["q"]
    file["q"] = h5py.SoftLink("/q")


def virtual(file):
    del file["q"]
    layout = h5py.VirtualLayout((20, 2), "f8")
    layout[:] = h5py.VirtualSource("/dev/zero", "q", (20, 2))
    file.create_virtual_dataset("q", layout)


def group(file):
    del file["q"]
    file.create_group("q")


def compound(file):
    del file["q"]
    file.create_dataset("q", (20, 2), np.dtype([("a", "f8")]))


def references(file):
    del file["q"]
    file.create_dataset("q", (20, 2), h5py.ref_dtype)


def numbers_for_names(file):
    del file["coordinate"]
    file["coordinate"] = np.arange(2.0)


def many_attributes(file):
    for k in range(1200):
        file.attrs[f"note{k}"] = k


def arrays_for_attributes(file):
    file.attrs["note"] = np.zeros((10, 3))


def no_model(file):
    del file.attrs["model"]


CHANGES = {
    huge: "larger than its file can hold",
    bomb: "larger than its file can hold",
    elsewhere: "q is no array of this file",
    linked: "q is no array of this file",
    soft: "q is no array of this file",
    virtual: "q is no array of this file",
    group: "q is no array of this file",
    compound: "no numbers or texts",
    references: "no numbers or texts",
    numbers_for_names: "does not fit",
    many_attributes: "attributes",
    arrays_for_attributes: "note",
    no_model: "KeyError: 'model'",
}


@pytest.mark.parametrize("change", CHANGES, ids=lambda x: x.__name__)
def test_what_a_netcdf_file_declares_is_checked_before_it_is_read(netcdf, change):
    rewritten(netcdf, change)
    assert CHANGES[change] in refused_in_bounds(netcdf)


def test_a_reader_that_breaks_down_takes_nobody_with_it(netcdf, monkeypatch):
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    monkeypatch.setattr(untrusted.inspect, "getsource", lambda module: crash)
    assert "HDF5 broke down over it, with code" in refused_in_bounds(netcdf)


@pytest.mark.parametrize(
    "answer",
    [
        "[]",
        "{}",
        "",
        '{"texts": {}, "arrays": {"q": ["<f8", [1000000000000]]}, "attributes": {}}',
        '{"texts": {}, "arrays": {"q": ["O", [1]]}, "attributes": {}}',
        '{"texts": {}, "arrays": {"q": ["<f8", [-1]]}, "attributes": {}}',
        '{"texts": {}, "arrays": {"q": ["<f8", [5]]}, "attributes": {}}',
        '{"texts": 3, "arrays": {}, "attributes": []}',
    ],
)
def test_what_the_reader_says_is_not_believed_either(netcdf, monkeypatch, answer):
    """Whoever makes HDF5 do what he likes has got that process, and not this one."""
    monkeypatch.setattr(untrusted.inspect, "getsource", lambda module: f"print({answer!r})")
    refused_in_bounds(netcdf)


def test_where_no_process_can_be_started_it_is_said(netcdf, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(BackendError, match=r"read by a process of its own.* \.npz instead"):
        Trajectory.load(netcdf, ARM)


def test_the_reader_has_limits_of_its_own(tmp_path, netcdf):
    limits = "import resource; print(json.dumps({'error': repr([resource.getrlimit(x)[0] for x in"
    limits += " (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_CORE)])}))"
    text = untrusted.inspect.getsource(untrusted.netcdf_process).replace("    main()\n", "")
    asked = '{"most": 1000, "seconds": 7}'
    script = f"{text}    asked = json.loads(sys.argv[1]); keep_within(**asked); {limits}\n"
    done = subprocess.run(
        [sys.executable, "-c", script, asked], capture_output=True, text=True, check=True
    )
    assert done.stdout == f'{{"error": "[{2_000_000_000 + 4000}, 7, 0]"}}\n'


def test_modules_are_those_of_this_process_and_none_of_the_folder_it_runs_in(netcdf, monkeypatch):
    (netcdf.parent / "json.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(netcdf.parent)
    assert len(Trajectory.load("run.nc", ARM)) == 20
    shutil.copy(netcdf, netcdf.with_name("-odd name.nc"))
    assert len(Trajectory.load("-odd name.nc", ARM)) == 20
