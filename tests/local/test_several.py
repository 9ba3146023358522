"""Several campaigns on one server: each its own, a list of them, and the addresses of one that ran alone."""

from __future__ import annotations

import json

import pytest

from discreet.errors import DiscreetError
from discreet.local.campaign import Campaign
from tests.local.people import OTHER, SCHEMA, report_file

testclient = pytest.importorskip("starlette.testclient", reason="the extra 'serve' is not installed")
from discreet.local.serve import Hosted, make_app  # noqa: E402 - the module needs the extra
from discreet.local.several import load  # noqa: E402

BYTES = {"content-type": "application/octet-stream"}


@pytest.fixture
def hosted(tmp_path):
    return {
        "health": Hosted(Campaign(SCHEMA, 1.0), tmp_path / "a.db", page=True, title="Health <1>", max_reports=5),
        "colours": Hosted(Campaign(OTHER, 2.0), tmp_path / "b.db", max_bytes=2000, cors=["https://survey.example"]),
    }


@pytest.fixture
def site(hosted):
    sites = {name: one.site() for name, one in hosted.items()}
    with testclient.TestClient(make_app(sites, root="colours")) as client:
        yield client


def test_each_has_its_own_store_limits_and_pages(site):
    health, colours = report_file(9), report_file(8, 2.0, schema=OTHER)
    assert site.post("/health/reports", headers=BYTES, content=health).json()["accepted"] == 5  # max_reports
    assert site.post("/health/reports", headers=BYTES, content=colours).json()["foreign"] == 8
    assert site.post("/colours/reports", headers=BYTES, content=colours).json()["accepted"] == 8
    assert site.post("/colours/reports", headers=BYTES, content=report_file(90)).status_code == 413
    asked = {"origin": "https://survey.example", "access-control-request-method": "POST"}
    assert site.options("/colours/reports", headers=asked).status_code == 200
    assert site.post("/colours/reports", headers={**BYTES, "origin": asked["origin"]}, content=b"").status_code == 200
    assert site.post("/health/reports", headers={**BYTES, "origin": asked["origin"]}, content=b"").status_code == 403
    person = {"accept": "text/html"}
    assert 'id="answers"' in site.get("/health/", headers=person).text
    assert 'id="answers"' not in site.get("/colours/", headers=person).text
    assert site.get("/health/campaign.json").json()["schema_hash"] == SCHEMA.hash
    assert site.get("/health", headers=person).url.path == "/health/"
    assert site.get("/health/page.mjs").status_code == site.get("/page.css").status_code == 200
    assert site.get("/absent/reports").status_code == 404 and site.get("/health/absent").status_code == 404


def test_the_list_and_how_all_of_them_are(site):
    site.post("/health/reports", headers=BYTES, content=report_file(3))
    listed = site.get("/").json()["campaigns"]
    assert [(one["name"], one["path"], one["accepted"], one["page"]) for one in listed] == [
        ("health", "health/", 3, True), ("colours", "colours/", 0, False)
    ]  # fmt: skip
    text = site.get("/", headers={"accept": "text/html"}).text
    assert 'href="health/"' in text and "Health &lt;1&gt;" in text and "<1>" not in text
    assert site.get("/healthz").json() == {"ok": True}
    metrics = site.get("/metrics").text
    assert 'discreet_collector_reports_total{campaign="health",fate="accepted"} 3\n' in metrics
    assert 'discreet_collector_healthy{campaign="colours"} 1\n' in metrics
    lines = metrics.splitlines()
    assert len([one for one in lines if one.startswith("# TYPE discreet_collector_reports_total ")]) == 1
    names = [one.split("{")[0].split(" ")[0] for one in lines if not one.startswith("#")]
    assert [*dict.fromkeys(names)] == [
        a for a, b in zip(names, [*names[1:], ""], strict=True) if a != b
    ]  # in one piece


def test_devices_of_the_campaign_that_ran_alone_go_on(site):
    assert site.post("/reports", headers=BYTES, content=report_file(4, 2.0, schema=OTHER)).json()["accepted"] == 4
    assert site.get("/status").json()["accepted"] == site.get("/colours/status").json()["accepted"] == 4
    assert site.get("/campaign.json").json()["schema_hash"] == OTHER.hash and site.get("/client.mjs").status_code == 200


def test_a_store_that_fails_is_named(site, monkeypatch):
    monkeypatch.setattr("discreet.local.site.PROBED", -1.0)

    async def ill(self):
        return "full" if self.plan.schema == OTHER else None

    monkeypatch.setattr("discreet.local.site.Site.trouble", ill)
    assert site.get("/healthz").status_code == 503 and site.get("/healthz").json()["failing"] == ["colours"]
    assert site.get("/health/healthz").status_code == 200


@pytest.mark.parametrize("name", ["", "Health", "a/b", "..", "reports", "metrics", "x" * 41])
def test_names_that_cannot_be_addresses(hosted, name):
    sites = {name: hosted["health"].site()}
    with pytest.raises(DiscreetError, match="cannot be a campaign's name"):
        make_app(sites)
    sites[name].collector.close()


def write(tmp_path, text):
    Campaign(SCHEMA, 1.0).save(tmp_path / "c.json")
    SCHEMA.save(tmp_path / "schema.json")
    (tmp_path / "all.toml").write_text(text)
    return tmp_path / "all.toml"


def test_a_file_of_campaigns(tmp_path):
    path = write(
        tmp_path,
        "root = 'a'\n[a]\ncampaign = 'c.json'\nstore = 'a.db'\ntokens = true\npage = true\ntitle = 'A'\n"
        "[b]\nschema = 'schema.json'\nepsilon = 2\noracle = 'grr'\nstore = 'b.db'\nmax_reports = 7\n",
    )
    found, root = load(path)
    assert root == "a" and [*found] == ["a", "b"] and found["a"].tokens and found["a"].title == "A"
    assert found["b"].campaign == Campaign(SCHEMA, 2, oracle="grr") and found["b"].max_reports == 7
    assert found["b"].store == tmp_path / "b.db" and not found["b"].page


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no campaign"), ("a = 1", "no table"), ("[a]\nstore = 's'", "needs a store"), ("[a", "no TOML"),
        ("[a]\ncampaign = 'c.json'", "needs a store"), ("[a]\nstore = 's'\nsize = 1", "no setting 'size'"),
        ("[a]\nstore = 1", "wrong kind"), ("[a]\ncampaign = 'c.json'\nstore = 's'\nepsilon = 2", "leave"),
        ("[a]\nstore = 's'\nmax_reports = true", "wrong kind"), ("root = 1\n[a]\nstore = 's'", "root must be"),
        ("[a]\ncampaign = 'c.json'\nstore = 's'\n[b]\ncampaign = 'c.json'\nstore = './s'", "same store"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong(tmp_path, text, words):
    with pytest.raises(DiscreetError, match=words):
        load(write(tmp_path, text))


def test_the_command_refuses_settings_of_one_beside_several(discreet, tmp_path):
    path = write(tmp_path, "[a]\ncampaign = 'c.json'\nstore = 'a.db'\n")
    for more in (["--store", "s.db"], ["--page"], ["--campaign", "c.json"], ["--max-reports", "3"]):
        done = discreet("local", "serve", "--campaigns", path, *more, cwd=tmp_path)
        assert done.returncode == 2 and "give no settings of one" in done.stderr
    assert "--store" in discreet("local", "serve", "--campaign", tmp_path / "c.json").stderr
    assert json.loads((tmp_path / "c.json").read_text()) and not (tmp_path / "a.db").exists()
