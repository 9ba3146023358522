"""Shapes of a released model as small pictures: a line with its band for numbers, bars for categories."""

from __future__ import annotations

from html import escape
from typing import Any

WIDTH, HEIGHT, LEFT, TOP = 340, 150, 44, 10
MOST = 12  # features that are drawn, the most important first


def drawn(model: Any) -> list[dict[str, Any]]:
    """A picture for each of the most important features, of the first class that is told apart."""
    whole = model.explain()
    return [
        {"feature": one.name, "importance": one.importance, "picture": _picture(one, whole.classes[0], whole.unit)}
        for one in whole.shapes[:MOST]
    ]


def _picture(shape: Any, label: str, unit: str) -> str:
    values = [float(one) for one in shape.values[0]]
    errors = [0.0] * len(values) if shape.error is None else [float(one) for one in shape.error[0]]
    low = min(0.0, *(v - e for v, e in zip(values, errors, strict=True)))
    high = max(0.0, *(v + e for v, e in zip(values, errors, strict=True)))
    span = (high - low) or 1.0

    def y(value: float) -> float:
        return TOP + (high - value) / span * HEIGHT

    marks = [
        f'<line x1="{LEFT}" y1="{y(0):.1f}" x2="{LEFT + WIDTH}" y2="{y(0):.1f}" class="zero"/>',
        f'<text x="{LEFT - 4}" y="{y(high) + 10:.1f}" text-anchor="end">{high:.2g}</text>',
        f'<text x="{LEFT - 4}" y="{y(low):.1f}" text-anchor="end">{low:.2g}</text>',
    ]
    numbers = [(at, v, e) for at, v, e in zip(shape.at, values, errors, strict=True) if isinstance(at, int | float)]
    if shape.numeric and len(numbers) > 1:
        first, last = numbers[0][0], numbers[-1][0]
        points = [(LEFT + (at - first) / ((last - first) or 1) * WIDTH, v, e) for at, v, e in numbers]
        band = [f"{x:.1f},{y(v + e):.1f}" for x, v, e in points] + [
            f"{x:.1f},{y(v - e):.1f}" for x, v, e in points[::-1]
        ]
        line = " ".join(f"{x:.1f},{y(v):.1f}" for x, v, _ in points)
        marks += [
            f'<polygon points="{" ".join(band)}" class="reach"/><polyline points="{line}" class="limit"/>',
            f'<text x="{LEFT}" y="{TOP + HEIGHT + 16}">{first:g}</text>',
            f'<text x="{LEFT + WIDTH}" y="{TOP + HEIGHT + 16}" text-anchor="end">{last:g}</text>',
        ]
    else:
        step = WIDTH / max(len(values), 1)
        for place, (at, v, e) in enumerate(zip(shape.at, values, errors, strict=True)):
            x = LEFT + place * step
            marks += [
                f'<rect x="{x + step * 0.1:.1f}" y="{min(y(v), y(0)):.1f}" width="{step * 0.8:.1f}" '
                f'height="{abs(y(v) - y(0)):.1f}" class="after"><title>{escape(str(at))}: {v:.3g}</title></rect>',
                f'<line x1="{x + step / 2:.1f}" x2="{x + step / 2:.1f}" y1="{y(v - e):.1f}" y2="{y(v + e):.1f}" '
                'class="error"/>',
            ]
            if len(values) <= 6:
                marks.append(
                    f'<text x="{x + step / 2:.1f}" y="{TOP + HEIGHT + 16}" text-anchor="middle">'
                    f"{escape(str(at)[: max(3, int(step / 7))])}</text>"
                )
    words = f"What {shape.name} adds to the {unit} of {label}"
    return (
        f'<svg viewBox="0 0 {LEFT + WIDTH + 10} {TOP + HEIGHT + 24}" role="img" aria-label="{escape(words)}" '
        f'class="picture">{"".join(marks)}</svg>'
    )
