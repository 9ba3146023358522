"""A few of the command lines and damaged files that `python -m benchmarks fuzz` tries; none ends in a traceback."""

import pytest
from benchmarks.fuzz import files, lines


def test_command_lines():
    assert [(words, trouble) for words, trouble in lines(25, seed=1) if trouble] == []


def test_damaged_files():
    assert [(name, trouble) for name, trouble in files(80, seed=1) if trouble] == []


@pytest.mark.slow
def test_many_of_both():
    assert [one for one in (*lines(500, seed=2), *files(2000, seed=2)) if one[1]] == []
