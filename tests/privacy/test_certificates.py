"""Every certificate states what holds for all: a schema read off the data, rows per person, simulation, sampler."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet
import discreet.sources
from discreet import (
    Budget,
    Categorical,
    Certificate,
    FederatedNB,
    GossipNB,
    LocalNB,
    Numeric,
    PrivateAdditiveClassifier,
    PrivateClassifier,
    PrivateForestClassifier,
    PrivateGridSearch,
    PrivateHoldout,
    PrivateJointHistogram,
    PrivateLogisticRegression,
    PrivateNB,
    PrivatePredictor,
    PrivateSelectKBest,
    PrivateSVC,
    PrivateTAN,
    PrivateTreeClassifier,
    Schema,
    SelectiveNB,
    SmoothSettings,
    evaluate_privately,
    settle_schema,
)
from discreet.additive.newton import fit_newton, plan_newton
from discreet.bayes.plan import make_plan
from discreet.bounds.release import REST
from discreet.calibration import calibrated
from discreet.errors import BudgetError, StatisticsError
from discreet.estimators.counts import CountPlan, bought_counts, count_charge
from discreet.federated import Aggregate, node_update
from discreet.federated.shares import share_plan
from discreet.local.client import LocalClient
from discreet.local.collector import Collector
from discreet.mechanisms.noise import sampler_for
from discreet.privacy import Ledger
from discreet.privacy.budget import Adjacency
from discreet.privacy.certifier import INFERRED, certify
from discreet.privacy.ledger import Parallel, Sequential
from discreet.privacy.plan import Paid
from discreet.resolution.pooled import buy_pooled, pooled_plan, relatively

DECLARED = Schema(
    [Categorical("a", ["p", "q"]), Categorical("b", [1, 2, 3]), Numeric("x", 0, 8, bins=4)], target="y", classes=[0, 1]
)
READ = DECLARED.model_copy(update={"inferred": True})
KNOWN = DECLARED.model_copy(update={"id": "who"})
ROWS = "no person has more than 1 row(s)"


def frame(size: int = 120) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, size)
    a, b = np.array(["p", "q"])[rng.integers(0, 2, size) * y], rng.integers(1, 4, size)
    return pd.DataFrame({"a": a, "b": b, "x": rng.uniform(0, 4, size) + 4 * y, "who": np.arange(size)}), y


def fitted(kind: Any, **settings: Any) -> Callable[..., list[Certificate]]:
    """The certificates of an estimator; its model carries the same one."""

    def make(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
        X, y = frame()
        done = kind(epsilon=epsilon, schema=schema, random_state=seed, **settings).fit(X, y)
        model = getattr(done, "model_", None)
        return [done.certificate_, *([] if model is None else [model.certificate])]

    return make


def batches(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
    X, y = frame()
    done = PrivateNB(epsilon, schema=schema, random_state=seed)
    for low in (0, 60):
        done.partial_fit(X[low : low + 60], y[low : low + 60])
    return [done.certificate_]


def searched(method: str) -> Callable[..., list[Certificate]]:
    def make(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
        X, y = frame()
        grid = {"smoothing": [0.5, 1.0]}
        search = PrivateGridSearch(PrivateNB(), grid, epsilon, schema, method=method, random_state=seed)
        return [search.fit(X, y).certificate_]

    return make


def calibration(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
    X, y = frame()
    model = PrivateNB(epsilon, schema=schema, random_state=seed).fit(X, y).model_
    return [calibrated(model, X, y, epsilon, random_state=seed).certificate]


def settlement(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
    return [settle_schema(schema, frame()[0], epsilon, bounds="private", random_state=seed).certificate]


def evaluation(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
    X, y = frame()
    model = PrivateNB(epsilon, schema=schema, random_state=seed).fit(X, y).model_
    found = evaluate_privately(model, X, y, epsilon=epsilon, random_state=seed)
    assert found.certificate is not None
    return [found.certificate]


def held_out(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
    X, y = frame()
    return [PrivateHoldout(PrivateNB(epsilon, schema=schema), random_state=seed).fit(X, y).certificate_]


def chosen(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
    X, y = frame()
    return [PrivateSelectKBest(2, epsilon=epsilon, schema=schema, random_state=seed).fit(X, y).certificate_]


def federation(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
    X, y = frame()
    aggregate = Aggregate(schema)
    updates = [
        node_update(X, schema, Budget(epsilon), node=name, y=y, random_state=seed, round_id="r") for name in ("a", "b")
    ]
    for update in updates:
        aggregate.add(update)
    return [*(update.certificate for update in updates), aggregate.model(1.0).certificate]


def shares(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
    plan = make_plan(schema, Budget(epsilon), mechanism="laplace")
    found = [share_plan(plan, 4, colluding=1).certificate(simulation=seed is not None)]
    if epsilon != math.inf:
        noisy = make_plan(schema, Budget(epsilon, 1e-6), mechanism="gaussian")
        found.append(share_plan(noisy, 4).certificate(simulation=seed is not None))
    return found


def pooled_look(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
    X, y = frame()
    free = schema.having([*schema.features[:2], Numeric("x", 0, 8)])  # in bins that nobody declared
    sampler, exactly = sampler_for(seed), CountPlan(free, Budget(math.inf), Adjacency.ADD_REMOVE, 1, None)
    counts = bought_counts(np.array([60, 60]), exactly, sampler)
    source = discreet.sources.open(X, relatively(free), y)
    return [buy_pooled(source, pooled_plan(free, Budget(epsilon)), free, counts, 4, sampler).certificate]


def weighed_shapes(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
    """Noisy Newton steps, which need a δ; without privacy there are none of them, and cells have weights."""
    if epsilon == math.inf:
        return fitted(PrivateAdditiveClassifier)(schema, epsilon, seed)
    X, y = frame()
    sampler, exactly = sampler_for(seed), CountPlan(schema, Budget(math.inf), Adjacency.ADD_REMOVE, 1, None)
    counts = bought_counts(np.array([60, 60]), exactly, sampler)
    people = {"adjacency": Adjacency.ADD_REMOVE, "contributions": 1, "unexpected": "refuse"}
    plan = plan_newton(schema, Budget(epsilon, 1e-6), **people)
    return [fit_newton(discreet.sources.open(X, schema, y).held(), plan, counts, sampler).certificate]


def collected(schema: Schema, epsilon: Any, seed: Any) -> list[Certificate]:
    collector = Collector(schema)
    for word in ("p", "q"):
        collector.add(LocalClient(schema, epsilon, memory=None).report({"a": word, "b": 1, "x": 3.0, "y": 0}))
    return [collector.model(1.0).certificate]


# Each kind of release: the module that certifies it, and how it is made.
KINDS: dict[str, tuple[str, Callable[..., list[Certificate]]]] = {
    "Naive Bayes": ("bayes.release", fitted(PrivateNB)),
    "Naive Bayes, bell curves": ("bayes.release", fitted(PrivateNB, numeric="gaussian")),
    "Naive Bayes, smooth": ("bayes.release", fitted(PrivateNB, numeric="gaussian", smooth=SmoothSettings())),
    "Naive Bayes, parts": ("bayes.release", fitted(PrivateNB, strategy="partition")),
    "Naive Bayes, batches": ("bayes.release", batches),
    "private bounds": ("bayes.release", fitted(PrivateNB, bounds="private")),
    "calibration": ("calibration.calibrate", calibration),
    "automatic": ("estimators.counts", fitted(PrivateClassifier)),
    "logistic regression": ("linear.classifier", fitted(PrivateLogisticRegression)),
    "functional": ("linear.classifier", fitted(PrivateLogisticRegression, method="functional")),
    "support vectors": ("linear.classifier", fitted(PrivateSVC)),
    "additive": ("additive.classifier", fitted(PrivateAdditiveClassifier)),
    "shapes": ("additive.newton", weighed_shapes),
    "tree": ("trees.classifier", fitted(PrivateTreeClassifier)),
    "forest": ("trees.classifier", fitted(PrivateForestClassifier)),
    "tree-augmented": ("dependence.plan", fitted(PrivateTAN)),
    "joint histogram": ("dependence.plan", fitted(PrivateJointHistogram)),
    "evaluation": ("evaluation.evaluate", evaluation),
    "hold-out": ("bayes.release", held_out),
    "choice of features": ("selection.select", chosen),
    "choice and training": ("selection.classifier", fitted(SelectiveNB, k=2)),
    "settlement": ("bounds.release", settlement),
    "look at numbers": ("resolution.pooled", pooled_look),
    "search by hold-out": ("tuning.search", searched("holdout")),
    "search by stopping": ("tuning.search", searched("random-stopping")),
    "answers": ("answers.predictor", fitted(PrivatePredictor, queries=5, parts=5)),
    "updates of nodes": ("nodes.certificate", federation),
    "federation": ("nodes.certificate", fitted(FederatedNB, n_nodes=3)),
    "secure federation": ("federated.shares", fitted(FederatedNB, n_nodes=3, secure=True)),
    "shares of noise": ("federated.shares", shares),
    "gossip": ("nodes.certificate", fitted(GossipNB, n_nodes=4)),
    "local": ("local.estimate", fitted(LocalNB)),
    "local, exactly": ("local.classifier", fitted(LocalNB)),
    "collector": ("local.estimate", collected),
}
SEVERAL = {"updates of nodes", "federation", "secure federation", "shares of noise", "gossip"}  # nodes or batches
LOCAL = {"local", "local, exactly", "collector"}
SEEDED = set(KINDS) - {"gossip", "collector"}  # a simulation by nature, and devices that have no seed
every = pytest.mark.parametrize("kind", KINDS)


def exact(kind: str) -> Any:
    return math.inf if kind == "local, exactly" else 2.0


def test_every_module_that_certifies_has_a_case() -> None:
    root, found = Path(discreet.__file__).parent, set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "certify":
                found.add(".".join(path.relative_to(root).with_suffix("").parts))
    assert found == {module for module, _ in KINDS.values()}


@every
def test_a_schema_that_was_read_off_the_data_is_said_to_be(kind: str) -> None:
    own = REST if kind == "settlement" else INFERRED
    for certificate in KINDS[kind][1](READ, exact(kind), None):
        assert own in certificate.assumptions
        if not certificate.covers.startswith("nothing") and kind != "settlement":
            assert "which were read off the data" in certificate.covers
    for certificate in KINDS[kind][1](DECLARED, exact(kind), None):
        assert "read off" not in " ".join([certificate.covers, *certificate.assumptions])


@every
def test_rows_per_person_are_assumed_where_no_id_is_checked(kind: str) -> None:
    for certificate in KINDS[kind][1](DECLARED, exact(kind), None):
        assert kind in LOCAL or any(text.startswith(ROWS) for text in certificate.assumptions)
    if kind in LOCAL or kind == "Naive Bayes, batches":
        return
    certificates = KINDS[kind][1](KNOWN, exact(kind), None)
    assert all("checked by the id column" in certificate.protects for certificate in certificates)
    if kind not in SEVERAL:
        assert not any(text.startswith(ROWS) for one in certificates for text in one.assumptions)


@pytest.mark.parametrize("kind", sorted(SEEDED - {"local, exactly"}))
def test_noise_that_can_be_repeated_covers_nothing(kind: str) -> None:
    for certificate in KINDS[kind][1](DECLARED, 2.0, 7):
        assert certificate.private and certificate.simulation
        assert certificate.covers.startswith("nothing: ") and "simulation" in certificate.sampler
    for certificate in KINDS[kind][1](DECLARED, 2.0, None):
        assert certificate.private and not certificate.simulation
        assert not certificate.covers.startswith("nothing") and "simulation" not in certificate.sampler
        assert certificate.sampler not in {"", "none"}


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"collector", "calibration"}))
def test_without_noise_nothing_is_covered(kind: str) -> None:
    for certificate in KINDS[kind][1](DECLARED, math.inf, None):
        assert not certificate.private and certificate.protects.startswith("nobody")
        assert certificate.covers.startswith("nothing: ") and certificate.sampler == "none"


def made(schema: Schema, contributions: int = 1, **fields: Any) -> Certificate:
    plan = Paid(schema, Budget(1), Adjacency.ADD_REMOVE, contributions, Sequential("nothing", ()))
    return certify(plan, **({"sampler": "exact", "simulation": False} | fields))


def test_the_clauses_themselves() -> None:
    assert made(DECLARED, where=None).assumptions == made(KNOWN, 3).assumptions == ()
    stated = (INFERRED, "no person has more than 2 row(s) at a node")
    assert made(READ, 2, where="at a node").assumptions == stated
    assert made(KNOWN, checked=False).assumptions == ("no person has more than 1 row(s) in the data",)
    assert made(DECLARED, covers="all").covers == "all"
    assert made(READ, simulation=True, kind="it is").covers == "nothing: it is for study, not for release"
    split = made(DECLARED, node=Parallel("sides", "nobody is on both", ()))
    assert split.assumptions[0] == "nobody is on both"


# ---- what was bought elsewhere, and compositions


def test_a_schema_says_what_its_bounds_cost_and_every_later_certificate_says_so_too(tmp_path: Path) -> None:
    X, y = frame()
    bought = settle_schema(DECLARED, X, 5, bounds="private")
    assert bought.schema == DECLARED or bought.schema.hash != DECLARED.hash
    for name in ("schema.toml", "schema.json"):  # in files as well
        bought.schema.save(tmp_path / name)
        again = Schema.load(tmp_path / name)
        assert again.provenance == bought.schema.provenance and again.hash == bought.schema.hash
        model = PrivateNB(0.1, schema=again).fit(X, y).model_
        (clause,) = [text for text in model.certificate.assumptions if "paid for elsewhere" in text]
        assert "bounds and bins of the schema: paid for elsewhere, at epsilon 5 for add-remove" in clause
        assert model.certificate.epsilon == "1/10"
        whole = bought.certificate.then(model.certificate)
        assert Fraction(whole.epsilon or 0) == Fraction(51, 10)
        assert not whole.elsewhere and not any("elsewhere" in text for text in whole.assumptions)


def test_a_choice_of_features_is_stated_by_the_models_that_follow_from_it() -> None:
    X, y = frame()
    chosen = PrivateSelectKBest(2, epsilon=50, schema=DECLARED).fit(X, y)
    fit = PrivateNB(0.1, schema=chosen.schema_).fit(chosen.transform(X.drop(columns="who")), y).certificate_
    assert any("the choice of features: paid for elsewhere, at epsilon 50" in text for text in fit.assumptions)
    assert chosen.certificate_.then(fit).epsilon == "501/10"


def test_bounds_bought_inside_a_fit_are_in_its_cost() -> None:
    X, y = frame()
    fit = PrivateNB(1, schema=DECLARED, bounds="private").fit(X, y)
    assert fit.certificate_.epsilon == "1" and not fit.certificate_.elsewhere and len(fit.certificate_.included) == 2
    later = calibrated(fit.model_, X, y, 0.5).certificate  # of a model whose schema has a provenance
    assert later.epsilon == "3/2" and not later.elsewhere
    assert not any("elsewhere" in text for text in later.assumptions)


def test_compositions_refuse_costs_for_different_people() -> None:
    with pytest.raises(BudgetError, match="do not add up"):
        made(DECLARED).then(made(DECLARED, 2))
    with pytest.raises(BudgetError, match="do not add up"):
        made(DECLARED).beside(made(DECLARED, 2), "sides", "nobody is on both")


def test_every_amount_of_two_releases_adds_up_and_on_other_rows_the_dearer_counts() -> None:
    X, y = frame()

    def fit(epsilon: float, delta: float) -> Certificate:
        return PrivateNB(epsilon, delta=delta, schema=DECLARED, mechanism="gaussian").fit(X, y).certificate_

    one, two = fit(1, 1e-6), fit(2, 1e-5)
    for first, second in ((one, two), (two, one)):
        both, split = first.then(second), first.beside(second, "sides", "nobody is on both")
        for amount in ("epsilon", "delta", "rho"):
            own = [Fraction(getattr(each, amount)) for each in (first, second)]
            assert Fraction(getattr(both, amount)) == sum(own)
            assert Fraction(getattr(split, amount)) == max(own)
    none = made(DECLARED).model_copy(update={"private": False, "epsilon": None})
    for both in (none.then(one), one.then(none), none.beside(one, "s", "a"), one.beside(none, "s", "a")):
        assert not both.private and both.epsilon is None
    pure = [PrivateNB(epsilon, schema=DECLARED).fit(X, y).certificate_ for epsilon in (0.5, 2)]
    for first, second in (pure, pure[::-1]):
        assert first.then(second).epsilon == "5/2" and first.beside(second, "s", "a").epsilon == "2"


def test_what_was_bought_elsewhere_is_said_until_it_is_added_up() -> None:
    X, y = frame()
    bought = settle_schema(DECLARED, X, 5, bounds="private")
    fits = [PrivateNB(0.1, schema=bought.schema).fit(X, y).certificate_ for _ in range(2)]
    plain = PrivateNB(0.1, schema=DECLARED).fit(X, y).certificate_
    for both in (fits[0].then(fits[1]), fits[0].then(plain), plain.then(fits[0]), fits[0].beside(plain, "s", "a")):
        assert [one.certificate for one in both.elsewhere] == [bought.certificate.hash]
        assert sum("paid for elsewhere, at epsilon 5" in text for text in both.assumptions) == 1
        assert not bought.certificate.then(both).elsewhere


def test_a_claim_below_what_the_ledger_spends_is_refused() -> None:
    X, y = frame()
    pure = PrivateNB(0.5, schema=DECLARED).fit(X, y).certificate_.model_dump(mode="json")
    noisy = PrivateNB(1, delta=1e-6, schema=DECLARED, mechanism="gaussian").fit(X, y).certificate_
    for fields in (pure | {"epsilon": "49/100"}, noisy.model_dump(mode="json") | {"rho": "1/1000000"}):
        with pytest.raises(ValueError, match=r"more (epsilon|rho) than"):
            Certificate.model_validate(fields)


def test_what_either_does_not_cover_both_together_do_not() -> None:
    study, sound = made(DECLARED, simulation=True), made(DECLARED)
    for both in (study.then(sound), sound.then(study), study.beside(sound, "s", "a")):
        assert both.simulation and both.covers.startswith("nothing")
    assert sound.then(sound).covers == sound.covers
    split = sound.beside(sound, "sides", "nobody is on both")
    assert split.epsilon == "1" and split.ledger.node == "parallel" and split.assumptions[-1] == "nobody is on both"


def test_a_composition_covers_the_tables_that_both_cover() -> None:
    plan = Paid(DECLARED, Budget(1), Adjacency.ADD_REMOVE, 1, Sequential("nothing", ()), unexpected="absorb")
    total, refused = certify(plan, sampler="exact", simulation=False), made(DECLARED)
    assert total.then(total).tables == total.tables
    assert total.then(refused).tables == refused.then(total).tables == refused.tables


# ---- purchases that look alike, and schemas that models carry


def bought(epsilon: Any, seed: Any = None) -> Any:
    charge = count_charge(Fraction(epsilon))
    plan = CountPlan(DECLARED, Budget(epsilon), Adjacency.ADD_REMOVE, 1, charge)
    return bought_counts(np.array([60, 60]), plan, sampler_for(seed))


def test_two_purchases_at_the_same_price_are_two() -> None:
    X, y = frame()
    one, two = bought(5), bought(5)
    assert one.certificate.hash != two.certificate.hash
    fits = [PrivateTAN(0.1, schema=DECLARED).fit(X, y, counts=counts).certificate_ for counts in (one, two)]
    both = fits[0].then(fits[1])
    assert len(both.elsewhere) == 2
    paid = one.certificate.then(both)
    assert paid.epsilon == "26/5" and [known.certificate for known in paid.elsewhere] == [two.certificate.hash]


def test_a_fit_for_release_does_not_follow_from_simulated_counts_or_from_another_cost() -> None:
    X, y = frame()
    with pytest.raises(BudgetError, match="simulation"):
        PrivateTAN(0.1, schema=DECLARED).fit(X, y, counts=bought(5, 0))
    assert PrivateTAN(0.1, schema=DECLARED, random_state=0).fit(X, y, counts=bought(5, 0)).certificate_.simulation
    cheap = replace(bought(5), certificate=bought(1).certificate)
    with pytest.raises(BudgetError, match="no certificate of their cost"):
        PrivateTAN(0.1, schema=DECLARED).fit(X, y, counts=cheap)


@pytest.mark.parametrize(
    "kind",
    [
        lambda: SelectiveNB(50, DECLARED, k=1),
        lambda: PrivateJointHistogram(20, schema=Schema([Numeric("x", 0, 8)], "y", [0, 1])),
        lambda: PrivateClassifier(50, DECLARED, "naive-bayes"),
    ],
    ids=["selection", "joint", "automatic"],
)
def test_a_schema_that_a_model_carries_says_what_it_follows_from(kind: Any) -> None:
    X, y = frame(600)
    model = kind().fit(X, y).model_
    assert not model.certificate.elsewhere  # of the model itself everything is paid for
    later = PrivateNB(0.1, schema=model.schema).fit(X, y).certificate_
    assert any("paid for elsewhere" in text for text in later.assumptions) == bool(model.schema.provenance)
    if model.schema.hash != DECLARED.hash and len(model.schema.features) == 1:
        assert model.schema.provenance


def test_a_choice_says_its_cost_by_every_door() -> None:
    X, y = frame()
    chosen = PrivateSelectKBest(1, epsilon=50, schema=DECLARED).fit(X, y)
    assert chosen.selection_.schema.provenance == chosen.schema_.provenance != ()
    assert chosen.selection_.certificate == chosen.certificate_


@pytest.mark.parametrize("order", [1, -1])
def test_a_search_states_what_any_of_its_candidates_schemas_cost(order: int) -> None:
    X, y = frame()
    paid = settle_schema(DECLARED, X, 5, bounds="private").schema
    candidates = [PrivateNB(schema=paid), PrivateNB(schema=paid.having(provenance=()), smoothing=2.0)][::order]
    made = PrivateGridSearch(candidates, epsilon=1).fit(X, y).certificate_
    assert [known.epsilon for known in made.elsewhere] == ["5"]


def test_statistics_counted_elsewhere_are_not_said_to_be_checked() -> None:
    X, y = frame()
    counted = discreet.sources.collect(X, KNOWN, y, detail=("bins",))
    for kind in (PrivateSelectKBest(1, 1, KNOWN), SelectiveNB(1, KNOWN, k=1)):
        made = kind.fit_statistics(counted).certificate_
        assert "not checked" in made.protects and any(text.startswith(ROWS) for text in made.assumptions)
        ledger = Ledger(Budget(1))
        other = KNOWN.having([Categorical("a", ["q", "p"]), *KNOWN.features[1:]])
        with pytest.raises(StatisticsError, match="another schema"):
            kind.set_params(schema=other).fit_statistics(counted, ledger=ledger)
        assert ledger.spent == 0


def test_a_bad_seed_costs_nothing() -> None:
    X, y = frame()
    model = PrivateNB(1, schema=DECLARED).fit(X, y).model_
    for fit in (
        PrivateNB(1, schema=DECLARED, random_state=-1).fit,
        PrivateNB(1, schema=DECLARED, random_state=-1).partial_fit,
        PrivateClassifier(1, DECLARED, random_state=-1).fit,
        lambda X, y, ledger: calibrated(model, X, y, 1, random_state=-1, ledger=ledger),
    ):
        ledger = Ledger(Budget(1))
        with pytest.raises(BudgetError):
            fit(X, y, ledger=ledger)
        assert ledger.spent == 0


def test_without_privacy_in_one_part_the_whole_protects_nobody() -> None:
    X, y = frame()
    exact, noisy = (PrivateNB(epsilon, schema=DECLARED).fit(X, y).certificate_ for epsilon in (math.inf, 1))
    for whole in (exact.then(noisy), noisy.then(exact)):
        assert not whole.private and whole.protects.startswith("nobody") and whole.sampler == "none"


def test_concentrated_costs_add_up_with_answers_at_pure_epsilon() -> None:
    X, y = frame()
    noisy = PrivateNB(1, 1e-6, schema=DECLARED, mechanism="gaussian").fit(X, y).certificate_
    answers = PrivatePredictor(1, 1e-6, schema=DECLARED, queries=1).fit(X, y).certificate_
    assert Fraction(noisy.then(answers).epsilon or 0) == 2


def test_every_reason_for_parallel_costs_is_stated() -> None:
    X, y = frame()
    for trees in (10, "auto"):
        made = PrivateForestClassifier(1, DECLARED, n_estimators=trees).fit(X, y).certificate_
        assert any("dealt to one tree" in text for text in made.assumptions)
