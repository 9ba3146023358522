"""Claims on made-up results: every verdict can be reached, and for the right reason."""

import itertools
import json
import math

import pytest

from discreet_studies.claims import (
    UNCLEAR,
    Attempt,
    Claim,
    Finding,
    Verdict,
    attempt,
    best_of,
    judge,
    reading,
    undecided,
    verdict_of,
    within,
    write_claims,
)
from discreet_studies.results import Estimate, MissingResultsError, Results, average, difference, slope
from discreet_studies.zafarani2021 import CLAIMS
from discreet_studies.zafarani2021.experiments import DATA, SYNTHETIC, WEIGHTS, tasks
from discreet_studies.zafarani2021.methods import APPROXIMATE, METHODS, PURE, TIMED

ALL = list(Verdict)
KEYS = {"paper", "claim", "measured", "verdict", "reason", "standard_error", "measurements", "proof"}


def made_up(accuracy=lambda **spot: 0.8, seconds=lambda method, n: n * 1e-6, without=()):
    """Results of a whole run with a little scatter over the folds."""
    rows = []

    def add(method, **spot):
        error = "NotAvailableError: not available yet" if method in without else None
        for fold in range(10):
            value = {} if error else {"accuracy": accuracy(method=method, **spot) + 0.002 * (fold % 2)}
            row = {"method": method, "repeat": 0, "fold": fold, "delta": "0", "error": error}
            rows.append({**row, **spot, **value})

    for data in DATA:
        for method in ("plain", "plain-truncated"):
            add(method, experiment="sweep", data=data, epsilon=math.inf)
        for method in PURE:
            for epsilon in (0.5, 1.0):
                add(method, experiment="sweep", data=data, epsilon=epsilon)
        for method in APPROXIMATE:
            for delta in ("1/n", "1/n^2"):
                add(method, experiment="approximate", data=data, epsilon=1.0, delta=delta)
    for data in ("adult", *SYNTHETIC):
        for method in ("smooth", "paper-smooth"):
            for weight in WEIGHTS:
                add(method, experiment="weights", data=data, epsilon=1.0, weight=weight)
        for method in ("vaidya", "paper-global"):
            add(method, experiment="weights", data=data, epsilon=1.0, weight="2:1")
    for method in TIMED:
        for n, repeat in itertools.product((1000, 5000, 10_000, 20_000, 50_000, 100_000, 300_000), (0, 1)):
            if method == "paper-literal" and n > 20_000:
                continue
            error = "NotAvailableError: not available yet" if method in without else None
            row = {"experiment": "time", "data": "adult", "method": method, "epsilon": 1.0, "error": error}
            took = {} if error else {"fit_seconds": seconds(method, n) * (1 + 0.001 * repeat)}
            rows.append({**row, "repeat": repeat, "train_rows": n, **took})
    return Results(rows)


def verdicts(results):
    return {one["claim"]: one["verdict"] for one in judge(CLAIMS, results)}


def find(text):
    (claim,) = [claim for claim in CLAIMS if text in claim.text]
    return claim


def lifted(*methods, by=0.05, data=DATA):
    return lambda method, **spot: 0.8 + by * (method in methods and spot["data"] in data)


def test_every_claim_gets_a_verdict_and_strict_json(tmp_path):
    judged = judge(CLAIMS, made_up())
    assert len(judged) == len(CLAIMS) == 16
    write_claims(tmp_path / "claims.json", judged)
    loaded = json.loads((tmp_path / "claims.json").read_text(), parse_constant=pytest.fail)
    assert all(set(one) == KEYS for one in loaded)
    assert {one["verdict"] for one in loaded} <= {verdict.value for verdict in ALL}
    assert all(one["reason"] for one in loaded)


@pytest.mark.parametrize(
    ("accuracy", "without", "verdict"),
    [
        (lifted("smooth"), (), Verdict.HOLDS),
        (lifted("smooth-t"), (), Verdict.HOLDS),  # either law of the noise will do
        (lifted("smooth", by=-0.05), (), Verdict.FAILS),
        (lifted("paper-smooth"), (), Verdict.UNSOUND),
        (lifted("paper-untrimmed"), (), Verdict.UNSOUND),
        (lifted(), ("smooth",), Verdict.UNTESTED),
        (lifted("smooth", data=("adult", "skin")), (), Verdict.FAILS),  # two of five sets are no majority
    ],
)
def test_smooth_against_global(accuracy, without, verdict):
    claim = find("more accurate than global")
    (judged,) = judge([claim], made_up(accuracy, without=without))
    assert judged["verdict"] == verdict
    if without:
        assert "not available yet" in judged["reason"]


@pytest.mark.parametrize(
    ("methods", "data", "verdict"),
    [
        (("smooth",), "synthetic-numeric", Verdict.HOLDS),
        (("paper-smooth",), "synthetic-numeric", Verdict.UNSOUND),
        (("smooth", "paper-smooth"), "synthetic-categorical", Verdict.FAILS),
        ((), "", Verdict.FAILS),
    ],
)
def test_the_more_numbers_count_the_more_is_gained(methods, data, verdict):
    results = made_up(lambda method, **spot: 0.8 + 0.05 * (method in methods and spot["data"] == data))
    (judged,) = judge([find("The more numeric features")], results)
    assert judged["verdict"] == verdict and judged["measurements"] == 10


def test_one_data_set_that_gets_worse_spoils_it():
    def accuracy(method, **spot):
        return 0.8 + (method == "smooth") * (-0.05 if spot["data"] == "glass" else 0.05)

    assert verdicts(made_up(accuracy))[find("more accurate than global").text] == Verdict.FAILS


def test_gain_on_people():
    claim = find("data about people").text
    people = ("adult", "census_kdd")
    assert verdicts(made_up(lifted("smooth", data=people)))[claim] == Verdict.HOLDS
    assert verdicts(made_up(lifted("smooth")))[claim] == Verdict.FAILS  # the same gain everywhere
    assert verdicts(made_up(lifted("paper-smooth", data=people)))[claim] == Verdict.UNSOUND
    assert verdicts(made_up(without=("vaidya",)))[claim] == Verdict.UNTESTED


def test_approximate_against_pure():
    claim = find("(ε, δ)").text
    assert verdicts(made_up(lifted("smooth-gaussian")))[claim] == Verdict.HOLDS
    assert verdicts(made_up(lifted("paper-gaussian-swap")))[claim] == Verdict.UNSOUND
    assert verdicts(made_up(lifted()))[claim] == Verdict.FAILS
    assert verdicts(made_up(without=("smooth-gaussian",)))[claim] == Verdict.UNTESTED


def test_mushroom():
    claim = find("Mushroom").text
    assert verdicts(made_up())[claim] == Verdict.HOLDS
    assert verdicts(made_up(lifted("smooth")))[claim] == Verdict.UNSOUND
    assert verdicts(made_up(lifted("smooth", "paper-smooth")))[claim] == Verdict.FAILS


def test_weights():
    only, helps, depends = (find(text).text for text in ("only 1:2", "helps numeric", "depends on the data"))

    def by_weight(gain):
        def accuracy(method, data, weight=None, **spot):
            return 0.8 + (gain(data, weight) if weight and method == "smooth" else 0)

        return verdicts(made_up(accuracy))

    assert by_weight(lambda data, weight: -0.05 * (weight == "1:2"))[only] == Verdict.HOLDS
    assert by_weight(lambda data, weight: 0)[only] == Verdict.FAILS  # 1:2 is no worse
    assert by_weight(lambda data, weight: 0.05 * (weight == "3:1") - 0.05 * (weight == "1:2"))[only] == Verdict.FAILS
    numbers = {("synthetic-numeric", "2:1"): 0.05, ("synthetic-categorical", "2:1"): -0.02}
    assert by_weight(lambda data, weight: numbers.get((data, weight), 0))[helps] == Verdict.HOLDS
    assert by_weight(lambda data, weight: -numbers.get((data, weight), 0))[helps] == Verdict.UNDECIDED
    sides = {"synthetic-numeric": "3:1", "synthetic-categorical": "1:2"}
    assert by_weight(lambda data, weight: 0.05 * (sides.get(data) == weight))[depends] == Verdict.HOLDS
    assert by_weight(lambda data, weight: 0)[depends] == Verdict.FAILS
    assert by_weight(lambda data, weight: 0.05 * (weight == "2:1"))[depends] == Verdict.FAILS  # one is best on both
    inner = {("synthetic-numeric", "2:1"): 0.05, ("synthetic-categorical", "1:1"): 0.05}
    assert by_weight(lambda data, weight: inner.get((data, weight), 0))[depends] == Verdict.HOLDS


def test_run_time():
    quadratic, gap = find("grow as n²").text, find("run-time gap").text

    def seconds(method, n):
        return 1e-8 * n**2 if method == "paper-literal" else 1e-6 * n + (0.01 if method == "smooth" else 0)

    found = verdicts(made_up(seconds=seconds))
    assert found[quadratic] == Verdict.UNSOUND
    assert found[gap] == Verdict.FAILS  # quadratic over linear grows
    found = verdicts(made_up(seconds=lambda method, n: 1e-8 * n ** (1 if method in ("vaidya", "paper-global") else 2)))
    assert found[quadratic] == Verdict.HOLDS
    # A fixed cost of the search over a common linear one: the gap falls, the cost is linear.
    found = verdicts(made_up(seconds=lambda method, n: 1e-6 * n + 0.1 * (method == "paper-literal")))
    assert found[quadratic] == Verdict.FAILS and found[gap] == Verdict.HOLDS
    assert verdicts(made_up(without=("smooth",)))[quadratic] == Verdict.UNTESTED


def test_the_stronger_baseline_and_truncation_are_our_own_claims():
    ours = {claim.text: claim.paper for claim in CLAIMS if claim.paper != "zafarani2021"}
    assert set(ours.values()) == {"discreet"} and len(ours) == 2
    stronger, truncated = find("library's global").text, find("truncated normal density costs").text
    assert verdicts(made_up(lifted("smooth")))[stronger] == Verdict.HOLDS
    assert verdicts(made_up(lifted("vaidya")))[stronger] == Verdict.FAILS
    assert verdicts(made_up())[truncated] == Verdict.HOLDS
    assert verdicts(made_up(lifted("smooth-truncated", by=-0.05)))[truncated] == Verdict.FAILS


def test_what_no_measurement_can_change():
    found = verdicts(Results([]))
    assert found[find("ε-differentially private").text] == Verdict.FAILS
    assert found[find("1940 census").text] == Verdict.UNTESTED
    assert set(found.values()) == {Verdict.FAILS, Verdict.UNTESTED}


def test_verdicts_by_the_two_versions():
    pairs = [(True, None), (False, False), (False, True), (UNCLEAR, True), (None, True)]
    assert [verdict_of(*pair) for pair in pairs] == ALL
    assert verdict_of(False, UNCLEAR) is Verdict.UNDECIDED  # the published version may yet show it
    assert verdict_of(False, None) is Verdict.UNTESTED
    claim = Claim("p", "t", lambda results: Finding(Verdict.HOLDS, {"x": float("nan"), "y": Estimate(1, 2, 3)}, "r"))
    (judged,) = judge([claim], Results([]))
    assert judged["measured"] == {"x": None, "y": {"mean": 1, "standard_error": 2, "count": 3}}


def test_too_few_repeats_leave_a_claim_undecided_and_say_how_many_would_do():
    scatter = itertools.cycle((0.3, -0.3))

    def accuracy(method, experiment, **spot):
        return 0.8 + (0.02 + next(scatter) if method == "smooth" and experiment == "sweep" else 0)

    (judged,) = judge([find("more accurate than global")], made_up(accuracy))
    assert judged["verdict"] == Verdict.UNDECIDED
    assert "measurements would" in judged["reason"]
    # 0.02 ± 0.02 by ten measurements: four times as many put zero two errors away.
    assert "about 40 instead of 10" in str(undecided("it", [(Estimate(0.02, 0.02, 10), (0.0,))]))
    # A mean on the border itself: no number of repeats is named that nobody could run.
    assert "more than 10000 instead of 10" in str(undecided("it", [(Estimate(0.0, 0.02, 10), (0.0,))]))
    assert best_of([Attempt(False), Attempt(UNCLEAR, "gap"), Attempt(None, "gone")]) == Attempt(UNCLEAR, "gap")
    assert best_of([Attempt(UNCLEAR, "gap"), Attempt(True)]).passed is True


@pytest.mark.parametrize(
    ("mean", "error", "outcome"),
    [
        (0.5, 0.1, True),
        (0.5, 0.3, UNCLEAR),
        (0.9, 0.1, UNCLEAR),
        (1.3, 0.1, False),
        (-0.3, 0.1, False),
        (0.0, 0.0, True),
    ],
)
def test_between_two_borders_by_two_errors(mean, error, outcome):
    assert attempt(lambda: within([Estimate(0.5, 0.0, 9), Estimate(mean, error, 9)], 0, 1, "it")).passed is outcome


def test_other_readings_are_told_in_words():
    assert reading("one", lambda: False) == "one: not shown"
    assert reading("two", lambda: within([Estimate(0.0, 1.0, 9)], 0, 1, "it")) == "two: undecided"
    assert reading("three", lambda: bool(Results([]).estimate())) == "three: not measured"


def test_estimates():
    assert Estimate.of([1, 3]).error == 1
    assert not Estimate.of([5.0]).above  # one measurement proves nothing
    both = average([Estimate(1, 3, 4), Estimate(3, 4, 5)])
    assert (both.mean, both.error, both.count) == (2, 2.5, 9)
    assert difference(Estimate(1, 3, 4), Estimate(3, 4, 5)) == Estimate(-2, 5, 4)
    rising = slope([(n, 3 * n**2) for n in (10, 20, 50)])
    assert rising.mean == pytest.approx(2)
    assert rising.error == pytest.approx(0, abs=1e-9)
    with pytest.raises(MissingResultsError):
        slope([(1, 1), (2, 2)])
    with pytest.raises(MissingResultsError):
        average([])


def test_pairs_meet_on_the_same_fold():
    rows = [{"method": m, "repeat": 0, "fold": f, "accuracy": f + (m == "a"), "error": None}
            for m in "ab" for f in range(4 if m == "a" else 3)]  # fmt: skip
    assert Results(rows).paired({"method": "a"}, {"method": "b"}) == Estimate(1, 0, 3)
    with pytest.raises(MissingResultsError, match="method c"):
        Results(rows).paired({"method": "a"}, {"method": "c"})


@pytest.mark.parametrize("fast", [True, False])
def test_the_plan_covers_what_the_claims_ask_for(fast):
    planned = tasks(fast)
    assert len({task.key for task in planned}) == len(planned)
    assert {task.method for task in planned} == {*METHODS, "paper-literal"}
    assert {task.data for task in planned if task.experiment == "sweep"} == set(DATA)
    pure = {task.epsilon for task in planned if task.experiment == "sweep"}
    assert {task.epsilon for task in planned if task.experiment == "approximate"} <= pure
    if not fast:
        spots = {(task.repeat, task.fold) for task in planned if task.experiment == "sweep"}
        assert len(spots) == 50  # five times ten folds, as in the paper
        assert max(task.option("n", 0) for task in planned) == 1_700_000
