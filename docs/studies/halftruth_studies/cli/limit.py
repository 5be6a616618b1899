"""``halftruth study limit``: the best randomized response under a limit of linking risk."""

import json
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

import click
import numpy as np
from halftruth_collector.cli import options
from halftruth_collector.cli.output import write
from halftruth_collector.cli.records import read_pilot
from halftruth_collector.disclosure.linking import linking_risk, shape_of
from halftruth_shared import (
    ParameterError,
    Protection,
    RandomizedResponse,
    Survey,
    read_survey,
)
from halftruth_shared.analyses.base import AttributeName
from halftruth_shared.analyses.reading import fields, read
from halftruth_shared.protocol.base import Request, prepare
from halftruth_shared.results.wording import percent, value
from msgspec import Meta

from ..limits import best_under_limit, error_of_tables, factors_of


class LimitQuery(Request, frozen=True, kw_only=True):
    """Limit of the risk, and the table and attributes that it is about."""

    risk: Annotated[float, Meta(gt=0, lt=1, description="Nobody's linking risk may be above this.")]
    pilot: Annotated[str, Meta(description="CSV file of people's true answers. It stays here.")]
    quasi: Annotated[
        list[AttributeName], Meta(min_length=1, description="What others may know of a person.")
    ]
    sensitive: Annotated[AttributeName, Meta(description="What they do not.")]
    whole_reports: Annotated[
        bool, Meta(description="Limit the risk of reports that are linked at once.")
    ] = False
    tables: Annotated[
        list[list[AttributeName]],
        Meta(
            description="A table whose error is to be small; by default a norm of all matrices,"
            " whatever the people."
        ),
    ] = []  # noqa: RUF012 (msgspec copies it)
    answer_gamma: (
        Annotated[float, Meta(gt=1, description="Largest amplification of a single answer.")] | None
    ) = None


prepare(LimitQuery)


def _limit(survey_file: str, out: str | None, **given: Any) -> None:
    query = read(LimitQuery, options.query_texts(given))
    survey = read_survey(survey_file)
    mechanism, sentences = meet(survey, query)
    planned = Survey(survey.id, survey.title, survey.schema, mechanism, survey.description)
    lines = as_toml(mechanism)
    if out is not None:
        write(out, lines.encode(), "out")
    click.echo("\n".join([*sentences, lines, *Protection.of(planned).sentences()]))


limit = click.Command(
    "limit",
    callback=_limit,
    params=[
        click.Argument(["survey_file"], metavar="SURVEY", type=click.Path()),
        *options.make_query_options(fields(LimitQuery), {"tables": "table"}),
        click.Option(
            ["--out"],
            type=click.Path(dir_okay=False),
            metavar="FILE",
            help="Write the lines for the survey file here, too.",
        ),
    ],
    help="Find the randomized response of least error under which the linking risk of nobody in a"
    " pilot is above a limit, as lines for SURVEY (a TOML file).",
)


def meet(survey: Survey, query: LimitQuery) -> tuple[RandomizedResponse, list[str]]:
    """Return the mechanism with the best parameters under a limit, and notes about them.

    Attributes with ``sensitive = false`` are sent unperturbed, all others of the risk perturbed.

    Raises
    ------
    ParameterError
        If no parameters meet the limit, or the survey cannot have them.
    """
    names = [*query.quasi, query.sensitive]
    shape = shape_of(survey, query.quasi, query.sensitive)
    attributes = [survey.schema.attributes[j] for j in survey.schema.positions(names)]
    table = read_pilot(query.pilot, survey.schema, names)
    gamma, sizes = query.answer_gamma, np.array(shape)
    loss = None
    if query.tables:
        loss = error_of_tables(table, [_axes(names, chosen) for chosen in query.tables])
    found = best_under_limit(
        table,
        query.risk,
        [axis for axis, attribute in enumerate(attributes) if attribute.sensitive],
        whole_reports=query.whole_reports,
        loss=loss,
        most=1.0 if gamma is None else gamma / (gamma + sizes - 1),
    )
    always = [a.name for a, p in zip(attributes, found.keep, strict=True) if p == 1 and a.sensitive]
    if always:
        raise ParameterError(
            f"answer_gamma: best would be to send '{always[0]}' as it is, which a survey accepts"
            " only with sensitive = false; expected a largest amplification of single answers",
            field="answer_gamma",
        )
    keep = {**_others(survey, names), **dict(zip(names, found.keep, strict=True))}
    mechanism = RandomizedResponse({name: keep[name] for name in survey.schema.names})
    risk = linking_risk(table, factors_of([float(p) for p in found.keep], shape))
    said = [
        f"the largest risk is {percent(found.maximum, 2)}, of at most {percent(query.risk)}"
        f"{' with whole reports linked' * query.whole_reports}; loss {value(found.loss, None)}",
        "the risk is not what somebody believes: the table alone tells up to"
        f" {percent(float(np.nanmax(risk.share)), 1)} of an answer, and a report up to"
        f" {percent(float(np.nanmax(risk.sensitive)), 1)} on average to those who know whose it is",
    ]
    return mechanism, said


def as_toml(mechanism: RandomizedResponse) -> str:
    """Return the lines of a survey file with these parameters."""
    keep = ", ".join(
        f'{json.dumps(name) if "." in name else name} = "{_decimal(p)}"'
        for name, p in mechanism.keep.items()
    )
    return f'[mechanism]\nkind = "{mechanism.kind}"\nkeep = {{ {keep} }}\n'


def _axes(names: list[str], chosen: list[str]) -> list[int]:
    for name in chosen:
        if name not in names:
            raise ParameterError(
                f"tables: '{name}' is none of the attributes of the risk; expected some of:"
                f" {', '.join(names)}",
                field="tables",
            )
    return [names.index(name) for name in chosen]


def _others(survey: Survey, names: list[str]) -> Mapping[str, Fraction]:
    """Return the survey's parameters of the attributes that are not part of the risk."""
    others = [name for name in survey.schema.names if name not in names]
    if not others:
        return {}
    if not isinstance(survey.mechanism, RandomizedResponse):
        raise ParameterError(
            f"risk: it says nothing of '{others[0]}'; expected kind = \"randomized-response\" with"
            " its keep in the survey file, or all attributes in --quasi and --sensitive",
            field="risk",
        )
    return survey.mechanism.keep


def _decimal(p: Fraction) -> str:
    """Format an exact decimal, or a quotient if there is none."""
    exact = Decimal(p.numerator) / Decimal(p.denominator)
    return f"{exact:f}" if Fraction(exact) == p else str(p)
