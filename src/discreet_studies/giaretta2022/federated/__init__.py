"""giaretta2022, part federated: nodes that noise their own statistics and a coordinator that adds them up."""

from __future__ import annotations

from typing import Any

from discreet_studies.giaretta2022.federated.claims import CLAIMS
from discreet_studies.giaretta2022.federated.experiments import DATA, NODES, tasks
from discreet_studies.giaretta2022.federated.pictures import draw
from discreet_studies.giaretta2022.federated.trials import execute
from discreet_studies.results import Results
from discreet_studies.study import Study

CHANGES = (
    "Sound nodes protect against one row more or less, clip to public bounds, centre sums and squares, and draw "
    "discrete Laplace noise scaled to those bounds; the paper scales noise to max |x| of each node's own rows, which "
    "its as-published variant keeps and which is not private.",
    "Printed eq. 12 has ε where e^ε is meant; a replaced row changes two counts, not one.",
    "Algorithm 1 adds the quadratic term of the score and omits −log n_y for each categorical feature: equations 9 to "
    "11 are used, for both versions.",
    "The paper's cut-off compares noisy with true statistics (eq. 28), which no coordinator has: the sound cut-off "
    "ranks nodes by the noise that their budget implies beside their noised size. Where eq. 28 "
    "would divide by zero, as at nearly every node with categories, it divides by one, and in a second reading such "
    "terms are left out.",
    "Sound sums do not depend on which node holds a row, so that laws of sizes can only matter for weights.",
    "Trials come in blocks: ± is one standard error over blocks; within a block the noise of a sum over nodes is "
    "drawn by its exact law (differences of negative binomials). Every point has the paper's 1000 trials or a few "
    "more; those of the paper's version are 20 blocks with two ways each to deal the rows out. Inverse-variance "
    "weights, which are ours, have 252 beside the cut-offs, 100 where rows gather, and 4 in the sweep, where "
    "no claim rests on them: each of their trials sets up all nodes anew.",
    "Nodes of figure 5 get log-uniform sizes from 2 rows to a fifth of all until every row is dealt out.",
)


def tables(results: Results) -> str:
    """Accuracy per data set, version, N and ε."""
    text: list[str] = []
    for name in DATA:
        spot: dict[str, Any] = {"experiment": "sweep", "data": name}
        grid = [e for e in results.values("epsilon", **spot) if e != float("inf")]
        if not grid:
            continue
        level = results.estimate(method="plain", **spot).mean
        text += [f"## {name}: accuracy ({level:.4f} without privacy)", ""]
        text += ["| version | " + " | ".join(f"ε = {e:g}" for e in grid) + " |", "|---" * (len(grid) + 1) + "|"]
        for method in ("federated", "secure", "inverse-variance", "paper"):
            for nodes in NODES:
                cells = [results.cell(method=method, nodes=nodes, epsilon=e, **spot) for e in grid]
                if any(cells):
                    mark = " (not private)" if method == "paper" else ""
                    text.append(f"| {method}, N = {nodes}{mark} | " + " | ".join(cells) + " |")
        cells = [results.cell(method="vaidya", epsilon=e, **spot) for e in grid]
        text += [f"| centralised, Vaidya et al. (not private) | {' | '.join(cells)} |", ""]
    return "\n".join(text)


STUDY = Study(
    "giaretta2022", part="federated", data=DATA, tasks=tasks, execute=execute, claims=CLAIMS,
    draw=draw, tables=tables, changes=CHANGES, unsound="audit:control-giaretta2022-as-published",
)  # fmt: skip
