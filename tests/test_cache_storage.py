"""A store returns what was put there, whole and the user's own, or nothing; and never raises."""

import errno
import os
import stat
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phipsi.backends.disk import storage, trust
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.secret import read_secret
from phipsi.backends.disk.storage import MAGIC, Store

KEY, OTHER = digest("a key"), digest("another")
PAYLOAD = bytes(range(256)) * 3
NOBODY = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


@pytest.fixture(autouse=True)
def told_anew(monkeypatch):
    monkeypatch.setattr(trust, "_told", set())


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache", 1_000_000, tmp_path / "key")


@pytest.fixture
def path(store):
    """Of the one file of the store."""
    store.put("object", KEY, PAYLOAD)
    assert os.listdir(store.directory) == [f"object-{KEY.hex()}.phipsi"]
    return store.path("object", KEY)


def places(tmp_path_factory, name):
    """What a store of a test of many examples is made of."""
    return tmp_path_factory.getbasetemp() / name, 1_000_000, tmp_path_factory.getbasetemp() / "key"


def names(store):
    return sorted(os.listdir(store.directory)) if os.path.isdir(store.directory) else []


# -- what is put is what comes back ----------------------------------------------------------


@pytest.mark.parametrize("payload", [b"", b"x", PAYLOAD, os.urandom(300_000)], ids=len)
def test_what_was_put_is_returned_under_its_own_kind_and_key_alone(store, payload):
    assert store.get("object", KEY) is None
    store.put("object", KEY, payload)
    assert store.get("object", KEY) == payload
    assert store.get("record", KEY) is None
    assert store.get("object", OTHER) is None
    store.put("object", KEY, b"new")
    assert store.get("object", KEY) == b"new"
    assert names(store) == [f"object-{KEY.hex()}.phipsi"]


def test_directory_and_files_are_the_users_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        store = Store(tmp_path / "a" / "b", 1000, tmp_path / "key")
        store.put("object", KEY, b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(store.directory).st_mode) == 0o700
    assert stat.S_IMODE(os.stat(store.path("object", KEY)).st_mode) == 0o600
    assert store.get("object", KEY) == b"x"


@pytest.mark.parametrize("kind, key", [("Object", KEY), ("a/b", KEY), ("", KEY), ("object", b"x")])
def test_names_of_files_are_made_of_words_and_digests(store, kind, key):
    with pytest.raises(AssertionError, match="is no kind"):
        store.path(kind, key)


# -- damaged files ---------------------------------------------------------------------------


@given(st.data())
def test_a_flipped_bit_anywhere_is_noticed_and_the_file_made_again(tmp_path_factory, data):
    store = Store(*places(tmp_path_factory, "flipped"))
    store.put("object", KEY, PAYLOAD)
    path = store.path("object", KEY)
    with open(path, "r+b") as file:
        whole = bytearray(file.read())
        at = data.draw(st.integers(0, len(whole) - 1), label="byte")
        whole[at] ^= 1 << data.draw(st.integers(0, 7), label="bit")
        file.seek(0)
        file.write(whole)
    assert store.get("object", KEY) is None
    assert not os.path.exists(path)
    assert store.made_once("object", KEY, lambda: PAYLOAD) == PAYLOAD
    assert store.get("object", KEY) == PAYLOAD


@given(st.integers(0, 2000), st.booleans())
def test_a_file_that_is_too_short_or_too_long_is_noticed(tmp_path_factory, size, is_random):
    store = Store(*places(tmp_path_factory, "cut"))
    store.put("object", KEY, PAYLOAD)
    path = store.path("object", KEY)
    if size == os.path.getsize(path):
        size += 1
    if is_random:
        with open(path, "wb") as file:
            file.write((MAGIC + os.urandom(size))[:size])
    else:
        os.truncate(path, size)
    assert store.get("object", KEY) is None
    assert not os.path.exists(path)


def test_a_file_under_another_name_is_not_taken_for_what_it_is_not(store, path):
    for kind, key in (("object", OTHER), ("record", KEY)):
        with open(path, "rb") as file, open(store.path(kind, key), "wb") as copy:
            copy.write(file.read())
        os.chmod(copy.name, 0o600)
        assert store.get(kind, key) is None
    assert store.get("object", KEY) == PAYLOAD


def test_a_label_cannot_run_into_the_payload(store):
    """Kind, key and payload of two things joined to the same bytes."""
    store.put("object", KEY, b"x")
    with open(store.path("object", KEY), "rb") as file:
        whole = file.read()
    label = storage._label("object", KEY)
    secret = read_secret(store.secret)
    assert storage._unsealed(secret, label, whole) == b"x"
    assert storage._unsealed(secret, label + b"x", whole) is None
    assert storage._unsealed(secret, label[:-1], whole) is None


# -- files of others -------------------------------------------------------------------------


def not_taken(store, path, why):
    """Nothing is returned or changed, a warning says why, once, and work goes on."""
    before = os.lstat(path)
    with pytest.warns(RuntimeWarning, match=why) as caught:
        assert store.get("object", KEY) is None
    assert len(caught) == 1
    assert store.made_once("object", KEY, lambda: b"made") == b"made"
    assert store.get("object", KEY) is None
    after = os.lstat(path)
    assert (before.st_ino, before.st_size, before.st_mtime_ns) == (
        after.st_ino,
        after.st_size,
        after.st_mtime_ns,
    )
    assert not [name for name in names(store) if name.startswith(".")]


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666, 0o622])
def test_a_file_that_others_may_write_is_not_taken(store, path, mode):
    os.chmod(path, mode)
    not_taken(store, path, rf"{path}: not used, since others may write to it; chmod go-w {path}")
    os.chmod(path, 0o600)
    assert store.get("object", KEY) == PAYLOAD


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_nothing_is_taken_from_or_left_in_a_directory_that_others_may_write(store, path, mode):
    os.chmod(store.directory, mode)
    not_taken(store, path, r"others may write to it;.*set PHIPSI_CACHE to a directory of your own")
    store.put("object", OTHER, b"x")
    assert len(names(store)) == 1
    assert "others may write" in store.fault()
    assert ("chmod" in store.fault()) == (mode != 0o1777)  # nobody should change /tmp
    os.chmod(store.directory, 0o700)
    assert store.get("object", KEY) == PAYLOAD
    assert store.fault() == ""


def test_nothing_is_taken_from_another_user(store, path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY - 1)
    not_taken(store, path, "belongs to another user; set PHIPSI_CACHE to a directory of your own")
    assert "belongs to another user" in store.fault()
    assert store.entries() == [] and store.clear() == (0, 0)


@as_root
def test_a_file_of_another_user_in_a_directory_of_ones_own_is_left_alone(store, path):
    os.chown(path, NOBODY, NOBODY)
    not_taken(store, path, rf"{path}: not used, since it belongs to another user")
    assert store.clear() == (0, 0) and os.path.exists(path)


@as_root
def test_a_link_to_a_directory_is_followed_if_nobody_else_has_made_it(store, path, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(store.directory)
    linked = Store(link, 1_000_000, store.secret)
    assert linked.get("object", KEY) == PAYLOAD
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.warns(RuntimeWarning, match="another user has made this link"):
        assert linked.get("object", KEY) is None


def test_links_and_pipes_are_not_opened(store, path):
    os.rename(path, f"{path}.moved")
    os.symlink(f"{path}.moved", path)
    not_taken(store, path, "no ordinary file: rm ")
    os.unlink(path)
    os.mkfifo(path, 0o600)
    trust._told.clear()
    not_taken(store, path, "no ordinary file: rm ")
    os.unlink(path)
    os.mkdir(path, 0o700)
    assert store.get("object", KEY) is None
    assert store.made_once("object", KEY, lambda: b"made") == b"made"


def test_a_file_in_the_place_of_the_directory_is_left_alone(tmp_path):
    (tmp_path / "cache").write_text("mine")
    os.chmod(tmp_path / "cache", 0o600)
    store = Store(tmp_path / "cache", 1000, tmp_path / "key")
    with pytest.warns(RuntimeWarning, match="it is no directory"):
        assert store.made_once("object", KEY, lambda: b"made") == b"made"
    assert (tmp_path / "cache").read_text() == "mine"
    assert "no directory" in store.fault()


# -- disks that fail -------------------------------------------------------------------------


def failing(number):
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
@pytest.mark.parametrize("call", ["write", "replace", "makedirs"])
def test_a_disk_that_takes_nothing_costs_time_and_leaves_nothing(store, monkeypatch, call, number):
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing(number))
        assert store.made_once("object", KEY, lambda: PAYLOAD) == PAYLOAD
        store.put("object", KEY, PAYLOAD)
        assert store.get("object", KEY) is None
    assert names(store) == []
    store.put("object", KEY, PAYLOAD)
    assert store.get("object", KEY) == PAYLOAD


@pytest.mark.parametrize("number", [errno.EROFS, errno.EMFILE, errno.EIO])
def test_files_that_cannot_be_opened_cost_time_alone(store, path, monkeypatch, number):
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing(number))
        assert store.made_once("object", KEY, lambda: b"made") == b"made"
        store.put("object", OTHER, b"x")
    assert names(store) == [os.path.basename(path)]
    assert store.get("object", KEY) == PAYLOAD


def test_a_disk_that_is_full_in_the_midst_of_a_file_leaves_nothing(store, path, monkeypatch):
    write, written = os.write, []

    def full(file, data):
        if written:
            raise OSError(errno.ENOSPC, "full")
        written.append(write(file, data[:100]))
        return 100

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        store.put("object", KEY, b"new" * 1000)
    assert written and names(store) == [os.path.basename(path)]
    assert store.get("object", KEY) == PAYLOAD


LIMITED = """
import os, resource, sys
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.storage import Store
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
store = Store(sys.argv[1], 10**6, sys.argv[1] + ".key")
made = store.made_once("object", digest(1), lambda: b"x" * 5000)
store.put("object", digest(2), b"y" * 100)
print(len(made), store.get("object", digest(1)), len(store.get("object", digest(2))))
print(len(os.listdir(sys.argv[1])))
"""


def test_a_limit_of_the_kernel_on_files_is_met_like_a_full_disk(tmp_path):
    run = [sys.executable, "-c", LIMITED, str(tmp_path / "cache")]
    done = subprocess.run(run, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["5000", "None", "100", "1"], "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_the_right_to_write_is_read(store, path):
    os.chmod(store.directory, 0o500)
    store.put("object", OTHER, b"x")
    assert store.made_once("object", OTHER, lambda: b"made") == b"made"
    assert store.get("object", KEY) == PAYLOAD
    assert "nothing can be written" in store.fault()


def test_where_nothing_can_be_written_the_fault_says_so(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    assert "is no directory" in Store(tmp_path / "file" / "cache", 1000, tmp_path / "key").fault()
    store = Store(tmp_path / "a" / "b", 1000, tmp_path / "key")
    assert store.fault() == ""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert store.fault() == f"nothing can be written in {tmp_path}"
    monkeypatch.setattr(os, "lstat", failing(errno.EACCES))
    assert store.fault() == "it cannot be looked at: Permission denied"


def test_a_directory_that_vanishes_is_made_again(store, path):
    os.unlink(path)
    os.rmdir(store.directory)
    assert store.get("object", KEY) is None
    assert store.entries() == [] and store.clear() == (0, 0)
    assert store.made_once("object", KEY, lambda: b"made") == b"made"
    assert store.get("object", KEY) == b"made"


@pytest.mark.parametrize("moment", ["write", "replace", "close"])
def test_an_interrupt_leaves_nothing_behind(store, path, monkeypatch, moment):
    real = getattr(os, moment)

    def interrupted(*arguments):
        if moment != "replace":
            real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, moment, interrupted)
        store.put("object", KEY, b"new" * 1000)
    assert names(store) == [os.path.basename(path)]
    assert store.get("object", KEY) == PAYLOAD


def test_an_error_of_the_maker_is_raised_and_leaves_nothing(store):
    def fail():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.made_once("object", KEY, fail)
    assert names(store) == []


# -- the bound -------------------------------------------------------------------------------


def sizes(store):
    return sum(entry.size for entry in store.entries())


def test_the_bound_holds_and_what_was_not_used_for_longest_goes_first(tmp_path):
    store = Store(tmp_path / "cache", 100_000, tmp_path / "key")
    keys = [digest(k) for k in range(30)]
    for k, key in enumerate(keys):
        store.put("object", key, bytes(9_000))
        if k < 9:  # the first is the oldest, but for the third, which is used now
            os.utime(store.path("object", key), (0, 1_000_000.0 * (k + 1)))
        if k == 9:
            assert store.get("object", keys[2]) is not None
        assert sizes(store) <= store.bound
    kept = [store.get("object", key) is not None for key in keys]
    assert sizes(store) > 0.7 * store.bound
    assert not any(kept[:2]) and not any(kept[3:9])
    assert kept[-1]


def test_a_file_is_touched_when_it_is_used_and_not_more_than_once_a_day(store, path):
    now = time.time()
    for ago, is_touched in ((3600.0, False), (90_000.0, True)):
        os.utime(path, (now - ago, now - ago))
        assert store.get("object", KEY) == PAYLOAD
        assert (store.entries()[0].used > now - 1800.0) == is_touched


def test_what_is_larger_than_the_bound_is_not_kept(tmp_path):
    store = Store(tmp_path / "cache", 1000, tmp_path / "key")
    store.put("object", KEY, bytes(950))
    assert names(store) == []
    assert store.made_once("object", KEY, lambda: bytes(2000)) == bytes(2000)


def test_small_things_do_not_make_a_process_look_at_the_whole_directory(tmp_path, monkeypatch):
    store, looks, scan = Store(tmp_path / "cache", 64_000_000, tmp_path / "key"), [], os.scandir
    monkeypatch.setattr(os, "scandir", lambda *x: (looks.append(1), scan(*x))[1])
    for k in range(100):
        store.put("object", digest(k), bytes(1000))
    assert len(looks) <= 2  # a look at what was left behind, and one at what is kept


def test_what_killed_processes_left_behind_goes_when_it_is_old(tmp_path):
    store = Store(tmp_path / "cache", 100_000, tmp_path / "key")
    store.put("object", KEY, bytes(10_000))
    left = [f".{'0' * 16}.part", f".object-{KEY.hex()}.lock", "notes.part", ".hidden.lock"]
    old = [f".{'1' * 16}.part", f".object-{OTHER.hex()}.lock"]
    for name in left + old:
        (tmp_path / "cache" / name).touch()
    for name in old + left[2:]:
        os.utime(tmp_path / "cache" / name, (1.0, 1.0))
    store.put("object", OTHER, bytes(10_000))
    assert set(names(store)) == {*left, *(os.path.basename(x.path) for x in store.entries())}


def test_clearing_removes_what_a_store_has_made_and_nothing_else(store, path, tmp_path):
    folder = tmp_path / "cache"
    store.put("record", KEY, b"x")
    (folder / f".{'0' * 16}.part").write_bytes(b"half")
    (folder / f".object-{KEY.hex()}.lock").touch()
    (folder / "notes.txt").touch()
    (folder / "object-12.phipsi").touch()
    (folder / f"object-{OTHER.hex()}.phipsi").symlink_to(folder / "notes.txt")
    (folder / f"record-{OTHER.hex()}.phipsi").mkdir()
    before = sum(entry.size for entry in store.entries())
    assert [entry.kind for entry in store.entries()] in (["object", "record"], ["record", "object"])
    assert store.clear() == (4, before + 4)
    others = [f"{kind}-{OTHER.hex()}.phipsi" for kind in ("object", "record")]
    assert names(store) == sorted(["notes.txt", "object-12.phipsi", *others])
    assert store.clear() == (0, 0)
