"""Export: a released tree as indented text and in Graphviz' language, without recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.bayes.model import normalised
from discreet.domain import text
from discreet.errors import ModelError
from discreet.trees.questions import words

if TYPE_CHECKING:
    from discreet.trees.model import TreeModel


def _root(model: TreeModel, tree: int) -> int:
    if not 0 <= tree < len(model.nodes.roots):
        raise ModelError(f"there is no tree {tree}: the model has trees 0 to {len(model.nodes.roots) - 1}")
    return int(model.nodes.roots[tree])


def _leaf(model: TreeModel, node: int) -> str:
    """The class that a leaf speaks for, and how surely if it were the only tree."""
    chance = np.exp(normalised((model.log_prior + model.values[node])[None, :]))[0]
    best = int(chance.argmax())
    return f"{text(model.schema.classes[best])} ({chance[best]:.2f})"


def to_text(model: TreeModel, tree: int = 0) -> str:
    """Questions and answers, one line each, deeper ones further to the right."""
    nodes, lines = model.nodes, []
    waiting = [(_root(model, tree), 0, "")]
    while waiting:
        node, depth, answer = waiting.pop()
        asked = int(nodes.feature[node])
        if asked < 0:
            said = _leaf(model, node)
        else:
            said = words(model.schema, asked, int(nodes.low[node]), int(nodes.high[node])) + "?"
            waiting.append((int(nodes.no[node]), depth + 1, "no: "))
            waiting.append((int(nodes.yes[node]), depth + 1, "yes: "))
        lines.append("  " * depth + answer + said)
    return "\n".join(lines) + "\n"


def to_graphviz(model: TreeModel, tree: int = 0) -> str:
    """A digraph: boxes ask, ellipses answer."""
    nodes, lines = model.nodes, ["digraph tree {", "  node [shape=box];"]
    waiting = [_root(model, tree)]
    while waiting:
        node = waiting.pop()
        asked = int(nodes.feature[node])
        if asked < 0:
            lines.append(f"  n{node} [label={_quoted(_leaf(model, node))}, shape=ellipse];")
            continue
        said = words(model.schema, asked, int(nodes.low[node]), int(nodes.high[node])) + "?"
        lines.append(f"  n{node} [label={_quoted(said)}];")
        for answer, child in (("yes", int(nodes.yes[node])), ("no", int(nodes.no[node]))):
            lines.append(f"  n{node} -> n{child} [label={answer}];")
            waiting.append(child)
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(label: str) -> str:
    plain = label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{plain}"'
