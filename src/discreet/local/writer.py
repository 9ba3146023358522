"""The writer: puts all batches waiting at a moment into one durable step, and answers after it."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from discreet.local.collector import Collector
from discreet.local.store import Outcome

GROUP = 4 << 20  # bytes that go into one step
QUIET = 10.0  # seconds between two lines about the same trouble
LOG = logging.getLogger("discreet.collector")


@dataclass(frozen=True)
class _Batch:
    body: bytes
    token: str
    done: asyncio.Future[Outcome]


class Trouble:
    """Lines of JSON on a log: when something begins to fail, at times while it does, and when it works again."""

    def __init__(self, what: str, *, quiet: float = QUIET) -> None:
        self.what, self.quiet, self._since, self._told = what, quiet, 0.0, 0.0

    def __call__(self, error: Exception | None) -> None:
        """Note how it went."""
        now = time.monotonic()
        if error is not None and (not self._since or now - self._told >= self.quiet):
            self._since, self._told = self._since or now, now
            tell(f"{self.what}-failure", error=str(error))
        elif error is None and self._since:
            tell(f"{self.what}-recovered", seconds=round(now - self._since, 1))
            self._since = 0.0


def tell(event: str, **facts: Any) -> None:
    """One line of JSON for whoever runs the collector; nothing in it is about a sender or a report."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    LOG.warning(json.dumps({"time": at, "event": event, **facts}, ensure_ascii=False))


class Writer:
    """Takes batches from an event loop; `room` is how many bytes may be on their way at once."""

    def __init__(
        self, collector: Collector, *, room: int, tell: Callable[[Exception | None], None] = lambda _: None
    ) -> None:
        self.collector, self.room, self.held, self.tell = collector, room, 0, tell
        self._waiting: deque[_Batch] = deque()
        self._task: asyncio.Task[None] | None = None

    def reserve(self, size: int) -> bool:
        """Ask for room for that many bytes of a request; False means: try again later."""
        if self.held + size > self.room:
            return False
        self.held += size
        return True

    def release(self, size: int) -> None:
        """Give room back."""
        self.held -= size

    async def submit(self, body: bytes, token: str = "") -> Outcome:
        """Count a batch; the answer comes when it is on disk."""
        batch = _Batch(body, token, asyncio.get_running_loop().create_future())
        self._waiting.append(batch)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write_all())
        return await batch.done

    async def stop(self) -> None:
        """Write what is waiting, then end."""
        if self._task is not None:
            await self._task

    async def _write_all(self) -> None:
        """One durable step after another; what comes in meanwhile is the next one."""
        while self._waiting:
            group, size = [], 0
            while self._waiting and size < GROUP:
                group.append(self._waiting.popleft())
                size += len(group[-1].body)
            answers = await asyncio.to_thread(self._write, [(one.body, one.token) for one in group])
            for one, answer in zip(group, answers, strict=True):
                if one.done.done():  # the sender has gone away; the batch is counted all the same
                    continue
                if isinstance(answer, Exception):
                    one.done.set_exception(answer)
                else:
                    one.done.set_result(answer)

    def _write(self, group: list[tuple[bytes, str]]) -> list[Outcome | Exception]:
        try:
            found = self.collector.add_buffers([body for body, _ in group], [token for _, token in group])
        except Exception as error:
            if len(group) > 1:  # what is wrong with one batch is not the others' fault
                return [answer for one in group for answer in self._write([one])]
            self.tell(error)
            return [error]
        self.tell(None)
        return list(found)

    def probe(self) -> str | None:
        """What keeps reports from being kept, or None."""
        try:
            self.collector.probe()
        except Exception as error:
            self.tell(error)
            return str(error)
        self.tell(None)
        return None
