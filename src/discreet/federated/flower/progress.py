"""How a coordinator's round is going, written beside its state for `discreet federate status` to read."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.bayes.plan import COUNTS
from discreet.dashboard import Board
from discreet.errors import DiscreetError
from discreet.federated.flower.steps import next_step
from discreet.federated.flower.task import RoundTask
from discreet.files import parse_json, write_text
from discreet.nodes.members import times_of
from discreet.nodes.settings import node_plan
from discreet.privacy.budget import Budget
from discreet.schema import Schema

FILE = "status.json"
Report = Callable[[str, str], None]
ABOUT_NODES = {"enrolled": "enrolled", "joined": "connected", "asked": "asked", "asked again": "asked", "lost": "asked",
               "busy": "busy", "answered": "answered"}  # fmt: skip


class Progress:
    """Takes in what a round reports, keeps it, and passes it on; it holds what the coordinator sees and no more."""

    def __init__(self, state: Path, task: RoundTask, names: list[str], report: Report) -> None:
        self.path, self.task, self.report = state / FILE, task, report
        self.nodes = dict.fromkeys(names, "expected")
        self.phase, self.begun = "starting", time.time()
        self.refused: dict[str, str] = {}
        self.error = noise_of(task)

    def __call__(self, event: str, what: str) -> None:
        """Note an event and pass it on."""
        if event == "stage":
            self.phase = f"under masks: {what}"
        elif event == "invited":
            self.phase = "waiting for nodes to join"
            self.nodes |= dict.fromkeys(what.split(", "), "invited")
        elif event == "refused" and ": " in what:
            name, _, why = what.partition(": ")
            self.nodes[name] = "refused"
            self.refused[name] = why
        elif event in ABOUT_NODES:
            self.nodes[what] = ABOUT_NODES[event]
            if not self.phase.startswith("under masks") and event != "enrolled":
                self.phase = "gathering"
        elif event == "listening":
            self.phase = "listening"
        self.keep()
        self.report(event, what)

    @contextmanager
    def ending(self) -> Iterator[None]:
        """A round, however it ends."""
        self.keep()
        try:
            yield
        except BaseException as error:
            self.phase = "stopped" if isinstance(error, KeyboardInterrupt) else "failed"
            self.keep()
            raise
        self.phase = "finished"
        self.keep()

    def keep(self) -> None:
        """Write it down."""
        answered = sum(state == "answered" for state in self.nodes.values())
        noises = 1 if self.task.secure else answered
        found = {
            "phase": self.phase, "expected": self.task.nodes, "secure": self.task.secure, "answered": answered,
            "epsilon": self.task.epsilon or None, "since": self.begun, "at": time.time(),
            "nodes": [{"node": name, "state": state, "why": self.refused.get(name)}
                      for name, state in sorted(self.nodes.items())],
            "expected_error": None if self.error is None or not noises else self.error * math.sqrt(noises),
        }  # fmt: skip
        write_text(self.path, json.dumps(found), private=True)


def noise_of(task: RoundTask) -> float | None:
    """The noise of one count, of one plain update or of a whole sum under masks."""
    if not task.epsilon:
        return None
    budget = Budget(task.epsilon, delta=task.delta)
    plan = node_plan(Schema.load(task.schema), task.settings, budget, task.mechanism, task.stream or None)
    step = min(task.step or next_step(Path(task.state)), task.stream) if task.stream else 1
    times = times_of(plan, (task.stream, step))
    return math.sqrt(max(item.variance for item in plan.items if item.kind in COUNTS) * times)


def look(state: Path) -> Board:
    """What a coordinator's state says."""
    path = state / FILE
    try:
        found: dict[str, Any] = parse_json(path.read_text(encoding="utf-8"))
        nodes = found["nodes"]
    except FileNotFoundError:
        raise DiscreetError(f"no coordinator has run on {state} yet: give the --state that it has") from None
    except (ValueError, KeyError, TypeError):
        raise DiscreetError(f"{path} cannot be read") from None
    error = found["expected_error"]
    facts = [
        ("nodes expected", str(found["expected"])), ("answered", str(found["answered"])),
        ("under masks", "yes" if found["secure"] else "no"),
        ("epsilon of a round", "as the nodes say" if found["epsilon"] is None else f"{found['epsilon']:g}"),
        ("expected error of a count", "not known yet" if error is None else f"± {error:.3g} rows"),
        ("last event", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found["at"]))),
    ]  # fmt: skip
    rows = [[one["node"], one["state"], one["why"] or ""] for one in nodes]
    line = f"{found['phase']}; {found['answered']} of {found['expected']} nodes have answered"
    return Board("Federation", line, facts, ("node", "state", "why"), rows, found)
