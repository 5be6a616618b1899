"""Regression of one answer on others."""

from collections.abc import Iterator

import numpy as np
import scipy
from halftruth_shared import Survey
from halftruth_shared.analyses.charts import Axis, EstimateChart, Mark, Panel, Reference
from halftruth_shared.analyses.estimate import Estimate
from halftruth_shared.analyses.regression import Coefficient, RegressionQuery, RegressionResult
from halftruth_shared.analyses.wording import (
    UNDEFINED,
    estimate_in_words,
    interval_in_words,
    items,
    number,
    number_in_words,
    p_value,
    value,
)
from halftruth_shared.mechanisms.reconstruction import COVARIANCE_CELLS
from msgspec.structs import replace

from ..estimation.answers import nothing_missing, presence
from ..estimation.bounds import normal_quantile, optional
from ..estimation.equation import Equation, equation
from ..estimation.estimates import covariance_of, estimates
from ..estimation.regression import Regression, fit_regression
from ..estimation.reliability import clear, grades
from . import sentences, verdicts
from .base import Analysis, Counted, Grid, clearest, errors_naming, middle_answer

#: Largest logarithm of an odds ratio that is written.
_FARTHEST = 700.0


def compute(counted: Counted, query: RegressionQuery) -> RegressionResult:
    """The regression of ``fit_regression``, with intervals, odds ratios and verdicts."""
    asked = (query.outcome, query.predictors, query.model)
    model = equation(counted.estimator.schema, *asked, query.present, query.reference, query.scores)
    with errors_naming("predictors"):
        table = counted.estimator.table(model.names)
    kept = nothing_missing(counted.estimator.schema, model.names)
    fit = fit_regression(table, model.design, model.outcome_scores, query.model, query.target, kept)
    coefficients = list(_coefficients(query, model, fit))
    few = verdicts.few_reports(float(np.median(table.effective_reports)))
    undefined = fit.undefined
    if undefined is not None and fit.least_known:
        least = sentences.listed([coefficients[i].term for i in fit.least_known])
        undefined += f"; the least is known of {least}"
    return RegressionResult(
        **counted.origin(),
        query=query,
        present=model.present,
        reference=model.reference,
        scores={name: list(values) for name, values in model.scores.items()},
        undefined=undefined,
        caution=sentences.sentence(few) if few and undefined is None else None,
        coefficients=coefficients,
        covariance=covariance_of(fit.covariance) if query.covariance and not undefined else None,
    )


def _coefficients(
    query: RegressionQuery, model: Equation, fit: Regression
) -> Iterator[Coefficient]:
    logistic = query.model == "logistic"
    half_widths = normal_quantile(1 - query.confidence) * fit.standard_error
    ends = fit.coefficients - half_widths, fit.coefficients + half_widths
    p_values = 2 * scipy.special.ndtr(-np.abs(fit.z))
    # By the row that is shown: of an odds ratio, or of a difference on the scale of the outcome.
    with np.errstate(over="ignore"):
        margins = np.exp(half_widths) if logistic else half_widths / np.ptp(model.outcome_scores)
        odds = np.exp([fit.coefficients, *ends])
    grade = grades(
        margins, ratio=logistic, directed=clear(*ends) | (p_values < 1 - query.confidence)
    )
    # An end may be too far for a number, and then there is no interval.
    near = np.where(ends[1] < _FARTHEST, odds[1:], np.nan)
    ratios = estimates(Estimate, odds[0], half_widths * np.nan, tuple(near), grade=grade)
    return estimates(
        Coefficient,
        fit.coefficients,
        fit.standard_error,
        ends,
        grade=grade,
        p_value=p_values,
        undefined=[fit.undefined] * len(model.terms),
        attribute=[term.attribute for term in model.terms],
        category=[term.category for term in model.terms],
        reference=[term.reference for term in model.terms],
        odds_ratio=[ratio if logistic and ratio.value is not None else None for ratio in ratios],
        z=[*map(optional, fit.z.tolist())],
    )


def grid(result: RegressionResult) -> Grid:
    """A row for each coefficient."""
    logistic = result.query.model == "logistic"
    interval = sentences.level(result.query.confidence)
    ratios = ["odds ratio", interval] if logistic else []
    header = ["term", *ratios, "coefficient", interval, "standard error", "z", "p-value"]
    return Grid(header, [_row(found, logistic) for found in result.coefficients])


def _row(found: Coefficient, logistic: bool) -> list[str]:
    term = _term(found)
    if found.reference is not None:
        term += f" against {found.reference}"
    shown = replace(found.odds_ratio or Estimate(), reliability=found.reliability)
    return [
        term,
        *(sentences.number_cells(shown) if logistic else ()),
        number_in_words(found) if logistic else estimate_in_words(found),
        interval_in_words(found),
        value(found.standard_error, None),
        UNDEFINED if found.z is None else number(found.z, 2),
        p_value(found.p_value),
    ]


def _term(found: Coefficient) -> str:
    scored = found.attribute is not None and found.category is None
    return f"{found.term}, each unit" if scored else found.term


def chart(result: RegressionResult) -> EstimateChart:
    """Odds ratios on a logarithmic axis, or coefficients of a linear model; no intercept."""
    logistic = result.query.model == "logistic"
    rows = tuple(_whisker(found, logistic) for found in result.coefficients[1:])
    # An odds ratio is a number of times: twice and half are equally far from 1.
    axis = Axis("odds ratio", scale="log") if logistic else Axis("difference in mean score")
    line = Reference(1, "no difference") if logistic else Reference(0, "no difference")
    what = f"odds of {items(result.present)}" if logistic else f"mean of {result.query.outcome}"
    return EstimateChart(
        title=f"What the {what} go{'' if logistic else 'es'} with in {result.survey}",
        notes=(*sentences.notes(result, rows), *warnings(result), *_model(result)),
        panels=(Panel(axis, rows, reference=line),),
        values_label=f"{axis.label} ({sentences.level(result.query.confidence)})",
    )


def _whisker(found: Coefficient, logistic: bool) -> Mark:
    shown = (found.odds_ratio or Estimate()) if logistic else found
    return sentences.drawn(_term(found), replace(shown, undefined=None))


def warnings(result: RegressionResult) -> list[str]:
    """Give the reason why there are no coefficients, or warn of uncertain ones."""
    if result.undefined is not None:
        return [sentences.sentence(result.undefined)]
    named = [(found.term, found) for found in result.coefficients]
    return [*([result.caution] if result.caution else []), *sentences.too_uncertain(named)]


def interpretation(result: RegressionResult) -> list[str]:
    """Describe the model and its assumptions."""
    said = _model(result)
    if result.query.model == "logistic":
        said.append("Odds ratios are not ratios of shares, which are nearer to 1.")
    said.append(
        "Each coefficient is with all other predictors held constant, and assumes that none changes"
        " what another does; where one does, these are coefficients of the best such equation."
        " Intervals are normal ones, and take the perturbation of every answer into account."
    )
    said.append(
        "p-values are of tests that a coefficient is 0, with the error that there is if it is, and"
        " so need not agree with every interval."
    )
    return said


def _model(result: RegressionResult) -> list[str]:
    """Describe the model: outcome, reference categories and scores."""
    about = "log odds" if result.query.model == "logistic" else "mean score"
    said = f"The equation is of the {about} of {items(result.present) or result.query.outcome}"
    if result.reference:
        said += f"; the reference categories are {items(result.reference)}"
    scores = "; ".join(
        f"{name} {', '.join(number(score) for score in values)}"
        for name, values in result.scores.items()
    )
    listed = [f"Scores of the categories in their order: {scores}."] if scores else []
    return [f"{said}.", *listed]


def start(survey: Survey) -> RegressionQuery:
    """The clearest attribute that has an answer to count, by the next one."""
    schema = survey.schema
    counted = [a for a in clearest(survey) if presence(schema, [a.name], {})[0] is not None]
    outcome = (counted or clearest(survey))[0]
    most = min(1, survey.mechanism.reconstruction(schema).max_order - 1)
    predictors = [
        attribute.name
        for attribute in clearest(survey)
        if attribute is not outcome
        and len(outcome.categories) * len(attribute.categories) <= COVARIANCE_CELLS
    ][:most]
    present = {} if counted else {outcome.name: middle_answer(outcome)}
    return RegressionQuery(outcome=outcome.name, predictors=predictors, present=present)


ANALYSIS = Analysis(
    query=RegressionQuery,
    title="Regression",
    compute=compute,
    start=start,
    grid=grid,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    together=2,
    order=58,
)
