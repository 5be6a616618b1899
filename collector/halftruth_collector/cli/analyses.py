"""A command for each analysis, derived from its question: ``halftruth itemsets`` and the others."""

from functools import partial
from inspect import cleandoc
from typing import Any

import click
from halftruth_shared import read_survey
from halftruth_shared.analyses.reading import read

from ..analyses import ANALYSES, Analysis
from ..analyses.sentences import of_group, of_reports
from ..analyses.tabular import to_parquet
from . import options
from .output import as_form, draw, table, write
from .records import read_pilot
from .sources import Source


def command(analysis: Analysis[Any, Any]) -> click.Command:
    """The command of an analysis."""

    def run(survey: str, database: str, url: str | None, token: str | None, **given: Any) -> None:
        form = options.form(given)
        plot, pilot = given.pop("plot", None), given.pop("pilot", None)
        query = read(analysis.query, options.texts(given))
        if pilot is not None and analysis.of_people is not None:
            written = read_survey(survey)
            people = partial(read_pilot, pilot, written.schema)
            result = analysis.of_people(written, query, people)
        else:
            result = Source(survey, database, url, token).result(analysis, query)
        _print(analysis, result, form, plot)

    found = click.Command(
        analysis.name,
        callback=run,
        params=[
            click.Argument(["survey"]),
            *options.of_query(analysis.fields, analysis.options),
        ],
        help=f"{cleandoc(analysis.query.__doc__ or '')}\n\nSURVEY is the id of a survey"
        + (", or with --pilot a TOML file." if analysis.of_people else "."),
        short_help=analysis.summary,
    )
    for add in (
        options.source,
        *([options.pilot] if analysis.of_people else []),
        options.formats,
        *([options.plot] if analysis.chart else []),
    ):
        add(found)
    return found


def _print(analysis: Analysis[Any, Any], result: Any, form: options.Form, plot: str | None) -> None:
    """Print a result: for people a table with what has to be known, for programs everything."""
    # Everything is made before anything is written or said.
    said = _text(analysis, result) if form.is_text else as_form(result, form)
    if form.parquet is not None:
        write(form.parquet, to_parquet(result))
    if plot is not None and analysis.chart is not None:
        draw(analysis.chart(result), plot)
    click.echo(said)


def _text(analysis: Analysis[Any, Any], result: Any) -> str:
    grid = analysis.grid(result)
    return "\n".join(
        [
            of_reports(result),
            *of_group(result),
            *analysis.notices(result),
            table(grid.header, grid.rows),
            *analysis.reading(result),
        ]
    )


#: The command of every analysis, by its name.
COMMANDS = {name: command(analysis) for name, analysis in ANALYSES.items()}
