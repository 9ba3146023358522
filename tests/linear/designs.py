"""Rows as the linear models encode them."""

from discreet import sources


def read_design(X, y, encoding, *, contributions=1, **rules):
    return encoding.design(sources.open(X, encoding.schema, y, contributions=contributions, **rules).held())
