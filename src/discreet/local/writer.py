"""The writer: one thread that puts all batches waiting at a moment into one durable step, and answers after it."""

from __future__ import annotations

import asyncio
import queue
import threading
from dataclasses import dataclass

from discreet.local.collector import Collector
from discreet.local.outcome import Outcome

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
        self._queue: queue.SimpleQueue[_Batch | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    def start(self) -> None:
        """Begin to write; call it inside the event loop that will submit."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

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
        done: asyncio.Future[Outcome] = self._loop.create_future()
        self._queue.put(_Batch(body, done))
        return await done

    def stop(self) -> None:
        """Write what is waiting, then end."""
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        last = False
        while not last:
            group, size = [], 0
            waiting = self._queue.get()
            while waiting is not None:
                group.append(waiting)
                size += len(waiting.body)
                if size >= GROUP:
                    break
                try:
                    waiting = self._queue.get_nowait()
                except queue.Empty:
                    break
            last = waiting is None
            if group:
                self._loop.call_soon_threadsafe(_answer, group, self._write([one.body for one in group]))

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


def _answer(group: list[_Batch], answers: list[Outcome | Exception]) -> None:
    for one, answer in zip(group, answers, strict=True):
        if one.done.done():  # the sender has gone away; the batch is counted all the same
            continue
        if isinstance(answer, Exception):
            one.done.set_exception(answer)
        else:
            one.done.set_result(answer)
