"""A person who will not use a terminal: from a CSV to a private model with its dossier, by at most twelve clicks."""

from selenium.webdriver.common.by import By

from discreet import load
from discreet.privacy import Account

MOST_CLICKS = 12


def test_from_a_table_to_a_dossier(browser, served, rows):
    browser.open(served.launching)
    browser.wait("return document.body.dataset.ready")
    assert not browser.run("return location.search")
    assert served.launch is None
    clicks = 1  # choosing the file
    browser.driver.find_element(By.ID, "file").send_keys(str(rows))
    browser.wait("return !document.getElementById('target-row').hidden")
    assert browser.run("return document.getElementById('target').value") == "ill"

    def click(name):
        nonlocal clicks
        clicks += 1
        browser.driver.find_element(By.ID, name).click()

    click("draft")
    browser.wait("return document.getElementById('schema').value.includes('smoker')")
    browser.wait("return document.getElementById('odds').textContent.includes('2.72')")
    assert browser.run("return document.getElementById('fit').disabled")  # not before it is declared
    browser.run(
        "const s = document.getElementById('schema'); s.value = s.value.replace(/upper = [0-9.]+/, 'upper = 120.0');"
        "s.dispatchEvent(new Event('input'))"
    )  # a limit that does not come from these rows
    click("declare")
    browser.wait("return !document.getElementById('fit').disabled")
    before = browser.text("#odds")
    browser.run("const e = document.getElementById('epsilon'); e.value = -0.3; e.dispatchEvent(new Event('input'))")
    browser.wait("return document.getElementById('odds').innerText !== arguments[0]", before)
    assert "--epsilon 0.5" in browser.run("return document.getElementById('command').textContent")
    click("expect")
    browser.wait("return document.querySelector('#curve svg circle')")
    assert browser.axe() == []
    click("fit")
    browser.wait("return !document.getElementById('model-step').hidden")
    assert browser.run("return document.querySelectorAll('#shapes svg').length") == 2
    click("dossier")
    browser.wait("return document.querySelectorAll('#documents a').length >= 3")
    assert clicks <= MOST_CLICKS
    model = load(served.work.folder / "model.json")
    assert model.certificate.epsilon_value == 0.5 and not model.certificate.simulation and not model.schema.inferred
    assert len(Account.open(served.work.folder / "rows.account").entries()) == 1
    browser.bars(served.origin)
    link = browser.run("return document.querySelector('#documents a').href")
    browser.open(link)
    assert "Privacy dossier" in browser.text("h1")


def test_a_slip_is_told_and_nothing_is_charged(browser, served):
    browser.open(served.address)
    browser.wait("return document.body.dataset.ready")
    browser.driver.find_element(By.ID, "declare").click()
    browser.wait("return !document.getElementById('error').hidden")
    assert browser.text("#error")
    assert not served.work.folder.exists()
