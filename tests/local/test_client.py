"""The client: one report per person, drawn before the row is read, remembered before it is handed out."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import BudgetError, Categorical, DiscreetError, Numeric, Schema
from discreet.local import Campaign, LocalClient
from discreet.local.bulk import report_rows
from discreet.sources import read_rows
from tests.local.wire.reference import frames, unpack

SCHEMA = Schema(
    [Categorical("colour", ["red", "green", "blue"]), Numeric("age", 0, 100, integer=True, bins=4)],
    target="ill",
    classes=["no", "yes"],
)
ROW = {"colour": "red", "age": 40, "ill": "yes"}


class Counting:
    """A source of randomness that notes when it is asked, and rows that note when they are read."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.rng = np.random.default_rng(1)

    def word(self) -> int:
        self.events.append("word")
        return int(self.rng.integers(0, 2**64, dtype=np.uint64))

    def row(self, values: dict[str, Any]) -> Any:
        events = self.events

        class Watched(dict):  # type: ignore[type-arg]
            def keys(self) -> Any:
                events.append("row")
                return super().keys()

            def __iter__(self) -> Any:
                events.append("row")
                return super().__iter__()

        return Watched(values)


def test_what_is_asked_is_drawn_before_the_row_is_read() -> None:
    watch = Counting()
    LocalClient(SCHEMA, 1, source=watch, memory=None).report(watch.row(ROW))
    first = watch.events.index("row")
    assert watch.events[:first].count("word") >= 3  # two words of the id, one of the choice
    assert "word" in watch.events[first:]


def test_a_report_says_what_it_is() -> None:
    client = LocalClient(SCHEMA, 1.5, memory=None)
    report = unpack(client.report(ROW))
    assert report.schema == bytes.fromhex(SCHEMA.hash)[:8]
    assert report.epsilon == Fraction(3, 2)
    (part,) = report.parts
    question = next(q for q in client.campaign.questions if q.input.index == part.input)
    assert (part.code, len(part.payload)) == (question.mechanism.code, question.mechanism.width)
    assert question.mechanism.decode(np.frombuffer(part.payload, np.uint8)[None, :])[1].all()


def test_a_second_report_is_refused_and_the_first_can_be_sent_again() -> None:
    client = LocalClient(SCHEMA, 1, memory=None)
    first = client.report(ROW)
    with pytest.raises(BudgetError, match="has spent 1 of its 1"):
        client.report(ROW)
    assert client.last_report == first


def test_threads_share_one_budget() -> None:
    for _ in range(20):
        client, start, made = LocalClient(SCHEMA, 1, memory=None), threading.Barrier(8), []

        def ask(client: LocalClient = client, start: threading.Barrier = start, made: list[bytes] = made) -> None:
            start.wait()
            with contextlib.suppress(BudgetError):
                made.append(client.report(ROW))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 1
        assert client.spent == 1


def test_a_client_cannot_be_copied() -> None:
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(BudgetError, match="cannot be copied"):
            copying(LocalClient(SCHEMA, 1))


def test_a_memory_that_cannot_be_written_hands_nothing_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = LocalClient(SCHEMA, 1, budget=3, memory=tmp_path / "m.json")
    first = client.report(ROW)

    def broken(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("discreet.local.client.write_text", broken)
    with pytest.raises(OSError, match="disk full"):
        client.report(ROW)
    assert (client.last_report, client.spent) == (first, 1)


def test_a_larger_budget_is_charged() -> None:
    client = LocalClient(SCHEMA, 1, budget=2.5, memory=None)
    assert client.report(ROW) != client.report(ROW)
    assert client.spent == 2
    with pytest.raises(BudgetError):
        client.report(ROW)
    with pytest.raises(BudgetError, match="does not suffice"):
        LocalClient(SCHEMA, 1, budget=0.5, memory=None)


@pytest.mark.parametrize(
    "change",
    [{"colour": "mauve"}, {"colour": None}, {"age": "old"}, {"age": float("inf")}, {"ill": "perhaps"}, {"ill": []}],
)
def test_no_content_of_a_row_keeps_a_report_back(change: dict[str, Any]) -> None:
    """Whoever writes campaigns must not learn, free of charge, whether a value is listed."""
    client = LocalClient(SCHEMA, 1, memory=None)
    assert unpack(client.report(ROW | change)).epsilon == 1
    assert client.spent == 1
    with pytest.raises(BudgetError):
        client.report(ROW | change)
    assert len(client.placeless(ROW | change)) == 1
    assert client.placeless(ROW) == []


def test_a_pinned_client_reports_about_one_schema_only() -> None:
    pin = Campaign(SCHEMA, 1).pin
    assert LocalClient(Campaign(SCHEMA, 2, oracle="grr"), pin=pin, memory=None).report(ROW)
    fewer = Schema([SCHEMA.features[0], SCHEMA.features[1]], target="ill", classes=["no", "perhaps"])
    with pytest.raises(DiscreetError, match="pinned"):
        LocalClient(Campaign(fewer, 1), pin=pin, memory=None)


def test_clients_remember_unless_told_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "states"))
    first = LocalClient(SCHEMA, 1).report(ROW)
    assert LocalClient(SCHEMA, 1).last_report == first
    other = Campaign(SCHEMA, 1, oracle="grr")
    with pytest.raises(BudgetError):  # one person, one budget, whatever the campaign
        LocalClient(other).report(ROW)
    second = LocalClient(other, budget=2).report(ROW)
    assert LocalClient(SCHEMA, 1).last_report == first
    assert LocalClient(other, budget=2).last_report == second
    assert (tmp_path / "states" / "discreet" / "client.json").stat().st_mode & 0o077 == 0


def test_a_memory_from_before_campaigns_were_told_apart_is_still_one(tmp_path: Path) -> None:
    memory = tmp_path / "m.json"
    first = LocalClient(SCHEMA, 1, memory=memory).report(ROW)
    fields = json.loads(memory.read_text())
    del fields["reports"]
    memory.write_text(json.dumps(fields))
    again = LocalClient(SCHEMA, 1, memory=memory)
    assert (again.last_report, again.spent) == (first, 1)


def test_memory_outlives_the_process(tmp_path: Path) -> None:
    memory = tmp_path / "client.json"
    first = LocalClient(SCHEMA, 1, memory=memory).report(ROW)
    again = LocalClient(SCHEMA, 1, memory=memory)
    with pytest.raises(BudgetError):
        again.report(ROW)
    assert again.last_report == first
    assert json.loads(memory.read_text())["spent"] == "1"


def test_two_clients_share_one_memory(tmp_path: Path) -> None:
    one, two = (LocalClient(SCHEMA, 1, memory=tmp_path / "m.json") for _ in range(2))
    one.report(ROW)
    with pytest.raises(BudgetError):
        two.report(ROW)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"format": "discreet/client", "spent": "-1", "last": ""}',
        '{"format": "discreet/client", "spent": "1/0", "last": ""}',
        "[]",
    ],
)
def test_a_damaged_memory_stops_the_client(tmp_path: Path, content: str) -> None:
    memory = tmp_path / "client.json"
    memory.write_text(content)
    with pytest.raises(DiscreetError, match="memory"):
        LocalClient(SCHEMA, 1, memory=memory)
    assert memory.read_text() == content


def test_several_inputs_share_the_budget() -> None:
    client = LocalClient(SCHEMA, 1, reports=3, memory=None)
    report = unpack(client.report(ROW))
    assert sorted(part.input for part in report.parts) == [0, 1, 4]
    assert report.epsilon == 1
    assert all(q.mechanism.epsilon == Fraction(1, 3) for q in client.campaign.questions)


@pytest.mark.parametrize("oracle", ["grr", "sue", "oue", "she", "the", "olh", "subset", "hadamard"])
def test_bulk_reports_are_reports_of_the_same_campaign(oracle: str) -> None:
    campaign = Campaign(SCHEMA, 2, oracle=oracle)
    table = np.array([["red", 3], ["green", 50], ["blue", 99]] * 40, object)
    raw = report_rows(campaign, next(read_rows(table, SCHEMA, ["no", "yes"] * 60)))
    reports = [unpack(frame) for frame in frames(raw) if frame]
    assert len(reports) == 120
    assert len({report.id for report in reports}) == 120
    assert {part.input for report in reports for part in report.parts} == {0, 1, 4}
    for report in reports:
        for part in report.parts:
            question = next(q for q in campaign.questions if q.input.index == part.input)
            assert (part.code, part.parameter) == (question.mechanism.code, question.mechanism.parameter)
            assert question.mechanism.decode(np.frombuffer(part.payload, np.uint8)[None, :])[1].all()


@pytest.mark.parametrize("numeric", ["laplace", "one-bit", "piecewise", "hybrid", "laplace-all"])
def test_numbers_are_reported_as_numbers(numeric: str) -> None:
    campaign = Campaign(SCHEMA, 2, numeric=numeric, reports=2)
    table = np.array([["red", 3], ["green", 50], ["blue", 99]] * 40, object)
    raw = report_rows(campaign, next(read_rows(table, SCHEMA, ["no", "yes"] * 60)))
    alone = [LocalClient(campaign, memory=None).report(ROW) for _ in range(30)]
    for frame in [*filter(None, frames(raw)), *alone]:
        for part in unpack(frame).parts:
            question = next(q for q in campaign.questions if q.input.index == part.input)
            assert question.mechanism.decode(np.frombuffer(part.payload, np.uint8)[None, :])[1].all()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": 1, "oracle": "magic"}, "no oracle 'magic'"),
        ({"epsilon": 1, "numeric": "magic"}, "report numbers"),
        ({"epsilon": 1, "reports": 0}, "reports"),
        ({"epsilon": 1, "reports": 9}, "3 inputs"),
        ({"epsilon": 1, "theta": 0.5}, "theta"),
    ],
)
def test_bad_settings_are_one_sentence(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(DiscreetError, match=words):
        LocalClient(SCHEMA, **settings)


def test_a_campaign_file_comes_back(tmp_path: Path) -> None:
    campaign = Campaign(SCHEMA, "0.7", oracle="the", theta=Fraction(1, 4), reports=2)
    campaign.save(tmp_path / "c.json")
    assert Campaign.load(tmp_path / "c.json") == campaign
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(DiscreetError, match="not a campaign"):
        Campaign.load(tmp_path / "bad.json")
    with pytest.raises(DiscreetError, match="cannot read"):
        Campaign.load(tmp_path / "none.json")


def test_epsilon_is_rounded_down_to_what_a_report_can_state() -> None:
    assert Campaign(SCHEMA, "1.23456789").epsilon == Fraction(1234567, 10**6)
