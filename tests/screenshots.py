"""The pictures of dossier, report and explorer in docs/figures/pages: `python -m tests.screenshots` takes them anew."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from discreet.explorer import Explorer, Work
from tests.browser import running
from tests.pages import DOCS

PICTURES = DOCS / "figures" / "pages"


def discreet(folder: Path, line: str) -> None:
    """Run a command there."""
    subprocess.run([sys.executable, "-m", "discreet", *line.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def take(folder: Path) -> None:
    """What comes of the demonstration's rows, and this version's figures of accuracy and claims."""
    discreet(folder, "demo")
    discreet(folder, "fit discreet-demo/train.csv --schema discreet-demo/schema.toml --model auto --out model.json")
    discreet(folder, "dossier model.json --out dossier")
    for name in ("utility.json", "peers.json"):
        shutil.copy(DOCS / name, folder)
    discreet(folder, "report utility.json peers.json model.json --out report.html")
    schema = (folder / "discreet-demo" / "schema.toml").read_text(encoding="utf-8")
    explorer = Explorer(Work(folder / "discreet-explore", folder / "discreet-demo" / "train.csv", schema))
    threading.Thread(target=explorer.run, daemon=True).start()
    with running() as browser:
        browser.reset()
        browser.viewport(900, 1100)
        browser.open(folder / "dossier" / "dossier.html")
        browser.screenshot(PICTURES / "dossier.png", whole=False)
        browser.viewport(1100, 1000)
        browser.open(folder / "report.html")
        browser.wait("return document.body.dataset.drawn")
        browser.screenshot(PICTURES / "report.png", whole=False)
        browser.viewport(900, 1100)
        browser.open(explorer.launching)
        browser.wait("return document.body.dataset.ready")
        browser.wait("return document.getElementById('odds').textContent.includes('2.72')")
        browser.run("document.getElementById('declare').click()")
        browser.wait("return !document.getElementById('fit').disabled")
        browser.run("document.getElementById('expect').click()")
        browser.wait("return document.querySelector('#curve svg circle')")
        browser.run("document.getElementById('declare').scrollIntoView({ block: 'start' }); scrollBy(0, -75)")
        browser.screenshot(PICTURES / "explorer.png", whole=False)
    explorer.server.shutdown()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        take(Path(name))
