"""The report about a survey as a page, and as a self-contained file."""

from typing import Any

from ...analyses.survey_report import SurveyReport
from ...charts.on_page import on_page
from ..standalone import standalone

#: Styles of the page, which the file contains.
_STYLES = ("style.css", "report.css", "print.css")


def shown(report: SurveyReport) -> dict[str, Any]:
    """Return the template variables of a report."""
    return {"report": report, "drawn": [on_page(chart) for chart in report.charts]}


def as_file(report: SurveyReport) -> bytes:
    """Render a self-contained page."""
    return standalone("report_file.html", _STYLES, **shown(report)).encode()
