"""Tuples that are made at the first look."""

import pickle

import pytest

from phipsi.model.later import Later


def counted(items):
    """A tuple made later, and how often it was."""
    calls = []

    def make():
        calls.append(1)
        return iter(items)

    return Later(make), calls


def test_it_is_made_once_and_at_the_first_look():
    later, calls = counted("abc")
    assert calls == []
    assert (len(later), list(later), later[0], later[1:]) == (3, ["a", "b", "c"], "a", ("b", "c"))
    assert calls == [1]


def test_it_equals_its_tuple():
    later, _ = counted("abc")
    assert later == ("a", "b", "c") == later
    assert later == counted("abc")[0]
    assert later != counted("ab")[0] and later != ["a", "b", "c"]
    assert hash(later) == hash(("a", "b", "c"))
    assert repr(later) == "('a', 'b', 'c')"
    assert not counted("")[0]


def test_it_is_pickled_as_its_tuple():
    assert pickle.loads(pickle.dumps(counted("ab")[0])) == ("a", "b")


def test_what_fails_is_tried_again():
    attempts = [ZeroDivisionError, None]

    def make():
        error = attempts.pop(0)
        if error:
            raise error
        return [7]

    later = Later(make)
    with pytest.raises(ZeroDivisionError):
        len(later)
    assert later == (7,)
