"""Rich forms for notebooks: escaped, without scripts, and small."""

from html.parser import HTMLParser

import numpy as np

from discreet import Account, Budget, Categorical, Numeric, PrivateHoldout, PrivateNB, Schema

EVIL = "<script>alert('&')</script>"


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.seen, self.open, self.words = set(), [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_forms_are_escaped_small_and_without_scripts(tmp_path):
    schema = Schema([Categorical(EVIL, [EVIL, "b"]), Numeric("x", 0, 10)], "y", [EVIL, "no"])
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = np.stack([np.array([EVIL, "b"], object)[y], (5 + 2 * y).astype(object)], axis=1)
    held = PrivateHoldout(PrivateNB(1.0, schema=schema), random_state=0)
    before = held._repr_html_()
    held.fit(X, np.array([EVIL, "no"], object)[y])
    account = Account.create(tmp_path / "a.account", Budget(2))
    shown = {
        "schema": schema._repr_html_(),
        "plan": held.plan()._repr_html_(),
        "certificate": held.certificate_._repr_html_(),
        "account": account._repr_html_(),
        "model": held.model_._repr_html_(),
        "estimator": held._repr_html_(),
        "unfitted": before,
    }
    for name, html in shown.items():
        tags = Tags(html)
        assert tags.seen <= {"div", "strong", "table", "tr", "th", "td"}, name
        assert len(html) < 20_000
    for name in ("schema", "model"):
        assert EVIL in " ".join(Tags(shown[name]).words)
    assert "epsilon = 1" in shown["model"] and "AUC" in shown["estimator"] and "0 to 10" in shown["schema"]
