import json

import jsonschema
import pytest
import yaml

from discreet.dossier import make_dossier, read_edition
from discreet.dossier.registry import edition
from discreet.errors import DiscreetError

# What an earlier edition of the registry asked for: other names, other nesting, other choices.
EARLIER = {
    "type": "object",
    "additionalProperties": False,
    "required": ["status", "registry_authors", "tier", "deployment"],
    "properties": {
        "status": {"type": "string", "enum": ["Draft", "Approved"]},
        "registry_authors": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "tier": {"type": "integer", "enum": [1, 2, 3]},
        "deployment": {
            "type": "object",
            "additionalProperties": False,
            "required": [
                "name",
                "data_curator",
                "description",
                "intended_use",
                "data_product_type",
                "publication_date",
            ],
            "properties": {
                "name": {"type": "string"},
                "data_curator": {"type": "string"},
                "description": {"type": "string"},
                "intended_use": {"type": "string"},
                "data_product_type": {"type": "string", "enum": ["Summary statistics", "Machine learning model"]},
                "publication_date": {"type": "string", "format": "date"},
                "dp_flavor": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name", "data_domain"],
                    "properties": {
                        "name": {"type": "string", "enum": ["Pure DP", "Approximate DP"]},
                        "data_domain": {"type": "string"},
                    },
                },
                "model": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "model_type": {"type": "string", "enum": ["Local", "Central", "Shuffle", "Federated"]},
                        "release_type": {"type": "string", "enum": ["One-shot", "Continual"]},
                        "is_interactive": {"type": "boolean"},
                    },
                },
                "implementation": {
                    "type": "object",
                    "properties": {"pre_processing_eda_hyperparameter_tuning": {"type": "string"}},
                },
            },
        },
    },
}


def valid(entry, schema):
    """The entry as a reader of its YAML gets it, checked as the registry checks it."""
    text = entry.to_yaml()
    fields = yaml.safe_load(text)
    checker = jsonschema.Draft7Validator(schema, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
    assert [error.message for error in checker.iter_errors(fields)] == []
    for token in yaml.scan(text):  # the registry takes plain, quoted and literal text only
        assert getattr(token, "style", None) in (None, "|", '"', "'")
    assert fields == entry.fields
    return fields


def test_entries_without_answers_are_of_tier_2_and_mark_what_is_open(models):
    for model in models.values():
        made = make_dossier(model)
        assert made.entry.tier == 2
        assert valid(made.entry, edition())["deployment"]["administrative"]["tier"] == 2
        assert "deployment.basic.name" in made.entry.unanswered
        marked = [line for line in made.entry.to_yaml().splitlines() if line.endswith("# not answered: fill in")]
        assert len(marked) == len(made.entry.unanswered) == 8
        said = made.entry.fields["deployment"]["implementation"]["additional_information"]
        assert all(name in said for name in made.entry.unanswered)  # in the record itself, not only in comments


def test_entries_with_all_answers_are_of_tier_3_and_invent_nothing(models, full):
    for model in models.values():
        made = make_dossier(model, full)
        fields = valid(made.entry, edition())["deployment"]
        assert made.entry.tier == fields["administrative"]["tier"] == 3
        assert not made.entry.unanswered and not made.missing
        lacking = [
            f"{room}.{name}"
            for room, node in edition()["properties"]["deployment"]["properties"].items()
            for name in node["properties"]
            if name not in fields[room]
        ]
        assert lacking == ["administrative.evidence_sources"]


@pytest.mark.parametrize("dropped", ["release.justification", "data.domain", "product.region", "data.people"])
def test_one_answer_less_is_tier_2(models, full, dropped):
    from discreet.dossier import Answers

    sections = {}
    for key, value in full.given.items():
        if key != dropped:
            section, _, name = key.partition(".")
            sections.setdefault(section, {})[name] = value
    made = make_dossier(models["central"], Answers(sections))
    assert made.entry.tier == 2 and [one.key for one in made.missing] == [dropped]
    valid(made.entry, edition())


def test_trust_models_and_variants_are_named_as_the_registry_does(models):
    names = {
        name: make_dossier(model).entry.fields["deployment"]["deployment_model"]["model_name"]
        for name, model in models.items()
    }
    assert names == {
        "central": "Central", "delta": "Central", "held": "Central", "local": "Local", "federated": "Federated",
        "secure": "Federated", "gossip": "Federated",
    }  # fmt: skip
    loss = make_dossier(models["delta"]).entry.fields["deployment"]
    assert loss["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.5, "delta": 1e-6}
    assert loss["dp_variant"]["variant_name"] == "Approximate DP"
    assert "up to 2 rows" in loss["privacy_loss"]["privacy_unit"]
    assert "number of rows" in loss["dp_variant"]["unprotected_quantities"]


def test_another_edition_is_laid_out_by_its_own_schema(models, full, tmp_path):
    for suffix, content in ((".yaml", yaml.safe_dump(EARLIER)), (".json", json.dumps(EARLIER))):
        path = tmp_path / f"schema{suffix}"
        path.write_text(content)
        fields = valid(make_dossier(models["local"], full, read_edition(path)).entry, EARLIER)
        assert fields["deployment"]["dp_flavor"]["name"] == "Pure DP"
        assert fields["deployment"]["model"] == {
            "model_type": "Local", "release_type": "One-shot", "is_interactive": False,
        }  # fmt: skip
        assert fields["deployment"]["data_curator"].startswith("Answer")


@pytest.mark.parametrize("content", ["[1, 2]", "a: [", "just text"])
def test_what_is_no_schema_is_refused(tmp_path, content):
    path = tmp_path / "schema.yaml"
    path.write_text(content)
    with pytest.raises(DiscreetError, match="schema"):
        read_edition(path)


def test_what_held_all_rows_and_what_goes_on_are_told(models):
    from discreet import LocalNB, PrivateNB
    from discreet.dossier.facts import CENTRAL, MASKED, Facts

    from .conftest import SCHEMA, rows

    X, y = rows(60)
    rehearsed = LocalNB(epsilon=2.0, schema=SCHEMA).fit(X, y).model_  # one process held all rows: no device drew
    assert Facts(rehearsed).trust == CENTRAL and Facts(models["secure"]).trust == MASKED
    running = PrivateNB(1.0, schema=SCHEMA, stream=4).partial_fit(X, y).model_
    told = make_dossier(running).entry.fields["deployment"]["deployment_model"]
    assert told["release_type"] == "Many releases" and told["data_source_type"] == "Dynamic"
    assert make_dossier(models["local"]).entry.fields["deployment"]["deployment_model"]["data_source_type"] == "Static"
