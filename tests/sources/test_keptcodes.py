"""Kept codes: hold-outs, searches and exact figures of rows on clusters, of which codes alone come here."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet import (
    Categorical,
    DataError,
    Numeric,
    PrivateClassifier,
    PrivateGridSearch,
    PrivateHoldout,
    PrivateNB,
    PrivateTreeClassifier,
    Schema,
    SelectiveNB,
    collect,
    sources,
)
from discreet.evaluation.exact import evaluate
from discreet.mechanisms.deal import KeyCoins, RowCoins
from discreet.mechanisms.noise import SimulationSampler
from discreet.sources import Points, deal_rows, keptcodes, make_column, watching
from discreet.sources.absorb import plain_values
from discreet.sources.keptcodes import CodedTable, keep_known
from discreet.statistics import DETAILS
from tests.sources.test_beside import Cut, Parted, engine  # noqa: F401 - a fixture

PEOPLE = Schema(
    [Numeric("x", 0, 1000, integer=True), Categorical("a", ["u", "v"], other="more")], "y", ["n", "p"], id="who"
)


@pytest.fixture
def codes_alone(monkeypatch):
    """Nothing but what workers send back comes here."""
    monkeypatch.setattr(Parted, "batches", lambda self, wanted: pytest.fail(f"{wanted} are read"))


def of_people(size=300, people=100):
    rng = np.random.default_rng(3)
    who = rng.integers(0, people, size)
    y = np.where(rng.random(size) < 0.3 + 0.4 * (who % 2), "p", "n")
    return pd.DataFrame({"x": who, "a": np.where(who % 3 > 0, "u", "w"), "y": y, "who": [f"id {one}" for one in who]})


def whole(table):
    return collect(table, table.schema, detail=DETAILS, empty=True)


def test_both_sides_have_every_row_once_and_people_stay_together(codes_alone):
    rows = of_people()
    sampler = SimulationSampler(0)
    sides = deal_rows(Cut(rows, 40, 200), PEOPLE, None, KeyCoins(Fraction(1, 3), sampler))
    people = [set(side.people().to_pylist()) for side, _ in sides]
    assert not people[0] & people[1] and len(people[0]) + len(people[1]) == rows.who.nunique()
    assert all(one.startswith("p") and "id" not in one for one in people[0] | people[1])
    assert whole(sides[0][0]) + whole(sides[1][0]) == collect(rows, PEOPLE, detail=DETAILS)
    alone = Schema(PEOPLE.features, "y", PEOPLE.classes)
    sides = deal_rows(Cut(rows, 40, 200), alone, None, RowCoins(Fraction(1, 3), sampler))
    assert 60 < sides[1][0].size < 140 and not set(sides[0][0].spots) & set(sides[1][0].spots)
    assert whole(sides[0][0]) + whole(sides[1][0]) == collect(rows, alone, detail=DETAILS)


def test_ids_stay_with_their_rows_where_rows_are_left_out():
    rows = of_people().astype({"x": object})
    rows.loc[[0, 7, 120, 299], "y"] = "neither"
    rows.loc[[1, 250], "x"] = math.inf
    rows.loc[[5, 260], "who"] = None
    given = Cut(rows.astype({"x": float}), 40, 200)
    with watching() as readings:
        kept = keep_known(given, PEOPLE, lenient=True)
    assert kept.size == 294 and [one.rows for one in readings] == [6]
    who, x = kept.people().to_pylist(), kept.held.columns[0]
    assert who.count(None) == 2
    pairs = {(one, int(point)) for one, point in zip(who, x, strict=True) if one is not None}
    assert len(pairs) == len({one for one, _ in pairs}) == len({point for _, point in pairs})
    with pytest.raises(DataError, match="infinite"):
        keep_known(given, PEOPLE)


def test_a_digest_that_several_ids_may_have_keeps_none_of_too_many_rows(codes_alone):
    """Ids above 2⁵³ share a double: a choice among their rows would let one person's push out another's."""
    ids = [2**53, 2**53 + 1, 7, 7]
    rows = pd.DataFrame({"x": [1, 2, 3, 4], "a": ["u"] * 4, "y": ["n"] * 4, "who": ids})
    kept, limits = keep_known(Cut(rows, 2), PEOPLE, lenient=True), {"contributions": 1, "unexpected": "absorb"}
    assert len(set(kept.people().to_pylist())) == 2
    for data in (rows, kept):
        found = sources.open(data, PEOPLE, **limits).held().columns[0]
        assert len(found) == 1
    twice = [keep_known(Cut(rows, 2), PEOPLE, salt=KeyCoins(Fraction(1, 3), SimulationSampler(1)).salt) for _ in "ab"]
    assert twice[0].people() == twice[1].people() != kept.people()


@pytest.mark.parametrize("policy", ["refuse", "absorb"])
def test_holdouts_searches_and_figures_are_those_of_codes(codes_alone, policy):
    rows = of_people(400, 4000).drop_duplicates("who")
    given = Cut(rows, 40, 200)
    for kind in (PrivateNB, PrivateClassifier, SelectiveNB):
        held = PrivateHoldout(kind(2.0, schema=PEOPLE, unexpected=policy)).fit(given)
        assert held.certificate_.epsilon == "2" and len(held.predict(rows)) == len(rows)
    search = PrivateGridSearch(
        [PrivateNB(), PrivateTreeClassifier()], epsilon=math.inf, schema=PEOPLE, unexpected=policy, random_state=1
    )
    assert len(search.fit(given).predict(rows)) == len(rows)
    assert PrivateHoldout(search).fit(given).evaluation_.rows.value < 150
    model = PrivateNB(math.inf, schema=PEOPLE).fit(rows).model_
    assert evaluate(model, given) == evaluate(model, rows)


def test_a_search_refuses_or_reduces_people_with_two_rows():
    given = Cut(of_people(), 40)
    search = PrivateGridSearch([PrivateNB()], epsilon=1.0, schema=PEOPLE)
    with pytest.raises(DataError, match="rows"):
        search.fit(given)
    kept = keptcodes.keep_codes(given, PEOPLE, unexpected="absorb")
    assert kept.size == of_people().who.nunique() == len(set(kept.people().to_pylist()))
    many = keptcodes.keep_codes(Cut(of_people(400, 4000).drop_duplicates("who"), 40), PEOPLE)
    assert many.size > 300 and all(one.startswith("p") for one in many.people().to_pylist())  # nobody shares a name


def test_other_bins_fewer_features_and_other_bounds_of_kept_codes():
    rows = of_people()
    kept = keep_known(Cut(rows, 40), PEOPLE)
    finer = PEOPLE.having([Numeric("x", 0, 1000, integer=True, bins=7), PEOPLE.features[1]])
    few, wider = PEOPLE.having(PEOPLE.features[1:]), PEOPLE.having([Numeric("x", 0, 2000, integer=True)])
    for schema in (finer, few, wider):
        assert collect(kept, schema) == collect(rows, schema)
    assert sources.open(kept, PEOPLE, contributions=300).held().counts.tolist() == kept.held.counts.tolist()
    taken, _ = kept.take(np.array([3, 5, 290]))
    assert isinstance(taken, CodedTable) and taken.size == 3
    assert taken.truth(np.array([2])).tolist() == [kept.held.labels[290]]
    assert taken.take(np.array([0, 2]))[0].spots.tolist() == [3, 290]
    with pytest.raises(DataError, match="no column 'z'"):
        collect(kept, PEOPLE.having([Numeric("z", 0, 1)]))


@pytest.mark.parametrize(
    "lower, upper",
    [(0, 1), (-1e300, 1e300), (1e15, 1e15 + 1), (1000, 1001), (-7.3, 1e9), (0, 1e-290), (0.1, 0.1 + 1e-12)],
)
def test_the_value_of_a_point_has_that_point(lower, upper):
    feature = Numeric("x", lower, upper, bins=3)
    rng = np.random.default_rng(5)
    values = np.concatenate([[lower, upper], lower + (upper - lower) * rng.random(20_000)])
    points = make_column(feature, values).points()[0].astype(np.int32)
    again = make_column(feature, plain_values(Points(feature, points))).points()[0]
    assert np.array_equal(points, again)
