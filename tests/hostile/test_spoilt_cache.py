"""A cache that somebody else has written to: nothing of it runs, nothing of it is returned."""

import hashlib
import os
import pickle
import random
import secrets
import struct
import time
import tracemalloc
import warnings
from unittest import mock

import pytest

from phipsi.backends.disk import cache, encoding, records, storage, trust
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.storage import Store
from phipsi.operators import C, Mass, T

TRIES = 120
KINDS = ("function", "object", "program")
PATIENCE = 5.0  # seconds for what takes milliseconds, on a machine that has other work


class Trap:
    """Unpickled, it leaves a file behind."""

    def __init__(self, flag):
        self.flag = flag

    def __reduce__(self):
        return os.mkdir, (str(self.flag),)


class Case:
    """A cache with something in it, and what an attacker has of it: all but the secret.

    Args:
        folder: for all files.
        rng: what is spoilt, and how.
    """

    def __init__(self, folder, rng):
        self.folder, self.rng = folder, rng
        self.flag, self.key = folder / "the trap has closed", folder / "home" / "cache.key"
        self.store = self.opened()
        self.things = [
            (kind, digest(kind, k), rng.randbytes(rng.randrange(3000)))
            for kind in KINDS
            for k in range(3)
        ]
        for thing in self.things:
            self.store.put(*thing)
        self.thing = rng.choice(self.things)
        self.path = self.store.path(*self.thing[:2])

    def opened(self):
        """As by another process."""
        return Store(self.folder / "cache", 100_000_000, self.key)

    def planted(self, payload, secret):
        """A file as a store writes it, with a secret of the attacker's."""
        return storage._sealed(secret, storage._label(*self.thing[:2]), payload)


def flipped(case):
    with open(case.path, "r+b") as file:
        whole = bytearray(file.read())
        whole[case.rng.randrange(len(whole))] ^= 1 << case.rng.randrange(8)
        file.seek(0)
        file.write(whole)


def cut(case):
    os.truncate(case.path, case.rng.randrange(os.path.getsize(case.path)))


def lengthened(case):
    with open(case.path, "ab") as file:
        file.write(case.rng.randbytes(case.rng.randrange(1, 100)))


def exchanged(case):
    kind, key, _ = case.rng.choice([x for x in case.things if x is not case.thing])
    other = case.store.path(kind, key)
    os.rename(case.path, f"{case.path}.away")
    os.rename(other, case.path)
    os.rename(f"{case.path}.away", other)


def pickled(case):
    with open(case.path, "wb") as file:
        file.write(pickle.dumps(Trap(case.flag)))


def pickled_as_before(case):
    """Whole by its checksum, as files once were: magic, sha256, label, pickle."""
    label = storage._label(*case.thing[:2])
    rest = struct.pack("<H", len(label)) + label + pickle.dumps(Trap(case.flag))
    with open(case.path, "wb") as file:
        file.write(b"phipsi\n\1" + hashlib.sha256(rest).digest() + rest)


def sealed_by_another(case):
    secret = case.rng.choice([bytes(32), b"", case.rng.randbytes(32)])
    with open(case.path, "wb") as file:
        file.write(case.planted(pickle.dumps(Trap(case.flag)), secret))


def endless(case):
    os.truncate(case.path, case.rng.choice([storage.LARGEST + 1, 1 << 37]))  # no disk is used


def linked(case):
    target = case.rng.choice(["/dev/zero", f"{case.path}.away", case.path, "/nowhere"])
    os.rename(case.path, f"{case.path}.away")
    os.symlink(target, case.path)


def piped(case):
    os.unlink(case.path)
    os.mkfifo(case.path, 0o600)


def in_a_directory(case):
    os.unlink(case.path)
    os.mkdir(case.path, 0o700)


def locked_for_ever(case):
    os.unlink(case.path)
    lock = f"{case.store.directory}/.{case.thing[0]}-{case.thing[1].hex()}.lock"
    case.rng.choice([os.mkfifo, os.mkdir])(lock, 0o600)


def key_of_another(case):
    case.key.write_bytes(secrets.token_bytes(32))


def key_of_another_length(case):
    case.key.write_bytes(bytes(case.rng.choice([0, 31, 33, 100_000])))


def key_gone(case):
    case.key.unlink()


def key_for_all_to_read(case):
    case.key.chmod(case.rng.choice([0o640, 0o604, 0o644, 0o660, 0o666]))


def key_in_a_folder_of_all(case):
    case.key.parent.chmod(0o777)


def key_that_is_a_link(case):
    case.key.rename(case.key.with_name("away"))
    case.key.symlink_to(case.key.with_name("away"))


def key_that_is_a_pipe(case):
    case.key.unlink()
    os.mkfifo(case.key, 0o600)


def key_that_is_a_directory(case):
    case.key.unlink()
    case.key.mkdir(0o700)


def key_without_end(case):
    os.truncate(case.key, 1 << 37)


SPOILERS = [
    *(flipped, cut, lengthened, exchanged, pickled, pickled_as_before, sealed_by_another),
    *(endless, linked, piped, in_a_directory, locked_for_ever),
    *(key_of_another, key_of_another_length, key_gone, key_for_all_to_read),
    *(key_in_a_folder_of_all, key_that_is_a_link, key_that_is_a_pipe),
    *(key_that_is_a_directory, key_without_end),
]


def attempt(spoil, rng, folder):
    """Spoil a cache, and have another process look: it finds what was put there, or nothing."""
    case = Case(folder, rng)
    spoil(case)
    start = time.monotonic()
    store = case.opened()
    found = store.get(*case.thing[:2])
    assert found is None, f"{spoil.__name__}: {len(found)} bytes were taken for what was put there"
    if spoil is not exchanged:
        others = [x for x in case.things if x is not case.thing]
        taken = [store.get(*x[:2]) for x in others]
        assert all(x in (None, y[2]) for x, y in zip(taken, others, strict=True))
    made = store.made_once(*case.thing[:2], lambda: b"made anew")
    assert made == b"made anew"
    assert store.get(*case.thing[:2]) in (None, b"made anew")
    assert not case.flag.exists(), f"{spoil.__name__}: what was planted has run"
    assert time.monotonic() - start < PATIENCE


def attack(seed, seconds, folder):
    """Spoil caches in all ways, each with its own choices; how many there were."""
    rng, end, count = random.Random(seed), time.monotonic() + seconds, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # they say what is not taken, and why
        while count < TRIES or time.monotonic() < end:
            trust._told.clear()
            spoil = SPOILERS[count % len(SPOILERS)]
            place = folder / str(count)
            place.mkdir()
            os.chmod(place, 0o700)
            attempt(spoil, rng, place)
            count += 1
    return count


def test_attack(fuzz, tmp_path):
    fuzz.tried(attack(fuzz.seed, fuzz.seconds, tmp_path), "spoilt caches")


@pytest.mark.parametrize("spoil", SPOILERS, ids=lambda x: x.__name__)
@pytest.mark.filterwarnings("ignore:phipsi's cache")
def test_nothing_is_taken_from_a_cache_that_was_spoilt(spoil, tmp_path):
    attempt(spoil, random.Random(0), tmp_path)


def test_a_file_that_claims_to_be_huge_is_not_read(tmp_path):
    case = Case(tmp_path, random.Random(1))
    os.truncate(case.path, 1 << 37)
    tracemalloc.start()
    try:
        assert case.opened().get(*case.thing[:2]) is None
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert not os.path.exists(case.path), "and the next process does not meet it again"


def test_looking_at_what_is_no_file_leaves_nothing_open(tmp_path):
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    case = Case(tmp_path, random.Random(2))
    in_a_directory(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(50):
            case.opened().get(*case.thing[:2])
    assert before in (None, len(os.listdir("/proc/self/fd")))


# -- records, even with a seal -------------------------------------------------------------------


def kept_as(payload, folder):
    """What a record with these bytes under a seal that is right is taken for."""
    settings = {"PHIPSI_CACHE": str(folder / "cache"), "PHIPSI_CACHE_KEY": str(folder / "key")}
    with (
        mock.patch.dict(os.environ, settings),
        mock.patch.object(records, "sources_digest", lambda: b"known"),
    ):
        with mock.patch.object(records, "encode", lambda _: payload):
            records.kept("program", (1,), lambda: None)
        assert len(cache.store().entries()) == 1
        return records.kept("program", (1,), lambda: "made anew")


def test_what_would_run_when_unpickled_does_not_run_when_its_seal_is_right(tmp_path):
    """A record is data: the seal keeps strangers' machine code out, and is not all there is."""
    flag = tmp_path / "flag"
    assert kept_as(pickle.dumps(Trap(flag)), tmp_path) == "made anew"
    assert not flag.exists()


@pytest.mark.parametrize(
    "table",
    [
        '["rm -rf", [0, "system"]]',
        '["rm -rf", [0, "os.system"]]',
        '["os", [0, "import_module"]]',
        '["print(1)", [0, "eval"]]',
        '["tests", "tests", [0, 1, "alphabet"]]',
        '["name", "antigravity", [0, 1, "_alphabet"]]',
        '[[0, "tuple"]]',
        '[1, [0, 5, "tuple"]]',
        '[["x", "tuple"]]',
        "[[]]",
        "[]",
        "{}",
        "3",
        '[[1000000000000, "bytes"], [0, "Root"]]',
        "[" * 100_000,
        "[" + "9" * 10_000 + "]",
    ],
)
def test_tables_that_make_no_sense_are_made_anew(table, tmp_path):
    data = table.encode()
    assert kept_as(struct.pack("<I", len(data)) + data, tmp_path) == "made anew"


def test_records_with_a_flipped_byte_are_read_or_refused_and_nothing_else(tmp_path):
    """Beneath the seal: the reader of records alone, which calls nothing but its makers."""
    rng, whole = random.Random(4), encoding.encode({"line": Mass.inv @ (T - C), "code": b"..."})
    for _ in range(500):
        spoilt = bytearray(whole)
        spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
        try:
            encoding.decode(bytes(spoilt))
        except Exception as error:
            assert not isinstance(error, AssertionError | SystemError | MemoryError)
