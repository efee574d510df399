"""What is kept on disk: where, under which keys, for which sources; the command that shows it."""

import ctypes
import math
import os
import re
import subprocess
import sys
import zipapp
from contextlib import contextmanager
from pathlib import Path

import llvmlite.binding
import numpy as np
import pytest
from commands import call
from hypothesis import given
from hypothesis import strategies as st

import phipsi
from phipsi.backends import llvm
from phipsi.backends.disk import cache, sources, trust
from phipsi.backends.disk.cache import bound, directory, is_off, store
from phipsi.backends.disk.digest import digest
from phipsi.backends.disk.sources import Sources
from phipsi.backends.llvm import Target, compile_module, compile_object
from phipsi.cli import cache as command

ADD = "define i64 @add(i64 %x) nounwind {\n  %y = add i64 %x, NUMBER\n  ret i64 %y\n}\n"


@pytest.fixture(autouse=True)
def told_anew(monkeypatch):
    monkeypatch.setattr(trust, "_told", set())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setenv("PHIPSI_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PHIPSI_CACHE_SIZE", raising=False)
    return tmp_path / "cache"


# -- where -----------------------------------------------------------------------------------


@pytest.fixture
def settings(monkeypatch):
    """The environment without settings, and a function that makes some."""
    for name in ("PHIPSI_CACHE", "PHIPSI_CACHE_SIZE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")

    def say(platform="linux", **settings):
        monkeypatch.setattr(sys, "platform", platform)
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        return directory()

    return say


def test_directory_is_where_the_system_keeps_such_things(settings):
    assert settings() == "/home/me/.cache/phipsi"
    assert settings("darwin") == "/home/me/Library/Caches/phipsi"
    assert settings("win32") is None
    assert settings("win32", LOCALAPPDATA="/local") == "/local/phipsi"
    assert settings(XDG_CACHE_HOME="not/absolute") == "/home/me/.cache/phipsi"
    assert settings(XDG_CACHE_HOME="/caches") == "/caches/phipsi"
    assert settings(PHIPSI_CACHE="~/mine") == "/home/me/mine"
    assert settings(PHIPSI_CACHE="here") == os.path.join(os.getcwd(), "here")
    assert settings(PHIPSI_CACHE=" ") == "/caches/phipsi"


def test_off_is_no_directory(settings):
    assert settings(PHIPSI_CACHE="off") == "/home/me/.cache/phipsi"
    assert is_off() and store() is None
    settings(PHIPSI_CACHE="Off")
    assert is_off()
    settings(PHIPSI_CACHE="/off")
    assert not is_off() and store().directory == "/off"


def test_without_a_home_nothing_is_kept(settings, monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as where nobody knows the user
    assert settings() is None and store() is None
    assert cache.made_once("object", digest(1), lambda: b"made") == b"made"


def test_size_is_given_in_megabytes(settings):
    assert bound() == 512_000_000
    settings(PHIPSI_CACHE="/a", PHIPSI_CACHE_SIZE="1.5")
    assert store().bound == 1_500_000
    settings(PHIPSI_CACHE_SIZE="0")
    assert is_off() and store() is None
    for wrong in ("much", "-1", "nan", "inf"):
        trust._told.clear()
        settings(PHIPSI_CACHE_SIZE=wrong)
        with pytest.warns(RuntimeWarning, match=f"PHIPSI_CACHE_SIZE: '{wrong}' is no number of MB"):
            assert bound() == 512_000_000


def test_settings_are_read_at_each_use_and_a_store_is_made_once(folder, monkeypatch):
    first = store()
    assert first.directory == str(folder) and store() is first
    monkeypatch.setenv("PHIPSI_CACHE", str(folder) + "2")
    assert store() is not first


# -- keys ------------------------------------------------------------------------------------

ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
PARTS = st.recursive(ATOMS, lambda x: st.lists(x, max_size=3).map(tuple), max_leaves=6)


def exactly(part):
    """A text that says kind and value; bits for floats, since -0.0 == 0.0 and nan != nan."""
    if isinstance(part, tuple):
        return f"({''.join(exactly(x) + ';' for x in part)})"
    if isinstance(part, float):
        return f"float {np.float64(part).view(np.uint64)}"
    return f"{type(part).__name__} {part!r}"


@given(PARTS, PARTS)
def test_digests_are_equal_for_equal_parts_alone(x, y):
    assert (digest(x) == digest(y)) == (exactly(x) == exactly(y))
    assert digest(x, y) != digest((x, y))
    assert (digest(x, y) == digest(y, x)) == (exactly(x) == exactly(y))
    assert len(digest(x)) == 32


def test_digests_tell_parts_that_look_alike():
    alike = [
        *(("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), (b"abc",), ("abc", None), ()),
        *(("asbc",), ("abs", "c"), ("a", "b", "c"), ("asbsc",), ("absc",), ((), "a"), (("a",),)),
        *((1,), (1.0,), (True,), ("1",), (b"1",), ((1,),), ((),), (0.0,), (-0.0,), (None,)),
        *((np.array([1, 0]),), (np.array([1, 0], np.int32),), (np.array([[1, 0]]),)),
        *((np.array([1, 0]).tobytes(),), (np.array([1.0, 0.0]),), (np.array([1], ">i8"),)),
        *((np.zeros(0),), (np.zeros((0, 3)),), (np.array([1], "<i8"),)),
    ]
    assert len({digest(*parts) for parts in alike}) == len(alike)


def test_digest_of_an_array_is_of_its_numbers_and_not_of_its_memory():
    x = np.arange(12.0).reshape(3, 4)
    assert digest(x) == digest(np.asfortranarray(x)) == digest(x[::-1][::-1])
    assert digest(x.T) != digest(x)
    assert digest(math.nan) == digest(np.float64("nan")) == digest(float("nan"))


def test_digest_is_the_same_in_every_process():
    script = (
        "from phipsi.backends.disk.digest import digest; print(digest('a', (1, 2.5), None).hex())"
    )
    run = [sys.executable, "-c", script]
    seeds = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2")]
    said = {subprocess.run(run, env=x, capture_output=True, text=True).stdout for x in seeds}
    assert said == {digest("a", (1, 2.5), None).hex() + "\n"}


def test_no_digest_of_what_has_no_defined_equality():
    for part, why in (({1: 2}, "a dict"), (np.int64(1), "a int64"), (object(), "a object")):
        with pytest.raises(TypeError, match=f"no digest of .*{why}"):
            digest("x", (part,))
    with pytest.raises(TypeError, match="one of addresses"):
        digest(np.array([object()]))


# -- sources ---------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Sources that were written long ago, as far as `Sources` knows."""
    monkeypatch.setattr(sources, "COARSE", -1e9)
    for name, text in {"a.py": "x = 1\n", "b/c.py": "y = 2\n", "b/__pycache__/c.py": ""}.items():
        (tmp_path / "package" / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / "package" / name).write_text(text)
    return tmp_path / "package"


def rewrite(tree):
    """Other contents of the same length, and the same time."""
    before = os.stat(tree / "a.py")
    (tree / "a.py").write_text("x = 3\n")
    os.utime(tree / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))


def exchange(tree):
    """Another file, older, under the same name, as copying with times makes it."""
    (tree / "new").write_text("x = 3\n")
    os.utime(tree / "new", (1.0, 1.0))
    os.replace(tree / "new", tree / "a.py")


CHANGES = {
    "rewritten": rewrite,
    "exchanged": exchange,
    "gone": lambda tree: (tree / "b" / "c.py").unlink(),
    "new": lambda tree: (tree / "b" / "d.py").touch(),
    "renamed": lambda tree: (tree / "a.py").rename(tree / "e.py"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("is_asked_before", [False, True])
def test_sources_that_changed_after_the_import_have_no_digest(tree, change, is_asked_before):
    running = Sources(str(tree))
    origins = [str(tree / "a.py")]
    if is_asked_before:
        assert running.digest(origins) is not None
    CHANGES[change](tree)
    assert running.digest(origins) is None
    assert running.fault in (
        "phipsi's sources have changed since it was imported",
        "phipsi's sources cannot be read",
    )
    CHANGES["gone" if change == "new" else "new"](tree)
    assert running.digest(origins) is None


def test_digest_is_of_names_and_contents_wherever_they_are(tree, tmp_path):
    first = Sources(str(tree)).digest([])
    (tree / "notes.txt").touch()
    (tree / "b" / "__pycache__" / "more.py").touch()
    assert Sources(str(tree)).digest([]) == first
    tree.rename(tmp_path / "elsewhere")
    moved = tmp_path / "elsewhere"
    assert Sources(str(moved)).digest([str(moved / "a.py")]) == first
    seen = {first}
    for change in CHANGES.values():
        change(moved)
        seen.add(Sources(str(moved)).digest([]))
        if not (moved / "a.py").exists():
            break
        for name, text in {"a.py": "x = 1\n", "b/c.py": "y = 2\n"}.items():
            (moved / name).write_text(text)
        (moved / "b" / "d.py").unlink(missing_ok=True)
        assert Sources(str(moved)).digest([]) == first
    assert len(seen) == len(CHANGES)  # two of the changes end with the same contents


def test_sources_that_were_just_written_have_no_digest(tree, monkeypatch):
    monkeypatch.undo()
    running = Sources(str(tree))
    assert running.digest([]) is None
    assert running.fault == "phipsi's sources have changed just before it was imported"


def test_modules_that_come_from_no_source_file_have_no_digest(tree):
    for origin in (None, str(tree / "b" / "c.pyc"), "/archive.zip/a.py"):
        running = Sources(str(tree))
        assert running.digest([str(tree / "a.py")]) is not None
        assert running.digest([str(tree / "a.py"), origin]) is None
        assert running.fault == "phipsi was not imported from its source files"


def test_sources_that_cannot_be_read_have_no_digest(tree, monkeypatch):
    assert Sources(str(tree / "none")).digest([]) is None
    running = Sources(str(tree))
    (tree / "a.py").unlink()
    assert running.digest([]) is None
    assert running.fault == "phipsi's sources cannot be read"


def test_all_of_phipsi_is_looked_at_before_any_other_module_is_imported():
    home = Path(phipsi.__file__).parent
    found = {Path(path).relative_to(home).as_posix() for path, *_ in sources.look(str(home))}
    assert {
        "__init__.py",
        "errors.py",
        "backends/disk/sources.py",
        "lowering/steps/body.py",
    } <= found
    assert set(map(str, sources._origins(sources._loaded()))) <= {
        path for path, *_ in sources.look(str(home))
    }
    script = "import phipsi, sys; print([x for x in sys.modules if x.startswith('phipsi.')][:3])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (
        done.stdout
        == "['phipsi.backends', 'phipsi.backends.disk', 'phipsi.backends.disk.sources']\n"
    )


def test_imported_from_an_archive_phipsi_works_and_keeps_nothing_of_its_own(tmp_path):
    home = Path(phipsi.__file__).parent
    package = tmp_path / "package" / "phipsi"
    for path, *_ in sources.look(str(home)):
        copy = package / Path(path).relative_to(home)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(Path(path).read_bytes())
    zipapp.create_archive(tmp_path / "package", tmp_path / "phipsi.zip", main="phipsi.cli:main")
    script = (
        "import phipsi as pp; from phipsi.backends.disk import sources as s; print(pp.__file__);"
        "print(s.sources_digest(), s.sources_fault(), pp.mass_matrix(pp.chain(1), [0]).shape)"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "phipsi.zip")}
    run = [sys.executable, "-c", script]
    done = subprocess.run(run, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        f"{tmp_path}/phipsi.zip/phipsi/__init__.py",
        "None phipsi's sources cannot be read (1, 1)",
    ], done.stderr


# -- object files ----------------------------------------------------------------------------


@contextmanager
def no_compiler(monkeypatch):
    """LLVM is given no text."""

    def refuse(_):
        raise AssertionError("LLVM was given a text")

    with monkeypatch.context() as patch:
        patch.setattr(llvm, "_parsed", refuse)
        yield


def add(code, x):
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("add"))(x)


def test_what_was_compiled_is_not_compiled_again(folder, monkeypatch):
    text, host = ADD.replace("NUMBER", "41"), Target.host()
    fresh = compile_object(text, host)
    assert len(os.listdir(folder)) == 1
    with no_compiler(monkeypatch):
        assert compile_object(text, host) == fresh
        assert add(compile_module(text, host), 1) == 42


def test_all_that_code_depends_on_is_in_its_key(folder, monkeypatch):
    text, host = ADD.replace("NUMBER", "1"), Target.host()
    compile_object(text, host)
    others = [
        (ADD.replace("NUMBER", "2"), host, 2),
        (text, host, 1),
        (text, Target(host.cpu, host.features, 2 * host.lanes), 2),
        (text, Target(host.cpu, host.features, host.lanes, "float"), 2),
        (text, Target("generic", host.features, host.lanes), 2),
        (text, Target(host.cpu, "", host.lanes), 2),
    ]
    for count, (changed, target, level) in enumerate(others, 2):
        compile_object(changed, target, level)
        assert len(os.listdir(folder)) == count
    for count, (name, value) in enumerate(
        [("llvm_version_info", (99, 0, 0)), ("get_process_triple", lambda: "x86_64-other")], 8
    ):
        with monkeypatch.context() as patch:
            patch.setattr(llvmlite.binding, name, value)
            patch.setattr(llvm, "_target_machine", lambda *_: Emitter)
            compile_object(text, host)
        assert len(os.listdir(folder)) == count
    with monkeypatch.context() as patch:
        patch.setattr(llvmlite, "__version__", "99.0")
        compile_object(text, host)
    assert len(os.listdir(folder)) == 10


class Emitter:
    """In the place of a compiler for another system."""

    @staticmethod
    def emit_object(_):
        return b"code"


def test_texts_with_addresses_and_texts_with_faults_are_not_kept(folder):
    assert add(compile_module(ADD.replace("NUMBER", "1"), Target.host(), kept=False), 1) == 2
    for _ in range(2):
        with pytest.raises(RuntimeError):
            compile_object("define", Target.host())
    assert not folder.exists() or os.listdir(folder) == []


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_damaged_code_is_never_loaded(tmp_path_factory, at, change):
    text, host = ADD.replace("NUMBER", "5"), Target.host()
    folder = tmp_path_factory.getbasetemp() / "damaged"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PHIPSI_CACHE", str(folder))
        fresh = compile_object(text, host)
        (file,) = folder.iterdir()
        whole = bytearray(file.read_bytes())
        whole[at % len(whole)] ^= change
        file.write_bytes(whole)
        assert compile_object(text, host) == fresh
        assert file.read_bytes() != bytes(whole)


def test_a_directory_of_others_costs_time_and_a_warning(folder):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match=f"phipsi's cache: {folder}: not used, since others"):
        assert add(compile_module(ADD.replace("NUMBER", "3"), Target.host()), 1) == 4
    assert add(compile_module(ADD.replace("NUMBER", "4"), Target.host()), 1) == 5
    assert os.listdir(folder) == []


def test_signs_of_its_path_do_not_act_where_it_is_shown(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "\x1b[2J\nFORGED\u202e"
    monkeypatch.setenv("PHIPSI_CACHE", str(folder))
    folder.mkdir()
    for words in (["cache"], ["cache", "--clear"]):
        told = call(capsys, *words).out
        assert told.replace("\n", "").isprintable()
        assert not any(line.startswith("FORGED") for line in told.splitlines())
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="not used, since others") as caught:
        compile_module(ADD.replace("NUMBER", "6"), Target.host())
    assert str(caught[0].message).isprintable()


def test_functions_compute_the_same_from_the_disk(folder, monkeypatch):
    """Drivers, kernels and walks: nothing that stands in the key is missing there."""
    robot = phipsi.examples.puma560()
    q, v, tau = np.random.default_rng(0).normal(size=(3, 9, robot.nv))
    results = []
    for _ in range(2):
        fresh = phipsi.examples.puma560()
        results.append(phipsi.forward_dynamics(fresh, q, v, tau, backend="llvm"))
    assert np.array_equal(*results)
    kept = len(os.listdir(folder))
    assert kept >= 1
    monkeypatch.setenv("PHIPSI_CACHE", "off")
    plain = phipsi.forward_dynamics(robot, q, v, tau, backend="llvm")
    assert np.array_equal(results[0], plain)
    assert len(os.listdir(folder)) == kept


# -- the command -----------------------------------------------------------------------------


@pytest.fixture
def sound(monkeypatch):
    """Sources as they are in an installation."""
    monkeypatch.setattr(command, "sources_fault", lambda: "")


def told(capsys):
    """What the command says: facts by name, and the table."""
    code, out, err = call(capsys, "cache")
    assert (code, err) == (0, "")
    facts, _, rows = out.partition("\n\n")
    return dict(re.split(r"\s{2,}", x, maxsplit=1) for x in facts.splitlines()), rows.split("\n")


def test_command_shows_what_is_kept_and_where(capsys, folder, sound):
    said, rows = told(capsys)
    assert said == {
        "directory": str(folder),
        "key": os.environ["PHIPSI_CACHE_KEY"],
        "used": "yes",
        "holds": "0 files, 0 MB",
        "bound": "512 MB",
    }
    assert rows == [""] and not folder.exists()
    store().put("record", digest(1), bytes(100_000))
    store().put("object", digest(2), bytes(2_000_000))
    store().put("object", digest(3), bytes(3_000_000))
    os.utime(store().path("object", digest(3)), (1.0, 1.0))
    said, rows = told(capsys)
    assert said["holds"] == "3 files, 5.1 MB"
    assert [row.split() for row in rows[1:3]] == [
        ["object", "2", "5", "MB", "1"],
        ["record", "1", "0.1001", "MB", "1"],
    ]


def test_command_says_why_nothing_is_kept(capsys, folder, sound, monkeypatch):
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    assert told(capsys)[0]["used"].startswith(f"no: others may write to it; chmod go-w {folder}")
    folder.chmod(0o700)
    monkeypatch.setattr(command, "sources_fault", lambda: "they have changed")
    assert told(capsys)[0]["used"] == "for object files alone: they have changed"
    monkeypatch.setenv("PHIPSI_CACHE_SIZE", "0")
    assert told(capsys)[0]["used"] == "no: PHIPSI_CACHE_SIZE is 0"
    monkeypatch.delenv("PHIPSI_CACHE_SIZE")
    monkeypatch.setattr(command, "directory", lambda: None)
    said, _ = told(capsys)
    assert said["directory"] == "none" and said["used"].startswith("no: there is no home directory")
    assert call(capsys, "cache", "--clear").out == "removed 0 files, 0 MB\n"
    monkeypatch.setenv("PHIPSI_CACHE", "off")
    assert told(capsys)[0]["used"] == "no: PHIPSI_CACHE is off"


def test_command_clears_its_own_files_alone(capsys, folder):
    store().put("object", digest(1), bytes(1_000_000))
    (folder / "notes.txt").write_text("mine")
    code, out, err = call(capsys, "cache", "--clear")
    assert (code, out, err) == (0, f"removed 1 file, 1 MB from {folder}\n", "")
    assert os.listdir(folder) == ["notes.txt"]
    assert call(capsys, "cache", "--clear").out == f"removed 0 files, 0 MB from {folder}\n"


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no", "false"])
def test_words_that_turn_it_off(monkeypatch, word):
    monkeypatch.setenv("PHIPSI_CACHE", word)
    assert cache.is_off() and cache.store() is None


def test_letters_of_functions_without_a_name_are_compiled_and_not_kept(folder):
    """A lambda is found by no other process; the search for cheaper lines finds others with it."""
    from phipsi.operators import C, Mass, T, letter

    D_j = letter("D_j", "joint", "joint", lambda body, joint: 0.2, positive=True)
    arm = phipsi.examples.puma560()
    line = (Mass + 0.01 * D_j).inv @ (T - C)
    found = phipsi.compile(arm, line, backend="llvm")(arm.neutral(), np.ones(6), np.ones(6))
    right = phipsi.compile(arm, line, backend="numpy", rewrite=False)
    np.testing.assert_allclose(found, right(arm.neutral(), np.ones(6), np.ones(6)), rtol=1e-9)
