"""A survey's report as a page, and as a file that needs nothing else."""

from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from ...analyses.survey_report import SurveyReport

#: Styles of the page, which stand in the file.
_STYLES = ("style.css", "report.css")


def shown(report: SurveyReport) -> dict[str, Any]:
    """What a template shows of a report."""
    # Imported here: it takes a while, and most requests draw nothing.
    from ...charts.rendering import to_svg

    return {"report": report, "drawn": [to_svg(chart) for chart in report.charts]}


def as_file(report: SurveyReport) -> bytes:
    """A page by itself, to be read, printed and kept."""
    environment = Environment(
        loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined
    )
    assets = files(__package__) / "assets"
    styles = [(assets / name).read_text(encoding="utf-8") for name in _STYLES]
    page = environment.get_template("report_file.html").render(styles=styles, **shown(report))
    return page.lstrip().encode()
