"""The writer: puts all batches waiting at a moment into one durable step, and answers after it."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from discreet.local.collector import Collector
from discreet.local.store import Outcome

GROUP = 4 << 20  # bytes that go into one step


@dataclass(frozen=True)
class _Batch:
    body: bytes
    done: asyncio.Future[Outcome]


class Writer:
    """Takes batches from an event loop; `room` is how many bytes may be on their way at once."""

    def __init__(self, collector: Collector, *, room: int) -> None:
        self.collector, self.room, self.held = collector, room, 0
        self.failure: Exception | None = None
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

    async def submit(self, body: bytes) -> Outcome:
        """Count a batch; the answer comes when it is on disk."""
        batch = _Batch(body, asyncio.get_running_loop().create_future())
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
            answers = await asyncio.to_thread(self._write, [one.body for one in group])
            for one, answer in zip(group, answers, strict=True):
                if one.done.done():  # the sender has gone away; the batch is counted all the same
                    continue
                if isinstance(answer, Exception):
                    one.done.set_exception(answer)
                else:
                    one.done.set_result(answer)

    def _write(self, bodies: list[bytes]) -> list[Outcome | Exception]:
        try:
            found = self.collector.add_buffers(bodies)
        except Exception as error:
            if len(bodies) > 1:  # what is wrong with one batch is not the others' fault
                return [answer for body in bodies for answer in self._write([body])]
            self.failure = error
            return [error]
        self.failure = None
        return list(found)
