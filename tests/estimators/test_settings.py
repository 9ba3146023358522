"""Settings of every estimator: documented in whole sentences, kept by name, copied and pickled with it."""

import inspect
import pickle
import re

import pytest
from sklearn.base import clone

import discreet
from discreet.estimators.documented import MARKER, filled

PUBLIC = [getattr(discreet, name) for name in discreet.__all__]
KINDS = [kind for kind in PUBLIC if inspect.isclass(kind) and hasattr(kind, "get_params")]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_parameter_is_documented_in_full(kind):
    text = inspect.getdoc(kind)
    assert not MARKER.search(text) and not re.search(r"^ *\{", text, re.MULTILINE)
    for name in kind._get_param_names():
        assert re.search(rf"^(\w+, )*{name}(, \w+)*( :.*|)$", text, re.MULTILINE), name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_settings_are_the_very_objects_that_were_given(kind):
    given = {name: object() for name in kind._get_param_names()}
    made = kind(**given)
    kept = made.get_params(deep=False)
    assert kept.keys() == given.keys() and all(kept[name] is given[name] for name in given)
    assert vars(made).keys() == given.keys()
    usual = kind()
    assert clone(usual).get_params().keys() == pickle.loads(pickle.dumps(usual)).get_params().keys()


def test_a_subclass_with_fewer_settings_can_be_made():
    class Short(discreet.PrivateNB):
        """{epsilon}"""

        def __init__(self, epsilon=2.0):
            super().__init__(epsilon, numeric="gaussian")

    assert Short(0.5).epsilon == 0.5 and Short().numeric == "gaussian" and Short(0.5).get_params() == {"epsilon": 0.5}


def test_lines_in_braces_are_filled_at_their_indent_and_own_texts_go_first():
    text = filled("A.\n\n    {depth, smoothing}\n    x : int\n", "\n    depth : int\n        Of a tree.\n")
    assert text.startswith(
        "A.\n\n    depth : int\n        Of a tree.\n    smoothing : float, default 1.0\n        Rows "
    )
    assert text.endswith(" every cell.\n    x : int\n")
    assert filled("{smoothing}", "smoothing : own") == "smoothing : own"
    with pytest.raises(KeyError):
        filled("{nothing}", "")
