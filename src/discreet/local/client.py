"""The client: what runs on a person's own device, sees one row, and sends one report."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from discreet.errors import BudgetError, DiscreetError
from discreet.files import parse_json, write_text
from discreet.local.campaign import Campaign
from discreet.local.chances import local_epsilon
from discreet.local.entropy import Source, SystemSource
from discreet.local.inputs import Person
from discreet.local.wire.report import Part, Report, pack, schema_mark
from discreet.schema import Schema

FORMAT = "discreet/client"


class LocalClient:
    """One person's side of a campaign.

    Parameters
    ----------
    schema : Schema or Campaign
        What is public; a campaign brings the other settings with it.
    epsilon, oracle, numeric, reports, theta
        As in `Campaign`.
    budget : float or None
        What all reports of this client may cost together; by default one report's ε, so that a second is refused.
    memory : path or None
        A file in which the client remembers what it has spent, across restarts.
    source : Source or None
        The randomness; only tests have a reason to give one.

    >>> from discreet import Categorical, Schema
    >>> schema = Schema([Categorical("sex", ["f", "m"])], target="ill", classes=["no", "yes"])
    >>> client = LocalClient(schema, epsilon=1)
    >>> len(client.report({"sex": "f", "ill": "no"})) < 60
    True
    """

    def __init__(
        self,
        schema: Schema | Campaign,
        epsilon: Any = None,
        *,
        oracle: str = "auto",
        numeric: str = "bins",
        reports: int = 1,
        theta: float | None = None,
        budget: Any = None,
        memory: str | os.PathLike[str] | None = None,
        source: Source | None = None,
    ) -> None:
        if isinstance(schema, Campaign):
            if epsilon is not None:
                raise BudgetError("the campaign says what epsilon is: do not give another")
            self.campaign = schema
        else:
            given = 1 if epsilon is None else epsilon
            self.campaign = Campaign(schema, given, oracle=oracle, numeric=numeric, reports=reports, theta=theta)
        self.budget = self.campaign.epsilon if budget is None else local_epsilon(budget)
        if self.budget < self.campaign.epsilon:
            raise BudgetError("the budget of this client does not suffice for one report")
        self.source = SystemSource() if source is None else source
        self._memory = None if memory is None else Path(memory)
        self._spent, self._last = Fraction(0), b""
        self._turn = threading.Lock()
        if self._memory is not None:
            self._recall()

    @property
    def spent(self) -> Fraction:
        """What the reports sent so far have cost."""
        return self._spent

    @property
    def last_report(self) -> bytes:
        """The last report once more, for sending again what may have been lost: it costs nothing."""
        return self._last

    def report(self, row: Any, label: Any = None) -> bytes:
        """A randomised report about this person's row: a mapping by column name, or values with the class last.

        What is asked is drawn before the row is looked at. The cost is remembered before the report is handed out.
        """
        with self._turn, self._lock():
            if self._spent + self.campaign.epsilon > self.budget:
                raise BudgetError(
                    f"this client has spent {float(self._spent):g} of its {float(self.budget):g}: a further report "
                    "would tell more than was promised; send last_report again, or give the client a larger budget"
                )
            frame = self._frame(row, label)
            spent = self._spent + self.campaign.epsilon
            self._remember(spent, frame)
            self._spent, self._last = spent, frame
        return frame

    def __reduce__(self) -> NoReturn:
        raise BudgetError("a client cannot be copied or pickled: what a copy spends would be forgotten")

    def _frame(self, row: Any, label: Any) -> bytes:
        campaign, source = self.campaign, self.source
        identity = b"".join(source.word().to_bytes(8, "little") for _ in range(2))
        asked = [campaign.questions[place] for place in campaign.choose(source)]
        person = Person.read(campaign.schema, row, label)
        parts = []
        for question in asked:
            mechanism = question.mechanism
            said = mechanism.draw(*person.answer(campaign.schema, question.input), source)
            parts.append(Part(question.input.index, mechanism.code, mechanism.parameter, mechanism.packed(said)))
        return pack(Report(schema_mark(campaign.schema.hash), identity, campaign.epsilon, tuple(parts)))

    # ---- memory

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Only one process at a time may spend from one memory, and it reads what others have spent first."""
        if self._memory is None:
            yield
            return
        with open(f"{self._memory}.lock", "a") as file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
            except ImportError:  # no such locks on this system: one client, one process
                pass
            self._recall()
            yield

    def _recall(self) -> None:
        assert self._memory is not None
        try:
            fields = parse_json(self._memory.read_bytes())
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise DiscreetError(f"the client's memory {self._memory} cannot be read: {error}") from None
        try:
            if fields["format"] != FORMAT:
                raise ValueError("it is another kind of file")
            spent, last = Fraction(fields["spent"]), base64.b64decode(fields["last"], validate=True)
            if spent < 0:
                raise ValueError("it has spent less than nothing")
            self._spent, self._last = spent, last
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise DiscreetError(f"the client's memory {self._memory} is damaged, so nothing is sent: {error}") from None

    def _remember(self, spent: Fraction, last: bytes) -> None:
        if self._memory is not None:
            fields = {"format": FORMAT, "spent": str(spent), "last": base64.b64encode(last).decode()}
            write_text(self._memory, json.dumps(fields) + "\n", private=True)
