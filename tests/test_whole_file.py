"""A file is written whole or not at all: what fails leaves what was there, and nothing else."""

import errno
import os
import resource
from contextlib import contextmanager

import pytest
from motions import refusal, waving

import phipsi as pp
from phipsi import whole_file
from phipsi.simulate.trajectory import Trajectory

FORMATS = (".nc", ".npz", ".csv")


@pytest.fixture(scope="module")
def craft():
    return pp.examples.spacecraft()


@contextmanager
def small_files(size):
    """No file may grow beyond that many bytes: writes fail in the middle, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("earlier", [b"earlier", None])
def test_a_write_that_fails_half_way_leaves_what_was_there(tmp_path, craft, suffix, earlier):
    path = tmp_path / f"run{suffix}"
    if earlier is not None:
        path.write_bytes(earlier)
    traj = waving(craft, 200)
    traj.to_xarray()
    with small_files(10_000):
        message = refusal(traj.save, path)
    assert message == (
        f"{path}: cannot be written: the disk is full; free some space or write elsewhere "
        "(an earlier file is kept)"
    )
    assert [found.name for found in tmp_path.iterdir()] == ([path.name] if earlier else [])
    assert earlier is None or path.read_bytes() == earlier
    traj.save(path)  # once there is room again
    assert len(Trajectory.load(path, craft)) == 200


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_full_disk_leaves_what_was_there(tmp_path, craft, suffix, monkeypatch):
    """The kernel itself says that no space is left: bytes go to /dev/full."""
    path = tmp_path / f"run{suffix}"
    path.write_bytes(b"earlier")
    opened = []

    def open_full(part, mode):
        open(part, mode).close()
        opened.append(part)
        return open("/dev/full", "wb")

    monkeypatch.setattr(whole_file, "open", open_full, raising=False)
    assert "cannot be written: the disk is full; free some space" in refusal(
        waving(craft).save, path
    )
    assert [part.parent for part in opened] == [tmp_path]
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"earlier"


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_an_interrupt_leaves_what_was_there(tmp_path, craft, monkeypatch, where):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    path = tmp_path / "run.npz"
    path.write_bytes(b"earlier")
    with monkeypatch.context() as patch:
        patch.setattr(whole_file.os, where, interrupt)
        with pytest.raises(KeyboardInterrupt):
            waving(craft).save(path)
    assert [found.name for found in tmp_path.iterdir()] == ["run.npz"]
    assert path.read_bytes() == b"earlier"


def test_bytes_reach_the_disk_before_the_name_is_given(tmp_path, craft, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        original = getattr(os, name)
        monkeypatch.setattr(
            whole_file.os, name, lambda *x, n=name, f=original: (done.append(n), f(*x))[1]
        )
    waving(craft).save(tmp_path / "run.npz")
    assert done == ["fsync", "replace"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_where_no_file_can_be_the_reason_is_told(tmp_path, craft, suffix):
    traj = waving(craft)
    path = tmp_path / "nowhere" / f"run{suffix}"
    message = refusal(traj.save, path)
    assert message == (
        f"{path}: cannot be written: there is no directory {str(path.parent)!r}; make it first"
    )
    (tmp_path / f"run{suffix}").mkdir()
    message = refusal(traj.save, tmp_path / f"run{suffix}")
    assert message.endswith(": cannot be written: it is a directory; give the name of a file in it")
    (tmp_path / "file").touch()
    message = refusal(traj.save, tmp_path / "file" / f"run{suffix}")
    assert message.endswith(f"{str(tmp_path / 'file')!r} is no directory; write elsewhere")


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.EROFS, "read-only file system; check the rights on {folder!r} or write elsewhere"),
        (errno.EDQUOT, "the disk is full; free some space or write elsewhere (an earlier file is"),
        (errno.EIO, "input/output error; check the rights on {folder!r} or write elsewhere"),
    ],
)
def test_what_the_system_says_is_passed_on(tmp_path, craft, monkeypatch, number, reason):
    def failing(*arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(whole_file, "open", failing, raising=False)
    message = refusal(waving(craft).save, tmp_path / "run.npz")
    assert reason.format(folder=str(tmp_path)) in message
    assert not list(tmp_path.iterdir())


def test_a_link_is_followed_and_rights_are_kept(tmp_path, craft):
    (tmp_path / "real.npz").touch(mode=0o640)
    (tmp_path / "run.npz").symlink_to("real.npz")
    waving(craft).save(tmp_path / "run.npz")
    assert (tmp_path / "run.npz").is_symlink()
    assert (tmp_path / "real.npz").stat().st_mode & 0o777 == 0o640
    assert len(Trajectory.load(tmp_path / "run.npz", craft)) == 7


def test_a_new_file_has_the_rights_of_any_new_file(tmp_path, craft):
    (tmp_path / "other").touch()
    waving(craft).save(tmp_path / "run.npz")
    assert (tmp_path / "run.npz").stat().st_mode == (tmp_path / "other").stat().st_mode


@contextmanager
def no_rights(folder):
    """Nothing in the folder can be read or written; root becomes nobody for that."""
    folder.chmod(0o000)
    own = os.geteuid()
    if own == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(own)
        folder.chmod(0o700)


@pytest.mark.parametrize("suffix", FORMATS)
def test_without_permission_nothing_is_read_or_written(tmp_path, craft, suffix):
    traj, path = waving(craft), tmp_path / f"run{suffix}"
    traj.save(path)
    with no_rights(tmp_path):
        read, written = refusal(Trajectory.load, path, craft), refusal(traj.save, path)
    assert read == f"{path}: no permission to read it; check its rights"
    assert written == (
        f"{path}: cannot be written: permission denied; check the rights on {str(tmp_path)!r} or "
        "write elsewhere"
    )
    assert [found.name for found in tmp_path.iterdir()] == [path.name]
