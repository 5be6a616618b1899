"""``halftruth analyse page``: everything that a survey showed, to be read and printed."""

import click

from ..analyses.survey_report import survey_report
from ..web.pages.survey_report import as_file
from . import options
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
@options.database
def report(survey: str, html: str | None, database: str) -> None:
    """Write a page about the results of SURVEY (its id), to be read and printed.

    It has every question with its chart, the strongest associations, the methods, and what is not
    usable.
    """
    with counted_in(database, survey) as counted:
        page = as_file(survey_report(counted))
    file = html or f"{survey}-report.html"
    write(file, page, "html")
    click.echo(f"written: {file}")
