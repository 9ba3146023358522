"""How a collection is going, seen from outside: what the collector's health, metrics and campaign say to everybody."""

from __future__ import annotations

import json
import math
import re
import ssl
import time
import urllib.error
import urllib.request
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.dashboard import Board
from discreet.errors import DiscreetError
from discreet.local.campaign import Campaign
from discreet.local.numbers import NumberMechanism
from discreet.schema import Schema

LINE = re.compile(r"discreet_collector_(\w+)(?:\{([^}]*)\})? ([0-9.eE+-]+)")
LABEL = re.compile(r'(\w+)="([^"]*)"')
LARGEST = 8 << 20  # bytes of an answer
Counts = dict[str, dict[str, float]]  # of each campaign, by name and label


@dataclass
class Overview:
    """A collector at an address; two looks make a rate."""

    address: str
    authority: Path | None = None
    before: tuple[float, dict[str, float]] | None = None
    plans: dict[str, Campaign] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.address.startswith(("http://", "https://")):
            raise DiscreetError(f"{self.address!r} is no address of a collector: write http://HOST:PORT")
        self.address = self.address.rstrip("/")

    def _get(self, path: str) -> tuple[int, bytes]:
        context = ssl.create_default_context(cafile=self.authority) if self.address.startswith("https") else None
        try:
            with urllib.request.urlopen(f"{self.address}/{path}", timeout=10, context=context) as answer:
                return answer.status, answer.read(LARGEST)
        except urllib.error.HTTPError as error:
            return error.code, error.read(LARGEST)
        except (OSError, ValueError) as error:
            why = getattr(error, "reason", error)
            raise DiscreetError(f"the collector at {self.address} does not answer: {why}") from None

    def _plan(self, name: str) -> Campaign | None:
        """What people are asked, read once: a collector never changes it while it runs."""
        if name not in self.plans:
            _status, text = self._get(f"{name}/campaign.json" if name else "campaign.json")
            try:
                fields = json.loads(text)
                settings = {key: fields[key] for key in ("oracle", "numeric", "reports", "theta")}
                self.plans[name] = Campaign(Schema.from_dict(fields["schema"]), Fraction(fields["epsilon"]), **settings)
            except (ValueError, KeyError, TypeError, ZeroDivisionError):
                return None
        return self.plans[name]

    def look(self) -> Board:
        """How it is now."""
        health, _ = self._get("healthz")
        status, text = self._get("metrics")
        if status != 200:
            raise DiscreetError(f"{self.address} is no collector of reports: it has no /metrics")
        found, now = read_metrics(text.decode("utf-8", "replace")), time.monotonic()
        accepted = {name: counts.get("reports_total accepted", 0.0) for name, counts in found.items() if name or
                    "reports_total accepted" in counts}  # fmt: skip
        since, last = self.before or (now, accepted)
        self.before = now, accepted
        seconds = now - since
        campaigns: list[dict[str, Any]] = []
        for name, count in sorted(accepted.items()):
            rate = (count - last.get(name, count)) / seconds if seconds > 0 else None
            rejected = sum(value for key, value in found[name].items()
                           if key.startswith("reports_total ") and not key.endswith(" accepted"))  # fmt: skip
            plan = self._plan(name)
            campaigns.append({
                "campaign": name, "accepted": int(count), "rejected": int(rejected), "reports_per_second": rate,
                "epsilon": None if plan is None else float(plan.epsilon),
                "expected_error": None if plan is None else expected_error(plan, int(count)),
            })  # fmt: skip
        plain = {"address": self.address, "healthy": health == 200, "campaigns": campaigns,
                 "bytes_waiting": int(sum(one.get("bytes_waiting ", 0.0) for one in found.values()))}  # fmt: skip
        rows = [
            [one["campaign"] or "-", f"{one['accepted']:,}", f"{one['rejected']:,}", _rate(one["reports_per_second"]),
             "" if one["epsilon"] is None else f"{one['epsilon']:g}", _share(one["expected_error"])]
            for one in campaigns
        ]  # fmt: skip
        line = "reports are kept" if health == 200 else "reports cannot be kept now: see the collector's log"
        facts = [("address", self.address), ("healthy", "yes" if health == 200 else "no"),
                 ("bytes on their way to the disk", f"{plain['bytes_waiting']:,}")]  # fmt: skip
        columns = ("campaign", "accepted", "rejected", "reports per second", "epsilon", "expected error of a share")
        return Board("Collection of private reports", line, facts, columns, rows, plain)


def expected_error(plan: Campaign, people: int) -> float | None:
    """The standard error of a small share of the people, of the worst table, if so many have reported.

    Each person answers `reports` of the questions, drawn at random; the rest follows from the mechanisms alone.
    """
    asked = people * plan.reports / len(plan.questions)
    if asked < 1:
        return None
    errors = []
    for question in plan.questions:
        mechanism = question.mechanism
        if isinstance(mechanism, NumberMechanism):
            continue
        errors.append(math.sqrt(mechanism.variance(1, 0.0) / asked))
    return max(errors, default=None)


def _rate(rate: float | None) -> str:
    return "…" if rate is None else f"{rate:,.1f}"


def _share(error: float | None) -> str:
    return "" if error is None else "no use yet" if error > 1 else f"± {100 * error:.2f} points"


def read_metrics(text: str) -> Counts:
    """Counts in the format of Prometheus: by campaign, '' for what names none, then by name and label."""
    found: Counts = defaultdict(dict)
    for match in LINE.finditer(text):
        labels: dict[str, Any] = dict(LABEL.findall(match[2] or ""))
        campaign = labels.pop("campaign", "")
        found[campaign][f"{match[1]} {' '.join(labels.values())}"] = float(match[3])
    return dict(found)
