"""Pictures: what an ε means and where it went, drawn as plain SVG with words for those who cannot see it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from discreet.dossier.facts import Facts

GUESSES = (0.01, 0.1, 0.25, 0.5, 0.9)
MOST = 14  # bars of the budget picture; what is less is drawn together


def _svg(width: int, height: int, title: str, words: str, parts: Sequence[str], name: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-labelledby="{name}-t {name}-d" class="picture">'
        f'<title id="{name}-t">{escape(title)}</title><desc id="{name}-d">{escape(words)}</desc>{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def _bar(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.0):.1f}" height="{height}" class="{kind}"/>'


def percent(share: float) -> str:
    """A share as people write it."""
    return f"{100 * share:.3g} %"


def guesses(facts: Facts) -> str:
    """How sure an attacker can become, beside how sure they were."""
    left, scale, step = 150, 330, 46
    parts = [
        _text(left, 16, "sure before", kind="head before"),
        _text(left + 110, 16, "at most afterwards", kind="head after"),
    ]
    said = []
    for place, before in enumerate(GUESSES):
        y, after = 30 + place * step, facts.after(before)
        parts += [
            _text(left - 10, y + 22, f"guess at {percent(before)}", "end"),
            _bar(left, y + 4, scale * before, 14, "before"),
            _bar(left, y + 20, scale * after, 14, "after"),
            _text(left + scale * after + 6, y + 32, percent(after)),
        ]
        said.append(f"from {percent(before)} to {percent(after)} at most")
    words = f"How sure anyone can become of a guess {facts.about}: " + ", ".join(said)
    return _svg(580, 36 + step * len(GUESSES), "What a guess can gain", words, parts, "guesses")


def detection(facts: Facts) -> str:
    """Of the people in the data, how many the best test could find, by how often it accuses others."""
    left, top, side = 52, 14, 220
    points = [(x / 40, facts.power(x / 40)) for x in range(41)]
    line = " ".join(f"{left + side * x:.1f},{top + side * (1 - y):.1f}" for x, y in points)
    area = f"{left},{top + side} {line} {left + side},{top + side}"
    at = facts.power(0.05)
    parts = [
        f'<rect x="{left}" y="{top}" width="{side}" height="{side}" class="frame"/>',
        f'<polygon points="{area}" class="reach"/>',
        f'<line x1="{left}" y1="{top + side}" x2="{left + side}" y2="{top}" class="chance"/>',
        f'<polyline points="{line}" class="limit"/>',
        _text(left + side / 2, top + side + 34, "accused though not in the data", "middle"),
        _text(left, top + side + 16, "0", "middle"),
        _text(left + side, top + side + 16, "100 %", "middle"),
        _text(left - 6, top + 10, "100 %", "end"),
        _text(left + side + 14, top + 30, "found at most, of those"),
        _text(left + side + 14, top + 46, "who are in the data"),
        _text(left + side + 14, top + 90, f"errs on 5 %: finds {percent(at)}"),
        _text(left + side + 14, top + 140, "dashed: tossing a coin"),
    ]
    words = f"The best test finds at most {percent(at)} of the members when it wrongly accuses 5 % of others."
    return _svg(520, top + side + 46, "What the best attack can find", words, parts, "detection")


def spending(facts: Facts) -> str:
    """Where the budget went."""
    whole = facts.charges
    by: dict[str, float] = {}
    for one in whole:
        name = f"{one['what']} ({one['measure']})"
        by[name] = max(by.get(name, 0.0), one["cost"])  # of one name are releases about different people
    ranked = sorted(by.items(), key=lambda item: -item[1])
    shown = ranked[:MOST]
    if len(ranked) > MOST:
        shown.append((f"{len(ranked) - MOST} more", sum(cost for _, cost in ranked[MOST:])))
    top = max(cost for _, cost in shown)
    left, scale, step = 300, 200, 24
    parts, said = [], []
    for place, (what, cost) in enumerate(shown):
        y = 8 + place * step
        short = what if len(what) <= 46 else what[:43] + "…"
        parts += [
            _text(left - 8, y + 14, short, "end"),
            _bar(left, y + 3, scale * cost / top, 14, "after"),
            _text(left + scale * cost / top + 6, y + 14, f"{cost:.3g}"),
        ]
        said.append(f"{what} {cost:.3g}")
    return _svg(580, 16 + step * len(shown), "How the budget was spent", "; ".join(said), parts, "spending")
