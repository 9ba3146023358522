"""The registry entry: a record for OpenDP's public list of deployments, laid out as an edition of its schema asks."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from discreet.bayes.items import STEPS
from discreet.dossier.facts import REGISTRY, TRUST, Facts
from discreet.dossier.questions import Answers
from discreet.errors import DiscreetError

OPEN = "Not answered yet"
OPEN_DATE = "1900-01-01"
# What earlier editions call a field, by the name that it has here.
ALSO = {
    "short_name": "name",
    "data_product_description": "description",
    "data_curator": "curator",
    "dp_flavor.name": "variant_name",
    "privacy_unit_description": "privacy_unit_details",
    "privacy_parameters_description": "privacy_parameters_details",
    "model_type": "model_name",
    "model_type_description": "model_name_details",
    "model_name_description": "model_name_details",
    "release_type_description": "release_type_details",
    "is_many_release_description": "release_type_details",
    "data_source_type_description": "data_source_type_details",
    "is_dynamic_description": "data_source_type_details",
    "interactivity": "access_type",
    "interactivity_description": "access_type_details",
    "access_type_description": "access_type_details",
    "is_interactive_description": "access_type_details",
    "pre_processing_eda_hyperparameter_tuning": "preprocessing_and_hyperparameter_tuning",
    "registry_author": "author",
}
WORDS = {"One release": "One-shot", "Many releases": "Continual"}  # values that earlier editions call otherwise


@dataclass(frozen=True)
class Entry:
    """A record, its tier, and the fields in it that nobody answered."""

    fields: dict[str, Any]
    tier: int
    unanswered: tuple[str, ...]
    slug: str

    def to_yaml(self) -> str:
        """The record as YAML; what nobody answered is marked."""
        return "\n".join(_yaml(self.fields, set(self.unanswered))) + "\n"


@cache
def edition() -> dict[str, Any]:
    """The layout that entries have if no other is given: field names, types, choices and tiers."""
    text = resources.files("discreet.dossier").joinpath("edition.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def read_edition(path: Path) -> dict[str, Any]:
    """A copy of the registry's own schema, YAML or JSON, for an entry that fits another edition of it."""
    try:
        content = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DiscreetError(f"the registry's schema {path} cannot be read: {error}") from None
    try:
        found = json.loads(content)
    except ValueError:
        try:
            import yaml
        except ImportError:
            raise DiscreetError("YAML needs PyYAML: 'pip install pyyaml', or pass the schema as JSON") from None
        try:
            found = yaml.safe_load(content)
        except yaml.YAMLError as error:
            raise DiscreetError(f"the registry's schema {path} is no YAML: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("properties"), dict):
        raise DiscreetError(f"{path} is no schema of deployments: it has no properties")
    return found


def make_entry(facts: Facts, answers: Answers, schema: dict[str, Any] | None = None) -> Entry:
    """The record of a model, as complete as certificate and answers make it."""
    layout = edition() if schema is None else schema
    values, known = _values(facts, answers)
    tier = 3 if all(not answers.missing(one, known) for one in (1, 2, 3)) else 2
    name = answers.get("product.name")
    slug = re.sub(r"[^a-z0-9]+", "-", (name or "unnamed model").lower()).strip("-") or "unnamed-model"
    values |= {"tier": tier, "url_slug": slug}
    unanswered: list[str] = []
    fields = _placed(layout, values, "", unanswered)
    if unanswered:  # a choice or a date has to stand there: say in the record itself which are none
        said = values["additional_information"]
        values["additional_information"] = " ".join([
            *([said] if said else []), "Placeholders that nobody has answered yet:", ", ".join(unanswered) + ".",
        ])  # fmt: skip
        fields = _placed(layout, values, "", [])
    return Entry(fields, tier, tuple(unanswered), slug)


def _values(facts: Facts, answers: Answers) -> tuple[dict[str, Any], list[str]]:
    """What each field says, by name, where anything is known; and which questions need no answer any more."""
    certificate, known = facts.certificate, []
    measured = facts.model.evaluation
    utility = answers.get("release.utility")
    if measured is not None:
        figures = "; ".join(
            f"{name} {one.value:.3f} ({one.low:.3f} to {one.high:.3f})" for name, one in measured.lines()
        )
        own = f"Measured under the same guarantee on rows held out, with intervals: {figures}."
        utility = f"{own} {utility}" if utility else own
        known.append("release.utility")
    mechanisms = [
        f"Mechanisms: {', '.join(facts.mechanisms)}. Noise: {certificate.sampler}.",
        f"Implementation: {certificate.library}. Counts are integers, numbers lie on public lattices and costs are "
        "exact fractions, so that rounding of floating-point numbers cannot widen a sensitivity.",
        f"Fingerprints: certificate {certificate.hash}, schema {certificate.schema_hash}.",
    ]
    if answers.get("release.access"):
        mechanisms.append(f"Security of the rows: {answers.get('release.access')}")
    future = answers.get("release.future")
    domain = answers.get("data.domain")
    settled = "The schema was declared by a person."
    if facts.model.schema.inferred:
        settled = "The schema was read off the rows, which was not paid for."
    elif certificate.elsewhere:
        settled = "Parts of the schema were estimated privately, and paid for: see composition."
    preprocessing = answers.get("data.preprocessing")
    curator = answers.get("product.curator")
    found: dict[str, Any] = {
        "name": answers.get("product.name"),
        "curator": curator,
        "data_curator_name": curator,
        "data_curator_type": answers.get("product.curator_type"),
        "description": answers.get("product.description"),
        "intended_use": answers.get("product.intended_use"),
        "data_product_type": "Machine learning model",
        "data_product_region": answers.get("product.region"),
        "data_product_sector": answers.get("product.sector"),
        "publication_date": None if answers.get("product.publication_date") is None
        else answers.get("product.publication_date").isoformat(),
        "variant_name": facts.variant,
        "data_domain": f"{domain} Every row has the columns {facts.columns}." if domain else None,
        "unprotected_quantities": " ".join(facts.unprotected),
        "privacy_unit": facts.unit,
        "privacy_unit_details": f"{facts.neighbours} {certificate.protects[:1].upper()}{certificate.protects[1:]}.",
        "number_of_privacy_units": answers.get("data.people"),
        "epsilon": facts.epsilon,
        "delta": facts.delta or None,
        "rho": None,
        "privacy_parameters_details": f"{certificate.accounting[:1].upper()}{certificate.accounting[1:]}. Covers "
        f"{certificate.covers}.",
        "model_name": REGISTRY[facts.trust],
        "model_name_details": TRUST[facts.trust],
        "trust_assumptions": " ".join(f"{one[:1].upper()}{one[1:]}." for one in certificate.assumptions)
        or "None beyond those of the deployment model.",
        "actors": answers.get("release.actors"),
        "release_type": "Many releases" if _continual(facts) else "One release",
        "release_type_details": future,
        "data_source_type": "Dynamic" if _continual(facts) else "Static",
        "data_source_type_details": "The rows were counted once, for this release."
        if not _continual(facts) else "Rows come in steps; one budget pays for all of them.",
        "access_type": "Non-interactive",
        "access_type_details": "People get the released model as a file and cannot query the rows.",
        "preprocessing_and_hyperparameter_tuning": f"{preprocessing} {settled}" if preprocessing else None,
        "mechanisms": " ".join(mechanisms),
        "composition": f"{certificate.accounting[:1].upper()}{certificate.accounting[1:]}. "
        f"{len(facts.charges)} charge(s) stand in the certificate's ledger.",
        "post_processing": "Clamping, smoothing and consistency of noisy statistics, and the parameters of the model "
        "computed from them; nothing after the noise looks at the rows.",
        "justification": answers.get("release.justification"),
        "utility": utility,
        "additional_information": answers.get("product.sources"),
        "sources": answers.get("product.sources"),
        "status": "Draft",
        "approved": False,
        "author": answers.get("product.authors"),
        "is_many_release": _continual(facts),
        "is_dynamic": _continual(facts),
        "is_interactive": False,
    }  # fmt: skip
    found["data_curators"] = [curator] if curator else None
    authors = answers.get("product.authors")
    found["registry_authors"] = [authors] if authors else None
    return found, known


def _continual(facts: Facts) -> bool:
    """Whether one budget pays for many releases, step by step."""
    return STEPS in facts.certificate.assumptions


def _placed(layout: dict[str, Any], values: dict[str, Any], path: str, unanswered: list[str]) -> dict[str, Any]:
    """The fields that a layout has, out of values by name; required ones that have none are marked."""
    found: dict[str, Any] = {}
    for name, node in layout.get("properties", {}).items():
        here = f"{path}.{name}".lstrip(".")
        needed = name in layout.get("required", ())
        if "properties" in node:
            inside = _placed(node, values, here, unanswered)
            if inside or needed:
                found[name] = inside
            continue
        value = _lookup(here, name, values)
        items = node.get("items", {})
        if node.get("type") == "array" and "properties" in items:
            found[name] = [_placed(items, values, here, unanswered)]
            continue
        if value is not None and "enum" in node and value not in node["enum"]:
            value = WORDS.get(value) if WORDS.get(value) in node["enum"] else None
        if value is None and needed:
            unanswered.append(here)
            value = _open(node)
        if value is not None:
            found[name] = value
    return found


def _lookup(here: str, name: str, values: dict[str, Any]) -> Any:
    """The value of a field, by the end of its path or by its name, as this edition or an earlier one calls it."""
    parts = here.split(".")
    for key in (".".join(parts[-2:]), name):
        if key in ALSO:
            return values.get(ALSO[key])
    return values.get(name)


def _open(node: dict[str, Any]) -> Any:
    """What stands where an answer is required and missing: text that says so, or the first choice, marked."""
    if "enum" in node:
        return node["enum"][0]
    if node.get("format") == "date":
        return OPEN_DATE
    if node.get("type") == "array":
        return [OPEN]
    return False if node.get("type") == "boolean" else OPEN


def _yaml(value: Any, marked: set[str], path: str = "", indent: str = "") -> list[str]:
    """Block mappings of double-quoted text, which every YAML reader takes."""
    lines = []
    for name, one in value.items():
        here = f"{path}.{name}".lstrip(".")
        note = "  # not answered: fill in" if here in marked else ""
        if isinstance(one, dict):
            lines += [f"{indent}{name}:{' {}' if not one else ''}", *_yaml(one, marked, here, indent + "  ")]
        elif isinstance(one, list):
            lines.append(f"{indent}{name}:")
            for item in one:
                if isinstance(item, dict):
                    inner = _yaml(item, marked, here, indent + "    ")
                    lines += [f"{indent}  - {inner[0].strip()}", *inner[1:]]
                else:
                    lines.append(f"{indent}  - {json.dumps(item, ensure_ascii=False)}{note}")
        else:
            lines.append(f"{indent}{name}: {_scalar(one)}{note}")
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, float):
        shown = repr(value)
        return shown if "e" not in shown or "." in shown else shown.replace("e", ".0e")  # YAML 1.1 wants the point
    return json.dumps(value, ensure_ascii=False)
