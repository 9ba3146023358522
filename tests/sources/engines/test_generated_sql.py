"""Generated SQL on Spark: the same integers as in memory, for executors that have no packages."""

import math
import random

import pandas as pd
import pytest

from discreet import Categorical, Numeric, Schema, collect
from discreet.sources import watching
from discreet.statistics import DETAILS
from tests.sources import typed_tables
from tests.sources.tables_of import NAMES, SCHEMAS
from tests.sources.test_sqlcoded import held, spread

KINDS = [
    {"t": "text", "i": "integer", "b": "boolean", "m": "double", "n": "real", "r": "decimal", "c": "text"},
    {"t": "boolean", "i": "double", "b": "text", "m": "decimal", "n": "integer", "r": "double", "c": "integer"},
]


def absorbed(data, schema):
    with watching() as readings:
        return collect(data, schema, detail=DETAILS, unexpected="absorb"), [(r.values, r.rows) for r in readings]


@pytest.fixture
def session(request):
    try:
        return request.getfixturevalue("spark")
    except pytest.FixtureLookupError:
        pytest.skip("no Spark is started by these tests")


@pytest.mark.parametrize("which", [0, 1])
def test_odd_values_of_every_kind_count_alike_on_spark(which, session):
    schema, kinds, chance = SCHEMAS[which], KINDS[which], random.Random(which)
    labels = [["yes", "1", "no", None], [0, 1, 2, None]][which]
    records = [
        {name: chance.choice(typed_tables.POOLS[kinds[name]][1]) for name in NAMES} | {"c": chance.choice(labels)}
        for _ in range(150)
    ]
    frame = pd.DataFrame({name: pd.Series([one[name] for one in records], dtype=object) for name in kinds})
    made = typed_tables.in_spark(session, kinds, records)
    assert absorbed(made, schema) == absorbed(frame, schema)
    assert held(made, schema, unexpected="absorb") == held(frame, schema, unexpected="absorb")
    assert spread(made, schema, unexpected="absorb") == spread(frame, schema, unexpected="absorb")


def test_ties_are_rounded_alike_on_spark(session):
    feature = Numeric("a `b`", 0, 16, step=1, bins=4)
    schema = Schema([feature, Categorical("t", ["it's", "a\\b", "x"], other="more")], "y", [0, 1])
    values = [k / 2 for k in range(-4, 40)] + [math.nextafter(k / 2, 99) for k in range(33)]
    texts = ["it's", "a\\b", "x", "X"]
    records = [{"a `b`": x, "t": texts[i % 4], "y": i % 2} for i, x in enumerate(values)]
    made = typed_tables.in_spark(session, {"a `b`": "double", "t": "text", "y": "integer"}, records)
    assert collect(made, schema) == collect(pd.DataFrame(records), schema)
