"""``halftruth reports perturb`` and ``read``: perturb records, and count randomized answers."""

import csv
from typing import IO

import click
import numpy as np
from halftruth_shared import Survey, read_survey
from halftruth_shared.protection import Protection
from numpy.typing import NDArray
from tqdm import tqdm

from .. import operations
from ..collector_store import Store
from ..files.randomized import read_randomized
from ..store.sqlite_files import PAGE
from . import options
from .output import progress_bar
from .records import read_records


@click.command()
@click.argument("survey_file", metavar="SURVEY", type=click.Path())
@click.argument("records", type=click.File("r", encoding="utf-8"))
@options.output(
    "CSV file to write; standard output by default.",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
)
def perturb(survey_file: str, records: IO[str], output: IO[str]) -> None:
    """Perturb the RECORDS of a CSV file by the mechanism of SURVEY.

    SURVEY is a TOML file. The file of records has one column for each attribute and no others,
    which would have to be dropped or sent unperturbed. Categories are given by name, or by code in
    the whole column. Optional or unasked questions are left empty. All records are read before
    anything is written.
    """
    survey = read_survey(survey_file)
    reports = survey.perturbation.reports(_read(survey, records))
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(survey.report_space.names)
    for report in reports.tolist():
        writer.writerow(survey.perturbation.decode(report).values())


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


def _read(survey: Survey, records: IO[str]) -> NDArray[np.int64]:
    """Return the codes of all records; errors name line and attribute, but no answer."""

    def encode(record: dict[str, str], _: int) -> tuple[int, ...]:
        return survey.schema.encode({name: v for name, v in record.items() if v != ""})

    # tqdm shows no bar without a terminal.
    read = read_records(records, survey.schema, encode)
    codes = list(tqdm(read, desc="reading", unit=" records", disable=None))
    return np.array(codes, dtype=np.int64).reshape(-1, len(survey.schema.shape))
