"""Whatever phipsi writes, files alone are replaced: no device, pipe, socket, directory or link.

A process that may do anything would else take a device away from the whole system. All nodes here
are made for the test, in a folder of its own: the real ones are left alone.
"""

import contextlib
import io
import os
import random
import stat
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import phipsi as pp
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.storage import Store
from phipsi.cli.app import main
from phipsi.errors import InputError
from phipsi.explain.drawings.drawing import Drawing
from phipsi.operators import Mass
from phipsi.simulate.trajectory import Trajectory
from phipsi.view import view
from phipsi.whole_file import replacing

TRIES = 60
ARM = pp.examples.planar_arm(2)
MOTION = Trajectory(ARM, [0.0, 0.1], np.zeros((2, 2)), np.zeros((2, 2)))
MASS = pp.compile(ARM, Mass, backend="numpy")

# -- the writers: a suffix, and what writes such a file ----------------------------------------


def plainly(path: Path) -> None:
    with replacing(path) as stream:
        stream.write(b"all")


def command(*words: str):
    """A command that is told the path last; what it says becomes an error."""

    def call(path: Path) -> None:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = main([*words, str(path)])
        if code:
            assert (code, said.getvalue().count("\n")) == (1, 1), said.getvalue()
            raise InputError(said.getvalue().removeprefix("error: "))

    return call


LIBRARY = {
    "replacing": (".bin", plainly),
    "npz": (".npz", MOTION.save),
    "csv": (".csv", MOTION.save),
    "urdf": (".urdf", lambda path: pp.save_urdf(ARM, path)),
    "drawing": (".svg", Drawing('<svg xmlns="http://www.w3.org/2000/svg"/>', "nothing").save),
    "C": (".h", lambda path: MASS.export_c(path, name="arm")),
    "netCDF": (".nc", MOTION.save),
    "png": (".png", lambda path: MOTION.plot(path=path)),
    "svg": (".svg", lambda path: MOTION.plot(path=path)),
    "pdf": (".pdf", lambda path: MOTION.plot(path=path)),
    "page": (".html", lambda path: view(ARM, html=path)),
}
SHORT = ("simulate", "planar_arm", "--duration", "0.002")
COMMANDS = {
    "simulate --out": (".npz", command(*SHORT, "--out")),
    "simulate --plot": (".png", command(*SHORT, "--plot")),
    "simulate --html": (".html", command(*SHORT, "--html")),
    "view --html": (".html", command("view", "planar_arm", "--html")),
    "derive --latex": (".tex", command("derive", "M", "--latex")),
    "explain --svg": (".svg", command("explain", "phi", "--svg")),
}
WRITERS = LIBRARY | COMMANDS

# -- what is in the way: what makes it, and what the error calls it ----------------------------


def node(kind: int, device: int = 0):
    def make(path: Path) -> None:
        os.mknod(path, kind | 0o666, device)

    return make


def full_directory(path: Path) -> None:
    path.mkdir()
    (path / "kept").write_text("kept")


def circle(path: Path) -> None:
    other = path.with_name(f"{path.name}.other")
    other.symlink_to(path.name)
    path.symlink_to(other.name)


def link_to_nowhere(path: Path) -> None:
    path.symlink_to(path.with_name("no such directory") / "file")


KINDS = {
    "pipe": (os.mkfifo, "a pipe"),
    "socket": (node(stat.S_IFSOCK), "a socket"),
    "device": (node(stat.S_IFCHR, os.makedev(1, 3)), "a device"),  # a copy of the null device
    "block device": (node(stat.S_IFBLK, os.makedev(240, 0)), "a device"),  # of no driver
    "directory": (Path.mkdir, "a directory"),
    "full directory": (full_directory, "a directory"),
    "circle": (circle, "a link leads back to itself"),
    "link to nowhere": (link_to_nowhere, "there is no directory"),
}


def make(kind: str, path: Path) -> bool:
    """Whether it could be made; devices are for root, and for no container."""
    try:
        KINDS[kind][0](path)
    except PermissionError:
        return False
    return True


def linked(path: Path, hops: int, is_relative: bool) -> Path:
    """A link to it, over so many others."""
    for hop in range(hops):
        link = path.with_name(f"link{hop}{path.suffix}")
        link.symlink_to(path.name if is_relative else path)
        path = link
    return path


def look(folder: Path) -> dict[str, tuple]:
    """All that is in a folder, as the system sees it; contents of files, and where links lead."""
    seen = {}
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        told = (found.st_mode, found.st_ino, found.st_rdev, found.st_nlink)
        inside = path.read_bytes() if stat.S_ISREG(found.st_mode) else b""
        where = os.readlink(path) if path.is_symlink() else ""
        seen[str(path.relative_to(folder))] = (*told, inside, where)
    return seen


def check_refused(
    writer: str, kind: str, folder: Path, hops: int = 0, relative: bool = True
) -> bool:
    """Nothing changes, and the error is ours: which path, and what is there."""
    folder.mkdir()
    suffix, write = WRITERS[writer]
    there = folder / f"there{suffix}"
    if not make(kind, there):
        return False
    path = linked(there, hops, relative)
    before = look(folder)
    with pytest.raises(InputError) as caught:
        write(path)
    said = str(caught.value)
    assert said.startswith(f"{path}: cannot be written: "), said
    assert KINDS[kind][1] in said
    if hops and "link" not in kind and kind != "circle":
        assert f"it leads to {str(there)!r}, which is" in said
    assert look(folder) == before
    return True


def attack(seed: int, seconds: float, folder: Path) -> int:
    """Any writer, anything in its way, by any links."""
    rng, end, tries = random.Random(seed), time.monotonic() + seconds, 0
    while tries < TRIES or time.monotonic() < end:
        writer, kind = rng.choice(sorted(WRITERS)), rng.choice(sorted(KINDS))
        hops, is_relative = rng.randint(0, 3), rng.random() < 0.5
        check_refused(writer, kind, folder / str(tries), hops, is_relative)
        tries += 1
    return tries


def test_attack(fuzz, tmp_path):
    fuzz.tried(attack(fuzz.seed, fuzz.seconds, tmp_path), "writers with something in their way")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("writer", WRITERS)
def test_what_is_no_file_stays(tmp_path, writer, kind):
    if not check_refused(writer, kind, tmp_path / "plain"):
        pytest.skip(f"no {kind} can be made here")
    check_refused(writer, kind, tmp_path / "linked", hops=2)


@pytest.mark.parametrize("writer", WRITERS)
def test_links_to_files_are_followed(tmp_path, writer):
    """The file is replaced, or made where the link leads to none yet; the link stays."""
    suffix, write = WRITERS[writer]
    there, link = tmp_path / f"there{suffix}", tmp_path / f"link{suffix}"
    link.symlink_to(there.name)
    for _ in range(2):
        write(link)
        assert os.readlink(link) == there.name
        assert there.is_file() and not there.is_symlink()
        assert there.stat().st_size > 0
        assert sorted(x.name for x in tmp_path.iterdir()) == [link.name, there.name]
        there.write_bytes(b"")


def test_what_comes_while_work_goes_on_stays(tmp_path):
    """A pipe that appears before the last step is not replaced either."""
    path = tmp_path / "run.bin"
    with pytest.raises(InputError, match="it is a pipe"), replacing(path) as stream:
        stream.write(b"all")
        os.mkfifo(path)
    assert stat.S_ISFIFO(path.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


def test_streams_of_the_process(tmp_path):
    """/dev/stdout and its like: links that lead to pipes, and to files that have no name."""
    streams = Path("/proc/self/fd")
    if not streams.exists():
        pytest.skip("streams have no paths here")
    reading, writing = os.pipe()
    try:
        with pytest.raises(InputError, match="a pipe; give the name of a file"):
            plainly(streams / str(writing))
    finally:
        os.close(reading)
        os.close(writing)
    with open(tmp_path / "gone", "wb") as gone:
        os.unlink(gone.name)
        with pytest.raises(InputError, match="it leads to a file that has no name"):
            plainly(streams / str(gone.fileno()))
    assert list(tmp_path.iterdir()) == []


def test_a_way_that_leads_in_a_circle(tmp_path):
    circle(tmp_path / "loop")
    with pytest.raises(InputError, match="a link leads back to itself"):
        plainly(tmp_path / "loop" / "run.bin")


@pytest.mark.parametrize("path", ["/", ".", "..", "./."])
def test_directories_without_a_name_of_their_own(path):
    with pytest.raises(InputError, match="it is a directory; give the name of a file in it"):
        plainly(Path(path))


@pytest.mark.parametrize("name", ["\ud800", "a" * 300])
def test_names_that_no_file_can_have(tmp_path, name):
    with pytest.raises(InputError, match=r"expected the path of a file|the name is too long"):
        plainly(tmp_path / f"{name}.bin")


def test_many_writers_of_one_file(tmp_path):
    """Each finds a file that another has just replaced; none is refused, and one of them wins."""
    path, failed = tmp_path / "run.bin", []

    def write() -> None:
        for _ in range(50):
            try:
                plainly(path)
            except InputError as error:
                failed.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"all", [path])


@pytest.mark.parametrize("kind", [x for x in KINDS if "link" not in x])
@pytest.mark.parametrize("place", ["entry", "lock", "directory", "key"])
def test_the_cache_replaces_files_alone(tmp_path, kind, place):
    """What is in its way stays, and nothing waits for it: a thing is made again, no more."""
    folder, key = tmp_path / "cache", digest("text")
    store = Store(folder, 1_000_000, tmp_path / "key")
    path = Path(store.path("object", key))
    if place != "directory":
        folder.mkdir(mode=0o700)
    lock = folder / f".object-{key.hex()}.lock"
    there = {"entry": path, "directory": folder, "lock": lock, "key": tmp_path / "key"}[place]
    if not make(kind, there):
        pytest.skip(f"no {kind} can be made here")
    before = there.lstat()
    begin = time.monotonic()
    with contextlib.suppress(RuntimeWarning):  # said once in a process
        assert store.made_once("object", key, lambda: b"code") == b"code"
    with contextlib.suppress(RuntimeWarning):
        store.put("object", key, b"code")
    store.clear()
    after = there.lstat()
    assert (after.st_mode, after.st_ino, after.st_rdev) == (
        before.st_mode,
        before.st_ino,
        before.st_rdev,
    )
    assert time.monotonic() - begin < 5.0


def test_a_demo_is_refused_before_its_work(tmp_path):
    os.mkfifo(tmp_path / "sweeps.svg")
    with pytest.raises(InputError, match=r"sweeps\.svg: cannot be written: it is a pipe"):
        command("demo", "--out")(tmp_path)
    assert [x.name for x in tmp_path.iterdir()] == ["sweeps.svg"]
