"""Regression of one answer on others."""

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, ParameterError, Survey
from halftruth_shared.analyses.base import ModelFit
from halftruth_shared.analyses.regression import (
    Coefficient,
    RegressionEstimate,
    RegressionQuery,
    RegressionResult,
)
from halftruth_shared.results.charts import Axis, EstimateChart, Mark, Panel, Reference
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.estimate import Estimate
from halftruth_shared.results.wording import (
    UNDEFINED,
    estimate_in_words,
    interval_in_words,
    items,
    number,
    number_in_words,
    p_value,
    quoted_items,
    value,
    with_interval,
)
from msgspec.structs import replace

from ..estimation.answers import nothing_missing, presence
from ..estimation.bounds import Array
from ..estimation.equation import Equation, equation
from ..estimation.estimates import covariance_of
from ..estimation.linear import fit_linear_pairs, fit_linear_table
from ..estimation.model import (
    LoglinearModel,
    Reported,
    at_independence,
    channel_of_outcome,
    described,
    perturbed_outcome_regression,
    shares,
)
from ..estimation.regression import Joint, Regression, fit_regression, fit_table
from ..estimation.table import COVARIANCE_CELLS
from . import sentences, verdicts
from .base import Analysis, Counted, Grid, clearest, errors_naming, middle_answer
from .coefficients import coefficients_of
from .deciding import (
    as_selected,
    count_in_words,
    decide_each,
    p_in_words,
    sign,
    tested_by,
    with_adjusted,
)

#: Standard error of a log odds ratio above which a model gives no p-value, if answers were
#: independent: where 20 000 reports of the gamma-diagonal matrix have 432 cells, 19 % of all were
#: below 5 % though no predictor mattered.
_FAR = 0.5

_TOO_LITTLE = (
    "There are too few reports for coefficients without a p-value: if all answers were independent,"
    f" the standard error would be above {_FAR}. Their intervals can miss the truth more often than"
    " they say."
)

#: What the likelihood of a perturbed outcome assumes.
OUTCOME_ASSUMES = "The equation is assumed to hold, and nothing of the predictors."

_UNBIASED = "Nothing is assumed of how answers depend on each other."

_LEFT_OUT = (
    "Those are left out who lack one of these answers, as if that told nothing of the outcome."
)


@dataclass(frozen=True)
class _Fitted:
    """A regression with how it was estimated, what it rests on, and what to beware of."""

    fit: Regression
    estimate: RegressionEstimate
    assumes: str | None
    caution: str | None = None
    model_fit: ModelFit | None = None


def compute(counted: Counted, query: RegressionQuery) -> RegressionResult:
    """The regression, with intervals, odds ratios, marginal effects and verdicts."""
    model = equation(counted.estimator.schema, query)
    fitted = _fitted(counted, query, model)
    coefficients = list(coefficients_of(query, model, fitted.fit))
    slopes = [i for i, each in enumerate(coefficients) if each.attribute is not None]
    adjusted = with_adjusted([coefficients[i] for i in slopes])
    for i, each in zip(slopes, adjusted, strict=True):
        coefficients[i] = each
    undefined = fitted.fit.undefined
    if undefined is not None and fitted.fit.least_known:
        least = sentences.listed([coefficients[i].term for i in fitted.fit.least_known])
        undefined += f"; the least is known of {least}"
    return RegressionResult(
        **(counted.origin() | {"model_fit": fitted.model_fit}),
        query=query,
        present=model.present,
        reference=model.reference,
        scores={name: list(values) for name, values in model.scores.items()},
        estimate=fitted.estimate,
        assumes=fitted.assumes,
        undefined=undefined,
        caution=fitted.caution if undefined is None else None,
        coefficients=coefficients,
        covariance=(
            covariance_of(fitted.fit.covariance) if query.covariance and not undefined else None
        ),
    )


def _fitted(counted: Counted, query: RegressionQuery, model: Equation) -> _Fitted:
    """The regression from the table, or from pairs or a model if there is none."""
    if query.model == "linear" and query.estimate == "model":
        raise ParameterError(
            "estimate: a linear regression needs tables of pairs alone, and no model of all"
            " answers; expected auto or moment",
            field="estimate",
        )
    if query.estimate != "model":
        try:
            return _from_table(counted, query, model)
        except (DomainTooLarge, ParameterError):
            if query.estimate == "moment" and query.model != "linear":
                raise
    if query.target == "respondents":
        raise ParameterError(
            "target: without a table of all these answers estimates are of the population that the"
            " respondents are a sample of; expected population",
            field="target",
        )
    if query.population is not None:
        raise ParameterError(
            "population: without a table of all these answers estimates are of a large one;"
            " expected none",
            field="population",
        )
    if query.model == "linear":
        return _from_pairs(counted, model)
    known = [*query.predictors, *query.where]
    channel = channel_of_outcome(counted.survey, query.outcome, known)
    if channel is not None and model.outcome.is_distribution:
        return _from_outcome(counted, query, model, channel)
    return _from_model(counted, query, model)


def _from_outcome(
    counted: Counted, query: RegressionQuery, model: Equation, channel: Array
) -> _Fitted:
    """The regression by the likelihood of the outcome, given predictors that are not perturbed."""
    survey = counted.survey
    reported = Reported.of(survey, counted.counts, query.outcome, query.predictors, query.where)
    fit = perturbed_outcome_regression(
        reported.numbers, channel, model.predictors.at(reported.cells), model.outcome
    )
    schema = survey.schema
    missing = any(schema.attributes[j].missing for j in schema.positions(model.names))
    return _Fitted(fit, "outcome", OUTCOME_ASSUMES + (f" {_LEFT_OUT}" if missing else ""))


def _from_table(counted: Counted, query: RegressionQuery, model: Equation) -> _Fitted:
    """The regression from the unbiased table of all its answers.

    Raises
    ------
    DomainTooLarge, ParameterError
        If there is no such table.
    """
    if model.cells > COVARIANCE_CELLS:
        raise DomainTooLarge(
            f"predictors: a table of {model.cells} cells; expected at most {COVARIANCE_CELLS}, so"
            " fewer predictors, or estimate=model",
            field="predictors",
        )
    with errors_naming("predictors"):
        table = counted.estimator.table(model.names)
    few = verdicts.few_reports(float(np.median(table.effective_reports)))
    kept = nothing_missing(counted.estimator.schema, model.names)
    fit = (fit_linear_table if query.model == "linear" else fit_table)(
        table, model, query.target, kept
    )
    return _Fitted(fit, "moment", _UNBIASED, sentences.sentence(few) if few else None)


def _from_pairs(counted: Counted, model: Equation) -> _Fitted:
    """The linear regression from the unbiased tables of all pairs of its answers."""
    with errors_naming("predictors"):
        return _Fitted(fit_linear_pairs(counted.estimator.tables, model), "moment", _UNBIASED)


def _from_model(counted: Counted, query: RegressionQuery, model: Equation) -> _Fitted:
    """The regression from the model of all answers, or of these where all are too many."""
    crossed = [
        [*(query.predictors[number] for number in numbers), query.outcome]
        for numbers in model.predictors.interactions
    ]
    modelled: list[str] | None = None
    with errors_naming("predictors"):
        try:
            answers = counted.model(crossed)
        except (DomainTooLarge, EstimateError):
            modelled = [*model.names, *query.where]
            answers = counted.model(crossed, modelled)
        fit = _fit_model(answers, query, model)
        # Not by the estimated errors: those that come out small would be the ones shown.
        even = at_independence(counted.survey, counted.counts, answers)
        far = _fit_model(even, query, model).standard_error > _FAR
    fitted = described(counted.survey, counted.counts, crossed, modelled)
    if not far.any():
        return _Fitted(fit, "model", None, None, fitted)
    tested = dataclasses.replace(fit, z=np.where(far, np.nan, fit.z))
    return _Fitted(tested, "model", None, _TOO_LITTLE, fitted)


def _fit_model(answers: LoglinearModel, query: RegressionQuery, model: Equation) -> Regression:
    """Fit the equation to the table of a model of all answers."""
    table = shares(answers, model.names, query.where, "exclude")
    support = table.support.reshape(-1, len(model.outcome.scores))
    joint = Joint(support, table.parameters, table.slopes)
    return fit_regression(joint, model.predictors.everywhere(), model.outcome)


def grid(result: RegressionResult) -> Grid:
    """A row for each coefficient."""
    interval = sentences.level(result.query.confidence)
    ratios = ["odds ratio", interval] if _has_odds(result) else []
    effects = ["average change in points", interval] if _has_odds(result) else []
    header = ["term", *ratios, "coefficient", interval, "standard error", "z", "p-value"]
    return Grid([*header, *effects], [_row(each, result) for each in result.coefficients])


def _p_heading(result: RegressionResult) -> str:
    many = sum(each.attribute is not None for each in result.coefficients) > 1
    return "adjusted p-value" if many else "p-value"


def _has_odds(result: RegressionResult) -> bool:
    return result.query.model != "linear"


def _row(coefficient: Coefficient, result: RegressionResult) -> list[str]:
    odds = _has_odds(result)
    shown = replace(coefficient.odds_ratio or Estimate(), reliability=coefficient.reliability)
    return [
        _contrast(coefficient),
        *(sentences.number_cells(shown) if odds else ()),
        number_in_words(coefficient) if odds else estimate_in_words(coefficient),
        interval_in_words(coefficient),
        value(coefficient.standard_error, None),
        UNDEFINED if coefficient.z is None else number(coefficient.z, 2),
        p_value(coefficient.p_value if coefficient.attribute is None else coefficient.adjusted),
        *(_effect_cells(coefficient, result) if odds else ()),
    ]


def _effect_cells(coefficient: Coefficient, result: RegressionResult) -> tuple[str, str]:
    effect = coefficient.marginal_effect
    if effect is None:
        return (UNDEFINED, UNDEFINED) if result.undefined else ("", "")
    return sentences.number_cells(sentences.points(effect))


def _term(coefficient: Coefficient) -> str:
    scored = coefficient.attribute is not None and coefficient.category is None
    return f"{coefficient.term}, each unit" if scored else coefficient.term


def _contrast(coefficient: Coefficient) -> str:
    return _term(coefficient) + (
        "" if coefficient.reference is None else f" against {coefficient.reference}"
    )


def chart(result: RegressionResult) -> EstimateChart:
    """Odds ratios on a logarithmic axis, or coefficients of a linear model; no intercepts."""
    slopes = [each for each in result.coefficients if each.attribute is not None]
    rows = tuple(_whisker(each, result) for each in slopes)
    # An odds ratio is a number of times: twice and half are equally far from 1.
    odds = _has_odds(result)
    axis = Axis("odds ratio", scale="log") if odds else Axis("difference in mean score")
    line = Reference(1, "no difference") if odds else Reference(0, "no difference")
    about = items(result.present) or result.query.outcome
    return EstimateChart(
        title=sentences.title(result, "Odds ratios" if odds else "Differences in mean", about),
        notes=(*sentences.notes(result, rows), *warnings(result), *_model(result)),
        panels=(Panel(axis, rows, reference=line),),
    )


def _whisker(coefficient: Coefficient, result: RegressionResult) -> Mark:
    shown = (coefficient.odds_ratio or Estimate()) if _has_odds(result) else coefficient
    return sentences.drawn(_term(coefficient), replace(shown, undefined=None))


def _about(result: RegressionResult) -> str:
    return quoted_items(result.present) or sentences.quoted(result.query.outcome)


def decide(result: RegressionResult) -> tuple[list[Test], list[Claim]]:
    """Which predictors have an effect, from the p-values of their coefficients."""
    slopes = [(i, each) for i, each in enumerate(result.coefficients) if each.attribute is not None]
    return decide_each(
        "effect",
        slopes,
        name="score" if result.estimate == "moment" else "Wald",
        rate=1 - result.query.confidence,
        direction=lambda i: sign(slopes[i][1].value),
    )


def state(result: RegressionResult, claim: Claim) -> str:
    """State a coefficient with its effect, or that no predictor is significant."""
    about = _about(result)
    if claim.kind == "untested":
        return f"No coefficient of {about} can be tested with these reports."
    if claim.by_rate:
        return count_in_words(claim, "coefficients")
    coefficient, p = result.coefficients[claim.rows[0]], p_in_words(tested_by(result, claim))
    shown: Estimate = as_selected(coefficient, claim)
    if _has_odds(result):
        shown = coefficient.odds_ratio or Estimate()
        if claim.interval is not None and shown.interval is not None:
            lower, upper = (
                None if end is None else math.exp(min(end, 700.0)) for end in claim.interval
            )
            shown = replace(shown, interval=(lower, upper))
    said = f"{'odds ratio' if _has_odds(result) else 'coefficient'} {with_interval(shown)}, {p}"
    if claim.kind == "none found":
        term = sentences.quoted(_contrast(coefficient))
        return f"No predictor of {about} is significant. Strongest evidence: {term}, {said}."
    return f"{_effect(result, coefficient, claim)}: {said}."


def _effect(result: RegressionResult, coefficient: Coefficient, claim: Claim) -> str:
    """Describe the effect of a predictor by its direction."""
    about, term = _about(result), coefficient.term
    if coefficient.by or claim.direction is None:
        return f"{about} depends on {_contrast(coefficient)}"
    if coefficient.category is None:
        compared = f"each unit of {sentences.quoted(term)}"
    else:
        compared = quoted_items({coefficient.attribute or "": coefficient.category})
        compared += f" than with {coefficient.reference}" if coefficient.reference else ""
    if _has_odds(result):
        return f"{about} is {claim.direction} likely with {compared}"
    higher = {"more": "higher", "less": "lower"}[claim.direction]
    return f"The mean of {about} is {higher} with {compared}"


def warnings(result: RegressionResult) -> list[str]:
    """Give the reason why there are no coefficients, or warn of uncertain ones."""
    if result.undefined is not None:
        other = "The choice “estimate: model” needs fewer reports, and assumes more."
        more = (
            [other]
            if _has_odds(result)
            and result.estimate == "moment"
            and result.query.target == "population"
            else []
        )
        return [sentences.sentence(result.undefined), *more]
    named = [(coefficient.term, coefficient) for coefficient in result.coefficients]
    return [
        *([result.caution] if result.caution else []),
        *sentences.too_uncertain(named),
    ]


def interpretation(result: RegressionResult) -> list[str]:
    """Describe the model and its assumptions."""
    said = _model(result)
    if _has_odds(result):
        said.append(
            "Odds ratios are not ratios of shares, which are nearer to 1. The average change is"
            " that of the probability of the answer where everybody gives one answer instead of"
            " the other, or for a unit of scores."
        )
    rest = (
        "changes what another does; where one does, these are coefficients of the best such"
        " equation."
        if not result.query.interactions
        else "but those named with × changes what another does."
    )
    said.append(
        f"Each coefficient is with all other predictors held constant, and assumes that none {rest}"
        " Intervals take the perturbation of every answer into account."
    )
    if not _has_odds(result):
        said.append(
            "p-values are of score tests; an interval has the values that such a test does not"
            " reject."
        )
    elif result.estimate == "moment":
        said.append(
            "Intervals are normal ones. The p-values are of score tests; they can differ slightly"
            " from the intervals."
        )
    else:
        said.append("Intervals are normal ones, and the p-values are of Wald tests.")
    if _p_heading(result) != "p-value":
        said.append(
            "Adjusted p-values are false discovery rates among all coefficients but the intercept."
        )
    return said


#: What coefficients are estimated by.
_ESTIMATED = {
    "moment": "the unbiased tables of these answers",
    "model": "one model of all answers",
    "outcome": "the likelihood of the outcome given predictors that are not perturbed",
}


def _model(result: RegressionResult) -> list[str]:
    """Describe the model: outcome, reference categories, scores, and what is assumed."""
    about = "log odds of" if _has_odds(result) else "mean score of"
    said = f"The equation is of the {about} {_about(result)}"
    if result.reference:
        said += f"; the reference categories are {quoted_items(result.reference)}"
    scores = "; ".join(
        f"{name} {', '.join(number(score) for score in values)}"
        for name, values in result.scores.items()
    )
    listed = [f"Scores of the categories in their order: {scores}."] if scores else []
    by = f"Estimated by {_ESTIMATED[result.estimate]}."
    return [f"{said}.", *listed, f"{by} {result.assumes}" if result.assumes else by]


def start(survey: Survey) -> RegressionQuery:
    """The clearest attribute that has an answer to count, by the next one."""
    schema = survey.schema
    counted = [a for a in clearest(survey) if presence(schema, [a.name], {})[0] is not None]
    outcome = (counted or clearest(survey))[0]
    predictors = [
        attribute.name
        for attribute in clearest(survey)
        if attribute is not outcome
        and len(outcome.categories) * len(attribute.categories) <= COVARIANCE_CELLS
    ][:1]
    present = {} if counted else {outcome.name: middle_answer(outcome)}
    return RegressionQuery(outcome=outcome.name, predictors=predictors, present=present)


ANALYSIS = Analysis(
    query=RegressionQuery,
    title="Regression",
    compute=compute,
    start=start,
    grid=grid,
    decide=decide,
    state=state,
    chart=chart,
    warnings=warnings,
    interpretation=interpretation,
    together=2,
    place="Relate",
    order=58,
)
