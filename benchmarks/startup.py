"""Start-up: importing the package against importing scikit-learn's Naive Bayes, and the help page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.common import best_of, line


def run(repeats: int = 5, **_: Any) -> list[dict[str, Any]]:
    """One line per start-up time."""

    def python(code: str) -> float:
        return best_of(repeats, lambda: subprocess.run([sys.executable, "-c", code], check=True))

    empty = python("pass")
    ratio = (python("import discreet") - empty) / (python("import sklearn.naive_bayes") - empty)
    full = (python("from discreet import PrivateNB") - empty) / (python("import sklearn.naive_bayes") - empty)
    script = Path(sys.executable).parent / "discreet"
    seconds = best_of(repeats, lambda: subprocess.run([script, "--help"], check=True, stdout=subprocess.DEVNULL))
    unit = "of importing sklearn.naive_bayes"
    return [
        line("import discreet", ratio, unit, "<= 1.5", ratio <= 1.5),
        line("from discreet import PrivateNB", full, unit, "<= 1.5", full <= 1.5),
        line("discreet --help", seconds, "s", "< 1", seconds < 1),
    ]
