"""Tables that are wide or long: seconds and memory of fits, each in a process of its own, beside what is aimed at.

A fit that is refused is refused before anything is charged, which is checked.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

from benchmarks.common import line

KINDS = ("naive-bayes", "selective", "additive", "additive-pairs", "tan", "joint", "svm", "logistic", "tree", "forest")
# name: (rows, features, cells of each or 0 for numbers, kind, most seconds, most seconds of a refusal, most GiB)
CASES = {
    **{f"10,000 binary features, {kind}": (2_000, 10_000, 2, kind, 10.0, 1.0, 8.0) for kind in ("naive-bayes", "auto")},
    "1,000,000 categories, naive-bayes": (100_000, 1, 1_000_000, "naive-bayes", 10.0, 1.0, 8.0),
    **{f"1,000 numbers, {kind}": (10_000, 1_000, 0, kind, 20.0, 1.0, 8.0) for kind in ("auto", *KINDS)},
    "10,000,000 rows, auto": (10_000_000, 10, 0, "auto", 20.0, 1.0, 2.0),
}


def measure(name: str) -> dict[str, object]:
    """One fit here: its seconds, the memory that it added at most, and what was charged if it was refused."""
    import numpy as np

    from discreet import Budget, Categorical, Ledger, Numeric, Schema
    from discreet.errors import DiscreetError
    from discreet.kinds import find

    rows, features, cells, kind, *_ = CASES[name]
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows).astype(np.int8)
    names = [f"f{j}" for j in range(features)]
    if cells:
        X = rng.integers(0, cells, (rows, features)).astype(np.int8 if cells < 128 else np.int64)
        X[:, 0] = np.where(rng.random(rows) < 0.7, y, X[:, 0])
        schema = Schema([Categorical(one, list(range(cells))) for one in names], "y", [0, 1])
    else:
        X = rng.random((rows, features), dtype=np.float32)
        X[:, 0] += y
        schema = Schema([Numeric(one, 0, 2) for one in names], "y", [0, 1])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ledger, chosen = Ledger(Budget(1.0)), find(kind)
    estimator = chosen.make(schema=schema)  # imports are not what is measured
    start, used = time.perf_counter(), time.process_time()
    said = ""
    try:
        estimator.fit(X, y, ledger=ledger)
    except DiscreetError as error:
        said = str(error)
    return {
        "seconds": time.perf_counter() - start,
        "processor seconds": time.process_time() - used,
        "GiB": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20,
        "refused": said,
        "charged": said != "" and ledger.remaining != 1,
    }


def run(kinds: str = "", **_: object) -> list[dict[str, object]]:
    """One line per case: processor seconds, for the wall clock of a busy machine says little."""
    asked = [one for one in kinds.split(",") if one]
    return [_told(name) for name in CASES if not asked or name.rsplit(", ", 1)[-1] in asked]


def _told(name: str) -> dict[str, object]:
    *_, most, refused, memory = CASES[name]
    done = subprocess.run([sys.executable, "-m", "benchmarks.wide", name], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    seconds, bound = found["processor seconds"], refused if found["refused"] else most
    what = f"{name}, {'refused before any charge' if found['refused'] else 'fit'} ({found['GiB']:.2f} GiB)"
    good = seconds <= bound and found["GiB"] <= memory and not found["charged"]
    return line(what, seconds, "s of processor", f"<= {bound:g} s, {memory:g} GiB", good)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
