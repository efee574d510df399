"""The message with which `as_matrix` refuses, and a state of the arm that it is asked at."""

import pytest

import phipsi as pp
from phipsi.lowering.dense import as_matrix

Q2 = [0.3, -0.5]  # of the fixture `arm`


def refusal(*arguments, error=pp.InputError, **keywords):
    """The message with which as_matrix refuses."""
    with pytest.raises(error) as caught:
        as_matrix(*arguments, **keywords)
    return str(caught.value)
