"""The page of a report: sections, charts with tables behind them, and the one script that draws and filters."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from discreet.dossier.style import SHEET
from discreet.errors import DiscreetError
from discreet.report import charts
from discreet.report.findings import MOST, Findings, Row, as_json

MORE = """
main,header,footer{max-width:68rem}
.chart{min-height:60px;width:100%;overflow-x:auto}
.chart.vega-embed{display:flex;flex-direction:column}.chart .vega-bindings{order:-1}
.vega-bindings{display:flex;flex-wrap:wrap;gap:.4rem 1rem;margin:.4rem 0}
.vega-bind{display:block}
.vega-bind select,.tools input,.tools select{font:inherit;color:var(--ink);background:var(--paper);
border:1px solid var(--line);border-radius:4px;padding:.15rem .3rem;max-width:100%}
details{margin:.4rem 0}summary{cursor:pointer;color:var(--mark)}
.tools{display:flex;flex-wrap:wrap;gap:.5rem 1rem;margin:.6rem 0;align-items:end}
.tools label{display:grid;font-size:.85rem;color:var(--soft)}
td.bad,span.bad{color:var(--warn);font-weight:600}
.tall{max-height:32rem;overflow:auto}
@media print{.tools,.vega-bindings,summary{display:none}details{display:block}.tall{max-height:none}}
"""
SCRIPT = """
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const failed = [];
  async function draw() {
    const ink = dark.matches && !matchMedia("print").matches ? "#e6e9ec" : "#1b1f24";
    const line = dark.matches ? "#424a53" : "#c9d1d9";
    const config = {
      background: null, view: {stroke: line},
      axis: {labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line,
        labelFontSize: 12, titleFontSize: 12},
      legend: {labelColor: ink, titleColor: ink, labelFontSize: 12, labelLimit: 240,
        orient: innerWidth < 700 ? "bottom" : "right", columns: innerWidth < 700 ? 2 : 1},
      title: {color: ink, anchor: "start"}, mark: {tooltip: true}, tick: {color: ink}, rule: {color: ink},
    };
    for (const [id, spec] of Object.entries(charts)) {
      try {
        await vegaEmbed("#" + id, spec, {actions: false, renderer: "svg", config, logLevel: 1});
      } catch (error) { failed.push(id + ": " + error); console.error(id, error); }
    }
    document.body.dataset.drawn = String(Object.keys(charts).length - failed.length);
  }
  dark.addEventListener("change", draw);
  draw();
  for (const box of document.querySelectorAll("[data-filters]")) {
    const table = document.getElementById(box.dataset.filters);
    const count = box.querySelector("output");
    const apply = () => {
      const words = box.querySelector("input").value.toLowerCase();
      const menus = [...box.querySelectorAll("select")];
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        const fits = row.textContent.toLowerCase().includes(words)
          && menus.every((menu) => !menu.value || row.dataset[menu.name] === menu.value);
        row.hidden = !fits;
        shown += fits;
      }
      count.textContent = shown + " of " + table.tBodies[0].rows.length;
    };
    box.addEventListener("input", apply);
    apply();
  }
})();
"""


def bundle() -> str:
    """The plotting library as one script: Vega, Vega-Lite and Vega-Embed, which the package index brings."""
    try:
        import vl_convert
    except ImportError:
        raise DiscreetError("a report draws with Vega-Lite: install it by pip install 'discreet[report]'") from None
    text: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub lacks the default
    return text.replace("</script", "<\\/script")


def render(found: Findings, title: str = "Results") -> str:
    """One page that stands by itself: it asks no address for anything."""
    drawn: dict[str, Any] = {}
    sections = [
        (key, head, body)
        for key, head, make in (
            ("accuracy", "Accuracy against ε", _accuracy),
            ("claims", "Claims of the papers", _claims),
            ("audits", "Claimed and measured ε", _audits),
            ("models", "Released models", _models),
            ("rounds", "Rounds of federations and gossip", _rounds),
            ("benchmarks", "Benchmarks", _benchmarks),
        )
        if (body := make(found, drawn))
    ]
    if not sections:
        raise DiscreetError("these results have nothing to show: no score has a finite epsilon")
    nav = "".join(f'<li><a href="#{key}">{escape(head)}</a></li>' for key, head, _ in sections)
    parts = "".join(
        f'<section id="{key}" aria-labelledby="{key}-h"><h2 id="{key}-h">{escape(head)}</h2>{body}</section>'
        for key, head, body in sections
    )
    first = sections[0][0]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline' "
        "'unsafe-eval'; style-src 'unsafe-inline'; img-src data:\">"
        f"<title>{escape(title)}</title><style>{SHEET}{MORE}</style></head><body>"
        f'<a class="skip" href="#{first}">To the results</a><header><h1>{escape(title)}</h1>'
        f'<p class="soft">From {len(found.files)} file(s): {escape(", ".join(dict.fromkeys(found.files)))}</p></header>'
        f'<main><nav aria-label="Sections"><ul>{nav}</ul></nav>{parts}</main>'
        '<footer><p class="soft">Nothing on this page leaves it or was fetched for it.</p></footer>'
        f'<script type="application/json" id="charts">{as_json(drawn)}</script>'
        f'<script type="module">{bundle()}</script><script type="module">{SCRIPT}</script></body></html>\n'
    )


def _figure(name: str, spec: dict[str, Any], drawn: dict[str, Any], words: str) -> str:
    drawn[name] = spec
    return f'<p>{words}</p><div class="chart" id="{name}"></div>'


def _table(name: str, heads: Sequence[str], rows: Sequence[Sequence[Any]], marks: Sequence[Row] = ()) -> str:
    """A table; `marks` are what its rows can be filtered by."""
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in heads)
    body = []
    for index, row in enumerate(rows):
        held = "".join(f' data-{key}="{escape(str(value))}"' for key, value in (marks[index] if marks else {}).items())
        bad = " class='bad'" if marks and marks[index].get("bad") == "yes" else ""
        cells = "".join(f"<td{bad if spot == len(row) - 1 else ''}>{_cell(one)}</td>" for spot, one in enumerate(row))
        body.append(f"<tr{held}>{cells}</tr>")
    return (
        f'<div class="scroll tall" tabindex="0" role="region" aria-label="{escape(name)} table"><table id="{name}">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def _tools(table: str, menus: dict[str, list[str]]) -> str:
    """A search box and menus over a table."""
    lists = "".join(
        f'<label>{escape(name)}<select name="{name}"><option value="">all</option>'
        + "".join(f"<option>{escape(one)}</option>" for one in values)
        + "</select></label>"
        for name, values in menus.items()
    )
    return (
        f'<div class="tools" data-filters="{table}"><label>search<input type="search"></label>{lists}'
        '<output aria-live="polite"></output></div>'
    )


def _behind(name: str, words: str, heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    return f"<details><summary>{escape(words)}</summary>{_table(name, heads, rows)}</details>"


def _accuracy(found: Findings, drawn: dict[str, Any]) -> str:
    rows = [row for row in found.scores if row["mean"] is not None][:MOST]
    if not any(row["epsilon"] for row in rows):
        return ""
    spec = charts.accuracy(rows)
    heads = ["results", "data", "method", "ε", "metric", "mean", "standard error", "repeats"]
    keys = ("source", "data", "method", "epsilon", "metric", "mean", "error", "count")
    words = "Means with bands of two standard errors. Choose results; click a method to single it out."
    return _figure("chart-accuracy", spec, drawn, words) + _behind(
        "scores", "The numbers", heads, [[row[key] for key in keys] for row in rows]
    )


def _claims(found: Findings, drawn: dict[str, Any]) -> str:
    if not found.claims:
        return ""
    menus = {
        "study": list(dict.fromkeys(row["study"] for row in found.claims)),
        "verdict": list(dict.fromkeys(row["verdict"] for row in found.claims)),
    }
    rows = [[row["study"], row["claim"], row["reason"], row["verdict"]] for row in found.claims]
    marks = [{"study": row["study"], "verdict": row["verdict"]} for row in found.claims]
    heads = ["study", "claim", "why", "verdict"]
    return _tools("claims-table", menus) + _table("claims-table", heads, rows, marks)


def _audits(found: Findings, drawn: dict[str, Any]) -> str:
    if not found.audits:
        return ""
    words = (
        "A tick is the claim, a dot the ε that is proven to be there at least, at the stated confidence. A dot beyond "
        "its tick (red) is a leak, or (yellow) above what it is compared with where nobody claims an ε; one before it "
        "proves nothing."
    )
    heads = ["mechanism", "claimed ε", "lower bound", "confidence", "samples", "setting", "verdict"]
    keys = ("name", "claimed", "bound", "confidence", "samples", "setting", "verdict")
    rows = [[row[key] for key in keys] for row in found.audits]
    marks = [
        {"verdict": row["verdict"], "bad": "yes" if row["verdict"] not in {"consistent", ""} else "no"}
        for row in found.audits
    ]
    menus = {"verdict": list(dict.fromkeys(row["verdict"] for row in found.audits))}
    return (
        _figure("chart-audits", charts.audits(found.audits), drawn, words)
        + _tools("audits-table", menus)
        + _table("audits-table", heads, rows, marks)
    )


def _models(found: Findings, drawn: dict[str, Any]) -> str:
    parts = []
    for index, row in enumerate(found.models):
        said = f"ε = {row['epsilon']:g}" if row["epsilon"] is not None else "no ε"
        said += f", δ = {row['delta']:g}" if row["delta"] else ""
        warn = "" if row["private"] else ' <span class="bad">not for release</span>'
        parts.append(
            f"<h3>{escape(row['name'])}: {escape(row['kind'])} for {escape(row['target'])}</h3>"
            f"<p>{escape(said)}{warn}. Protects {escape(row['protects'])}.</p>"
        )
        if row["flows"]:
            words = "Where the budget went. Lines that are set in are parts of the line above them."
            parts.append(_figure(f"chart-budget-{index}", charts.budget(row), drawn, words))
            lines = [
                ["\u2003" * one["depth"] + one["what"], one["how"], one["measure"], one["cost"]] for one in row["flows"]
            ]
            parts.append(_behind(f"flows-{index}", "The ledger", ["what", "how", "measure", "cost"], lines))
        if row["shapes"]:
            words = "What each value adds to the score; bands are one standard error of the noise, where it is known."
            for numeric, name in ((True, "numbers"), (False, "categories")):
                spec = charts.shapes(row, numeric)
                if spec is not None:
                    parts.append(_figure(f"chart-{name}-{index}", spec, drawn, f"{words} Features that are {name}:"))
            heads = ["feature", "value", "class", "adds", "from", "to"]
            lines = [[one[key] for key in ("feature", "at", "class", "value", "low", "high")] for one in row["shapes"]]
            parts.append(_behind(f"shapes-{index}", "The numbers", heads, lines))
        if row["figures"]:
            lines = [[one["figure"], one["value"], one["low"], one["high"]] for one in row["figures"]]
            parts.append("<p>Measured privately on rows held out:</p>")
            parts.append(_table(f"figures-{index}", ["figure", "value", "from", "to"], lines))
    return "".join(parts)


def _rounds(found: Findings, drawn: dict[str, Any]) -> str:
    rows = [row for row in found.convergence if row["mean"] is not None][:MOST]
    if not rows:
        return ""
    heads = ["results", "data", "method", "ε", "round", "mean", "standard error"]
    keys = ("source", "data", "method", "epsilon", "step", "mean", "error")
    return _figure("chart-rounds", charts.convergence(rows), drawn, "How accuracy goes from round to round.") + _behind(
        "rounds-table", "The numbers", heads, [[row[key] for key in keys] for row in rows]
    )


def _benchmarks(found: Findings, drawn: dict[str, Any]) -> str:
    if not found.benchmarks:
        return ""
    keys = ("benchmark", "what", "measured", "unit", "bar", "met")
    marks = [{"met": row["met"], "bad": "yes" if row["met"] == "no" else "no"} for row in found.benchmarks]
    menus = {"met": [one for one in ("yes", "no") if any(row["met"] == one for row in found.benchmarks)]}
    return _tools("benchmarks-table", menus) + _table(
        "benchmarks-table", keys, [[row[key] for key in keys] for row in found.benchmarks], marks
    )
