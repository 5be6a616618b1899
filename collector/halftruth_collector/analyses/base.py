"""Analyses: computation, tables, charts and sentences of a query."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cache, cached_property
from typing import Any, Generic, Literal, TypeVar, cast, get_args

import msgspec
import numpy as np
from halftruth_shared import (
    Attribute,
    DomainTooLarge,
    EstimateError,
    ParameterError,
    Schema,
    SchemaError,
    Survey,
)
from halftruth_shared.analyses import Query, name_of
from halftruth_shared.analyses.base import (
    Answers,
    Contradiction,
    MiningQuery,
    Missing,
    TestedInteraction,
)
from halftruth_shared.analyses.measures import MeasuresQuery
from halftruth_shared.analyses.reading import Field, fields, questions_named
from halftruth_shared.analyses.waves import WavesQuery
from halftruth_shared.columns import Codes
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.mechanisms.split_questionnaire import enumerate_tables
from halftruth_shared.results import AnswerSets, Block, EstimateColumns, Key, Result, Texts
from halftruth_shared.results.charts import Chart
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.long_table import NUMBERS
from halftruth_shared.results.presentation import Presentation, present
from halftruth_shared.results.showing import contradicted, contradicted_model
from halftruth_shared.results.wording import items

from ..errors import TooFewReports
from ..estimation import Counts, Estimator
from ..estimation.automatic import modelled, prefers_model
from ..estimation.bounds import Array, normal_quantile
from ..estimation.design_fit import contradictions
from ..estimation.measures import ALIASES, MEASURE_NAMES, ORDERED_NAMES
from ..estimation.model import LoglinearModel, cached_model, completed, described
from ..estimation.model.fit import MODEL_CELLS
from ..estimation.reconstruction import reconstruction
from ..estimation.reliability import NOT, RELIABILITIES
from .deciding import AtLevel

#: Fields of a query that determine the estimator, not the analysis.
_OF_COUNTED = ("where", "missing", "merge", "interactions", "modelled", "population", "target")

Q = TypeVar("Q", bound=Query[Any])
R = TypeVar("R", bound=Result[Any])

#: Parts of the results of a survey, in the order of their pages.
PlaceName = Literal["Overview", "Compare", "Relate", "Explore", "Quality", "Export"]
PLACES: tuple[PlaceName, ...] = get_args(PlaceName)


@dataclass(frozen=True)
class AnalysisContext:
    """Context of an analysis: the counts of a survey at some time, and the query.

    There are no results for fewer than `min_reports` reports, in total or in a domain. `days` are
    the numbers of reports counted each day, earliest first. `invited` is whether people answered by
    invitation, and `waves` reads the counts of all surveys of the same series. `added` are the
    interactions of the query that it has because the reports contradict the model without them.
    """

    survey: Survey
    counts: Counts
    as_of: datetime
    question: Query[Any] | None = None
    min_reports: int = field(kw_only=True)
    days: Mapping[date, int] = field(default_factory=dict, kw_only=True)
    invited: bool = field(default=False, kw_only=True)
    waves: Callable[[], "Sequence[AnalysisContext]"] = field(default=tuple, kw_only=True)
    added: Sequence[TestedInteraction] = field(default=(), kw_only=True)

    @cached_property
    def estimator(self) -> Estimator:
        """Estimator from these counts, in the domain of the query."""
        return self._estimator(self._asked("missing", "keep"))

    @cached_property
    def of_all(self) -> Estimator:
        """Estimator that includes missing values, whatever the query."""
        kept = self._asked("missing", "keep") == "keep"
        return self.estimator if kept else self._estimator("keep")

    def _estimator(self, missing: Missing) -> Estimator:
        return Estimator(
            self.survey,
            self.counts,
            self._where,
            missing,
            self._model,
            self._asked("population", None),
            target=self._asked("target", "population"),
            possible=bool(self.contradictions) and self._few,
            merge=self._asked("merge", {}),
        )

    def _asked(self, name: str, default: Any) -> Any:
        """Return a field of the query, or a default if its type has none."""
        return getattr(self.question, name, default)

    @property
    def _where(self) -> Answers:
        where: Answers = self._asked("where", {})
        return where

    @cached_property
    def contradictions(self) -> list[Contradiction]:
        """Questions of the query (all, if it names none) whose reports contradict the mechanism."""
        names = self.survey.schema.names
        if self.question is None or not self.counts.reports:
            return []
        asked = self._named
        found = contradictions(self.survey, self.counts, asked or names, bool(asked))
        for wave in self.waves() if isinstance(self.question, WavesQuery) else ():
            there = [name for name in asked if name in wave.survey.schema.names]
            if there and wave.counts.reports:
                found += contradictions(wave.survey, wave.counts, there, True)
        return list({tuple(each.attributes): each for each in found}.values())

    @property
    def _few(self) -> bool:
        """Whether the query needs few tables, so that maximum likelihood tables are feasible."""
        # The tables of waves belong to several sets of counts.
        if isinstance(self.question, WavesQuery):
            return False
        return bool(self._named) or not isinstance(self.question, MiningQuery | MeasuresQuery)

    @cached_property
    def _named(self) -> list[str]:
        if self.question is None:
            return []
        named = named_by(self.question, self.survey)
        return [name for name in self.survey.schema.names if name in named]

    def judged(self, result: R) -> R:
        """Return a result without errors and tests for questions with contradictory reports."""
        names = {name for each in self.contradictions for name in each.attributes}
        for question, options in self.survey.schema.options.items():
            if any(option.name in names for option in options):
                names.add(question)
        # Every row depends on questions that the query names outside its list of questions.
        asked = {} if self.question is None else questions_named(self.question)
        others = [asked[field] for field in asked if field not in ("attributes", "merge")]
        whole = not names.isdisjoint(set().union(*others))
        return cast(R, without_errors_of(result, names, possible=self._few, whole=whole))

    def result(
        self,
        query: Q,
        keys: Sequence[Key],
        estimates: EstimateColumns | Sequence[EstimateColumns],
        **more: Any,
    ) -> Result[Q]:
        """Return the result of a query: its provenance with keys and columns of estimates.

        Several tables of estimates are concatenated; `more` are further fields of the result.
        """
        if not isinstance(estimates, EstimateColumns):
            estimates = EstimateColumns.concatenate(estimates)
        return Result(**self.origin(), query=query, keys=list(keys), estimates=estimates, **more)

    def model(
        self, interactions: Sequence[Sequence[str]] = (), attributes: Sequence[str] | None = None
    ) -> LoglinearModel:
        """Return the loglinear model of these attributes (all by default) and interactions."""
        return cached_model(self.survey, self.counts, interactions, attributes)

    def needed(
        self, interactions: Sequence[Sequence[str]], attributes: Sequence[str] | None
    ) -> list[TestedInteraction]:
        """Return the interactions that `model` lacks, as the reports contradict it."""
        return completed(self.survey, self.counts, interactions, attributes)

    def with_needed(self) -> "AnalysisContext":
        """Return the context whose query names the interactions that its model lacks, if any."""
        asked: Any = self.question
        if self._model is None or not (added := self.needed(asked.interactions, asked.modelled)):
            return self
        every = [*asked.interactions, *(each.attributes for each in added)]
        return replace(
            self, question=msgspec.structs.replace(asked, interactions=every), added=added
        )

    def check(self) -> None:
        """Raise `TooFewReports` if there are too few reports, in total or in the domain."""
        served = f"results are served of {self.min_reports} or more"
        count = self.counts.reports
        if count < self.min_reports:
            counted = {0: "no report has", 1: "1 report has"}.get(count, f"{count} reports have")
            raise TooFewReports(f"survey '{self.survey.id}': {counted} been counted; {served}")
        if self._where and self.estimator.reports < self.min_reports:
            raise TooFewReports(
                f"where: about {self.estimator.reports} of the reports are of those with"
                f" {items(self._where)}; {served}",
                field="where",
            )

    def origin(self) -> dict[str, Any]:
        """Return the provenance fields of every result."""
        asked, model_fit, group = cast(Any, self.question), None, None
        if self._model is not None:
            named = asked.interactions[: len(asked.interactions) - len(self.added)]
            model_fit = described(self.survey, self.counts, named, asked.modelled, self.added)
        if self._where:
            group = self.estimator.group(self._asked("confidence", 0.95))
        return {
            "survey": self.survey.id,
            "digest": self.survey.digest,
            "reports": self.counts.reports,
            "as_of": self.as_of,
            "group": group,
            "model_fit": model_fit,
            "contradictions": self.contradictions,
        }

    def people(
        self, names: Sequence[str], answering: Sequence[str], confidence: float
    ) -> tuple[Array, Array, Array]:
        """Estimate the number of respondents in each cell of ``Estimator.table`` of these names.

        Returns
        -------
        people, lower, upper : ndarray
            Estimates with the ends of their intervals, NaN if unknown; 0-dimensional without names.
        """
        schema = self.survey.schema
        missing = any(schema.attributes[schema.position(name)].missing for name in answering)
        kept = self._asked("missing", "keep") == "keep" or not missing
        if not names and not self._where and kept:
            every = np.array(float(self.counts.reports))
            return every, every, every
        quantile, reports = normal_quantile(1 - confidence), self.counts.reports
        share, lower, upper = self.estimator.people(names, answering, quantile)
        return share * reports, lower * reports, upper * reports

    @cached_property
    def _model(self) -> LoglinearModel | None:
        """The model that the query requests, if any."""
        question: Any = self.question
        if not hasattr(question, "modelled"):
            return None
        check_model_names(self.survey, question)
        if question.estimate != "model":
            return None
        if question.target != "population":
            raise ParameterError(
                "target: expected population, since a model is of those whom the respondents are a"
                " sample of",
                field="target",
            )
        with errors_naming(field_of_model(question)), errors_naming("interactions", "terms"):
            return self.model(question.interactions, question.modelled)


def model_attributes(survey: Survey, query: Any) -> list[str] | None:
    """Return the attributes of the model of a query; None for all of the survey.

    By default it is about all attributes, or about those that the query names if these are too many
    for one model.
    """
    if query.modelled is not None:
        given: list[str] = query.modelled
        return given
    named = named_by(query, survey)
    about = [name for name in survey.schema.names if name in named]
    return modelled(survey, about, MODEL_CELLS) if about else None


def field_of_model(query: Any) -> str:
    """Return the field of a query that makes its model smaller."""
    of_table = query.modelled is None and hasattr(query, "attributes")
    return "attributes" if of_table else "modelled"


def check_model_names(survey: Survey, query: Any) -> None:
    """Check the attributes that a query names for its model."""
    for names in query.interactions:
        survey.schema.positions(names, "interactions")
    if query.modelled is not None:
        survey.schema.positions(query.modelled, "modelled")


def named_by(query: Query[Any], survey: Survey) -> set[str]:
    """Return the attributes that a query names, including options; empty if it is about all."""
    options = survey.schema.options
    asked = questions_named(query)
    named = set().union(*(asked[field] for field in asked if field not in ("where", "merge")))
    is_of_all = getattr(query, "attributes", ()) is None
    if is_of_all or not named & {*survey.schema.names, *options}:
        return set()
    named |= asked.get("where", set())
    return named | {o.name for name in named & set(options) for o in options[name]}


_UNEXPLAINED = "no shares explain the reports"

#: Caveats about the errors of estimates.
_OF_ERRORS = ("precision", "effective reports", "open groups")


def without_errors_of(
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


def without_claims_of(result: Result[Any]) -> Result[Any]:
    """Remove tests and claims of estimates by a model that the reports contradict.

    No row is graded better than not usable.
    """
    table = result.estimates
    graded = table.texts("reliability").codes >= 0
    untested = dict.fromkeys(("statistic", "p_value", "adjusted_p_value"))
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


@contextmanager
def errors_naming(field: str, instead_of: str = "attributes") -> Iterator[None]:
    """Rename the field of errors raised inside, so that they name a field of the query."""
    try:
        yield
    except (EstimateError, ParameterError) as error:
        if not str(error).startswith(f"{instead_of}:"):
            raise
        message = str(error).replace(f"{instead_of}:", f"{field}:", 1)
        raise type(error)(message, field=field) from None


def asked(query: Query[Any]) -> dict[str, Any]:
    """Return the fields of a query as arguments of an estimator, without domain and model."""
    asked = msgspec.structs.asdict(query)
    return {name: value for name, value in asked.items() if name not in _OF_COUNTED}


@dataclass(frozen=True, kw_only=True)
class Analysis(Generic[Q, R]):
    """Computation and presentation of a query's result.

    Attributes
    ----------
    query : type
        Type of the query, with the analysis' name, parameters and type of result.
    title : str
        Heading of the result.
    compute : callable
        Computes the result of a query.
    from_pilot : callable or None
        Computes the result from the true answers of a pilot, which are never sent to a collector;
        takes the survey, the query, and a function that counts these people by some attributes.
    start : callable
        Initial query of a page about a survey; also the example in OpenAPI.
    layout : callable
        How the rows of a result are arranged in tables and charts.
    decide : callable
        Returns the tests and claims of a computed result: all decisions behind its headline. Its
        second argument returns the same result with intervals of another level.
    state : callable
        Returns the sentence of one claim. It makes no decisions and computes no statistics.
    pictured : bool
        Whether results have a chart.
    table : callable or None
        Returns the attributes of the table of a query, without those of its domain; required for
        queries with `estimate` = auto.
    min_order : int
        Smallest order of the tables that the reports have to identify.
    check_work : callable
        Refuses a query that would take too long, before the computation; called for HTTP requests.
    options : mapping of str to str
        Further names of options on the command line, by field.
    applies : callable
        Whether the analysis applies to a survey.
    placeholder : str
        Text of a page without a query, if the initial query would take long.
    place : str
        Part of the results to which the analysis belongs, from `PLACES`.
    order : int
        Position in this part, in increasing order.
    """

    query: type[Q]
    title: str
    compute: Callable[[AnalysisContext, Q], R]
    start: Callable[[Survey], Q]
    layout: Callable[[R], list[Block]]
    from_pilot: Callable[[Survey, Q, Callable[[Sequence[str]], Array]], R] | None = None
    decide: Callable[[R, AtLevel], tuple[list[Test], list[Claim]]] = lambda *_: ([], [])
    state: Callable[[R, Claim], str] = lambda _, __: ""
    table: Callable[[Survey, Q], Sequence[str]] | None = None
    min_order: int = 1
    check_work: Callable[[Survey, Q], None] = lambda _, __: None
    placeholder: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    applies: Callable[[Survey], bool] = lambda _: True
    pictured: bool = True
    place: PlaceName = "Explore"
    order: int = 100

    def __post_init__(self) -> None:
        compute = self.compute

        def checked(counted: AnalysisContext, query: Q) -> R:
            check_deadline()
            # An analysis that ignores the domain would silently return wrong numbers.
            asked: Any = query
            chosen = "estimate" in asked.__struct_fields__ and asked.estimate == "model"
            query = self._with_estimate(counted, query)
            restricted = replace(counted, question=query)
            restricted.check()
            if not chosen:
                restricted = restricted.with_needed()
                query = cast(Q, restricted.question)
            result = compute(restricted, query)
            # Reports that contradict the mechanism support no claims.
            if result.contradictions:
                return self.described(restricted.judged(result))
            if contradicted_model(result):
                return self.described(cast(R, without_claims_of(result)))

            @cache
            def at_level(confidence: float) -> R:
                other: Any = msgspec.structs.replace(cast(Any, query), confidence=confidence)
                return compute(replace(restricted, question=other), other)

            return self.decided(result, at_level)

        object.__setattr__(self, "compute", checked)
        if (from_pilot := self.from_pilot) is not None:

            def decided_from_pilot(*given: Any) -> R:
                result = from_pilot(*given)
                return self.decided(result, lambda _: result)

            object.__setattr__(self, "from_pilot", decided_from_pilot)

    def _with_estimate(self, counted: AnalysisContext, query: Q) -> Q:
        """Return a query with its estimator and the attributes of its model, if it has one."""
        asked: Any = query
        if hasattr(asked, "modelled") and asked.estimate == "model":
            check_model_names(counted.survey, asked)
            about = model_attributes(counted.survey, asked)
            chosen: Q = msgspec.structs.replace(asked, modelled=about)
            return chosen
        if self.table is None or asked.estimate != "auto":
            return query
        moment: Q = msgspec.structs.replace(asked, estimate="moment")
        try:
            names = list(dict.fromkeys([*self.table(counted.survey, query), *asked.where]))
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
        by_model: Q = msgspec.structs.replace(asked, estimate="model", modelled=about)
        return by_model

    def decided(self, result: R, at_level: AtLevel) -> R:
        """Return a result with its tests and claims, its headline and its layout.

        `at_level` returns the same result with intervals of another level.
        """
        tests, claims = self.decide(result, at_level)
        return self.described(msgspec.structs.replace(result, tests=tests, claims=claims))

    def present(self, result: Any) -> Presentation:
        """Return the parts of a result, with names or labels."""
        described: Any = self.described(result)
        return present(described, self.title)

    def chart(self, result: Any) -> Chart:
        """Return the first chart of a result; a `ParameterError` if there is nothing to draw."""
        chart = self.present(result).chart
        if chart is None:
            raise ParameterError("chart: this result has no estimates to draw", field="format")
        return chart

    def described(self, result: R) -> R:
        """Return a result, with names or labels, with its headline and its layout."""
        described: R = msgspec.structs.replace(
            result, layout=self.layout(result), headline=self.headline(result)
        )
        return described

    def headline(self, result: R) -> str:
        """Return the headline: the claims in sentences, after the assumption of a model."""
        if unexplained := contradicted(result):
            return " ".join(unexplained)
        if unsuitable := contradicted_model(result):
            return unsuitable
        said = [self.state(result, claim) for claim in result.claims]
        headline = " ".join(said) or "No finding is stated for these estimates."
        if result.model_fit is None:
            return headline
        further = [*result.model_fit.interactions, *result.model_fit.added]
        besides = " besides those named" if further else ""
        return f"Assuming no interaction of three or more questions{besides}: {headline}"

    @property
    def name(self) -> str:
        """Name of the analysis in URLs and commands."""
        return name_of(self.query)

    @property
    def summary(self) -> str:
        """Summary of the query in one sentence."""
        return (self.query.__doc__ or "").partition("\n\n")[0]

    @property
    def fields(self) -> Mapping[str, Field]:
        """Fields of the query by name."""
        return fields(self.query)


class RowBuilder:
    """Rows of a result, added in parts; a key that a part does not name is missing in its rows.

    The fields of each key are given by its name.
    """

    def __init__(self, **keys: dict[str, Any]) -> None:
        self.parts: list[EstimateColumns] = []
        self._keys = keys
        self._values: dict[str, list[str | None]] = {name: [] for name in keys}

    def add(self, part: EstimateColumns, **values: Sequence[str | None] | str | None) -> None:
        """Add estimates with the values of their keys; a single value applies to all rows."""
        self.parts.append(part)
        for name, column in self._values.items():
            given = values.get(name)
            if given is None or isinstance(given, str):
                column += [given] * len(part)
            else:
                column += given

    @property
    def keys(self) -> list[Key]:
        """The keys with their values."""
        return [
            Key(name=name, values=Texts.of(column), **self._keys[name])
            for name, column in self._values.items()
        ]


def answers_to(question: str, **more: str) -> dict[str, Any]:
    """Return the fields of a key whose values are answers to a question."""
    return {"kind": "answer", "question": question, **more}


def answer_keys(schema: Schema, names: Sequence[str], codes: Codes) -> list[Key]:
    """Return a key for each attribute, from the codes of its answers in each row."""
    attributes = [schema.attributes[j] for j in schema.positions(names)]
    return [
        Key(name=each.name, values=Texts(column, each.categories), **answers_to(each.name))
        for each, column in zip(attributes, codes.T, strict=True)
    ]


def first_wanted(survey: Survey) -> tuple[Attribute, Attribute] | None:
    """Return the outcome and the group of the first wanted table, for initial queries; or None."""
    schema = survey.schema
    for wanted in getattr(survey.mechanism, "tables", ()):
        for names in enumerate_tables(schema, wanted):
            if len(names) > 1:
                outcome, group, *_ = [schema.attributes[j] for j in schema.positions(names)]
                return outcome, group
    return None


def clearest(survey: Survey) -> list[Attribute]:
    """Sort attributes by number of categories, as fewer categories have smaller errors.

    The group and the outcome of the first wanted table are before all others.
    """
    first = [*reversed(first_wanted(survey) or ())]
    others = [each for each in survey.schema.attributes if each not in first]
    return [*first, *sorted(others, key=lambda attribute: len(attribute.categories))]


def asked_together(survey: Survey, attributes: Sequence[Attribute], count: int) -> list[Attribute]:
    """Return the first `count` attributes whose table the reports identify, or as many as exist."""
    source = reconstruction(survey)

    def extended(chosen: list[Attribute], others: Sequence[Attribute]) -> list[Attribute]:
        best = chosen
        for place, each in enumerate(others):
            if len(best) == count:
                break
            more = [*chosen, each]
            if source.identified([attribute.name for attribute in more]):
                best = max(best, extended(more, others[place + 1 :]), key=len)
        return best

    return extended([], attributes)


def names_of_clearest(survey: Survey, count: int = 2) -> list[str]:
    """Return the names of the clearest attributes, in the order of the survey."""
    names = {attribute.name for attribute in asked_together(survey, clearest(survey), count)}
    return [name for name in survey.schema.names if name in names]


def middle_answer(attribute: Attribute) -> str:
    """Return the middle answer (the last of two); extreme answers are often rare."""
    answers = [name for name in attribute.categories if name not in attribute.missing]
    return answers[len(answers) // 2]


def choices(field: Field, survey: Survey | None = None) -> tuple[str, ...]:
    """List the values that a field accepts, if possible; for names, those of a survey."""
    if field.of == "measure":
        return (*field.choices, *MEASURE_NAMES, *ORDERED_NAMES, *ALIASES)
    if field.of == "attribute" and survey is not None:
        return survey.schema.names
    if field.of == "question" and survey is not None:
        options = survey.schema.options
        return tuple(
            name
            for question in survey.schema.questions
            for name in (
                *([question.name] if question.name in options else []),
                *(attribute.name for attribute in question.attributes),
            )
        )
    return field.choices
