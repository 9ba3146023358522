"""The report as Markdown: the short table of the start page, and everything that was measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.summary import LARGE, metric_of, reached
from benchmarks.peers.tasks import PEERS

Results = Mapping[str, Any]
NAMES = {
    "nb": "`PrivateNB`",
    "logistic": "`PrivateLogisticRegression`",
    "auto": "`PrivateClassifier`",
    "auto-delta": "`PrivateClassifier`, δ = 1e-6",
    "dp-ebm": "DP-EBM",
    "aim": "AIM and boosting",
    "diffprivlib": "diffprivlib",
    "sklearn/majority": "larger class",
    "sklearn/bayes": "Naive Bayes, bins",
    "sklearn/bayes-bell": "Naive Bayes, bell curves",
    "sklearn/logistic": "logistic regression",
    "sklearn/boosting": "gradient boosting",
}
MARKS = ("<!-- utility:begin -->", "<!-- utility:end -->")
NONE = "–"
FLOOR, CEILING = "sklearn/majority", "sklearn/boosting"


def figure(value: float | None, error: float | None = None) -> str:
    """Three digits, with the standard error behind them if there is one."""
    if value is None:
        return NONE
    text = f"{value:.3f}".removeprefix("0")
    return text if error is None else f"{text} ± {f'{error:.3f}'.removeprefix('0')}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


class Report:
    """Results by cell, and the tables they make."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.cells = {(c["data"], c["method"], c["epsilon"]): c for c in results["cells"]}
        self.contests = {(c["data"], c["epsilon"], c["against"]): c for c in results["contests"]}
        self.ours: str = results["ours"] or "auto"
        self.names = sorted(results["datasets"], key=lambda name: results["datasets"][name]["rows"])
        self.epsilons = sorted({c["epsilon"] for c in results["cells"] if c["epsilon"] is not None})

    # ---- the start page

    def short(self) -> str:
        """Ours at pure ε, with a δ, and the best of the peers by data set and ε, and what is won and lost."""
        head = ["", *(f"ε = {epsilon:g}" for epsilon in self.epsilons), "no privacy"]
        rows = []
        for name in self.names:
            cells = [self._triple(name, epsilon) for epsilon in self.epsilons]
            rows.append([self._title(name), *cells, figure(self._ceiling(name))])
        return f"{table(head, rows)}\n\n{self.account()}"

    def _title(self, name: str) -> str:
        facts = self.results["datasets"][name]
        return f"{facts['title']}{'' if metric_of(facts) == 'auc' else ' *'}"

    def _triple(self, name: str, epsilon: float) -> str:
        metric = metric_of(self.results["datasets"][name])
        ours, loose = (self.cells.get((name, method, epsilon), {}).get(metric) for method in (self.ours, "auto-delta"))
        best = max((v for v in (self.peer(name, epsilon, p) for p in PEERS) if v is not None), default=None)
        verdicts = {self._verdict(name, epsilon, library) for library in PEERS}
        texts = [figure(ours), figure(loose), figure(best)]
        if ours is not None and verdicts <= {"ahead", None}:
            texts[0] = f"**{texts[0]}**"
        if "behind" in verdicts:
            texts[2] = f"**{texts[2]}**"
        return " / ".join(texts)

    def peer(self, name: str, epsilon: float | None, library: str) -> float | None:
        """The best mean of a library in one cell."""
        metric = metric_of(self.results["datasets"][name])
        value: float | None = self.best(name, epsilon, library).get(metric)
        return value

    def best(self, name: str, epsilon: float | None, library: str, metric: str | None = None) -> Mapping[str, Any]:
        """The cell of the library's model with the best mean; an empty one where there is none."""
        by = metric or metric_of(self.results["datasets"][name])
        found = [
            cell
            for (data, method, at), cell in self.cells.items()
            if (data, at) == (name, epsilon) and method.split("/")[0] == library and cell[by] is not None
        ]
        return max(found, key=lambda cell: cell[by], default={})

    def _ceiling(self, name: str) -> float | None:
        """Gradient boosting without privacy."""
        metric = metric_of(self.results["datasets"][name])
        value: float | None = self.cells.get((name, CEILING, None), {}).get(metric)
        return value

    def share(self, name: str, value: float | None) -> float | None:
        """How far a figure is on the way from the larger class (an AUC of one half) to boosting without privacy."""
        auc = metric_of(self.results["datasets"][name]) == "auc"
        floor = 0.5 if auc else self.cells.get((name, FLOOR, None), {}).get("accuracy")
        top = self._ceiling(name)
        return (
            None if value is None or floor is None or top is None or top <= floor else (value - floor) / (top - floor)
        )

    def _verdict(self, name: str, epsilon: float, against: str) -> str | None:
        contest = self.contests.get((name, epsilon, against))
        return None if contest is None else str(contest["verdict"])

    # ---- verdicts

    def account(self) -> str:
        """How many cells are won, and the name of every one that is not."""
        parts = []
        for library in (*PEERS, "pure"):
            found = {key: c["verdict"] for key, c in self.contests.items() if key[2] == library}
            if not found:
                continue
            who = "With δ = 1e-6 against itself at pure ε" if library == "pure" else f"Against {NAMES[library]}"
            text = f"{who}: ahead in {sum(v == 'ahead' for v in found.values())} of {len(found)} cells"
            for kind in ("behind", "unknown") if library == "pure" else ("level", "behind", "unknown"):
                places = [key[:2] for key, v in found.items() if v == kind]
                if places:
                    text += f"; {kind} in {len(places)}: {self._places(places)}"
            parts.append(text + ".")
        who = f"This package is {NAMES[self.ours]} with its defaults here."
        return "\n".join(f"- {part}" for part in [who, *parts, *self._naive(), *self._shares()])

    def _naive(self) -> list[str]:
        """Whether ε = 1 costs anything against Naive Bayes without privacy on large data."""
        large = {name for name in self.names if self.results["datasets"][name]["train"] >= LARGE}
        found = {k: c["verdict"] for k, c in self.contests.items() if k[2] == "bayes" and k[1] == 1 and k[0] in large}
        if not found:
            return []
        behind = [key[:2] for key, verdict in found.items() if verdict == "behind"]
        text = f"At ε = 1 and from {LARGE:,} training rows on, its accuracy is at or above that of Naive Bayes without "
        text += f"privacy in {len(found) - len(behind)} of {len(found)} data sets"
        return [text + (f"; below in {self._places(behind)}." if behind else ".")]

    def _shares(self) -> list[str]:
        """How far ours is on the way to the ceiling, on average."""
        found = []
        for epsilon in self.epsilons:
            shares = self.shares(self.ours, epsilon)
            if shares:
                found.append(f"{100 * sum(shares.values()) / len(shares):.0f} % at ε = {epsilon:g}")
        if not found:
            return []
        return [f"Of the way from the larger class to boosting without privacy it goes {', '.join(found)}, on average."]

    def shares(self, method: str, epsilon: float) -> dict[str, float]:
        """By data set: the share of the way that a method, or the best model of a library, goes."""
        found = {name: self.share(name, self.peer(name, epsilon, method)) for name in self.names}
        return {name: share for name, share in found.items() if share is not None}

    def _places(self, places: Sequence[tuple[str, float]]) -> str:
        """Cells in words, the privacy levels of a data set together."""
        by_name: dict[str, list[str]] = {}
        for name, epsilon in places:
            by_name.setdefault(name, []).append(f"{epsilon:g}")
        titles = {name: self.results["datasets"][name]["title"] for name in by_name}
        return ", ".join(f"{titles[name]} ({', '.join(levels)})" for name, levels in by_name.items())

    # ---- everything

    def full(self) -> str:
        """All means with their standard errors, the editions, the bars and the verdicts."""
        blocks = [self.short()]
        for metric, title in (("auc", "AUC, two classes"), ("accuracy", "Accuracy")):
            blocks += [f"### {title}", self._detail(metric)]
        blocks += ["### Without privacy", self._without()]
        failed = [f"- {self._what(c)}: {'; '.join(c['failed'])}" for c in self.results["cells"] if c.get("failed")]
        if failed:
            blocks += ["### Not measured", "\n".join(failed)]
        blocks += ["Measured with " + ", ".join(self.results["editions"]) + "." + self._kept()]
        return "\n\n".join(blocks)

    def _kept(self) -> str:
        """Which figures are a former report's."""
        kept: Mapping[str, Sequence[str]] = self.results.get("kept", {})
        by_edition: dict[str, list[str]] = {}
        for method, editions in kept.items():
            some = [self.results["datasets"][name]["title"] for name in self.results.get("kept_on", {}).get(method, ())]
            told = f"{method} on {' and '.join(some)}" if some else method
            by_edition.setdefault(" or ".join(editions), []).append(told)
        every = "; ".join(f"{', '.join(methods)} ({edition})" for edition, methods in by_edition.items())
        return f" Kept from the report before this one: {every}." if every else ""

    def _detail(self, metric: str) -> str:
        ours = [
            method for method in ("auto", "auto-delta", "nb", "logistic") if any(key[1] == method for key in self.cells)
        ]
        chose = ["chose"] if any(cell.get("chose") for cell in self.cells.values()) else []
        alone = [method for method in ("dp-ebm", "aim") if any(key[1] == method for key in self.cells)]
        head = ["", "ε", *(NAMES[m] for m in [*ours, *alone]), "diffprivlib", "which", *chose, "seeds"]
        rows = []
        for name in self.names:
            if metric == "auc" and self.results["datasets"][name]["classes"] != 2:
                continue
            for epsilon in self.epsilons:
                cells = [self.cells.get((name, method, epsilon), {}) for method in [*ours, *alone]]
                best = self.best(name, epsilon, "diffprivlib", metric)
                figures = [figure(c.get(metric), c.get(f"{metric}_error")) for c in [*cells, best]]
                seeds = sorted({c["seeds"] for c in [*cells, best] if c.get("seeds")})
                which = best.get("method", NONE).removeprefix("diffprivlib/")
                title = self.results["datasets"][name]["title"]
                kinds = [", ".join(cells[0].get("chose", [NONE]))] if chose else []
                rows.append([title, f"{epsilon:g}", *figures, which, *kinds, ", ".join(map(str, seeds))])
        return table(head, rows)

    def _without(self) -> str:
        methods = [method for method in NAMES if method.startswith("sklearn/")]
        head = ["", "training rows", "features", "classes", *(NAMES[m] for m in methods)]
        rows = []
        for name in self.names:
            facts = self.results["datasets"][name]
            metric = metric_of(facts)
            cells = [self.cells.get((name, method, None), {}) for method in methods]
            figures = [figure(c.get(metric), c.get(f"{metric}_error")) for c in cells]
            rows.append(
                [self._title(name), f"{facts['train']:,}", str(facts["features"]), str(facts["classes"]), *figures]
            )
        return table(head, rows)

    def _what(self, cell: Mapping[str, Any]) -> str:
        level = "" if cell["epsilon"] is None else f", ε = {cell['epsilon']:g}"
        return f"{self.results['datasets'][cell['data']]['title']}, {cell['method']}{level}"

    # ---- bars

    def lines(self) -> Iterable[tuple[str, Mapping[str, Any], str, tuple[float, bool] | None]]:
        """Each cell of ours with its metric, what the peers reached, and the figure it is held to."""
        for (name, method, epsilon), cell in self.cells.items():
            if method in (self.ours, "auto-delta"):
                metric = metric_of(self.results["datasets"][name])
                peers = {library: self.peer(name, epsilon, library) for library in PEERS}
                text = ", ".join(f"{library} {figure(value)}" for library, value in peers.items())
                yield metric, cell, text, reached(cell, metric)


def replace_block(text: str, block: str) -> str:
    """The text with what stands between the two marks replaced."""
    begin, end = MARKS
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"the text needs one {begin} and one {end}")
    return re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{block}\n{end}", text, flags=re.DOTALL)


def block_of(text: str) -> str:
    """What stands between the two marks."""
    begin, end = MARKS
    return text[text.index(begin) + len(begin) : text.index(end)].strip("\n")


def publish(results: Results, root: Path) -> None:
    """Put the tables where readers find them: docs/index.md and docs/utility.md."""
    report = Report(results)
    for file, block in ((root / "docs" / "index.md", report.short()), (root / "docs" / "utility.md", report.full())):
        file.write_text(replace_block(file.read_text(encoding="utf-8"), block), encoding="utf-8")
