"""Reading bins as a chain: exact where it can be checked, ahead of single cells on smooth shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import toeplitz

from discreet import Budget, Categorical, Numeric, PrivateNB, Schema, collect
from discreet.bayes.denoising import noisy_table, shrink, shrunk
from discreet.bayes.denoising.chain import cavities, chains
from discreet.bayes.estimate import Released
from discreet.bayes.plan import make_plan
from discreet.bayes.release import release
from discreet.mechanisms.noise import SimulationSampler

ROWS = np.array([3000.0, 2000.0])
SPOTS = (np.arange(16) + 0.5) / 16


def plain_of(values: Any) -> Any:
    padded = np.maximum(np.array(values, float), 0) + 1
    return np.log(padded / padded.sum(axis=1, keepdims=True))


def read(values: Any, deviation: float, ordered: int, rows: Any = ROWS) -> Any:
    """How the log-odds of each cell are read, for the last class against the first."""
    cells = values.shape[1]
    one = noisy_table(values, deviation**2, cells * deviation**2, rows, 1.0, ordered)
    found = shrunk([one], [plain_of(values)], rows)[0]
    return found


def bump(at: float) -> Any:
    shape = np.exp(-((SPOTS - at) ** 2) / 0.1)
    return shape / shape.sum()


def drawn(laws: Any, deviation: float, seed: int, rows: Any = ROWS) -> Any:
    rng = np.random.default_rng(seed)
    counts = np.stack([rng.multinomial(int(n), law) for n, law in zip(rows, laws, strict=True)])
    return counts + rng.normal(0, deviation, counts.shape)


def test_chains_are_read_as_by_full_matrices() -> None:
    """Chains of any lengths end to end, cells that say nothing among them, against C = spread·memory^|i−j| + own."""
    rng = np.random.default_rng(0)
    lengths = np.array([1, 5, 1, 3, 2, 1, 40])
    told, known = rng.normal(0, 2, lengths.sum()), rng.gamma(1, 2, lengths.sum())
    told[3] = known[3] = 0.0
    spread, memory, own = rng.random(7) + 0.1, rng.random(7), rng.random(7) * (np.arange(7) != 1)
    evidence, means = chains(told, known, lengths, spread, memory, own)
    stop = 0
    for i, length in enumerate(lengths):
        part = slice(stop, stop := stop + length)
        prior = spread[i] * toeplitz(memory[i] ** np.arange(length)) + own[i] * np.eye(length)
        after = np.linalg.inv(np.linalg.inv(prior) + np.diag(known[part]))
        whole = np.linalg.slogdet(np.eye(length) + prior @ np.diag(known[part]))[1]
        assert np.allclose(means[part], after @ told[part], atol=1e-10)
        assert evidence[i] == pytest.approx(0.5 * (told[part] @ after @ told[part] - whole), abs=1e-9)


def test_what_others_say_of_a_cell_is_what_is_read_without_it() -> None:
    rng = np.random.default_rng(8)
    lengths = np.array([4, 1, 7])
    told, known = rng.normal(0, 2, 12), rng.gamma(1, 2, 12)
    facts = rng.random(3) + 0.1, rng.random(3), rng.random(3)
    evidence, centre, doubt = cavities(told, known, lengths, *facts)
    assert np.allclose(evidence, chains(told, known, lengths, *facts)[0])
    for cell in range(12):
        other = np.arange(12) != cell
        assert centre[cell] == pytest.approx(chains(told * other, known * other, lengths, *facts)[1][cell], abs=1e-9)
        more = chains(told * other + ~other, known * other, lengths, *facts)[1][cell]
        assert doubt[cell] == pytest.approx(more - centre[cell], abs=1e-9)  # by which a linear tilt moves the mean


def test_widths_are_weighted_as_normal_likelihoods_say() -> None:
    """Where cells are known up to normal errors, evidence and mean are those of all chains by full matrices."""
    from scipy.stats import multivariate_normal, norm

    rng = np.random.default_rng(6)
    lengths, prior = np.array([5, 3]), shrink.WIDTHS**2
    seen, error = rng.normal(0.5, 0.6, (2, 8, 1)), rng.gamma(2, 0.1, (2, 8, 1))
    alone = norm.logpdf(seen, 0, np.sqrt(prior + error))
    grid = np.array([], np.intp), np.zeros((0, len(shrink.ODDS)))  # no cell needs it
    evidence, means = shrink._chained(
        alone, seen * prior / (prior + error), 1 / (1 / prior + 1 / error), *grid, lengths
    )
    for part, length in ((slice(0, 5), 5), (slice(5, 8), 3)):
        far = np.abs(np.subtract.outer(np.arange(length), np.arange(length))) / length
        for k, width in enumerate(prior):
            tries = [(width * ((1 - own) * np.exp(-far / reach) + own * np.eye(length)))
                     for reach in (shrink.NEAR, shrink.FAR) for own in (0.0, shrink.OWN)]  # fmt: skip
            for group in range(2):
                y, noise = seen[group, part, 0], np.diag(error[group, part, 0])
                likely = np.array([multivariate_normal.pdf(y, cov=one + noise) for one in tries])
                assert evidence[group, part, k].sum() == pytest.approx(np.log(likely.mean()), abs=1e-8)
                by_full = likely / likely.sum() @ [one @ np.linalg.solve(one + noise, y) for one in tries]
                assert np.allclose(means[group, part, k], by_full, atol=1e-8)


@pytest.mark.parametrize("deviation", [20.0, 60.0, 150.0])
def test_a_smooth_shape_is_read_better_along_its_bins_than_cell_by_cell(deviation: float) -> None:
    """Paired over 60 draws of fixed seeds, so that nothing fails by chance: ahead by three errors of the mean."""
    laws = np.stack([bump(0.4), bump(0.6)])
    truth = np.log(laws[1] / laws[0])
    gains = []
    for seed in range(60):
        values = drawn(laws, deviation, seed)
        errors = [laws.mean(axis=0) @ (found[1] - found[0] - truth) ** 2
                  for found in (read(values, deviation, 0), read(values, deviation, 16))]  # fmt: skip
        gains.append(errors[0] - errors[1])
    assert np.mean(gains) > 3.1 * np.std(gains, ddof=1) / np.sqrt(len(gains))


def test_a_likelihood_beside_the_others_has_the_posterior_mean_and_the_evidence() -> None:
    """Of any shape on the grid; a normal one is found as it is, and one that only widens has a slope alone."""
    rng = np.random.default_rng(2)
    centre, doubt = rng.normal(0, 0.5, 6), rng.uniform(0.3, 1.5, 6)
    told, known = rng.normal(0, 2, 6), rng.uniform(1, 4, 6)
    likely = np.exp(told[:, None] * shrink.ODDS - known[:, None] * shrink.ODDS**2 / 2)
    likely[3:] = 1 / (1 + np.exp(4 * (shrink.ODDS - rng.normal(0, 1, (3, 1))))) + 0.2 * (shrink.ODDS > 3)
    zeros = [np.zeros(7) for _ in range(3)]
    found = shrink._sited(zeros, centre, doubt, np.array([0, 1, 2, 4, 5, 6]), likely)
    assert not any(one.any() for one in zeros) and not any(one[3] for one in found)
    said, sure, rest = (np.delete(one, 3) for one in found)
    prior = np.exp(-((shrink.ODDS - centre[:, None]) ** 2) / (2 * doubt[:, None])) * np.gradient(shrink.ODDS)
    joint = prior / prior.sum(axis=1, keepdims=True) * likely
    assert np.allclose((said + centre / doubt) / (sure + 1 / doubt), joint @ shrink.ODDS / joint.sum(axis=1))
    assert np.allclose(said[:3], told[:3], rtol=0.02, atol=0.02) and np.allclose(sure[:3], known[:3], rtol=0.02)
    assert (sure >= 0).all()
    normal = np.exp(said[:, None] * shrink.ODDS - sure[:, None] * shrink.ODDS**2 / 2)
    alike = (prior / prior.sum(axis=1, keepdims=True) * normal).sum(axis=1)
    assert np.allclose(np.exp(rest) * alike, joint.sum(axis=1), rtol=0.02)


@pytest.mark.parametrize("rows", [(30, 3000), (100, 100, 5000), (500, 500, 5000)])
@pytest.mark.parametrize("told", [0.0, 1.0])
def test_few_rows_of_a_class_are_not_read_much_worse_along_bins(rows: tuple[int, ...], told: float) -> None:
    """Noise of 10 to 100 hides how rare a class is in a bin; many bins that say so must not outdo each other."""
    sizes, errors = np.array(rows, float), []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        slopes = np.outer(np.arange(len(rows)) - 1.0, told * np.sin(np.arange(64) / 64 * 3))
        laws = rng.dirichlet(np.full(64, 0.3)) * np.exp(slopes)
        laws /= laws.sum(axis=1, keepdims=True)
        truth, share = np.log(laws[:-1]) - np.log(laws[-1]), sizes / sizes.sum() @ laws
        for deviation in (10.0, 30.0, 100.0):
            values = drawn(laws, deviation, seed, sizes)
            both = (read(values, deviation, ordered, sizes) for ordered in (0, 64))
            errors.append([((found[:-1] - found[-1] - truth) ** 2 @ share).mean() ** 0.5 for found in both])
    apart, along = np.mean(errors, axis=0)
    assert along < (1.35 if told else 1.95) * apart  # 1.4 to 3.8 by likelihoods beside a prior of the bin's own


def test_neighbours_that_have_nothing_in_common_cost_little() -> None:
    """Shares that jump at random from bin to bin: a chain may be read worse than single cells by three tenths."""
    rng = np.random.default_rng(1)
    errors = np.zeros(2)
    for seed in range(40):
        laws = rng.dirichlet(np.full(16, 4.0), 2)
        truth, values = np.log(laws[1] / laws[0]), drawn(laws, 30.0, seed)
        for k, ordered in enumerate((0, 16)):
            found = read(values, 30.0, ordered)
            errors[k] += laws.mean(axis=0) @ (found[1] - found[0] - truth) ** 2
    assert errors[1] < 1.3 * errors[0]


def test_noise_says_less_along_bins_than_cell_by_cell() -> None:
    said = []
    for seed in range(40):
        values = drawn(np.full((2, 16), 1 / 16), 400.0, seed)
        said.append([float(np.abs(np.subtract(*read(values, 400.0, ordered))).max()) for ordered in (0, 16)])
    apart, along = np.median(said, axis=0)
    assert along < 0.8 * apart


def test_two_bins_and_categories_are_read_cell_by_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    chained = {}
    for cells, ordered in ((2, 2), (3, 2), (6, 0), (1, 1), (6, 6)):
        values = ROWS[:, None] * rng.dirichlet(np.ones(cells), 2) + rng.normal(0, 60, (2, cells))
        chained[cells, ordered] = values, read(values, 60.0, ordered)
    monkeypatch.setattr(shrink, "FEWEST", 10**9)
    same = {key: np.array_equal(found, read(values, 60.0, key[1])) for key, (values, found) in chained.items()}
    assert same == {(2, 2): True, (3, 2): True, (6, 0): True, (1, 1): True, (6, 6): False}


def test_the_missing_cell_is_outside_of_the_chain() -> None:
    """Its place among the cells does not matter to the bins, and what is told of it is by its own prior alone."""
    schema = Schema([Numeric("x", 0, 1, missing="bin"), Numeric("z", 0, 1)], target="y", classes=[0, 1])
    plan = make_plan(schema, Budget(1))
    rows = [[None if i % 3 else i / 300, i / 300] for i in range(300)]
    evidence = Released(release(collect(rows, schema, [0, 1] * 150), plan, SimulationSampler(1)), ROWS, 1.0, 1.0)
    x, z = (evidence._noisy(feature) for feature in schema.features)
    assert (x.ordered, x.cells) == (16, 17) and (z.ordered, z.cells) == (16, 16)


@pytest.mark.parametrize("classes", [2, 4])
def test_mirrored_bins_and_other_orders_of_classes_are_read_alike(classes: int) -> None:
    rng = np.random.default_rng(3)
    rows = rng.integers(500, 3000, classes).astype(float)
    values = rows[:, None] * rng.dirichlet(np.ones(12), classes) + rng.normal(0, 40, (classes, 12))
    found = read(values, 40.0, 12, rows)
    assert np.allclose(read(values[:, ::-1], 40.0, 12, rows)[:, ::-1], found, atol=1e-6)
    order = rng.permutation(classes)
    again = read(values[order], 40.0, 12, rows[order])
    assert np.allclose(again, found[order], atol=0.02 if classes == 2 else 1e-6)
    assert np.array_equal(read(values, 40.0, 12, rows), found)


@pytest.mark.parametrize("deviation", [1e-3, 1.0, 1e3, 1e9])
@pytest.mark.parametrize("bins", [1, 2, 3, 3000])
def test_extremes_are_laws(bins: int, deviation: float) -> None:
    """Hardly any noise and nothing but noise, no rows and very many, one bin and thousands."""
    rng = np.random.default_rng(4)
    for rows in (np.array([0.5, 0.5]), np.array([1e9, 3.0]), np.array([40.0, 0.5, 7e6])):
        law = rng.dirichlet(np.full(bins, 0.1), len(rows))
        found = read(rows[:, None] * law + rng.normal(0, deviation, law.shape), deviation, bins, rows)
        assert np.isfinite(found).all()
        assert np.allclose(np.exp(found).sum(axis=1), 1)


NOISES: list[dict[str, Any]] = [
    {},
    {"mechanism": "laplace"},
    {"delta": 1e-6},
    {"mechanism": "gaussian", "delta": 1e-6},
    {"adjacency": "replace"},
    {"strategy": "partition"},
    {"epsilon": 1e6},
    {"epsilon": 1e-6},
]


@pytest.mark.parametrize("settings", NOISES)
def test_every_noise_of_counts_can_be_read_along_bins(settings: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 900)
    schema = Schema([Numeric("x", 0, 1, missing="bin"), Categorical("c", [0, 1])], target="y", classes=[0, 1, 2])
    X = [[None if rng.random() < 0.1 else float(rng.beta(1 + k, 2)), int(rng.integers(2))] for k in y.tolist()]
    given = {"epsilon": 1.0, "schema": schema, "random_state": 1, **settings}
    tables = [PrivateNB(**given).fit(X, y).model_.likelihoods for _ in range(2)]
    assert all(np.array_equal(one.log_prob, other.log_prob) for one, other in zip(*tables, strict=True))
    assert all(np.isfinite(one.log_prob).all() for one in tables[0])
