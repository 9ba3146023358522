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

from discreet.errors import BudgetError, DiscreetError, SchemaError
from discreet.files import parse_json, write_text
from discreet.local.campaign import Campaign
from discreet.local.chances import local_epsilon
from discreet.local.entropy import Source, SystemSource
from discreet.local.inputs import Person, placeless
from discreet.local.post import SendError, post
from discreet.local.wire.report import HEAD, Part, Report, pack, schema_mark
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
        What all reports of this client may cost together, whatever the campaign; by default one report's ε, so that a
        second is refused.
    memory : "auto", path or None
        The file in which the client remembers what it has spent, across restarts. "auto" is `discreet/client.json` in
        the user's directory of states (`XDG_STATE_HOME`, or `~/.local/state`): one person, one budget. With None the
        client forgets when the process ends: for simulations.
    pin : str or None
        The fingerprint of the only schema that this client reports about (`Campaign.pin`, which `discreet local
        campaign` prints); any other is refused before a row is looked at.
    source : Source or None
        The randomness; only tests have a reason to give one.

    >>> from discreet import Categorical, Schema
    >>> schema = Schema([Categorical("sex", ["f", "m"])], target="ill", classes=["no", "yes"])
    >>> client = LocalClient(schema, epsilon=1, memory=None)
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
        memory: str | os.PathLike[str] | None = "auto",
        pin: str | None = None,
        source: Source | None = None,
    ) -> None:
        if isinstance(schema, Campaign):
            if epsilon is not None:
                raise BudgetError("the campaign says what epsilon is: do not give another")
            self.campaign = schema
        else:
            given = 1 if epsilon is None else epsilon
            self.campaign = Campaign(schema, given, oracle=oracle, numeric=numeric, reports=reports, theta=theta)
        if pin is not None and pin != self.campaign.pin:
            raise SchemaError(
                "the campaign is about another schema than the one this client is pinned to: not reported"
            )
        self.budget = self.campaign.epsilon if budget is None else local_epsilon(budget)
        if self.budget < self.campaign.epsilon:
            raise BudgetError("the budget of this client does not suffice for one report")
        self.source = SystemSource() if source is None else source
        self._memory = default_memory() if memory == "auto" else None if memory is None else Path(memory)
        self._spent, self._reports = Fraction(0), dict[str, bytes]()
        self._turn = threading.Lock()
        if self._memory is not None:
            self._recall()

    @property
    def spent(self) -> Fraction:
        """What the reports sent so far have cost."""
        return self._spent

    @property
    def last_report(self) -> bytes:
        """This campaign's last report once more, for sending again what may have been lost: it costs nothing."""
        return self._reports.get(self.campaign.fingerprint, b"")

    def placeless(self, row: Any, label: Any = None) -> list[str]:
        """One sentence for each value of a row that the schema has no place for: for this device's screen alone.

        Such a row is reported like any other. Whoever sends nothing instead tells what the row says.
        """
        return placeless(self.campaign.schema, row, label)

    def report(self, row: Any, label: Any = None) -> bytes:
        """A randomised report about this person's row: a mapping by column name, or values with the class last.

        What is asked is drawn before the row is looked at. The cost is remembered before the report is handed out. A
        value without a place in the schema is reported as if it were drawn evenly from all that have one, at the same
        cost: no content of a row keeps a report back.
        """
        with self._turn, self._lock():
            return self._report(row, label)

    def _report(self, row: Any, label: Any) -> bytes:
        """Draw a report and remember it; whoever calls has the lock."""
        if self._spent + self.campaign.epsilon > self.budget:
            raise BudgetError(
                f"this client has spent {float(self._spent):g} of its {float(self.budget):g}: a further report "
                "would tell more than was promised; send last_report again, or give the client a larger budget"
            )
        frame = self._frame(row, label)
        spent = self._spent + self.campaign.epsilon
        reports = {**self._reports, self.campaign.fingerprint: frame}
        self._remember(spent, frame, reports)
        self._spent, self._reports = spent, reports
        return frame

    def send(self, row: Any, url: str, label: Any = None, **settings: Any) -> dict[str, int]:
        """Report about a row and send it; where this campaign's report was made before, send that one again.

        `url` is the address of a collector; `settings` are those of `post`. A report is drawn once, however often this
        is called and whatever happens on the way: after a crash, or in another process with the same memory, the bytes
        that are sent are those that were drawn first.
        """
        with self._turn, self._lock():
            if not self.last_report:
                self._report(row, label)
        return self.post(url, **settings)

    def post(self, url: str, **settings: Any) -> dict[str, int]:
        """Send this campaign's last report, again until the collector has it; the answer is what it says of it.

        `token` lets the report in, where the collection wants tokens; `tries` (6) and `wait` (.5 seconds before the
        second try, then twice as long each time) say how long to go on.
        """
        if not self.last_report:
            raise SendError("there is no report to send: make one with report(row)")
        return post(url, self.last_report, **settings)

    def __reduce__(self) -> NoReturn:
        raise BudgetError("a client cannot be copied or pickled: what a copy spends would be forgotten")

    def _frame(self, row: Any, label: Any) -> bytes:
        campaign, source = self.campaign, self.source
        identity = b"".join(source.word().to_bytes(8, "little") for _ in range(2))
        asked = [campaign.questions[place] for place in campaign.choose(source)]
        person = Person.read(campaign.schema, row, label, source)
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
            kept = fields.get("reports")
            if (
                kept is None
            ):  # from before campaigns were told apart: a report about this schema is taken for this one's
                ours = last[HEAD:].startswith(schema_mark(self.campaign.schema.hash))
                reports = {self.campaign.fingerprint: last} if ours else {}
            else:
                reports = {str(name): base64.b64decode(one, validate=True) for name, one in kept.items()}
            self._spent, self._reports = spent, reports
        except (KeyError, TypeError, ValueError, ZeroDivisionError, AttributeError) as error:
            raise DiscreetError(f"the client's memory {self._memory} is damaged, so nothing is sent: {error}") from None

    def _remember(self, spent: Fraction, last: bytes, reports: dict[str, bytes]) -> None:
        if self._memory is not None:
            kept = {name: base64.b64encode(one).decode() for name, one in reports.items()}
            fields = {"format": FORMAT, "spent": str(spent), "last": base64.b64encode(last).decode(), "reports": kept}
            write_text(self._memory, json.dumps(fields) + "\n", private=True)


def default_memory() -> Path:
    """Where a client remembers unless told otherwise; the directory is made."""
    named = os.environ.get("XDG_STATE_HOME", "")
    folder = (Path(named) if os.path.isabs(named) else Path.home() / ".local" / "state") / "discreet"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DiscreetError(f"the client cannot remember what it spends in {folder}: {error.strerror}") from None
    return folder / "client.json"
