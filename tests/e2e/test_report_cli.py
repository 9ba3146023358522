import json

from tests.report.conftest import results

__all__ = ["results"]


def test_a_page_of_results(discreet, results, tmp_path):
    done = discreet("report", results, "--out", tmp_path / "report.html", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["rows"]["audits"] == 2 and told["bytes"] == (tmp_path / "report.html").stat().st_size < 5e6


def test_slips_are_one_sentence(discreet, results, tmp_path):
    for arguments, words in (
        ([results, "--out", tmp_path / "report.pdf"], "NAME.html"),
        ([tmp_path, "--out", tmp_path / "report.html"], "holds no results"),
        ([results / "audits.json", "--out", results / "audits.json"], "NAME.html"),
    ):
        done = discreet("report", *arguments)
        assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr
    assert (results / "audits.json").exists() and not (tmp_path / "report.html").exists()
