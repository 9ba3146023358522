"""The regret of the automatic choice: found on other seeds than those that it is scored on."""

import json

import pytest

from benchmarks import regret
from discreet import DataError


def test_the_best_kind_is_found_on_other_seeds_than_it_is_scored_on():
    lucky = {0: 0.9, 1: 0.5}  # as good as the other kind on the whole, the best where it was lucky
    cell = {"auto": {0: 0.7, 1: 0.7}, "tree": lucky, "tan": {0: 0.6, 1: 0.8}}
    # seed 0 finds the tree, which has .5 on seed 1; seed 1 finds tan, which has .6 on seed 0
    assert regret.crossed(cell) == pytest.approx((0.5 - 0.7 + 0.6 - 0.7) / 2)


def test_a_kind_that_misses_a_seed_and_a_single_seed_do_not_count():
    assert regret.crossed({"auto": {0: 0.7, 1: 0.7}, "tree": {0: 0.9}}) is None
    assert regret.crossed({"auto": {0: 0.7}, "tree": {0: 0.9}}) is None
    assert regret.crossed({"tree": {0: 0.9, 1: 0.9}}) is None


def test_a_journal_is_judged_by_the_bars(tmp_path):
    told = {"edition": "x", "rows": 2_000}
    with (tmp_path / "regret.jsonl").open("w") as file:
        for seed in range(4):
            for data, best in (("near", 0.701), ("far", 0.8)):
                for kind, score in (("auto", 0.7), ("tree", best), ("svm", None)):
                    one = {"data": data, "epsilon": 1.0, "seed": seed, "kind": kind, "score": score, **told}
                    file.write(json.dumps(one) + "\n")
    far, mean, worst = regret.run(folder=tmp_path, report=True)
    assert (far["what"], far["measured"]) == ("far, 2,000 rows, epsilon 1: tree", 0.1)
    assert (mean["measured"], mean["met"]) == (0.0505, False)
    assert worst["what"].endswith("far, epsilon 1")
    assert (worst["measured"], worst["met"]) == (0.1, False)


def test_one_seed_is_refused(tmp_path):
    with pytest.raises(DataError, match="2 or more"):
        regret.run(folder=tmp_path, report=True, seeds=1)
