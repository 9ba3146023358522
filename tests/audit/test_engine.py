"""The audit as a whole: power, honesty, reproducibility and resumption."""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom

from discreet.audit import AuditError, Pair, audit, clopper_pearson_lower, clopper_pearson_upper, figure
from discreet.audit.controls import discrete_laplace
from discreet.audit.sampling import Source
from tests.clock import work_seconds

ONE = Pair(0, 1, "zero or one")


class Noisy:
    """Adds discrete Laplace noise and remembers what it drew."""

    def __init__(self, scale, dims=1):
        self.scale, self.dims, self.log = scale, dims, []

    def sample(self, data, size, *, rng):
        rows = discrete_laplace(self.scale, (size, self.dims), rng=rng)
        rows[:, 0] += data
        self.log.append((data, rows))
        return rows


class LeakyBit:
    """Randomised response that tells all with probability delta: exactly (epsilon, delta)-DP."""

    def __init__(self, epsilon, delta):
        self.keep, self.delta = 1 / (1 + math.exp(-epsilon)), delta

    def sample(self, data, size, *, rng):
        answer = np.where(rng.random(size) < self.keep, data, 1 - data)
        return np.where(rng.random(size) < self.delta, 2 + data, answer)


def test_bar_discrete_laplace_at_one_million():
    # Over 60 seeds the bound is 0.993 with standard deviation 0.003: both limits are 30 of them away.
    began = work_seconds()
    result = audit(Noisy(1.0), ONE, 1.0, samples=10**6, seed=1)
    assert 0.9 <= result.lower_bound < 1.1
    assert result.samples == 10**6
    assert work_seconds() - began < 20


SOUND = {
    "discrete Laplace": (lambda: Noisy(1.0), 1.0, 0.0),
    "two coordinates": (lambda: Noisy(2.0, dims=2), 0.5, 0.0),
    "leaky bit": (lambda: LeakyBit(1.0, 0.1), 1.0, 0.1),
}


@pytest.mark.parametrize(
    ("name", "repeats"),
    [
        ("discrete Laplace", 60),
        ("two coordinates", 60),
        ("leaky bit", 60),
        pytest.param("discrete Laplace", 1000, marks=pytest.mark.slow),
        pytest.param("leaky bit", 300, marks=pytest.mark.slow),
    ],
)
def test_sound_mechanisms_are_flagged_no_more_often_than_stated(name, repeats):
    make, epsilon, delta = SOUND[name]
    mechanism = make()
    flagged = sum(audit(mechanism, ONE, epsilon, delta, samples=800, seed=seed).violated for seed in range(repeats))
    # If the rate is the stated 5 % or less, more flags than this have chance < 1e-6.
    assert flagged <= binom.isf(1e-6, repeats, 0.05)


def test_the_same_small_audits_do_flag_a_liar():
    # The claim is 1 and the truth 2.5; 1,000 of 1,000 other seeds are flagged, and at a rate of 0.98 still no
    # more than 42 of 60 has chance < 1e-16.
    flagged = sum(audit(Noisy(0.4), ONE, 1.0, samples=800, seed=seed).violated for seed in range(60))
    assert flagged > 42


def test_bound_rests_on_fresh_runs_only():
    mechanism = Noisy(1.0)
    result = audit(mechanism, ONE, 1.0, samples=8000, seed=4, processes=1)
    left = np.concatenate([rows for data, rows in mechanism.log if data == 0])
    right = np.concatenate([rows for data, rows in mechanism.log if data == 1])
    assert len(left) == len(right) == 4000 == result.samples // 2
    assert not np.array_equal(left[:2000], left[2000:])
    hits, trials, others, other_trials = result.hits
    assert trials == other_trials == 2000
    # The event is a threshold here: recount it on the second half of each side.
    word, number = result.event.split()[-2:]
    likely, unlikely = (right, left) if "right against left" in result.pair else (left, right)
    recount = [
        int(
            {"<=": np.less_equal, ">=": np.greater_equal, "<": np.less, ">": np.greater}[word](
                s[2000:, 0], float(number)
            ).sum()
        )
        for s in (likely, unlikely)
    ]
    assert recount == [hits, others]
    # One pair, two directions, two bounds each: a quarter of the level for every one.
    low, high = clopper_pearson_lower(hits, 2000, 0.05 / 4), clopper_pearson_upper(others, 2000, 0.05 / 4)
    assert result.lower_bound == pytest.approx(math.log(low / high), abs=1e-12)


def test_more_pairs_pay_for_themselves():
    same = [audit(Noisy(1.0), [ONE] * k, 1.0, samples=8000, seed=4) for k in (1, 50)]
    hits = same[1].hits
    low, high = clopper_pearson_lower(*hits[:2], 0.05 / 200), clopper_pearson_upper(*hits[2:], 0.05 / 200)
    assert same[1].lower_bound == pytest.approx(math.log(low / high), abs=1e-12)


def test_delta_makes_the_difference():
    # Truth is told outright with probability 0.1: epsilon is unbounded at delta = 0 and 1 at delta = 0.1.
    mechanism = LeakyBit(1.0, 0.1)
    assert audit(mechanism, ONE, 1.0, 0.0, seed=2).lower_bound > 4
    result = audit(mechanism, ONE, 1.0, 0.1, seed=2, confidence=1 - 1e-7)
    # The hockey-stick divergence at epsilon = 1 is exactly 0.1; the bound lands just under the claim.
    assert 0.6 < result.lower_bound <= 1.0


def test_both_directions_are_searched():
    class OneSided:
        def sample(self, data, size, *, rng):
            return (rng.random(size) < (0.5 if data else 0.0)).astype(float)

    for pair in (ONE, Pair(1, 0, "swapped")):
        # Only "output is 1" tells: impossible on one side, even odds on the other.
        assert audit(OneSided(), pair, 1.0, samples=4000, seed=5).lower_bound > 3


def test_processes_do_not_change_the_answer():
    def slow(data, rng):
        return data + discrete_laplace(1.0, 1, rng=rng)

    one, two = (audit(slow, ONE, 1.0, samples=6000, seed=6, processes=p) for p in (1, 2))
    assert one.hits == two.hits and one.event == two.event and one.lower_bound == two.lower_bound


def test_workers_survive_a_mechanism_that_uses_threads():
    from sklearn.metrics import pairwise_distances_argmin
    from threadpoolctl import threadpool_limits

    rows = np.random.default_rng(0).normal(size=(600, 2))  # more than a chunk of 256: threads are used

    def threaded(data, rng):
        nearest = pairwise_distances_argmin(rows, rows[:4] + data)
        return [float(nearest[0]) + discrete_laplace(1.0, 1, rng=rng)[0]]

    with threadpool_limits(2):  # whatever the surroundings say
        threaded(0, np.random.default_rng(0))
        assert audit(threaded, ONE, 1.0, samples=200, seed=6, processes=2).samples == 200


def test_copied_generators_are_noticed():
    held = np.random.default_rng(0)
    with pytest.raises(AuditError, match="independent"):
        audit(lambda data: data + held.normal(size=2), ONE, 1.0, samples=40_000, seed=6, processes=2)


def test_progress_reaches_the_end():
    calls = []
    audit(
        Noisy(1.0),
        [ONE, ONE],
        1.0,
        samples=1000,
        seed=1,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls[-1] == (2000, 2000) and calls == sorted(calls)


class StopEarlyError(Exception):
    pass


def test_interrupted_audit_carries_on_to_the_same_answer(tmp_path):
    path = tmp_path / "audit.json"
    options = {"samples": 200_000, "seed": 9, "name": "noisy"}

    def stop(done, total):
        if done > total * 0.8:
            raise StopEarlyError

    with pytest.raises(StopEarlyError):
        audit(Noisy(1.0), ONE, 1.0, checkpoint=path, progress=stop, **options)
    kept = json.loads(path.read_text())
    assert 0 < sum(kept["trials"][0]) < 100_000
    mechanism = Noisy(1.0)
    resumed = audit(mechanism, ONE, 1.0, checkpoint=path, **options)
    assert sum(len(rows) for _, rows in mechanism.log) < 100_000
    whole = audit(Noisy(1.0), ONE, 1.0, checkpoint=tmp_path / "other.json", **options)
    assert resumed.hits == whole.hits and resumed.lower_bound == whole.lower_bound
    assert [p.name for p in tmp_path.iterdir() if p.suffix == ".part"] == []


def test_reading_again_costs_only_when_counts_have_grown(tmp_path):
    path = tmp_path / "audit.json"

    def run(samples):
        return audit(Noisy(1.0), ONE, 1.0, samples=samples, seed=9, checkpoint=path)

    first, again, more, fewer = run(4000), run(4000), run(9000), run(400)
    assert first.lower_bound == again.lower_bound and first.hits == again.hits
    # 1,000 runs a side were searched and 1,000 tested; 3,500 test runs are rounded up to two doublings.
    assert more.hits[1] == 4000 and more.samples == 10_000
    assert fewer.hits == more.hits and fewer.lower_bound == more.lower_bound
    for result, share in ((first, 1 / 2), (more, 1 / 12)):
        alpha = 0.05 * share / 4
        low = clopper_pearson_lower(*result.hits[:2], alpha)
        high = clopper_pearson_upper(*result.hits[2:], alpha)
        assert result.lower_bound == pytest.approx(math.log(low / high), abs=1e-12)


def test_foreign_checkpoints_are_refused(tmp_path):
    path = tmp_path / "audit.json"
    audit(Noisy(1.0), ONE, 1.0, samples=400, seed=9, checkpoint=path)
    with pytest.raises(AuditError, match="another audit"):
        audit(Noisy(1.0), ONE, 1.0, samples=400, seed=9, confidence=0.9, checkpoint=path)
    with pytest.raises(AuditError, match="another audit"):
        audit(Noisy(1.0), ONE, 1.0, samples=400, seed=10, checkpoint=path)
    with pytest.raises(AuditError, match="another audit"):
        audit(Noisy(1.0), Pair(0, 2, ONE.note), 1.0, samples=400, seed=9, checkpoint=path)
    with pytest.raises(AuditError, match="no directory"):
        audit(Noisy(1.0), ONE, 1.0, samples=400, checkpoint=tmp_path / "none" / "audit.json")
    path.write_text("[]")
    with pytest.raises(AuditError, match="no audit checkpoint"):
        audit(Noisy(1.0), ONE, 1.0, samples=400, checkpoint=path)


def test_result_says_it_all_and_draws(tmp_path):
    result = audit(Noisy(0.4), ONE, 1.0, samples=20_000, seed=3, name="noisy")
    fields = json.loads(json.dumps(result.to_dict()))
    assert fields["verdict"] == "violated" == result.verdict and "violated" in str(result)
    assert fields["name"] == "noisy" and "zero or one" in fields["pair"] and "output" in fields["event"]
    assert sum(result.law.left) > 4900 and result.seed == 3
    figure(result, str(tmp_path / "laws.png"))
    assert (tmp_path / "laws.png").read_bytes()[:4] == b"\x89PNG"


def test_one_run_result_has_no_laws_to_draw(tmp_path):
    from dataclasses import replace

    result = audit(Noisy(1.0), ONE, 1.0, samples=400, seed=3)
    with pytest.raises(AuditError, match="no output laws"):
        figure(replace(result, law=None), str(tmp_path / "x.png"))


def test_batches_have_their_own_streams():
    source = Source(Noisy(1.0), (ONE,), 1)
    keys = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]
    assert len({source.rng(*key).integers(2**62) for key in keys}) == len(keys)


@pytest.mark.parametrize(
    "change",
    [
        {"pairs": []},
        {"epsilon": -1},
        {"delta": 1.0},
        {"confidence": 1.0},
        {"samples": 10},
        {"mechanism": 3},
        {"processes": 0},
    ],
)
def test_nonsense_is_refused(change):
    with pytest.raises(AuditError):
        audit(**{"mechanism": Noisy(1.0), "pairs": ONE, "epsilon": 1.0, "samples": 400, **change})
