"""How often a report speaks for the true answer, as a picture and as numbers, for the mechanism that is really used."""

from __future__ import annotations

import math
from html import escape
from typing import Any, NamedTuple

import numpy as np

from discreet.local.campaign import Campaign, Question
from discreet.local.oracles.base import Oracle
from discreet.local.texts import told

_GAP, _RADIUS, _SIDE = 13, 4.6, 132


class Row(NamedTuple):
    """One question: how often it is drawn, and how often its report speaks for the own and for another answer."""

    about: str
    drawn: float
    own: float | None
    other: float | None
    noise: float | None  # for numbers: the standard deviation over half the range
    bytes: int


def rows(campaign: Campaign) -> list[Row]:
    """Every question of a campaign."""
    return [_row(campaign, one) for one in campaign.questions]


def _row(campaign: Campaign, asked: Question) -> Row:
    mechanism, own, other, noise = asked.mechanism, None, None, None
    if isinstance(mechanism, Oracle):
        own, other = mechanism.speaks()
    else:  # of someone in the middle of the range whose class the report is about
        spread = np.sqrt(np.atleast_1d(mechanism.variance(1, 1.0, 0.0)))
        noise = float((spread / np.atleast_1d(mechanism.half)).max())
    drawn = campaign.reports / len(campaign.questions)
    return Row(asked.input.label(campaign.schema), drawn, own, other, noise, mechanism.width)


def facts(campaign: Campaign) -> dict[str, Any]:
    """ε in numbers that people can read."""
    epsilon = float(campaign.epsilon)
    ratio = math.exp(epsilon)
    return {
        "epsilon": f"{epsilon:g}",
        "ratio": _above(ratio),
        "sure": f"{_below_hundred(100 * ratio / (1 + ratio))}\u00a0%",
    }


def _above(number: float) -> str:
    """A bound for people, in three digits or more, never below the number."""
    digits = max(0, 2 - math.floor(math.log10(number)))
    return f"{math.ceil(number * 10**digits) / 10**digits:,.{digits}f}"


def _below_hundred(percents: float) -> str:
    """A bound in percent, never below the number, with as many digits as keep it below a hundred."""
    for digits in range(1, 13):
        shown = math.ceil(percents * 10**digits) / 10**digits
        if shown < 100:
            return f"{shown:.{digits}f}"
    return "100"


def percent(share: float) -> str:
    """A share for people: never rounded to certainty."""
    shown = f"{100 * share:.0f}"
    if shown in {"0", "100"}:
        shown = f"{100 * share:.2g}" if share < 0.5 else f"{math.floor(1e6 * share) / 1e4:.4f}".rstrip("0")
    return f"{shown}\u00a0%"


def of_hundred(share: float) -> int:
    """How many dots of a hundred are full: never none and never all, for there is always a chance."""
    return min(99, max(1, round(100 * share)))


def picture(campaign: Campaign) -> str:
    """Two squares of a hundred people as SVG: those whose answer it is, and those whose answer it is not."""
    first = rows(campaign)[0]
    assert first.own is not None and first.other is not None  # about the class, which is always out of a list
    title = told("picture", about=first.about)
    squares = []
    for place, (name, share) in enumerate((("picture_own", first.own), ("picture_other", first.other))):
        count = of_hundred(share)
        told_so = told(name, count=count, answer=campaign.schema.label.labels[-1])
        dots = "".join(
            f'<circle class="{"full" if i < count else "empty"}" cx="{7.5 + _GAP * (i % 10)}" '
            f'cy="{7.5 + _GAP * (i // 10)}" r="{_RADIUS}"/>'
            for i in range(100)
        )
        squares.append(
            f'<figure class="{("own", "other")[place]}"><svg role="img" aria-label="{escape(told_so)}" '
            f'viewBox="0 0 {_SIDE} {_SIDE}" width="{_SIDE}" height="{_SIDE}">{dots}</svg>'
            f"<figcaption>{escape(told_so)}</figcaption></figure>"
        )
    return f'<section class="picture" aria-label="{escape(title)}"><h3>{escape(title)}</h3>{"".join(squares)}</section>'


def bar(share: float) -> str:
    """A share as a small bar beside its number."""
    width = max(1.0, round(100 * share, 1))
    return (
        f'<svg class="bar" aria-hidden="true" viewBox="0 0 100 10" width="100" height="10" preserveAspectRatio="none">'
        f'<rect class="rail" width="100" height="10"/><rect class="full" width="{width:g}" height="10"/></svg>'
        f"<span>{percent(share)}</span>"
    )
