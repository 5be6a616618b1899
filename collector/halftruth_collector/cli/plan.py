"""``halftruth plan``: predict margins of error before field work."""

from collections.abc import Iterator
from typing import Any

import click
from halftruth_shared import read_survey
from halftruth_shared.analyses.plan import PlanQuery, PlanResult
from halftruth_shared.analyses.reading import fields, read
from halftruth_shared.results.wording import number

from ..charts.planning import plan_chart
from ..estimation.planning.planner import plan as make_plan
from ..estimation.planning.proposals import best_design
from ..estimation.planning.wording import (
    design_notes,
    design_table,
    footnotes,
    headline,
    lines_for,
    mechanism_notes,
    mechanism_table,
    planned_table,
    promise_notes,
    promise_table,
)
from . import options
from .output import computing, show, table
from .records import Pilot


def _plan(
    survey_file: str, plot: str | None, pilot: str | None, processes: int, **given: Any
) -> None:
    form = options.pop_output_format(given)
    query = read(PlanQuery, options.query_texts(given))
    survey = read_survey(survey_file)
    people = None if pilot is None else Pilot(pilot, survey.schema)
    with computing("planning"), options.executor(processes, "mechanisms") as map_pieces:
        result = make_plan(survey, query, map_pieces, people)
    show(result, form, _lines, plan_chart, plot)


plan = click.Command(
    "plan",
    callback=_plan,
    params=[
        click.Argument(["survey_file"], metavar="SURVEY", type=click.Path()),
        *options.make_query_options(fields(PlanQuery), {}),
    ],
    help="Predict the margins of error of SURVEY (a TOML file)."
    "\n\nThe plan also compares the survey with other mechanisms and designs, and says which"
    " differences it can detect.",
)
options.processes(options.plot(options.formats(options.pilot(plan))))


def _lines(result: PlanResult) -> Iterator[str]:
    gamma = "no amplification" if result.gamma is None else f"γ = {number(result.gamma)}"
    own = next(each for each in result.mechanisms if each.own)
    yield f"Plan · {number(result.query.respondents)} respondents · {own.kind}, {gamma}"
    if result.designs:
        yield from ("", *_differences(result), "")
    yield from (headline(result), "")
    yield table(*planned_table(result))
    yield from footnotes(result)
    if len(result.mechanisms) > 1:
        yield from ("", table(*mechanism_table(result)))
        yield f"Most precise is {result.reason}."
        yield from mechanism_notes(result)
    if result.promises:
        yield from ("", "Promise of the record, or of each answer:", table(*promise_table(result)))
        yield from promise_notes()
    if result.advice and not result.designs:
        yield from ("", *result.advice)
    yield from ("", *result.protection)


def _differences(result: PlanResult) -> Iterator[str]:
    """Yield what is said of the differences that are to be detected."""
    yield from result.advice
    yield from ("", "Smallest differences that are detected:", table(*design_table(result)))
    yield from design_notes(result)
    best = best_design(result.goals, result.designs)
    if best.lines:
        yield from ("", lines_for(best), "", best.lines.strip())
