"""Counted rows: what stands in for rows, how parts combine, and what is refused before anything is charged."""

import stat

import pandas as pd
import pyarrow.feather as feather
import pytest

import discreet
from discreet import (
    Account,
    Budget,
    Categorical,
    CountedRows,
    DataError,
    DiscreetError,
    Ledger,
    Numeric,
    PrivateNB,
    PrivateSelectKBest,
    PrivateTreeClassifier,
    Schema,
    StatisticsError,
    collect,
)
from discreet.estimators.base import PrivateEstimator
from discreet.nodes.site import node_update
from discreet.sources.counted import APART, COUNTED
from discreet.statistics import DETAILS, NOTICE

NAMED = Schema([Numeric("n", 0, 1, bins=2)], "y", [0, 1], id="who")


@pytest.fixture
def parts(frame, schema):
    return [CountedRows.of(frame[i::2], schema) for i in range(2)]


def people(*ids):
    return pd.DataFrame({"n": 0.5, "y": 0, "who": ids})


def content(fitted):
    """All of a model but its certificate."""
    return {key: value for key, value in fitted.model_.to_dict().items() if key != "certificate"}


def test_parts_merge_and_are_taken_away_as_their_rows_are(parts, frame, schema):
    whole = parts[0].merged(parts[1])
    assert whole.statistics == collect(frame, schema)
    assert whole.without(parts[1]).statistics == parts[0].statistics
    forgotten = CountedRows.of(frame[:7], schema)
    assert whole.without(forgotten).statistics == collect(frame[7:], schema)
    with pytest.raises(StatisticsError, match="negative"):
        forgotten.without(whole)
    with pytest.raises(StatisticsError, match="different schemas"):
        whole.merged(CountedRows.of(people(1), NAMED))
    with pytest.raises(StatisticsError, match="count both by one rule"):
        whole.merged(CountedRows.of(frame, schema, unexpected="absorb"))


@pytest.mark.parametrize("settings", [{}, {"numeric": "gaussian"}, {"mechanism": "gaussian", "delta": 1e-6}])
def test_a_fit_of_counts_is_the_fit_of_the_rows(settings, parts, frame, schema, tmp_path):
    whole = parts[0].merged(parts[1])
    whole.save(tmp_path / "whole.stats")
    expected = content(PrivateNB(1.0, schema=schema, random_state=3, **settings).fit(frame))
    for data in (whole, str(tmp_path / "whole.stats"), tmp_path / "whole.stats"):
        ledger = Ledger(Budget(1, 2 * settings.get("delta", 0)))
        found = PrivateNB(1.0, schema=schema, random_state=3, **settings).fit(data, ledger=ledger)
        assert content(found) == expected
        assert ledger.spent > 0
    chosen = [PrivateSelectKBest(2, 1.0, schema, random_state=1).fit(one).names_ for one in (whole, frame)]
    assert chosen[0] == chosen[1]


def test_trimmed_moments_are_fitted_from_lattices(frame, schema):
    counted = CountedRows.of(frame, schema, detail=DETAILS)
    fits = [
        PrivateNB(2.0, schema=schema, random_state=1, numeric="gaussian")
        .set_params(smooth__sensitivity="smooth")
        .fit(one)
        for one in (counted, frame)
    ]
    assert content(fits[0]) == content(fits[1])


def test_what_counts_cannot_serve_is_refused_before_the_charge(parts, frame, schema):
    ledger = Ledger(Budget(10))
    other = schema.having([*schema.features[:-1], Numeric("dose", 0, 2, step=0.25, bins=4)])
    refused = [
        (PrivateNB(1.0, schema=other), "under another schema"),
        (PrivateTreeClassifier(1.0, schema=schema), "needs rows"),
        (PrivateNB(1.0, schema=schema, unexpected="absorb"), "counted with unexpected = 'refuse'"),
        (
            PrivateNB(1.0, schema=schema, numeric="gaussian").set_params(smooth__sensitivity="smooth"),
            "lack the lattice",
        ),
        (PrivateNB(1.0, schema=schema, bounds="private"), "needs rows"),
    ]
    for estimator, sentence in refused:
        with pytest.raises(DataError, match=sentence):
            estimator.fit(parts[0], ledger=ledger)
    assert ledger.spent == 0
    with pytest.raises(DataError, match="lack what is asked"):
        collect(CountedRows.of(frame, schema, detail=("bins",)), schema, detail=("moments",))
    with pytest.raises(DataError, match="hold no rows"):
        list(PrivateNB(1.0, schema=schema).fit(frame).model_.predict(parts[0]))


def test_a_part_is_merged_once(parts, tmp_path):
    whole = parts[0].merged(parts[1])
    whole.save(tmp_path / "whole.stats")
    for twice in (parts[0], whole, CountedRows.load(tmp_path / "whole.stats")):
        with pytest.raises(StatisticsError, match="would count twice"):
            whole.merged(twice)


def test_rows_of_people_who_were_reduced_by_chance_are_not_taken_away():
    rules = {"unexpected": "absorb", "contributions": 1}
    whole, gone = CountedRows.of(people(1, 1, 2), NAMED, **rules), CountedRows.of(people(1, 1), NAMED, **rules)
    with pytest.raises(StatisticsError, match="count the rows again without those people"):
        whole.without(gone)


def test_a_certificate_says_that_counts_were_taken_on_trust(tmp_path):
    first, second = CountedRows.of(people(1, 2), NAMED), CountedRows.of(people(2, 3), NAMED)
    first.merged(second, apart=True).save(tmp_path / "apart.stats")
    apart = CountedRows.load(tmp_path / "apart.stats")
    later = (apart, apart.without(first), apart.merged(CountedRows.of(people(4), NAMED), apart=True))
    for data in (first, str(tmp_path / "apart.stats"), *later):
        clauses = {COUNTED} if data is first else {COUNTED, APART}
        updates = [node_update(data, NAMED, Budget(1), node="a")]
        made = [
            PrivateNB(1.0, schema=NAMED).fit(data).certificate_,
            PrivateNB(1.0, schema=NAMED).partial_fit(data).partial_fit(people(9)).certificate_,
            PrivateNB(1.0, schema=NAMED).partial_fit(people(9)).partial_fit(data).certificate_,
            PrivateSelectKBest(1, 1.0, NAMED).fit(data).certificate_,
            *(one.certificate for one in updates),
        ]
        for certificate in made:
            assert clauses == {COUNTED, APART} & set(certificate.assumptions)
            assert "checked by the id column when the rows were counted" in certificate.protects
    of_rows = PrivateNB(1.0, schema=NAMED).fit(people(1, 2)).certificate_
    assert not {COUNTED, APART} & set(of_rows.assumptions)
    assert "of each batch" in of_rows.protects


def test_no_estimator_takes_counts_silently(parts, schema):
    counted = 0
    for name in discreet.__all__:
        made = getattr(discreet, name)
        if not (isinstance(made, type) and issubclass(made, PrivateEstimator)):
            continue
        asked = {"schema": schema, "k": 2}
        known = made().get_params()
        if "schema" not in known:  # it holds another estimator, which has one
            continue
        try:
            fitted = made(**{key: value for key, value in asked.items() if key in known}).fit(parts[0])
        except DiscreetError:
            continue
        counted += 1
        assert COUNTED in fitted.certificate_.assumptions, name
    assert counted >= 2  # PrivateNB and PrivateSelectKBest at least


def test_limits_of_people_add_up_unless_nobody_is_in_two_parts(tmp_path):
    first, second = CountedRows.of(people(1, 2), NAMED), CountedRows.of(people(2, 3), NAMED)
    both, apart = first.merged(second), first.merged(second, apart=True)
    assert (both.contributions, apart.contributions, both.without(first).contributions) == (2, 1, 2)
    ledger = Ledger(Budget(10))
    with pytest.raises(DataError, match="with up to 2 rows of a person"):
        PrivateNB(1.0, schema=NAMED).fit(both, ledger=ledger)
    assert ledger.spent == 0
    PrivateNB(1.0, schema=NAMED, contributions=2).fit(both)
    PrivateNB(1.0, schema=NAMED).fit(apart)
    with pytest.raises(DataError, match="more than 1 row"):
        CountedRows.of(people(1, 1), NAMED)
    both.save(tmp_path / "both.stats")
    assert CountedRows.load(tmp_path / "both.stats") == both
    apart.save(tmp_path / "apart.stats")
    assert CountedRows.load(tmp_path / "apart.stats") == apart


def test_a_file_is_for_its_owner_and_says_what_it_is(parts, tmp_path, schema):
    path = tmp_path / "part.stats"
    parts[0].save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    notes = feather.read_table(path).schema.metadata
    assert notes[b"discreet.notice"].decode() == NOTICE and notes[b"discreet.schema.hash"].decode() == schema.hash
    table = feather.read_table(path)
    for changed, sentence in (
        ({b"discreet.schema.hash": b"0" * 64}, "names another schema"),
        ({b"discreet.rules": b"sometimes "}, "does not say"),
        ({b"discreet.rules": b"refuse 3"}, "does not say"), ({b"discreet.rules": b"refuse x"}, "does not say"),
        ({b"discreet.statistics": b"9"}, "of this version"),
    ):  # fmt: skip
        feather.write_feather(table.replace_schema_metadata({**notes, **changed}), path)
        with pytest.raises(StatisticsError, match=sentence):
            CountedRows.load(path)
    path.write_bytes(b"ARROW1 and no more")
    with pytest.raises(StatisticsError):
        CountedRows.load(path)
    with pytest.raises(StatisticsError, match="cannot read"):
        CountedRows.load(tmp_path / "absent.stats")


def test_the_command_counts_merges_subtracts_and_fits(discreet, frame, schema, tmp_path):
    schema.save(tmp_path / "s.toml")
    for i in range(2):
        frame[i::2].to_csv(tmp_path / f"{i}.csv", index=False)
        done = discreet("stats", f"{i}.csv", "-s", "s.toml", "-o", f"{i}.stats", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    done = discreet("stats", "merge", "0.stats", "1.stats", "-o", "both.stats", cwd=tmp_path)
    assert done.returncode == 0 and stat.S_IMODE((tmp_path / "both.stats").stat().st_mode) == 0o600
    assert CountedRows.load(tmp_path / "both.stats").statistics == collect(frame, schema)
    done = discreet("stats", "subtract", "both.stats", "1.stats", "-o", "rest.stats", "--json", cwd=tmp_path)
    assert done.returncode == 0 and schema.hash in done.stdout
    assert CountedRows.load(tmp_path / "rest.stats") == CountedRows.load(tmp_path / "0.stats")
    done = discreet("fit", "--statistics", "both.stats", "-s", "s.toml", "-o", "m.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    account = Account.create(tmp_path / "both.account", Budget(3))
    done = discreet("fit", "--statistics", "both.stats", "-s", "s.toml", "-o", "m.json", "--epsilon", "2", cwd=tmp_path)
    assert done.returncode == 0 and account.spent == 2 and "both.account" in done.stderr
    (tmp_path / "bad.stats").write_bytes(b"nothing")
    Schema([Categorical("colour", ["red"])], "ill", ["no", "yes"]).save(tmp_path / "other.toml")
    for arguments, sentence in (
        (["stats", "subtract", "0.stats", "both.stats", "-o", "no.stats"], "negative"),
        (["stats", "merge", "0.stats", "-o", "no.stats"], "two files or more"),
        (["stats", "merge", "0.stats", "bad.stats", "-o", "no.stats"], "bad.stats"),
        (["stats", "0.csv", "1.csv", "-s", "s.toml", "-o", "no.stats"], "one source at a time"),
        (["stats", "0.csv", "-s", "s.toml", "-o", "no.arrow"], "end in .stats"),
        (["stats", "0.csv", "-o", "no.stats"], "a schema is needed"),
        (["fit", "--statistics", "0.stats", "-s", "other.toml", "-o", "no.stats"], "another schema"),
        (["fit", "--statistics", "0.stats", "-s", "s.toml", "-o", "no.stats", "--holdout", "0.2"], "no rows to deal"),
        (["fit", "--statistics", "0.stats", "-s", "s.toml", "-o", "no.stats", "--model", "tree"], "needs rows"),
        (["fit", "-s", "s.toml", "-o", "no.stats"], "say what to fit"),
        (["fit", "0.csv", "--statistics", "0.stats", "-s", "s.toml", "-o", "no.stats"], "say what to fit"),
    ):
        done = discreet(*arguments, cwd=tmp_path)
        assert done.returncode == 2 and sentence in done.stderr and "Traceback" not in done.stderr, done.stderr
    assert not list(tmp_path.glob("no.*"))
