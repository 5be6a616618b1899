"""``halftruth itemsets``, ``rules`` and ``rule``."""

from collections.abc import Callable
from typing import Any, get_args

import click
from halftruth_shared.messages import (
    ItemsetsQuery,
    RuleQuery,
    RulesQuery,
    Selection,
)

from .. import results
from ..charts import itemsets_chart
from ..presentation import itemset_rows, measure_rows, rule_header, rule_row, rule_rows
from . import sources
from .output import Format, draw, format_options, plot_option, print_result, print_table
from .sources import Source


def _mining(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option(
        "--select",
        type=click.Choice(get_args(Selection)),
        default="estimate",
        show_default=True,
        help="What must reach --min-support; the last two hold for all itemsets at once.",
    )(command)
    command = click.option("--max-length", type=int, help="Longest itemsets.")(command)
    return click.option(
        "--min-support", type=float, required=True, help="Threshold, such as 0.02."
    )(command)


@click.command()
@sources.source
@_mining
@sources.estimate("moment")
@sources.confidence
@sources.target
@format_options
@plot_option
def itemsets(source: Source, form: Format, plot: str | None, **asked: Any) -> None:
    """Frequent itemsets of SURVEY, each with its bounds."""
    query = ItemsetsQuery(**asked)
    result = source.result(
        lambda analyst: analyst.itemsets(source.survey, **asked), results.itemsets_result, query
    )
    if plot is not None:
        draw(itemsets_chart(result), plot)
    print_result(result, form, *itemset_rows(result))
    if form is not Format.TEXT:
        return
    if query.estimate != "moment":
        click.echo("intervals and decisions are those of the moment estimate")
    for precision in result.precision:
        click.echo(f"length {precision.length}: {precision.verdict}")
    if query.select in ("bonferroni", "holm"):
        click.echo(
            f"the chance that any itemset called frequent here is not is at most"
            f" {1 - query.confidence:.3g}, among {result.candidates} that could have been"
        )


@click.command()
@sources.source
@_mining
@click.option("--min-confidence", type=float, required=True, help="Least confidence, such as 0.8.")
@click.option("--min-lift", type=float, help="Least lift, such as 1.2.")
@click.option(
    "--measures",
    default="",
    callback=lambda *given: sources.names(given[2]),
    help="Measures of each rule with commas between them, such as lift,conviction,leverage.",
)
@click.option(
    "--sort",
    default="confidence",
    show_default=True,
    help="confidence, support or a measure; the largest first.",
)
@click.option("--limit", type=int, help="Most rules to print.")
@sources.confidence
@sources.target
@format_options
def rules(source: Source, form: Format, **asked: Any) -> None:
    """Association rules of SURVEY, each with bounds on support and confidence."""
    query = RulesQuery(**asked)
    result = source.result(
        lambda analyst: analyst.rules(source.survey, **asked), results.rules_result, query
    )
    print_result(result, form, *rule_rows(result))


@click.command()
@sources.source
@click.option(
    "--antecedent",
    "--if",
    multiple=True,
    required=True,
    metavar="ATTRIBUTE=CATEGORY",
    callback=lambda *given: sources.pairs(given[2], "antecedent"),
    help="An item of the antecedent.",
)
@click.option(
    "--consequent",
    "--then",
    multiple=True,
    required=True,
    metavar="ATTRIBUTE=CATEGORY",
    callback=lambda *given: sources.pairs(given[2], "consequent"),
    help="An item of the consequent.",
)
@click.option(
    "--measures",
    default=None,
    callback=lambda *given: None if given[2] is None else sources.names(given[2]),
    help="Measures with commas between them; all by default.",
)
@sources.confidence
@sources.target
@format_options
def rule(source: Source, form: Format, **asked: Any) -> None:
    """One rule of SURVEY, whatever its support, with all its measures."""
    query = RuleQuery(**asked)
    result = source.result(
        lambda analyst: analyst.rule(source.survey, **asked), results.rule_result, query
    )
    print_result(result, form, rule_header(query.confidence), [rule_row(result.rule)])
    if form is Format.TEXT and result.rule.measures:
        click.echo()
        print_table(*measure_rows(result.rule.measures, query.confidence))
