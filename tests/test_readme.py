"""Everything the README tells a reader to type is run here, in order."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```(python|console)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
COMMANDS = [
    line[2:].split("#")[0].strip() for kind, block in BLOCKS if kind == "console" for line in block.splitlines() if line
]


def test_python_blocks_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for kind, block in BLOCKS:
        if kind == "python":
            exec(compile(block, "README.md", "exec"), names)
    *_, remaining, choice = capsys.readouterr().out.splitlines()
    assert remaining == "0"  # of the ledger
    assert choice.startswith("joint: 3 feature(s) and about")
    assert (tmp_path / "model.json").exists()


def test_commands_run_in_order(tmp_path, discreet):
    for command in COMMANDS:
        if command.startswith("make "):
            continue
        words = shlex.split(command)
        assert words[0] == "discreet"
        result = discreet(*words[1:], cwd=tmp_path)
        assert result.returncode == 0, f"{command}: {result.stderr}"
    assert (tmp_path / "predictions.csv").exists()


def test_make_targets_and_links_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in COMMANDS:
        if command.startswith("make "):
            assert f"\n{command.split()[1]}:" in makefile
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", readme):
        assert (ROOT / target).exists(), target
