import datetime

import pytest

from discreet.dossier import QUESTIONS, Answers, template
from discreet.errors import DiscreetError


def test_the_template_is_a_file_of_no_answers(tmp_path):
    path = tmp_path / "answers.toml"
    path.write_text(template(), encoding="utf-8")
    found = Answers.load(path)
    assert found.given == {}
    assert {one.key for one in found.missing()} == {one.key for one in QUESTIONS if not one.optional}


def test_a_template_keeps_what_was_answered(tmp_path):
    given = Answers({
        "product": {"name": 'a "quoted"\nname', "publication_date": datetime.date(2027, 1, 31)},
        "data": {"people": 10_000},
        "anonymity": {"claim": False},
    })  # fmt: skip
    path = tmp_path / "answers.toml"
    path.write_text(template(given), encoding="utf-8")
    assert Answers.load(path).given == given.given


def test_who_claims_no_anonymity_is_not_asked_to_prove_it():
    keys = {one.key for one in Answers({"anonymity": {"claim": False}}).missing()}
    assert not {key for key in keys if key.startswith("anonymity.")}
    assert "anonymity.means" in {one.key for one in Answers({"anonymity": {"claim": True}}).missing()}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"product": {"nam": "x"}}, "nothing asks for product.nam; do you mean product.name?"),
        ({"name": "x"}, "'name' stands outside a section"),
        (
            {"product": {"curator_type": "Shop"}},
            "product.curator_type takes Government, Industry, Nonprofit, not 'Shop'",
        ),
        ({"product": {"publication_date": "31.1.2027"}}, "product.publication_date takes a date such as 2027-01-31"),
        ({"product": {"name": 3}}, "product.name takes text, not 3"),
        ({"data": {"people": True}}, "data.people takes a whole number, not True"),
        ({"data": {"people": -4}}, "data.people takes a positive number, not -4"),
        ({"anonymity": {"claim": "yes"}}, "anonymity.claim takes true or false, not 'yes'"),
    ],
)
def test_wrong_answers_are_one_sentence(given, words):
    with pytest.raises(DiscreetError) as error:
        Answers(given)
    assert words in str(error.value)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"[product", b"= 3"])
def test_a_file_that_is_no_toml_is_named(tmp_path, content):
    path = tmp_path / "answers.toml"
    path.write_bytes(content)
    with pytest.raises(DiscreetError, match=r"answers\.toml cannot be read as TOML"):
        Answers.load(path)


def test_a_file_that_is_not_there_says_how_to_get_one(tmp_path):
    with pytest.raises(DiscreetError, match="--questions"):
        Answers.load(tmp_path / "none.toml")
