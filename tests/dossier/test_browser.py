"""The documents in a real browser: no error, no request, readable by everybody, on a phone and on paper."""

import base64

import pytest

from discreet.dossier import make_dossier


@pytest.fixture(scope="module")
def folder(models, full, tmp_path_factory):
    place = tmp_path_factory.mktemp("dossier")
    make_dossier(models["held"]).write(place / "open")
    make_dossier(models["delta"], full).write(place / "full")
    return place


@pytest.mark.parametrize("name", ["open/dossier.html", "open/label.html", "full/dossier.html", "full/label.html"])
def test_documents(browser, folder, name):
    browser.open(folder / name)
    assert "Privacy" in browser.text("h1")
    browser.bars()
    pictures = browser.run(
        "return [...document.querySelectorAll('svg')].map((one) => one.getBoundingClientRect().height)"
    )
    assert pictures and all(height > 20 for height in pictures)


def test_a_label_prints_on_one_page(browser, folder):
    browser.open(folder / "full" / "label.html")
    printed = base64.b64decode(browser.command("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") <= 2
