"""The collector: every report judged wholly, counted once, and nothing of a bad one counted."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetError, DataError, SchemaError, StatisticsError
from discreet.local.campaign import Campaign
from discreet.local.client import LocalClient
from discreet.local.collector import Collector
from discreet.local.estimate import Tally, model_of
from discreet.local.numbers import NUMBERS
from discreet.local.oracles import ORACLES
from discreet.local.store import FATES, Outcome
from discreet.local.wire.report import MARKER, Part, Report, pack, schema_mark
from tests.local.people import OTHER, SCHEMA, report_file, report_list, table
from tests.local.wire.reference import unpack

MARK = schema_mark(SCHEMA.hash)


def sums(collector):
    return {
        (one.index, one.mechanism.name, one.mechanism.epsilon, one.parts): (one.reports, exact(one))
        for one in collector.tallies()
    }


def exact(tally):
    """A sum in one form: that of numbers is kept in two halves, between which there may be different carries."""
    numeric = hasattr(tally.mechanism, "half") and hasattr(tally.mechanism, "classes")
    return (tally.mechanism.estimate(tally.support, tally.reports) if numeric else tally.support).tolist()


def by_hand(reports, schema=SCHEMA):
    """The same sums from the plain reader and the mechanisms' own decoders, one report at a time."""
    from discreet.local.campaign import mechanism_of

    found = {}
    for frame in reports:
        report = unpack(frame)
        for part in report.parts:
            share = report.epsilon / len(report.parts)
            mechanism = mechanism_of(schema, part.input, part.code, part.parameter, share)
            said, fine = mechanism.decode(np.frombuffer(part.payload, np.uint8)[None, :])
            assert fine.all()
            key = (part.input, mechanism.name, share, len(report.parts))
            count, total, _ = found.get(key, (0, 0, None))
            found[key] = count + 1, total + mechanism.support(said), mechanism
    return {key: (m, exact(Tally(key[0], mechanism, m, total))) for key, (m, total, mechanism) in found.items()}


def made(*parts, epsilon=1, identity=bytes(16), schema=MARK):
    return pack(Report(schema, identity, Fraction(epsilon), tuple(parts)))


@pytest.fixture(scope="module")
def reports():
    return report_list(400)


# ---- counting


@pytest.mark.parametrize("oracle", [*ORACLES, "auto"])
def test_sums_are_those_of_the_reports(oracle):
    given = report_list(60, oracle=oracle)
    collector = Collector(SCHEMA)
    assert collector.add_batch(b"".join(given)) == Outcome(accepted=60)
    assert sums(collector) == by_hand(given)


@pytest.mark.parametrize("numeric", ("bins", *NUMBERS))
def test_numbers_and_several_parts(numeric):
    given = report_list(60, 2.0, numeric=numeric, reports=2)
    collector = Collector(SCHEMA)
    assert collector.add_batch(given) == Outcome(accepted=60)
    assert sums(collector) == by_hand(given)
    assert sum(one.reports for one in collector.tallies()) == 120 and collector.accepted == 60


def test_one_by_one_in_lists_and_in_buffers_is_the_same(reports):
    whole, listed, single = Collector(SCHEMA), Collector(SCHEMA), Collector(SCHEMA)
    whole.add_batch(b"".join(reports))
    listed.add_batch(reports)
    assert {single.add(one) for one in reports} == {"accepted"}
    assert sums(whole) == sums(listed) == sums(single) == by_hand(reports)
    assert [one.to_dict() for one in Collector(SCHEMA).add_buffers([b"", reports[0], b"x"])] == [
        Outcome().to_dict(),
        Outcome(accepted=1).to_dict(),
        Outcome(malformed=1).to_dict(),
    ]


def test_what_a_client_sends_is_accepted():
    rows = table(20).to_dict("records")
    for settings_ in ({}, {"oracle": "the", "theta": 0.7}, {"numeric": "hybrid", "reports": 3}):
        campaign = Campaign(SCHEMA, 1.5, **settings_)
        collector = Collector(campaign)
        assert {collector.add(LocalClient(campaign, memory=None).report(row)) for row in rows} == {"accepted"}


# ---- exactly once


def test_replays_within_and_across_batches(reports):
    collector = Collector(SCHEMA)
    twice = b"".join(reports[:50] + reports[:50] + reports[10:20])
    assert collector.add_batch(twice) == Outcome(accepted=50, replayed=60)
    assert collector.add_batch(b"".join(reports[25:75])) == Outcome(accepted=25, replayed=25)
    assert collector.add(reports[0]) == "replayed"
    assert sums(collector) == by_hand(reports[:75])
    assert collector.rejected == {"malformed": 0, "foreign": 0, "unexpected": 0, "replayed": 86}


def test_the_first_of_two_reports_with_one_id_counts(reports):
    first, second = made(Part(0, 1, 0, b"\0")), made(Part(0, 1, 0, b"\1"))
    collector = Collector(SCHEMA)
    assert collector.add_batch(first + second) == Outcome(accepted=1, replayed=1)
    assert collector.tallies()[0].support.tolist() == [1, 0]


def test_ids_that_share_their_first_half_are_different():
    identities = [bytes(8) + bytes([i]) * 8 for i in range(9)] + [bytes([i]) * 8 + bytes(8) for i in range(1, 9)]
    given = [made(Part(0, 1, 0, b"\1"), identity=one) for one in identities]
    assert Collector(SCHEMA).add_batch(given) == Outcome(accepted=17)
    assert Collector(SCHEMA).add_batch(given + given) == Outcome(accepted=17, replayed=17)


def test_across_restarts(reports, tmp_path):
    for low in (0, 100, 200):
        with Collector(SCHEMA, store=tmp_path / "s.db") as collector:
            assert collector.add_batch(b"".join(reports[: low + 100])) == Outcome(accepted=100, replayed=low)
    with Collector.load(tmp_path / "s.db") as collector:
        assert collector.accepted == 300 and collector.rejected["replayed"] == 300
        assert sums(collector) == by_hand(reports[:300])


def test_merging_counts_what_both_saw_once(reports):
    one, two, both = Collector(SCHEMA), Collector(SCHEMA), Collector(SCHEMA)
    one.add_batch(reports[:200])
    two.add_batch([*reports[100:300], b"bad"])
    both.add_batch(reports[:300])
    assert one.merge(two) == Outcome(accepted=100, replayed=100)
    assert sums(one) == sums(both) and one.accepted == 300
    assert one.rejected == {"malformed": 1, "foreign": 0, "unexpected": 0, "replayed": 100}
    assert one.merge(two).accepted == 0 and sums(one) == sums(both)
    assert two.accepted == 200
    with pytest.raises(StatisticsError, match="different schemas"):
        one.merge(Collector(OTHER))
    with pytest.raises(StatisticsError, match="itself"):
        one.merge(one)


def test_save_and_load(reports, tmp_path):
    first = Collector(SCHEMA)
    first.add_batch(reports[:100])
    first.save(tmp_path / "c.db")
    first.add_batch(reports[100:200])
    with Collector.load(tmp_path / "c.db") as second:
        assert second.accepted == 100 and second.since == first.since
        second.add_batch(reports[:200])
        assert sums(second) == sums(first)
        second.save(tmp_path / "c.db")  # its own store: nothing to do
    with Collector.load(tmp_path / "c.db", readonly=True) as third:
        assert third.accepted == 200
        with pytest.raises(StatisticsError, match="no accepted"):
            Collector(SCHEMA).model()


# ---- what is rejected


def test_foreign_and_damaged(reports):
    foreign = report_file(7, schema=OTHER)
    broken = reports[1][:20] + b"\xff" + reports[1][21:]
    collector = Collector(SCHEMA)
    raw = b"junk" + reports[0] + foreign + broken + reports[2] + reports[3][:-5]
    assert collector.add_batch(raw) == Outcome(accepted=2, foreign=7, malformed=3)
    assert sums(collector) == by_hand([reports[0], reports[2]])


@pytest.mark.parametrize(
    "part",
    [
        Part(0, 1, 0, b"\2"),  # a class that is not there
        Part(0, 1, 0, b"\0\0"),  # too wide
        Part(0, 1, 0, b""),  # too narrow
        Part(0, 1, 5, b"\0"),  # a parameter for an oracle that has none
        Part(0, 5, 0, b"\0"),  # THE without its threshold
        Part(0, 5, 2**30, b"\0"),  # THE with an absurd one
        Part(0, 3, 0, b"\4"),  # padding bits of a set of two
        Part(0, 99, 0, b"\0"),  # no such oracle
        Part(0, 18, 0, b"\0"),  # a number mechanism for a class
        Part(2, 16, 0, bytes(6)),  # a mean of a feature that is no number
        Part(5, 1, 0, b"\0"),  # an oracle for a mean
        Part(5, 20, 0, bytes(8)),  # all numbers at once for one
        Part(10, 18, 0, bytes(8)),  # one number for all at once
        Part(12, 1, 0, b"\0"),  # no such input
        Part(2**40, 1, 0, b"\0"),
    ],
)
def test_a_part_that_cannot_be_counted_spoils_its_report_only(part, reports):
    good = Part(1, 1, 0, b"\0")
    for parts in ((part,), (good, part) if part.input != 1 else (part,), (part, good)):
        collector = Collector(SCHEMA)
        assert collector.add_batch(reports[0] + made(*parts) + reports[1]) == Outcome(accepted=2, malformed=1)
        assert sums(collector) == by_hand(reports[:2])


def test_impossible_epsilons():
    for epsilon in (Fraction(31), Fraction(2**30), Fraction(1, 10**6)):
        two = made(Part(0, 1, 0, b"\0"), Part(1, 1, 0, b"\0"), epsilon=epsilon)
        assert Collector(SCHEMA).add(two) == "malformed"


def test_unwanted_epsilons_and_designs():
    wanted = Collector(SCHEMA, epsilon=1)
    assert wanted.add_batch(report_file(5, 1.0)) == Outcome(accepted=5)
    assert wanted.add_batch(report_file(5, 1.5, seed=2)) == Outcome(unexpected=5)
    campaign = Collector(Campaign(SCHEMA, 1.0, oracle="oue"))
    assert campaign.add_batch(report_file(5, oracle="oue")) == Outcome(accepted=5)
    assert campaign.add_batch(report_file(5, oracle="olh", seed=2)) == Outcome(unexpected=5)
    assert campaign.add_batch(report_file(5, 1.0, oracle="oue", reports=2, seed=3)) == Outcome(unexpected=5)


def test_nobody_can_make_the_memory_grow():
    collector = Collector(SCHEMA, designs=3)
    given = [
        made(Part(0, 1, 0, b"\0"), epsilon=Fraction(n, 100), identity=n.to_bytes(16, "little")) for n in range(1, 201)
    ]
    assert collector.add_batch(given[:100]) == Outcome(accepted=3, unexpected=97)
    assert collector.add_batch(given) == Outcome(replayed=3, unexpected=197)
    assert len(collector.tallies()) == 3
    bad = [made(Part(0, 1, 0, b"\7"), epsilon=n, identity=bytes([n]) * 16) for n in range(1, 20)]
    other = Collector(SCHEMA, designs=1)
    assert other.add_batch(bad) == Outcome(malformed=19)  # what is not counted takes no place
    assert other.add(given[0]) == "accepted" and other.add(given[1]) == "unexpected"


def test_bad_settings():
    with pytest.raises(SchemaError, match="needs a schema"):
        Collector("schema")  # type: ignore[arg-type]
    with pytest.raises(BudgetError, match="designs"):
        Collector(SCHEMA, designs=0)
    with pytest.raises(BudgetError, match="campaign says"):
        Collector(Campaign(SCHEMA, 1), epsilon=1)
    with pytest.raises(BudgetError):
        Collector(SCHEMA, epsilon=math.inf)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_comes_the_good_ones_are_counted(data):
    """Reports with changed bytes, sealed anew or not, between sound ones."""
    import zlib

    good = report_list(6)
    spoiled = []
    for frame in report_list(6, seed=9):
        body = bytearray(frame[7:-4])
        for _ in range(data.draw(st.integers(1, 3))):
            body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
        body = body[: data.draw(st.integers(0, len(body)))] if data.draw(st.booleans()) else body
        head = MARKER + b"\1" + len(body).to_bytes(2, "little") + bytes(body)
        spoiled.append(head + (zlib.crc32(head).to_bytes(4, "little") if data.draw(st.booleans()) else bytes(4)))
    collector = Collector(SCHEMA)
    found = collector.add_batch(b"".join(one for pair in zip(spoiled, good, strict=True) for one in pair))
    counted = [one for one in spoiled if Collector(SCHEMA).add(one) == "accepted"]
    assert found.accepted + found.replayed == 6 + len(counted)
    assert {fate for fate in FATES if getattr(found, fate)} <= set(FATES)
    assert sums(collector) == by_hand(good + counted) or found.replayed


# ---- files and models


def test_damaged_files_lose_only_the_bad_records(reports, tmp_path):
    path = tmp_path / "r.bin"
    raw = bytearray(b"".join(reports))
    starts = np.cumsum([0, *map(len, reports)])
    for bad in (3, 90, 91, 200):  # two of them neighbours: two damaged records, not one
        raw[starts[bad] + 30] ^= 1
    path.write_bytes(bytes(raw[:-3]))
    seen = []
    found = Collector(SCHEMA).read(path, lambda done, total: seen.append((done, total)))
    assert found == Outcome(accepted=395, malformed=5)
    assert seen[-1] == (len(raw) - 3, len(raw) - 3)
    path.write_bytes(b"?".join(reports))
    assert Collector(SCHEMA).read(path) == Outcome(accepted=400, malformed=399)


def test_empty_absent_and_huge(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert Collector(SCHEMA).read(tmp_path / "empty") == Outcome()
    with pytest.raises(DataError, match="cannot read the reports"):
        Collector(SCHEMA).read(tmp_path / "absent")
    with pytest.raises(DataError, match="cannot read"):
        Collector(SCHEMA).read(tmp_path)
    (tmp_path / "huge").write_bytes(MARKER + b"\1\xff\xff" + bytes(100))
    assert Collector(SCHEMA).read(tmp_path / "huge") == Outcome(malformed=1)


def test_the_model_is_the_estimators(reports):
    collector = Collector(SCHEMA)
    collector.add_batch(report_file(4000, 3.0))
    model = collector.model(smoothing=2.0)
    twin = model_of(SCHEMA, collector.tallies(), smoothing=2.0)
    assert json.dumps(model.to_dict()) == json.dumps(twin.to_dict())
    assert model.certificate.epsilon_value == 3 and not model.certificate.simulation
    people = table(500, seed=8)
    assert (model.predict(people.drop(columns="ill")) == people["ill"]).mean() > 0.7


def test_an_empty_collector_has_no_model():
    collector = Collector(SCHEMA)
    collector.add(b"x")
    with pytest.raises(StatisticsError, match=r"no accepted report.*1 were rejected"):
        collector.model()
    assert "0 reports accepted, 1 rejected" in repr(collector)


def test_summary_tells_no_report(reports):
    collector = Collector(SCHEMA)
    collector.add_batch(reports)
    summary = collector.summary()
    assert summary["accepted"] == 400 and sum(one["reports"] for one in summary["tallies"]) == 400
    assert {one["about"] for one in summary["tallies"]} == {"ill", "colour", "age", "dose"}
    assert json.dumps(summary)


MEMORY = """
import re, sys, zlib
import numpy as np
from discreet.local.collector import Collector
from tests.local.people import SCHEMA, report_file
raw = np.frombuffer(report_file(20_000, oracle="grr"), np.uint8).reshape(20_000, -1).copy()
collector, rng, peaks = Collector(SCHEMA), np.random.default_rng(1), []
def send():
    raw[:, 15:31] = rng.integers(0, 256, (20_000, 16), np.uint8)
    sums = np.array([zlib.crc32(row[:-4]) for row in raw], "<u4")
    raw[:, -4:] = sums.view(np.uint8).reshape(-1, 4)
    assert collector.add_batch(raw.tobytes()).accepted == 20_000
for step in range(int(sys.argv[1])):
    send()
    peaks.append(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]))
print(peaks[len(peaks) // 2], peaks[-1], collector.accepted)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
def test_memory_does_not_grow_with_the_reports():
    """Ids of 400,000 reports need 10 MB and their bytes 17 MB: the second half must not show in memory at all."""
    done = subprocess.run([sys.executable, "-c", MEMORY, "40"], capture_output=True, text=True, check=True, timeout=300)
    half, full, accepted = map(int, done.stdout.split())
    assert accepted == 800_000 and full - half < 12_000, (half, full)  # KiB


def test_threads_may_share_a_collector(tmp_path):
    """Each report is counted once, whichever thread brings it, and the store stays whole."""
    reports = report_list(120)
    with Collector(SCHEMA, store=tmp_path / "s.db") as collector:
        with ThreadPoolExecutor(4) as pool:
            fates = list(pool.map(collector.add, reports * 2))
        assert fates.count("accepted") == fates.count("replayed") == len(reports)
        assert collector.accepted == len(reports)
    with Collector.load(tmp_path / "s.db") as again:
        assert again.accepted == len(reports)
