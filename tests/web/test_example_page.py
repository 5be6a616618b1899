"""The examples of the documentation: a page on an origin of its own, and a back end."""

import importlib.util
import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from playwright.sync_api import expect

from .conftest import answer_and_send

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"


@pytest.fixture
def example(live, origin):
    """The example with the address of this collector in it, served from another port."""
    # Whoever imported the back end left a folder there.
    for file in filter(Path.is_file, EXAMPLES.iterdir()):
        text = file.read_text(encoding="utf-8").replace("http://127.0.0.1:8000", live.url)
        (origin.folder / file.name).write_text(text, encoding="utf-8")
    return f"{origin.url}/embedded.html"


def bundle(origin):
    """Let the example load the one module that `make dist` writes, from its own server."""
    client = ROOT / "client"
    package = json.loads((client / "package.json").read_text(encoding="utf-8"))
    tool, *options = shlex.split(package["scripts"]["bundle"])
    out = f"--outfile={origin.folder / 'halftruth.js'}"
    options = [out if option.startswith("--outfile") else option for option in options]
    subprocess.run([client / "node_modules/.bin" / tool, *options], cwd=client, check=True)
    page = origin.folder / "embedded.html"
    text = page.read_text(encoding="utf-8")
    [script] = [word for word in text.split('"') if word.endswith("/js/form/index.js")]
    page.write_text(text.replace(script, "halftruth.js"), encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_newspaper_asks_its_readers(live, origin, survey, example, visit, scheme):
    # One of the two loads the form from the collector, the other one bundled from its own server.
    if scheme == "dark":
        bundle(origin)
    health = Survey("health", "Health", survey.schema, survey.mechanism)
    live.store.surveys.publish(health)
    found = visit(example, color_scheme=scheme)
    page = found.page
    page.get_by_role("button", name="Begin").click()
    page.get_by_label("yes-hush").check()
    page.get_by_label("never-hush").check()
    # The form is looked at on pages of its own; here it is in the page's colours.
    assert found.violations(type="rule", values=["color-contrast"]) == []
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Where do you live?").select_option(index=3)
    page.get_by_role("button", name="Continue").click()
    if scheme == "light":
        assert found.violations() == []
    page.get_by_role("button", name="Send a report").click()
    expect(page.get_by_text("Thank you for taking part!")).to_be_visible()
    assert live.store.reports.counts("health")[1].reports == 1
    assert "hush" not in found.traffic()
    loaded = [line for line in found.requests if "/js/" in line]
    assert bool(loaded) == (scheme == "light")


#: A page that passes the same handlers for each survey, and for another one of another render.
APP = """\
import { createRoot } from "react-dom/client";
import { SurveyForm } from "./SurveyForm.jsx";
const root = createRoot(document.querySelector("#app"));
const told = (name) => (detail) => heard.push([name, detail.status ?? detail.message]);
const [onSubmitted, onRefused] = [told("submitted"), told("refused")];
window.heard = [];
window.ask = (survey) =>
  root.render(<SurveyForm {...{ survey, onSubmitted, onRefused }} collector={window.collector} />);
"""


def test_the_form_in_react_tells_its_page_of_another_survey_too(live, origin, survey, visit):
    modules = ROOT / "client" / "node_modules"
    if not (modules / "react-dom").exists():
        if os.environ.get("CI"):
            pytest.fail("react is missing in client/node_modules", pytrace=False)
        pytest.skip("react is missing in client/node_modules; make test installs it")
    for name in ("health", "sleep"):
        live.store.surveys.publish(Survey(name, name, survey.schema, survey.mechanism))
    component = (EXAMPLES / "SurveyForm.jsx").read_text(encoding="utf-8")
    (origin.folder / "SurveyForm.jsx").write_text(component, encoding="utf-8")
    (origin.folder / "app.jsx").write_text(APP, encoding="utf-8")
    form = ROOT / "client/halftruth_client/js/form/index.js"
    options = ["--bundle", "--format=esm", "--jsx=automatic", "--outfile=app.js"]
    options += [f"--alias:halftruth-client/form={form}", "--log-level=warning"]
    subprocess.run(
        [modules / ".bin/esbuild", "app.jsx", *options],
        cwd=origin.folder,
        env={**os.environ, "NODE_PATH": str(modules)},
        check=True,
    )
    page = visit(
        origin.add('<div id="app"></div>', '<script type="module" src="app.js"></script>')
    ).page
    page.evaluate("(url) => { window.collector = url; }", live.url)
    for number, name in enumerate(["health", "sleep"], 1):
        page.evaluate("(name) => ask(name)", name)
        answer_and_send(page)
        assert page.evaluate("heard") == [["submitted", "accepted"]] * number
        assert live.store.reports.counts(name)[1].reports == 1
    # React sets a property where an element has one of an attribute's name, and no attribute.
    own = "(names) => names.filter((name) => name in document.querySelector('halftruth-form'))"
    names = "survey collector max-gamma unprotected operator-keys invitation ask send-every"
    assert page.evaluate(own, names.split()) == []
    # What is refused is heard as well, once.
    page.evaluate("ask('none')")
    page.wait_for_function("heard.length > 2")
    assert [name for name, _ in page.evaluate("heard")] == ["submitted", "submitted", "refused"]


def test_a_back_end_reports_once_for_each_person_and_says_that_it_sees_the_truth(
    live, monkeypatch, tmp_path, capfd
):
    drinks = Attribute("drinks", ["never", "weekly", "daily"])
    schema = Schema([Attribute("smoker", ["no", "yes"]), drinks])
    live.store.surveys.publish(Survey("health", "Health", schema, GammaDiagonal(19)))
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
    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if "outbox" in file.name)
    assert b"weekly" not in kept
    assert "weekly" not in str(capfd.readouterr())
