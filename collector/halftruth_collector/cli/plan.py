"""``halftruth plan``: what a survey will tell, before any field work."""

from typing import Any

import click
from halftruth_shared import read_survey
from halftruth_shared.messages import PlanQuery

from ..charts import plan_chart
from ..planner import plan as make_plan
from ..presentation import percent, plain
from . import sources
from .output import Format, draw, format_options, plot_option, print_form, print_table


@click.command()
@click.argument("survey_file", metavar="SURVEY", type=click.Path())
@click.option("--respondents", type=int, required=True, help="How many reports are expected.")
@click.option(
    "--support",
    type=float,
    default=0.05,
    show_default=True,
    help="Support at which itemsets are looked at.",
)
@click.option(
    "--length",
    "lengths",
    type=int,
    multiple=True,
    help="A length of itemsets that matters; once for each. Up to three by default.",
)
@click.option("--half-width", type=float, help="Wanted half-width, such as 0.01.")
@sources.confidence
@sources.target
@format_options
@plot_option
def plan(
    survey_file: str, lengths: tuple[int, ...], form: Format, plot: str | None, **asked: Any
) -> None:
    """Foretell what SURVEY (a TOML file) will tell, by mechanism and length of itemsets."""
    query = PlanQuery(lengths=list(lengths) or None, **asked)
    result = make_plan(read_survey(survey_file), query)
    if plot is not None:
        draw(plan_chart(result), plot)
    if form is not Format.TEXT:
        print_form(result, form)
        return
    gamma = "none, so no other mechanism is compared"
    if result.gamma is not None:
        gamma = f"{result.gamma:.6g}"
    click.echo(
        f"{query.respondents} respondents; {query.confidence:.6g} intervals for the {query.target};"
        f" amplification {gamma}"
    )
    support = f"{100 * query.support:.6g}%"
    wanted = []
    if query.half_width is not None:
        wanted = [f"respondents for ±{100 * query.half_width:.6g}%"]
    print_table(
        [
            "mechanism",
            "one answer's amplification",
            "length",
            f"half-width at {support}",
            "worst half-width",
            "half of surveys tell from 0",
            *wanted,
        ],
        [
            [
                mechanism.kind + (" (the survey's)" if mechanism.own else ""),
                plain(mechanism.answer_amplification),
                length.length,
                f"±{percent(length.half_width)}"
                + (" (useless)" if length.half_width >= query.support else ""),
                f"±{percent(length.worst_half_width)}",
                "none" if length.smallest_support is None else percent(length.smallest_support),
                *([length.respondents_needed] if wanted else []),
            ]
            for mechanism in result.mechanisms
            for length in mechanism.lengths
        ],
    )
    click.echo(
        f"half-width: of the median itemset with a support of {support}, everybody else spread"
        " evenly; worst: of every itemset and every population"
    )
    for length in result.mechanisms[0].lengths:
        if length.examined < length.possible:
            click.echo(
                f"length {length.length}: {length.examined} of {length.possible} sets of"
                " attributes were looked at"
            )
    click.echo(result.reason)
