"""``halftruth reports perturb``: perturb the records of a CSV file on this machine."""

import csv
from typing import IO

import click
import numpy as np
from halftruth_shared import Survey, read_survey
from numpy.typing import NDArray
from tqdm import tqdm

from .records import read_records


@click.command()
@click.argument("survey_file", metavar="SURVEY", type=click.Path())
@click.argument("records", type=click.File("r", encoding="utf-8"))
@click.option(
    "-o",
    "--output",
    type=click.File("w", encoding="utf-8", lazy=True),
    default="-",
    help="CSV file to write; standard output by default.",
)
def perturb(survey_file: str, records: IO[str], output: IO[str]) -> None:
    """Perturb the RECORDS of a CSV file as SURVEY (a TOML file) says.

    The file has one column for each attribute and no other, since another one would have to be
    dropped or sent unperturbed. What is optional or not asked of a person is left empty. Every
    record is read before anything is written.
    """
    survey = read_survey(survey_file)
    reports = survey.mechanism.perturb_many(survey.schema, _read(survey, records))
    writer = csv.writer(output, lineterminator="\n")
    writer.writerow(survey.report_space.names)
    for report in reports.tolist():
        writer.writerow(survey.mechanism.decode_report(survey.schema, report).values())


def _read(survey: Survey, records: IO[str]) -> NDArray[np.int64]:
    """Codes of every record; an error names line and attribute, never an answer."""

    def encode(record: dict[str, str]) -> tuple[int, ...]:
        return survey.schema.encode({name: v for name, v in record.items() if v != ""})

    # Without a terminal there is no bar.
    codes = list(tqdm(read_records(records, encode), desc="reading", unit=" records", disable=None))
    return np.array(codes, dtype=np.int64).reshape(-1, len(survey.schema.shape))
