import threading

import numpy as np
import pandas as pd
import pytest

from discreet.explorer import Explorer, Work


@pytest.fixture(scope="session")
def rows(tmp_path_factory):
    """A small table, as a person would drop it on the page."""
    rng = np.random.default_rng(2)
    ill = rng.random(600) < 0.4
    frame = pd.DataFrame({
        "age": rng.integers(20, 90, 600), "smoker": rng.choice(["never", "now"], 600),
        "ill": np.where(ill, "yes", "no"),
    })  # fmt: skip
    path = tmp_path_factory.mktemp("rows") / "patients.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def served(tmp_path):
    """An explorer at work in a thread of its own."""
    explorer = Explorer(Work(tmp_path / "out"))
    thread = threading.Thread(target=explorer.run, daemon=True)
    thread.start()
    yield explorer
    explorer.server.shutdown()
    thread.join(10)
