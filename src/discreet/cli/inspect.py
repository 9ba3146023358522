"""discreet inspect: what a released model is and what it guarantees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.cli import options
from discreet.cli.terminal import console, folded, print_json, table

if TYPE_CHECKING:
    from discreet.models import ReleasedModel
    from discreet.privacy.certificate import ChargeRecord, GroupRecord, Leaf, SmoothRecord


def command(
    model: options.Model,
    as_json: options.Json = False,
) -> None:
    """Print the certificate of a released model: the guarantee, whom it protects, and how it was spent."""
    from discreet.models import load

    loaded = load(model)
    if as_json:
        print_json(loaded.describe())
        return
    show(loaded)


def show(loaded: ReleasedModel) -> None:
    """Print a model's certificate for a person."""
    from fractions import Fraction

    from discreet.domain import text

    certificate, screen = loaded.certificate, console()
    budget = f"epsilon = {certificate.epsilon_value:g}, delta = {certificate.delta_value:g}"
    if certificate.rho is not None:
        budget += f", rho = {float(Fraction(certificate.rho)):.4g}"
    verdict = (
        "NOT PRIVATE"
        if not certificate.private
        else "SIMULATION, NOT FOR RELEASE"
        if certificate.simulation
        else "differentially private, but the schema was read off the data"
        if loaded.schema.inferred
        else "differentially private"
    )
    facts = [
        ["model", f"{loaded.NAME} of {len(loaded.schema.features)} feature(s)"],
        ["guarantee", verdict + (f": {budget}" if certificate.private else "")],
        ["neighbours", str(certificate.adjacency)],
        ["protects", certificate.protects],
        ["covers", certificate.covers],
        *([["tables", certificate.tables]] if certificate.tables else []),
        ["accounting", certificate.accounting],
        ["noise", certificate.sampler],
        *(["assumes", assumption] for assumption in certificate.assumptions),
        ["target", f"{loaded.schema.target}: {', '.join(text(label) for label in loaded.schema.classes)}"],
        ["features", ", ".join(loaded.schema.names)],
        *(["modelled by", f"{words}: {', '.join(names)}"] for words, names in _by_words(loaded).items()),
        ["schema", certificate.schema_hash],
        ["made by", certificate.library],
    ]
    for name, value in facts:
        screen.print(f"{name:<11} ", style="bold", end="")
        screen.print(folded(value, 12))
    if loaded.evaluation is not None:
        from discreet.cli.evaluate import headline

        share = loaded.evaluation.held_out
        screen.print()
        screen.print("measured privately on rows held out" + ("" if share is None else f" (share {share:g})"))
        screen.print(headline(loaded.evaluation))
    show_ledger(certificate.ledger)


def show_ledger(ledger: Leaf | GroupRecord) -> None:
    """Print what was spent or would be, for a person: one table of reports, one of noisy releases."""
    from fractions import Fraction

    from discreet.privacy.certificate import ResponseRecord, SmoothRecord, leaves

    charges, screen = leaves(ledger), console()
    responses = [c for c in charges if isinstance(c, ResponseRecord)]
    if responses:
        screen.print()
        rows = [
            [c.what, c.mechanism, ", ".join(f"{name} = {_short(value)}" for name, value in c.parameters.items()),
             f"{float(Fraction(c.cost)):.4g}"]
            for c in responses
        ]  # fmt: skip
        screen.print(table("reports", ["about", "mechanism", "public parameters", "epsilon"], rows, left=3))
    noisy = [c for c in charges if not isinstance(c, ResponseRecord)]
    if noisy:
        measures = {c.measure for c in noisy}
        mixed = len(measures) > 1  # pure epsilon and rho in one column: each cost then names its own

        def line(c: ChargeRecord | SmoothRecord) -> list[str]:
            return [
                c.mechanism,
                "private bound" if isinstance(c, SmoothRecord) else c.sensitivity,
                "private" if isinstance(c, SmoothRecord) else f"{float(Fraction(c.spread)):.4g}",
                (f"{c.measure} " if mixed else "") + f"{float(Fraction(c.cost)):.4g}",
            ]

        rows = [[title, *(["", "", "", ""] if c is None else line(c))] for title, c in _entries(ledger)]
        heads = ["statistic", "mechanism", "sensitivity", "scale or variance", "cost" if mixed else measures.pop()]
        screen.print()
        screen.print(table("ledger", heads, rows, left=2))


def _by_words(loaded: ReleasedModel) -> dict[str, list[str]]:
    """The features of each kind of likelihood, where a model has several."""
    found: dict[str, list[str]] = {}
    for feature in loaded.kinds:
        if "words" in feature:
            found.setdefault(feature["words"], []).append(feature["name"])
    return found


def _entries(
    node: Leaf | GroupRecord, indent: int = 0, *, inside: bool = False
) -> list[tuple[str, ChargeRecord | SmoothRecord | None]]:
    """The noisy releases of a ledger, in order, under a heading wherever costs do not simply add up.

    `inside` a parallel group, releases whose costs do add up have a heading too.
    """
    from discreet.privacy.certificate import GroupRecord, ResponseRecord

    margin = "  " * indent
    if isinstance(node, ResponseRecord):
        return []
    if not isinstance(node, GroupRecord):
        return [(margin + node.what, node)]
    parallel = node.node == "parallel"
    headed = len(node.parts) > 1 and (parallel or inside)
    found = [one for part in node.parts for one in _entries(part, indent + headed, inside=parallel and headed)]
    rule = "in parallel, the dearest counts" if parallel else "costs added up"
    return [(f"{margin}{node.what} ({rule}):", None), *found] if headed and found else found


def _short(value: str) -> str:
    """A public parameter: a whole number as it is, any other number with four digits, words as they are."""
    from fractions import Fraction

    try:
        return value if value.isdigit() else f"{float(Fraction(value)):.4g}"
    except (ValueError, ZeroDivisionError):
        return value
