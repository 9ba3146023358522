"""giaretta2022, part gossip: the same noised updates passed from node to node, with no coordinator."""

from __future__ import annotations

import json

from discreet_studies.giaretta2022.federated.experiments import DATA
from discreet_studies.giaretta2022.gossip.claims import CLAIMS
from discreet_studies.giaretta2022.gossip.curve_claims import VERSIONS
from discreet_studies.giaretta2022.gossip.experiments import tasks
from discreet_studies.giaretta2022.gossip.pictures import draw
from discreet_studies.giaretta2022.gossip.trials import execute
from discreet_studies.results import Results
from discreet_studies.study import Study

CHANGES = (
    "Versions: 'push-sum' and 'published rule' gossip the same sound updates (noise scaled to public bounds); 'paper "
    "in all' gossips the paper's updates, which are not private, by the paper's rule.",
    "Push-sum takes the place of Algorithms 4 and 5: values and weights are exact integers, halved with every message, "
    "and nothing of them is lost or counted twice. The published rule counts an update as often as estimates that met "
    "it happen to be merged.",
    "Nodes wake in a random order that is drawn anew for every iteration, each sending one message; the paper says "
    "'at regular intervals'. Lost messages are sent again under push-sum and lost under the published rule.",
    "Every node weighs its estimate by the number of nodes, so that it makes the model a coordinator would.",
    "SPECT and Votes have fewer training rows than the 1000 nodes, many of which then hold noise alone.",
    "Liars claim a hundred times a node's share with the classes swapped, whenever they are asked.",
    "± is one standard error over repeats; each repeat deals the rows out anew and draws fresh noise.",
)


def tables(results: Results) -> str:
    """Accuracy by iteration and version."""
    text = ["## adult: median accuracy of the nodes [quartiles], by iteration", ""]
    shown = (1, 5, 10, 20, 30, 50, 100)
    head = False
    for version in VERSIONS:
        for model in ("gaussian", "default"):
            rows = results.where(experiment="curve", method=version, model=model)
            if not rows:
                continue
            steps = json.loads(rows[0]["steps"])
            at = [min(range(len(steps)), key=lambda i, s=step: abs(steps[i] - s)) for step in shown]  # type: ignore[misc]
            if not head:
                text += ["| version | " + " | ".join(str(steps[i]) for i in at) + " | federated |",
                         "|---" * (len(at) + 2) + "|"]  # fmt: skip
                head = True
            lists = [json.loads(row["quartiles"]) for row in rows]
            cells = []
            for i in at:
                low, middle, high = (sum(one[i][q] for one in lists) / len(lists) for q in range(3))
                cells.append(f"{middle:.4f} [{low:.4f}, {high:.4f}]")
            goal = sum(row["federated"] for row in rows) / len(rows)
            mark = " (not private)" if version == "paper" else ""
            text.append(f"| {VERSIONS[version]}, {model}{mark} | {' | '.join(cells)} | {goal:.4f} |")
    speed = results.where(experiment="speed")
    if speed:
        one = speed[0]
        what = f"1000 nodes with {one['columns']} integers each took {one['seconds']:.2f} s"
        text += ["", f"A hundred turns of {what} and left a relative gap of {one['gap']:.1e} at most."]
    return "\n".join(text)


STUDY = Study(
    "giaretta2022", part="gossip", data=DATA, tasks=tasks, execute=execute, claims=CLAIMS,
    draw=draw, tables=tables, changes=CHANGES, unsound="audit:control-giaretta2022-as-published",
)  # fmt: skip
