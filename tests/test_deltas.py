"""The table of docs/guarantees.md: what each release does with a δ, from the certificates of fits."""

import functools
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet import Categorical, Numeric, Schema

PAGE = Path(discreet.__file__).parents[2] / "docs" / "guarantees.md"
DELTA = Fraction(1, 10**6)
WIDE, DEEP, SHAPED, FEW = (
    Schema([Categorical(f"f{j}", [0, 1]) for j in range(d)], "y", [0, 1]) for d in (200, 40, 36, 2)
)
PEOPLE = [("add-remove", 1), ("add-remove", 2), ("replace", 1), ("replace", 2)]
OPEN = Schema([Numeric(f"x{j}", -1000, 1000, bounds="private", bins=4) for j in range(20)], "y", [0, 1])
INNER = {"PrivateClassifier", "PrivateHoldout"}  # which do here what Naive Bayes does


@functools.cache
def rows(schema: Schema, size: int = 3000) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (size, len(schema.features)))
    return X, (X[:, 0] ^ (rng.random(size) < 0.2)).astype(int)


def fitted(made: Any, schema: Schema) -> Any:
    return made.fit(*rows(schema)).certificate_


def kind(name: str, schema: Schema = WIDE, delta: Any = DELTA, epsilon: Any = 1, **settings: Any) -> Callable[..., Any]:
    """A fit of that estimator for whoever is to be protected."""

    def fit(people: dict[str, Any]) -> Any:
        return fitted(
            getattr(discreet, name)(epsilon=epsilon, delta=delta, schema=schema, **settings, **people), schema
        )

    return fit


def one_row(fit: Callable[..., Any]) -> Callable[..., Any]:
    """For what asks for one row per person unless the schema names an id column."""
    return lambda people: fit({"adjacency": people["adjacency"]})


def held_out(people: dict[str, Any]) -> Any:
    inner = discreet.PrivateNB(1, DELTA, WIDE, adjacency=people["adjacency"])
    return fitted(discreet.PrivateHoldout(inner), WIDE)


def bounds(people: dict[str, Any]) -> Any:
    data = np.tile(np.arange(200.0)[:, None], 20)
    return discreet.private_bounds(OPEN, data, 1.0, delta=DELTA, **people).certificate


def shapes(people: dict[str, Any]) -> Any:
    """As many rows as let cells speak, and too few for weights of cells: more where more of them are protected."""
    size = 3000 if people == {"adjacency": "add-remove", "contributions": 1} else 6000
    made = discreet.PrivateClassifier(1, SHAPED, "additive", delta=DELTA, **people)
    return made.fit(*rows(SHAPED, size)).certificate_


def stream(people: dict[str, Any]) -> Any:
    return discreet.PrivateNB(1, DELTA, DEEP, stream=100, **people).partial_fit(*rows(DEEP)).certificate_


FITS: dict[str, Callable[..., Any]] = {
    "PrivateNB": kind("PrivateNB"),
    "PrivateNB(stream=T)": stream,
    "FederatedNB": kind("FederatedNB", DEEP, n_nodes=4),
    "GossipNB": kind("GossipNB", DEEP, n_nodes=4, rounds=10),
    "PrivateTAN": kind("PrivateTAN"),
    "PrivateJointHistogram": kind("PrivateJointHistogram", FEW, Fraction(1, 100), Fraction(1, 50)),
    "PrivateAdditiveClassifier": kind("PrivateAdditiveClassifier"),
    "PrivateTreeClassifier": kind("PrivateTreeClassifier", DEEP, depth=8),
    'PrivateClassifier(model="additive")': shapes,
    "PrivateClassifier": kind("PrivateClassifier", model="naive-bayes"),
    "PrivateSelectKBest": kind("PrivateSelectKBest", DEEP, k=20, selector="gumbel"),
    "PrivateGridSearch": one_row(kind("PrivateGridSearch", estimator=["nb"])),
    'PrivateGridSearch(method="random-stopping")': one_row(
        kind("PrivateGridSearch", estimator=["nb"], method="random-stopping")
    ),
    "private_bounds": bounds,
    "PrivateHoldout": held_out,
    "PrivatePredictor": kind("PrivatePredictor", DEEP, queries=20),
    "SelectiveNB": kind("SelectiveNB", WIDE, k=150),
    "PrivateSVC": kind("PrivateSVC", FEW),
    "PrivateLogisticRegression": kind("PrivateLogisticRegression", FEW),
    "PrivateForestClassifier": kind("PrivateForestClassifier", DEEP),
}


def table() -> dict[str, tuple[list[str], str]]:
    """The rows of the page: mechanisms and accounting by release."""
    part = PAGE.read_text().split("## What a delta buys")[1].split("\n## ")[0]
    lines = [line.strip("|").split(" | ") for line in part.splitlines() if line.startswith("| `")]
    return {
        name.strip().strip("`"): (re.findall(r"`([^`]+)`", how), added)
        for name, how, added, *_ in lines
    }  # fmt: skip


def spending(certificate: Any) -> set[str]:
    """The mechanisms of a ledger that cost a ρ or a δ."""
    return {
        one.mechanism
        for one in certificate.charges()
        if one.measure == "rho" or Fraction(str(getattr(one, "delta", None) or 0))
    }


def test_the_table_has_every_release_that_takes_a_delta():
    taking = {
        name for name in discreet.__all__ if "delta" in getattr(getattr(discreet, name).__init__, "__annotations__", {})
        and hasattr(getattr(discreet, name), "fit")
    }  # fmt: skip
    assert table().keys() == FITS.keys()
    assert taking <= {name.partition("(")[0] for name in FITS}


@pytest.mark.parametrize("name", FITS)
def test_a_release_spends_its_delta_as_the_table_says(name):
    """Under both adjacencies, with one row per person and two; what spends none says that δ stays whole."""
    said, added = table()["PrivateNB" if name in INNER else name]
    found: dict[str, set[str]] = {}
    for adjacency, contributions in PEOPLE:
        made = FITS[name]({"adjacency": adjacency, "contributions": contributions})
        spent = spending(made)
        found.setdefault(adjacency, set()).update(spent)
        assert made.epsilon in {"1", "1/50"} and Fraction(made.delta) in {0, DELTA, Fraction(1, 100)}
        assert not spent or Fraction(made.delta)
        if not said:
            assert not spent and made.delta == "0" and "nothing is spent of the delta" in made.accounting
        if "worst losses" in added and spent:
            assert "worst privacy losses" in made.accounting
        if "profile of one normal variable" in added and spent:
            assert "the profile of one normal variable" in made.accounting
        if "ρ of zCDP and the tight conversion" in added and spent and made.contributions == 2:
            assert "rho of zCDP" in made.accounting
        if "exact privacy loss distributions" in added and spent and made.contributions == 1:
            assert "privacy loss distributions" in made.accounting
    for adjacency, spent in found.items():
        assert spent <= set(said) and bool(spent) == bool(said), adjacency
    assert set().union(*found.values()) == set(said)
