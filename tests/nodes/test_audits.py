"""The audit finds the federation's cases, and they have power."""

from dataclasses import replace

import discreet.bayes.items as planning
from discreet.bayes.audits import FEW
from discreet.bayes.items import Sensitivity
from discreet.nodes.audits import NodeIntegers, WholeUpdate, audit_cases
from discreet.nodes.settings import node_plan


def test_cases_cover_integers_and_bytes():
    names = {case.name for case in audit_cases()}
    assert {"federated-update-tables-add-remove", "federated-update-moments-replace", "federated-update-bytes"} <= names
    assert NodeIntegers(1.0, {"numeric": "histogram"}).sample(FEW, 5, rng=None).shape == (5, 10)
    assert len(WholeUpdate(1.0)(())) == len(WholeUpdate(1.0)(FEW))


def test_an_update_with_half_its_noise_is_flagged(monkeypatch):
    """Confidence 1 − 1e-8: an honest release would be flagged in fewer than one of 1e8 runs."""
    honest = planning.table_sensitivity

    def short(*arguments):
        whole = honest(*arguments)
        return Sensitivity(whole.l1 / 2, whole.l2_squared / 4)

    monkeypatch.setattr(planning, "table_sensitivity", short)
    node_plan.cache_clear()
    try:
        case = next(case for case in audit_cases() if case.name == "federated-update-tables-add-remove")
        first = replace(case, pairs=lambda epsilon: case.pairs(epsilon)[1:])
        result = first.run(3.0, samples=10_000, confidence=1 - 1e-8, seed=5)
    finally:
        node_plan.cache_clear()
    assert result.violated


def test_a_node_that_draws_its_noise_again_is_flagged():
    """Confidence 1 − 1e-8; the same sums with noise drawn once are not flagged."""
    cases = {case.name: case for case in audit_cases()}
    found = {}
    for name in ("federated-stream-add-remove", "control-federated-stream-add-remove"):
        case = replace(cases[name], pairs=lambda epsilon, case=cases[name]: case.pairs(epsilon)[:1])
        found[name] = case.run(1.0, samples=8_000, confidence=1 - 1e-8, seed=5).violated
    assert list(found.values()) == [False, True]
