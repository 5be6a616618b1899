"""The report about a survey as a page, and as a self-contained file."""

from typing import Any

from ... import charts
from ...analyses.survey_report import SurveyReport
from ..standalone import standalone

#: Styles of the page, which the file contains.
_STYLES = ("style.css", "report.css", "print.css")


def shown(report: SurveyReport) -> dict[str, Any]:
    """Return the template variables of a report."""
    drawn = [charts.render_figure(chart, folded=False) for chart in report.charts]
    return {"report": report, "drawn": drawn, "charts_unavailable": charts.charts_unavailable()}


def as_file(report: SurveyReport) -> bytes:
    """Render a self-contained page."""
    return standalone("report_file.html", _STYLES, **shown(report)).encode()
