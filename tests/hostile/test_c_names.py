"""Exported code whose names come from others: it says what it says, and runs nothing else.

Names of files are any text: ends of comments, lines that are joined, trigraphs, code. Names of
functions are the user's: words of C, of its library, of the compiler. A header that is written
compiles under every warning, and passes its own test; one that cannot be is refused.
"""

import random
import re
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from c_code import CC, CXX, compile_c, needs_compiler, run_main

import phipsi as pp
from phipsi.backends.exports import c, c_main
from phipsi.backends.exports.c_names import LONGEST, argument_names, checked_name, symbol_names
from phipsi.errors import BackendError, InputError, SolveError
from phipsi.function.exported import exported
from phipsi.model.build import ModelBuilder
from phipsi.operators import J, Mass, T, scalar

TRIES = 6
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
STANDARD = ("-std=c99", *WARNINGS)
ORDINARY = ("-std=gnu17", *WARNINGS)
CPP = ("-std=c++17", "-x", "c++", *WARNINGS)

# Run before main, it ends the program with a code of its own.
CODE = "__attribute__((constructor)) static void run(void) { extern void _exit(int); _exit(99); }"
PIECES = (
    *("*/", "/*", "//", "*", "/", "\\", "\\\n", "\n", "\r", "\r\n", "\t", "\v", "\f"),
    *("??/", "??/\n", "*??/\n/", "*\\\n/", "*\\\n\n/", "??", "?", "??'", "%s%n", '"', "'", "`"),
    *("#", "\n#error stop\n", "\n#include </etc/hostname>\n", "$(id)", "@", "é", "φ", "𝔸"),
    *("\u202e", "\u2066", "\ufeff", "\u2028", "\x85", "\x7f", "\x1b[31m"),
    *(" ", "-", ".", "_", "__", "arm", "int", "q", "out", "work", "A" * 200, "__import__('os')"),
)
HOSTILE = (
    f"arm*\\\n/ {CODE} /*",
    f"arm*??/\n/ {CODE} /*",
    f"*/ {CODE} /*",
    f"*/\n{CODE}\n/*",
    f"*/*/ {CODE} /*/",
    f"arm\\\n*\\\n/{CODE}",
    f'arm"; }} {CODE} //',
    "/*",
    "??/",
    "arm\\",
    "\u202e\u2066*\u2028/",
)


def machine(name: str) -> pp.Model:
    """One joint; all that can have a name has this one."""
    builder = ModelBuilder(name)
    joint = pp.joints.Revolute((0.0, 0.0, 1.0))
    builder.add_body(name, joint=joint, joint_name=name, mass=1.0, com=(1.0, 0.1, 0.0))
    return builder.build()


def hostile_name(rng: random.Random) -> str:
    """Pieces that mean something to C, in any order, often with code between them."""
    pieces = [rng.choice((*PIECES, CODE, *HOSTILE)) for _ in range(rng.randint(1, 6))]
    return "".join(pieces).strip() or "*/"


def check_header(model: pp.Model, path: Path, *options: str) -> None:
    """It compiles without a warning, passes its test, and that is all it does."""
    name = model.bodies[0].name
    function = pp.compile(model, [Mass, J(pp.point(name))], parameters=[f"{name}.mass"])
    function.export_c(path)
    text = path.read_bytes()
    assert text.isascii(), "letters that a compiler may read otherwise"
    assert not re.search(rb"\b(nan|inf)\b", re.sub(rb"/\*.*?\*/", b"", text, flags=re.S), re.I)
    code, said = run_main(path, *options)
    assert (code, "0 failed" in said) == (0, True), (name, code, said)


def word(rng: random.Random, words: tuple[str, ...]) -> str:
    """A word that a compiler may know, or a letter away from one."""
    found = rng.choice(words)
    return found if rng.random() < 0.8 else found[: rng.randint(1, len(found))]


def attack(seed: int, seconds: float, folder: Path) -> int:
    """Machines with hostile names, and functions with names that C may know."""
    rng, end, tries = random.Random(seed), time.monotonic() + seconds, 0
    words = tuple(sorted(known_words()))
    while tries < TRIES or time.monotonic() < end:
        check_header(machine(hostile_name(rng)), folder / "f.h", "-O0", *STANDARD)
        name = word(rng, words)
        function = pp.compile(machine("arm"), scalar(word(rng, words) + "_") * Mass)
        try:
            function.export_c(folder / "g.h", name=name)
        except InputError:
            pass
        else:
            options = rng.choice((STANDARD, ORDINARY))
            main = f"-D{name.upper()}_TEST_MAIN"
            compile_c("-fsyntax-only", "-x", "c", *options, main, folder / "g.h")
        tries += 1
    return tries


@needs_compiler
def test_attack(fuzz, tmp_path):
    fuzz.tried(attack(fuzz.seed, fuzz.seconds, tmp_path), "hostile names in exported C")


# -- names of files ----------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize("name", HOSTILE)
def test_a_planted_constructor_never_runs(tmp_path, name):
    check_header(machine(name), tmp_path / "f.h", "-O0", *STANDARD)


@needs_compiler
def test_the_trap_works(tmp_path):
    """Without the escapes the planted function runs, so that the other tests could fail."""
    pp.compile(machine(HOSTILE[0]), Mass).export_c(tmp_path / "f.h")
    header = (tmp_path / "f.h").read_text()
    plain = header.replace("\\x5c\\x0a", "\\\n").replace("/\\x2a", "/*")
    assert plain != header
    (tmp_path / "f.h").write_text(plain)
    assert run_main(tmp_path / "f.h", "-O0", "-w")[0] == 99


def test_what_a_comment_says_can_be_read():
    """Every letter that C would read, and no other of ASCII, is written by its number."""
    from phipsi.backends.exports.c_names import in_comment

    plain = "".join(map(chr, range(32, 127))).replace("\\", "")
    assert in_comment(plain) == plain
    for given, told in (
        ("a*/b", r"a*\x2fb"),
        ("a/*b", r"a/\x2ab"),
        ("/*/", r"/\x2a\x2f"),
        ("??/", r"?\x3f/"),
        ("???", r"?\x3f\x3f"),
        ("*\\\n/", r"*\x5c\x0a/"),
        ("é φ 𝔸", r"\xe9 \u03c6 \U0001d538"),
    ):
        assert in_comment(given) == told


@pytest.mark.parametrize("name", HOSTILE)
def test_formulas_have_names_that_are_printed_without_harm(name):
    """CasADi and SymPy write names into code as they are."""
    casadi = pytest.importorskip("casadi")
    model = machine(name)
    function = pp.export(model, Mass, to="casadi", parameters=[f"{name}.mass"])
    assert isinstance(function, casadi.Function)
    assert all(re.fullmatch(r"[\w.]+", x) for x in function.name_in())
    right = pp.compile(model, Mass, parameters=[f"{name}.mass"], backend="numpy")([0.3], None, 2.0)
    np.testing.assert_allclose(np.array(function([0.3], 2.0)), right, rtol=1e-12)
    formula = pp.export(model, Mass, to="sympy", parameters=[f"{name}.inertia"])
    assert formula.free_symbols
    assert all(re.fullmatch(r"[\w.]+", str(x)) for x in formula.free_symbols)


@pytest.mark.parametrize("to", ["jax", "torch"])
def test_functions_of_arrays_take_any_name_by_place(to):
    """Nor is it in what JAX prints or hands to its compiler."""
    package, name = pytest.importorskip(to), HOSTILE[0]
    function = pp.export(machine(name), Mass, to=to, parameters=[f"{name}.mass"])
    given = (np.array([0.3], np.float32), np.array(2.0, np.float32))
    if to == "torch":
        given = tuple(map(package.tensor, given))
    else:
        lowered = package.jit(function).lower(*given).as_text()
        assert "constructor" not in lowered + str(package.make_jaxpr(function)(*given))
    np.testing.assert_allclose(np.asarray(function(*given)), [[2.02]], rtol=1e-6)


@needs_compiler
def test_code_of_casadi_runs_nothing_else(tmp_path, monkeypatch):
    pytest.importorskip("casadi")
    monkeypatch.chdir(tmp_path)
    for i, name in enumerate(HOSTILE[:7]):
        function = pp.export(machine(name), Mass, to="casadi", parameters=[f"{name}.mass"])
        function.generate(f"code{i}.c", {"main": True})
        compile_c(f"code{i}.c", "-o", f"code{i}", "-lm")
        assert subprocess.run([f"./code{i}", "f"], input="0.3 2.0", text=True).returncode != 99


def test_names_stay_apart():
    """Names that become one, and names that exported code uses itself."""
    names = ["a b.mass", "a-b.mass", "a_b.mass", "f", "f_look.mass", "F_LANES", "tile_q", "T", "t"]
    found = argument_names(names, "f")
    assert list(found.values()) == [
        *("a_b_mass", "in1", "in2"),
        *("in3", "in4", "in5", "in6"),
        "T",
        "in8",
    ]
    found = symbol_names(names[:3])
    assert list(found.values()) == ["a_b.mass", "in1", "in2"]
    assert argument_names(["long" * 50]) == {"long" * 50: "in0"}


@needs_compiler
def test_arguments_called_like_parts_of_the_code(tmp_path):
    """A letter called f_pack would hide the function of that name."""
    expression = Mass
    for name in ("f_pack", "f_one", "F_LANES", "F_FMA", "tile_q", "wanted_out", "fma", "E10", "I_"):
        expression = scalar(name) * expression
    pp.compile(pp.examples.planar_arm(2), expression).export_c(tmp_path / "f.h")
    assert run_main(tmp_path / "f.h", "-O0", *STANDARD)[0] == 0


# -- names of functions ------------------------------------------------------------------------

HEADERS = (
    *("assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits"),
    *("locale", "math", "setjmp", "signal", "stdarg", "stdbool", "stddef", "stdint", "stdio"),
    *("stdlib", "string", "strings", "tgmath", "time", "unistd", "wchar", "wctype"),
)
# What compilers know without a header.
BUILT_IN = (
    *(
        "alloca",
        "asm",
        "bcmp",
        "clog10",
        "class",
        "co_await",
        "dcgettext",
        "drem",
        "execl",
        "exp10",
    ),
    *("fabsf128", "ffs", "fork", "gamma", "gettext", "index", "lgamma_r", "linux", "main", "y1"),
    *("mempcpy", "nanf32x", "pow10", "rindex", "scalb", "significand", "sincosf", "typeof", "unix"),
)


def known_words() -> set[str]:
    """All names that the headers of C bring along here, macros too."""
    words = set(BUILT_IN)
    includes = "".join(f"#include <{x}.h>\n" for x in HEADERS)
    for options in (["-std=c11"], ["-std=gnu17", "-D_GNU_SOURCE"]):
        for more in ([], ["-dM"]):
            done = subprocess.run(
                [*CC, *options, "-E", "-P", *more, "-x", "c", "-"],
                input=includes,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
            words |= set(re.findall(r"\b[A-Za-z]\w*", done.stdout))
    return words


def is_allowed(name: str) -> bool:
    try:
        return checked_name(name) == name
    except InputError:
        return False


@needs_compiler
def test_names_of_the_library_are_refused_or_free(tmp_path):
    """What is allowed can be a function beside all that exported code includes, in C and C++."""
    words = known_words()
    assert len(words) > 2000
    allowed = sorted(filter(is_allowed, words))
    assert len(allowed) < len(words) / 2
    source = tmp_path / "names.c"
    includes = "".join(
        f"#include <{x}.h>\n" for x in ("float", "math", "stddef", "stdint", "stdio")
    )
    functions = [
        f"static inline int {x}(const double *q, double *out) {{ out[0] = q[0]; return 0; }}\n"
        for x in allowed
    ]
    source.write_text("#define _GNU_SOURCE\n" + includes + "".join(functions))
    for options in (("-std=c99",), ("-std=c11",), ("-std=gnu17",)):
        compile_c("-fsyntax-only", *options, *WARNINGS, source)
    source.write_text(includes + "".join(functions))
    compile_c("-fsyntax-only", *CPP, source, command=CXX)


@pytest.mark.parametrize(
    "name",
    [
        *("sin", "main", "printf", "for", "class", "INT_MAX", "NULL", "EDOM", "I"),
        *("index", "typeof", "remove", "out", "in3", "tile_q", "wanted_out", "work", "sinf", "y1"),
        *("a" * (LONGEST + 1), "_arm", "2d", "arm-2", "φ", "arm\n", "arm\0", "", "arm/*", "??/"),
    ],
)
def test_names_that_no_function_can_have(tmp_path, name):
    function = pp.compile(pp.examples.planar_arm(2), Mass)
    with pytest.raises(InputError, match="expected the name of a C function") as caught:
        function.export_c(tmp_path / "f.h", name=name)
    assert len(str(caught.value)) < 400
    assert not list(tmp_path.iterdir())


@needs_compiler
@pytest.mark.parametrize("name", ["a" * LONGEST, "x", "e", "size", "torso", "M", "ARM", "fp_fast"])
def test_names_that_functions_can_have(tmp_path, name):
    path = tmp_path / "f.h"
    pp.compile(pp.examples.planar_arm(2), Mass).export_c(path, name=name)
    main = f"-D{name.upper()}_TEST_MAIN"
    compile_c("-fsyntax-only", "-x", "c", "-march=native", *STANDARD, main, path)
    compile_c("-fsyntax-only", *CPP, main, path, command=CXX)


# -- numbers -----------------------------------------------------------------------------------


def heavy() -> pp.Model:
    """A mass that no number holds 1e300 times."""
    builder = ModelBuilder("heavy")
    builder.add_body("a", joint=pp.joints.Revolute((0, 0, 1)), mass=1e50, com=(1.0, 0, 0))
    return builder.build()


def test_a_number_that_is_not_finite_is_refused_by_name(tmp_path):
    """C has no literal for it."""
    function = pp.compile(heavy(), 1e300 * Mass)
    with pytest.raises(BackendError, match=r"Mass` on 'heavy' holds a number that is not finite"):
        function.export_c(tmp_path / "f.h")
    assert not list(tmp_path.iterdir())


def test_a_function_without_a_value_is_refused(tmp_path):
    """Where no state has a finite result, there is nothing that the header could be tested by."""
    function = pp.compile(heavy(), 1e300 * Mass, parameters=["a.mass"])
    with pytest.raises(SolveError, match=r"no finite value in any of 9 random states of 'heavy'"):
        function.export_c(tmp_path / "f.h")
    assert not list(tmp_path.iterdir())


def test_what_rounding_allows_is_a_number():
    """Also where a result is as good as zero, or zero, beside what it might have been."""
    wanted = np.array([[5e-324, 0.0], [0.0, 0.0], [1.0, 2.0]])
    moved = np.array([[[1.0], [0.5], [1e-3]], [[0.0], [0.0], [0.0]]])
    allowed = c_main._allowed(wanted, wanted + moved)
    assert np.isfinite(allowed).all()
    np.testing.assert_allclose(allowed[1:, 0], c_main.MARGIN * np.array([0.5, 5e-4]))


@needs_compiler
def test_states_without_a_value_are_left_out(tmp_path):
    """A singular state among those drawn, and one whose result no number holds."""
    builder = ModelBuilder("gimbal")
    builder.add_body("ring", joint=pp.joints.Revolute((0, 0, 1)), mass=0.0)
    builder.add_body("ball", "ring", pp.joints.Revolute((0, 1, 0)), mass=1.0, com=(1, 0, 0))
    function = pp.compile(builder.build(), scalar("w") * Mass.inv, backend="numpy")
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (9, 2))
    q[2, 1] = np.pi / 2
    w = np.ones(9)
    w[4] = 1e59
    q[4, 1] = np.pi / 2 - 1e-4
    rows = {"q": q, "w": w}
    (tmp_path / "f.h").write_text(c.write_header(exported(function), "f", rows, "gimbal"))
    code, said = run_main(tmp_path / "f.h", "-O0", *STANDARD)
    assert (code, "8 states, 0 failed, 0 numbers wrong" in said) == (0, True), said


def crooked_arm(seed: int) -> pp.Model:
    """Six joints about any axes; in most postures there is a way that the last body hardly goes."""
    builder, rng = ModelBuilder("crooked arm"), np.random.default_rng(seed)
    above = []
    for k in range(6):
        axis, place, com = map(tuple, rng.normal(size=(3, 3)))
        how = {"mass": 1.0, "com": com, "inertia": (1.0, 1.0, 1.0), "position": place}
        builder.add_body(f"b{k}", *above, joint=pp.joints.Revolute(axis), **how)
        above = [f"b{k}"]
    return builder.build()


TIP = J(pp.point("b5"))
FELT = (TIP @ Mass.inv @ TIP.T).inv  # the inertia that a hand would feel at the last body
PUSHED = FELT @ (TIP @ (Mass.inv @ T))  # the force that would hold it


def stored(model: pp.Model, expression):
    """What the test main of an expression holds, and what is right, by numbers with more digits."""
    function = pp.compile(model, expression, backend="numpy")
    computation = exported(function)
    traced = computation.traced(c.LARGEST)
    rng = np.random.default_rng(3)
    states = {
        key: np.array([model.random(rng) for _ in range(c_main.STATES)])
        if key in computation.configurations
        else rng.normal(size=(c_main.STATES, *shape))
        for key, shape in computation.inputs.items()
    }
    found = c_main.store_states(computation, traced, states, 1)
    keyed = {
        (key, e): x.astype(np.longdouble)
        for key, rows in found.arguments.items()
        for e, x in enumerate(rows.T)
    }
    right = [
        np.array([np.broadcast_to(x, len(a)) for x in traced.graph.evaluate(nodes, keyed)]).T
        for nodes, a in zip(traced.outputs, found.results, strict=True)
    ]
    return found, right


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no numbers with more digits here")
def test_what_rounding_does_is_allowed_and_not_much_more():
    """Every error, seen by numbers with more digits; where all is well, no more than 1e-12."""
    found, (right,) = stored(crooked_arm(3), PUSHED)
    (result,), (allowed,) = found.results, found.allowed
    error = np.abs(result - right).max(axis=1) / np.abs(right).max(axis=1)
    assert (error <= allowed[:, 0]).all()
    assert error.max() > c_main.TOLERANCE  # one bound for all machines would be wrong here
    assert allowed.max() < 1e3 * error.max()
    found, _ = stored(pp.examples.puma560(), [Mass, Mass.inv])
    assert all((x == c_main.TOLERANCE).all() for x in found.allowed)


@needs_compiler
@pytest.mark.parametrize(
    ("seed", "options"),
    [(0, ("-O0",)), (6, ("-O2", "-march=native")), (26, ("-O2", "-ffast-math"))],
)
def test_badly_conditioned_states_pass_the_test(tmp_path, seed, options):
    """Compilers round otherwise than NumPy does; the program says how much that may matter."""
    pp.compile(crooked_arm(seed), PUSHED).export_c(tmp_path / "f.h")
    code, said = run_main(tmp_path / "f.h", *options)
    assert (code, "0 failed, 0 numbers wrong" in said) == (0, True), said
    allowed = float(re.search(r"rounding allows errors of (\S+),", said)[1])
    assert allowed >= float(said.split()[-1])


@needs_compiler
def test_a_result_that_is_no_number_fails_the_test(tmp_path):
    """Also where a right one comes after it."""
    pp.compile(pp.examples.planar_arm(2), Mass).export_c(tmp_path / "f.h")
    text = (tmp_path / "f.h").read_text()
    wrong = re.sub(r"(out\[0 \* n \+ l\] = )\w+;", r"\1sqrt(-1.0);", text, count=1)
    assert wrong != text
    (tmp_path / "f.h").write_text(wrong)
    assert run_main(tmp_path / "f.h")[0] == 1
