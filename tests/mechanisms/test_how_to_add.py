"""The page that says how to add a mechanism is followed literally: a file, a line, and witnesses that can fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from tests.pages import blocks, entry_point, install

PAGE = "how-to-add/mechanism.md"


def follow(tmp_path, module):
    """Run the page with this module in a package of its own."""
    install(tmp_path, {"clamped.py": module, "page.py": "\n".join(blocks(PAGE)[1:])}, entry_point(PAGE))
    path = os.pathsep.join([str(tmp_path), str(Path(discreet.__file__).parents[1])])
    return subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True
    )


def test_the_page_adds_a_mechanism_with_one_file_and_one_line(tmp_path):
    done = follow(tmp_path, blocks(PAGE)[0])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("old", "new"), [("-self.epsilon, 80", "-self.epsilon * 5 / 4, 80"), ("(1 + a), **inner", "(1 + a / 2), **inner")]
)
def test_its_witnesses_notice_a_fault(tmp_path, old, new):
    module = blocks(PAGE)[0]
    assert module.count(old) == 1
    done = follow(tmp_path, module.replace(old, new))
    assert done.returncode != 0 and "enumerate_laws" in done.stderr and "AssertionError" in done.stderr
