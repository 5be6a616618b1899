"""Analyses: computation, tables, charts and sentences of a query."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from itertools import chain
from typing import Any, Generic, Literal, TypeVar, cast, get_args

import msgspec
import numpy as np
from halftruth_shared import (
    Attribute,
    EstimateError,
    ParameterError,
    Schema,
    Survey,
)
from halftruth_shared.analyses import Query, name_of
from halftruth_shared.analyses.base import (
    Answers,
    Contradiction,
    Missing,
    ModelFit,
    TestedInteraction,
)
from halftruth_shared.analyses.reading import Field, fields, questions_named
from halftruth_shared.columns import Codes
from halftruth_shared.results import NAMES, Block, EstimateColumns, Key, Labels, Result, Texts
from halftruth_shared.results.charts import Chart
from halftruth_shared.results.claims import Claim, Test
from halftruth_shared.results.presentation import Presentation, present
from halftruth_shared.results.showing import contradicted, contradicted_model, headline_assumption
from halftruth_shared.results.wording import items

from ..errors import TooFewReports
from ..estimation import Counts, Estimator
from ..estimation.automatic import modelled
from ..estimation.bounds import Array, normal_quantile
from ..estimation.design_fit import contradictions
from ..estimation.groups import combines, survey_in_groups
from ..estimation.measures import ALIASES, CRAMERS_V, MEASURE_NAMES, ORDERED_NAMES, SCALE_NAMES
from ..estimation.model import LoglinearModel, cached_model, completed, described
from ..estimation.model.fit import MODEL_CELLS
from ..estimation.reconstruction import of_table, reconstruction
from .deciding import AtLevel

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
    invitation, `tickets` reads how many tickets were issued and spent, and `waves` reads the counts
    of all surveys of the same series. `added` are the interactions of the query that it has because
    the reports contradict the model without them.
    """

    survey: Survey
    counts: Counts
    as_of: datetime
    question: Query[Any] | None = None
    min_reports: int = field(kw_only=True)
    days: Mapping[date, int] = field(default_factory=dict, kw_only=True)
    invited: bool = field(default=False, kw_only=True)
    tickets: Callable[[], tuple[int, int]] | None = field(default=None, kw_only=True)
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
            possible=bool(self.contradictions) and self.needs_few_tables,
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
        for wave in self.waves() if self.question.of_series else ():
            there = [name for name in asked if name in wave.survey.schema.names]
            if there and wave.counts.reports:
                found += contradictions(wave.survey, wave.counts, there, True)
        return list({tuple(each.attributes): each for each in found}.values())

    @property
    def needs_few_tables(self) -> bool:
        """Whether the query needs few tables, so that maximum likelihood tables are feasible."""
        if self.question is None:
            return True
        # The tables of waves belong to several sets of counts.
        if self.question.of_series:
            return False
        return bool(self._named) or not self.question.needs_many_tables

    @cached_property
    def _named(self) -> list[str]:
        if self.question is None:
            return []
        named = named_by(self.question, self.survey)
        return [name for name in self.survey.schema.names if name in named]

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

    def described_model(
        self,
        interactions: Sequence[Sequence[str]],
        attributes: Sequence[str] | None,
        added: Sequence[TestedInteraction],
    ) -> ModelFit:
        """Return the assumptions of a model, those about pairs that the query names first."""
        fit = described(self.survey, self.counts, interactions, attributes, added)
        named = set(self._named)
        pairs = sorted(fit.unasked_pairs, key=lambda pair: not named.issuperset(pair))
        return msgspec.structs.replace(fit, unasked_pairs=pairs)

    def read_for(self, query: Query[Any]) -> "AnalysisContext":
        """Return the context in which a query is read: in groups of answers, or in detail."""
        if not is_in_groups(self.survey, query):
            return self
        waves = self.waves
        return replace(
            self,
            survey=survey_in_groups(self.survey),
            waves=lambda: [replace(wave, survey=survey_in_groups(wave.survey)) for wave in waves()],
        )

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
            model_fit = self.described_model(named, asked.modelled, self.added)
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


def is_in_groups(survey: Survey, query: Query[Any]) -> bool:
    """Return whether a query is about groups of answers, as it combines perturbed questions.

    A question that is sent unperturbed with every report can be combined with one in detail.
    """
    if not any(each.collapsed for each in survey.schema.attributes):
        return False
    public = survey.perturbation.unperturbed
    if set(questions_named(query).get("where", ())) - public:
        return True
    named = named_by(query, survey) - {*survey.schema.options}
    # A query that names no perturbed question can be about all questions.
    every = not named - public or combines(survey.perturbation, named)
    return every and not query.each_alone


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
        How the rows of a result are arranged in tables and charts, with labels in titles.
    decide : callable
        Returns the tests and claims of a computed result: all decisions behind its headline. Its
        second argument returns the same result with intervals of another level.
    state : callable
        Returns the sentence of one claim, with labels. It makes no decisions and computes no
        statistics.
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
    layout: Callable[[R, Labels], list[Block]]
    from_pilot: Callable[[Survey, Q, Callable[[Sequence[str]], Array]], R] | None = None
    decide: Callable[[R, AtLevel], tuple[list[Test], list[Claim]]] = lambda *_: ([], [])
    state: Callable[[R, Claim, Labels], str] = lambda *_: ""
    table: Callable[[Survey, Q], Sequence[str]] | None = None
    min_order: int = 1
    check_work: Callable[[Survey, Q], None] = lambda _, __: None
    placeholder: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    applies: Callable[[Survey], bool] = lambda _: True
    pictured: bool = True
    place: PlaceName = "Explore"
    order: int = 100

    def present(self, result: R, labels: Labels = NAMES) -> Presentation:
        """Return the parts of a result, with names or labels."""
        headline, layout = self.headline(result, labels), self.layout(result, labels)
        return present(result, labels, title=self.title, headline=headline, layout=layout)

    def chart(self, result: R, labels: Labels = NAMES) -> Chart:
        """Return the first chart of a result; a `ParameterError` if there is nothing to draw."""
        chart = self.present(result, labels).chart
        if chart is None:
            raise ParameterError("chart: this result has no estimates to draw", field="format")
        return chart

    def described(self, result: R) -> R:
        """Return a result with its headline and its layout, as it is read without its analysis."""
        layout, headline = self.layout(result, NAMES), self.headline(result)
        described: R = msgspec.structs.replace(result, layout=layout, headline=headline)
        return described

    def headline(self, result: R, labels: Labels = NAMES) -> str:
        """Return the headline: the claims in sentences, after the assumption of a model."""
        if unexplained := contradicted(result, labels):
            return " ".join(unexplained)
        if unsuitable := contradicted_model(result, labels):
            return unsuitable
        said = [self.state(result, claim, labels) for claim in result.claims]
        headline = " ".join(said) or "No finding is stated for these estimates."
        return f"{headline_assumption(result, labels)}{headline}"

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


def wanted_pairs(survey: Survey) -> list[tuple[Attribute, Attribute]]:
    """Return the outcome and a group of the wanted tables, each pair once."""
    schema = survey_in_groups(survey).schema
    pairs = {
        (table[0], group): None for table in survey.mechanism.wanted(schema) for group in table[1:]
    }
    about = {name: schema.attributes[schema.position(name)] for pair in pairs for name in pair}
    return [(about[outcome], about[group]) for outcome, group in pairs]


def first_wanted(survey: Survey) -> tuple[Attribute, Attribute] | None:
    """Return the outcome and the group of the first wanted table, for initial queries; or None."""
    return next(iter(wanted_pairs(survey)), None)


def clearest(survey: Survey) -> list[Attribute]:
    """Sort attributes by number of categories, as fewer categories have smaller errors.

    The group and the outcome of the first wanted table are before all others.
    """
    first = [*reversed(first_wanted(survey) or ())]
    every = survey_in_groups(survey).schema.attributes
    others = [each for each in every if each not in first]
    return [*first, *sorted(others, key=lambda attribute: len(attribute.categories))]


def connected(survey: Survey, most: int) -> list[str]:
    """Return attributes that pairs of asked ones connect, with a table of at most `most` cells.

    They are those of the wanted tables if there are any.
    """
    survey = survey_in_groups(survey)
    family, schema = reconstruction(survey).identified_sets, survey.schema
    wanted = set(chain.from_iterable(survey.mechanism.wanted(schema)))
    every = schema.positions([each.name for each in clearest(survey)])
    about = [j for j in every if schema.names[j] in wanted]
    if len(family.largest_component(about)) < 2:
        about = [*every]
    first, *waiting = family.largest_component(about)
    chosen, cells = [first], schema.shape[first]
    while True:
        beside = (j for j in waiting if any((i, j) in family for i in chosen))
        fitting = (j for j in beside if cells * schema.shape[j] <= most)
        if (place := next(fitting, None)) is None:
            return [schema.names[j] for j in sorted(chosen)]
        chosen.append(place)
        waiting.remove(place)
        cells *= schema.shape[place]


def asked_together(survey: Survey, attributes: Sequence[Attribute], count: int) -> list[Attribute]:
    """Return the first `count` attributes whose table the reports identify, or as many as exist."""

    def extended(chosen: list[Attribute], others: Sequence[Attribute]) -> list[Attribute]:
        best = chosen
        for place, each in enumerate(others):
            if len(best) == count:
                break
            more = [*chosen, each]
            names = [attribute.name for attribute in more]
            if of_table(survey, names).identified(names):
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
        of_tables = (*MEASURE_NAMES, CRAMERS_V.name, *ORDERED_NAMES, *SCALE_NAMES)
        return (*field.choices, *of_tables, *ALIASES)
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
