"""The how-to page adds a likelihood that works: its blocks are run as they stand, as a package of its own."""

import json
import math
import os
import pickle
import shutil
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import discreet
from discreet import (
    Budget,
    Categorical,
    FederatedNB,
    Ledger,
    NaiveBayesModel,
    Numeric,
    PrivateNB,
    Schema,
    SmoothSettings,
)
from discreet.bayes.classifier import twin_of
from discreet.bayes.likelihoods import TableLikelihood, likelihood_of, names, registry
from discreet.calibration import calibrated
from discreet.cli import app
from discreet.errors import BudgetError, DataError, DiscreetError, ModelError
from tests.pages import blocks, entry_point, install, run
from tests.recorder import replayed

PAGE = "how-to-add/likelihood.md"
FILE, USE = blocks(PAGE)
MISSING = Schema([Numeric("x", -8, 8, missing="bin"), Numeric("n", 0, 40, integer=True)], "y", ["a", "b"])


@pytest.fixture(autouse=True)
def added(tmp_path, monkeypatch):
    """The page's file in a package that is installed beside this one, with the page's one line."""
    files = {"my_package/__init__.py": "", "my_package/laplace.py": FILE}
    monkeypatch.syspath_prepend(str(install(tmp_path / "site", files, entry_point(PAGE))))
    monkeypatch.setattr(registry, "_NUMERIC", dict(registry._NUMERIC))
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))
    registry._plug_ins.cache_clear()
    monkeypatch.chdir(tmp_path)
    yield
    for name in ("my_package", "my_package.laplace"):
        sys.modules.pop(name, None)
    monkeypatch.undo()
    registry._plug_ins.cache_clear()


def rows_of(size=3000, seed=0, gone=0.1):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, size)
    X = np.column_stack([rng.laplace(label * 2.0, 0.5 + label), np.clip(np.rint(rng.laplace(9 + 6 * label, 3)), 0, 40)])
    X[rng.random(size) < gone, 0] = np.nan
    return X, np.array(["a", "b"])[label]


def test_the_page_runs():
    assert names() == ("histogram", "gaussian", "truncated-gaussian", "laplace")
    space = run([USE], PAGE, **vars(sys.modules["my_package.laplace"]))
    fitted, schema, X, y = (space[name] for name in ("fitted", "schema", "X", "y"))
    assert space["ledger"].spent == 2
    bell = PrivateNB(2.0, schema=schema, numeric="gaussian", random_state=1).fit(X, y)
    assert fitted.score(X, y) > bell.score(X, y) > 0.7
    np.testing.assert_allclose(space["pipeline"].predict_proba(X), fitted.predict_proba(X), atol=1e-9)
    again = pickle.loads(pickle.dumps(space["pipeline"]))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    back = NaiveBayesModel.load("late.json")
    np.testing.assert_array_equal(back.predict_proba(X), fitted.model_.predict_proba(X))
    assert json.loads(Path("late.json").read_text())["features"][0]["kind"] == "laplace"
    shown = CliRunner().invoke(app, ["inspect", "late.json"])
    assert shown.exit_code == 0 and "two-sided exponential density: wait" in shown.output
    assert len(space["rows"]["wait"]) == 100


def test_within_the_package_not_even_the_line_is_needed(tmp_path):
    here = Path(discreet.__file__).parent
    shutil.copytree(here, tmp_path / "copy" / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "copy" / "discreet" / "bayes" / "likelihoods" / "laplace.py").write_text(FILE, encoding="utf-8")
    code = "import discreet.bayes.likelihoods as found; print(found.__file__, *found.registry._NUMERIC)"
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "copy")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    place, *known = done.stdout.split()
    assert place.startswith(str(tmp_path)) and sorted(known) == sorted(names())


def test_its_charges_are_those_of_sums_and_squares():
    """Under the page's one-file likelihood the ledger has the entries, sensitivities and scales of moments."""
    X, y = rows_of()
    ledger = Ledger(Budget(1))
    own = PrivateNB(1, schema=MISSING, numeric="laplace", adjacency="replace", contributions=2)
    certificate = own.fit(X, y, ledger=ledger).certificate_
    assert ledger.spent == Fraction(1)
    bell = PrivateNB(1, schema=MISSING, numeric="gaussian", adjacency="replace", contributions=2)
    assert own.plan().items == bell.plan().items
    half = MISSING.features[0].lattice.half
    entries = {charge.what: charge for charge in certificate.charges()}
    assert entries["sum of x by class"].sensitivity == str(4 * half)
    assert entries["sum of squares of x by class"].sensitivity == str(half**2 * 2)
    assert sum(Fraction(charge.cost) for charge in entries.values()) == 1


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_what_reaches_the_sampler_costs_epsilon(monkeypatch, adjacency):
    """Neighbours that are answered alike get the same model: nothing goes past the noise."""
    X, y = rows_of(80, gone=0.0)
    X[0], y[0] = (-8, 0), "a"
    others = [((8, 40), "b"), ((8, 40), "a")] if adjacency == "replace" else [((8, 40), "b")]

    def fit(data):
        return PrivateNB(1, schema=MISSING, numeric="laplace", adjacency=adjacency).fit(*data).model_.to_dict()

    losses = []
    for row, label in others:
        if adjacency == "replace":
            other, inserted = (X.copy(), y.copy()), ()
            other[0][0], other[1][0] = row, label
        else:
            other, inserted = (np.concatenate([[row], X]), np.concatenate([[label], y])), (0,)
        losses.append(replayed(monkeypatch, fit, (X, y), other, inserted=inserted).loss())
    assert 0.5 < max(losses) <= 1 + 1e-9


def test_without_noise_it_is_the_density_of_the_moments():
    X, y = rows_of()
    model = PrivateNB(math.inf, schema=MISSING, numeric="laplace").fit(X, y).model_
    expected = np.tile(model.log_prior, (len(X), 1))
    for k, label in enumerate("ab"):
        here = X[y == label]
        there = np.clip(here[~np.isnan(here[:, 0]), 0], -8, 8)
        share = (len(there) + 1) / (len(here) + 2)
        density = stats.laplace.logpdf(np.clip(X[:, 0], -8, 8), there.mean(), there.std() / math.sqrt(2))
        gone = np.isnan(X[:, 0])
        expected[:, k] += np.where(gone, math.log(1 - share), math.log(share) + density)
        expected[:, k] += stats.laplace.logpdf(X[:, 1], here[:, 1].mean(), here[:, 1].std() / math.sqrt(2))
    np.testing.assert_allclose(model.predict_joint_log_proba(X), expected, atol=1e-3)
    assert twin_of(model, X, y).to_dict() == model.to_dict()


def test_many_rows_score_as_few_do(monkeypatch):
    X, y = rows_of()
    model = PrivateNB(2.0, schema=MISSING, numeric="laplace", random_state=0).fit(X, y).model_
    few = model.predict_joint_log_proba(X)
    monkeypatch.setattr("discreet.bayes.score.SMALL", 0)
    np.testing.assert_array_equal(model.predict_joint_log_proba(X), few)
    np.testing.assert_array_equal(model.predict(X), model.classes[few.argmax(axis=1)])
    for size in (0, 10**9):
        monkeypatch.setattr("discreet.bayes.score.SMALL", size)
        with pytest.raises(DataError, match="infinite"):
            model.predict(np.array([[0.0, 3.0], [np.inf, 3.0]]))
        with pytest.raises(DataError, match="missing value"):
            model.predict(np.array([[0.0, 3.0], [1.0, np.nan]]))


def test_samples_follow_it():
    X, y = rows_of()
    model = PrivateNB(math.inf, schema=MISSING, numeric="laplace").fit(X, y).model_
    drawn = model.sample(20_000, rng=np.random.default_rng(0))
    values = np.array([v for v, label in zip(drawn["x"], drawn["y"], strict=True) if label == "a" and v is not None])
    one = model.likelihoods[0]
    # Kolmogorov and Smirnov's test of a fixed seed; a wrong scale by a tenth would give p below 1e-6.
    assert stats.kstest(values, stats.laplace(one.middle[0], one.scale[0]).cdf).pvalue > 1e-3
    assert all(isinstance(value, int) and 0 <= value <= 40 for value in drawn["n"])
    assert 0.05 < sum(value is None for value in drawn["x"]) / 20_000 < 0.15


def test_smooth_sensitivity_batches_and_federations_come_with_it():
    X, y = rows_of()
    bounds = SmoothSettings(), SmoothSettings(estimator="bun-steinke")
    for settings in (*({"smooth": one} for one in bounds), {"delta": 1e-6}, {"split": "equal"}):
        fitted = PrivateNB(5.0, schema=MISSING, numeric="laplace", random_state=1, **settings).fit(X, y)
        assert fitted.score(X, y) > 0.8 and {one.kind for one in fitted.model_.likelihoods} == {"laplace"}
    batches = PrivateNB(5.0, schema=MISSING, numeric="laplace", random_state=1)
    assert batches.partial_fit(X[:1500], y[:1500]).partial_fit(X[1500:], y[1500:]).score(X, y) > 0.8
    for weighting in ("sum", "inverse-variance", "trimmed"):
        together = FederatedNB(5.0, schema=MISSING, numeric="laplace", weighting=weighting, random_state=1).fit(X, y)
        assert together.score(X, y) > 0.7 and together.model_.likelihoods[0].kind == "laplace"


def test_a_calibrated_model_has_its_powers():
    X, y = rows_of()
    model = PrivateNB(5.0, schema=MISSING, numeric="laplace", random_state=1).fit(X, y).model_
    sober = calibrated(model, X, y, 1.0, random_state=0)
    before, after = (one.predict_joint_log_proba(X) for one in (model, sober))
    gaps = [scores[:, 1] - scores[:, 0] for scores in (before, after)]
    slope, bias = np.polyfit(gaps[0], gaps[1], 1)
    np.testing.assert_allclose(gaps[1], slope * gaps[0] + bias, atol=1e-9)
    assert sober.certificate.epsilon == "6"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scale": [1.0]}, "wrong shape"),
        ({"scale": [1.0, -1.0]}, "bounds"),
        ({"middle": [0.0, float("1e9")]}, "bounds"),
        ({"present": None}, "missing values"),
        ({"scale": "wide"}, "damaged"),
        ({"kind": "cauchy"}, "install the package"),
        ({"kind": ["laplace"]}, "damaged"),
    ],
)
def test_a_damaged_file_is_refused(change, message):
    X, y = rows_of()
    fields = PrivateNB(5.0, schema=MISSING, numeric="laplace", random_state=1).fit(X, y).model_.to_dict()
    fields["features"][0] |= change
    with pytest.raises(ModelError, match=message):
        NaiveBayesModel.from_dict(fields)


def test_the_commands_take_its_name(tmp_path):
    X, y = rows_of(gone=0.0)
    lines = ["x,n,y", *(f"{a},{int(b)},{label}" for (a, b), label in zip(X, y, strict=True))]
    Path("rows.csv").write_text("\n".join(lines) + "\n")
    MISSING.save("s.toml")
    arguments = ["rows.csv", "--schema", "s.toml", "--numeric", "laplace"]
    done = CliRunner().invoke(app, ["fit", *arguments, "--out", "m.json", "--json"])
    assert done.exit_code == 0, done.output
    assert {one["kind"] for one in json.loads(Path("m.json").read_text())["features"]} == {"laplace"}
    assert CliRunner().invoke(app, ["plan", *arguments[1:]]).exit_code == 0
    wrong = CliRunner().invoke(app, ["fit", *arguments[:-1], "lapalce", "--out", "n.json"])
    assert isinstance(wrong.exception, DiscreetError) and "'lapalce'" in str(wrong.exception)
    assert not Path("n.json").exists()


def test_a_likelihood_of_counts_is_read_off_the_table_as_the_fit_reads_it():
    """A second kind, of the other statistic: neighbouring bins share some of their probability."""

    @registry.register("smeared", "smeared table")
    @dataclass(frozen=True)
    class Smeared(TableLikelihood):
        @classmethod
        def estimate(cls, evidence, feature):
            p = np.exp(evidence.table(feature))
            moved = 0.8 * p + 0.1 * (np.roll(p, 1, axis=1) + np.roll(p, -1, axis=1))
            return cls(feature.name, np.log(moved))

    schema = Schema([Numeric("x", -8, 8, bins=12), Categorical("c", [0, 1])], "y", ["a", "b"])
    X, y = rows_of(gone=0.0)
    X[:, 1] = X[:, 1] > 12
    smeared, plain = (
        PrivateNB(1.0, schema=schema, numeric=numeric, random_state=1).fit(X, y) for numeric in ("smeared", "histogram")
    )
    assert smeared.plan().items == plain.plan().items and smeared.certificate_ == plain.certificate_
    assert [one.kind for one in smeared.model_.likelihoods] == ["smeared", "table"]
    p, q = (np.exp(one.model_.likelihoods[0].log_prob) for one in (plain, smeared))
    np.testing.assert_allclose(q[:, 3], 0.8 * p[:, 3] + 0.1 * (p[:, 2] + p[:, 4]))
    np.testing.assert_allclose(smeared.to_sklearn().predict_proba(X), smeared.predict_proba(X), atol=1e-9)
    assert NaiveBayesModel.from_dict(smeared.model_.to_dict()).to_dict() == smeared.model_.to_dict()
    assert twin_of(smeared.model_, X, y).likelihoods[0].kind == "smeared"
    with pytest.raises(BudgetError, match="tables"):
        PrivateNB(1.0, schema=schema, numeric="smeared", threshold=0.65).plan()
    with pytest.raises(BudgetError, match="means and variances"):
        PrivateNB(1.0, schema=schema, numeric="smeared", smooth=SmoothSettings()).plan()


def test_names_are_taken_once_and_unknown_ones_are_refused():
    kind = likelihood_of("laplace")
    with pytest.raises(ModelError, match="rename one"):
        registry.register("laplace", "another")(kind)
    with pytest.raises(ModelError, match="rename one"):
        registry.register("other", "another", kind="gaussian")(kind)
    assert (kind.numeric, kind.kind) == ("laplace", "laplace")
    with pytest.raises(BudgetError, match="histogram, gaussian, truncated-gaussian, laplace, not 'poisson'"):
        PrivateNB(schema=MISSING, numeric="poisson").plan()
    with pytest.raises(BudgetError, match="is for tables"):
        PrivateNB(schema=MISSING, numeric="laplace", strategy="partition").plan()


def test_a_plug_in_that_cannot_be_loaded_is_named(tmp_path):
    (tmp_path / "site" / "my_package" / "laplace.py").write_text("import no_such_module\n")
    with (
        pytest.warns(UserWarning, match=r"my_package\.laplace.*no_such_module"),
        pytest.raises(BudgetError, match="numeric must be one of histogram"),
    ):
        likelihood_of("laplace")
