"""The page of the court, drawn from its results alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_HEAD = """# Claims of other libraries

`discreet audit --peers --out docs` wrote this page and the results behind it: it builds an environment for each library
from pinned versions, and hears every case on two neighbouring inputs, in the setting and with the number of runs that
the list of cases has. Both are chosen so that a case ends within ten minutes; where the first few runs say that it
would not, fewer are made, and the column of runs says "of" how many. A result is kept as soon as it is there and is not
drawn again after an interruption, whatever it says. Earlier hearings of the same cases, with other numbers of runs, are
in the history of this page.

A proven bound above the claim means that the claim does not hold *in this setting and for these inputs*, with the
stated confidence. "consistent" means that nothing was proven: the pair may not be the worst one, or the runs too few.
Where a library states no ε, the table says what its output is compared with, and a bound above that is called so, not
a leak. Outputs are rounded to multiples of 1/1024 before they are audited, so what is measured is the mechanism and
not the last bits of its doubles. Times are of a machine that did other work as well. Each row has its own confidence;
among twenty true claims at 0.95 one false alarm is to be expected.

"""

_MARK = "<!-- not run: it needs the library's own environment; `discreet audit --peers` runs it there -->"


def page(results: Sequence[Mapping[str, Any]]) -> str:
    """Markdown of all results."""
    lines = [
        "| case | version | ε (δ) | at least | confidence | runs | s | verdict |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        bound = "–" if one["lower_bound"] is None else f"{one['lower_bound']:.2f}"
        lines.append(
            f"| {one['name']} | {one['version'] or '–'} | {one['epsilon']:g} ({one['delta']:g}) | {bound} "
            f"| {one['confidence'] or '–'} | {_runs(one)} | {one['seconds']:.0f} | {one['verdict']} |"
        )
    parts = [_HEAD + "\n".join(lines) + "\n\n## What was run\n"]
    for one in results:
        parts.append(
            f"\n### {one['name']}\n\n- Setting: `{json.dumps(one['setting'])}`. Claim: {one['basis']}.\n"
            f"- Neighbours: {one['pair']}.\n"
        )
        if one["reproduction"]:
            sides = one["reproduction"]
            hits = "" if not one["hits"] else " ({} of {} runs against {} of {})".format(*one["hits"])
            parts.append(
                f"- Strongest event found: {one['event']}{hits}.\n- To reproduce, pass these lines to "
                f"`{sides['script']}` in an environment that has the library, with a `size`:\n\n"
                f"  {_MARK}\n\n"
                f"  ```json\n  {json.dumps(sides['left'])}\n  {json.dumps(sides['right'])}\n  ```\n"
            )
        else:
            parts.append(f"- {one['verdict']}\n")
    return "".join(parts)


def _runs(one: Mapping[str, Any]) -> str:
    made, planned = one["samples"], one["planned"]
    return f"{made:,}" if made == planned else f"{made:,} of {planned:,}"
