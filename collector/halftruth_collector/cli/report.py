"""``halftruth analyse page``: everything that a survey showed, to be read and printed."""

import click

from ..analyses.survey_report import SurveyReport, survey_report
from ..disclosure.sections import Section, Statement, Table
from ..web.pages.survey_report import as_file
from . import options
from .documents import as_pdf
from .output import write
from .sources import counted_in


@click.command()
@click.argument("survey", metavar="SURVEY")
@click.option(
    "--html",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The page's file; SURVEY-report.html by default.",
)
@click.option(
    "--pdf",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write a PDF instead, or with --html too.",
)
@options.database
def report(survey: str, html: str | None, pdf: str | None, database: str) -> None:
    """Write a page about the results of SURVEY (its id), to be read and printed.

    It has every question with its chart, the strongest associations, the methods, and what is not
    usable.
    """
    if html is None and pdf is None:
        html = f"{survey}-report.html"
    with counted_in(database, survey) as counted:
        made = survey_report(counted)
        page = html and as_file(made)
        document = pdf and as_pdf(_statement(made))
    for file, content, field in ((html, page, "html"), (pdf, document, "pdf")):
        if file and isinstance(content, bytes):
            write(file, content, field)
            click.echo(f"written: {file}")


def _statement(report: SurveyReport) -> Statement:
    """The report as a document has it: what its page has, in the same order."""
    from ..charts.rendering import picture

    unusable = report.not_usable or (
        "Every question, and every table of two questions, is known precisely enough to be used.",
    )
    header, *rows = (
        tuple(map(str, row)) for row in (report.associations.header, *report.associations.rows)
    )
    table = Table("Strongest associations", header, tuple(rows)) if rows else None
    methods = tuple(f"{name}: {text}" for name, text in report.methods)
    return Statement(
        report.title,
        report.lead,
        (
            Section("What is not usable", unusable, listed=bool(report.not_usable)),
            Section("Questions", (), pictures=tuple(picture(c, ".png") for c in report.charts)),
            Section("Strongest associations", (report.summary,), table),
            Section("Methods", methods),
        ),
    )
