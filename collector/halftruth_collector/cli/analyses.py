"""A command of ``halftruth analyse`` for each analysis, derived from its query."""

from collections.abc import Iterator
from functools import partial
from inspect import cleandoc
from typing import Any

import click
from halftruth_shared import read_survey
from halftruth_shared.analyses.reading import read
from halftruth_shared.results.presentation import present

from ..analyses import ANALYSES, Analysis
from ..analyses.answering import answer_pilot
from . import options
from .output import computing, show, table
from .records import Pilot
from .sources import result_of


def command(analysis: Analysis[Any, Any]) -> click.Command:
    """Return the command of an analysis."""

    def run(survey: str, database: str, url: str | None, token: str | None, **given: Any) -> None:
        form = options.pop_output_format(given)
        plot, pilot = given.pop("plot", None), given.pop("pilot", None)
        texts = options.query_texts(given)
        if pilot is not None and analysis.from_pilot is not None:
            written = read_survey(survey)
            query = read(analysis.query, texts) if texts else analysis.start(written)
            with computing("counting"):
                found = answer_pilot(analysis, written, query, Pilot(pilot, written.schema))
            result = analysis.described(found)
        else:
            result = result_of(analysis, texts, survey, database, url, token)
        show(result, form, partial(_lines, analysis), analysis.chart, plot)

    made = click.Command(
        analysis.name,
        callback=run,
        params=[
            click.Argument(["survey"]),
            *options.make_query_options(analysis.fields, analysis.options),
        ],
        help=f"{cleandoc(analysis.query.__doc__ or '')}\n\nSURVEY is the id of a survey"
        + (", or with --pilot a TOML file." if analysis.from_pilot else ".")
        + " Without options, the result is what its page shows first.",
        # One line for each command, so that the list fits on a screen.
        short_help=analysis.summary.split(",")[0].rstrip(".") + ".",
    )
    for add in (
        options.source,
        *([options.pilot] if analysis.from_pilot else []),
        options.formats,
        *([options.plot] if analysis.pictured else []),
    ):
        add(made)
    return made


def _lines(analysis: Analysis[Any, Any], result: Any) -> Iterator[str]:
    """Yield the parts of a result in the order of its page."""
    shown = present(result, title=analysis.title)
    yield from filter(None, (shown.title, shown.headline, *shown.basis, *shown.warnings))
    yield from ("", table(shown.grid.header, shown.grid.rows)) if shown.grid.rows else ()
    for part in shown.parts[1:]:
        yield from ("", part.title, table(part.grid.header, part.grid.rows))
    yield from ("", *shown.notes) if shown.notes else ()


#: Commands of all analyses, by name.
COMMANDS = {str(each.name): each for each in map(command, ANALYSES.values())}
