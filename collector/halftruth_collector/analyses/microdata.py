"""Weighted records, for programs that analyse surveys."""

import keyword
import re
from collections.abc import Iterator, Sequence

import numpy as np
from halftruth_shared import Attribute, ParameterError, Survey
from halftruth_shared.analyses.microdata import (
    MicrodataQuery,
    MicrodataResult,
    Variable,
    WeightedRow,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.wording import number

from ..estimation.calibration import known_margins
from ..estimation.model.records import raked, weighted_records
from .base import Analysis, Counted, Grid
from .sentences import listed, quoted

#: Rows that a page shows.
_SHOWN = 20

#: Names that Python or R do not take for a variable, or that records have already.
_RESERVED = {word.lower() for word in keyword.kwlist} | {"record", "weight"}
_RESERVED |= {"function", "inf", "na", "nan", "next", "null", "repeat"}


def compute(counted: Counted, query: MicrodataQuery) -> MicrodataResult:
    """Combinations of answers by a model of all of them, weighted to known margins if there are.

    Raises
    ------
    ParameterError, SchemaError
        If an attribute is unknown, or one with a margin is not among them.
    DomainTooLarge
        If the table of all questions is too large for a model.
    EstimateError
        If no reports tell of a pair, or no weights have these margins.
    """
    # It fits the model, and refuses what it cannot be about.
    schema, origin = counted.survey.schema, counted.origin()
    names = query.attributes or query.modelled or list(schema.names)
    attributes = [schema.attributes[j] for j in schema.positions(names)]
    margins, people = known_margins(schema, query.margins or {})
    missing = [m.attribute.name for m in margins if m.attribute.name not in names]
    if missing:
        raise ParameterError(
            f"margins: '{missing[0]}' is none of the attributes of these records", field="margins"
        )
    model = counted.model(query.interactions, query.modelled)
    total = float(counted.counts.reports if people is None else people)
    records = weighted_records(model, names, total, query.max_rows)
    if margins:
        axes = [names.index(margin.attribute.name) for margin in margins]
        records = raked(records, axes, margins, total)
    columns = (records.codes, records.weights, records.replicates)
    return MicrodataResult(
        **origin,
        query=query,
        variables=[*_variables(attributes)],
        sum_of_weights=total,
        scale=records.scale,
        interactions=max(map(len, model.terms)),
        converged=model.converged,
        drawn=records.drawn,
        records=[
            WeightedRow(codes=codes, weight=weight, replicates=replicates)
            for codes, weight, replicates in zip(*(c.tolist() for c in columns), strict=True)
        ],
    )


def _variables(attributes: Sequence[Attribute]) -> Iterator[Variable]:
    used: set[str] = set()
    for attribute in attributes:
        number_of = attribute.number
        yield Variable(
            name=_variable_name(attribute.name, used),
            attribute=attribute.name,
            label=attribute.label_in(),
            categories=list(attribute.categories),
            labels=list(attribute.answers_in()),
            missing=list(attribute.missing),
            midpoints=None if number_of is None else [float(m) for m in number_of.midpoints],
        )


def _variable_name(name: str, used: set[str]) -> str:
    """Return a name that R and Python take for a variable, unlike those used by others."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    if plain.lower() in _RESERVED or re.fullmatch(r"rep\d+", plain.lower()):
        plain = f"{plain}_"
    unused, copy = plain, 2
    while unused.lower() in used:
        unused, copy = f"{plain}_{copy}", copy + 1
    used.add(unused.lower())
    return unused


def grid(result: MicrodataResult) -> Grid:
    """The rows with the largest weights."""
    largest = np.argsort([-row.weight for row in result.records], kind="stable")[:_SHOWN]
    return Grid(
        [*(variable.attribute for variable in result.variables), "weight"],
        [
            [
                *(
                    variable.labels[code]
                    for variable, code in zip(
                        result.variables, result.records[i].codes, strict=True
                    )
                ),
                number(result.records[i].weight, 2),
            ]
            for i in largest.tolist()
        ],
    )


def decide(result: MicrodataResult) -> tuple[list[Test], list[Claim]]:
    """The number of rows."""
    return [], [Claim(kind="counted", count=len(result.records))]


def state(result: MicrodataResult, claim: Claim) -> str:
    """State the numbers of rows, and of the people that they stand for."""
    return (
        f"{number(claim.count or 0, 0)} combinations of answers stand for"
        f" {number(result.sum_of_weights, 0)} people, with {result.replicates} replicate weights."
    )


def warnings(_: MicrodataResult) -> list[str]:
    """Say that no row is a person."""
    return [
        "No row is a person: each is a combination of answers, with the number of respondents who"
        " are estimated to give it. All of it is computed from perturbed reports alone."
    ]


def interpretation(result: MicrodataResult) -> list[str]:
    """Describe the weights, and how to use them."""
    weighted = result.query.margins
    lines = [
        "Shown are the rows with the largest weights. The variance of a statistic is"
        f" {number(result.scale, 2)} times the sum of its squared differences with the replicate"
        " weights.",
    ]
    if weighted:
        lines.append(f"Weighted to known margins of {listed([*map(quoted, weighted)])}.")
    if result.drawn:
        lines.append(
            "There are more combinations of answers: these rows stand for all of them, exactly in"
            f" tables of {result.interactions} questions, and with an error that the replicate"
            " weights do not have in everything else."
        )
    return lines


def _start(_: Survey) -> MicrodataQuery:
    return MicrodataQuery()


ANALYSIS = Analysis(
    query=MicrodataQuery,
    title="Weighted records",
    compute=compute,
    start=_start,
    grid=grid,
    decide=decide,
    state=state,
    warnings=warnings,
    interpretation=interpretation,
    offer="A row for each combination of answers with its weight and replicate weights, for R"
    " and for Python. Show makes them: the model behind them takes some seconds.",
    together=2,
    place="Export",
    order=150,
)
