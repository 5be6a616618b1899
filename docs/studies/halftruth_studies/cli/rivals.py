"""``halftruth study rivals``: comparison of earlier schemes and halftruth on records."""

from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any

import click
from halftruth_collector.cli import options
from halftruth_collector.cli.output import show, table
from halftruth_shared.rational import parse_rational
from halftruth_shared.results.wording import UNDEFINED, number, percent, value

from ..schemes.candidates import try_schemes
from ..schemes.charts import RIVAL_CHARTS
from ..schemes.experiment import Records
from ..schemes.results import RivalsResult
from .microdata import read_microdata


@click.command()
@click.argument("records", type=click.File("r", encoding="utf-8-sig"), required=False)
@click.option("--count", metavar="NAME", help="Column with the number of people of a line.")
@click.option("--gamma", default="19", show_default=True, help="Amplification of every scheme.")
@click.option(
    "--min-support",
    type=float,
    default=0.02,
    show_default=True,
    help="Least support of a frequent itemset.",
)
@click.option("--max-length", type=int, help="Longest itemsets; usually 6.")
@click.option(
    "--levels/--no-levels",
    default=True,
    show_default=True,
    help="Find an itemset only if all itemsets within it are found, as Apriori does.",
)
@click.option(
    "--surveys",
    type=click.IntRange(1),
    metavar="NUMBER",
    default=5,
    show_default=True,
    help="How many surveys are simulated with each scheme.",
)
@click.option(
    "--measure",
    type=click.Choice(list(RIVAL_CHARTS)),
    metavar="MEASURE",
    default="support-error",
    show_default=True,
    help=f"What --plot draws, one of: {', '.join(RIVAL_CHARTS)}.",
)
@options.plot
@options.formats
def rivals(
    records: IO[str] | None,
    count: str | None,
    gamma: str,
    min_support: float,
    max_length: int | None,
    levels: bool,
    surveys: int,
    measure: str,
    plot: str | None,
    **given: Any,
) -> None:
    """Compare MASK, EMASK and cut-and-paste with halftruth.

    RECORDS is a CSV file of true records, which are not sent anywhere; each column is a question
    and its values are the categories. By default, the records are the 48 842 people of CENSUS. All
    schemes have the same amplification, or the largest possible one below it.
    """
    form = options.pop_output_format(given)
    if records is None:
        # Import here, since no other command needs it.
        from halftruth_collector.demo.census import SCHEMA, census_counts

        schema, truth = SCHEMA, census_counts()
    else:
        schema, truth = read_microdata(records, count=count)
    asked = replace(Records.of(schema, truth, min_support, max_length), levels=levels)
    result = try_schemes(asked, parse_rational(gamma, "gamma"), surveys)
    show(result, form, _lines, RIVAL_CHARTS[measure], plot)


def _lines(result: RivalsResult) -> Iterator[str]:
    yield (
        f"{number(result.records)} records, amplification {number(result.gamma)}; frequent from a"
        f" support of {percent(result.min_support)} on; mean of {result.surveys} simulated surveys"
    )
    yield table(
        [
            "scheme",
            "amplification",
            "length",
            "frequent",
            "found",
            "support error",
            "false negatives",
            "false positives",
            "error of all supports",
            "condition number",
        ],
        [
            [
                scheme.scheme,
                value(scheme.amplification),
                errors.length,
                errors.frequent,
                number(errors.found, 1),
                percent(errors.support_error, 1),
                percent(errors.false_negatives, 1),
                percent(errors.false_positives, 1),
                percent(errors.root_mean_square, 2),
                value(errors.condition_number),
            ]
            for scheme in result.schemes
            for errors in scheme.lengths
        ],
    )
    yield (
        "support error: of found frequent itemsets, relative to their supports; error of all"
        f" supports: root mean square; {UNDEFINED}: nothing found, or nothing told of this length"
    )
    for reason in result.left_out:
        yield f"left out: {reason}"
    if result.randomized:
        length = min(4, len(result.randomized[0].errors.lengths))
        yield (
            "\nrandomized gamma-diagonal by α: posterior of a property with a prior of"
            f" {percent(result.randomized[0].prior)} for someone who knows a client's matrix, and"
            f" errors of itemsets of length {length}"
        )
        yield table(
            ["α", "posterior from", "to", "support error", "error of all supports"],
            [
                [
                    value(point.alpha),
                    percent(point.lower, 1),
                    percent(point.upper, 1),
                    percent(point.errors.lengths[length - 1].support_error, 1),
                    percent(point.errors.lengths[length - 1].root_mean_square, 2),
                ]
                for point in result.randomized
            ],
        )
