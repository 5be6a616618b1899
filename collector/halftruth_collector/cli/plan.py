"""``halftruth plan``: what a survey will tell, before any field work."""

from collections.abc import Iterator
from typing import Any

import click
from halftruth_shared import read_survey
from halftruth_shared.analyses.plan import PlanQuery, PlanResult
from halftruth_shared.analyses.reading import fields, read
from halftruth_shared.results.wording import half_width, number, percent, value

from ..charts.planning import plan_chart
from ..estimation.planning.planner import plan as make_plan
from ..estimation.planning.recommendation import expected_precision
from . import options
from .output import show, table


def _plan(survey_file: str, plot: str | None, **given: Any) -> None:
    form, working = options.form(given), options.executor(given, "mechanisms")
    query = read(PlanQuery, options.texts(given))
    survey = read_survey(survey_file)
    with working as map_pieces:
        result = make_plan(survey, query, map_pieces)
    show(result, form, _lines, plan_chart, plot)


plan = click.Command(
    "plan",
    callback=_plan,
    params=[
        click.Argument(["survey_file"], metavar="SURVEY", type=click.Path()),
        *options.of_query(fields(PlanQuery), {"lengths": "length"}),
    ],
    help="Predict margins of error of SURVEY (a TOML file), by mechanism and length of itemsets.",
)
options.processes(options.plot(options.formats(plan)))


def _lines(result: PlanResult) -> Iterator[str]:
    query = result.query
    gamma = "none, so no other mechanism is compared"
    if result.gamma is not None:
        gamma = number(result.gamma)
    yield (
        f"Plan · {number(query.respondents)} respondents ·"
        f" {percent(query.confidence)} intervals for the {query.target} · amplification {gamma}"
    )
    yield from expected_precision(result)
    yield f"Narrowest is {result.reason}."
    yield from (*result.advice, "")
    wanted = _wanted(query)
    rows = [
        [
            mechanism.kind + (" (the survey's)" if mechanism.own else ""),
            value(mechanism.answer_amplification, None),
            length.length,
            half_width(length.half_width),
            value(mechanism.times_bound, None),
            half_width(length.worst_half_width),
            "none" if length.smallest_support is None else percent(length.smallest_support, 2),
            *([length.respondents_needed] if wanted else []),
        ]
        for mechanism in result.mechanisms
        for length in mechanism.lengths
    ]
    rows += [
        [
            "information bound",
            "",
            bound.length,
            half_width(bound.half_width),
            "1",
            "",
            "",
            *([bound.respondents_needed] if wanted else []),
        ]
        for bound in result.bound
    ]
    yield table(
        [
            "mechanism",
            "amplification of one answer, others known",
            "length",
            "margin",
            "times the bound",
            "margin at worst",
            "detectable share (50 % power)",
            *wanted,
        ],
        rows,
    )
    yield (
        "Margin: half-width of the share of a combination of answers, for evenly spread answers, as"
        " a root mean square over all cells of all tables, and respondents for it. At worst: of"
        " every itemset and every population."
    )
    if result.bound:
        yield (
            "Information bound: no unbiased estimate at this amplification is more accurate at all"
            " these lengths at once; uneven answers may be known better."
        )
    for length in result.mechanisms[0].lengths:
        if length.examined < length.possible:
            yield (
                f"Length {length.length}: {length.examined} of {length.possible} sets of"
                " attributes were looked at."
            )
    yield from _sets(result)
    yield from _designs(result)
    yield from ("", *result.protection)


def _sets(result: PlanResult) -> Iterator[str]:
    """Each question, pair and triple that was asked about."""
    if not result.sets:
        return
    wanted = _wanted(result.query)
    yield ""
    yield table(
        ["attributes", "margin", *wanted],
        [
            [
                ", ".join(planned.attributes),
                half_width(planned.half_width),
                *([planned.respondents_needed] if wanted else []),
            ]
            for planned in result.sets
        ],
    )


def _designs(result: PlanResult) -> Iterator[str]:
    """Lengths of tables that the survey can be designed for, unbiased and by the model."""
    if not result.designs:
        return
    lengths = range(1, max(margin.length for d in result.designs for margin in d.unbiased) + 1)
    rows: list[list[object]] = []
    for design in result.designs:
        which = f"{design.max_length}{' (the survey)' * design.own}"
        for how, margins in (("unbiased", design.unbiased), ("model", design.model)):
            widths = {margin.length: half_width(margin.half_width) for margin in margins}
            factor = value(design.odds_ratio, None) if how == "model" else ""
            rows.append([which, how, *(widths.get(n, "") for n in lengths), factor])
    yield ""
    yield table(
        ["max_length", "estimate", *(f"length {n}" for n in lengths), "odds ratio within a factor"],
        rows,
    )
    yield "Model: one of all answers, which assumes no interaction of three or more of them."


def _wanted(query: PlanQuery) -> list[str]:
    """Head of the column of respondents for the margin asked about, if there is one."""
    return [] if query.half_width is None else [f"respondents for {half_width(query.half_width)}"]
