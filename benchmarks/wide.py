"""Tables that are wide or long: seconds and memory of fits, each in a process of its own, beside what is aimed at.

`python -m benchmarks wide [--only NAME]`. A fit that is refused is refused before anything is charged, which is checked.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

KINDS = ("naive-bayes", "selective", "additive", "additive-pairs", "tan", "joint", "svm", "logistic", "tree", "forest")
# name: (rows, features, cells of each or 0 for numbers, kind, most seconds, most seconds of a refusal, most GiB)
CASES = {
    **{
        f"10,000 binary features, {kind}": (2_000, 10_000, 2, kind, 10.0, 1.0, 8.0) for kind in ("naive-bayes", "auto")
    },
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
    start, used = time.perf_counter(), time.process_time()
    said = ""
    try:
        chosen.make(schema=schema).fit(X, y, ledger=ledger)
    except DiscreetError as error:
        said = str(error)
    return {
        "seconds": time.perf_counter() - start,
        "processor seconds": time.process_time() - used,
        "GiB": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20,
        "refused": said,
        "charged": said != "" and ledger.remaining != 1,
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure all cases, or those whose names have a word in them, and say which fall short."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks wide", description=__doc__)
    parser.add_argument("--only", default="", help="words of a case's name")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.one:
        print(json.dumps(measure(asked.one)))
        return 0
    short = 0
    for name, (*_, most, refused, memory) in CASES.items():
        if asked.only not in name:
            continue
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.wide", "--one", name], capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(f"{name}: failed: {done.stderr[-300:]}")
            short += 1
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        bound = refused if found["refused"] else most
        good = found["processor seconds"] <= bound and found["GiB"] <= memory and not found["charged"]
        short += not good
        said = f", refused: {found['refused']}" if found["refused"] else ""
        print(
            f"{name}: {found['seconds']:.1f} s ({found['processor seconds']:.1f} s of processor, at most {bound:g}), "
            f"{found['GiB']:.2f} GiB (at most {memory:g}){said}{'' if good else '   FALLS SHORT'}",
            flush=True,
        )
    return int(short > 0)


if __name__ == "__main__":
    sys.exit(main())
