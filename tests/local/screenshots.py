"""The pictures of the participants' page in docs/: `python -m tests.local.screenshots` takes them anew."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.browser import running
from tests.local.servers import Server
from tests.local.test_page import READY, SAID, SCHEMA, answer_by_keyboard
from tests.pages import DOCS


def take(folder: Path) -> None:
    """The page before and after an answer."""
    SCHEMA.save(folder / "schema.json")
    (folder / "about.txt").write_text("The town's health office asks how many people smoke, and who.")
    what = (
        "--schema",
        "schema.json",
        "--store",
        "s.db",
        "--page",
        "--title",
        "Smoking in town",
        "--about",
        "about.txt",
    )
    with Server(folder, what=what) as server, running() as browser:
        browser.reset()
        browser.viewport(760, 980)
        browser.open(f"{server.address}/")
        browser.wait(READY)
        browser.screenshot(DOCS / "figures" / "participants-page.png", whole=False)
        answer_by_keyboard(browser)
        browser.wait(SAID)
        browser.run("document.querySelector('#said').scrollIntoView({ block: 'start' })")
        browser.screenshot(DOCS / "figures" / "participants-sent.png", whole=False)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        take(Path(name))
