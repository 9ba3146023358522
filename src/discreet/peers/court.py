"""The court: a driver runs inside a library's environment and answers, and our audit draws its conclusions."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit import Pair, audit
from discreet.errors import AuditError
from discreet.peers.cases import PeerCase

DRIVERS = Path(__file__).parent / "drivers"
LIMIT = 600.0  # seconds a case may take
SHARE = 0.5  # of the limit is what the number of runs is planned for
_CHUNK = 200
_PROBE = 5
Tell = Callable[[int, int], None]


class Driver(AbstractContextManager["Driver"]):
    """A driver process that answers requests for outputs; it is ended when its time is over."""

    def __init__(self, python: Path, family: str, limit: float = LIMIT) -> None:
        """Start it and wait for the version of its library."""
        self.family = family
        self.late = False
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
        self._process = subprocess.Popen(
            [str(python), str(DRIVERS / f"{family}.py")], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._timer = threading.Timer(limit, self._end)
        self._timer.daemon = True
        self._timer.start()
        try:
            self.version = str(self._read()["version"])
        except BaseException:
            self.__exit__()
            raise

    def ask(self, request: dict[str, Any]) -> list[list[float]]:
        """Rows of numbers, or what went wrong inside the library as an error."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # what became of it is said where its answer is read
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        answer = self._read()
        if "error" in answer:
            raise AuditError(f"{self.family} raised {answer['error']}")
        rows: list[list[float]] = answer["rows"]
        return rows

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith("\n"):  # it ended before, or in the middle of, its answer
            why = "took longer than its limit" if self.late else f"ended early with code {self._process.wait()}"
            raise AuditError(f"the driver of {self.family} {why}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> None:
        self.late = True
        self._process.kill()

    def __exit__(self, *exception: object) -> None:
        """End the process."""
        self._timer.cancel()
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
        self._process.wait()


class Remote:
    """A mechanism that lives in another environment, as the audit wants it; a data set is a side of the case."""

    def __init__(self, driver: Driver, case: PeerCase, tell: Tell | None, total: int) -> None:
        """Ask `driver`, and tell how many of `total` runs are done."""
        self._driver, self._case, self._tell, self._total = driver, case, tell, total
        self._done = 0

    def sample(self, data: Any, size: int, *, rng: np.random.Generator) -> Any:
        """`size` outputs; the library draws its own noise, so `rng` is not used."""
        rows: list[list[float]] = []
        while len(rows) < size:
            rows += self._driver.ask(self._case.request(int(data), min(_CHUNK, size - len(rows))))
            self._done = min(self._total, self._done + _CHUNK)
            if self._tell is not None:
                self._tell(self._done, self._total)
        return np.array(rows)


def hear(
    case: PeerCase,
    python: Path,
    *,
    samples: int | None = None,
    confidence: float = 0.95,
    limit: float = LIMIT,
    tell: Tell | None = None,
) -> dict[str, Any]:
    """Audit one case; the answer has the keys of an audit, and what was run: library, version, setting, reproduction.

    The number of runs is `samples` (the case's own by default), or less where the time of a few runs says that
    they would take more than a share of the limit: `planned` beside `samples` in the answer then says so. It is fixed
    before any output is looked at.
    """
    with Driver(python, case.family, limit) as driver:
        driver.ask(case.request(0, 1))  # what is compiled or imported on first use
        began = time.perf_counter()
        for side in (0, 1):
            driver.ask(case.request(side, _PROBE))
        cost = (time.perf_counter() - began) / (2 * _PROBE)
        planned = samples or case.samples
        runs = max(400, min(planned, int(SHARE * limit / max(cost, 1e-9))))
        result = audit(
            Remote(driver, case, tell, runs), Pair(0, 1, case.neighbours), case.epsilon, case.delta,
            samples=runs, confidence=confidence, processes=1, name=case.name,
        )  # fmt: skip
    found = result.to_dict()
    del found["law"], found["seed"]
    verdict = ("leaks" if result.violated else "consistent") if case.stated else (
        "above the comparison" if result.violated else "consistent")  # fmt: skip
    return {
        **found,
        "planned": planned,
        "verdict": verdict,
        "library": case.family,
        "version": driver.version,
        "setting": case.setting,
        "basis": case.basis,
        "reproduction": {
            "script": f"discreet/peers/drivers/{case.family}.py",
            "left": case.request(0),
            "right": case.request(1),
        },
    }


def not_run(case: PeerCase, why: str) -> dict[str, Any]:
    """What is said of a case that could not be run: nothing about its claim."""
    return {
        "name": case.name, "epsilon": case.epsilon, "delta": case.delta, "lower_bound": None, "confidence": None,
        "pair": case.neighbours, "event": None, "samples": 0, "planned": case.samples, "seconds": 0.0,
        "method": "event", "hits": None,
        "verdict": f"could not be run: {why}", "library": case.family, "version": None, "setting": case.setting,
        "basis": case.basis, "reproduction": None,
    }  # fmt: skip
