"""Updates: what leaves a node, as bytes and arrays, and what malformed input meets."""

import json
import math
import pickle

import numpy as np
import pytest

from discreet import Budget, BudgetError, Ledger, UpdateError
from discreet.federated import Update, node_update
from discreet.nodes.site import noised_rows
from discreet.nodes.update import MAGIC
from tests.federated.common import SCHEMA, SETTINGS, rows, update

BUDGETS = (Budget(0.5), Budget(1, 1e-6), Budget(rho=0.1), Budget(math.inf))


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_bytes_and_arrays_bring_the_same_update_back(settings, budget):
    sent = update(budget=budget, **settings)
    raw = sent.to_bytes()
    assert Update.from_bytes(raw) == sent
    assert Update.from_bytes(raw).to_bytes() == raw
    arrays, text = sent.to_arrays()
    assert all(array.dtype == np.int64 for array in arrays.values())
    assert Update.from_arrays(arrays, text).to_bytes() == raw
    assert Update.from_arrays(dict(reversed(arrays.items())), text).to_bytes() == raw
    assert sent.certificate.schema_hash == SCHEMA.hash
    assert sent.certificate.private == budget.private


def test_a_seed_makes_a_simulation_and_the_same_bytes():
    first, second = update(noise=3), update(noise=3)
    assert first.to_bytes() == second.to_bytes()
    assert first.certificate.simulation
    assert update(noise=4).to_bytes() != first.to_bytes()
    assert not update().certificate.simulation
    assert update().to_bytes() != update().to_bytes()


def test_nothing_but_the_noised_integers_follows_the_rows():
    """All the rest of two updates from different rows is the same text, the declared rows being their function."""
    texts = []
    for seed, size in ((0, 200), (1, 7), (2, 0)):
        sent = update(seed=seed, size=size)
        fields = json.loads(sent.to_arrays()[1])
        assert fields.pop("rows") == noised_rows(sent.release(SCHEMA))
        texts.append(json.dumps(fields))
    assert len(set(texts)) == 1


def test_each_call_has_a_name_of_its_own():
    X, y = rows(50, 0)
    names = {node_update(X, SCHEMA, Budget(1), node="a", y=y).round_id for _ in range(5)}
    assert len(names) == 5


def test_no_rows_is_an_answer_like_any_other():
    assert update(size=0).values["table", "c"].shape == (2, 4)
    assert update(size=0, epsilon=math.inf).rows == 0


def test_the_ledger_is_charged_before_rows_are_read():
    ledger = Ledger(Budget(1))
    X, y = rows(50, 0)
    node_update(X, SCHEMA, Budget(0.75), node="a", y=y, ledger=ledger)
    with pytest.raises(BudgetError, match="left"):
        node_update("no/such/file.csv", SCHEMA, Budget(0.5), node="a", ledger=ledger)


def test_a_file_is_a_source_too(tmp_path):
    X, y = rows(60, 1)
    lines = ["c,x,z,y"] + [
        f"{'' if c is None else c},{'' if x != x else x},{z},{label}" for (c, x, z), label in zip(X, y, strict=True)
    ]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(lines) + "\n")
    from_file = node_update(file, SCHEMA, Budget(math.inf), node="a", round_id="r")
    from_memory = node_update(X, SCHEMA, Budget(math.inf), node="a", y=y, round_id="r")
    assert from_file == from_memory


def test_an_update_cannot_be_changed():
    sent = update(noise=1)
    with pytest.raises(AttributeError):
        sent.node = "b"
    with pytest.raises(ValueError, match="read-only"):
        sent.values["table", "c"][0, 0] = 5


def test_bytes_cut_short_or_flipped_are_refused_or_another_update():
    raw = update(noise=1).to_bytes()
    for end in range(0, len(raw), 7):
        with pytest.raises(UpdateError):
            Update.from_bytes(raw[:end])
    with pytest.raises(UpdateError, match="after"):
        Update.from_bytes(raw + b"\0")
    rng = np.random.default_rng(0)
    for _ in range(1500):
        bad = bytearray(raw)
        for spot in rng.integers(0, len(raw), rng.integers(1, 4)):
            bad[spot] ^= 1 << int(rng.integers(0, 8))
        try:
            read = Update.from_bytes(bytes(bad))
        except UpdateError as error:
            assert error.reason == "malformed"
            assert str(error).count("\n") == 0
        else:
            assert read.to_bytes() == bytes(bad)


def forged(**changes):
    arrays, text = update(noise=1).to_arrays()
    return arrays, json.dumps({**json.loads(text), **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2},
        {"epsilon": "1e999999999"},
        {"epsilon": "1/0"},
        {"epsilon": "2/4"},
        {"epsilon": "-1"},
        {"epsilon": 1},
        {"epsilon": "1" * 500},
        {"epsilon": "0"},
        {"rho": "1"},
        {"delta": "2"},
        {"rows": -1},
        {"rows": 1.5},
        {"rows": True},
        {"rows": 2**70},
        {"node": ""},
        {"node": "x" * 300},
        {"node": "a\nb"},
        {"node": 7},
        {"round": None},
        {"schema_hash": None},
        {"split": "unequal"},
        {"split": {"c": "x"}},
        {"split": [1]},
        {"numeric": "spline"},
        {"adjacency": "next door"},
        {"adjacency": []},
        {"mechanism": "cauchy"},
        {"mechanism": []},
        {"contributions": 0},
        {"certificate": None},
        {"certificate": {"format": "other"}},
        {"surprise": 1},
    ],
    ids=str,
)
def test_forged_metadata_are_malformed(changes):
    with pytest.raises(UpdateError) as caught:
        Update.from_arrays(*forged(**changes))
    assert caught.value.reason == "malformed"


def test_odd_arrays_are_malformed():
    arrays, text = update(noise=1).to_arrays()
    for bad in (
        {**arrays, "table:c": arrays["table:c"].astype(float)},
        {**arrays, "table:c": arrays["table:c"].ravel()},
        {**arrays, "table:c": np.empty((2, 0), np.int64)},
        {**arrays, "whisper:c": arrays["table:c"]},
        {**arrays, "table:\ud800": arrays["table:c"]},
        {**arrays, 7: arrays["table:c"]},
        [1, 2],
    ):
        with pytest.raises(UpdateError) as caught:
            Update.from_arrays(bad, text)
        assert caught.value.reason == "malformed"
    with pytest.raises(UpdateError):
        Update.from_arrays(arrays, "[" * 100_000)
    with pytest.raises(UpdateError):
        Update.from_arrays(arrays, '{"version": NaN}')


def test_sizes_are_bounded_before_memory_is_taken():
    huge = MAGIC + b"\x01" + (2**32 - 1).to_bytes(4, "little") + b"\0\0\0\0"
    with pytest.raises(UpdateError, match="too large"):
        Update.from_bytes(huge)
    with pytest.raises(UpdateError, match="bytes"):
        Update.from_bytes("text")


def test_a_certificate_nested_without_end_is_malformed():
    arrays, text = update(noise=1).to_arrays()
    fields = json.loads(text)
    ledger = fields["certificate"]["ledger"]
    for _ in range(3000):
        ledger = {"node": "sequential", "what": "deep", "assumption": None, "parts": [ledger]}
    import sys

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        deep = json.dumps({**fields, "certificate": {**fields["certificate"], "ledger": ledger}})
    finally:
        sys.setrecursionlimit(limit)
    with pytest.raises(UpdateError):
        Update.from_arrays(arrays, deep)


def test_the_error_keeps_its_reason_on_its_way_between_processes():
    error = pickle.loads(pickle.dumps(UpdateError("malformed", "a sentence")))
    assert (error.reason, str(error)) == ("malformed", "a sentence")


def test_the_budget_is_a_budget():
    X, y = rows(10, 0)
    with pytest.raises(BudgetError, match="Budget"):
        node_update(X, SCHEMA, 1.0, node="a", y=y)
