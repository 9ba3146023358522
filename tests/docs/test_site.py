"""The site is built as readers get it: no dead link, ten tasks within two clicks, readable by everybody, no request."""

import re
import subprocess
import sys
from collections import deque
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).parents[2]
TASKS = {  # what a stranger looks for, and the page that has it
    "install": "how-to/install.html",
    "train a private model": "tutorials/central.html",
    "write a schema": "schema.html",
    "choose epsilon": "choosing-epsilon.html",
    "messy data": "how-to/messy-data.html",
    "no test data": "evaluation.html",
    "hospital consortium": "federated-deployment.html",
    "device collection": "local-privacy.html",
    "Spark and SQL": "clusters.html",
    "audit another library": "how-to-audit.html",
    "move from diffprivlib": "how-to/from-diffprivlib.html",
    "explain to an officer": "dossier.html",
    "a proof": "proofs/k-norm.html",
    "a command": "reference/commands.html",
    "a class": "reference/python.html",
}


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    return folder


def links(page):
    """The pages of the site that a page leads to, from its content and its navigation."""
    text = page.read_text("utf-8")
    for found in re.findall(r'<a [^>]*href="([^"]+)"', text):
        address, part = urldefrag(found)
        if "://" not in address and not address.startswith("mailto:"):
            target = (page.parent / unquote(address)).resolve() if address else page
            yield (target / "index.html" if target.is_dir() else target), part


def test_no_link_is_dead(site):
    ids = {}
    for page in site.rglob("*.html"):
        for target, part in () if page.name == "404.html" else links(page):
            assert target.exists(), f"{page.name} leads to {target}"
            if part and target.suffix == ".html":
                if target not in ids:
                    ids[target] = set(re.findall(r'\bid="?([^"\s>]+)', target.read_text("utf-8")))
                assert unquote(part) in ids[target], f"{page.name} leads to {target.name}#{part}"


def test_tasks_are_within_two_clicks_of_the_start(site):
    start = site / "index.html"
    away, waiting = {start.resolve(): 0}, deque([start.resolve()])
    while waiting:
        page = waiting.popleft()
        if away[page] == 2:
            continue
        for target, _ in links(page):
            if target not in away and target.suffix == ".html":
                away[target] = away[page] + 1
                waiting.append(target)
    assert len(TASKS) >= 10
    for task, page in TASKS.items():
        assert away.get((site / page).resolve(), 9) <= 2, task


def test_references_are_of_the_code(site):
    from discreet import __all__ as names

    commands = (site / "reference/commands.html").read_text("utf-8")
    for name in ("discreet fit", "discreet dossier", "discreet local serve", "discreet account create"):
        assert f"<code>{name}</code>" in commands
    python = (site / "reference/python.html").read_text("utf-8")
    for name in names:
        assert name in python
    assert "<sup>" in (site / "proofs/k-norm.html").read_text("utf-8")


@pytest.mark.parametrize(
    "page", ["index.html", "tutorials/central.html", "proofs/k-norm.html", "reference/commands.html"]
)
def test_in_a_browser(browser, site, page):
    browser.open(site / page)
    browser.wait("return document.querySelector('article h1')")
    browser.bars()


def test_all_pages_fit_a_phone(browser, site):
    browser.viewport(400)
    for page in sorted(set(site.rglob("*.html")) - {site / "404.html"}):  # which is for a server's root
        browser.open(page)
        assert browser.overflow() <= 0, page.name
    assert browser.errors() == [] and browser.external() == []
