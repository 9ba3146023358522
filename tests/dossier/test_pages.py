import re
from html import escape
from html.parser import HTMLParser

import pytest

from discreet import PrivateNB
from discreet.dossier import make_dossier
from discreet.dossier.facts import Facts
from discreet.dossier.pages import CHAPTERS
from discreet.errors import ModelError

from .conftest import SCHEMA, rows


class Reader(HTMLParser):
    """Checks that what is opened is closed, and collects text, ids and addresses."""

    VOID = frozenset(("meta", "rect", "line", "polygon", "polyline", "br"))

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.words, self.addresses = [], set(), [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        held = dict(attrs)
        if "id" in held:
            assert held["id"] not in self.ids
            self.ids.add(held["id"])
        if tag == "a":
            self.links.append(held["href"])
        self.addresses += [held[name] for name in ("src", "href") if name in held]

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_pages_stand_by_themselves_and_escape_what_people_wrote(models, full):
    for model in models.values():
        made = make_dossier(model, full)
        for page in (made.dossier, made.label):
            reader = read(page)
            assert all(address.startswith("#") for address in reader.addresses)
            assert (
                "url(" not in page
                and "<script" not in page
                and "http" not in page.split("</head>")[0].replace("http-equiv", "")
            )
            assert "<i>" not in page and "<b>former" not in page


def test_chapters_follow_the_pyramid_and_the_table_of_contents_leads_there(models):
    reader = read(make_dossier(models["central"]).dossier)
    assert reader.links[1:] == [f"#{key}" for key, _ in CHAPTERS]
    assert {key for key, _ in CHAPTERS} <= reader.ids
    titles = [title for _, title in CHAPTERS]
    assert titles.index("Epsilon and the unit of privacy") < titles.index("Bias") < titles.index("Data collection")


def test_open_questions_are_listed_and_answered_ones_are_told(models, full):
    bare, whole = make_dossier(models["central"]), make_dossier(models["central"], full)
    assert "product.name" in bare.dossier and len(bare.missing) == bare.dossier.count('<li><span class="open">')
    assert 'class="open"' not in whole.dossier
    for key, answer in full.given.items():
        assert escape(str(answer)) in whole.dossier, key
    assert "&lt;i&gt;product.contact" in whole.label and "&lt;i&gt;product.description" in whole.label


def test_numbers_are_those_of_the_certificate(models):
    central, delta, held = models["central"], models["delta"], models["held"]
    text = make_dossier(central).dossier
    assert "factor of 2.72 at most" in text and "73.1 %" in text  # e, and e / (1 + e)
    assert "row says change by a factor of 7.39 at most" in text  # what it says, not whether it is there: squared
    assert "There is no δ" in text and central.certificate.hash in text
    text = make_dossier(delta).dossier
    assert "δ = 1e-06" in text and "a chance of about 1e-06" in text
    assert "number of rows is the same in both" in text.lower()
    text = make_dossier(held).dossier
    assert f"{held.evaluation.auc.value:.3f}" in text and "release.utility" not in text
    for one in central.certificate.charges():
        assert one.mechanism in text


def test_the_best_attack_is_the_one_that_the_theorem_bounds(models):
    facts = Facts(models["delta"])
    e, d = 2.718281828459045**0.5, 1e-6
    for wrong in (0.0, 0.01, 0.3, 0.7, 1.0):
        assert facts.power(wrong) == pytest.approx(min(e * wrong + d, 1 - (1 - d - wrong) / e, 1.0))
    assert facts.after(0.5) == pytest.approx(e / (1 + e))


def test_what_is_not_for_release_has_no_dossier():
    X, y = rows(40)
    import math

    for settings, words in (
        ({"epsilon": math.inf}, "not private"),
        ({"epsilon": 1.0, "random_state": 3}, "made for study"),
    ):
        model = PrivateNB(schema=SCHEMA, **settings).fit(X, y).model_
        with pytest.raises(ModelError, match=words):
            make_dossier(model)


def test_a_schema_off_the_data_is_said_first(models):
    import pandas as pd

    from discreet import Schema

    X, y = rows(60)
    frame = pd.DataFrame(X, columns=["smoker", "age"]).assign(ill=y)
    schema = Schema.infer(frame, target="ill")
    page = make_dossier(PrivateNB(1.0, schema=schema).fit(frame).model_).dossier
    assert re.search("summary-h.{0,200}read off the private rows", page, re.DOTALL)
    assert "NOT protected" in page
