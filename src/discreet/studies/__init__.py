"""Studies: experiments of published papers run again, with a verdict on each of their claims."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.studies.study import Study

# Short name of each study → its title; the module of that name holds `STUDY` and is imported when it is wanted.
STUDIES = {
    "zafarani2021": "Zafarani, Clifton: Differentially Private Naïve Bayes Classifier Using Smooth Sensitivity",
    "yilmaz2020": "Yilmaz, Al-Rubaie, Chang: Naive Bayes Classification under Local Differential Privacy",
}


class StudyError(DiscreetError, ValueError):
    """A study that cannot be run as asked."""


def find_study(name: str) -> Study:
    """The study of that short name, or an error that lists them."""
    if name not in STUDIES:
        raise StudyError(f"there is no study {name!r}: choose one of {', '.join(sorted(STUDIES))}")
    study: Study = importlib.import_module(f"discreet.studies.{name}").STUDY
    return study
