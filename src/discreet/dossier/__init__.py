"""Dossier: what an officer signs, an entry for the public registry and a label, from a model's own certificate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.dossier.facts import Facts
from discreet.dossier.pages import Page
from discreet.dossier.questions import QUESTIONS, Answers, Question, template
from discreet.dossier.registry import Entry, make_entry, read_edition
from discreet.files import write_text
from discreet.models import ReleasedModel

__all__ = ["QUESTIONS", "Answers", "Dossier", "Question", "make_dossier", "read_edition", "template"]


@dataclass(frozen=True)
class Dossier:
    """The documents of one release, and what is missing in them."""

    dossier: str
    label: str
    entry: Entry
    missing: tuple[Question, ...]
    answers: Answers

    def write(self, folder: Path) -> list[Path]:
        """Write the documents into a folder, each whole or not at all; questions that are open go beside them."""
        folder.mkdir(parents=True, exist_ok=True)
        named = {
            "dossier.html": self.dossier,
            "label.html": self.label,
            f"{self.entry.slug.replace('-', '_')}.yaml": self.entry.to_yaml(),
        }
        if self.missing:
            named["questions.toml"] = template(self.answers)
        for name, content in named.items():
            write_text(folder / name, content)
        return [folder / name for name in named]


def make_dossier(
    model: ReleasedModel, answers: Answers | None = None, edition: dict[str, Any] | None = None
) -> Dossier:
    """The documents of a released model; `edition` is the registry's schema, if not the one that is known here."""
    given = Answers() if answers is None else answers
    facts = Facts(model)
    page = Page(facts, given)
    known = ["release.utility"] if model.evaluation is not None else []
    return Dossier(
        page.dossier(), page.label(), make_entry(facts, given, edition), tuple(given.missing(known=known)), given
    )
