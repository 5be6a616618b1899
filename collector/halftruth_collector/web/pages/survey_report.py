"""A survey's report as a page, and as a file that needs nothing else."""

from typing import Any

from ... import charts
from ...analyses.survey_report import SurveyReport
from ..standalone import standalone

#: Styles of the page, which stand in the file.
_STYLES = ("style.css", "report.css", "print.css")


def shown(report: SurveyReport) -> dict[str, Any]:
    """Return the variables of a report's template."""
    drawn = [charts.render_figure(chart, folded=False) for chart in report.charts]
    return {"report": report, "drawn": drawn, "undrawn": charts.charts_unavailable()}


def as_file(report: SurveyReport) -> bytes:
    """A page by itself, to be read, printed and kept."""
    return standalone("report_file.html", _STYLES, **shown(report)).encode()
