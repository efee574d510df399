"""Mutated files of machines: a machine or an error that names the file, in bounded memory."""

import tracemalloc

import pytest
from drawn import attack_with
from file_seeds import SEEDS
from hypothesis import strategies as st
from mutations import mutated
from test_file_fuzzing import ROOM, check_answer, ending


@pytest.mark.parametrize("suffix", SEEDS)
def test_attack(fuzz, suffix, tmp_path):
    file = tmp_path / f"mutated{suffix}"

    def check(example):
        text, strict = example
        file.write_bytes(text)
        tracemalloc.start()
        try:
            with ending():
                check_answer(file, strict)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < ROOM

    examples = st.tuples(mutated(SEEDS[suffix]), st.booleans())
    count = attack_with(examples, check, fuzz.seed, fuzz.seconds)
    fuzz.tried(count, f"mutated {suffix} files")
