"""A browser of the tests' own: headless Chromium, what it complained of, what it asked the network for, and axe."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.postgres import missing

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--no-default-browser-check",
    "--disable-extensions", "--hide-scrollbars", "--force-device-scale-factor=1", "--lang=en",
)  # fmt: skip
WORST = ("serious", "critical")
INSIDE = ("data", "blob", "about", "file", "chrome", "chrome-extension", "devtools")  # these ask no other machine
# Whether the page's ground is dark: that of the first of its elements, from the inside, that has one.
_IS_DARK = """(() => {
  for (const one of [document.body, document.documentElement]) {
    const [r, g, b, a = 1] = getComputedStyle(one).backgroundColor.match(/[\\d.]+/g).map(Number);
    if (a > 0) return (0.2126 * r + 0.7152 * g + 0.0722 * b) < 128;
  }
  const known = getComputedStyle(document.documentElement).colorScheme.includes("dark");
  return known && matchMedia("(prefers-color-scheme: dark)").matches;
})()"""
PATIENCE = 60.0  # seconds: a guard against a hang


class Browser:
    """One page at a time, with what the tests of pages ask of it; `driver` is Selenium's own, for everything else."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self._errors: list[str] = []
        self._requests: list[str] = []

    # ---- going somewhere

    def open(self, address: str | os.PathLike[str]) -> None:
        """Load an address, or a file of this machine."""
        text = os.fspath(address)
        self.driver.get(
            text if "://" in text or text.startswith(("about:", "data:")) else Path(text).resolve().as_uri()
        )

    def reset(self) -> None:
        """A blank page, nothing stored, nothing noted, 1000 x 800 in light colours."""
        self.driver.switch_to.window(self.driver.window_handles[0])
        self.driver.get("about:blank")
        self.command("Network.clearBrowserCookies")
        self.command("Network.clearBrowserCache")
        self.command("Storage.clearDataForOrigin", origin="*", storageTypes="all")
        self.viewport(1000, 800)
        self.dark(False)
        self._read()
        self._errors.clear()
        self._requests.clear()

    def forget(self, address: str) -> None:
        """Drop all that the origin of an address has stored here: a new person's browser."""
        parts = urlsplit(address)
        self.command("Storage.clearDataForOrigin", origin=f"{parts.scheme}://{parts.netloc}", storageTypes="all")

    # ---- looking at it

    def viewport(self, width: int, height: int = 800) -> None:
        """The size of the page in CSS pixels."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    def dark(self, wanted: bool = True) -> None:
        """Whether the person prefers dark colours."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if wanted else "light"}
        self.command("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: str | os.PathLike[str], *, whole: bool = True) -> Path:
        """A PNG of the whole page, or of what is in view."""
        import base64

        shot = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))
        return Path(path)

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window: a person would have to scroll sideways."""
        return int(self.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth"))

    def text(self, selector: str = "body") -> str:
        """What a person reads there."""
        return str(self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def wait(self, script: str, *arguments: Any, seconds: float = PATIENCE) -> Any:
        """Until a script returns something true; the answer is that."""
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.driver, seconds, poll_frequency=0.02)
        return wait.until(lambda driver: driver.execute_script(script, *arguments), f"never true: {script}")

    # ---- using it

    def press(self, *keys: str) -> None:
        """Keys, one after another, to whatever has the focus: names of Selenium's Keys (TAB), or text to type."""
        from selenium.webdriver import ActionChains, Keys

        chain = ActionChains(self.driver)
        for key in keys:
            chain.send_keys(getattr(Keys, key) if len(key) > 1 and key.isupper() and hasattr(Keys, key) else key)
        chain.perform()

    def focused(self) -> str:
        """The id of what has the focus, or the name of its element."""
        return str(self.run("const e = document.activeElement; return e.id || e.tagName.toLowerCase()"))

    def tab_to(self, identity: str, *, most: int = 200) -> None:
        """Press Tab until the element of that id has the focus."""
        for _ in range(most):
            if self.focused() == identity:
                return
            self.press("TAB")
        raise AssertionError(f"{most} times Tab do not lead to {identity!r}")

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns that runs in the page."""
        return self.driver.execute_script(script, *arguments)

    def command(self, name: str, **arguments: Any) -> Any:
        """A command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(name, arguments)

    # ---- what it noted

    def errors(self) -> list[str]:
        """What the console has shown as errors since the last reset: exceptions, failed loads, breaches of policy."""
        self._read()
        return list(self._errors)

    def requests(self) -> list[str]:
        """Every address that was asked for since the last reset."""
        self._read()
        return list(self._requests)

    def external(self, *own: str) -> list[str]:
        """The requests to other origins than those of the given addresses; without any, all that leave the page."""
        known = {urlsplit(one)[:2] for one in own}
        return [one for one in self.requests() if urlsplit(one).scheme not in INSIDE and urlsplit(one)[:2] not in known]

    def _read(self) -> None:
        for entry in self.driver.get_log("browser"):
            if entry["level"] == "SEVERE":
                self._errors.append(entry["message"])
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self._requests.append(message["params"]["request"]["url"])
            elif message["method"] == "Network.webSocketCreated":
                self._requests.append(message["params"]["url"])

    # ---- whether everybody can use it

    def bars(self, *own: str, drawn: str = "return true") -> None:
        """What every page has to pass: wide and as narrow as a phone, light and dark, quiet, nothing from elsewhere.

        `drawn` is true once the page has drawn itself for a new size or scheme.
        """
        for width in (1000, 400):
            for dark in (False, True):
                self.viewport(width)
                self.dark(dark)
                self.wait(drawn)
                self.wait(f"return ({_IS_DARK}) === arguments[0]", dark)
                found = self.axe()
                assert not found, (width, dark, found)
                assert self.overflow() <= 0, (width, dark)
        assert self.errors() == [] and self.external(*own) == []

    def axe(self, *, worst: tuple[str, ...] = WORST, **options: Any) -> list[str]:
        """What axe-core finds by the rules of WCAG 2 (A, AA): a line for each violation of that impact."""
        self.run(axe_source())
        given = {
            "preload": False,  # nothing is fetched by the checker
            "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
            **options,
        }
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run(document, arguments[0]).then(done, (error) => done({ error: String(error) }));",
            given,
        )
        if "error" in found:
            raise AssertionError(f"axe failed: {found['error']}")
        if not found["passes"]:
            raise AssertionError("axe judged nothing: is there a page?")
        return [
            f"{one['id']} ({one['impact']}): {one['help']}: {[node['target'][0] for node in one['nodes']]}"
            for one in found["violations"]
            if one["impact"] in worst
        ]


def axe_source() -> str:
    """The text of axe-core (Mozilla Public License 2.0), as a package of the tests brings it."""
    return resources.files("selenium_axe_python").joinpath("axe-core", "axe.min.js").read_text("utf-8")


@contextmanager
def running() -> Iterator[Browser]:
    """A browser for as long as the block lasts."""
    chromium, driver = (shutil.which(name) for name in ("chromium", "chromedriver"))
    if chromium is None or driver is None:
        missing("Chromium is not installed (Debian: chromium and chromium-driver)")
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        missing("selenium is not installed: install discreet[dev]")
    with tempfile.TemporaryDirectory(prefix="discreet-chromium-", ignore_cleanup_errors=True) as folder:
        options = webdriver.ChromeOptions()
        options.binary_location = str(chromium)
        for flag in (*FLAGS, f"--user-data-dir={folder}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        started = webdriver.Chrome(options=options, service=Service(str(driver)))
        try:
            started.set_page_load_timeout(PATIENCE)
            started.set_script_timeout(PATIENCE)
            browser = Browser(started)
            browser.command("Network.enable")
            yield browser
        finally:
            started.quit()
