"""Reading noisy tables: noise falls silent, readings tend to the plain one as noise fades, and names do not matter."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

from discreet import BudgetError, Categorical, PrivateNB, Schema
from discreet.bayes.denoising import READINGS, NoisyTable, noisy_table, posterior
from discreet.bayes.denoising import shrunk as all_shrunk

ROWS = np.array([3000.0, 2000.0])


def table(values: Any, variance: float, ordered: int = 0, rows: Any = ROWS) -> Any:
    cells = len(values[0])
    return noisy_table(np.array(values, float), variance, cells * variance, rows, 1.0, ordered)


def shrunk(one: Any, plain: Any, rows: Any) -> Any:
    return all_shrunk([one], [plain], rows)[0]


def plain_of(values: Any) -> Any:
    padded = np.maximum(np.array(values, float), 0) + 1
    return np.log(padded / padded.sum(axis=1, keepdims=True))


def says(log_prob: Any) -> float:
    """The largest log-likelihood ratio of two classes."""
    return float(np.abs(log_prob[1] - log_prob[0]).max())


def test_a_table_of_noise_says_next_to_nothing_and_a_clear_one_what_it_says() -> None:
    rng = np.random.default_rng(1)
    deviation = 400.0
    truth = ROWS[:, None] * np.full((2, 8), 1 / 8)
    loud, quiet = [], []
    for _ in range(40):
        noisy = truth + rng.normal(0, deviation, truth.shape)
        loud.append(says(plain_of(noisy)))
        quiet.append(says(shrunk(table(noisy, deviation**2), plain_of(noisy), ROWS)))
    assert np.median(quiet) < 0.5 < 2 < np.median(loud)
    clear = ROWS[:, None] * np.array([[0.7, 0.2, 0.1], [0.2, 0.2, 0.6]])
    found = shrunk(table(clear, 25.0), plain_of(clear), ROWS)
    assert np.allclose(found[1] - found[0], np.log([2 / 7, 1, 6]), atol=0.1)


@pytest.mark.parametrize("ordered", [0, 5])
def test_readings_tend_to_the_plain_one_as_noise_fades(ordered: int) -> None:
    counts = ROWS[:, None] * np.array([[0.4, 0.3, 0.2, 0.05, 0.05], [0.1, 0.2, 0.3, 0.3, 0.1]])
    plain, gaps, others = plain_of(counts), [], []
    for variance in (100.0, 1.0, 0.01, 1e-4, 1e-6):
        one = noisy_table(counts, variance, 5 * variance, ROWS, 0.0, ordered)
        gaps.append(float(np.abs(shrunk(one, plain, ROWS) - plain).max()))
        others.append(float(np.abs(posterior(one, ROWS, 1.0) - plain).max()))
    assert gaps[-1] < 1e-6
    assert others[-1] < 1e-6
    assert gaps == sorted(gaps, reverse=True)
    assert others == sorted(others, reverse=True)


@pytest.mark.parametrize("reading", READINGS)
def test_without_noise_every_reading_is_the_same(reading: str) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.integers(0, 3, (300, 2)), rng.integers(0, 2, 300)
    schema = Schema([Categorical("a", [0, 1, 2]), Categorical("b", [0, 1, 2])], target="y", classes=[0, 1])
    found = PrivateNB(math.inf, schema=schema, reading=reading).fit(X, y).predict_joint_log_proba(X)
    assert np.array_equal(
        found, PrivateNB(math.inf, schema=schema, reading="plain").fit(X, y).predict_joint_log_proba(X)
    )


@pytest.mark.parametrize("classes", [2, 4])
def test_the_order_of_categories_and_classes_does_not_matter(classes: int) -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(200, 2000, classes).astype(float)
    values = rows[:, None] * rng.dirichlet(np.ones(6), classes) + rng.normal(0, 60, (classes, 6))
    plain = plain_of(values)
    found = shrunk(table(values, 3600.0, rows=rows), plain, rows)
    cells, groups = rng.permutation(6), rng.permutation(classes)
    moved = shrunk(
        table(values[groups][:, cells], 3600.0, rows=rows[groups]), plain[groups][:, cells], rows[groups]
    )  # fmt: skip
    assert np.allclose(moved, found[groups][:, cells], atol=0.02 if classes == 2 else 1e-9)
    bayes = posterior(table(values, 3600.0, rows=rows), rows, 1.0)
    assert np.allclose(
        posterior(table(values[groups][:, cells], 3600.0, rows=rows[groups]), rows[groups], 1.0),
        bayes[groups][:, cells],
    )


def test_every_reading_is_a_law_and_the_classes_average_to_the_marginal() -> None:
    rng = np.random.default_rng(4)
    rows = np.array([900.0, 50.0, 10.0])
    values = rng.normal(0, 300, (3, 7))
    one = table(values, 90_000.0, ordered=6, rows=rows)
    for found in (shrunk(one, plain_of(values), rows), posterior(one, rows, 1.0)):
        assert np.isfinite(found).all()
        assert np.allclose(np.exp(found).sum(axis=1), 1)


@pytest.mark.parametrize("classes", [2, 3])
def test_tables_read_together_are_read_as_each_alone(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Near to what four bytes hold, however many are read at once, and whatever stands beside a table."""
    from discreet.bayes.denoising import shrink

    rng = np.random.default_rng(8)
    rows = rng.integers(500, 3000, classes).astype(float)
    tables, plains = [], []
    for cells, ordered, noise in ((4, 0, 5.0), (16, 15, 80.0), (40, 0, 200.0), (1, 0, 9.0), (16, 16, 1e-3)):
        values = rows[:, None] * rng.dirichlet(np.ones(cells), classes) + rng.normal(0, noise, (classes, cells))
        tables.append(table(values, noise**2, ordered, rows))
        plains.append(plain_of(values))
    alone = [shrunk(one, plain, rows) for one, plain in zip(tables, plains, strict=True)]
    for room in (1, 60, 1 << 17):
        monkeypatch.setattr(shrink, "ROOM", room)
        for one, other in zip(all_shrunk(tables, plains, rows), alone, strict=True):
            assert np.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("given", ["loud", "", None, 3])
def test_unknown_readings_are_refused(given: Any) -> None:
    schema = Schema([Categorical("a", [0, 1])], target="y", classes=[0, 1])
    with pytest.raises(BudgetError, match="reading must be one of"):
        PrivateNB(1.0, schema=schema, reading=given).fit([[0], [1]], [0, 1])


def test_the_posterior_of_many_cells_needs_little_memory() -> None:
    """Cells are read in parts: neither the memory nor what is read depends on how many there are at once."""
    rng = np.random.default_rng(0)
    table = NoisyTable(rng.normal(3, 5, (4, 8_000)), np.full(4, 25.0))
    rows = np.full(4, 24_000.0)
    tracemalloc.start()
    try:
        read = posterior(table, rows, 1.0)
        assert tracemalloc.get_traced_memory()[1] < 2e8
    finally:
        tracemalloc.stop()
    assert read.shape == (4, 8_000) and np.allclose(np.exp(read).sum(axis=1), 1)
    same = NoisyTable(np.full((4, 8_000), 3.0), table.variance)
    assert np.ptp(posterior(same, rows, 1.0)) < 1e-12
