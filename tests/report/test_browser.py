"""The report in a real browser: charts are drawn, menus and searches change them, everybody can read it."""

import pytest

from discreet.report import read, render

DRAWN = "return document.body.dataset.drawn"


@pytest.fixture(scope="module")
def page(results, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(read([results])), encoding="utf-8")
    return path


def test_all_charts_are_drawn_without_a_word_or_a_request(browser, page):
    browser.open(page)
    assert browser.wait(DRAWN) == "6"
    assert browser.run("return document.querySelectorAll('.chart svg').length") == 6
    assert browser.errors() == [] and browser.external() == []


def test_menus_change_charts(browser, page):
    browser.open(page)
    browser.wait(DRAWN)
    seen = "return document.querySelector('#chart-accuracy svg').textContent"
    before = browser.run(seen)
    browser.run(
        "const menu = document.querySelector('#chart-accuracy select'); menu.value = [...menu.options].at(-1).value;"
        "menu.dispatchEvent(new Event('input')); menu.dispatchEvent(new Event('change'));"
    )
    browser.wait(f"return document.querySelector('#chart-accuracy svg').textContent !== {before!r}")


def test_searches_and_verdicts_filter_tables(browser, page):
    browser.open(page)
    browser.wait(DRAWN)
    shown = "return [...document.querySelectorAll('#claims-table tbody tr')].filter((row) => !row.hidden).length"
    assert browser.run(shown) == 2
    browser.run("document.querySelector('#claims input').focus()")
    browser.press("w", "o", "r", "s", "e")
    assert browser.wait(f"return (() => {{ {shown} }})() === 1")
    assert "1 of 2" in browser.text("#claims output")


def test_everybody_can_read_it(browser, page):
    browser.open(page)
    browser.wait(DRAWN)
    browser.bars(drawn=DRAWN)
