"""``halftruth survey from-csv``: make a survey file from a table of true records."""

from pathlib import Path

import click
from halftruth_shared import ParameterError

from . import options
from .output import secrets_to, write

#: From this number of questions on, tables of any two of them cost much precision.
_MANY = 5


@click.command("from-csv")
@click.argument("file", type=click.Path())
@options.output("Write the survey to this file, not to the terminal.")
@options.survey_id
@click.option("--title", help="Title of the survey; by default the name of the file.")
@options.gamma
@click.option(
    "--public",
    multiple=True,
    metavar="COLUMN",
    help="Column that is sent unperturbed with every report; repeat it for others.",
)
@click.option(
    "--wanted",
    multiple=True,
    metavar="'OUTCOME by GROUP'",
    help="Wanted tables, as in 'smoker, drinks by sex, age'; repeat it for others. By default all"
    " tables of two questions.",
)
@click.option(
    "--records",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Also write the true records to a new CSV file that only you can read, with the names and"
    " categories of the survey: for 'plan --pilot' and 'reports perturb'.",
)
def from_csv(
    file: str,
    output: str | None,
    id: str | None,
    title: str | None,
    gamma: str,
    public: tuple[str, ...],
    wanted: tuple[str, ...],
    records: str | None,
) -> None:
    """Make a survey file from the true records in a CSV FILE.

    Each column becomes a question. Rare answers are merged; identifiers, dates and free text are
    left out, with a comment. The records are read on this machine and nothing is sent, but the
    categories in the survey file tell about them.
    """
    from ..drafting.record_table import draft_from_records

    if records is not None and output is None:
        raise ParameterError("records: expected with --output", field="records")
    made = draft_from_records(file, id, title, gamma, public, wanted)
    if output is not None and Path(output).exists() and Path(output).samefile(file):
        raise ParameterError("output: expected another file than the records", field="output")
    click.echo(
        "halftruth: true records were read; nothing leaves this machine. The categories of the"
        " survey tell about the records, such as frequent answers and the range of a number.",
        err=True,
    )
    if records is not None:
        with secrets_to(records, "true records") as put:
            put(made.records())
    if output is None:
        click.echo(made.text)
    else:
        write(output, made.text.encode(), "output")
        click.echo(f"{made.survey.id}: {len(made.survey.schema.questions)} questions in {output}")
    for note in made.notes:
        click.echo(f"halftruth: {note}", err=True)
    if not wanted and len(made.survey.schema.questions) >= _MANY:
        click.echo(
            "halftruth: tables of any two questions are wanted; --wanted 'OUTCOME by GROUP' makes"
            " those of them that you need much more precise",
            err=True,
        )
    if made.changed and records is None:
        click.echo(
            f"halftruth: the survey has other names or answers than these columns of {file}:"
            f" {', '.join(made.changed)}; --records FILE writes records that fit it",
            err=True,
        )
