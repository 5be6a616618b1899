"""``halftruth table``, ``measures`` and ``partial-correlation``."""

from typing import Any

import click
from halftruth_shared.messages import AssociationsQuery, MeasuresQuery, PartialQuery, TableQuery

from .. import results
from ..charts import associations_chart, measures_chart, table_chart
from ..presentation import association_rows, measure_rows, table_rows
from . import sources
from .output import Format, draw, format_options, plot_option, print_result
from .sources import Source


@click.command()
@sources.source
@sources.attributes
@sources.estimate("moment")
@sources.confidence
@sources.target
@format_options
@plot_option
def table(
    source: Source, form: Format, plot: str | None, attributes: list[str], **asked: Any
) -> None:
    """Reconstructed table of some attributes of SURVEY, each cell with its bounds."""
    query = TableQuery(attributes=attributes, **asked)
    result = source.result(
        lambda analyst: analyst.table(source.survey, attributes, **asked),
        results.table_result,
        query,
    )
    if plot is not None:
        draw(table_chart(result), plot)
    print_result(result, form, *table_rows(result))
    if form is Format.TEXT and query.estimate != "moment":
        click.echo("intervals are those of the moment estimate")


@click.command()
@sources.source
@sources.attributes
@sources.present
@sources.measure_names
@sources.confidence
@sources.target
@format_options
@plot_option
def measures(
    source: Source, form: Format, plot: str | None, attributes: list[str], **asked: Any
) -> None:
    """Association measures of some attributes of SURVEY, each with its bounds."""
    query = MeasuresQuery(attributes=attributes, **asked)
    result = source.result(
        lambda analyst: analyst.measures(source.survey, attributes, **asked),
        results.measures_result,
        query,
    )
    if plot is not None:
        draw(measures_chart(result), plot)
    print_result(result, form, *measure_rows(result.measures, query.confidence))


@click.command()
@sources.source
@click.option(
    "--attributes",
    default=None,
    callback=lambda *given: None if given[2] is None else sources.names(given[2]),
    help="With commas; all of them by default.",
)
@sources.confidence
@sources.target
@format_options
@plot_option
def associations(source: Source, form: Format, plot: str | None, **asked: Any) -> None:
    """How much each attribute of SURVEY tells of each other one (concentration τ)."""
    query = AssociationsQuery(**asked)
    result = source.result(
        lambda analyst: analyst.associations(source.survey, **asked),
        results.associations_result,
        query,
    )
    if plot is not None:
        draw(associations_chart(result), plot)
    print_result(result, form, *association_rows(result))


@click.command("partial-correlation")
@sources.source
@sources.attributes
@click.option(
    "--given",
    required=True,
    callback=lambda *given: sources.names(given[2]),
    help="Attributes that are held fixed, with commas.",
)
@sources.present
@sources.confidence
@sources.target
@format_options
def partial_correlation(
    source: Source, form: Format, attributes: list[str], given: list[str], **asked: Any
) -> None:
    """Correlation of two attributes of SURVEY given others, of the answers and of the reports."""
    query = PartialQuery(attributes=attributes, given=given, **asked)
    result = source.result(
        lambda analyst: analyst.partial_correlation(source.survey, attributes, given, **asked),
        results.partial_result,
        query,
    )
    header, rows = measure_rows(
        [result.reconstructed, result.randomized.estimate], query.confidence
    )
    named = [[of, *row[1:]] for of, row in zip(("answers", "reports"), rows, strict=True)]
    print_result(result, form, ["of", *header[1:]], named)
    if form is Format.TEXT:
        click.echo(f"what the reports alone say of the answers: {result.randomized.statement}")
