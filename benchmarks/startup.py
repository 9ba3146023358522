"""Start-up: importing the package against importing scikit-learn's Naive Bayes, and the help page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.common import best_of


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
        {"what": "import discreet", "measured": round(ratio, 3), "unit": unit, "bar": "<= 1.5", "met": ratio <= 1.5},
        {
            "what": "from discreet import PrivateNB",
            "measured": round(full, 3),
            "unit": unit,
            "bar": "<= 1.5",
            "met": full <= 1.5,
        },
        {"what": "discreet --help", "measured": round(seconds, 3), "unit": "s", "bar": "< 1", "met": seconds < 1},
    ]
