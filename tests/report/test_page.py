import json
import re

from discreet.report import read, render


def test_the_page_stands_by_itself(results):
    page = render(read([results]), "A <title>")
    assert len(page.encode()) < 5_000_000
    assert "A &lt;title&gt;" in page and "less is &lt;worse&gt;" in page
    head = page.split("<script")[0]
    assert not re.findall(r"(?:src|href)=\"(?!#)", head)
    specs = json.loads(re.search(r'id="charts">(.*?)</script>', page, re.DOTALL).group(1))
    assert set(specs) == {
        "chart-accuracy", "chart-audits", "chart-budget-0", "chart-numbers-0", "chart-categories-0", "chart-rounds",
    }  # fmt: skip
    for name in specs:
        assert f'<div class="chart" id="{name}">' in page
    for key in ("accuracy", "claims", "audits", "models", "rounds", "benchmarks"):
        assert f'<section id="{key}"' in page and f'href="#{key}"' in page


def test_sections_without_results_are_left_out(results):
    page = render(read([results / "audits.json"]))
    assert '<section id="audits"' in page and '<section id="claims"' not in page


def test_leaks_are_marked(results):
    page = render(read([results / "audits.json"]))
    row = re.search(r"<tr[^>]*>(?:(?!</tr>).)*broken.*?</tr>", page, re.DOTALL).group(0)
    assert "class='bad'" in row and "violated" in row
    assert "class='bad'" not in re.search(r"<tr[^>]*>(?:(?!</tr>).)*discrete-laplace.*?</tr>", page, re.DOTALL).group(0)
