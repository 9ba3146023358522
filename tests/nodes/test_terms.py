"""Terms: sentences made of values, one hash for both, and nothing that contradicts the other."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from discreet import Categorical, Schema
from discreet.errors import DiscreetError
from discreet.nodes.terms import Terms, grouped

SCHEMA = Schema([Categorical("c", ["p", "q"])], "y", [0, 1])
TERMS = Terms.of("federate", SCHEMA, members=("a", "b", "c"), organiser="h.example:8700", epsilon=0.5, rounds=3)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (TERMS, ["a, b, c", SCHEMA.hash, "epsilon = 0.5", "epsilon = 1.5", "At most 3 times", "4.482", "whole noise"]),
        (replace(TERMS, secure=True, dropouts=1), ["under masks", "Up to 1 members may drop out"]),
        (replace(TERMS, secure=True), ["No member may drop out"]),
        (replace(TERMS, kind="gossip", rounds=1), ["takes no part", "Once", "takes what it holds along"]),
        (replace(TERMS, delta=1e-6), ["delta = 3e-06", "but for a chance"]),
    ],
)
def test_who_what_at_which_cost_how_often_and_who_drops_out(terms, said):
    head = terms.text[: terms.text.index("\n\n")]
    assert all(words in head for words in said), head
    assert terms.hash == hashlib.sha256(terms.text.encode()).hexdigest()  # what sha256sum says of the file
    assert Terms.read(terms.text) == terms


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("epsilon = 0.5", "epsilon = 5.0"),  # the first of them is in a sentence
        ("rounds = 3", "rounds = 30"),
        ('members = [', 'member = ['),
        ("# WHO", "# Who"),
        ("epsilon = 0.5\n", 'epsilon = "0.5"\n'),
        ('title = ""', 'title = "x"'),
    ],
)  # fmt: skip
def test_sentences_and_values_cannot_part(old, new):
    assert old in TERMS.text
    with pytest.raises(DiscreetError):
        Terms.read(TERMS.text.replace(old, new, 1))


@pytest.mark.parametrize(
    "change",
    [{"kind": "club"}, {"members": ()}, {"members": ("a", "a")}, {"epsilon": 0.0}, {"epsilon": float("inf")},
     {"rounds": 0}, {"kind": "gossip", "secure": True}, {"adjacency": "none"}, {"members": "abc"}],
)  # fmt: skip
def test_terms_that_are_none(change):
    with pytest.raises((DiscreetError, ValueError)):
        replace(TERMS, **change)


@pytest.mark.parametrize("lie", ["x\n\nPRIVACY. None.", "x\r", "x\x1b[8m", "x\u202e", "x\u2028y"])
@pytest.mark.parametrize("field", ["title", "organiser", "target", "mechanism", "schema", "members", "columns"])
def test_no_value_passes_for_a_sentence(field, lie):
    with pytest.raises(DiscreetError, match="printable"):
        replace(TERMS, **{field: ("a", lie) if field in {"members", "columns"} else lie})


def test_notes_are_lines_without_control_characters():
    assert replace(TERMS, notes="One.\n\tTwo.\n").notes
    for notes in ("x\x1b[8m", "x\r", 7):
        with pytest.raises(DiscreetError, match="notes"):
            replace(TERMS, notes=notes)


def test_hashes_are_shown_in_groups():
    assert grouped("0123456789abcdef" * 4, 2) == "0123:4567"
