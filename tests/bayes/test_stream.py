"""Streams: one charge for all steps, noise drawn once and kept, what neighbours change, files of streams."""

import copy
import json
import math
import os
import pickle
import re
import shlex
import stat
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from discreet import (
    Account,
    Budget,
    BudgetError,
    Categorical,
    CountedRows,
    FederatedNB,
    Ledger,
    ModelError,
    Numeric,
    PrivateNB,
    Schema,
    SchemaError,
)
from discreet.bayes import stream as streams
from discreet.cli import app
from discreet.cli.running import run
from discreet.mechanisms.noise import SimulationSampler
from discreet.mechanisms.running import Root, Tree
from discreet.sources.counted import COUNTED
from discreet.statistics import Statistics
from tests import pages
from tests.recorder import recorded, replayed

SCHEMA = Schema([Categorical("c", ["u", "v", "w"]), Numeric("a", 0, 8, step=0.5, bins=4)], "y", ["n", "p"])
FAR, NEAR = ("w", 8.0), ("u", 0.0)
MECHANISMS = [("laplace", 0.0), ("knorm", 0.0), ("gaussian", 1e-5), ("residual", 1e-5)]


def batch(size=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(["n", "p"], size)
    X = np.empty((size, 2), object)
    X[:, 0] = np.where(rng.random(size) < 0.7, np.where(y == "n", "u", "w"), "v")
    X[:, 1] = rng.integers(0, 9, size) / 2 + np.where(y == "n", 0, 4)
    return X, y


def frame(*given):
    X, y = batch(*given)
    return pd.DataFrame({"c": X[:, 0], "a": X[:, 1].astype(float), "y": y})


def with_row(data, row, label):
    new = np.empty((1, 2), object)
    new[0] = row
    return np.concatenate([new, data[0]]), np.concatenate([[label], data[1]])


def taken(settings, steps):
    """All models that a stream publishes, step after step, charged to a ledger that has the budget once."""
    estimator = PrivateNB(schema=SCHEMA, **settings)
    ledger = Ledger(Budget(settings["epsilon"], settings.get("delta", 0)), "basic" if settings.get("delta") else None)
    published = []
    for X, y in steps:
        estimator.partial_fit(X, y, ledger=ledger)
        published.append(estimator.model_.to_dict())
    assert len(ledger.nodes) == 1
    return published


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize(("mechanism", "delta"), MECHANISMS)
def test_a_row_of_the_first_step_costs_the_whole_budget(monkeypatch, mechanism, delta, adjacency):
    """Eight steps of a tree of blocks of two on three levels, or of a root: what is handed over, and what comes out."""
    monkeypatch.setattr("discreet.bayes.streamed.best_tree", lambda steps: Tree(steps, 2, 3))
    settings = {"epsilon": 1.0, "delta": delta, "adjacency": adjacency, "mechanism": mechanism, "stream": 8}
    steps = [batch(20, seed) for seed in range(8)]
    first = [with_row(steps[0], FAR, "p"), *steps[1:]]
    others = [steps] if adjacency == "add-remove" else [[with_row(steps[0], NEAR, y), *steps[1:]] for y in "np"]
    losses = [replayed(monkeypatch, partial(taken, settings), one, first, inserted=(0,)).loss() for one in others]
    plan = PrivateNB(schema=SCHEMA, **settings).plan()
    whole = float(plan.budget.epsilon if plan.rho is None else plan.rho)
    assert max(losses) == pytest.approx(whole, rel=1e-6)
    later = [*steps[:5], with_row(steps[5], FAR, "p"), *steps[6:]]
    if adjacency == "add-remove":
        tape = replayed(monkeypatch, partial(taken, settings), steps, later, inserted=(0,))
        assert 0 < tape.loss() <= whole * (1 + 1e-9)


def test_rho_is_that_of_the_tight_conversion(monkeypatch):
    """The (ε, δ) of a stream, by orders written out here, from what the sampler was handed."""
    settings = {"epsilon": 1.0, "delta": 1e-5, "mechanism": "gaussian", "stream": 6}
    steps = [batch(20, seed) for seed in range(6)]
    other = [with_row(steps[0], FAR, "p"), *steps[1:]]
    rho = replayed(monkeypatch, partial(taken, settings), steps, other, inserted=(0,)).loss()
    orders = 1 + np.geomspace(1e-2, 1e4, 20_000)
    logs = (orders - 1) * (orders * rho - 1) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
    assert 0.95e-5 < math.exp(logs.min()) <= 1e-5 * (1 + 1e-6)


def test_noise_is_drawn_once_for_every_sum(monkeypatch):
    """As many draws as sums end, none of them again at a later step; the spreads are all alike."""
    monkeypatch.setattr("discreet.bayes.streamed.best_tree", lambda steps: Tree(steps, 2, 3))
    settings = {"epsilon": 1.0, "mechanism": "laplace", "stream": 8}
    tape, _ = recorded(monkeypatch, lambda: taken(settings, [batch(20, seed) for seed in range(8)]))
    assert len(tape.of("laplace")) == (8 + 4 + 2) * 2 * 2  # blocks, classes, tables
    assert set(tape.spreads) == {Fraction(3) / share for share in (item.share for item in plan_items(settings))}


def plan_items(settings):
    return PrivateNB(schema=SCHEMA, **settings).plan().items


def test_one_charge_a_certificate_and_an_end():
    ledger = Ledger(Budget(1, 1e-6), "basic")
    made = PrivateNB(1.0, 1e-6, SCHEMA, mechanism="residual", stream=3)
    for seed in range(3):
        made.partial_fit(*batch(50, seed), ledger=ledger)
    assert made.step_ == 3 and len(ledger.nodes) == 1
    certificate = made.certificate_
    assert certificate.epsilon == "1" and "each of up to 3 steps" in certificate.covers
    assert any("one step of the stream only" in one for one in certificate.assumptions)
    assert "PLD" not in certificate.accounting and "rho of zCDP" in certificate.accounting
    with pytest.raises(BudgetError, match="3 steps are over"):
        made.partial_fit(*batch())
    assert made.step_ == 3


def test_the_certificate_assumes_what_steps_cannot_check():
    """An id column tells rows of a person apart within a step, not over all of them."""
    schema = Schema(SCHEMA.features, "y", ["n", "p"], id="who")
    rows = frame().assign(who=range(40))
    made = PrivateNB(1.0, schema=schema, stream=3).partial_fit(rows)
    assert any("no person has more than 1 row(s)" in one for one in made.certificate_.assumptions)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("counted_first", [False, True])
def test_what_is_taken_on_trust_stays_said(tmp_path, kept, counted_first):
    """Counts at one step, rows at the other, in memory or in a file: all certificates from then on say so."""
    state = str(tmp_path / "counts.state") if kept else None
    steps = [frame(40, 0), CountedRows.of(frame(40, 1), SCHEMA)][:: -1 if counted_first else 1]
    made = PrivateNB(1.0, schema=SCHEMA, stream=4, state=state)
    for given, said in zip([*steps, frame(40, 2)], [counted_first, True, True], strict=True):
        made.partial_fit(given)
        assert (COUNTED in made.certificate_.assumptions) is said
        if kept:
            made = PrivateNB.resume(state)
            assert (COUNTED in made.certificate_.assumptions) is said


def test_every_sampler_is_named():
    """A stream names the same sources of noise as a single fit of its mechanism."""
    settings = {"schema": SCHEMA, "mechanism": "knorm"}
    once = PrivateNB(1.0, **settings).fit(*batch()).certificate_.sampler
    assert "K-norm" in once
    assert PrivateNB(1.0, stream=3, **settings).partial_fit(*batch()).partial_fit(*batch()).certificate_.sampler == once


def test_no_noise_means_the_model_of_all_rows():
    made = PrivateNB(math.inf, schema=SCHEMA, stream=4)
    parts = [batch(30, seed) for seed in range(3)]
    for X, y in parts:
        made.partial_fit(X, y)
    whole = PrivateNB(math.inf, schema=SCHEMA).fit(*(np.concatenate(one) for one in zip(*parts, strict=True)))
    np.testing.assert_allclose(made.predict_proba(batch()[0]), whole.predict_proba(batch()[0]))


def test_steps_without_rows_are_steps():
    """That a day had no rows is nobody's business: noise is drawn as ever."""
    made = PrivateNB(1.0, schema=SCHEMA, stream=3).partial_fit(frame().iloc[:0])
    made.partial_fit(frame(2000)).partial_fit(frame().iloc[:0])
    assert made.step_ == 3 and made.score(frame(2000)) > 0.7


def test_the_noise_of_the_last_model_is_what_the_plan_says():
    """Class totals of 400 streams of 30 steps; false alarms: variances beyond 6 standard errors, below 1e-8."""
    found = []
    for seed in range(400):
        made = PrivateNB(1.0, 1e-6, SCHEMA, mechanism="gaussian", stream=30, random_state=seed)
        plan = made.plan()
        whole = streams.Stream(plan)
        for step in range(30):
            whole.add(Statistics.empty(SCHEMA, plan.detail), SimulationSampler([seed, step]))
        released = whole.release()
        found.append(released.values["table", "c"].ravel())
    variance = released.variance(plan.tables["c"])
    measured = np.var(found)  # of 2400 numbers of mean zero
    assert measured == pytest.approx(variance, rel=6 * math.sqrt(2 / 2400))
    one = PrivateNB(1.0, 1e-6, SCHEMA, mechanism="gaussian").plan().tables["c"].variance
    assert variance < 30 * one / 3  # of 30 batches


# ---- one life


@pytest.mark.parametrize("how", [copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))])
def test_a_copy_predicts_and_cannot_go_on(how):
    made = PrivateNB(1.0, schema=SCHEMA, stream=3).partial_fit(*batch())
    again = how(made)
    assert again.predict(batch()[0]).tolist() == made.predict(batch()[0]).tolist()
    with pytest.raises(BudgetError, match="copy of an estimator whose stream has begun"):
        again.partial_fit(*batch())
    assert again._stream is None and b"noisy" not in pickle.dumps(made)  # nothing exact travels
    assert not hasattr(clone(made), "release_")


def test_settings_stay_those_of_the_first_step():
    made = PrivateNB(1.0, schema=SCHEMA, stream=3).partial_fit(*batch())
    with pytest.raises(BudgetError, match="settings of its first step"):
        made.set_params(epsilon=2.0).partial_fit(*batch())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stream": 0}, "from 1 to 10000"),
        ({"stream": 2.5}, "whole number"),
        ({"stream": 3, "strategy": "partition"}, "leave strategy and threshold"),
        ({"stream": 3, "mechanism": "gaussian"}, "delta above zero"),
        ({"state": "x"}, "of how many steps"),
        ({"stream": 3, "bounds": "private"}, "private_bounds"),
    ],
)
def test_what_a_stream_cannot_be(settings, message):
    with pytest.raises(BudgetError, match=message):
        PrivateNB(1.0, schema=SCHEMA, **settings).partial_fit(*batch())


def test_fits_and_drafts_are_refused():
    with pytest.raises(BudgetError, match="use partial_fit"):
        PrivateNB(1.0, schema=SCHEMA, stream=3).fit(*batch())
    with pytest.raises(SchemaError, match="declare it"):
        PrivateNB(1.0, schema="infer", stream=3).partial_fit(*batch())


@pytest.mark.parametrize("kind", [PrivateNB, FederatedNB])
def test_a_later_step_names_no_other_payer(tmp_path, kind):
    """It would be charged nothing, and its holder would believe otherwise."""
    first, other = (Account.create(tmp_path / f"{name}.account", Budget(1)) for name in "ab")
    made = kind(1.0, schema=SCHEMA, stream=4).partial_fit(*batch(), account=first)
    for given in ({"account": other}, {"account": other.path}, {"ledger": Ledger(Budget(1))}):
        with pytest.raises(BudgetError, match="charged whole with its first step"):
            made.partial_fit(*batch(40, 1), **given)
    with other, pytest.raises(BudgetError, match="charged whole with its first step"):
        made.partial_fit(*batch(40, 1))
    assert made.step_ == 1
    made.partial_fit(*batch(40, 1), account=first.path).partial_fit(*batch(40, 2))
    assert made.step_ == 3 and first.spent == 1 and not other.spent
    unpaid = kind(1.0, schema=SCHEMA, stream=4).partial_fit(*batch())
    with pytest.raises(BudgetError, match="charged whole with its first step"):
        unpaid.partial_fit(*batch(40, 1), account=other)


# ---- files


def test_a_stream_goes_on_in_another_process(tmp_path):
    """The same sums, with the noise that was drawn: bit for bit what one process would have."""
    state = tmp_path / "counts.state"
    made = PrivateNB(1.0, 1e-6, SCHEMA, mechanism="residual", stream=3, state=str(state), random_state=7)
    made.partial_fit(*batch(50, 0))
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o600
    again = PrivateNB.resume(state)
    assert again.step_ == 1 and again.model_.to_dict()["log_prior"] == made.model_.to_dict()["log_prior"]
    ledger = Ledger(Budget(1, 1e-6), "basic")
    again.partial_fit(*batch(50, 1), ledger=ledger)
    assert again.step_ == 2 and not ledger.nodes  # it was charged when it began
    alone = PrivateNB(1.0, 1e-6, SCHEMA, mechanism="residual", stream=3, random_state=7)
    alone.partial_fit(*batch(50, 0)).partial_fit(*batch(50, 1))
    np.testing.assert_array_equal(again.release_.values["table", "c"], alone.release_.values["table", "c"])


def test_what_was_drawn_is_on_disk_before_it_is_released(tmp_path, monkeypatch):
    """A model that could not be made leaves its noise in the file: the step was taken, and is not drawn again."""
    state = tmp_path / "counts.state"
    made = PrivateNB(1.0, schema=SCHEMA, stream=3, state=str(state)).partial_fit(*batch())

    def broken(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PrivateNB, "_model", broken)
        with pytest.raises(KeyboardInterrupt):
            made.partial_fit(*batch())
    assert PrivateNB.resume(state).step_ == 2


def test_a_step_that_fails_to_be_kept_releases_nothing(tmp_path, monkeypatch):
    state = tmp_path / "counts.state"
    made = PrivateNB(1.0, schema=SCHEMA, stream=3, state=str(state)).partial_fit(*batch())
    model = made.model_

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(streams, "write_bytes", full)
        with pytest.raises(OSError, match="No space"):
            made.partial_fit(*batch())
    assert made.model_ is model and PrivateNB.resume(state).step_ == 1


def test_lost_and_damaged_files(tmp_path):
    state = tmp_path / "counts.state"
    made = PrivateNB(1.0, schema=SCHEMA, stream=3, state=str(state)).partial_fit(*batch())
    whole = state.read_bytes()
    state.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ModelError, match="damaged"):
        PrivateNB.resume(state)
    state.unlink()
    with pytest.raises(BudgetError, match="second charge"):
        PrivateNB.resume(state)
    with pytest.raises(BudgetError, match="second charge"):
        made.partial_fit(*batch())


def test_other_settings_do_not_go_on_with_a_file(tmp_path):
    state = str(tmp_path / "counts.state")
    PrivateNB(1.0, schema=SCHEMA, stream=3, state=state).partial_fit(*batch())
    with pytest.raises(BudgetError, match="other settings"):
        PrivateNB(2.0, schema=SCHEMA, stream=3, state=state).partial_fit(*batch())


def test_two_processes_do_not_take_one_step(tmp_path):
    state = str(tmp_path / "counts.state")
    made = PrivateNB(1.0, schema=SCHEMA, stream=3, state=state).partial_fit(*batch())
    with streams.locked(state), pytest.raises(BudgetError, match="another process"):
        made.partial_fit(*batch())
    assert made.partial_fit(*batch()).step_ == 2


# ---- the command


def discreet(*words):
    return run(partial(app, [str(word) for word in words], standalone_mode=False))


def test_the_command_begins_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("schema.toml")
    for day in (1, 2):
        frame(300, day).to_csv(f"day{day}.csv", index=False)
    begin = ["fit", "day1.csv", "--schema", "schema.toml", "--epsilon", 1, "--out", "m.json"]
    assert discreet(*begin, "--stream", 30) == 2
    assert "--state FILE" in capsys.readouterr().err
    assert not discreet(*begin, "--stream", 30, "--state", "nb.state")
    assert "step 1 of 30" in capsys.readouterr().out
    assert discreet(*begin, "--stream", 30, "--state", "nb.state") == 2
    assert "has begun" in capsys.readouterr().err
    go_on = ["fit", "day2.csv", "--state", "nb.state", "--out", "m.json"]
    assert discreet(*go_on, "--step", 1) == 2
    assert "next step of this stream is 2" in capsys.readouterr().err
    assert discreet(*go_on, "--epsilon", 2) == 2
    assert "leave --epsilon out" in capsys.readouterr().err
    Account.create("day2.account", Budget(1))
    assert not discreet(*go_on, "--step", 2, "--json")
    out, said = capsys.readouterr()
    assert "this step is not charged to day2.account" in said and not Account("day2.account").spent
    told = json.loads(out)
    assert told["step"] == 2 and told["certificate"]["epsilon"] == "1"
    assert discreet("fit", "day2.csv", "--state", "gone.state", "--out", "m.json") == 2
    assert "second charge" in capsys.readouterr().err


def test_shapes_follow_the_budget():
    assert isinstance(PrivateNB(1.0, schema=SCHEMA, stream=90).plan().stream, Tree)
    assert isinstance(PrivateNB(1.0, 1e-6, SCHEMA, stream=365).plan().stream, Root)
    told = PrivateNB(1.0, 1e-6, SCHEMA, stream=365).plan()
    assert "365 steps" in str(told) and told.to_dict()["stream"]["steps"] == 365


def test_the_page_is_followed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("schema.toml")
    for day in ("monday", "tuesday"):
        frame(300, len(day)).to_csv(f"{day}.csv", index=False)
    space = pages.run(pages.blocks("streams.md"), "streams.md", schema=SCHEMA, days=[frame(), frame()], new=frame())
    assert space["model"].step_ == 2
    commands = re.findall(r"^\$ (.*)$", "".join(pages.blocks("streams.md", "console")), re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert not discreet(*shlex.split(command)[1:]), command
    assert PrivateNB.resume("ward.state").step_ == 2
