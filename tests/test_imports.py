"""The import contract, and the promise that importing the package loads nothing heavy."""

import subprocess
import sys
from pathlib import Path

import discreet

ROOT = Path(__file__).parents[1]


def test_import_contract():
    result = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_importing_the_package_and_its_help_loads_no_engine():
    code = (
        "import sys, discreet, discreet.cli; "
        "print([m for m in ('numpy', 'sklearn', 'duckdb', 'numba', 'opendp', 'pandas', 'scipy') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_every_public_name_is_there():
    for name in discreet.__all__:
        assert getattr(discreet, name).__name__ == {"settle_schema": "private_bounds"}.get(name, name)
    assert discreet.__version__
    assert set(discreet.__all__) <= set(dir(discreet))
