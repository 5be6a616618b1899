"""Estimator of a survey: tables of its attributes within a domain, from counts of reports."""

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, ParameterError, Schema, Survey
from halftruth_shared.analyses.base import (
    AnsweredQuery,
    Answers,
    Group,
    Interval,
    Merge,
    Missing,
    Target,
)
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results.wording import half_width, items, percent

from ..counts import Counts
from .bounds import (
    NEARLY_LINEAR,
    TOO_SMALL,
    Array,
    check_confidence,
    check_field,
    check_target,
    normal_quantile,
)
from .derived import DerivedTable, merged, restricted
from .design_fit import most_likely_table
from .domain import Domain
from .identified import IdentifiedSets
from .intervals import SHARE, intervals_at
from .likelihood import TableOf, WholeTable
from .merging import Merging
from .model.fit import LoglinearModel
from .model.tables import ModelTables
from .reconstruction import reconstruction
from .sets.reconstruction import SetReconstruction
from .table import COVARIANCE_CELLS, Table, TableSource

#: Largest table in a result: each cell takes about a kilobyte in a message.
TABLE_CELLS = 2**16

#: Largest intermediate table, and the largest number of cells of all margins of a table.
INNER_CELLS = 2**22

#: Largest number of cells of all margins that are estimated in one step.
_AT_ONCE = 2**17


class Estimator:
    """Estimator of the distribution of true answers, from counts of perturbed reports.

    Its tables are limited to sizes that fit into memory. Every method raises SchemaError for an
    unknown or repeated attribute, DomainTooLarge for a table with too many cells, and
    ParameterError for any other parameter outside its range, or if reports do not identify a table.

    Parameters
    ----------
    survey : Survey
    counts : Counts
        With at least one report.
    where : mapping of str to str or sequence of str, optional
        Domain (subpopulation): people who give one of these answers to each of these attributes.
        All people by default.
    missing : {"keep", "exclude"}
        Whether missing categories (``Attribute.missing``) are kept as categories, or each table
        excludes people with a missing answer to one of its questions.
    model : LoglinearModel, optional
        Model fitted to the same counts; its tables replace the unbiased ones.
    population : int, optional
        Size of the finite population from which the respondents are a simple random sample; large
        by default. Not with a model.
    target : {"population", "respondents"}
        Target of inference: the sampled population, or exactly these respondents.
    possible : bool
        Whether to use maximum likelihood tables without negative shares instead of unbiased ones,
        because the reports contradict the design.
    merge : mapping of str to sequence of sequences of str, optional
        Groups of categories to merge, by attribute. `where` names the merged categories.

    Attributes
    ----------
    schema : Schema
        Attributes that can be analysed: all but those of `where`, with their categories in use.
    merging : Merging
    domain : Domain

    Raises
    ------
    NoReports
        If nothing has been counted.
    ReportError
        If the counts do not belong to this survey.
    EstimateError
        If the share of the domain `where` is less than `NEARLY_LINEAR` standard errors above zero.

    Examples
    --------
    >>> from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> mechanism = RandomizedResponse({"smoker": "0.9", "coughs": "0.9"})
    >>> survey = Survey("health", "Health", schema, mechanism)
    >>> cells = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> estimator = Estimator(survey, Counts.from_cells(survey, cells, [500, 100, 150, 250]))
    >>> estimator.table(["smoker"]).value.round(3).tolist()
    [0.625, 0.375]
    >>> np.sqrt(estimator.table(["smoker"]).variance()).round(3).tolist()
    [0.019, 0.019]
    >>> smokers = estimator.where({"smoker": "yes"})
    >>> smokers.table(["coughs"]).value.round(3).tolist(), round(smokers.group().share, 3)
    ([0.229, 0.771], 0.375)
    """

    def __init__(
        self,
        survey: Survey,
        counts: Counts,
        where: Answers | None = None,
        missing: Missing = "keep",
        model: LoglinearModel | None = None,
        population: int | None = None,
        *,
        target: Target = "population",
        possible: bool = False,
        merge: Merge | None = None,
    ) -> None:
        if model is not None and population is not None:
            raise ParameterError(
                "population: a model is of a large one; expected none, or unbiased estimates",
                field="population",
            )
        counts.check(survey)
        check_target(target)
        check_field(AnsweredQuery, "missing", missing)
        self.survey, self.counts, self.missing, self.model = survey, counts, missing, model
        self.population, self.target, self.possible = population, target, possible
        self.fraction = _sampled_fraction(counts.reports, population)
        if target == "respondents":
            self.fraction = 1.0
        self.reconstruction: TableSource = (
            reconstruction(survey) if model is None else ModelTables(survey, model)
        )
        self.merging = Merging(survey.schema, merge or {}).among(self.reconstruction.schema)
        whole = self.merging.schema
        self.domain = Domain(whole, where or {}, missing == "exclude")
        self.schema: Schema = self.domain if self.domain.restricted else whole
        self._where = list(self.domain.where)
        if where:
            self.domain.check_cells(())
            self._check_domain()

    def where(self, answers: Answers) -> "Estimator":
        """Return the estimator for a domain; raises the same errors as `Estimator`."""
        return self._with(answers, self.merging.merge)

    def merged(self, merge: Merge) -> "Estimator":
        """Return the estimator with merged categories; raises the same errors as `Estimator`."""
        return self._with(self.domain.where, merge)

    def _with(self, where: Answers, merge: Merge) -> "Estimator":
        return Estimator(
            self.survey,
            self.counts,
            where,
            self.missing,
            self.model,
            self.population,
            target=self.target,
            possible=self.possible,
            merge=merge,
        )

    @cached_property
    def best_guess(self) -> WholeTable:
        """Best guess of the table of all attributes, and its margins; not of merged categories."""
        if self.merging.merge:
            raise ParameterError(
                "merge: best guesses are of all categories; expected estimate = moment or model",
                field="merge",
            )

        def unbiased(part: Counts) -> TableOf:
            return Estimator(self.survey, part, self.domain.where, self.missing).table

        return WholeTable(self.survey, self.counts, self.domain, unbiased)

    @cached_property
    def identified_sets(self) -> IdentifiedSets:
        """Sets of attributes of `schema` whose table within the domain is identified."""
        source = self.reconstruction
        if not self._where:
            return source.identified_sets
        return source.identified_sets.beside(source.schema.positions(self._where, "where"))

    def identified(self, attributes: Sequence[str]) -> bool:
        """Return whether the reports identify the table of some attributes within the domain."""
        return self.schema.positions(attributes) in self.identified_sets

    @property
    def reports(self) -> int:
        """Estimated number of respondents in the domain, at least 1."""
        return self._group.reports if self._group else self.counts.reports

    @cached_property
    def at_once(self) -> bool:
        """True if the margins of all attributes are few enough to be estimated in one step."""
        shape = self.reconstruction.schema.shape
        # Margins over merged categories need the covariance of all cells.
        few = not self.merging.merge or math.prod(shape) <= COVARIANCE_CELLS
        return (
            self.domain.is_slice(self.schema.names)
            and math.prod(size + 1 for size in shape) <= _AT_ONCE
            and few
            and not self.possible
            and self.reconstruction.complete(self.counts)
        )

    @cached_property
    def whole(self) -> Table:
        """The table of all attributes."""
        return self._estimate(self.schema.names)

    def table(self, attributes: Sequence[str], answering: Sequence[str] = ()) -> Table:
        """Estimate the table of some attributes, one axis for each in the order given.

        If missing answers are excluded, people who did not answer `answering` are also excluded.
        """
        self.check([*attributes, *answering])
        return self._estimate(attributes, answering)

    def pair(self, attributes: Sequence[str]) -> Table:
        """Estimate the table of two attributes; reports in detail count in groups of answers.

        Within a domain it is `table`.
        """
        if self.domain.restricted or self.possible:
            return self.table(attributes)
        self.check(attributes)
        table = self.reconstruction.pair(self.counts, attributes)
        return merged(table.sampled(self.fraction), self.merging.parts)

    def numbers(self, question: str) -> Table | None:
        """Estimate the number of chosen options of a question, among all people.

        Returns
        -------
        Table or None
            Shares of 0, 1, … options, and then of each missing category. None if reports do not
            tell of it: for other questions than sets, in a domain, and by a model.
        """
        source = self.reconstruction
        if not isinstance(source, SetReconstruction) or question not in source.schema.sets:
            return None
        return None if self._where else source.numbers(self.counts, question).sampled(self.fraction)

    def people(
        self, attributes: Sequence[str], answering: Sequence[str], quantile: float
    ) -> tuple[Array, Array, Array]:
        """Return the share of each cell among all respondents, with the ends of its interval."""
        table = self.table(attributes, answering)
        if isinstance(table, DerivedTable) and table.is_domain:
            return table.cells, *table.alone.intervals_of_cells(quantile)
        return table.value, *intervals_at(table.alone, quantile)

    def subsets(self, positions: Iterable[tuple[int, ...]]) -> Iterator[Table]:
        """Yield the table of each group of attributes, given by their positions."""
        for each in positions:
            names = self.names(each)
            self.check(names, INNER_CELLS)
            yield self._estimate(names)

    def with_margins(self, positions: tuple[int, ...]) -> tuple[tuple[int, ...], Table]:
        """Return positions and a table that contains the attributes at some positions.

        All attributes are included if their margins can be estimated in one step.
        """
        if self.at_once:
            return tuple(range(len(self.schema.shape))), self.whole
        self._check_margins(positions)
        names = self.names(positions)
        self.check(names, INNER_CELLS)
        return positions, self._estimate(names)

    def check(self, attributes: Sequence[str], most: int = TABLE_CELLS) -> None:
        """Refuse a table with too many cells, or one that the reports do not identify."""
        positions = self.schema.positions(attributes)
        cells = math.prod(self.schema.shape[j] for j in positions)
        if cells > most:
            raise DomainTooLarge(
                f"attributes: a table of {cells} cells; expected at most {most}, so fewer"
                " attributes",
                field="attributes",
            )
        if self.domain.restricted:
            self._check_margins(positions)
            self.domain.check_cells(attributes)
        self.reconstruction.check([*attributes, *self._where])
        if self._where:
            # Within a domain, no chain of asked pairs connects attributes through those of `where`.
            self.reconstruction.check(attributes)

    def group(self, confidence: float = 0.95) -> Group | None:
        """Estimate the size of the domain `where`; None without a domain."""
        whole = self._group
        if whole is None:
            return None
        check_confidence(confidence)
        quantile, reports = normal_quantile(1 - confidence), self.counts.reports

        def interval(table: DerivedTable, times: int) -> Interval | None:
            ends = np.array(table.intervals_of_cells(quantile))
            lower, upper = (np.clip(ends, SHARE.lower, SHARE.upper) * times).tolist()
            return None if math.isnan(lower) else (lower, upper)

        return Group(
            items=_one_or_several(self.domain.where),
            share=whole.base,
            interval=interval(whole, 1),
            people=whole.base * reports,
            people_interval=interval(whole.sampled(1.0), reports),
        )

    def names(self, positions: Iterable[int]) -> list[str]:
        """Names of the attributes at some positions."""
        return [self.schema.names[j] for j in positions]

    def _check_margins(self, positions: Iterable[int]) -> None:
        shape = self.domain.whole.shape
        filtered = math.prod(shape[j] + 1 for j in self.domain.filtered)
        cells = filtered * math.prod(self.schema.shape[j] + 1 for j in positions)
        if cells > INNER_CELLS:
            raise DomainTooLarge(
                f"attributes: {cells} cells of all margins together; expected at most"
                f" {INNER_CELLS}, so fewer attributes or a lower max_length",
                field="attributes",
            )

    def _estimate(self, attributes: Sequence[str], answering: Sequence[str] = ()) -> Table:
        check_deadline()
        # Every table of a filter has the same number of reports, despite rounding.
        table = self.domain.table(
            self._joint, attributes, answering, self.reports, lambda: self._joint(attributes)
        )
        if self.domain.leaves_out([*attributes, *answering]):
            self._check_answered(table)
        return table

    def _joint(self, names: Sequence[str]) -> Table:
        """Estimate the table of all people."""
        table = self.reconstruction.table(self.counts, names)
        if self.possible:
            table = most_likely_table(self.survey, self.counts, table)
        return merged(table.sampled(self.fraction), self.merging.parts)

    def _error_of_base(self, table: DerivedTable) -> float:
        """Standard error of the share of a domain, including sampling error for any target."""
        return (table if table.is_sample else table.sampled(0.0)).base_error()

    def _check_answered(self, table: Table) -> None:
        """Refuse a table whose questions were all answered by too few people."""
        assert isinstance(table, DerivedTable)  # noqa: S101 - people are excluded from it
        if not table.base > NEARLY_LINEAR * self._error_of_base(table):
            raise EstimateError(
                f"missing: those who answered {', '.join(table.joint.axes)} are"
                f" {percent(table.base, 1)} of everybody, {TOO_SMALL}; expected keep, or more"
                " reports",
                field="missing",
            )

    @cached_property
    def _group(self) -> DerivedTable | None:
        """Domain table without axes; its base is the share of the domain."""
        if not self._where:
            return None
        try:
            self.reconstruction.check(self._where)
            joint = self._joint(self._where)
        except (ParameterError, EstimateError) as error:
            message = str(error).replace("attributes:", "where:", 1)
            raise type(error)(message, field="where") from None
        return restricted(joint, 0, self.domain.codes)

    def _check_domain(self) -> None:
        group = self._group
        share, error = (group.base, self._error_of_base(group)) if group else (1.0, 0.0)
        if not share > NEARLY_LINEAR * error:
            known = "" if math.isnan(error) else f" {half_width(normal_quantile(0.05) * error)}"
            raise EstimateError(
                f"where: those with {items(self.domain.where)} are {percent(share, 1)}{known}"
                f" of everybody, {TOO_SMALL}; expected a larger group, or more reports",
                field="where",
            )
        if self.identified_sets.longest < 1:
            raise ParameterError(
                "where: no report is about further attributes together with these; expected fewer,"
                " so that one is left to ask about",
                field="where",
            )


def _sampled_fraction(reports: int, people: int | None) -> float:
    """Return the sampled share of a population; 0 for a large one."""
    if people is None:
        return 0.0
    if reports > people:
        raise ParameterError(
            f"population: {reports} reports have been counted; expected at least as many people",
            field="population",
        )
    return reports / people


def _one_or_several(where: Answers) -> dict[str, str | list[str]]:
    """Return answers as a result lists them: a single answer as a text, several as a list."""
    listed: dict[str, str | list[str]] = {}
    for name, answers in where.items():
        several = [answers] if isinstance(answers, str) else list(dict.fromkeys(answers))
        listed[name] = several[0] if len(several) == 1 else several
    return listed
