"""``halftruth itemsets``, ``rules`` and ``table``: results from a database or a collector."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, TypeVar, get_args

import click
from halftruth_client import Analyst
from halftruth_shared import ParameterError, Survey
from halftruth_shared.messages import (
    ItemsetsQuery,
    ItemsetsResult,
    MeasuresQuery,
    MeasuresResult,
    RulesQuery,
    RulesResult,
    Selection,
    TableQuery,
    TableResult,
    Target,
)

from .. import results
from ..estimate import Counts
from ..store import Store
from . import options
from .output import (
    Format,
    between,
    format_options,
    percent,
    plain,
    plain_between,
    print_result,
    ratios,
    words,
)

Q = TypeVar("Q", ItemsetsQuery, RulesQuery, TableQuery, MeasuresQuery)
R = TypeVar("R", ItemsetsResult, RulesResult, TableResult, MeasuresResult)


@dataclass(frozen=True)
class _Source:
    """A survey at the collector of an address, or in a database."""

    survey: str
    database: str
    url: str | None
    token: str | None

    def result(
        self,
        there: Callable[[Analyst], R],
        here: Callable[[Survey, Counts, datetime, Q], R],
        query: Q,
    ) -> R:
        """Ask the collector, or compute from the counts."""
        if self.url is None:
            with Store(self.database) as store:
                stored, counts, as_of = store.reports.counts(self.survey)
            return here(stored.survey(), counts, as_of, query)
        if self.token is None:
            raise ParameterError(
                "--token: expected an analyst's token with --url, or HALFTRUTH_TOKEN",
                field="token",
            )
        return there(Analyst(self.url, self.token))


def _source(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where the counts come from: a database here, or a collector elsewhere."""

    @wraps(command)
    def with_source(
        *, survey: str, database: str, url: str | None, token: str | None, **asked: Any
    ) -> Any:
        return command(source=_Source(survey, database, url, token), **asked)

    with_token = click.option(
        "--token", envvar="HALFTRUTH_TOKEN", help="Analyst's token, with --url."
    )(with_source)
    with_url = click.option(
        "--url", envvar="HALFTRUTH_URL", help="Address of a collector, instead of --database."
    )(with_token)
    return options.database(click.argument("survey")(with_url))


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


@click.command()
@_source
@_mining
@_bounds
@format_options
def itemsets(source: _Source, form: Format, **asked: Any) -> None:
    """Frequent itemsets of SURVEY, each with its bounds."""
    query = ItemsetsQuery(**asked)
    result = source.result(
        lambda analyst: analyst.itemsets(source.survey, **asked),
        results.itemsets_result,
        query,
    )
    print_result(
        result,
        form,
        ["itemset", "support", f"{query.confidence:.0%} interval", "decision"],
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
    if form is Format.TEXT:
        for precision in result.precision:
            click.echo(f"length {precision.length}: {precision.verdict}")


@click.command()
@_source
@_mining
@click.option("--min-confidence", type=float, required=True, help="Least confidence, such as 0.8.")
@_bounds
@format_options
def rules(source: _Source, form: Format, **asked: Any) -> None:
    """Association rules of SURVEY, each with bounds on support and confidence."""
    query = RulesQuery(**asked)
    result = source.result(
        lambda analyst: analyst.rules(source.survey, **asked),
        results.rules_result,
        query,
    )
    print_result(
        result,
        form,
        [
            "antecedent",
            "consequent",
            "support",
            f"{query.confidence:.0%} interval",
            "confidence",
            f"{query.confidence:.0%} Chebyshev interval",
            "Fieller set",
        ],
        [
            [
                words(rule.antecedent),
                words(rule.consequent),
                percent(rule.support),
                between(rule.support_interval),
                percent(rule.confidence),
                between(rule.confidence_interval),
                ratios(rule.confidence_fieller),
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
    source: _Source,
    form: Format,
    attributes: str,
    **asked: Any,
) -> None:
    """Reconstructed table of some attributes of SURVEY, each cell with its bounds."""
    names = _names(attributes)
    query = TableQuery(attributes=names, **asked)
    result = source.result(
        lambda analyst: analyst.table(source.survey, names, **asked),
        results.table_result,
        query,
    )
    print_result(
        result,
        form,
        [*names, "support", f"{query.confidence:.0%} interval"],
        [
            [*cell.values.values(), percent(cell.support), between(cell.interval)]
            for cell in result.cells
        ],
    )


@click.command()
@_source
@click.option("--attributes", required=True, help="Two or more names with commas between them.")
@click.option(
    "--present",
    multiple=True,
    metavar="ATTRIBUTE=CATEGORY",
    help="Category that counts as presence; once for each attribute.",
)
@_bounds
@format_options
def measures(
    source: _Source,
    form: Format,
    attributes: str,
    present: tuple[str, ...],
    **asked: Any,
) -> None:
    """Association measures of some attributes of SURVEY, each with its bounds."""
    names = _names(attributes)
    pairs = dict(_pair(text) for text in present)
    query = MeasuresQuery(attributes=names, present=pairs, **asked)
    result = source.result(
        lambda analyst: analyst.measures(source.survey, names, present=pairs, **asked),
        results.measures_result,
        query,
    )
    print_result(
        result,
        form,
        [
            "measure",
            "value, or why there is none",
            f"{query.confidence:.0%} interval",
            "Chebyshev interval",
        ],
        [
            [
                measure.name,
                measure.undefined or plain(measure.value),
                plain_between(measure.interval),
                plain_between(measure.chebyshev_interval),
            ]
            for measure in result.measures
        ],
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _pair(text: str) -> tuple[str, str]:
    name, equals, category = text.partition("=")
    if not equals:
        raise ParameterError("--present: expected ATTRIBUTE=CATEGORY", field="present")
    return name, category
