"""Numbers, dates and categories as people write them: each value by itself, alike wherever the rows are."""

from __future__ import annotations

import math
import subprocess
import sys
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest

from discreet import (
    Categorical,
    Date,
    Numeric,
    PrivateAdditiveClassifier,
    PrivateClassifier,
    PrivateNB,
    Schema,
    SchemaError,
    collect,
    sources,
)
from discreet.local import Campaign
from discreet.models import load as load_model
from discreet.readings import SCALE_HALF, UNITS, Parse, day_of, unit_start, units_between
from discreet.sources import keep_rows
from discreet.sources.columns import written

nan, inf = math.nan, math.inf
LABELS = [0, 1]


@pytest.mark.parametrize(
    ("rules", "read"),
    [
        (
            "comma",
            {"12,5": 12.5, "12.5": 12.5, "-,5": -0.5, "1.234,5": inf, "1e3": 1000, "x": inf, "nan": nan, "": inf},
        ),
        ("comma; thousands", {"1.234,5": 1234.5, "1.234": 1234, "12.5": inf, "1 234,5": 1234.5, "1234,5": 1234.5}),
        ("thousands", {"1,234.5": 1234.5, "1'234": 1234, "12,5": inf, "1\u00a0000\u00a0000": 1e6, "1234.5": 1234.5}),
        ("below", {"<5": 2.5, "< 5": 2.5, "≤5": 2.5, ">5": inf, "5": 5, "<x": inf}),
        ("below=limit; above", {"<5": 5, ">=100": 100, "=<1": 1}),
        ("below=zero; above=missing", {"<5": 0, ">5": nan}),
        ("below=missing; missing=n/a|-", {"<5": nan, "N/A": nan, " - ": nan, "-1": -1, "?": inf}),
        ("unit=kg|g*0.001|$", {"12 kg": 12, "250g": 0.25, "$ 3": 3, "4 lb": inf, "7": 7, "kg": inf, "1e400 g": inf}),
        ("comma; below; unit=mg/l", {"<0,5 mg/l": 0.25, "−3,0 mg/l": -3}),
    ],
)
def test_texts_that_write_numbers(rules, read):
    found = {text: Parse.of(rules).number(text) for text in read}
    assert found == pytest.approx(read, rel=0, abs=0, nan_ok=True)
    assert Parse.of(str(Parse.of(rules))) == Parse.of(rules)


@pytest.mark.parametrize(
    "rules", ["", "comma; comma", "below=none", "unit=", "unit=3kg", "unit=g*x", "unit=g*0", "why"]
)
def test_rules_that_are_none_are_refused(rules):
    with pytest.raises(SchemaError, match="feature 'x'"):
        Numeric("x", 0, 1, parse=rules)


def test_parse_leaves_numbers_as_they_are_and_its_order_is_no_matter():
    one, two = (
        Schema([Numeric("x", 0, 10, parse=rules)], "y", LABELS) for rules in ("below; comma", ["comma", "below=half"])
    )
    assert one.hash == two.hash
    mixed = pd.DataFrame({"x": pd.Series([5, 2.5, "2,5", "<5", True], dtype=object), "y": [0, 0, 0, 0, 1]})
    assert collect(mixed, one).sums["x"].tolist() == [sum(one.features[0].lattice.point(v) for v in (5, 2.5, 2.5, 2.5)),
                                                      one.features[0].lattice.point(1)]  # fmt: skip


def test_old_schemas_keep_their_hash():
    schema = Schema([Categorical("a", ["x"], other="z"), Numeric("n", 0, 1, bins=4)], "y", LABELS)
    assert schema.hash == "0994f6392e99b06ff78cd3192da53a7f8cd4c03e680b5e89f017c59426078606"


@pytest.mark.parametrize("scale", ["log", "log1p", "sqrt"])
def test_a_scale_is_what_it_says_and_the_same_one_by_one(scale):
    feature = Numeric("x", 0.5, 2e5, bins=8, transform=scale)
    exact = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt}[scale]
    values = np.concatenate([np.geomspace(0.01, 1e7, 400), [0.5, 2e5, 0, -3]])
    wanted = exact(np.clip(values, 0.5, 2e5))
    found = np.array([feature.number(value) for value in values.tolist()])
    step = float(feature.lattice.step)
    assert feature.lattice.half == SCALE_HALF and np.abs(found - wanted).max() < 0.51 * step
    together = sources.make_column(feature, values).points()[0]
    assert together.tolist() == [feature.lattice.point(one) for one in found.tolist()]
    texts = sources.make_column(feature, np.array([repr(one) for one in values.tolist()], object)).points()[0]
    assert texts.tolist() == together.tolist()
    for place in (-SCALE_HALF, -1, 0, 7, SCALE_HALF):
        again = feature.number(feature.again(feature.lattice.value(place)))
        assert feature.lattice.point(again) == place
    assert np.diff(exact(np.array([feature.original(edge) for edge in feature.edges]))) == pytest.approx(step * 1024)


def test_edges_of_a_scale_are_declared_in_the_unit_of_the_data():
    feature = Numeric("x", 1, 1000, bins=[1, 10, 1000], transform="log")
    schema = Schema([feature], "y", LABELS)
    table = collect(pd.DataFrame({"x": [1, 9.9, 10, 11, 5000, 0], "y": [0] * 6}), schema).tables["x"]
    assert table[0].tolist() == [3, 3] and feature.labels == ("[1, 10)", "[10, 1000]")
    assert feature.having(feature.edges).cuts == feature.cuts
    with pytest.raises(SchemaError, match="must run from lower to upper"):
        Numeric("x", 1, 1000, bins=[0, 10, 1000], transform="log")
    with pytest.raises(SchemaError, match="above 0 for transform = 'log': log1p takes zeros"):
        Numeric("x", 0, 1000, transform="log")


@pytest.mark.parametrize("unit", ["day", "week", "month", "quarter", "year"])
def test_dates_are_counted_in_units(unit):
    start = date(2019, 5, 17)
    days = [date.fromordinal(start.toordinal() + 13 * i) for i in range(-5, 200)]
    counts = [units_between(start, day, unit) for day in days]
    assert counts == sorted(counts) and units_between(start, start, unit) == 0
    for day, count in zip(days, counts, strict=True):
        assert unit_start(start, count, unit) <= day < unit_start(start, count + 1, unit)
    feature = Date("d", start, days[-1], unit=unit, bins=3)
    assert feature.having(feature.edges).cuts == feature.cuts and feature.upper == counts[-1]
    assert [feature.number(day) for day in days] == counts == [feature.number(str(day)) for day in days]


def test_dates_in_every_form_and_format():
    plain = ["2020-02-03", date(2020, 2, 3), datetime(2020, 2, 3, 23, 59), np.datetime64("2020-02-03T10"), "2020-2-3",
             pd.Timestamp("2020-02-04 00:30+01:00"), "2020-02-04T00:30:00+01:00", "2020-02-03 10:00",
             "2020-02-03T10:00:00Z"]  # fmt: skip
    feature = Date("d", "2020-01-01", "2020-12-31")
    assert {feature.number(value) for value in plain} == {33.0}
    assert {feature.number(value) for value in ("03.02.2020", "x", 7, 20200203, "2020-13-01", [1])} == {inf}
    assert math.isnan(feature.number(None)) and math.isnan(feature.number(pd.NaT))
    german = Date("d", "2020-01-01", "2020-12-31", format="%d.%m.%Y")
    assert [german.number(one) for one in ("3.2.2020", date(2020, 2, 3), "2020-02-03")] == [33, 33, inf]
    whole = Date("d", "2020-01-01", "2020-12-31", format="%Y%m%d")
    assert whole.number(20200203) == whole.number("20200203") == whole.number(20200203.0) == 33
    assert (
        day_of("31.12.99", "%d.%m.%y") == date(1999, 12, 31) and day_of("1.1.30 10:05", "%d.%m.%y %H:%M").year == 2030
    )
    parts = Categorical("d", transform="weekday")
    assert parts.lookup.find("2020-02-03") == parts.lookup.find("Monday") == 0 and parts.lookup.find("Mon") is None
    assert Categorical("d", transform="month", format="%d.%m.%Y").lookup.find("3.2.2020") == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Date("d", "2020-01-01", "2020-01-20", unit="month"), "end must be in a later month than start"),
        (lambda: Date("d", "soon", "2020-01-20"), "start and end of a date are public days"),
        (lambda: Date("d", "2020-01-01", "2021-01-01", unit="hour"), "unit must be one of day, week"),
        (lambda: Date("d", "2020-01-01", "2021-01-01", lower=0), "there is no setting 'lower' of a date"),
        (lambda: Date("d", "2020-01-01", "2021-01-01", format="%B"), "format may use %d, %m"),
        (lambda: Date("d", "2020-01-01", "2021-01-01", format="%d"), "format must have a year"),
        (lambda: Date("d", "2020-01-01", "2021-01-01", bins=["2020-01-01", "x"]), "edges of a date's bins are days"),
        (lambda: Numeric("n", min=0, max=1), "feature 'n': there is no setting 'min': it is called 'lower'"),
        (lambda: Categorical("s", "FM"), "feature 's': categories must be a list, such as ['F', 'M'], not 'FM'"),
        (lambda: Numeric("n", 1, 9, transform="log", integer=True), "there is no step and no integer"),
        (lambda: Numeric("n", 1, 9, transform="log", bounds="private"), "with a transform bounds are declared"),
        (lambda: Categorical("c", ["[z-a]"], match="pattern"), "bad character range"),
        (lambda: Categorical("c", ["Mon"], transform="weekday"), "leave them out"),
        (lambda: Categorical("c", ["a"], format="%d.%m.%Y"), "a format is for dates"),
    ],
)
def test_declarations_that_cannot_be_are_refused(make, words):
    with pytest.raises(SchemaError) as caught:
        make()
    assert words in str(caught.value)


def test_patterns_take_the_first_that_fits():
    lookup = Categorical("c", ["E1?", "E*", "[A-C]*", "7"], match="pattern", other="z").lookup
    found = [lookup.code(one) for one in ("E11", "E119", "B2", 7, 7.0, "7.0", "x", "E*", "e11", b"A")]
    assert found == [0, 1, 2, 3, 3, 3, 4, 1, 4, 2]


SCHEMA = Schema(
    [
        Numeric("crp", 0.5, 500, parse="comma; below; missing=n/a", transform="log", missing="bin"),
        Date("day", "2018-01-01", "2023-12-31", unit="month", format="%d.%m.%Y"),
        Categorical("icd", ["E1*", "I2*"], match="pattern", other="another"),
        Categorical("weekday", transform="weekday"),
    ],
    "ill",
    ["no", "yes"],
)


@pytest.fixture(scope="module")
def messy():
    rng = np.random.default_rng(3)
    ill = rng.random(400) < 0.5
    crp = np.exp(rng.normal(1.5 + 2 * ill, 0.7))
    days = pd.to_datetime("2018-01-01") + pd.to_timedelta(rng.integers(0, 2000, 400), "D")
    return pd.DataFrame({
        "crp": ["<5" if one < 5 else "n/a" if one > 400 else f"{one:.1f}".replace(".", ",") for one in crp],
        "day": days.strftime("%d.%m.%Y"), "icd": rng.choice(["E11", "E10.9", "I21", "J18"], 400),
        "weekday": days, "ill": np.where(ill, "yes", "no"),
    })  # fmt: skip


@pytest.mark.parametrize("kind", [PrivateNB, PrivateClassifier])
def test_models_are_saved_and_predict_alike(kind, messy, tmp_path):
    messy.to_csv(tmp_path / "d.csv", index=False)
    fitted = kind(schema=SCHEMA, epsilon=20.0, random_state=0).fit(tmp_path / "d.csv")
    fitted.model_.save(tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert again.schema == fitted.model_.schema and again.schema.names == SCHEMA.names
    expected = fitted.predict_proba(messy)
    assert np.allclose(again.predict_proba(tmp_path / "d.csv"), expected, rtol=0, atol=1e-12)
    assert (np.asarray(again.predict(messy)) == messy.ill).mean() > 0.8


def test_what_a_model_tells_is_in_the_unit_of_the_data(messy):
    model = PrivateNB(schema=SCHEMA, epsilon=20.0, random_state=0).fit(messy).model_
    drawn = model.sample(200, rng=np.random.default_rng(0))
    drawn = {name: values for name, values in drawn.items() if name in (*SCHEMA.names, "ill")}
    assert collect(pd.DataFrame(drawn), SCHEMA).counts.sum() == 200  # every value is read again
    assert {one for one in drawn["crp"] if one is not None and not 0.5 <= one <= 500} == set()
    shape = PrivateAdditiveClassifier(schema=SCHEMA, epsilon=20.0, random_state=0).fit(messy).model_.shape("crp")
    there = [one for one in shape["at"] if isinstance(one, float)]
    assert there[0] == 0.5 and there[-1] == pytest.approx(500) and there == sorted(there)


def test_rows_that_are_kept_are_read_alike_again(messy):
    whole = collect(messy, SCHEMA)
    for unexpected in ("refuse", "absorb"):
        kept = keep_rows(messy, SCHEMA, unexpected=unexpected)
        X, y = kept.take(np.arange(len(messy)))
        assert collect(X, SCHEMA, y) == whole


def test_what_is_held_is_not_shared_with_other_rules(messy):
    first = sources.open(messy, SCHEMA)
    first.held()
    half, limit = (
        SCHEMA.having([Numeric("crp", 0.5, 500, parse=f"comma; below={way}; missing=n/a", missing="bin")])
        for way in ("half", "limit")
    )
    one = sources.open(messy, half)
    one.held()
    assert sources.open(one, limit).statistics().sums["crp"].tolist() == collect(messy, limit).sums["crp"].tolist()
    assert collect(messy, limit) != collect(messy, half)


def test_devices_and_exports_refuse_what_they_do_not_read(messy):
    with pytest.raises(SchemaError, match="devices do not read 'crp' as the schema says"):
        Campaign(SCHEMA, 1.0)
    fitted = PrivateNB(schema=SCHEMA, epsilon=5.0).fit(messy)
    with pytest.raises(Exception, match="scikit-learn cannot read 'crp' as the schema says"):
        fitted.to_sklearn()


def test_a_scale_hangs_on_no_machine():
    code = ("from discreet import Numeric;import hashlib,struct;t=Numeric('x',0.1,1e6,transform='log').thresholds;"
            "print(hashlib.sha256(struct.pack(f'<{len(t)}d',*t)).hexdigest())")  # fmt: skip
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert found == "852284c3ca7a54e050c12aa176dc0355378561cb9ed63d6d96929fdb439a781e"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("format", [None, "%d.%m.%Y", "%m.%Y", "%d.%m.%y", "%m/%y"])
@pytest.mark.parametrize(("start", "end"), [("2018-01-15", "2021-05-20"), ("1890-03-31", "2090-02-28")])
def test_places_of_dates_that_are_written_are_read_again(unit, format, start, end):
    feature = Date("d", start, end, unit=unit, format=format, missing="bin")
    rng = np.random.default_rng(0)
    values = np.append(rng.integers(0, int(feature.upper) + 1, 60).astype(float), [0, feature.upper, nan, inf])
    again = sources.make_column(feature, written(feature, values))
    np.testing.assert_array_equal(again.values, values)
    assert [feature.number(feature.again(one)) for one in values[:-2].tolist()] == values[:-2].tolist()


def test_the_longest_unit_is_meant_and_a_schema_shows_what_was_declared():
    for rule in ("unit=m|mm*0.001", "unit=mm*0.001|m"):
        assert [Parse.of(rule).number(one) for one in ("5 mm", "5 m", "mm 5")] == [0.005, 5, 0.005]
    features = [Numeric("x", 1, 1000, transform="log"), Date("d", "2018-01-15", "2020-12-31", unit="month")]
    page = Schema(features, "y", LABELS)._repr_html_()
    assert "1 to 1000" in page and "2018-01-15 to 2020-12-31" in page
