"""Regression of one answer on others."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Literal

import msgspec
import numpy as np
import scipy
from halftruth_shared import DomainTooLarge, EstimateError, ParameterError, Survey
from halftruth_shared.analyses.base import ModelFit
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.results import (
    Block,
    Caveat,
    Labels,
    Result,
    Show,
    note,
    warning,
)
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.long_table import Row
from numpy.typing import NDArray

from ..estimation.answers import answers_of, nothing_missing, presence
from ..estimation.automatic import FEW_PREDICTORS, determines_regression, modelled
from ..estimation.bounds import Array
from ..estimation.contrasts import compare_groups
from ..estimation.derived import merged
from ..estimation.domain import Domain
from ..estimation.equation import Equation, equation
from ..estimation.estimates import covariance_of
from ..estimation.groups import survey_in_groups
from ..estimation.linear import fit_linear_pairs, fit_linear_table
from ..estimation.model import (
    LoglinearModel,
    ModelTables,
    Reported,
    at_independence,
    channel_of_outcome,
    perturbed_outcome_regression,
    shares,
)
from ..estimation.reconstruction import of_table, reconstruction
from ..estimation.regression import Regression, coefficients_of, fit_table
from ..estimation.reliability import WELL_FILLED
from ..estimation.report_model import with_reported
from ..estimation.subgroups import Groups
from ..estimation.table import COVARIANCE_CELLS, Table
from .base import Analysis, AnalysisContext, clearest, errors_naming, first_wanted, middle_answer
from .coefficients import UNIT, Method, coefficient_rows, term_of
from .deciding import AtLevel, claimed, count_in_words, decide_rows

#: Standard error of a log odds ratio, for independent answers, above which a model has no p-value:
#: in simulations with 20 000 reports by the gamma-diagonal matrix and 432 cells, 19 % of the
#: p-values were below 5 % although no predictor had an effect.
_FAR = 0.5


@dataclass(frozen=True)
class Fitted:
    """A regression with its estimator and its caveats."""

    fit: Regression
    method: Method
    caveats: Sequence[Caveat] = ()
    model_fit: ModelFit | None = None
    #: Test of each coefficient.
    test: Literal["score", "Wald"] = "Wald"

    @property
    def is_saturated(self) -> bool:
        """True for a model of the questions of the regression with all their interactions."""
        return self.method == "model" and self.model_fit is None


def compute(counted: AnalysisContext, query: RegressionQuery) -> Result[RegressionQuery]:
    """Return the regression, with intervals, odds ratios and marginal effects."""
    schema = counted.estimator.schema
    model = equation(schema, query)
    fitted = _fitted(counted, query, model)
    keys, parts, covariance = coefficient_rows(query, model, fitted.fit)
    wanted = query.covariance and fitted.fit.undefined is None
    answers = {name: answers_of(schema.attributes[schema.position(name)]) for name in model.scores}
    result = counted.result(
        query,
        keys,
        parts,
        caveats=[*caveats_of(query, model, fitted), *_scores(model, answers)],
        covariance=covariance_of(covariance) if wanted else None,
    )
    return msgspec.structs.replace(result, model_fit=fitted.model_fit)


def caveats_of(query: RegressionQuery, model: Equation, fitted: Fitted) -> Iterator[Caveat]:
    """Return the caveats of a regression."""
    odds, fit = query.model != "linear", fitted.fit
    if fit.undefined is not None:
        by_model = odds and fitted.method == "moment" and query.target == "population"
        terms = [term_of(model.predictors.terms[place]) for place in fit.least_known]
        yield warning("no coefficients", reason=fit.undefined, terms=terms, by_model=by_model)
    else:
        yield from fitted.caveats
    yield note(
        "regression",
        method=fitted.method,
        question=query.outcome,
        answers=model.present,
        own=fitted.is_saturated,
    )
    if odds:
        yield note("odds ratios")
    yield note("held constant", interactions=bool(query.interactions))
    yield note("p-values of coefficients", method=fitted.method, odds=odds, test=fitted.test)
    if len(model.predictors.terms) > 2:
        yield note("adjusted", rate=1 - query.confidence, what="coefficient")


def _scores(model: Equation, answers: Mapping[str, Sequence[str]]) -> Iterator[Caveat]:
    """Yield a note on the scores of each attribute with scores."""
    for name, values in model.scores.items():
        scores = dict(zip(answers[name], map(float, values), strict=True))
        yield note("scores", question=name, kind="score", scores=scores)


def _fitted(counted: AnalysisContext, query: RegressionQuery, model: Equation) -> Fitted:
    """Return the regression from the table, or else from pairs or a model."""
    if query.model == "linear" and query.estimate == "model":
        raise ParameterError(
            "estimate: a linear regression needs tables of pairs alone, and no model of all"
            " answers; expected auto or moment",
            field="estimate",
        )
    if query.estimate != "model":
        sample = query.target == "population" and query.population is None
        fallback = query.estimate == "auto" and query.model != "linear" and sample
        try:
            if not fallback:
                return _from_table(counted, query, model)
            if _is_carried(counted, model):
                fitted = _from_table(counted, query, model)
                # Rare: the design determines the regression, but not with these few people.
                if fitted.fit.undefined is None:
                    return fitted
        except (DomainTooLarge, EstimateError, ParameterError) as error:
            by_moment = query.estimate == "moment" and query.model != "linear"
            if by_moment or (isinstance(error, EstimateError) and not fallback):
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
    if channel is not None and model.outcome.is_distribution and not query.merge:
        return _from_outcome(counted, query, model, channel)
    if query.estimate == "auto" and len(query.predictors) <= FEW_PREDICTORS:
        # The reports may identify no interaction of all these questions.
        with suppress(EstimateError):
            return _from_own_model(counted, query, model)
    return _from_model(counted, query, model)


def _from_outcome(
    counted: AnalysisContext, query: RegressionQuery, model: Equation, channel: Array
) -> Fitted:
    """Return the regression by the likelihood of the outcome, given unperturbed predictors."""
    survey = counted.survey
    reported = Reported.of(survey, counted.counts, query.outcome, query.predictors, query.where)
    fit = perturbed_outcome_regression(
        reported.numbers, channel, model.predictors.at(reported.cells), model.outcome
    )
    schema = survey.schema
    missing = any(schema.attributes[j].missing for j in schema.positions(model.names))
    return Fitted(fit, "outcome", [note("left out of regression")] if missing else [])


def _is_carried(counted: AnalysisContext, model: Equation) -> bool:
    """Return whether the design determines a regression, within a domain by its estimated size."""
    _check_table(model)
    with errors_naming("predictors"):
        table = counted.estimator.table(model.names)
    return determines_regression(counted.estimator.schema, table, model)


def _check_table(model: Equation) -> None:
    if model.cells > COVARIANCE_CELLS:
        raise DomainTooLarge(
            f"predictors: a table of {model.cells} cells; expected at most {COVARIANCE_CELLS}, so"
            " fewer predictors, or estimate=model",
            field="predictors",
        )


def _from_table(counted: AnalysisContext, query: RegressionQuery, model: Equation) -> Fitted:
    """Return the regression from the unbiased table of all its answers."""
    _check_table(model)
    with errors_naming("predictors"):
        table = counted.estimator.table(model.names)
    reports = float(np.median(table.effective_reports))
    kept = nothing_missing(counted.estimator.schema, model.names)
    fit = (fit_linear_table if query.model == "linear" else fit_table)(table, model, kept)
    few = [warning("few reports", reports=reports)] if reports < WELL_FILLED else []
    return Fitted(fit, "moment", few, test="score")


def _from_pairs(counted: AnalysisContext, model: Equation) -> Fitted:
    """Return the linear regression from the unbiased tables of all pairs of its answers."""
    with errors_naming("predictors"):
        return Fitted(fit_linear_pairs(counted.estimator, model), "moment", test="score")


def _from_own_model(counted: AnalysisContext, query: RegressionQuery, model: Equation) -> Fitted:
    """Return the regression from a model of its own questions with all their interactions.

    Such a model assumes nothing, and has coefficients whatever was reported. With one predictor,
    the test of a coefficient is that of equal shares in two categories.
    """
    names = [*model.names, *query.where]
    with errors_naming("predictors"):
        answers = counted.model([names], names)
        fit = _fit_model(counted, answers, query, model)
        far = _far(counted, answers, query, model)
    z = _scores_of_shares(counted, query, model)
    return _without_imprecise(fit, far, z)


def _scores_of_shares(
    counted: AnalysisContext, query: RegressionQuery, model: Equation
) -> Array | None:
    """Return score tests that an answer is as frequent as with the reference, if there are any.

    With one predictor without scores, a coefficient is 0 if and only if these shares are equal. The
    statistic of the intercept is NaN.
    """
    schema = counted.estimator.schema
    attributes = [schema.attributes[schema.position(name)] for name in model.names]
    predictor, outcome = attributes[0], attributes[-1]
    if len(attributes) > 2 or model.scores or any(each.missing for each in attributes):
        return None
    table = counted.estimator.table(model.names)
    [answer] = model.present.values()
    names = predictor.categories
    groups = Groups.of_codes(table, range(len(names)), names)
    given, reference = (
        outcome.categories.index(answer),
        names.index(model.reference[predictor.name]),
    )
    effects = compare_groups(groups, given, reference, confidence=query.confidence)
    p_values = np.maximum(np.asarray(effects.p_value), np.finfo(float).tiny)
    z = -np.sign(effects.value) * scipy.special.ndtri(p_values / 2)
    return np.concatenate([[np.nan], z])


def _from_model(counted: AnalysisContext, query: RegressionQuery, model: Equation) -> Fitted:
    """Return the regression from the model of all answers, or of its own if all are too many."""
    crossed = [
        [*(query.predictors[number] for number in numbers), query.outcome]
        for numbers in model.predictors.interactions
    ]
    names = [*model.names, *query.where]
    with errors_naming("predictors"):
        _check_asked(counted, query)
        about = modelled(counted.survey, names) if query.estimate == "auto" else None
        try:
            answers = counted.model(crossed, about)
        except (DomainTooLarge, EstimateError):
            about = with_reported(counted.survey.perturbation, names)
            answers = counted.model(crossed, about)
        added = counted.needed(crossed, about) if query.estimate == "auto" else []
        if added:
            answers = counted.model([*crossed, *(each.attributes for each in added)], about)
        ModelTables(counted.survey, answers).check(names)
        fit = _fit_model(counted, answers, query, model)
        far = _far(counted, answers, query, model)
    fitted = _without_imprecise(fit, far, None)
    caveats = [*fitted.caveats]
    if unasked := _unasked(counted.survey, query.predictors):
        caveats.append(warning("unasked predictors", pairs=unasked))
    model_fit = counted.described_model(crossed, about, added)
    return replace(fitted, caveats=caveats, model_fit=model_fit)


def _check_asked(counted: AnalysisContext, query: RegressionQuery) -> None:
    """Refuse a predictor of which no report tells together with the outcome.

    Its coefficient in the model follows from the assumption alone that they are independent given
    the other answers.
    """
    for name in query.predictors:
        reconstruction(counted.survey).check([name, query.outcome])


def _unasked(survey: Survey, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of attributes that no report asks together."""
    return [pair for pair in combinations(names, 2) if not reconstruction(survey).identified(pair)]


def _far(
    counted: AnalysisContext, answers: LoglinearModel, query: RegressionQuery, model: Equation
) -> NDArray[np.bool_]:
    """Return which coefficients would be too imprecise to test if answers were independent.

    Selection by estimated errors would favour underestimated ones.
    """
    even = at_independence(counted.survey, counted.counts, answers)
    return np.asarray(_fit_model(counted, even, query, model).coefficients.standard_error > _FAR)


def _without_imprecise(fit: Regression, far: NDArray[np.bool_], z: Array | None) -> Fitted:
    """Return a fit by a model without what is too imprecise, and with score tests if given."""
    found = fit.coefficients
    statistic = np.asarray(found.statistic)
    if z is not None:
        statistic, untested = np.where(np.isnan(z) & ~far, statistic, z), far & np.isnan(z)
    else:
        statistic, untested = np.where(far, np.nan, statistic), far
    # The odds of a rare answer are biased towards 1, and their interval has too low coverage.
    known = np.ones_like(found.covariance)
    known[0] = known[:, 0] = np.nan if far[0] else 1.0
    # A report moves both tests by the same part of them.
    moved = None
    if found.moved is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            moved = np.abs(statistic / np.asarray(found.statistic)) * found.moved
    coefficients = coefficients_of(found.value, found.covariance * known, statistic, moved=moved)
    fit = replace(fit, coefficients=coefficients)
    few = [warning("untested coefficients", limit=_FAR)] if untested[1:].any() else []
    return Fitted(fit, "model", few, test="Wald" if z is None else "score")


def _fit_model(
    counted: AnalysisContext, answers: LoglinearModel, query: RegressionQuery, model: Equation
) -> Regression:
    """Fit the equation to the table of a model of all answers."""
    merging = counted.estimator.merging.among(answers.schema)
    domain = Domain(merging.schema, query.where, answered=True)

    def joint(names: Sequence[str]) -> Table:
        return merged(shares(answers, names), merging.parts)

    return fit_table(domain.table(joint, model.names), model)


def layout(result: Result[RegressionQuery], labels: Labels) -> list[Block]:
    """Arrange a line for each term, and the intercept separately."""
    many = len(result.places("coefficient")) > 1
    tested = "adjusted_p_value" if many else "p_value"
    about = labels.items(_present(result)) or labels.question(result.query.outcome)
    if result.query.model == "linear":
        coefficient = Show(quantity="coefficient", parts=["against", "value", "interval", tested])
        return [
            Block(
                title=f"Differences in mean · {about}",
                lines=["term"],
                shows=[coefficient],
                picture="dots",
            ),
            Block(title="Intercept", shows=[Show(quantity="intercept")]),
        ]
    shows = [
        Show(quantity="odds_ratio", parts=["against", "value", "interval"]),
        Show(quantity="coefficient", parts=["value", tested], drawn=False),
        Show(quantity="marginal_effect", drawn=False),
    ]
    intercept = [Show(quantity="odds"), Show(quantity="intercept")]
    return [
        Block(title=f"Odds ratios · {about}", lines=["term"], shows=shows, picture="dots"),
        Block(title="Intercept", shows=intercept, stacked=True),
    ]


def _present(result: Result[RegressionQuery]) -> Mapping[str, str]:
    """Return the answer whose odds are explained; empty for a linear regression."""
    [said] = [each.values for each in result.caveats if each.code == "regression"]
    answers: Mapping[str, str] = said["answers"]
    return answers


def _tested(result: Result[RegressionQuery]) -> str:
    """Return the name of the quantity that is stated and tested."""
    return "coefficient" if result.query.model == "linear" else "odds_ratio"


def decide(result: Result[RegressionQuery], at_level: AtLevel) -> tuple[list[Test], list[Claim]]:
    """Decide which predictors have an effect, from the p-values of their coefficients."""
    [test] = [
        each.values["test"] for each in result.caveats if each.code == "p-values of coefficients"
    ]
    return decide_rows(
        result,
        at_level,
        "effect",
        result.places(_tested(result)),
        name=test,
        rate=1 - result.query.confidence,
    )


def state(result: Result[RegressionQuery], claim: Claim, labels: Labels) -> str:
    """State a coefficient with its effect, or that no predictor is significant."""
    about = labels.quoted_items(_present(result)) or labels.quoted(result.query.outcome)
    if claim.kind == "untested":
        return f"No coefficient of {about} can be tested with these reports."
    if claim.by_rate:
        return count_in_words(claim, "coefficients")
    row, said, p = claimed(result, claim)
    name = _tested(result).replace("_", " ")
    said = f"{name} {said}, {p}"
    if claim.kind == "none found":
        against = f" against {labels.items(row['against'])}" if row["against"] else ""
        term = f"{labels.quoted_items(row['term'])}{against}"
        return f"No predictor of {about} is significant. Strongest evidence: {term}, {said}."
    return f"{_effect(about, row, claim, labels, linear=name == 'coefficient')}: {said}."


def _effect(about: str, row: Row, claim: Claim, labels: Labels, *, linear: bool) -> str:
    """Describe the effect of a predictor by its direction."""
    term, against = row["term"], row["against"] or {}
    if len(term) > 1 or claim.direction is None:
        return f"{about} depends on {labels.quoted_items(term)}"
    [(question, answer)] = term.items()
    if answer == UNIT:
        compared = f"each unit of {labels.quoted(question)}"
    else:
        compared = (
            f"{labels.quoted_items(term)} than with {labels.answer(question, against[question])}"
        )
    if not linear:
        return f"{about} is {claim.direction} likely with {compared}"
    higher = {"more": "higher", "less": "lower"}[claim.direction]
    return f"The mean of {about} is {higher} with {compared}"


def start(survey: Survey) -> RegressionQuery:
    """Return the initial query: the first outcome that is wanted by a group, by this group.

    Without wanted tables it is the clearest attribute with an answer to count, by the next one.
    """
    schema, wanted = survey_in_groups(survey).schema, first_wanted(survey)
    possible = clearest(survey) if wanted is None else wanted[:1]
    counted = [a for a in possible if presence(schema, [a.name], {})[0] is not None]
    outcomes = counted or possible
    pairs = (
        (outcome, predictor)
        for outcome, predictor in product(outcomes, clearest(survey))
        if outcome is not predictor
        and len(outcome.categories) * len(predictor.categories) <= COVARIANCE_CELLS
        and of_table(survey, (pair := [outcome.name, predictor.name])).identified(pair)
    )
    outcome, predictor = next(pairs, (outcomes[0], None))
    predictors = [] if predictor is None else [predictor.name]
    present = {} if counted else {outcome.name: middle_answer(outcome)}
    return RegressionQuery(outcome=outcome.name, predictors=predictors, present=present)


ANALYSIS = Analysis(
    query=RegressionQuery,
    title="Regression",
    compute=compute,
    start=start,
    layout=layout,
    decide=decide,
    state=state,
    min_order=2,
    place="Relate",
    order=58,
)
