"""The driver's side of the court: reads requests as JSON lines, runs a library's function, answers rows of numbers.

Runs inside the environment of one library, so it imports nothing of this package.
"""

import json
import os
import sys
import warnings
from importlib.metadata import version

GRID = 1024  # outputs are rounded to multiples of 1/1024: the mechanism is audited, not the last bits of its doubles


def serve(package, functions):
    """Answer requests {"function", "setting", "data", "size"} until the input ends; what a library prints is none."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever prints to the standard output from here on prints to the standard error
    warnings.simplefilter("ignore")
    answer(answers, {"version": version(package)})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            release = functions[request["function"]](**request["setting"])
            rows = [rounded(release(request["data"])) for _ in range(request["size"])]
            answer(answers, {"rows": rows})
        except Exception as error:
            answer(answers, {"error": f"{type(error).__name__}: {error}"[:300]})


def rounded(values):
    """Numbers on a public grid; rounding is post-processing and can only hide, never add."""
    return [round(float(value) * GRID) / GRID for value in values]


def answer(answers, fields):
    """One line."""
    answers.write(json.dumps(fields) + "\n")
    answers.flush()
