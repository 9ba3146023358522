"""Outputs of any shape become rows of doubles, and nothing that could leak is lost on the way."""

import random
import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit import AuditError, flatten
from discreet.audit.outputs import CallableSampler, as_rows, text_code


@dataclass
class Model:
    prior: dict[str, float]
    bits: bytes


def test_every_kind_of_output():
    Point = namedtuple("Point", "x y")
    found = flatten({"a": np.arange(4.0).reshape(2, 2), "b": [True, None], "c": Point(1, 2j), "d": {"k"}})
    assert found["['a'][1][0]"] == 2.0 and found["['a'] size of axis 1"] == 2.0
    assert found["['b'][0]"] == 1.0 and found["['b'][1] is None"] == 1.0
    assert found["['c'][1].imag"] == 2.0
    assert found["['d'] contains 'k'"] == 1.0
    assert flatten(Model({"x": 0.5}, b"z")) == {".prior['x']": 0.5, ".bits": text_code("z")}


def test_numbers_a_double_cannot_hold_stay_distinct():
    assert flatten(2**53) != flatten(2**53 + 1)
    assert flatten(Fraction(1, 3)) != flatten(Fraction(1, 3) + Fraction(1, 10**30))
    assert flatten(Decimal("0.1")) != flatten(Decimal("0.1000000000000000000001"))


def test_unreadable_output_says_what_to_do():
    with pytest.raises(AuditError, match="parameters"):
        flatten(object())


def test_text_codes_agree_between_processes():
    code = "from discreet.audit.outputs import text_code; print(text_code('élan'))"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, check=True) for _ in range(2)]
    assert {float(run.stdout) for run in runs} == {text_code("élan")}


def test_parts_that_come_and_go_have_their_columns():
    sampler = CallableSampler(lambda data: dict.fromkeys(data, 1.0))
    sampler.probe([["a"], ["a", "b"]], 1, rng=np.random.default_rng(0))
    rows = sampler.sample(["a", "c", "d"], 2, rng=np.random.default_rng(0))
    assert sampler.names[:2] == ("['a']", "['b']")
    assert np.array_equal(rows, [[1.0, np.nan, 2.0]] * 2, equal_nan=True)


def test_global_generators_are_seeded_per_batch_and_put_back():
    sampler = CallableSampler(lambda data: [np.random.random(), random.random()])
    sampler.probe([0], 1, rng=np.random.default_rng(0))
    np.random.seed(5)
    random.seed(5)
    first = sampler.sample(0, 3, rng=np.random.default_rng(1))
    after = np.random.random(), random.random()
    np.random.seed(5)
    random.seed(5)
    assert after == (np.random.random(), random.random())
    assert np.array_equal(first, sampler.sample(0, 3, rng=np.random.default_rng(1)))
    assert not np.array_equal(first, sampler.sample(0, 3, rng=np.random.default_rng(2)))
    assert len(np.unique(first[:, 1])) == 3


def test_rng_parameter_is_used_when_there_is_one():
    sampler = CallableSampler(lambda data, rng: rng.random())
    sampler.probe([0], 1, rng=np.random.default_rng(0))
    rows = sampler.sample(0, 4, rng=np.random.default_rng(3))
    assert rows[:, 0].tolist() == np.random.default_rng(3).random(4).tolist()


@pytest.mark.parametrize("bad", [np.zeros((3, 1)), np.zeros((2, 2, 2)), np.zeros((2, 0)), np.array([2**60, 1])])
def test_malformed_samples_are_refused(bad):
    with pytest.raises(AuditError):
        as_rows(bad, 2)
