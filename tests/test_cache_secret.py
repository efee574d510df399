"""The user's secret, by which a cache is sealed: one for all processes, his alone, and away."""

import errno
import os
import stat
import threading

import pytest
from commands import call

from phipsi.backends.disk import trust
from phipsi.backends.disk.cache import secret_file, store
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.secret import fault_of_secret, make_secret, read_secret
from phipsi.backends.disk.storage import Store

KEY = digest("a key")


@pytest.fixture(autouse=True)
def told_anew(monkeypatch):
    monkeypatch.setattr(trust, "_told", set())


@pytest.fixture
def path(tmp_path):
    """Of a secret that is not there yet, nor is its directory."""
    return str(tmp_path / "state" / "phipsi" / "cache.key")


def test_a_secret_is_made_once_and_read_by_all(path):
    assert read_secret(path) is None and not os.path.exists(os.path.dirname(path))
    made = make_secret(path)
    assert len(made) == 32 and len(set(made)) > 8
    assert make_secret(path) == read_secret(path) == made
    assert os.listdir(os.path.dirname(path)) == ["cache.key"]
    assert make_secret(path + "2") != made


def test_it_is_readable_by_the_user_alone_whatever_the_umask(path):
    before = os.umask(0)
    try:
        make_secret(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_of_many_that_make_one_all_have_the_same(path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", failing(errno.EPERM))
        make_secret(path)  # without links the first of those who are there at once may be replaced
    gate, found = threading.Barrier(12), []

    def work():
        gate.wait()
        found.append(make_secret(path))

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12 and set(found) == {read_secret(path)}
    assert os.listdir(os.path.dirname(path)) == ["cache.key"]


def failing(number):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("size", [0, 31, 33, 1 << 36])
def test_one_that_a_crash_has_cut_short_is_made_anew(path, size):
    make_secret(path)
    os.truncate(path, size)
    assert read_secret(path) is None
    assert len(make_secret(path)) == 32
    assert make_secret(path) == read_secret(path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o666])
def test_one_that_others_may_read_or_write_is_not_used(path, mode):
    make_secret(path)
    os.chmod(path, mode)
    with pytest.warns(RuntimeWarning, match=f"{path}: not used, since others may .*; rm {path}"):
        assert make_secret(path) is None
    assert f"its key {path}: not used" in fault_of_secret(path)
    os.unlink(path)
    assert len(make_secret(path)) == 32


def test_signs_of_its_path_do_not_act_where_it_is_complained_of(tmp_path):
    path = str(tmp_path / "\x1b[2J\nFORGED\u202e" / "cache.key")
    make_secret(path)
    os.chmod(path, 0o644)
    with pytest.warns(RuntimeWarning, match="others may read") as caught:
        assert make_secret(path) is None
    assert str(caught[0].message).isprintable()
    os.chmod(os.path.dirname(path), 0o777)
    with pytest.warns(RuntimeWarning, match="others may write") as caught:
        assert make_secret(path) is None
    assert str(caught[0].message).isprintable()


def test_one_of_another_user_is_not_used(path, monkeypatch):
    make_secret(path)
    mine = trust.is_mine
    monkeypatch.setattr(trust, "is_mine", lambda x: not stat.S_ISREG(x.st_mode) and mine(x))
    with pytest.warns(RuntimeWarning, match="belongs to another user; set PHIPSI_CACHE_KEY"):
        assert make_secret(path) is None


def test_a_folder_that_others_may_write_is_no_place_for_it(path):
    os.makedirs(os.path.dirname(path))
    os.chmod(os.path.dirname(path), 0o777)
    with pytest.warns(RuntimeWarning, match=r"others may write to it; .*set PHIPSI_CACHE_KEY to a"):
        assert make_secret(path) is None
    assert os.listdir(os.path.dirname(path)) == []
    assert "PHIPSI_CACHE_KEY" in fault_of_secret(path)


@pytest.mark.parametrize("call", ["open", "write", "makedirs"])
@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES])
def test_where_none_can_be_written_nothing_is_kept_and_all_works(
    tmp_path, path, monkeypatch, call, number
):
    kept = Store(tmp_path / "cache", 1_000_000, path)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing(number))
        assert kept.made_once("object", KEY, lambda: b"made") == b"made"
        assert kept.get("object", KEY) is None
    assert not os.path.exists(path)
    assert [x for x in os.listdir(tmp_path) if x not in ("cache", "state")] == []
    assert kept.made_once("object", KEY, lambda: b"made") == b"made"
    assert kept.get("object", KEY) == b"made"


def test_a_home_that_may_only_be_read_is_told(path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "nothing can be written in" in fault_of_secret(path)


def test_without_a_home_nothing_is_kept(tmp_path):
    kept = Store(tmp_path / "cache", 1_000_000, None)
    assert kept.made_once("object", KEY, lambda: b"made") == b"made"
    assert kept.get("object", KEY) is None and kept.entries() == []
    assert "no home directory for its key; set PHIPSI_CACHE_KEY" in kept.fault()


@pytest.mark.parametrize("moment", ["write", "close", "link", "fsync"])
def test_an_interrupt_leaves_no_half_secret(path, monkeypatch, moment):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, moment, interrupted)
        make_secret(path)
    assert os.listdir(os.path.dirname(path)) == []
    assert make_secret(path) == read_secret(path)


# -- what it is for ------------------------------------------------------------------------------


def test_what_is_sealed_with_one_secret_is_nothing_with_another(tmp_path):
    """A cache that was restored from elsewhere, or that another container has written."""
    there = Store(tmp_path / "cache", 1_000_000, tmp_path / "a" / "key")
    there.put("object", KEY, b"machine code of theirs")
    here = Store(tmp_path / "cache", 1_000_000, tmp_path / "b" / "key")
    assert here.made_once("object", KEY, lambda: b"of ours") == b"of ours"
    assert here.get("object", KEY) == b"of ours"
    assert there.get("object", KEY) is None


def test_who_shares_a_secret_shares_what_is_kept(tmp_path):
    first, second = (Store(tmp_path / "cache", 1_000_000, tmp_path / "key") for _ in range(2))
    first.put("object", KEY, b"made")
    assert second.get("object", KEY) == b"made"


def test_it_does_not_lie_in_the_cache(tmp_path):
    kept = Store(tmp_path / "cache", 1_000_000, tmp_path / "state" / "key")
    kept.put("object", KEY, b"made")
    secret_bytes = read_secret(kept.secret)
    for name in os.listdir(kept.directory):
        assert secret_bytes not in (tmp_path / "cache" / name).read_bytes()


def test_where_it_is(monkeypatch):
    for name in ("PHIPSI_CACHE_KEY", "XDG_STATE_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setattr("sys.platform", "linux")
    assert secret_file() == "/home/me/.local/state/phipsi/cache.key"
    monkeypatch.setenv("XDG_STATE_HOME", "/states")
    assert secret_file() == "/states/phipsi/cache.key"
    monkeypatch.setattr("sys.platform", "darwin")
    assert secret_file() == "/home/me/Library/Application Support/phipsi/cache.key"
    monkeypatch.setattr("sys.platform", "win32")
    assert secret_file() is None
    monkeypatch.setenv("APPDATA", "/roaming")
    assert secret_file() == "/roaming/phipsi/cache.key"
    monkeypatch.setenv("PHIPSI_CACHE_KEY", "~/mine")
    assert secret_file() == "/home/me/mine"


def test_the_command_says_what_is_wrong_with_it(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("PHIPSI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PHIPSI_CACHE_KEY", str(tmp_path / "key"))
    store().put("object", KEY, b"made")
    assert "others may" not in call(capsys, "cache").out
    (tmp_path / "key").chmod(0o644)
    with pytest.warns(RuntimeWarning):
        said = " ".join(call(capsys, "cache").out.split())
    assert f"no: its key {tmp_path}/key: not used, since others may read or write it" in said
