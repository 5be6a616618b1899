"""``halftruth analyse page``: write a page with all results of a survey."""

import click

from ..analyses.survey_report import survey_report
from ..web.pages.survey_report import as_file
from . import options
from .output import write
from .sources import counted_in


@click.command()
@click.argument("survey", metavar="SURVEY")
@options.output("File of the page; SURVEY-report.html by default.")
@options.database
def report(survey: str, output: str | None, database: str) -> None:
    """Write a page with the results of SURVEY, to read and print.

    SURVEY is the id of a survey. The page begins with the findings, how precise they are and what
    cannot be said. Then come all questions with their charts, the strongest associations, and the
    methods.
    """
    with counted_in(database, survey) as counted:
        page = as_file(survey_report(counted))
    file = output or f"{survey}-report.html"
    write(file, page, "output")
    click.echo(f"written: {file}")
