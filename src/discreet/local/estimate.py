"""Estimation: tallies of reports → a Naive Bayes model; post-processing only, so it costs nobody any privacy.

What is known about each input are unbiased frequencies with two errors of known size: the noise of the reports, and
that only some people were asked. All tables estimate the same class shares, which are combined by inverse variance;
then each table is moved to them. The noise is alike in all cells, so its part of the gap is spread evenly over a row;
the part that comes from who was asked leaves the row's proportions alone. (This is least squares for that covariance.)

Each table is scaled to the people who were asked about it: that is the sample its pseudo-counts belong to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.bayes.estimate import consistent, log_prior, log_table, project
from discreet.bayes.likelihoods import Likelihood, TableLikelihood
from discreet.bayes.model import NaiveBayesModel
from discreet.errors import StatisticsError
from discreet.local.inputs import Input, input_of
from discreet.local.mechanism import Floats
from discreet.local.oracles import Oracle
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import Parallel, Response
from discreet.privacy.plan import Paid
from discreet.schema import Feature, Numeric, Schema

# ---- the certificate: what each person's device guaranteed before anything left it

DEVICES = "by those who sent the reports"
ONE_PROCESS = "by the operating system for each person, in the one process that held all rows"
SIMULATED = "numpy: pseudo-random simulation"
DRAWN = "drawn before the person's row is read"
CLIENTS = "every report was drawn by a client that follows its mechanism, with randomness nobody else knows"
PROTECTS = (
    "each person who sent a report, whoever collects it: the report hardly depends on what the person's row says, "
    "label included (how many people sent reports is public)"
)


def ledger_of(schema: Schema, tallies: Iterable[Any]) -> Parallel:
    """One entry per input and mechanism; each person pays for their own reports only, so the dearest counts."""
    listed = sorted(tallies, key=lambda one: (one.index, one.mechanism.name, one.mechanism.epsilon, one.parts))
    parts = tuple(
        Response(
            mechanism=one.mechanism.name,
            what=input_of(schema, one.index).label(schema),
            cost=one.mechanism.epsilon * one.parts,
            parameters=_parameters(one.mechanism, one.parts),
        )
        for one in listed
    )
    most = max((one.parts for one in listed), default=1)
    about = "one report about one input" if most == 1 else f"at most {most} reports about different inputs"
    return Parallel("reports of different people", f"each person sends {about}, {DRAWN}", parts)


def _parameters(mechanism: Any, parts: int) -> tuple[tuple[str, str], ...]:
    names = {"d": "d", "p": "p", "q": "q", "theta": "theta", "classes": "classes", "half": "half"}
    found = [(shown, str(getattr(mechanism, name))) for name, shown in names.items() if hasattr(mechanism, name)]
    return tuple(found if parts == 1 else [*found, ("reports per person", str(parts))])


def local_certificate(
    schema: Schema, tallies: Iterable[Any], *, simulation: bool = False, sampler: str = DEVICES
) -> Certificate:
    """What was guaranteed to the people whose reports were counted: the largest ε of any of them."""
    node = ledger_of(schema, tallies)
    epsilon = max((part.cost for part in node.parts if isinstance(part, Response)), default=Fraction(0))
    return certify(
        Paid(schema, Budget(epsilon), Adjacency.REPLACE, 1, node),
        sampler=SIMULATED if simulation else sampler,
        simulation=simulation,
        accounting="local: the ε of the dearest person; nobody needs to trust the collector",
        covers="every report by itself, hence this model and everything computed from them",
        assumptions=(CLIENTS,) if sampler == DEVICES else (),
        where=None,
        whom=PROTECTS,
    )


@dataclass(frozen=True, eq=False)
class Tally:
    """What `reports` reports about one input said in sum, all of them from one mechanism.

    `parts` is how many inputs each of these people reported about: a person pays `parts` times the mechanism's ε.
    """

    index: int
    mechanism: Any
    reports: int
    support: Any
    parts: int = 1


@dataclass(frozen=True, eq=False)
class Table:
    """Estimated shares of (class, cell) in all people, from as good as `rows` exact answers with noise on top.

    `cell_noise` and `row_noise` are variances: of one cell on average, and of the sum over a class's cells.
    """

    shares: Floats
    rows: float
    cell_noise: float
    row_noise: float


def table_of(tallies: Sequence[Tally], classes: int, cells: int) -> Table:
    """The tallies of one input as one table, combined by inverse variance of the frequencies."""
    d = classes * cells
    weights, shares, noises, rows = [], [], [], []
    for one in tallies:
        oracle, m = one.mechanism, one.reports
        if not isinstance(oracle, Oracle) or oracle.d != d:
            raise StatisticsError(f"a tally of input {one.index} has a mechanism for another domain")
        cell = oracle.group_noise(1, 1 / d) / m
        weights.append(1 / (cell + (1 - 1 / d) / d / m))
        shares.append(oracle.estimate(one.support, m).reshape(classes, cells) / m)
        noises.append((cell, oracle.group_noise(cells, 1 / classes) / m))
        rows.append(m)
    weight = np.array(weights) / sum(weights)
    cell_noise, row_noise = (weight**2) @ np.array(noises)
    return Table(
        np.tensordot(weight, np.array(shares), axes=1), float(1 / np.sum(weight**2 / np.array(rows))),
        float(cell_noise), float(row_noise),
    )  # fmt: skip


def class_shares(tables: Iterable[Table], classes: int) -> Floats:
    """The shares of the classes by all tables, weighted by inverse variance; the nearest point of the simplex."""
    even = 1 / classes
    pairs = [(one.shares.sum(axis=1), one.row_noise + even * (1 - even) / one.rows) for one in tables]
    if not pairs:
        return np.full(classes, even)
    weights = np.array([1 / variance for _, variance in pairs])
    shares = np.tensordot(weights / weights.sum(), np.array([mean for mean, _ in pairs]), axes=1)
    return np.asarray(project(shares[None, :], np.ones(1))[0])


def log_cells(feature: Feature, table: Table | None, prior: Floats, smoothing: float) -> Floats:
    """Log-probability of each cell given the class; even where nobody reported."""
    cells = feature.cells
    if table is None:
        return np.full((len(prior), cells), -np.log(cells))
    m = table.rows
    asked = prior * (1 - prior) * m  # how far the classes of the people asked stray from everybody's
    fixed = consistent(table.shares * m, prior * m, table.row_noise * m * m / cells, asked)
    return log_table(fixed, prior * m, table.cell_noise * m * m, smoothing)


def grouped(schema: Schema, tallies: Iterable[Tally]) -> dict[Input, list[Tally]]:
    """The tallies that have any reports, by input."""
    result: dict[Input, list[Tally]] = {}
    for one in tallies:
        if one.reports:
            result.setdefault(input_of(schema, one.index), []).append(one)
    return result


def estimate(schema: Schema, tallies: Iterable[Tally], smoothing: float = 1.0) -> tuple[Floats, list[Likelihood]]:
    """The class log-prior and the likelihood of each feature; a feature that nobody reported about says nothing."""
    from discreet.local.curves import curve_of

    asked, classes = grouped(schema, tallies), len(schema.classes)
    tables = {
        one.feature: table_of(found, classes, 1 if one.feature is None else one.feature.cells)
        for one, found in asked.items()
        if not one.numeric
    }
    prior = class_shares(tables.values(), classes)
    everyone = sum(one.reports for found in asked.values() for one in found)
    likelihoods: list[Likelihood] = []
    for feature in schema.features:
        curve = curve_of(schema, feature, asked, prior) if isinstance(feature, Numeric) else None
        table = tables.get(feature)
        if curve is not None and (table is None or table.rows < curve.rows):
            likelihoods.append(curve.likelihood)
        else:
            likelihoods.append(TableLikelihood(feature.name, log_cells(feature, table, prior, smoothing)))
    return log_prior(prior * max(everyone, 1)), likelihoods


def model_of(
    schema: Schema,
    tallies: Iterable[Tally],
    *,
    smoothing: float = 1.0,
    simulation: bool = False,
    sampler: str = DEVICES,
) -> NaiveBayesModel:
    """The model with its certificate; `simulation` says that the reports came from a seed and not from people."""
    counted = [one for one in tallies if one.reports]
    if not counted:
        raise StatisticsError("there are no reports to learn from")
    prior, likelihoods = estimate(schema, counted, smoothing)
    certificate = local_certificate(schema, counted, simulation=simulation, sampler=sampler)
    return NaiveBayesModel(schema, prior, likelihoods, certificate)
