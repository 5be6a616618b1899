"""``halftruth reports perturb``: perturb the records of a file."""

import csv
from typing import IO

import click
import numpy as np
from halftruth_shared import Survey, read_survey
from numpy.typing import NDArray
from tqdm import tqdm

from . import options
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


def _read(survey: Survey, records: IO[str]) -> NDArray[np.int64]:
    """Return the codes of all records; errors name line and attribute, but no answer."""

    def encode(record: dict[str, str], _: int) -> tuple[int, ...]:
        return survey.schema.encode({name: v for name, v in record.items() if v != ""})

    # tqdm shows no bar without a terminal.
    read = read_records(records, survey.schema, encode)
    codes = list(tqdm(read, desc="reading", unit=" records", disable=None))
    return np.array(codes, dtype=np.int64).reshape(-1, len(survey.schema.shape))
