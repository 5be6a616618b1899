"""Options that several commands share, and those that follow from a question."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import click
from halftruth_shared import ParameterError
from halftruth_shared.analyses.reading import Field
from tqdm import tqdm

from ..executors import Map, open_executor
from ..ops.settings import DEFAULT_DATABASE
from .margins import margin_texts

C = TypeVar("C", bound=Callable[..., Any] | click.Command)

database = click.option(
    "--database",
    envvar="HALFTRUTH_DATABASE",
    default=DEFAULT_DATABASE,
    show_default=True,
    metavar="URL",
    help="SQLAlchemy URL of SQLite or PostgreSQL.",
)


#: Where secrets go, which nobody is shown twice.
secrets_file = click.option(
    "--output",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write to a new FILE that only you can read, not to the terminal.",
)


def survey_file(text: str) -> Callable[[C], C]:
    """Option for the file of the survey that reports are of."""
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
class Form:
    """Format of a result: JSON, CSV or else text, and a Parquet file besides."""

    json: bool
    csv: bool
    parquet: str | None


def source(command: C) -> C:
    """Add the source of the counts: a database here, or a collector elsewhere."""
    for option in (
        click.option("--token", envvar="HALFTRUTH_TOKEN", help="Analyst's token, with --url."),
        click.option(
            "--url", envvar="HALFTRUTH_URL", help="Address of a collector, instead of --database."
        ),
        database,
    ):
        command = option(command)
    return command


def pilot(command: C) -> C:
    """Add ``--pilot``."""
    return click.option(
        "--pilot",
        type=click.Path(),
        metavar="FILE",
        help="CSV file of people's true answers, a person or with a column 'count' so many people a"
        " line, instead of what a collector counted. It stays on this machine.",
    )(command)


def formats(command: C) -> C:
    """Add ``--json``, ``--csv`` and ``--parquet``."""
    for option in (
        click.option(
            "--parquet",
            type=click.Path(dir_okay=False),
            metavar="FILE",
            help="Write a Parquet file, too.",
        ),
        click.option("--csv", "as_csv", is_flag=True, help="Print CSV."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ):
        command = option(command)
    return command


def processes(command: C) -> C:
    """Add ``--processes``; what is worked on stays on this machine."""
    return click.option(
        "--processes",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="Work in so many processes of this machine.",
    )(command)


def workers(command: C) -> C:
    """Add ``--processes`` and ``--scheduler``, for work that needs nobody's true answers."""
    return processes(
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            help="Work on the cluster of this Dask scheduler, such as tls://host:8786.",
        )(command)
    )


def executor(given: dict[str, Any], unit: str) -> AbstractContextManager[Map]:
    """Return the executor that was asked for; a terminal shows a bar.

    Parameters
    ----------
    given : dict
    unit : str
        What the pieces are, in the plural.

    Returns
    -------
    context manager
        It raises what `open_executor` does.
    """
    return _executor(given.pop("processes"), given.pop("scheduler", None), unit)


@contextmanager
def _executor(processes: int, scheduler: str | None, unit: str) -> Iterator[Map]:
    with open_executor(processes, scheduler) as map_pieces:

        def with_bar(work: Callable[..., Any], *pieces: Iterable[Any]) -> Iterator[Any]:
            given = [list(each) for each in pieces]
            total = min(map(len, given))
            yield from tqdm(map_pieces(work, *given), total=total, unit=f" {unit}", disable=None)

        yield with_bar


def form(given: dict[str, Any]) -> Form:
    """Take from what was given how to print.

    Raises
    ------
    ParameterError
        If it is to be printed twice.
    """
    chosen = Form(given.pop("as_json"), given.pop("as_csv"), given.pop("parquet"))
    if chosen.json and chosen.csv:
        raise ParameterError("--json, --csv: expected one of them", field="json")
    return chosen


def plot(command: C) -> C:
    """Add ``--plot``."""

    def check(context: click.Context, option: click.Parameter, file: str | None) -> str | None:
        if file is not None:
            # Imported here: few commands draw, and the library takes a while.
            from ..charts.rendering import check_file

            check_file(file)
        return file

    return click.option(
        "--plot",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        callback=check,
        help="Draw a picture, too: a .svg, .png or .pdf file.",
    )(command)


def of_query(fields: Mapping[str, Field], others: Mapping[str, str]) -> Iterable[click.Option]:
    """An option for each field of a question.

    Parameters
    ----------
    fields : mapping
    others : mapping of str to str
        Further names of options, by field.
    """
    for field in fields.values():
        names = [field.name, *([others[field.name]] if field.name in others else [])]
        said = field.description.rstrip(".")
        if field.kind == "margins":
            said += "; or a TOML or CSV file of these"
        if field.required:
            said += "; required"
        elif field.default not in (None, False, [], {}):
            said += f"; {field.default} by default"
        # What is given is read in one place, with everything else that is asked.
        yield click.Option(
            [*(f"--{name.replace('_', '-')}" for name in names), field.name],
            multiple=field.several,
            is_flag=field.kind == "flag" or None,
            callback=_margins if field.kind == "margins" else None,
            metavar=_metavar(field),
            help=f"{said}.",
        )


def _metavar(field: Field) -> str | None:
    """Placeholder of a value in help."""
    if field.kind in ("items", "groups"):
        return field.written.upper()
    kind = "categories" if field.of == "category" else field.kind
    return _METAVARS.get(kind, "|".join(field.choices) or None)


def _margins(context: click.Context, option: click.Parameter, texts: Any) -> Any:
    return margin_texts(texts)


def texts(given: Mapping[str, Any]) -> dict[str, list[str]]:
    """Values given for each field, as texts."""
    values = {}
    for name, value in given.items():
        if isinstance(value, tuple):
            if value:
                values[name] = list(value)
        elif value is not None and value is not False:
            values[name] = [str(value).lower() if value is True else value]
    return values
