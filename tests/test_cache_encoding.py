"""Records as bytes: what was encoded is decoded, whatever is compiled; nothing else is called."""

import ast
import math
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from expressions import MARKET
from hypothesis import given
from hypothesis import strategies as st

import phipsi
import phipsi as pp
from phipsi.algebra.spaces import own_space
from phipsi.backends.disk import encoding, records
from phipsi.backends.disk.encoding import MAKERS, NotStorableError, decode, encode
from phipsi.backends.disk.identity import of_expressions
from phipsi.backends.partition import Spreading
from phipsi.graph.graph import Graph
from phipsi.operators import C, J, M, Mass, T, letter, operator, psi, vector

FALL = Mass.inv @ (T - C)

ATOMS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
VALUES = st.recursive(
    ATOMS,
    lambda x: (
        st.lists(x, max_size=3)
        | st.lists(x, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers(), x, max_size=3)
        | st.dictionaries(st.text(), st.integers(), max_size=3).map(Counter)
    ),
    max_leaves=12,
)


def exactly(x):
    """A text that says kind and value; bits for floats, since -0.0 == 0.0 and nan != nan."""
    if isinstance(x, (tuple, list)):
        return f"{type(x).__name__}({','.join(map(exactly, x))})"
    if isinstance(x, dict):
        return f"{type(x).__name__}({','.join(exactly(y) for y in x.items())})"
    if isinstance(x, float) and not math.isnan(x):
        return x.hex()
    return f"{type(x).__name__} {x!r}"


@given(VALUES)
def test_values_of_python_come_back_exactly(x):
    assert exactly(decode(encode(x))) == exactly(x)


def test_what_was_one_object_is_one_object_again():
    shared = [1, 2]
    found = decode(encode((shared, shared, [1, 2])))
    assert found[0] is found[1] and found[0] is not found[2]


def test_expressions_come_back():
    for name, x in MARKET.items():
        found = decode(encode((x,)))
        assert found == (x,), name
        assert of_expressions(found) == of_expressions((x,)), name


@pytest.mark.parametrize("name", [*MARKET][::15])
def test_programs_come_back(name):
    x = MARKET[name]
    try:
        program = pp.compile(pp.examples.planar_arm(2), x, backend="numpy").program
    except pp.LoweringError:
        return
    found = decode(encode(program))
    assert found == program and str(found) == str(program)
    assert found.origins == program.origins and type(found.origins) is type(program.origins)


def test_points_spaces_and_families_come_back():
    loop = own_space("loop", 3)
    for x in (
        J(pp.point("tool", (0, 0, 0.1))),
        psi[M + M],
        vector("lam", loop),
        operator("A", "joint", loop) @ T,
    ):
        (found,) = decode(encode((x,)))
        assert found == x and found.source is x.source and found.target is x.target


def test_graphs_come_back_and_compute_the_same():
    graph = Graph()
    a, b = graph.input(("q", 0)), graph.input(("q", 1))
    x = (a * b + 2.5) / (a - 1.0)
    found, copy = decode(encode((x, graph)))
    assert found.graph is copy
    values = {("q", 0): 0.3, ("q", 1): np.array([0.5, -2.0])}
    np.testing.assert_array_equal(*(y.graph.evaluate([y], values)[0] for y in (x, found)))


@pytest.mark.parametrize("unroll", [True, False], ids=["unrolled", "rolled"])
@pytest.mark.parametrize("slope", [False, True], ids=["function", "derivative"])
def test_all_that_is_compiled_can_be_kept(unroll, slope, tmp_path, monkeypatch):
    """What the records hold today: nothing is refused in silence and made again."""
    monkeypatch.setenv("PHIPSI_CACHE", str(tmp_path))
    monkeypatch.setattr(records, "sources_digest", lambda: b"known")
    refused, seen = [], []

    def watched(x):
        seen.append(type(x).__name__)
        try:
            return encode(x)
        except NotStorableError as error:
            refused.append(str(error))
            raise

    monkeypatch.setattr(records, "encode", watched)
    model = pp.examples.spacecraft()
    rng = np.random.default_rng(0)
    q, (v, tau) = model.neutral(), rng.normal(size=(2, model.nv))
    function = pp.compile(model, FALL, unroll=unroll, backend="llvm")
    function.jvp(q, v, tau, v, v, v) if slope else function(q, v, tau)
    pp.compile(model, [Mass, J], unroll=unroll, backend="llvm")(q, points=[model.bodies[-1].name])
    assert ("Straight" if unroll else "Drawn") in seen
    assert refused == []


def test_spreads_of_outputs_come_back():
    x = (Spreading((0, 1, 1), 2, True), None)
    assert decode(encode(x)) == x


# -- what no record holds ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [print, len, lambda: 0, object(), int, {1}, 1j, np.float64(1.0), np.zeros(2), range(3), ...],
    ids=lambda x: type(x).__name__,
)
def test_what_nobody_has_said_how_to_make_is_refused(x):
    with pytest.raises(NotStorableError, match="no record holds a"):
        encode((1, [x]))


def test_letters_with_functions_are_refused():
    A_j = letter("A_j", "joint", "joint", lambda body, joint: 0.2)
    with pytest.raises(NotStorableError, match="no record holds a MachineLetter"):
        encode((A_j @ T,))


def test_what_is_nested_too_deeply_is_refused():
    x = ()
    for _ in range(sys.getrecursionlimit()):
        x = (x,)
    with pytest.raises(NotStorableError):
        encode(x)
    with pytest.raises(NotStorableError):
        encode(10 ** (sys.get_int_max_str_digits() + 1))


def test_makers_are_classes_and_functions_of_their_modules_and_no_two_share_a_name():
    names = [name for several in MAKERS.values() for name in several]
    assert len(names) == len(set(names))
    assert not set(names) & set(encoding._OF_PYTHON)
    for module, several in MAKERS.items():
        for name in several:
            assert getattr(import_module(module), name).__module__ == module


def test_no_module_is_imported_for_a_letter_of_a_strangers_alphabet(tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    papers = encode(T.record)
    assert decode(papers) is T.record
    spoilt = papers.replace(b'"phipsi.algebra.operators"', b'"trap"                    ')
    assert spoilt != papers
    with pytest.raises(ValueError, match=r"the alphabet 'papers' is of phipsi.algebra.operators"):
        decode(spoilt)
    with pytest.raises(pp.InputError, match="no alphabet 'trap'"):
        decode(papers.replace(b'"papers"', b'"trap"  '))


# -- nothing of phipsi reads what can run --------------------------------------------------------

RUNS_WHAT_IT_READS = {"pickle", "_pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle"}
# The formulas of steps stand in phipsi's own sources, as texts, and are evaluated as expressions.
EVALUATES = {"lowering/seat.py"}


def test_no_module_of_phipsi_can_run_what_it_reads():
    home = Path(phipsi.__file__).parent
    for path in home.rglob("*.py"):
        name = path.relative_to(home).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Import(names=several):
                    taken = {x.name.partition(".")[0] for x in several}
                case ast.ImportFrom(module=module, names=several):
                    taken = {(module or "").partition(".")[0]}
                    if {x.name for x in several} == {"PicklingError"}:
                        taken = set()
                case ast.Call(func=ast.Name(id="eval" | "exec" as function)):
                    taken = set() if name in EVALUATES else {function}
                case ast.Call(func=ast.Attribute(attr="load", value=ast.Name(id="np")), keywords=k):
                    refused = [x for x in k if x.arg == "allow_pickle" and not x.value.value]
                    taken = set() if refused else {"np.load with pickles"}
                case _:
                    continue
            assert not taken & (RUNS_WHAT_IT_READS | {"eval", "exec", "np.load with pickles"}), name
