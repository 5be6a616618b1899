"""Components of the manual, in each framework: rendered, hydrated, heard, asking anew."""

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

#: What is to be copied, by the first word or words of its heading.
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
    """Bundle the component of the manual; the value is what a server makes of it."""
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
def test_what_the_manual_has_for_a_framework_asks_hears_and_asks_another_survey(
    live, node, origin, visit, framework
):
    html = built(framework, live, node, origin.folder)
    assert f'<halftruth-form survey="health" collector="{live.url}" max-gamma="19">' in html
    # First made by the browser alone, then of what a server made.
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
            # As an attribute and as a property, of one and the same element.
            told = (
                f"(() => {{ const form = {FORM}; return [form.getAttribute('survey'), form.survey,"
            )
            told += " form.getAttribute('max-gamma'), form.maxGamma, form.collector]; })()"
            assert page.evaluate(told) == [name, name, "19", "19", live.url]
            assert page.evaluate(f"before === {FORM}")
        # No framework complains.
        assert found.said == []
        assert "hush" not in found.traffic()


@pytest.mark.usefixtures("surveys")
def test_what_the_manual_has_for_pages_of_any_server_asks_and_hears(live, origin, visit):
    """A page of Astro but for its fences: there, too, the script is bundled."""
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
