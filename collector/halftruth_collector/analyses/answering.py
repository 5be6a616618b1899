"""Answers to queries: checks, the choice of the estimator, and the decisions about a result."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, cast

import msgspec
import numpy as np
from halftruth_shared import DomainTooLarge, ParameterError, SchemaError, Survey
from halftruth_shared.analyses.reading import check_questions, questions_named
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import AnswerSets, EstimateColumns, Result, Texts
from halftruth_shared.results.caveats import note
from halftruth_shared.results.long_table import NUMBERS
from halftruth_shared.results.showing import contradicted_model

from ..estimation.automatic import modelled, prefers_model
from ..estimation.bounds import Array
from ..estimation.reliability import NOT, RELIABILITIES
from .base import Analysis, AnalysisContext, Q, R, check_model_names, model_attributes, named_by
from .deciding import AtLevel, false_reports, with_decisions, with_false_reports

_UNEXPLAINED = "no shares explain the reports"

#: Caveats about the errors of estimates.
_OF_ERRORS = ("precision", "effective reports", "open groups")


def answer(analysis: Analysis[Q, R], counted: AnalysisContext, query: Q) -> R:
    """Compute the result of a query, with its tests and claims.

    Reports that contradict the mechanism, or the model behind the estimates, support no claims.
    """
    check_deadline()
    # A series can have questions that one of its waves does not have.
    if not query.of_series:
        check_questions(query, counted.survey.schema)
    # An analysis that ignores the domain would silently return wrong numbers.
    asked: Any = query
    by_model = "estimate" in asked.__struct_fields__ and asked.estimate == "model"
    whole, counted = counted.survey, counted.read_for(query)
    query = _with_estimate(analysis, counted, query)
    counted = replace(counted, question=query)
    counted.check()
    if not by_model:
        counted = counted.with_needed()
        query = cast(Q, counted.question)
    rate = 1 - getattr(query, "confidence", 0.95)
    result = analysis.compute(counted, query)
    if counted.survey is not whole:
        result = _with_groups(whole, query, result)
    if result.contradictions:
        return cast(R, with_decisions(_without_contradicted(counted, result), rate))
    if contradicted_model(result):
        return cast(R, with_decisions(_without_claims(result), rate))

    @cache
    def at_level(confidence: float) -> R:
        other: Any = msgspec.structs.replace(cast(Any, query), confidence=confidence)
        return analysis.compute(replace(counted, question=other), other)

    result = cast(R, with_false_reports(with_decisions(result, rate), rate))
    found = decided(analysis, result, at_level)
    return msgspec.structs.replace(found, caveats=[*false_reports(found), *found.caveats])


def _with_groups(survey: Survey, query: Q, result: R) -> R:
    """Return a result that says of which questions it has groups of answers."""
    named = named_by(query, survey)
    about = [
        each.name
        for each in survey.schema.attributes
        if each.collapsed and (not named or each.name in named)
    ]
    if not about:
        return result
    caveats = [*result.caveats, note("groups of answers", questions=about)]
    return msgspec.structs.replace(result, caveats=caveats)


def answer_pilot(
    analysis: Analysis[Q, R], survey: Survey, query: Q, people: Callable[[Sequence[str]], Array]
) -> R:
    """Compute the result of a pilot, whose true answers `people` counts by some attributes."""
    assert analysis.from_pilot is not None  # noqa: S101 - commands offer it where it exists
    result = analysis.from_pilot(survey, query, people)
    return decided(analysis, result, lambda _: result)


def decided(analysis: Analysis[Q, R], result: R, at_level: AtLevel) -> R:
    """Return a computed result with its tests and claims.

    `at_level` returns the same result with intervals of another level.
    """
    tests, claims = analysis.decide(result, at_level)
    made: R = msgspec.structs.replace(result, tests=tests, claims=claims)
    return made


def _with_estimate(analysis: Analysis[Q, R], counted: AnalysisContext, query: Q) -> Q:
    """Return a query with its estimator and the attributes of its model, if it has one."""
    asked: Any = query
    if hasattr(asked, "modelled") and asked.estimate == "model":
        check_model_names(counted.survey, asked)
        about = model_attributes(counted.survey, asked)
        return cast(Q, msgspec.structs.replace(asked, modelled=about))
    if analysis.table is None or asked.estimate != "auto":
        return query
    moment = cast(Q, msgspec.structs.replace(asked, estimate="moment"))
    try:
        names = list(dict.fromkeys([*analysis.table(counted.survey, query), *asked.where]))
        counted.survey.schema.positions(names)
        named = bool(asked.interactions) or asked.modelled is not None
        if not named and not (
            counted.counts.reports
            and asked.target == "population"
            and asked.population is None
            and prefers_model(counted.survey, counted.counts, names)
        ):
            return moment
        about = asked.modelled if named else modelled(counted.survey, names)
    except (DomainTooLarge, ParameterError, SchemaError):
        # The analysis raises the error.
        return moment
    return cast(Q, msgspec.structs.replace(asked, estimate="model", modelled=about))


def _without_contradicted(counted: AnalysisContext, result: R) -> R:
    """Return a result without errors and tests for questions with contradictory reports."""
    names = {name for each in counted.contradictions for name in each.attributes}
    for question, options in counted.survey.schema.options.items():
        if any(option.name in names for option in options):
            names.add(question)
    # Every row depends on questions that the query names outside its list of questions.
    asked = questions_named(cast(Any, counted.question))
    others = [asked[field] for field in asked if field not in ("attributes", "merge")]
    whole = not names.isdisjoint(set().union(*others))
    return cast(R, _without_errors(result, names, possible=counted.needs_few_tables, whole=whole))


def _without_errors(
    result: Result[Any], names: Collection[str], *, possible: bool, whole: bool
) -> Result[Any]:
    """Remove errors and tests of rows about questions whose reports contradict the mechanism.

    Rows about questions without any of these `names` stay, unless the `whole` table depends on one.
    Values are those of the closest possible shares, if `possible`; otherwise they are removed.
    """
    table = result.estimates
    known, about = np.zeros((2, len(table)), dtype=bool)
    for key in result.keys:
        there = key.values.ids >= 0
        known |= there & (key.kind not in ("number", "text"))
        if key.kind == "answer" and key.question is not None:
            # The base of another question can exclude people by this question.
            about |= key.question in names
        elif key.kind == "question":
            about |= np.array([each in names for each in key.values])
        elif isinstance(key.values, AnswerSets):
            about |= key.values.rows_naming(names)
    bad = about | ~known | whole
    columns = {name: getattr(table, name) for name in table.__struct_fields__}
    for name in NUMBERS:
        if columns[name] is not None and name != "value":
            columns[name] = np.where(bad, np.nan, columns[name])
    for name, text in (("set", None), ("reliability", "not usable")):
        texts = [text if b else old for b, old in zip(bad, table.texts(name), strict=True)]
        columns[name] = Texts.of(texts)
    # This value is computed from errors.
    made = bad & table.texts("quantity").equals("effective_reports")
    columns["value"] = np.where(made, np.nan, table.value)
    if not possible:
        # In lists of itemsets, impossible supports are replaced by the nearest possible ones.
        shares = table.texts("quantity").equals("support")
        columns["value"] = np.where(
            bad, np.where(shares, np.clip(table.value, 0, 1), np.nan), table.value
        )
        reasons = zip(bad & ~shares, table.texts("undefined"), strict=True)
        columns["undefined"] = Texts.of([_UNEXPLAINED if b else old for b, old in reasons])
    caveats = [
        each
        for each in result.caveats
        if each.code not in _OF_ERRORS
        or (
            each.values.get("question", "") not in names
            and (not bad.all() or "question" in each.values)
        )
    ]
    return msgspec.structs.replace(
        result,
        estimates=EstimateColumns(**columns),
        covariance=None,
        tests=[],
        claims=[],
        selection=None,
        caveats=caveats,
    )


def _without_claims(result: Result[Any]) -> Result[Any]:
    """Remove tests and claims of estimates by a model that the reports contradict.

    No row is graded better than not usable.
    """
    table = result.estimates
    graded = table.texts("reliability").codes >= 0
    untested = dict.fromkeys(("statistic", "p_value", "adjusted_p_value", "moved_by", "undone_by"))
    return msgspec.structs.replace(
        result,
        estimates=msgspec.structs.replace(
            table, **untested, reliability=Texts(np.where(graded, NOT, -1), RELIABILITIES)
        ),
        tests=[],
        claims=[],
        # These say how precise, and therefore usable, the estimates are.
        caveats=[each for each in result.caveats if each.code != "precision"],
    )
