"""Studies: experiments of published papers run again, with a verdict on each of their claims."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet_studies.study import Study

# Short name of each study → its title; the module of that name holds `STUDY` and is imported when it is wanted.
STUDIES = {
    "lopuhaa2021": "Comparing classifiers' performance under differential privacy (SECRYPT 2021)",
    "zafarani2021": "Zafarani, Clifton: Differentially Private Naïve Bayes Classifier Using Smooth Sensitivity",
    "yilmaz2020": "Yilmaz, Al-Rubaie, Chang: Naive Bayes Classification under Local Differential Privacy",
    "giaretta2022": "Giaretta, Marchioro, Markatos, Girdzijauskas: Towards a Realistic Decentralized Naive Bayes with "
    "Differential Privacy",
    "thesis2015": "A thesis of 2015 on private Bernoulli Naive Bayes, feature selection and logistic regression",
}
# Studies in parts: each part is a module of its own below the study's.
PARTS: dict[str, tuple[str, ...]] = {
    "giaretta2022": ("federated", "gossip"),
    "thesis2015": ("selection", "logistic"),
}


class StudyError(DiscreetError, ValueError):
    """A study that cannot be run as asked."""


def find_studies(name: str, part: str | None = None) -> list[tuple[Study, tuple[str, ...]]]:
    """The study of that name, or every part of it, or with "all" everything; each with the folders to put it in."""
    if name == "all":
        if part is not None:
            raise StudyError("all studies have no part in common: leave out --part")
        return [(study, (one, *below)) for one in STUDIES for study, below in find_studies(one)]
    parts = PARTS.get(name, ())
    if part is None and len(parts) > 1:
        return [(find_study(name, one), (one,)) for one in parts]
    return [(find_study(name, part), ())]


def find_study(name: str, part: str | None = None) -> Study:
    """The study of that short name, or the part of it, or an error that lists them.

    A study of several parts needs one to be named; of a single one that is not asked.
    """
    if name not in STUDIES:
        raise StudyError(f"there is no study {name!r}: choose one of {', '.join(sorted(STUDIES))}")
    parts = PARTS.get(name, ())
    if part is None and len(parts) == 1:
        part = parts[0]
    if parts and part is None:
        raise StudyError(f"the study {name!r} has parts: choose one with --part {'|'.join(parts)}")
    if part is not None and part not in parts:
        has = f"it has {', '.join(parts)}" if parts else "it has no parts"
        raise StudyError(f"the study {name!r} has no part {part!r}: {has}")
    module = f"discreet_studies.{name}" if part is None else f"discreet_studies.{name}.{part}"
    study: Study = importlib.import_module(module).STUDY
    return study
