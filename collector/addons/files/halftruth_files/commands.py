"""Reports in files: ``halftruth reports write`` and ``halftruth reports count``."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

import click
import msgspec
from halftruth_collector.cli import options
from halftruth_collector.cli.output import print_table
from halftruth_collector.executors import open_executor
from halftruth_shared import ParameterError, read_survey
from halftruth_shared.protocol.report_files import ROWS, Form, write_reports
from halftruth_shared.protocol.reports import ReportBatch, SealedBatch
from tqdm import tqdm

from .cluster import open_cluster


@click.command()
@click.argument("batches", type=click.File("rb"), nargs=-1, required=True)
@options.output(
    "Folder of the files; created if it does not exist.",
    "FOLDER",
    required=True,
    type=click.Path(file_okay=False),
)
@click.option(
    "--form",
    type=click.Choice(["parquet", "ndjson"]),
    default="parquet",
    show_default=True,
    help="Parquet, or JSON with one report per line.",
)
@click.option(
    "--rows",
    type=int,
    default=ROWS,
    show_default=True,
    metavar="NUMBER",
    help="Largest number of reports in one file.",
)
def write(batches: tuple[IO[bytes], ...], output: str, form: Form, rows: int) -> None:
    """Write the reports of BATCHES into new files of a folder.

    A manifest lists the files with their checksums. A file of batches has one JSON message per
    line, as clients send them to /v1/surveys/ID/reports; "-" is standard input. Sealed reports stay
    sealed. After an error, no files remain.
    """
    manifest = write_reports(_read(batches), output, form=form, rows=rows)
    written = sum(file.rows for file in manifest.files)
    click.echo(f"{written} reports in {_files(manifest.files)}")


def _read(files: Iterable[IO[bytes]]) -> Iterator[ReportBatch | SealedBatch]:
    for file in files:
        for number, line in enumerate(tqdm(file, unit=" batches", disable=None), start=1):
            if line.strip():
                yield _batch(line, f"batches: {file.name}, line {number}")


def _batch(line: bytes, where: str) -> ReportBatch | SealedBatch:
    kinds: list[type[ReportBatch] | type[SealedBatch]] = [ReportBatch, SealedBatch]
    for kind in kinds:
        try:
            return msgspec.json.decode(line, type=kind)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            continue
    raise ParameterError(
        f'{where}: expected a message such as {{"digest": "…", "reports": [{{"id": "…", "values":'
        " [0]}]}",
        field="batches",
    )


@click.command()
@click.argument("files", nargs=-1, required=True)
@options.survey_file("The published survey.")
@options.output(
    "New folder for counts, ids and provenance, for 'halftruth reports import'.",
    "FOLDER",
    required=True,
    type=click.Path(path_type=Path),
)
@click.option(
    "--earlier",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="COUNTS",
    help="Earlier counts of this survey, whose reports are not counted again: such a folder, or a"
    " file of 'halftruth reports export'. Repeat it for others.",
)
@click.option(
    "--sealed-to",
    metavar="KEY",
    help="Public key that the reports are sealed to.",
)
@click.option(
    "--sealing-keys",
    envvar="HALFTRUTH_SEALING_KEYS",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of private keys to open sealed reports; every process and worker reads it.",
)
@options.processes
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Use the cluster of this Dask scheduler, such as tls://host:8786.",
)
def count(
    files: tuple[str, ...],
    survey_file: str,
    output: Path,
    earlier: tuple[Path, ...],
    sealed_to: str | None,
    sealing_keys: Path | None,
    processes: int,
    scheduler: str | None,
) -> None:
    """Count the reports in FILES, each id once.

    FILES are Parquet, or JSON with one report per line. They are given as names or patterns such as
    "reports/*.parquet", or addresses such as s3://bucket/reports/*.parquet, and are read in the
    order of their names. Reports are checked as by a collector. Workers of a cluster must have
    access to FILES and FOLDER under the same names.
    """
    # Import here, since only counting needs DuckDB, which is slow to import.
    from .counting import count as count_files

    survey = read_survey(survey_file)
    if scheduler is not None and processes != 1:
        raise ParameterError("processes, scheduler: expected one of them", field="scheduler")
    places = open_executor(processes) if scheduler is None else open_cluster(scheduler)
    with places as map_pieces:
        provenance, refused = count_files(
            survey,
            files,
            output,
            options.with_bar(map_pieces, "pieces"),
            sealing_key=sealed_to,
            key_file=sealing_keys,
            earlier=earlier,
        )
    click.echo(
        f"counted {provenance.counted} of {provenance.reports} reports in"
        f" {_files(provenance.files)}, into {output}"
    )
    if provenance.repeated:
        click.echo(f"{provenance.repeated} had been counted before")
    if refused.counts:
        print_table(
            ["refused for", "reports", "the first one"],
            [[reason, number, refused.first[reason]] for reason, number in refused.counts.items()],
        )


def _files(files: Sequence[object]) -> str:
    return "1 file" if len(files) == 1 else f"{len(files)} files"
