"""``halftruth reports read``: count the randomized answers of a file."""

import click
from halftruth_collector import operations
from halftruth_collector.cli import options
from halftruth_collector.cli.output import progress_bar
from halftruth_collector.collector_store import Store
from halftruth_collector.store.sqlite_files import PAGE
from halftruth_shared import read_survey
from halftruth_shared.protection import Protection

from .randomized import read_randomized


@click.command()
@click.argument("file", type=click.Path())
@options.survey_file("The survey, a TOML file; its mechanism describes the randomization.")
@click.option(
    "--key",
    metavar="COLUMN",
    help="Column with a unique key: rows with a key that was read before are not counted again."
    " By default, the same file is not counted twice.",
)
@click.option(
    "--count", metavar="COLUMN", help="Column with the number of people that a row represents."
)
@options.database
def read(file: str, survey_file: str, key: str | None, count: str | None, database: str) -> None:
    """Count the already randomized answers of a FILE, each row once.

    FILE is CSV or Parquet, such as interviews with dice or cards, or the output of 'halftruth
    reports perturb'. It has a column for each attribute, with categories by name, by label, or by
    code in the whole column; other columns are ignored. If needed, the survey is published. After
    an error, nothing has changed.
    """
    survey = read_survey(survey_file)
    reports = read_randomized(file, survey, key=key, count=count)
    with options.naming(Store(database)) as store, progress_bar("reports") as progress:
        done = operations.count_rows(store, survey, reports.pages(PAGE), progress)
    click.echo(
        f"counted {done.counted} reports in survey {survey.id};"
        f" {done.repeated} had been counted before"
    )
    unperturbed = Protection.of(survey).unperturbed
    if unperturbed:
        click.echo(f"stored as answered, without protection: {', '.join(unperturbed)}")
