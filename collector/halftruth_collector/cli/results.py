"""``halftruth itemsets``, ``rules`` and ``table``: results from a database or a collector."""

from collections.abc import Callable
from typing import Any, get_args

import click
from halftruth_client import Analyst
from halftruth_shared import ParameterError
from halftruth_shared.messages import (
    ItemsetsResult,
    RulesResult,
    Selection,
    TableResult,
    Target,
)

from .. import results
from ..store import Store
from . import options
from .output import (
    Format,
    between,
    chosen_format,
    ends,
    format_options,
    percent,
    print_csv,
    print_json,
    print_table,
    words,
)


def _source(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where the counts come from: a database here, or a collector elsewhere."""
    command = click.option(
        "--token", envvar="HALFTRUTH_TOKEN", help="Analyst's token, with --url."
    )(command)
    command = click.option(
        "--url", envvar="HALFTRUTH_URL", help="Address of a collector, instead of --database."
    )(command)
    return options.database(click.argument("survey")(command))


def _bounds(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option(
        "--target",
        type=click.Choice(get_args(Target)),
        default="population",
        show_default=True,
        help="Whether the respondents are a sample of those spoken of, or all of them.",
    )(command)
    return click.option(
        "--confidence", type=float, default=0.95, show_default=True, help="Of each interval."
    )(command)


def _mining(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option(
        "--select",
        type=click.Choice(get_args(Selection)),
        default="estimate",
        show_default=True,
        help="What must reach --min-support.",
    )(command)
    command = click.option("--max-length", type=int, help="Longest itemsets.")(command)
    return click.option(
        "--min-support", type=float, required=True, help="Threshold, such as 0.02."
    )(command)


def _analyst(url: str, token: str | None) -> Analyst:
    if token is None:
        raise ParameterError(
            "--token: expected an analyst's token with --url, or HALFTRUTH_TOKEN", field="token"
        )
    return Analyst(url, token)


@click.command()
@_source
@_mining
@_bounds
@format_options
def itemsets(
    survey: str,
    database: str,
    url: str | None,
    token: str | None,
    as_json: bool,
    as_csv: bool,
    **parameters: Any,
) -> None:
    """Frequent itemsets of SURVEY, each with its bounds."""
    form = chosen_format(as_json=as_json, as_csv=as_csv)
    if url is not None:
        result: ItemsetsResult = _analyst(url, token).itemsets(survey, **parameters)
    else:
        stored, counts, as_of = Store(database).reports.counts(survey)
        result = results.itemsets_result(stored.survey(), counts, as_of, **parameters)
    if form is Format.JSON:
        print_json(result)
    elif form is Format.CSV:
        print_csv(
            ["itemset", "length", "support", "standard_error", "lower", "upper", "decision"],
            [
                [
                    words(itemset.items),
                    len(itemset.items),
                    itemset.support,
                    itemset.standard_error,
                    *ends(itemset.interval),
                    itemset.decision,
                ]
                for itemset in result.itemsets
            ],
        )
    else:
        click.echo(f"{result.reports} reports")
        print_table(
            ["itemset", "support", f"{result.confidence:.0%} interval", "decision"],
            [
                [
                    words(itemset.items),
                    percent(itemset.support),
                    between(itemset.interval),
                    itemset.decision,
                ]
                for itemset in result.itemsets
            ],
        )
        for precision in result.precision:
            click.echo(f"length {precision.length}: {precision.verdict}")


@click.command()
@_source
@_mining
@click.option("--min-confidence", type=float, required=True, help="Least confidence, such as 0.8.")
@_bounds
@format_options
def rules(
    survey: str,
    database: str,
    url: str | None,
    token: str | None,
    as_json: bool,
    as_csv: bool,
    **parameters: Any,
) -> None:
    """Association rules of SURVEY, each with bounds on support and confidence."""
    form = chosen_format(as_json=as_json, as_csv=as_csv)
    if url is not None:
        result: RulesResult = _analyst(url, token).rules(survey, **parameters)
    else:
        stored, counts, as_of = Store(database).reports.counts(survey)
        result = results.rules_result(stored.survey(), counts, as_of, **parameters)
    if form is Format.JSON:
        print_json(result)
    elif form is Format.CSV:
        print_csv(
            [
                "antecedent",
                "consequent",
                "support",
                "support_standard_error",
                "support_lower",
                "support_upper",
                "confidence",
                "confidence_mean",
                "confidence_standard_error",
                "confidence_lower",
                "confidence_upper",
            ],
            [
                [
                    words(rule.antecedent),
                    words(rule.consequent),
                    rule.support,
                    rule.support_standard_error,
                    *ends(rule.support_interval),
                    rule.confidence,
                    rule.confidence_mean,
                    rule.confidence_standard_error,
                    *ends(rule.confidence_interval),
                ]
                for rule in result.rules
            ],
        )
    else:
        click.echo(f"{result.reports} reports")
        print_table(
            [
                "antecedent",
                "consequent",
                "support",
                f"{result.confidence:.0%} interval",
                "confidence",
                f"{result.confidence:.0%} Chebyshev interval",
            ],
            [
                [
                    words(rule.antecedent),
                    words(rule.consequent),
                    percent(rule.support),
                    between(rule.support_interval),
                    percent(rule.confidence),
                    between(rule.confidence_interval),
                ]
                for rule in result.rules
            ],
        )


@click.command()
@_source
@click.option("--attributes", required=True, help="Names with commas between them.")
@_bounds
@format_options
def table(
    survey: str,
    database: str,
    url: str | None,
    token: str | None,
    attributes: str,
    as_json: bool,
    as_csv: bool,
    **parameters: Any,
) -> None:
    """Reconstructed table of some attributes of SURVEY, each cell with its bounds."""
    form = chosen_format(as_json=as_json, as_csv=as_csv)
    names = [name.strip() for name in attributes.split(",") if name.strip()]
    if url is not None:
        result: TableResult = _analyst(url, token).table(survey, names, **parameters)
    else:
        stored, counts, as_of = Store(database).reports.counts(survey)
        result = results.table_result(
            stored.survey(), counts, as_of, attributes=names, **parameters
        )
    if form is Format.JSON:
        print_json(result)
    elif form is Format.CSV:
        print_csv(
            [*result.attributes, "support", "standard_error", "lower", "upper"],
            [
                [*cell.values.values(), cell.support, cell.standard_error, *ends(cell.interval)]
                for cell in result.cells
            ],
        )
    else:
        click.echo(f"{result.reports} reports")
        print_table(
            [*result.attributes, "support", f"{result.confidence:.0%} interval"],
            [
                [*cell.values.values(), percent(cell.support), between(cell.interval)]
                for cell in result.cells
            ],
        )
