"""Charts: Vega-Lite descriptions of what a report shows; data stand in them, so that a page needs nothing else."""

from __future__ import annotations

from typing import Any

from discreet.report.findings import Row

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"  # a name, not an address that is asked
STATES = {"consistent": "#2f7ed8", "leaks": "#d1242f", "above the comparison": "#b98a1d"}


def _chart(title: str, rows: list[Row], **more: Any) -> dict[str, Any]:
    return {
        "$schema": SCHEMA, "description": title, "width": "container", "height": 300, "data": {"values": rows},
        "autosize": {"type": "fit-x", "contains": "padding"}, **more,
    }  # fmt: skip


def _menu(name: str, column: str, rows: list[Row], label: str) -> dict[str, Any]:
    """A choice among the values of a column, as a labelled menu above the chart."""
    values = list(dict.fromkeys(row[column] for row in rows))
    return {"name": name, "value": values[0], "bind": {"input": "select", "options": values, "name": f"{label} "}}


def accuracy(rows: list[Row]) -> dict[str, Any]:
    """Accuracy or AUC against ε, with bands of two standard errors, for each method and data set."""
    told = [
        {**row, "which": f"{row['source']}: {row['data']}"}
        for row in rows
        if row["epsilon"] and row["mean"] is not None
    ]
    pick = {"name": "method", "select": {"type": "point", "fields": ["method"]}, "bind": "legend"}
    shown = {"condition": {"param": "method", "value": 1}, "value": 0.08}
    x = {"field": "epsilon", "type": "quantitative", "scale": {"type": "log"}, "title": "ε (log scale)"}
    y = {"type": "quantitative", "scale": {"zero": False}}
    colour = {"field": "method", "type": "nominal", "title": "method (click to single out)"}
    tips = [{"field": one} for one in ("data", "method", "epsilon", "metric", "mean", "error", "count")]
    return _chart(
        "Accuracy or AUC against epsilon, with bands of two standard errors, by method",
        told,
        params=[_menu("which", "which", told, "Results")],
        transform=[{"filter": "datum.which == which"}],
        layer=[
            {
                "mark": {"type": "area", "opacity": 0.18},
                "encoding": {
                    "x": x, "y": {**y, "field": "low", "title": "mean"}, "y2": {"field": "high"}, "color": colour,
                },
            },
            {
                "params": [pick],
                "mark": {"type": "line", "point": True},
                "encoding": {
                    "x": x, "y": {**y, "field": "mean", "title": "mean"}, "color": colour, "opacity": shown,
                    "tooltip": tips,
                },
            },
        ],
    )  # fmt: skip


def audits(rows: list[Row]) -> dict[str, Any]:
    """Claimed against measured ε: a lower bound above its claim is a leak."""
    told = [{**row, "state": _state(row)} for row in rows if row["claimed"] is not None]
    y = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 260}}
    state = {
        "field": "state", "type": "nominal", "title": "measured",
        "scale": {"domain": list(STATES), "range": list(STATES.values())},
    }  # fmt: skip
    tips = [{"field": one} for one in ("name", "claimed", "bound", "confidence", "verdict", "samples", "setting")]
    return _chart(
        "Claimed epsilon (tick) and the proven lower bound (dot) of every audited mechanism",
        told,
        height={"step": 20},
        params=[{
            "name": "which", "value": "all",
            "bind": {"input": "select", "options": ["all", *STATES], "name": "Show "},
        }],
        transform=[{"filter": "which == 'all' || datum.state == which"}],
        layer=[
            {"mark": {"type": "rule", "opacity": 0.5},
             "encoding": {"x": {"field": "claimed", "type": "quantitative", "title": "ε"}, "x2": {"field": "bound"},
                          "y": y, "color": state}},
            {"mark": {"type": "tick", "thickness": 3},
             "encoding": {"x": {"field": "claimed", "type": "quantitative"}, "y": y}},
            {"mark": {"type": "point", "filled": True, "size": 70},
             "encoding": {"x": {"field": "bound", "type": "quantitative"}, "y": y, "color": state, "tooltip": tips}},
        ],
    )  # fmt: skip


def _state(row: Row) -> str:
    """What was proven; a bound above something that nobody claims is no leak."""
    if row["bound"] is None or row["bound"] <= row["claimed"]:
        return "consistent"
    return "above the comparison" if row["verdict"] == "above the comparison" else "leaks"


def budget(row: Row) -> dict[str, Any]:
    """Where a model's budget went, from the whole to its parts."""
    flows = [
        {**one, "place": f"{index:03d}", "label": "\u2003" * one["depth"] + one["what"]}
        for index, one in enumerate(row["flows"])
    ]
    return _chart(
        f"How the budget of {row['name']} was spent",
        flows,
        height={"step": 18},
        mark={"type": "bar"},
        encoding={
            "y": {"field": "label", "type": "nominal", "sort": {"field": "place"}, "title": None,
                  "axis": {"labelLimit": 360}},
            "x": {"field": "cost", "type": "quantitative", "title": "cost"},
            "color": {"field": "depth", "type": "ordinal", "legend": None},
            "tooltip": [{"field": one} for one in ("what", "how", "measure", "cost")],
        },
    )  # fmt: skip


def shapes(row: Row, numeric: bool) -> dict[str, Any] | None:
    """What each value of a feature adds to the score, with the error of the noise: of numbers, or of categories."""
    rows = [one for one in row["shapes"] if one["numeric"] == numeric]
    if not rows:
        return None
    name = "number" if numeric else "category"
    y: dict[str, Any] = {"type": "quantitative", "title": "adds to the score"}
    colour = {"field": "class", "type": "nominal"}
    tips = [{"field": one} for one in ("feature", "at", "class", "value", "low", "high")]
    x: dict[str, Any] = {"field": "at", "type": "quantitative", "title": "value", "scale": {"zero": False}}
    if not numeric:
        x = {"field": "at", "type": "nominal", "sort": None, "title": "value"}
    known = any(one["low"] is not None for one in rows)
    aside: dict[str, Any] = {} if numeric else {"xOffset": {"field": "class"}}
    tinted: dict[str, Any] = {"color": colour} if numeric else {}
    band = {
        "mark": {"type": "area", "opacity": 0.2} if numeric else {"type": "rule", "strokeWidth": 2},
        "encoding": {"x": x, **aside, "y": {**y, "field": "low"}, "y2": {"field": "high"}, **tinted},
    }
    shape = {
        "mark": {"type": "line"} if numeric else {"type": "bar", "opacity": 0.75},
        "encoding": {"x": x, **aside, "y": {**y, "field": "value"}, "color": colour, "tooltip": tips},
    }
    layers = [shape] if not known else [band, shape] if numeric else [shape, band]
    return _chart(
        f"Shapes of the features of {row['name']}: by {name}",
        rows,
        height=220,
        params=[_menu("feature", "feature", rows, "Feature")],
        transform=[{"filter": "datum.feature == feature"}],
        layer=layers,
    )


def convergence(rows: list[Row]) -> dict[str, Any]:
    """How accuracy goes over rounds of a federation or of gossip."""
    x = {"field": "step", "type": "quantitative", "title": "round"}
    y = {"type": "quantitative", "scale": {"zero": False}}
    colour = {"field": "method", "type": "nominal"}
    return _chart(
        "Accuracy over rounds of a federation or of gossip, with bands of two standard errors",
        [row for row in rows if row["mean"] is not None],
        params=[_menu("rounds_data", "data", rows, "Data set")],
        transform=[{"filter": "datum.data == rounds_data"}],
        layer=[
            {"mark": {"type": "area", "opacity": 0.18},
             "encoding": {"x": x, "y": {**y, "field": "low", "title": "mean"}, "y2": {"field": "high"},
                          "color": colour}},
            {"mark": {"type": "line", "point": True},
             "encoding": {"x": x, "y": {**y, "field": "mean", "title": "mean"}, "color": colour,
                          "strokeDash": {"field": "epsilon", "type": "nominal"},
                          "tooltip": [{"field": one} for one in ("source", "method", "epsilon", "step", "mean")]}},
        ],
    )  # fmt: skip
