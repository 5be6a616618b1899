"""``halftruth audit``: audit of the disclosure by a survey, as text and as a page."""

from textwrap import fill

import click
from halftruth_shared import read_survey

from ..disclosure.audit import DELTA
from ..disclosure.audit import audit as make_audit
from ..disclosure.sections import Section, Statement
from ..disclosure.statement import statement
from . import options
from .output import json_text, table, write
from .records import Pilot

#: Widths of sentences and column headers on a terminal.
_COLUMNS = 100
_HEADER = 16


def as_text(statement: Statement) -> str:
    """Return a statement as text for a terminal."""
    parts = [statement.title, fill(statement.lead, _COLUMNS)]
    for section in statement.sections:
        parts += ["", section.title, "-" * len(section.title)]
        parts += [
            fill(
                _bullet(section) + paragraph,
                _COLUMNS,
                subsequent_indent=" " * len(_bullet(section)),
            )
            for paragraph in section.paragraphs
        ]
        if section.table is not None:
            header = [fill(name, _HEADER) for name in section.table.header]
            parts.append(table(header, section.table.rows))
        parts += [fill(note, _COLUMNS) for note in section.notes]
    return "\n".join(parts)


def as_html(statement: Statement) -> bytes:
    """Return a self-contained page for reading and printing."""
    # Import here, since this imports the whole web package.
    from ..web.standalone import standalone

    return standalone("audit.html", ["print.css"], statement=statement).encode()


def _bullet(section: Section) -> str:
    return "• " if section.listed else ""


#: Default number of respondents without a pilot.
_RESPONDENTS = 1_000


@click.command()
@click.argument("survey_file", metavar="SURVEY", type=click.Path())
@options.pilot
@click.option(
    "--respondents",
    type=click.IntRange(2, 10**18),
    metavar="INTEGER",
    help=f"Number of respondents; by default that of the pilot, or {_RESPONDENTS}.",
)
@click.option(
    "--delta",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=DELTA,
    show_default=True,
    metavar="NUMBER",
    help="Probability δ with which the guarantee for counts may fail.",
)
@click.option("--quasi", metavar="NAMES", help="Attributes that others may know about a person.")
@click.option("--sensitive", metavar="NAME", help="The attribute that others do not know.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@options.output("Also write a page (HTML), for an ethics board.")
@options.processes
def audit(
    survey_file: str,
    pilot: str | None,
    respondents: int | None,
    delta: float,
    quasi: str | None,
    sensitive: str | None,
    as_json: bool,
    output: str | None,
    processes: int,
) -> None:
    """Audit what SURVEY (a TOML file) discloses about a person.

    The audit says to whom, and how to check it. With a pilot, it also covers its people.
    """
    survey = read_survey(survey_file)
    people = None if pilot is None else Pilot(pilot, survey.schema)
    if respondents is None:
        respondents = _RESPONDENTS if people is None else people.people
    with options.executor(processes, "lengths") as map_pieces:
        made = make_audit(
            survey,
            respondents,
            delta,
            people,
            [name.strip() for name in (quasi or "").split(",") if name.strip()],
            sensitive,
            map_pieces,
        )
    audited = statement(made)
    if output is not None:
        write(output, as_html(audited), "output")
    click.echo(json_text(made) if as_json else as_text(audited))
