"""Printing the report and the audit."""

import re

import numpy as np
import pytest
from halftruth_collector.analyses.survey_report import survey_report
from halftruth_collector.cli.audit import as_html
from halftruth_collector.disclosure.audit import audit
from halftruth_collector.disclosure.statement import statement
from halftruth_collector.web.pages.survey_report import as_file
from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
from sources import source_of

SCHEMA = Schema(
    [
        Attribute(f"q{i}", [f"answer {j}" for j in range(2 + i % 5)], label=f"How often {i}?")
        for i in range(12)
    ]
)
SURVEY = Survey("long", "Twelve", SCHEMA, RandomizedResponse(dict.fromkeys(SCHEMA.names, "0.8")))

#: Size of A4 between the margins, in pixels.
WIDTH, HEIGHT = 680, 998


def report():
    rng = np.random.default_rng(1)
    records = np.stack([(size * rng.random(2_000) ** 2).astype(int) for size in SCHEMA.shape], 1)
    # Associate two questions so that the report has a table.
    records[:, 5] = records[:, 0]
    return as_file(survey_report(source_of(SURVEY, SURVEY.perturbation.reports(records))))


def styles(page, selector, name):
    """Return the values of a style of all elements that a selector finds."""
    values = f"(found) => found.map((each) => getComputedStyle(each).{name})"
    return set(page.locator(selector).evaluate_all(values))


@pytest.mark.parametrize(
    ("make", "sheets"),
    [(report, range(3, 6)), (lambda: as_html(statement(audit(SURVEY, 5_000))), range(2, 3))],
    ids=["report", "audit"],
)
def test_pages_print_black_on_white_without_clipped_or_broken_tables(visit, make, sheets):
    page = visit(viewport={"width": WIDTH, "height": HEIGHT}).page
    page.set_content(make().decode())
    page.emulate_media(media="print", color_scheme="dark")
    assert styles(page, "main :not(svg, svg *)", "color") == {"rgb(0, 0, 0)"}
    assert styles(page, "svg text", "fill") <= {"rgb(0, 0, 0)"}
    assert styles(page, "html, body, figure", "backgroundColor") <= {
        "rgba(0, 0, 0, 0)",
        "rgb(255, 255, 255)",
    }
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTH
    blocks = page.locator("figure, table")
    assert blocks.count()
    assert styles(page, "figure, table", "breakInside") == {"avoid"}
    assert all(box["height"] < HEIGHT for box in (each.bounding_box() for each in blocks.all()))
    printed = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) in sheets
