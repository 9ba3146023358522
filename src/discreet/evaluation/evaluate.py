"""evaluate_privately: how good a released model is on private rows, for a budget of its own."""

from __future__ import annotations

from typing import Any

from discreet.errors import BudgetError
from discreet.evaluation.exact import Scoring
from discreet.evaluation.figures import figures
from discreet.evaluation.plan import EvaluationPlan, make_evaluation_plan
from discreet.evaluation.release import add_noise, count_rows
from discreet.mechanisms.noise import Sampler, bytes_of, sampler_for
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.measured import PrivateEvaluation
from discreet.privacy.payer import Payer, attempt, paying
from discreet.privacy.unexpected import REFUSE
from discreet.sources import Progress, charge, check_shape

COVERS = "the figures of this evaluation and everything computed from them; not the model, which has its own"
HELD_OUT = "the figures measured on the rows held out"
RELEASED = (
    "the model was released before: what it owes to these rows, if it was trained on any of them, is on its own "
    "certificate, and the two costs add up"
)


def check_confidence(given: Any) -> float:
    """A confidence, or the error that says what it may be."""
    found = float(number(given, "confidence"))
    if not 0.5 <= found <= 0.9999:
        raise BudgetError("confidence must lie between 0.5 and 0.9999")
    return found


def evaluate_privately(
    model: Scoring,
    data: Any,
    y: Any = None,
    *,
    epsilon: Any,
    adjacency: str = "add-remove",
    contributions: int = 1,
    confidence: float = 0.95,
    unexpected: str = REFUSE,
    ledger: Payer | None = None,
    account: Any = None,
    random_state: Any = None,
    progress: Progress | None = None,
) -> PrivateEvaluation:
    """Accuracy, balanced accuracy, AUC, confusion table and calibration of a released model on private rows.

    The rows (an array or data frame with labels `y`, a file, or a database table) are counted by true class and score
    bin, and the counts released with exact discrete Laplace noise at `epsilon`; all figures come from them, each with
    an interval that holds the noise. Charged to the `account` (or `ledger`), if any, before a row is read. Data
    without any row, or with rows of one class, are answered like any other: by noise and wide intervals. With
    `unexpected="absorb"` rows that do not fit the schema are placed or left out instead of being refused.
    """
    sure = check_confidence(confidence)
    model = getattr(model, "model_", model)
    if not hasattr(model, "score_rows"):
        raise BudgetError("evaluate_privately needs a released model: pass estimator.model_ or load_model(file)")
    plan = make_evaluation_plan(
        model, Budget(epsilon), adjacency=Adjacency.of(adjacency), contributions=contributions, unexpected=unexpected
    )
    sampler = sampler_for(random_state)
    check_shape(data, y, model.schema, who="an evaluation")
    with attempt():
        charge(paying(ledger, account), plan, data, schema=model.schema)
        return measure(model, plan, sampler, data, y, confidence=sure, progress=progress,
                       certificate=evaluation_certificate(plan, sampler))  # fmt: skip


def measure(
    model: Scoring,
    plan: EvaluationPlan,
    sampler: Sampler,
    data: Any,
    y: Any = None,
    *,
    confidence: float,
    progress: Progress | None = None,
    **fields: Any,
) -> PrivateEvaluation:
    """Read, release and compute; the caller has charged the plan."""
    noisy = add_noise(count_rows(model, plan, data, y, draw=bytes_of(sampler), progress=progress), plan, sampler)
    return figures(noisy, plan, model.schema, probabilistic=model.probabilistic, confidence=confidence, **fields)


def evaluation_certificate(plan: EvaluationPlan, sampler: Sampler, *, held_out: bool = False) -> Certificate:
    """What an evaluation guarantees for the rows it read."""
    return certify(
        plan,
        sampler=sampler.name,
        simulation=sampler.simulation,
        accounting="pure epsilon of counts in which every row has one cell of each table",
        covers=HELD_OUT if held_out else COVERS,
        kind="these figures are",
        assumptions=() if held_out else (RELEASED,),
    )
