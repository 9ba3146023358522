"""Pages of papers: every item points at something, and stored results judged again give what the pages say."""

from pathlib import Path

import pytest

from discreet_studies import STUDIES, StudyError, find_studies
from discreet_studies.claims import Verdict
from discreet_studies.items import Item, Status, items_of, problem, problems
from discreet_studies.pages import BEGIN, END, has_items, in_place, keep, pages

ROOT = Path(__file__).parents[2]
DOCS, RESULTS = ROOT / "docs", ROOT / "studies" / "results"
LISTED = [name for name in STUDIES if has_items(name)]
MEGABYTES = 20


@pytest.mark.parametrize("name", LISTED)
def test_every_item_points_at_something(name):
    assert problems(name, items_of(name), DOCS) == []


@pytest.mark.parametrize("name", LISTED)
def test_every_claim_of_the_paper_is_an_item(name):
    claims = {claim.name for study, _ in find_studies(name) for claim in study.claims if claim.paper == name}
    assert claims == {claim for item in items_of(name) for claim in item.claims} & claims
    assert len({(item.kind, item.source, item.what) for item in items_of(name)}) == len(items_of(name))


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("code:discreet:Nobody", "cannot be imported"),
        ("code:discreet.nowhere:x", "cannot be imported"),
        ("experiment:none", "no experiment"),
        ("method:none", "no method"),
        ("claim:none", "no claim"),
        ("figure:none", "no figure"),
        ("proof:none.md", "no proof note"),
        ("audit:none", "no audit case"),
        ("hearsay:none", "of no kind"),
    ],
)
def test_a_reference_to_nothing_is_noticed(reference, words):
    assert words in problem("zafarani2021", reference, DOCS)


def test_an_item_that_is_not_whole_has_a_reason():
    with pytest.raises(StudyError, match="mended needs a reason"):
        Item("claim", "7.2", "something", ("claim:smooth_beats_global",), Status.MENDED)
    with pytest.raises(StudyError, match="say where it is"):
        Item("claim", "7.2", "something", ())


def test_stored_results_judged_again_give_the_pages(monkeypatch):
    monkeypatch.chdir(ROOT)
    for file, text in pages().items():
        assert file.read_text(encoding="utf-8") == text, f"{file}: run python -m discreet_studies.pages --write"


@pytest.mark.parametrize("name", LISTED)
def test_no_verdict_without_its_error_and_number_or_a_proof(name):
    for study, _ in find_studies(name):
        for judged in keep(study, RESULTS).judged.values():
            for one in judged:
                if one["verdict"] == Verdict.UNTESTED:
                    continue
                measured = one["standard_error"] is not None and one["measurements"] > 1
                assert measured or one["proof"], one["claim"]
                assert one["proof"] or one["verdict"] != Verdict.UNSOUND, one["claim"]
                assert all(problem(name, reference, DOCS) == "" for reference in one["proof"].split())


def test_stored_results_are_small():
    assert sum(file.stat().st_size for file in RESULTS.rglob("*.parquet")) < MEGABYTES * 2**20


def test_a_page_without_its_marks_is_refused():
    assert in_place(f"a {BEGIN} old {END} b", f"{BEGIN} new {END}") == f"a {BEGIN} new {END} b"
    with pytest.raises(StudyError, match="once each"):
        in_place("a", "b")
