"""What the parameters that estimators share mean, written once and put into the docstring of each."""

from __future__ import annotations

import re
from textwrap import dedent, indent

MARKER = re.compile(r"^( *)\{(\w+(?:, \w+)*)\}$", re.MULTILINE)
ENTRY = re.compile(r"^(\w+)[^\n]*(?:\n +[^\n]*)*", re.MULTILINE)
SHARED = """
epsilon : float, default 1.0
    The privacy budget of each fit; `math.inf` gives the non-private baseline.
delta : float, default 0.0
    The probability with which ε may be exceeded. Above zero it allows Gaussian noise, where there is a mechanism with
    it; a release without one spends ε alone, which is valid for every δ, and the certificate says so.
schema : Schema or "infer"
    What is public about the data. "infer" reads it off the training data, which is a disclosure that the
    certificate states; without a schema there is no fit.
adjacency : {"add-remove", "replace"}
    Neighbours differ by one row more or less, or by one changed row (then the number of rows is public).
contributions : int, default 1
    The most rows one person may have in the data. If the schema names an id column, this is enforced.
random_state : int, Generator or None
    A seed makes this a reproducible simulation, which is not for release; the certificate says so.
unexpected : {"refuse", "absorb"}
    What happens to values without a place in the schema and to people with too many rows: an error, which is
    outside the guarantee, or a place by public rules (docs/unexpected.md): the guarantee then covers every table.
split : {"weighted", "equal"} or dict
    How the budget is shared: by table size, equally as in the literature, or explicit shares by feature name
    (and by the target's name for class counts) that add up to at most 1.
smoothing : float, default 1.0
    Rows added to every cell.
bounds : {"declared", "private"}
    "private" buys the bounds of every number by a noisy histogram over powers of two, inside the schema's limits;
    "declared" those of numbers that the schema leaves open.
edges : {None, "declared", "private"}
    "private" buys bounds and bins of about equal weight where bins are a count; None follows the bounds.
bounds_share : float, default 0.1
    The part of epsilon for bounds and edges, if any are bought.
certificate_ : Certificate
classes_, n_features_in_, feature_names_in_ : as in scikit-learn
"""


def filled(text: str, own: str) -> str:
    """A docstring with whole entries, a room's `own` or those of all, where a line names them in braces."""
    entries = {found[1]: found[0] for found in ENTRY.finditer(SHARED + dedent(own))}

    def put(found: re.Match[str]) -> str:
        return indent("\n".join(entries[name] for name in found[2].split(", ")), found[1])

    return MARKER.sub(put, text)
