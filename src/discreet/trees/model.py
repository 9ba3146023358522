"""The model: released trees with their certificate; it never saw an exact count."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.model import normalised
from discreet.domain import text
from discreet.errors import ModelError
from discreet.models import Floats, ReleasedModel, beside, class_probabilities
from discreet.privacy.certificate import Certificate
from discreet.schema import Schema
from discreet.sources import Progress, Rows, encode_rows, read_rows
from discreet.trees.kernels import compiled
from discreet.trees.questions import words
from discreet.trees.table import Nodes


class TreeModel(ReleasedModel):
    """log P(class), trees over a schema's questions, and what each leaf adds to the score of each class.

    `errors` are the standard errors of what leaves add, by the noise of their counts, if they are known.
    """

    FORMAT = "discreet/trees"
    NAME = "a tree model"
    by_codes = True
    log_prior: Floats

    def __init__(
        self, schema: Schema, log_prior: Any, nodes: Nodes, values: Any, certificate: Certificate, errors: Any = None
    ) -> None:
        super().__init__(schema, certificate)
        self.log_prior = class_probabilities(schema, log_prior)
        self.nodes = nodes
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        nodes.check(schema)
        if self.values.shape != (len(nodes), len(schema.classes)) or not np.isfinite(self.values).all():
            raise ModelError("the leaves' values do not fit the trees")
        if np.abs(self.values).max() > 1e9:
            raise ModelError("the leaves' values are out of range")
        self.errors = None if errors is None else np.ascontiguousarray(errors, dtype=np.float64)
        known = self.values if self.errors is None else self.errors
        if known.shape != self.values.shape or not (np.abs(known) <= 1e9).all():
            raise ModelError("the errors of the leaves' values do not fit the trees")

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is modelled: by how many of the trees' questions."""
        asked = np.bincount(self.nodes.feature[~self.nodes.leaf], minlength=len(self.schema.features))
        return [
            {"name": name, "kind": f"{int(count)} question(s)"}
            for name, count in zip(self.schema.names, asked, strict=True)
        ]

    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> TreeModel:
        """A tree, or a forest of as many random trees, of the same depth without noise: never for release."""
        from discreet.trees.classifier import PrivateForestClassifier, PrivateTreeClassifier

        depth, trees = self.depth, len(self.nodes.roots)
        if trees > 1:
            forest = PrivateForestClassifier(math.inf, self.schema, depth=depth, n_estimators=trees)
            return forest.fit(data, y, progress=progress).model_
        return PrivateTreeClassifier(math.inf, self.schema, depth=depth).fit(data, y, progress=progress).model_

    @property
    def kind(self) -> str:
        """What the model is, for a person."""
        trees = len(self.nodes.roots)
        return (
            f"{'decision tree' if trees == 1 else f'forest of {trees} trees'} with {int(self.nodes.leaf.sum())} leaves"
        )

    def joint_rows(self, rows: Rows) -> Floats:
        """Scores of rows: the class probabilities and what the leaves add to them."""
        scores = np.tile(self.log_prior, (rows.size, 1))
        compiled().add_leaves(encode_rows(rows), self.nodes.roots, *self.nodes.columns, self.values, scores)
        return scores

    def parts(self, rows: Rows) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """The leaf of each tree that a row ends in."""
        if self.errors is None:
            return None
        leaves = self._leaves(rows)
        return leaves, np.ones(leaves.shape)

    def spread(self, mixes: Any) -> Floats:
        """The variance of mixes of what leaves add, whose counts are noisy each by itself."""
        assert self.errors is not None
        found = np.asarray(mixes.multiply(mixes) @ np.square(self.errors[: mixes.shape[1]]))
        return found.sum(axis=1, keepdims=True) if found.shape[1] == 2 else beside(found)

    @property
    def depth(self) -> int:
        """Questions from a root to its farthest leaf."""
        from discreet.trees.estimate import levels_of

        return len(levels_of(self.nodes)) - 1

    def apply(self, X: Any) -> NDArray[np.int64]:
        """The leaf that each row ends in, as its place in the table of nodes; one column per tree of a forest."""
        found = np.concatenate(
            [np.empty((0, len(self.nodes.roots)), np.int64)]
            + [self._leaves(rows) for rows in read_rows(X, self.schema, labelled=False)]
        )
        return found[:, 0] if len(self.nodes.roots) == 1 else found

    def _leaves(self, rows: Rows) -> NDArray[np.int64]:
        codes, found = encode_rows(rows), np.empty((rows.size, len(self.nodes.roots)), np.int64)
        for tree, root in enumerate(self.nodes.roots):
            leaf = np.empty(rows.size, np.int64)
            compiled().walk(codes, np.full(rows.size, root), *self.nodes.columns, leaf)
            found[:, tree] = leaf
        return found

    def trees(self) -> list[TreeModel]:
        """Each tree as a model of its own."""
        return [self._tree(int(root)) for root in self.nodes.roots]

    def _tree(self, root: int) -> TreeModel:
        kept, waiting = [], [root]
        while waiting:
            node = waiting.pop()
            kept.append(node)
            if self.nodes.feature[node] >= 0:
                waiting += [int(self.nodes.no[node]), int(self.nodes.yes[node])]
        spots = np.sort(kept)
        inner = self.nodes.feature[spots] >= 0
        moved = [
            np.where(inner, np.searchsorted(spots, child[spots]), child[spots])
            for child in (self.nodes.no, self.nodes.yes)
        ]
        columns = (column[spots] for column in (self.nodes.feature, self.nodes.low, self.nodes.high))
        nodes = Nodes(np.searchsorted(spots, [root]), *columns, *moved)
        errors = None if self.errors is None else self.errors[spots]
        return TreeModel(self.schema, self.log_prior, nodes, self.values[spots], self.certificate, errors)

    def to_text(self, tree: int = 0) -> str:
        """One of the trees, indented, for a person."""
        return to_text(self, tree)

    def to_graphviz(self, tree: int = 0) -> str:
        """One of the trees in Graphviz' language."""
        return to_graphviz(self, tree)

    def _fields(self) -> dict[str, Any]:
        errors = {} if self.errors is None else {"errors": self.errors.tolist()}
        return {"trees": self.nodes.to_dict(), "values": self.values.tolist(), **errors}

    @classmethod
    def _build(cls, schema: Schema, fields: dict[str, Any], certificate: Certificate) -> TreeModel:
        nodes, errors = Nodes.from_dict(fields["trees"]), fields.get("errors")
        return cls(schema, fields["log_prior"], nodes, fields["values"], certificate, errors)

    def __repr__(self) -> str:
        return f"<TreeModel: {self.kind}, {len(self.log_prior)} classes>"


# ---- a tree as indented text and in Graphviz' language, without recursion


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
