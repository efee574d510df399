"""NumPy and Python are tried out; machine code that uses them is the same in every process."""

import copy
import ctypes
import hashlib
import pickle
import re
import sysconfig

import pytest
from entry_cases import entry_of, ordinary_entry, plan_of
from test_llvm import subprocess_says

import phipsi as pp
from phipsi.backends import numpy_api
from phipsi.backends.bound_code import bound_text
from phipsi.backends.entry_code import entry_text
from phipsi.backends.llvm import Target, architecture, compile_object


class Longer(ctypes.Structure):
    _fields_ = (("more", ctypes.c_int64), *numpy_api.Array._fields_)


class Swapped(ctypes.Structure):
    _fields_ = tuple(numpy_api.Array._fields_[i] for i in (0, 1, 2, 3, 5, 4, 6, 7, 8))


_WITH = numpy_api._OF_TUPLES


class OtherNumbers(ctypes.Structure):
    _fields_ = tuple(numpy_api.Descr._fields_[i] for i in (0, 1, 2, 4, 3, 5, 6))


@pytest.mark.parametrize(
    ("where", "what"),
    [
        ("phipsi.backends.numpy_api.Array", Longer),
        ("phipsi.backends.numpy_api.Array", Swapped),
        ("phipsi.backends.numpy_api.Descr", OtherNumbers),
        ("phipsi.backends.numpy_api._VERSION", 0x03000000),
        ("phipsi.backends.numpy_api._NDARRAY", 3),
        ("phipsi.backends.numpy_api._OF_TUPLES", _WITH | {"tuple_size": _WITH["tuple_items"]}),
        ("phipsi.backends.numpy_api._OF_TUPLES", _WITH | {"tuple_items": _WITH["tuple_size"]}),
        ("phipsi.backends.numpy_api._OF_TUPLES", _WITH | {"float_value": 0}),
        ("sys.implementation.name", "pypy"),
        ("sysconfig.get_config_var", {"Py_GIL_DISABLED": 1}.get),
    ],
)
def test_another_python_or_numpy_makes_no_entry(monkeypatch, where, what):
    plan = plan_of()
    monkeypatch.setattr(where, what)
    numpy_api.is_as_expected.cache_clear()
    assert entry_of(plan) is None
    monkeypatch.undo()
    numpy_api.is_as_expected.cache_clear()
    assert entry_of(plan) is not None


def test_this_python_has_entries():
    free_threaded = sysconfig.get_config_var("Py_GIL_DISABLED")
    assert numpy_api.is_as_expected() == (not free_threaded)


# -- texts without addresses -----------------------------------------------------------------

TEXTS = {"entry": entry_text, "bound": bound_text}

ELSEWHERE = """
import sys
from phipsi.backends.bound_code import bound_text
from phipsi.backends.entry_code import entry_text
import hashlib
texts = {"entry": entry_text, "bound": bound_text}
print(hashlib.sha256(texts[sys.argv[1]](sys.argv[2]).encode()).hexdigest())
"""


@pytest.mark.parametrize("real", numpy_api.TYPES)
@pytest.mark.parametrize("name", TEXTS)
def test_the_text_is_the_same_in_every_process(name, real):
    here = hashlib.sha256(TEXTS[name](real).encode()).hexdigest()
    assert subprocess_says(ELSEWHERE, name, real) == here


@pytest.mark.parametrize("real", numpy_api.TYPES)
@pytest.mark.parametrize("name", TEXTS)
def test_no_address_is_written_into_a_text(name, real):
    text = TEXTS[name](real)
    assert "inttoptr" not in text
    known = {str(x) for x in numpy_api.addresses()}
    assert known.isdisjoint(re.findall(r"[0-9]+", text))


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("real", numpy_api.TYPES)
@pytest.mark.parametrize("name", TEXTS)
def test_the_text_compiles_for_older_processors(name, real, cpu):
    if architecture() != "x86_64":
        pytest.skip("names of another family of processors")
    assert compile_object(TEXTS[name](real), Target(cpu, "", 1, real))


def test_machine_code_is_not_pickled():
    entry = ordinary_entry()
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(pp.BackendError, match="cannot be pickled"):
            pickle.dumps(entry, protocol)
    assert copy.copy(entry) is copy.deepcopy(entry) is entry
