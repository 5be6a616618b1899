"""Options that several commands share, and options derived from the fields of a query."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click
from halftruth_shared import ParameterError
from halftruth_shared.analyses.reading import Field
from tqdm import tqdm

from ..collector_store import OpenStore, open_existing_store
from ..errors import NotConfirmed
from ..executors import Map, open_executor
from ..ops.settings import DEFAULT_DATABASE, Config
from ..store.database import Database
from ..store.retention import KEEP_DAYS
from .margins import margin_texts
from .output import PATIENCE

C = TypeVar("C", bound=Callable[..., Any] | click.Command)
S = TypeVar("S", bound=OpenStore)

database = click.option(
    "--database",
    envvar="HALFTRUTH_DATABASE",
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    help="SQLAlchemy URL of SQLite or PostgreSQL.",
)


def store(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--database``, and pass the existing store in it as `store`."""

    @database
    @wraps(command)
    def run(*, database: str, **given: Any) -> None:
        with naming(open_existing_store(database, known_keys)) as opened:
            command(store=opened, **given)

    return run


@contextmanager
def naming(opened: S) -> Iterator[S]:
    """Close a store after the block; if that could write, name the database on standard error.

    A command can easily run with another database than the service: in another folder, or without
    its settings.
    """
    try:
        with opened:
            yield opened
    finally:
        name_written(opened.database, is_new=opened.is_new)


def name_written(database: Database, *, is_new: bool) -> None:
    """Name a database in which a writing transaction was committed, and say if it is new."""
    if database.is_written:
        new = "new " if is_new else ""
        click.echo(f"halftruth: {new}database {database.name}", err=True)


def confirmed(metavar: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add ``--confirm`` to a final action; without it, the action asks for it on a terminal.

    `metavar` is what has to be repeated.
    """

    def add(command: Callable[..., None]) -> Callable[..., None]:
        @click.option(
            "--confirm",
            metavar=metavar,
            help=f"Confirm by repeating {metavar}; on a terminal, the command asks for it.",
        )
        @wraps(command)
        def run(*, confirm: str | None, **given: Any) -> None:
            try:
                command(confirm=confirm, **given)
            except NotConfirmed as refused:
                # A script has nobody to ask.
                if confirm is not None or sys.stdin is None or not sys.stdin.isatty():
                    raise
                click.echo(f"halftruth: {refused.reason}", err=True)
                typed = click.prompt(f"Type {refused.expected} to confirm", err=True)
                command(confirm=typed, **given)

        return run

    return add


def known_keys() -> Sequence[str]:
    """Return the public keys in the file of sealing keys of this machine."""
    path = Config.from_environment(only=["sealing_keys"]).sealing_keys
    if path is None:
        return ()
    # Import here, since few commands need cryptography, which is slow to import.
    from halftruth_shared.protocol.sealing import SealingKeys

    return SealingKeys.read(path).public


def output(text: str, metavar: str = "FILE", **settings: Any) -> Callable[[C], C]:
    """Return the option for the file or folder that a command writes.

    Parameters
    ----------
    text : str
        Help of the option.
    metavar : str
    **settings
        Further settings of `click.option`, such as another type than a file.
    """
    settings = {"type": click.Path(dir_okay=False), **settings}
    return click.option("-o", "--output", metavar=metavar, help=text, **settings)


#: Output of secrets, which cannot be shown again.
secrets_file = output("Write to a new FILE that only you can read, not to the terminal.")


#: Id of a survey that is made from a file.
survey_id = click.option(
    "--id", help="Id of the survey; by default derived from the name of the file."
)

#: Amplification of a survey that a command makes.
gamma = click.option(
    "--gamma",
    default="19",
    show_default=True,
    metavar="NUMBER",
    help="Amplification of the survey.",
)


def closed_for(text: str) -> Callable[[C], C]:
    """Return the option for the number of days after which data are purged."""
    return click.option(
        "--closed-for",
        "days",
        type=int,
        default=KEEP_DAYS,
        show_default=True,
        metavar="DAYS",
        help=text,
    )


def survey_file(text: str) -> Callable[[C], C]:
    """Return the option for the file of the survey of the reports."""
    return click.option(
        "--survey",
        "survey_file",
        required=True,
        type=click.Path(),
        metavar="FILE",
        help=text,
    )


_METAVARS = {
    "number": "NUMBER",
    "integer": "INTEGER",
    "integers": "INTEGERS",
    "text": "NAME",
    "names": "NAMES",
    "categories": "CATEGORY",
    "terms": "NAMES",
    "margins": "FILE",
}


@dataclass(frozen=True)
class OutputFormat:
    """Format of a result: JSON, CSV or text, and optionally a Parquet file."""

    json: bool
    csv: bool
    parquet: str | None


def source(command: C) -> C:
    """Add options for the source of the counts: a database, or a remote collector."""
    for option in (
        click.option("--token", envvar="HALFTRUTH_TOKEN", help="Analyst's token, with --url."),
        click.option(
            "--url", envvar="HALFTRUTH_URL", help="Address of a collector, instead of --database."
        ),
        database,
    ):
        command = option(command)
    return command


pilot = click.option(
    "--pilot",
    type=click.Path(),
    metavar="FILE",
    help="CSV file of true answers to use instead of collected reports: one person per line, or"
    " several with a column 'count'. It stays on this machine.",
)


def formats(command: C) -> C:
    """Add ``--json``, ``--csv`` and ``--parquet``."""
    for option in (
        click.option(
            "--parquet",
            type=click.Path(dir_okay=False),
            metavar="FILE",
            help="Also write a Parquet file.",
        ),
        click.option("--csv", "as_csv", is_flag=True, help="Print CSV."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ):
        command = option(command)
    return command


processes = click.option(
    "--processes",
    type=click.IntRange(1),
    metavar="NUMBER",
    default=1,
    show_default=True,
    help="Number of processes on this machine.",
)


@contextmanager
def executor(processes: int, unit: str) -> Iterator[Map]:
    """Open the executor that the option selects; a terminal shows a progress bar of tasks.

    Raises the errors of `open_executor`.
    """
    with open_executor(processes) as map_pieces:
        yield with_bar(map_pieces, unit)


def with_bar(map_pieces: Map, unit: str) -> Map:
    """Return the same `map` with a progress bar of tasks on a terminal."""

    def mapped(work: Callable[..., Any], *pieces: Iterable[Any]) -> Iterator[Any]:
        given = [list(each) for each in pieces]
        total = min(map(len, given))
        how: Any = {"delay": PATIENCE, "disable": None, "leave": False}
        yield from tqdm(map_pieces(work, *given), total=total, unit=f" {unit}", **how)

    return mapped


def pop_output_format(given: dict[str, Any]) -> OutputFormat:
    """Remove the output format from the values of options, and return it."""
    chosen = OutputFormat(given.pop("as_json"), given.pop("as_csv"), given.pop("parquet"))
    if chosen.json and chosen.csv:
        raise ParameterError("--json, --csv: expected one of them", field="json")
    return chosen


def _check_chart(context: click.Context, option: click.Parameter, file: str | None) -> str | None:
    if file is not None:
        # Import here, since few commands draw, and Matplotlib is slow to import.
        from ..charts.rendering import check_file

        check_file(file)
    return file


plot = click.option(
    "--plot",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    callback=_check_chart,
    help="Also draw a chart into a .svg, .png or .pdf file.",
)


def make_query_options(
    fields: Mapping[str, Field], others: Mapping[str, str], *, has_default: bool = True
) -> Iterable[click.Option]:
    """Yield an option for each field of a query.

    Parameters
    ----------
    fields : mapping of str to Field
    others : mapping of str to str
        Additional names by field.
    has_default : bool
        Whether a command without options has a query, although fields are required.
    """
    for field in fields.values():
        names = [field.name, *([others[field.name]] if field.name in others else [])]
        text = field.description.rstrip(".")
        if field.kind == "margins":
            text += "; or a TOML or CSV file of these"
        if field.required:
            text += "; required with other options" if has_default else ""
        elif field.default not in (None, False, [], {}) and "default" not in text:
            values = field.default if isinstance(field.default, list) else [field.default]
            text += f"; by default {', '.join(map(str, values))}"
        # Values stay texts, since `read` converts the whole query.
        yield click.Option(
            [*(f"--{name.replace('_', '-')}" for name in names), field.name],
            required=field.required and not has_default,
            multiple=field.several,
            is_flag=field.kind == "flag" or None,
            callback=_margins if field.kind == "margins" else None,
            metavar=_metavar(field),
            help=f"{text}.",
        )


def _metavar(field: Field) -> str | None:
    """Return the placeholder of a value in the help."""
    if field.written and (not field.several or field.kind in ("items", "groups")):
        return field.written.upper()
    kind = "categories" if field.of == "category" else field.kind
    return _METAVARS.get(kind, "|".join(field.choices) or None)


def _margins(context: click.Context, option: click.Parameter, texts: Any) -> Any:
    return margin_texts(texts)


def query_texts(given: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the given values of each field as texts."""
    values = {}
    for name, value in given.items():
        if isinstance(value, tuple):
            if value:
                values[name] = list(value)
        elif value is not None and value is not False:
            values[name] = [str(value).lower() if value is True else value]
    return values
