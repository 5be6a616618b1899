"""``halftruth randomized`` and ``loglinear``: what the reports say by themselves."""

from typing import Any

import click
from halftruth_shared.messages import LoglinearQuery, RandomizedQuery

from .. import results
from ..presentation import measure_rows, plain
from . import sources
from .output import Format, format_options, print_result
from .sources import Source


@click.command()
@sources.source
@sources.attributes
@sources.present
@sources.measure_names
@sources.confidence
@format_options
def randomized(source: Source, form: Format, attributes: list[str], **asked: Any) -> None:
    """Association measures of the reports of SURVEY, and what they say of the answers."""
    query = RandomizedQuery(attributes=attributes, **asked)
    result = source.result(
        lambda analyst: analyst.randomized(source.survey, attributes, **asked),
        results.randomized_result,
        query,
    )
    header, rows = measure_rows([m.estimate for m in result.measures], query.confidence)
    statements = [measure.statement for measure in result.measures]
    print_result(
        result,
        form,
        [*header[:3], "what holds of the answers"],
        [[*row[:3], statement] for row, statement in zip(rows, statements, strict=True)],
    )


@click.command()
@sources.source
@click.option(
    "--terms",
    "--term",
    multiple=True,
    required=True,
    metavar="ATTRIBUTES",
    callback=lambda *given: [sources.names(text) for text in given[2]],
    help="A highest-order term, attributes with commas; once for each term.",
)
@format_options
def loglinear(source: Source, form: Format, terms: list[list[str]]) -> None:
    """Test a hierarchical loglinear model on the reports of SURVEY.

    Single attributes as terms test their independence.
    """
    query = LoglinearQuery(terms=terms)
    result = source.result(
        lambda analyst: analyst.loglinear(source.survey, terms), results.loglinear_result, query
    )
    print_result(
        result,
        form,
        [*result.attributes, "reports", "fitted", "residual"],
        [
            [*cell.values.values(), cell.count, f"{cell.fitted:.1f}", plain(cell.residual)]
            for cell in result.cells
        ],
    )
    if form is Format.TEXT:
        freedom = result.degrees_of_freedom
        click.echo(
            f"chi-squared {result.chi_squared:.2f}, {freedom} df, p-value"
            f" {plain(result.chi_squared_p)}; G-squared {result.g_squared:.2f}, p-value"
            f" {plain(result.g_squared_p)}"
        )
        click.echo(result.statement)
