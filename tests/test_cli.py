"""The command line: help, errors in one line, exit codes, pipes and terminals."""

import re
import shlex
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Literal, get_args, get_type_hints

import pytest
from commands import GRIPPER, as_users, call, run, run_on_terminal

import phipsi as pp
from phipsi.cli import app, failures, info, machine, main, simulate
from phipsi.simulate.methods import NAMES
from phipsi.simulate.trajectory import Trajectory

PAGE = (Path(__file__).parents[1] / "docs" / "command_line.md").read_text()
COMMANDS = {function.__name__: uses for function, uses in app.COMMANDS.items()}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where users of the command are: a good file, and some bad ones."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gripper.urdf").write_text(GRIPPER)
    (tmp_path / "broken.urdf").write_text("<robot")
    (tmp_path / "alone.urdf").write_text('<robot name="alone"><link name="a"/></robot>')
    (tmp_path / "drawer").mkdir()
    return tmp_path


# -- help ------------------------------------------------------------------------------


def test_command_is_installed_under_its_name():
    (entry,) = entry_points(group="console_scripts", name="phipsi")
    assert entry.load() is main


def test_help_names_every_command_and_shows_how_to_use_it(capsys):
    code, out, err = call(capsys, "--help")
    assert (code, err) == (0, "")
    for name, uses in COMMANDS.items():
        assert re.search(rf"^│ {name} ", out, re.MULTILINE)
        assert f"  {uses[0]}\n" in out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_examples_that_it_understands(capsys, name):
    code, out, _ = call(capsys, name, "--help")
    assert code == 0
    for use in COMMANDS[name]:
        assert f"  {use}\n" in out
        program, *words = shlex.split(use)
        command, bound, _ = app.make_app().parse_args(words)
        assert (program, command.__name__) == ("phipsi", name)
        assert bound.arguments or words in (["demo"], ["cache"])


@pytest.mark.parametrize("name", COMMANDS)
def test_page_documents_every_option(name):
    _, _, section = PAGE.partition(f"## `phipsi {name}`")
    assert section
    options = [x.name for x in app.make_app()[name].assemble_argument_collection()]
    missing = [x for x in options if x.startswith("--") and f"`{x}" not in PAGE]
    assert missing == []


def test_page_documents_every_exit_code_and_machine():
    codes = re.findall(r"^\| (\d+) \| (.+) \|$", PAGE, re.MULTILINE)
    stated = re.findall(r"^(\d+) +(.+)$", failures.__doc__, re.MULTILINE)
    assert codes == stated
    assert {int(code) for code, _ in codes} == {
        *(failures.FINE, failures.WRONG, failures.MISUSED),
        *(failures.INTERRUPTED, failures.UNREAD),
    }
    assert all(f"`{name}`" in PAGE for name in machine.BUNDLED)


def test_no_command_at_all_is_answered_with_help(capsys):
    assert call(capsys).out == call(capsys, "--help").out


def test_version_is_that_of_the_package(capsys):
    assert call(capsys, "--version") == (0, f"{pp.__version__}\n", "")


def test_choices_are_those_of_the_library():
    hints = get_type_hints(simulate.simulate)
    assert hints["integrator"] == Literal[NAMES] | None
    assert set(simulate.MOTORS) == set(get_args(get_type_hints(simulate.Driving)["control"]))


# -- errors ----------------------------------------------------------------------------

# Words of the command, exit code, and what the one line on standard error says.
WRONG = {
    "no such file": ("info robot.urdf", 1, "robot.urdf: no such file"),
    "a directory": ("info drawer", 1, "drawer: this is a directory; give the file in it"),
    "no XML": ("simulate broken.urdf", 1, "broken.urdf:1: the file ends before"),
    "no machine": ("view spacecarft", 1, "did you mean 'spacecraft'? Valid names: 'spacecraft'"),
    "bundled, read otherwise": (
        "info puma560 --base free",
        1,
        "--base, --mimic, --strict and --packages",
    ),
    "a count of nothing": ("info puma560:3", 1, "'puma560' takes no number of bodies"),
    "no bodies": ("info chain:0", 1, "n is 0; expected a number of bodies"),
    "a count in letters": ("info chain:abc", 1, "chain:abc: no such file"),
    "no file": ("info", 2, "requires an argument. See: phipsi info --help"),
    "two files": ("info a b", 2, "['b']. See: phipsi info --help"),
    "unknown command": ("simulat x", 2, 'Did you mean "simulate"?'),
    "unknown option": ("simulate x --contrl pd", 2, "Did you mean --control?"),
    "unknown base": ("info x --base floating", 2, 'Choose from: "fixed", "free"'),
    "unknown control": ("simulate x --control pdd", 2, 'Did you mean "pd"?'),
    "unknown integrator": ("simulate x --integrator rk5", 2, 'Did you mean "rk4"?'),
    "half a seed": ("simulate x --seed 1.5", 2, "--seed: '1.5' is no whole number. See: phipsi"),
    "no number": ("simulate x --duration long", 2, 'unable to convert "long" into float'),
    "no duration": ("simulate puma560 --duration 0", 1, "duration is 0.0; expected a number"),
    "no step": ("simulate puma560 --dt -1", 1, "dt is -1.0; expected a number of seconds"),
    "too rarely": ("simulate planar_arm --duration 0.01 --every 99", 1, "every is 99, but there"),
    "negative seed": ("simulate puma560 --seed -1", 1, "--seed is -1; expected a whole number"),
    "odd gravity": ("simulate puma560 --gravity 0 0 nan", 1, "--gravity is (0.0, 0.0, nan)"),
    "half a vector": ("simulate puma560 --gravity 0 0", 2, "--gravity requires 3"),
    "tolerance of nobody": (
        "simulate puma560 --tolerance 1e-6",
        1,
        "--tolerance is for --integrator dopri",
    ),
    "steps of nobody": (
        "simulate puma560 --most-steps 9 --integrator rk4",
        1,
        "--most-steps is for --integrator dopri",
    ),
    "no tolerance": (
        "simulate planar_arm --integrator dopri --tolerance 0",
        1,
        "--tolerance is 0.0; expected a number from",
    ),
    "no steps": (
        "simulate planar_arm --integrator dopri --most-steps 0",
        1,
        "--most-steps is 0; expected",
    ),
    "half a step": ("simulate x --integrator dopri --most-steps 1.5", 2, "is no whole number."),
    "gain of nobody": ("simulate puma560 --kp 3", 1, "--kp is for --control pd and"),
    "odd gain": ("simulate puma560 --control pd --kd nan", 1, "--kd is nan; expected a number"),
    "negative gain": ("simulate puma560 --control computed --kp -1", 1, "--kp is -1.0; expected"),
    "unknown data": ("simulate puma560 --out run.ncc", 1, "did you mean '.nc'?"),
    "unknown picture": ("simulate puma560 --plot run.gif", 1, "unknown suffix '.gif'"),
    "no page": ("simulate puma560 --html run.pdf", 1, "unknown suffix '.pdf'"),
    "no page to view": ("view puma560 --html run.pdf", 1, "unknown suffix '.pdf'"),
    "no folder": ("simulate puma560 --out no/run.npz", 1, "there is no directory 'no'; make it"),
    "a folder": ("simulate puma560 --plot drawer.png", 1, "it is a directory; give the name"),
    "nothing to simulate": ("simulate alone.urdf", 1, "nothing moves in 'alone'"),
    "nothing to check": ("check alone.urdf", 1, "nothing to check; --base free lets its root"),
    "no states": ("check puma560 --states 0", 1, "--states is 0; expected a whole number, one"),
    "half a state": ("check puma560 --states 1.5", 2, "--states: '1.5' is no whole number. See"),
    "negative states' seed": ("check puma560 --seed -1", 1, "--seed is -1; expected a whole"),
    "broken, to check": ("check broken.urdf --json", 1, "broken.urdf:1: the file ends"),
    "unknown status": ("info gripper.urdf --report usd", 2, 'Did you mean "used"?'),
    "odd and strict": ("info gripper.urdf --strict", 1, "keep it without --strict"),
    "nothing to time": ("bench alone.urdf", 1, "nothing moves in 'alone'"),
    "no motion": ("view puma560 --motion run.nc", 1, "run.nc: no such file"),
    "no packages": ("info gripper.urdf --packages no", 1, "no', which is no directory"),
    "no port": ("view puma560 --port 0", 1, "port is 0; expected a number from 1"),
    "no room for a demo": ("demo --out gripper.urdf", 1, "no such directory can be made"),
}


@pytest.mark.parametrize(("words", "code", "message"), WRONG.values(), ids=WRONG)
def test_mistake_is_answered_in_one_line(capsys, folder, words, code, message):
    (folder / "drawer.png").mkdir()
    before = sorted(folder.rglob("*"))
    ended = call(capsys, *words.split())
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith("error: ") and ended.err.count("\n") == 1
    assert message in ended.err
    assert sorted(folder.rglob("*")) == before  # nothing half-done is left behind


@pytest.mark.parametrize(
    ("words", "module", "extra"),
    [
        ("simulate puma560 --plot run.png", "matplotlib", "plot"),
        ("simulate puma560 --html run.html", "viser", "view"),
        ("simulate puma560 --out run.nc", "h5netcdf", "data"),
        ("view puma560", "viser", "view"),
        ("demo", "viser", "view"),
        ("demo", "matplotlib", "plot"),
    ],
)
def test_missing_extra_is_named_with_the_line_that_installs_it(
    capsys, folder, monkeypatch, words, module, extra
):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(simulate, "run", pytest.fail)  # it is known before anything is computed
    code, out, err = call(capsys, *words.split())
    assert (code, out) == (1, "")
    assert f"needs {module}: pip install 'phipsi[{extra}]'\n" in err
    assert not (folder / "demo").exists()


def test_place_that_cannot_be_written_to_is_found_before_the_work(capsys, folder, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write anywhere
    monkeypatch.setattr(simulate, "run", pytest.fail)
    code, _, err = call(capsys, "simulate", "puma560", "--out", "drawer/run.csv")
    assert code == 1
    assert err == (
        "error: drawer/run.csv: cannot be written: permission denied; check the rights on 'drawer' "
        "or write elsewhere\n"
    )


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 1, "error: out of memory: too many numbers; ask for fewer states"),
        (pp.SpaceError("one\n  two"), 1, "error: one two"),
        (RuntimeError("odd"), 1, "error: RuntimeError: odd; this is a bug of phipsi, and --debug"),
    ],
)
def test_whatever_happens_is_one_line_and_a_traceback_only_for_debug(
    capsys, monkeypatch, error, code, line
):
    def fail(*_):
        raise error

    monkeypatch.setattr(info, "read_machine", fail)
    ended = call(capsys, "info", "puma560")
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith(line) and ended.err.count("\n") == 1
    debugged = call(capsys, "info", "puma560", "--debug")
    assert debugged.code == code
    assert debugged.err.startswith("Traceback (most recent call last):")
    assert debugged.err.endswith(ended.err)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("take a smaller dt, or integrator='dopri', which", "dt, or --integrator dopri, which"),
        ("integrator='euler' or 'midpoint', which solve", "--integrator euler or midpoint, which"),
        ("or losses=False", "or --no-losses\n"),
        ("limits=False leaves it out", "error: --no-limits leaves it out\n"),
        ("keep fewer with every=", "keep fewer with --every\n"),
        ('(mimic="independent" frees it)', "(--mimic independent frees it)\n"),
        ("strict=False leaves it out", "error: without --strict it is left out\n"),
        ("or a larger most_steps", "or a larger --most-steps\n"),
        ("a larger tolerance, or", "a larger --tolerance, or"),
        ("away; raise the tolerance, or", "away; raise --tolerance, or"),
        ("its directory by packages=", "its directory by --packages\n"),
        ("the directory, load(..., packages=[...])", "the directory, --packages\n"),
        ("below a directory of packages=[...]", "below a directory of --packages\n"),
    ],
)
def test_options_go_by_their_names_on_the_command_line(capsys, monkeypatch, said, told):
    def fail(*_):
        raise pp.SolveError(said)

    monkeypatch.setattr(info, "read_machine", fail)
    assert told in call(capsys, "info", "puma560").err


def test_library_still_says_what_is_translated(capsys, folder):
    """An error that the library raises, not one of ours."""
    (folder / "gripper.urdf").write_text(GRIPPER.replace('effort="7"', 'effort="-7"'))
    err = call(capsys, "simulate", "gripper.urdf", "--duration", "0.01").err
    assert "--no-limits leaves it out" in err and "limits=False" not in err


def test_debug_of_a_mistyped_command_is_one_line_too(capsys):
    assert call(capsys, "inf", "--debug") == call(capsys, "inf")


# -- streams ---------------------------------------------------------------------------


def test_terminal_gets_colours_and_a_pipe_plain_words(folder):
    shown = run_on_terminal(folder, "info", "gripper.urdf")
    piped = run(folder, "info", "gripper.urdf")
    assert (shown.code, piped.code) == (0, 0)
    assert "\x1b[" in shown.out and "\x1b" not in piped.out
    assert piped.err == ""
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.out).replace("\r", "")
    assert "…" not in plain  # what has no room is named, not cut
    assert "on a wider terminal: " in plain
    lines = [line.rstrip() for line in plain.splitlines()]
    assert lines[:18] == piped.out.splitlines()[:18]


def test_terminal_is_told_what_takes_a_while(folder):
    shown = run_on_terminal(folder, "simulate", "gripper.urdf", "--duration", "0.01")
    assert shown.code == 0
    assert "compiling gripper ..." in shown.out


def test_no_name_is_cut_in_a_pipe(folder, capsys):
    name = "a_joint_with_a_very_long_name" * 4
    (folder / "gripper.urdf").write_text(GRIPPER.replace("shoulder", name))
    assert name in call(capsys, "info", "gripper.urdf").out


@pytest.mark.parametrize("words", ["info chain:150", "--help"])
def test_reader_may_close_the_pipe(folder, words):
    command = [sys.executable, "-m", "phipsi", *words.split()]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, env=as_users(), **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize(("words", "code"), [("simulate planar_arm --duration 0.01", 0), ("no", 2)])
def test_shell_may_close_the_streams(folder, closed, words, code):
    script = f'"{sys.executable}" -m phipsi {words} {closed}'
    done = subprocess.run(["sh", "-c", script], cwd=folder, env=as_users(), capture_output=True)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr and (code or not done.stderr)


def test_file_is_whole_where_the_output_is_closed(folder):
    """The file must not take the place of the closed output: nothing printed ends up in it."""
    words = "simulate planar_arm --duration 0.01 --out run.npz"
    script = f'"{sys.executable}" -m phipsi {words} >&-'
    subprocess.run(["sh", "-c", script], cwd=folder, env=as_users(), check=True)
    assert len(Trajectory.load(folder / "run.npz", pp.examples.planar_arm())) == 11


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_full_disk_is_told(folder):
    with open("/dev/full", "w") as full:
        code, _, err = run(folder, "info", "puma560", stdout=full)
    assert code == 1
    assert err == "error: the output cannot be written: No space left on device\n"


def test_names_in_square_brackets_are_no_markup(folder, capsys):
    (folder / "gripper.urdf").write_text(GRIPPER.replace('"gripper"', '"[bold]gripper[/]"'))
    code, out, _ = call(capsys, "info", "gripper.urdf")
    assert code == 0
    assert out.startswith("[bold]gripper[/]\n")
    shown = run_on_terminal(folder, "simulate", "gripper.urdf", "--duration", "0.01")
    assert shown.code == 0
    assert "compiling [bold]gripper[/] ..." in shown.out


def test_letters_that_a_terminal_lacks_are_replaced(folder):
    (folder / "gripper.urdf").write_text(GRIPPER.replace('"arm"', '"φ"'), encoding="utf-8")
    environment = {**as_users(), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "phipsi", "info", "gripper.urdf"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"`-- ?   shoulder" in done.stdout
