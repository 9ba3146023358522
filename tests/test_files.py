"""Files: whole or not at all, and what says something about single people can be read by its owner alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet import Budget, PrivateNB, collect
from discreet.cli import app
from discreet.federated import Aggregate
from discreet.federated.flower.keys import make_keys
from discreet.federated.flower.task import KeptRound, RoundTask
from discreet.federated.secure import NodeStore
from discreet.federated.secure.local import run_round
from discreet.files import make_private, replacing, write_text
from discreet.gossip import keys as gossip_keys
from discreet.gossip.store import StateFile
from discreet.local.campaign import Campaign
from discreet.local.client import LocalClient
from discreet.local.collector import Collector
from discreet.nodes.journal import Journal
from tests.federated.common import SCHEMA, rows, update
from tests.federated.secure.helpers import setting
from tests.local import people


@pytest.fixture(autouse=True)
def nothing_is_masked() -> Iterator[None]:
    """No umask hides what the library itself leaves open."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def run(*words: Any) -> None:
    answer = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert answer.exit_code == 0, answer.output


def table(folder: Path) -> Path:
    X, y = rows(60, 3)
    pd.DataFrame(X, columns=["c", "x", "z"]).assign(y=y).to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


def model(folder: Path) -> Path:
    PrivateNB(1, schema=SCHEMA).fit(*rows(60, 3)).model_.save(folder / "model.json")
    return folder / "model.json"


def saved_statistics(path: Path) -> None:
    X, y = rows(60, 3)
    collect(X, SCHEMA, y).save(path)


def predictions(path: Path) -> None:
    run("predict", model(path.parent), table(path.parent), "--out", path)


def exact_figures(path: Path) -> None:
    run("evaluate", model(path.parent), table(path.parent), "--out", path)


def randomised_reports(path: Path) -> None:
    people.table(30).to_csv(path.parent / "people.csv", index=False)
    people.SCHEMA.save(path.parent / "s.toml")
    run("local", "perturb", path.parent / "people.csv", "-s", path.parent / "s.toml", "--epsilon", 1, "--out", path)


def store_copy(path: Path) -> None:
    Collector(people.SCHEMA).save(path)


def client_memory(path: Path) -> None:
    LocalClient(SCHEMA, 1, memory=path).report({"c": "p", "x": 1.0, "z": 0.5, "y": "no"})


def coordinator_state(path: Path) -> None:
    aggregate = Aggregate(SCHEMA)
    aggregate.add(update())
    aggregate.save(path)


REPLACED: dict[str, Callable[[Path], None]] = {
    "statistics.arrow": saved_statistics,
    "statistics.parquet": saved_statistics,
    "predictions.csv": predictions,
    "evaluation.json": exact_figures,
    "reports.bin": randomised_reports,
    "copy.db": store_copy,
    "memory.json": client_memory,
    "state.json": coordinator_state,
}


@pytest.mark.parametrize("name", REPLACED)
def test_private_files_are_closed_from_their_first_byte(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, opened, seen = tmp_path / name, Path.chmod, []
    REPLACED[name](path)  # what it needs besides is there now
    if name == "memory.json":
        path.unlink()  # a second report would be refused
    else:
        path.chmod(0o666)  # as an earlier version left it
    swap = os.replace
    monkeypatch.setattr(Path, "chmod", lambda self, *a, **k: (seen.append(self), opened(self, *a, **k))[1])

    def watched(source: Any, target: Any) -> None:
        if Path(target) == path:
            seen.append(mode(Path(source)))
        swap(source, target)

    monkeypatch.setattr(os, "replace", watched)
    REPLACED[name](path)
    assert mode(path) == 0o600
    assert seen[-1] == 0o600
    assert not [one for one in seen if isinstance(one, Path) and one.name.startswith(f".{name}.")]


def test_a_new_store_of_reports_is_closed_with_all_its_journals(tmp_path: Path) -> None:
    with Collector(people.SCHEMA, store=tmp_path / "reports.db") as collector:
        person = LocalClient(Campaign(people.SCHEMA, 1), memory=None)
        collector.add(person.report(people.table(1).iloc[0].to_dict()))
        held = {path.name: mode(path) for path in tmp_path.iterdir() if path.stat().st_size}
    assert {"reports.db", "reports.db-wal"} <= set(held)
    assert set(held.values()) == {0o600}


def test_ledgers_states_and_keys_of_nodes_are_closed(tmp_path: Path) -> None:
    with Journal(tmp_path / "node.ledger", total=Budget(1)) as journal:
        journal.answer("one", "what", Budget(1), lambda: b"noisy")
    StateFile(tmp_path / "state.db", {"node": "a"}).close()
    KeptRound(RoundTask(_schema(tmp_path), str(tmp_path / "m.json"), 2, state=str(tmp_path)), SCHEMA)
    round_, nodes, coordinator, held, signing = setting(3)
    name = next(iter(nodes))
    store = NodeStore(tmp_path / "rounds")
    run_round({**nodes, name: store.node(round_, name, signing[name], lambda: held[name])}, coordinator)
    make_keys(tmp_path / "federation", ["a", "b"])
    gossip_keys.make_keys(tmp_path / "network", ["a", "b"])
    public = {"schema.json"}
    found = {path for path in tmp_path.rglob("*") if path.is_file() and path.name not in public}
    names = {path.name for path in found}
    assert {"node.ledger", "state.db", "round.json"} <= names and len(list((tmp_path / "rounds").iterdir())) == 1
    assert {path.name: mode(path) for path in found} == dict.fromkeys(names, 0o600)


def _schema(folder: Path) -> str:
    SCHEMA.save(folder / "schema.json")
    return str(folder / "schema.json")


def test_what_is_made_to_be_shared_has_the_usual_mode(tmp_path: Path) -> None:
    _schema(tmp_path)
    Campaign(people.SCHEMA, 1).save(tmp_path / "campaign.json")
    assert {mode(path) for path in (model(tmp_path), *tmp_path.glob("*.json"))} == {0o666}
    os.umask(0o027)
    assert mode(model(tmp_path)) == 0o640


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    write_text(path, "old", private=True)
    with pytest.raises(RuntimeError), replacing(path, private=True) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert [one.name for one in tmp_path.iterdir()] == ["kept"] and path.read_text() == "old"


def test_an_empty_file_is_closed_before_a_database_grows_in_it_and_a_full_one_is_left_alone(tmp_path: Path) -> None:
    empty, full = tmp_path / "empty", tmp_path / "full"
    empty.touch(0o644)
    full.write_text("by its owner's choice")
    full.chmod(0o640)
    make_private(empty)
    make_private(full)
    assert (mode(empty), mode(full)) == (0o600, 0o640)
