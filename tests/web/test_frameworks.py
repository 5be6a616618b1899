"""Components of the manual in each framework: rendering, hydration, events, updates."""

import re
import subprocess
from pathlib import Path

import pytest
from halftruth_collector import operations
from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
from installed import module
from playwright.sync_api import expect

from .conftest import CLIENT, begin, heading, press

HERE = Path(__file__).parent
MANUAL = (HERE.parents[1] / "docs" / "embedding.md").read_text(encoding="utf-8")

#: Code blocks of the manual by the first words of their heading.
BLOCKS = {
    title.split(",")[0]: block
    for title, block in re.findall(
        r"^### (.+)\n(?:(?!^#).*\n)*?```\w+\n((?:(?!```).*\n)+)```", MANUAL, re.M
    )
}
FRAMEWORKS = ["React 19", "React 18", "Vue"]
SURVEYS = ("health", "sleep")


@pytest.fixture
def surveys(live):
    schema = Schema([Attribute("smoker", ["no-hush", "yes-hush"], label="Do you smoke?")])
    for name in SURVEYS:
        operations.publish_survey(
            live.store, Survey(name, f"About {name}", schema, GammaDiagonal(7))
        )


def built(framework, live, node, folder):
    """Bundle the manual's component, and return its server-side rendering."""
    module("vue")
    component = BLOCKS[framework.split()[0]].replace("https://collector.example", live.url)
    (folder / "component").write_text(component, encoding="utf-8")
    ran = subprocess.run(
        [node, HERE / "frameworks.mjs", framework, folder],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    return (folder / "server.html").read_text(encoding="utf-8")


def answered(page):
    begin(page)
    page.get_by_label("yes-hush").check()
    press(page, "Continue")
    press(page, "Send")
    expect(heading(page, "Thank you")).to_be_visible()


FORM = "document.querySelector('halftruth-form')"


@pytest.mark.usefixtures("surveys")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_manual_components_render_emit_events_and_switch_surveys(
    live, node, origin, visit, framework
):
    html = built(framework, live, node, origin.folder)
    assert f'<halftruth-form survey="health" collector="{live.url}" max-gamma="19">' in html
    # First rendered by the browser alone, then hydrated.
    for number, inside in enumerate(("", html)):
        script = '<script type="module" src="app.js"></script>'
        found = visit(origin.add(f'<div id="app">{inside}</div>{script}'))
        page = found.page
        page.evaluate(f"window.before = {FORM}")
        for count, name in enumerate(SURVEYS, 1):
            if count > 1:
                page.evaluate("(name) => ask(name)", name)
            answered(page)
            expected = [[each, "accepted", "id,status"] for each in SURVEYS[:count]]
            assert page.evaluate("heard") == expected
            assert live.store.reports.counts(name)[1].reports == number + 1
            # Attribute and property of the same element.
            told = (
                f"(() => {{ const form = {FORM}; return [form.getAttribute('survey'), form.survey,"
            )
            told += " form.getAttribute('max-gamma'), form.maxGamma, form.collector]; })()"
            assert page.evaluate(told) == [name, name, "19", "19", live.url]
            assert page.evaluate(f"before === {FORM}")
        # The frameworks log no warning.
        assert found.said == []
        assert "hush" not in found.traffic()


@pytest.mark.usefixtures("surveys")
def test_the_manual_component_for_server_rendered_pages_works(live, origin, visit):
    """The example is an Astro page without its fences; Astro bundles the script, too."""
    block = BLOCKS["Astro"].replace("https://collector.example", live.url)
    markup, script = block.removesuffix("</script>\n").split("<script>")
    (origin.folder / "page.js").write_text(script, encoding="utf-8")
    form = CLIENT / "halftruth_client/js/form/index.js"
    options = ["--bundle", "--format=esm", f"--alias:halftruth-client/form={form}"]
    esbuild = module(".bin/esbuild")
    command = [esbuild, "page.js", *options, "--outfile=app.js", "--log-level=error"]
    subprocess.run(command, cwd=origin.folder, check=True, timeout=60)
    found = visit(origin.add(f'{markup}<script type="module" src="app.js"></script>'))
    answered(found.page)
    assert found.said == ["console: accepted"]
