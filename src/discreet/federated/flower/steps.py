"""A stream at its coordinator: which step comes next, and what nodes have said in steps before."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from discreet.errors import DiscreetError
from discreet.federated.aggregate import Aggregate
from discreet.federated.flower.task import KeptRound, RoundTask
from discreet.files import parse_json, write_text
from discreet.schema import Schema

FILE = "stream.json"


def next_step(state: Path) -> int:
    """The step that comes next in a coordinator's directory: the first, if no stream can be read there."""
    try:
        return int(parse_json((state / FILE).read_text())["step"]) + 1
    except (OSError, ValueError, KeyError, TypeError):
        return 1


class KeptStep(KeptRound):
    """One step of a stream on disk: a round of its own under the stream's name, which nodes have paid for once."""

    def __init__(self, task: RoundTask, schema: Schema) -> None:
        if not task.state:
            raise DiscreetError("a stream goes on from step to step: say by state where the coordinator keeps it")
        self.task, self.schema, self.place = task, schema, Path(task.state)
        self.directory = self.place
        self.place.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.round_id, taken = self._taken()
        self.step = taken + 1
        if self.step > task.stream:
            raise DiscreetError(
                f"the stream's {task.stream} steps are over, and its budget with them: begin another with a --state of "
                "its own, which the nodes pay for anew"
            )
        if task.step and task.step != self.step:
            raise DiscreetError(f"step {self.step} comes next in this stream, not step {task.step}")
        if not taken:  # the name is kept before anybody pays for it
            self._keep_step(0)

    def _taken(self) -> tuple[str, int]:
        """The stream's name, and how many of its steps were taken."""
        try:
            mark = parse_json((self.place / FILE).read_text())
            name, essence, taken = str(mark["round"]), mark["essence"], int(mark["step"])
        except FileNotFoundError:
            return self.task.round or secrets.token_hex(8), 0
        except (ValueError, KeyError, TypeError):
            raise DiscreetError(f"{self.place / FILE} is damaged: its stream cannot be gone on with") from None
        if essence != self.task.essence(self.schema) or self.task.round not in ("", name):
            raise DiscreetError(
                f"the stream in {self.place} is of other settings, another schema or another name: go on with "
                "those it was begun with, or begin another with a --state of its own"
            )
        return name, taken

    def _keep_step(self, step: int) -> None:
        mark = {"round": self.round_id, "essence": self.task.essence(self.schema), "step": step}
        write_text(self.place / FILE, json.dumps(mark), private=True)

    @property
    def at(self) -> tuple[int, int]:
        """Of how many steps, and which one this is."""
        return self.task.stream, self.step

    def _file(self, step: int) -> Path:
        return self.place / f"aggregate-{self.round_id}-{step}.json"

    @property
    def path(self) -> Path:
        """Where the aggregate of this step is kept."""
        return self._file(self.step)

    def aggregate(self) -> Aggregate:
        """What was kept of this step, without the sums of a step before: their nodes are asked again."""
        kept = super().aggregate()
        for node, update in list(kept.updates.items()):
            if update.stream is None or update.stream[1] < self.step:
                kept.remove(node)
        return kept

    def complete(self, aggregate: Aggregate) -> list[str]:
        """Nodes that have not answered stay in with their sums of a step before; who they are."""
        before = self._file(self.step - 1)
        if not before.is_file():
            return []
        missing = {
            node: update for node, update in Aggregate.load(before).updates.items() if node not in aggregate.members
        }
        for update in missing.values():
            aggregate.add(update)
        if missing:
            self.keep(aggregate)
        return sorted(missing)

    def finish(self) -> None:
        """The model is written: the next step is the next."""
        self._keep_step(self.step)
        self._file(self.step - 1).unlink(missing_ok=True)
