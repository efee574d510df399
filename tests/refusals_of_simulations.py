"""The message with which `simulate` or `rollout` refuses."""

import pytest

import phipsi as pp


def refusal(*arguments, error=pp.InputError, of=pp.simulate, **keywords):
    with pytest.raises(error) as caught:
        of(*arguments, **keywords)
    return str(caught.value)
