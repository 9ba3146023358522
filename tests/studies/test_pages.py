"""Pages of papers: every item points at something, and stored results judged again give what the pages say."""

import json
import re
from pathlib import Path

import pytest

from discreet_studies import STUDIES, StudyError, find_studies
from discreet_studies.claims import Verdict, judge
from discreet_studies.items import Item, Status, items_of, problem, problems
from discreet_studies.pages import AUDITS, BEGIN, END, Kept, disagreements, has_items, in_place, keep, pages
from discreet_studies.results import Results

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


def test_fast_and_full_runs_are_stored_and_compared():
    kept = {name: [keep(study, RESULTS) for study, _ in find_studies(name)] for name in LISTED}
    assert all(len(part.judged) == 2 for parts in kept.values() for part in parts)
    text = disagreements(kept)
    differ = [
        one["claim"]
        for parts in kept.values()
        for part in parts
        for one, fast in zip(part.judged[False], part.judged[True], strict=True)
        if one["verdict"] != fast["verdict"]
    ]
    rows = [line for line in text if line.startswith("| ")][1:]
    assert len(rows) == len(differ) and all(claim in row for claim, row in zip(differ, rows, strict=True))


def made_up_part(fast, full):
    study = next(study for study, _ in find_studies("zafarani2021"))
    claims = [[{"claim": f"claim {i}", "paper": "p", "verdict": v, "measurements": 7} for i, v in enumerate(found)]
              for found in (full, fast)]  # fmt: skip
    return Kept(study, dict.fromkeys((False, True)), dict(zip((False, True), claims, strict=True)))


def test_disagreements_are_listed_or_said_to_be_none():
    part = made_up_part(("holds", "undecided"), ("holds", "does not hold"))
    text = disagreements({"zafarani2021": [part]})
    assert text[-1] == "| zafarani2021 | claim 1 | undecided (7) | does not hold (7) |"
    assert "1 of 2 claims" in text[2]
    assert disagreements({"zafarani2021": [made_up_part(("holds",), ("holds",))]})[-1].startswith("None of 1 claims")


@pytest.mark.parametrize("name", LISTED)
def test_what_is_called_not_private_has_an_audit_figure_or_a_proof(name):
    """Every audit that a verdict or a study rests on is stored, and finds more than is claimed."""
    figures = json.loads((RESULTS / AUDITS).read_text(encoding="utf-8"))
    for study, _ in find_studies(name):
        named = [study.unsound, *(one["proof"] for found in keep(study, RESULTS).judged.values() for one in found)]
        for reference in (reference for one in named for reference in one.split()):
            kind, _, what = reference.partition(":")
            if kind == "audit":
                assert figures[what]["at_least"] > figures[what]["claimed"], what
            else:
                assert problem(name, reference, DOCS) == ""


@pytest.mark.parametrize("name", LISTED)
def test_no_as_published_method_without_an_audit_or_proof(name):
    """Rows marked as not private, though noise was added to them, are of a study that says why."""
    for study, _ in find_studies(name):
        for run in keep(study, RESULTS).runs.values():
            bare = [row["method"] for row in run.rows if row.get("private") is False and "paper" in row["method"]]
            assert not bare or study.unsound, study.name


UNSOUND_WORDS = re.compile(r"\bnot private\b|\bunsound\b|no privacy|not ε-(differentially )?private", re.IGNORECASE)
PROMISE = re.compile(r"ε-\w+ privacy|ε-(differentially )?private|differential privacy")


@pytest.mark.parametrize("name", LISTED)
def test_no_sentence_calls_something_unsound_without_an_audit_figure_or_a_proof_note(name):
    """Reasons of verdicts, what was changed, and why items are not whole: each with what shows it."""
    figures = json.loads((RESULTS / AUDITS).read_text(encoding="utf-8"))

    def shown(references):
        kinds = [reference.partition(":")[::2] for reference in references]
        there = [what in figures if kind == "audit" else (DOCS / "proofs" / what).is_file()
                 for kind, what in kinds if kind in ("audit", "proof")]  # fmt: skip
        return bool(there) and all(there)

    for study, _ in find_studies(name):
        backed = shown(study.unsound.split())
        for one in (one for found in keep(study, RESULTS).judged.values() for one in found):
            if UNSOUND_WORDS.search(one["claim"] + one["reason"]):
                assert shown(one["proof"].split()) or backed, one["claim"]
            if one["verdict"] == Verdict.FAILS and PROMISE.search(one["claim"]):
                assert shown(one["proof"].split()), one["claim"]
        assert backed or not any(UNSOUND_WORDS.search(text) for text in study.changes), study.name
    parts = [reference for study, _ in find_studies(name) for reference in study.unsound.split()]
    for item in items_of(name):
        assert not UNSOUND_WORDS.search(item.why) or shown(item.where) or shown(parts), item.source


@pytest.mark.parametrize("name", LISTED)
def test_an_undecided_verdict_says_how_many_measurements_would_decide_it(name):
    for study, _ in find_studies(name):
        for one in (one for found in keep(study, RESULTS).judged.values() for one in found):
            if one["verdict"] == Verdict.UNDECIDED:
                assert re.search(r"(about|more than) \d+ instead of \d+ measurements would", one["reason"]) or (
                    "more rows would tell" in one["reason"]
                ), one["claim"]


@pytest.mark.parametrize("name", LISTED)
def test_stored_results_judged_twice_give_the_same_to_the_last_digit(name):
    """Whatever the order of rows: a verdict is a function of what is stored."""
    for study, _ in find_studies(name):
        kept = keep(study, RESULTS)
        for fast, run in kept.runs.items():
            again = judge(study.claims, Results(reversed(run.rows)))
            said = [(one["claim"], one["verdict"]) for one in again]
            assert said == [(one["claim"], one["verdict"]) for one in kept.judged[fast]]


def test_stored_results_are_small():
    assert sum(file.stat().st_size for file in RESULTS.rglob("*.parquet")) < MEGABYTES * 2**20


def test_a_page_without_its_marks_is_refused():
    assert in_place(f"a {BEGIN} old {END} b", f"{BEGIN} new {END}") == f"a {BEGIN} new {END} b"
    with pytest.raises(StudyError, match="once each"):
        in_place("a", "b")
