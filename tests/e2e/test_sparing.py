"""Spared imports: scikit-learn works as ever, and what it was spared is there when it is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = "import sys; from discreet.cli.sparing import spare; spare(); spare();"


def said(code: str, folder: Path | None = None) -> str:
    """What a process of its own prints."""
    done = subprocess.run([sys.executable, "-c", BEGIN + code], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_scikit_learn_is_imported_without_what_it_does_not_use() -> None:
    code = "import sklearn.base; print('scipy.stats' in sys.modules, sklearn.__spec__.loader is sklearn.__loader__)"
    assert said(code) == "False True"


@pytest.mark.parametrize(
    "code",
    [
        "import sklearn.utils.fixes as fixes; print(fixes._mode([1, 1, 2]).count[0])",
        "import sklearn.base; from scipy.stats import mode; print(mode([1, 1, 2]).count)",
        "import scipy.stats, sklearn.base; print(scipy.stats.mode([1, 1, 2]).count)",
    ],
)
def test_what_was_spared_is_there_when_it_is_used(code: str) -> None:
    assert said(code) == "2"


def test_a_version_that_uses_it_at_once_is_imported_with_it(tmp_path: Path) -> None:
    (tmp_path / "sklearn").mkdir()
    (tmp_path / "sklearn" / "__init__.py").write_text("from . import base\n")
    (tmp_path / "sklearn" / "base.py").write_text("from scipy.stats import mode\nfound = mode([1, 1, 2]).count\n")
    assert said("import sklearn; print(sklearn.base.found)", tmp_path) == "2"
