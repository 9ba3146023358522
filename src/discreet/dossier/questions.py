"""Questions: what a dossier has to say and no certificate knows; asked once, kept in a TOML file, never invented."""

from __future__ import annotations

import datetime
import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError

CURATORS = ("Government", "Industry", "Nonprofit")
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")


@dataclass(frozen=True)
class Question:
    """One question: where its answer stands in the file, and what it takes.

    `tier` is that of the public registry's entry which needs the answer; 0 is for the dossier alone.
    """

    section: str
    name: str
    words: str
    tier: int = 0
    choices: tuple[str, ...] = ()
    kind: type = str
    optional: bool = False

    @property
    def key(self) -> str:
        """Its name in full, as messages and lists say it."""
        return f"{self.section}.{self.name}"


QUESTIONS = (
    Question("product", "name", "What is the released model called in public?", 1),
    Question("product", "curator", "Which organisation releases it?", 1),
    Question("product", "curator_type", "What kind of organisation is that?", 1, CURATORS),
    Question("product", "description", "What is it, in two sentences that anybody understands?", 1),
    Question("product", "intended_use", "What is it meant to be used for, and by whom?", 1),
    Question("product", "region", "Which region do the people live in, or whose law applies?", 1),
    Question("product", "sector", "Which sector is it from?", 1, SECTORS, optional=True),
    Question(
        "product", "publication_date", "When is it published (a date, such as 2027-01-31)?", 1, kind=datetime.date
    ),
    Question("product", "authors", "Who fills in these answers (names of people or of a team)?", 1),
    Question("product", "contact", "Whom can people ask about it, or object to?"),
    Question("product", "sources", "Where is it described or published (addresses), if anywhere?", optional=True),
    Question("data", "collection", "How were the rows collected, on which legal basis, and what were people told?"),
    Question("data", "domain", "Whose rows could have been in the table: which people, where, over which time?", 3),
    Question("data", "people", "About how many people are in it, if that number is public?", 3, kind=int),
    Question(
        "data",
        "preprocessing",
        "What was done with the rows before the fit (cleaning, looking at them, choosing settings), and was that paid "
        "for from a privacy budget?",
        3,
    ),
    Question("data", "bias", "Which groups are few, badly recorded or treated unfairly in these rows?"),
    Question("data", "retention", "How long are the rows kept, and who deletes them?"),
    Question("release", "actors", "Who will see the model or the rows, and whom does the release protect against?", 3),
    Question("release", "access", "Who can reach the rows themselves, and how are they secured?", 3),
    Question("release", "future", "Will more be released from the same people's data, and who keeps the total?", 3),
    Question("release", "justification", "Why this epsilon and this unit: who decided it, and on which grounds?", 3),
    Question("release", "utility", "Is it accurate enough for its use, and how was that found out?", 3),
    Question("release", "harm", "What could go wrong for a person if the model is wrong about them?"),
    Question("anonymity", "claim", "Do you claim that the model is anonymous (true or false)?", kind=bool),
    Question(
        "anonymity",
        "means",
        "Which means of identification were considered (all that anyone is reasonably likely to use)?",
    ),
    Question("anonymity", "assessment", "Why is the chance of identification insignificant, and who assessed it?"),
    Question("anonymity", "opinion", "What does the data-protection officer say, and when?"),
)
_TYPES = {str: "text", int: "a whole number", bool: "true or false", datetime.date: "a date such as 2027-01-31"}


class Answers:
    """Answers by key; what nobody answered is missing, and stays so."""

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self.given = {} if given is None else _checked(given)

    @classmethod
    def load(cls, path: Path) -> Answers:
        """Read and check a file of answers."""
        try:
            fields = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            raise DiscreetError(
                f"there is no file {path}: 'discreet dossier MODEL --questions' prints one to fill in"
            ) from None
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise DiscreetError(f"{path} cannot be read as TOML: {error}") from None
        try:
            return cls(fields)
        except DiscreetError as error:
            raise DiscreetError(f"{path}: {error}") from None

    def get(self, key: str) -> Any:
        """An answer, or None."""
        return self.given.get(key)

    def missing(self, tier: int | None = None, known: Iterable[str] = ()) -> list[Question]:
        """What is still to be answered, all of it or for one tier of the registry; `known` keys need no answer."""
        kept = set(known)
        return [
            one
            for one in QUESTIONS
            if one.key not in self.given
            and one.key not in kept
            and not one.optional
            and (tier is None or one.tier == tier)
            and not (one.section == "anonymity" and one.name != "claim" and self.given.get("anonymity.claim") is False)
        ]


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    by_key = {one.key: one for one in QUESTIONS}
    found: dict[str, Any] = {}
    for section, held in fields.items():
        if not isinstance(held, Mapping):
            raise DiscreetError(f"{section!r} stands outside a section: write it below [product], [data] or the like")
        for name, value in held.items():
            key = f"{section}.{name}"
            question = by_key.get(key)
            if question is None:
                near = difflib.get_close_matches(key, by_key, n=1)
                hint = f"; do you mean {near[0]}?" if near else ""
                raise DiscreetError(f"nothing asks for {key}{hint}")
            answer = _answer(question, value)
            if answer is not None:
                found[key] = answer
    return found


def _answer(question: Question, value: Any) -> Any:
    """An answer in its type; empty text is none."""
    if isinstance(value, str):
        value = value.strip()
        if not value:
            return None
        if question.kind is datetime.date:
            try:
                value = datetime.date.fromisoformat(value)
            except ValueError:
                raise DiscreetError(f"{question.key} takes a date such as 2027-01-31, not {value!r}") from None
    if isinstance(value, datetime.datetime):
        value = value.date()
    if not isinstance(value, question.kind) or (question.kind is int and isinstance(value, bool)):
        raise DiscreetError(f"{question.key} takes {_TYPES[question.kind]}, not {value!r}")
    if isinstance(value, int) and question.kind is int and not 0 < value < 10**12:
        raise DiscreetError(f"{question.key} takes a positive number, not {value!r}")
    if question.choices and value not in question.choices:
        raise DiscreetError(f"{question.key} takes {', '.join(question.choices)}, not {value!r}")
    return value


def template(answers: Answers | None = None) -> str:
    """A file of all questions, to be filled in; answers that are known already stand in it."""
    import tomli_w

    given = Answers() if answers is None else answers
    lines = [
        "# What the certificate cannot know. Fill in what you can: an empty answer is listed as missing, and nothing",
        "# is made up in its place. Then: discreet dossier MODEL --answers THIS_FILE --out DIR",
    ]
    section = ""
    for one in QUESTIONS:
        if one.section != section:
            section = one.section
            lines += ["", f"[{section}]"]
        needed = f" (registry, tier {one.tier})" if one.tier else ""
        takes = f" One of: {', '.join(one.choices)}." if one.choices else ""
        lines.append(f"# {one.words}{takes}{needed}")
        value = given.get(one.key)
        if value is not None:
            lines.append(tomli_w.dumps({one.name: value}).strip())
        elif one.kind is str:
            lines.append(f'{one.name} = ""')
        else:
            lines.append(f"# {one.name} = {'true' if one.kind is bool else 10000 if one.kind is int else '2027-01-31'}")
    return "\n".join(lines) + "\n"
