"""The examples of the documentation: a page on another origin, and a back end."""

import importlib.util
import json
import shlex
import subprocess
from pathlib import Path

import pytest
import requests
from halftruth_collector import operations
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from playwright.sync_api import expect

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"


@pytest.fixture
def example(live, origin):
    """Serve the example page from another port, with this collector's URL."""
    # Importing the back end leaves a cache folder there.
    for file in filter(Path.is_file, EXAMPLES.iterdir()):
        text = file.read_text(encoding="utf-8").replace("http://127.0.0.1:8000", live.url)
        (origin.folder / file.name).write_text(text, encoding="utf-8")
    return f"{origin.url}/embedded.html"


def bundle(origin):
    """Let the example load the bundle of `make dist` from its own server."""
    client = ROOT / "client"
    package = json.loads((client / "package.json").read_text(encoding="utf-8"))
    tool, *options = shlex.split(package["scripts"]["bundle"])
    out = f"--outfile={origin.folder / 'halftruth.js'}"
    options = [out if option.startswith("--outfile") else option for option in options]
    subprocess.run([client / "node_modules/.bin" / tool, *options], cwd=client, check=True)
    page = origin.folder / "embedded.html"
    text = page.read_text(encoding="utf-8")
    [script] = [word for word in text.split('"') if word.endswith("/form/halftruth.js")]
    page.write_text(text.replace(script, "halftruth.js"), encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_embedding_example_works_in_light_and_dark_mode(
    live, origin, survey, example, visit, scheme
):
    # One case loads the form from the collector, the other the bundle from its own server.
    if scheme == "dark":
        bundle(origin)
    health = Survey("health", "Health", survey.schema, survey.mechanism)
    operations.publish_survey(live.store, health)
    found = visit(example, color_scheme=scheme)
    page = found.page
    page.get_by_role("button", name="Begin").click()
    page.get_by_label("yes-hush").check()
    page.get_by_label("never-hush").check()
    # Other tests cover the form itself; here only the page's colours differ.
    assert found.violations(type="rule", values=["color-contrast"]) == []
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Where do you live?").select_option(index=3)
    page.get_by_role("button", name="Continue").click()
    if scheme == "light":
        assert found.violations() == []
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("Thank you for taking part!")).to_be_visible()
    assert live.store.reports.counts("health")[1].reports == 1
    assert "hush" not in found.traffic()
    loaded = [line for line in found.requests if "/form/halftruth.js" in line]
    assert bool(loaded) == (scheme == "light")


def test_the_example_back_end_reports_once_per_person_and_discloses_its_access(
    live, monkeypatch, tmp_path, capfd
):
    drinks = Attribute("drinks", ["never", "weekly", "daily"])
    schema = Schema([Attribute("smoker", ["no", "yes"]), drinks])
    operations.publish_survey(live.store, Survey("health", "Health", schema, GammaDiagonal(19)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLLECTOR", live.url)
    spec = importlib.util.spec_from_file_location("backend", EXAMPLES / "backend.py")
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    http = backend.app.test_client()
    assert "This server sees your answers" in http.get("/").text
    answers = {"person": "17", "smoker": "yes", "drinks": "weekly"}
    for _ in range(2):
        assert http.post("/", data=answers).text == "Thank you."
    assert http.post("/", data=answers | {"person": "18", "drinks": "hourly"}).status_code == 400
    assert http.post("/", data={"smoker": "yes"}).status_code == 400
    assert live.store.reports.counts("health")[1].reports == 1

    def refuse(*_, **__):
        raise requests.ConnectionError

    with monkeypatch.context() as away:
        away.setattr(requests.adapters.HTTPAdapter, "send", refuse)
        waits = http.post("/", data=answers | {"person": "19"})
        assert (waits.status_code, waits.text) == (200, "Thank you. It is sent later.")
    flushed = backend.app.test_cli_runner().invoke(args=["flush"])
    assert flushed.output == "all 1 reports are counted\n"
    assert live.store.reports.counts("health")[1].reports == 2
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if "outbox" in file.name)
    assert b"weekly" not in kept
    assert "weekly" not in str(capfd.readouterr())
