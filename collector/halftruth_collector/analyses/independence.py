"""A test of independence of two attributes."""

import dataclasses
from typing import Any

from halftruth_shared.analyses.independence import IndependenceQuery, IndependenceResult
from halftruth_shared.analyses.showing import CONTRADICTED
from halftruth_shared.analyses.wording import p_value, value

from ..estimation.independence import IndependenceTest
from . import sentences
from .base import Analysis, Counted, Grid, names_of_clearest


def compute(counted: Counted, query: IndependenceQuery) -> IndependenceResult:
    """The test of ``Estimator.independence``."""
    test = outcome(counted.estimator.independence(query.attributes))
    return IndependenceResult(**counted.origin(), query=query, **test)


def outcome(test: IndependenceTest) -> dict[str, Any]:
    """Return the fields of a test in messages, with its conclusion."""
    return {**dataclasses.asdict(test), "statement": _statement(test)}


def _statement(test: IndependenceTest) -> str:
    if test.p_value is None:
        return f"cannot be tested: {test.undefined}"
    if test.p_value < CONTRADICTED:
        return "such departures from independence are rare if the answers are independent"
    return (
        "such departures from independence are no rarity if the answers are independent, which"
        " does not show that they are: perturbation hides weak associations"
    )


def grid(result: IndependenceResult) -> Grid:
    """Table with one row, the test."""
    return Grid(
        ["row", "column", "Wald statistic", "degrees of freedom", "p-value"],
        [
            [
                *result.query.attributes,
                value(result.statistic, None),
                result.degrees_of_freedom,
                p_value(result.p_value),
            ]
        ],
    )


def headline(result: IndependenceResult) -> str:
    """The outcome of the test."""
    about = sentences.listed([sentences.quoted(name) for name in result.query.attributes])
    if result.p_value is None:
        return f"Whether {about} are independent {result.statement}."
    verdict = "go together" if result.p_value < CONTRADICTED else "may well be independent"
    return f"{about} {verdict}: p-value {p_value(result.p_value)}."


def warnings(result: IndependenceResult) -> list[str]:
    """Give the reason why there is no test."""
    return []


def interpretation(result: IndependenceResult) -> list[str]:
    """Interpret the test."""
    return [sentences.sentence(result.statement)] if result.undefined is None else []


ANALYSIS = Analysis(
    query=IndependenceQuery,
    title="Independence",
    compute=compute,
    start=lambda survey: IndependenceQuery(attributes=names_of_clearest(survey)),
    grid=grid,
    headline=headline,
    warnings=warnings,
    interpretation=interpretation,
    together=2,
    place="Relate",
    order=55,
)
