"""Planned margins of error and power, from the expected table of each question or pair.

The expected table has the assumed shares and the covariance of the planned number of reports. The
functions that estimate from reports then estimate from this table, so planned and obtained margins
differ only by chance. The margin of a question or pair is the median over its cells with a positive
share.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Protocol

import numpy as np
import scipy
from halftruth_shared import Perturbation, Schema
from halftruth_shared.analyses.base import Target
from halftruth_shared.analyses.plan import Planned
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.channels.axes import apply_along
from halftruth_shared.deadlines import check_deadline

from ..answers import answer_codes, nothing_missing
from ..automatic import FEW_PREDICTORS, determines_regression, modelled
from ..bounds import Array, normal_quantile
from ..contrasts import compare_groups, shares_within
from ..derived import merged, restricted
from ..distribution import means_of, scale_of
from ..domain import Domain
from ..equation import Equation, equation
from ..estimates import Estimates, shares_of_table
from ..false_reports import statistics, to_undo
from ..groups import combines, group_codes, group_sums, in_detail, in_groups, records_of_cells
from ..identified import IdentifiedSets
from ..independence import Departures
from ..intervals import SHARE
from ..model import LoglinearModel
from ..model import shares as modelled_shares
from ..model.fit import schema_of
from ..reconstruction import of_perturbation
from ..regression import fit_table
from ..scales import LARGEST, Binormal, Polychoric
from ..subgroups import Groups
from ..table import COVARIANCE_CELLS, Table
from ..variances import UnitVariance
from .expected_models import expected_model, planned_survey

#: Power and level of the test for which a difference or an association is called detectable.
POWER, LEVEL = 0.8, 0.05

#: Largest number of steps for a detectable difference, and the change at which they end.
_STEPS, _NEAR = 50, 1e-5

#: Cells that conditions make impossible have a share of 0 but for rounding.
_ROUNDING = 1e-12

#: Share of the group, or of the answer whose odds are compared, that is planned besides even ones.
#: Of two questions of two answers, a share of 20 % widens the interval of a log odds ratio, and
#: that of a difference between the groups, by about 1.8.
RARE = 0.2

#: Quantities that are planned for a share of `RARE`, too; the others hardly depend on it.
OF_RARE = ("share_within", "difference", "detectable_difference", "odds_ratio")

#: Effects that are tested as in results, so that false reports can undo a finding.
UNDONE = ("detectable_difference", "detectable_association", "detectable_correlation")

#: Returns counts or shares of people by some attributes, an axis for each.
People = Callable[[Sequence[str]], Array]


class PlannedTables(Protocol):
    """Tables that a mechanism is expected to give, as `Reconstruction` has them."""

    @property
    def identified_sets(self) -> IdentifiedSets:
        """Sets of attributes whose joint table the reports identify."""

    def identified(self, attributes: Sequence[str], /) -> bool:
        """Return whether the reports identify the table of some attributes."""

    def expected_table(self, attributes: Sequence[str], shares: Array, reports: int, /) -> Table:
        """Return the table for a number of reports with exactly the expected frequencies."""

    def unit_variance(self, attributes: Sequence[str], target: Target, /) -> UnitVariance:
        """Return N times the expected variance of the table, for evenly spread answers."""


@dataclass(frozen=True, eq=False)
class Expectation:
    """Tables that a survey is expected to give, and margins of error planned from them.

    Each quantity of `Planned` is a method of the same name. A margin is infinite if this number of
    reports cannot determine it: if a group is not significantly above zero, or if no difference is
    detectable.

    Attributes
    ----------
    perturbation : Perturbation
    respondents : int
    confidence : float
        Level of the intervals; a margin is the half-width of one.
    people : callable, optional
        Counts of the people who are assumed to answer; by default all feasible combinations of
        answers are equally frequent, so that a group of answers has people in proportion to its
        number of answers.
    target : {"population", "respondents"}
    rare : tuple of str and int, optional
        Attribute and code of an answer that at most `RARE` of the people give, without another
        change of their answers.
    tables : PlannedTables, optional
        Tables of another mechanism that asks the same questions in detail, instead of those of the
        perturbation. Tables of several questions are merged into groups of answers if the
        perturbation has groups.
    """

    perturbation: Perturbation
    respondents: int
    confidence: float = 0.95
    people: People | None = None
    target: Target = "population"
    rare: tuple[str, int] | None = None
    tables: PlannedTables | None = None

    @property
    def schema(self) -> Schema:
        return self.perturbation.schema

    @property
    def _unbiased(self) -> PlannedTables:
        return of_perturbation(self.perturbation) if self.tables is None else self.tables

    def shares(self, names: Sequence[str]) -> Array:
        """Return the assumed shares of the table of some attributes, not to be written to."""
        return self._shares_of(tuple(names))

    @cached_property
    def _shares_of(self) -> Callable[[tuple[str, ...]], Array]:
        def shares(names: tuple[str, ...]) -> Array:
            found = self._assumed(names)
            found.flags.writeable = False
            return found

        return cache(shares)

    def _assumed(self, names: Sequence[str]) -> Array:
        if self.people is not None:
            table = self.people(names)
        else:
            part = schema_of(self.schema, names)
            even = records_of_cells(part, self.schema)
            table = even.transpose([part.names.index(name) for name in names])
        shares = np.asarray(table / table.sum())
        if self.rare is None or self.rare[0] not in names:
            return shares
        axis, code = list(names).index(self.rare[0]), self.rare[1]
        own = float(shares.take(code, axis).sum())
        rest = 1.0 if own >= 1 else (1 - min(own, RARE)) / (1 - own)
        factor = np.full(shares.shape[axis], rest)
        factor[code] = min(1.0, RARE / own) if 0 < own < 1 else 1.0
        others = [k for k in range(shares.ndim) if k != axis]
        return np.asarray(shares * np.expand_dims(factor, others))

    def reading(self, names: Sequence[str]) -> "Expectation":
        """Return the expectation in which tables of some attributes are read.

        A table of several perturbed attributes has the groups of their answers.
        """
        return self._in_groups if combines(self.perturbation, names) else self

    @cached_property
    def _in_groups(self) -> "Expectation":
        grouped, schema = in_groups(self.perturbation), self.schema
        if grouped is self.perturbation:
            return self
        people = self.people

        def summed(names: Sequence[str]) -> Array:
            assert people is not None  # noqa: S101 - only then it is called
            table = people(names)
            for axis, j in enumerate(schema.positions(names)):
                if schema.attributes[j].collapsed:
                    sums = group_sums(group_codes(schema.attributes[j]))
                    table = apply_along(sums, table, axis)
            return np.asarray(table)

        tables = None if self.tables is None else _MergedTables(self)
        return replace(
            self,
            perturbation=grouped,
            people=None if people is None else summed,
            tables=tables,
        )

    def with_rare(self, quantity: Planned, names: Sequence[str]) -> "Expectation":
        """Return the tables for one of `OF_RARE` if few people are in a group or give an answer.

        They are the people of one of the two groups; for an odds ratio, those with the answer.
        """
        if quantity == "odds_ratio":
            return self._with_rare_of(names[-1], self._middle_answer(names[-1]))
        group, name = names
        (first, _), _ = self._compared(group, name)
        return self._with_rare_of(group, first)

    @cached_property
    def _with_rare_of(self) -> Callable[[str, int], "Expectation"]:
        return cache(lambda name, code: replace(self, rare=(name, code)))

    def table(self, names: Sequence[str]) -> Table:
        """Return the expected table of some attributes."""
        return self._table_of(tuple(names))

    @cached_property
    def _table_of(self) -> Callable[[tuple[str, ...]], Table]:
        return cache(lambda names: self._table(names, self.shares(names)))

    def cells(self, names: Sequence[str]) -> int:
        """Return the number of cells of the table of some attributes."""
        return math.prod(self.schema.shape[j] for j in self.schema.positions(names))

    @property
    def longest(self) -> int:
        """Largest number of perturbed questions of which any table is identified."""
        return self._unbiased.identified_sets.any_of

    def identifies(self, names: Sequence[str]) -> bool:
        """Return whether the reports identify the table of some attributes."""
        return self._unbiased.identified(names)

    def likeness(self, names: Sequence[str]) -> tuple[object, ...]:
        """Return a key that is equal only for tables with equal margins of error.

        For even answers, it depends on the numbers of answers, in each group if there are groups,
        and on the perturbation.
        """
        attributes = [self.schema.attributes[j] for j in self.schema.positions(names)]
        uneven = self.people is not None or any(each.ask_if for each in attributes)
        if uneven or not self.identifies(names):
            return tuple(names)
        parts = dict.fromkeys((tuple(names), *((name,) for name in names)))
        variances = (self._variance_of(part) for part in parts)
        return (
            *(np.round(self.shares([name]), 9).tobytes() for name in names),
            *(attribute.missing for attribute in attributes),
            *(attribute.number and attribute.number.midpoints for attribute in attributes),
            *(np.round(each.constant, 9).tobytes() for each in variances),
        )

    @cached_property
    def _variance_of(self) -> Callable[[tuple[str, ...]], UnitVariance]:
        return cache(lambda names: self._unbiased.unit_variance(names, self.target))

    def _table(self, names: Sequence[str], shares: Array) -> Table:
        table = self._unbiased.expected_table(names, shares, self.respondents)
        return table.sampled(1.0 if self.target == "respondents" else 0.0)

    def share(self, *names: str) -> float:
        """Return the margin of the share of an answer to a question, or of answers to several."""
        table = self.table(names)
        return self._median(shares_of_table(table, SHARE), table.value)

    def _margin(self, estimate: Estimates) -> float:
        """Return the half-width of the interval of one estimate."""
        return _finite(float(estimate.interval(self.confidence).half_width[0]))

    def _median(self, estimates: Estimates, shares: Array) -> float:
        """Return the median half-width over the cells that are possible."""
        return _median(estimates.interval(self.confidence).half_width, shares.ravel())

    def detectable_share(self, name: str) -> float:
        """Return the smallest share of an answer that is significantly above 0 with `POWER`."""
        table = self.table([name])
        design = table.unit_variance()
        if design is None:
            return math.inf
        errors = normal_quantile(LEVEL) + scipy.special.ndtri(POWER)
        smallest = design.smallest_share(errors**2 / self.respondents)
        return _median(np.where(smallest < 1, smallest, np.inf), table.value)

    def mean(self, name: str) -> float:
        """Return the margin of the mean of a question, relative to the range of its numbers."""
        values = scale_of(self.schema.attributes[self.schema.position(name)], {}).values
        found = means_of(Groups.answered(self.schema, self.table([name])), values)
        return self._margin(found) / float(np.ptp(values))

    def share_within(self, group: str, name: str) -> float:
        """Return the margin of the share of an answer within a group, or in the rare group."""
        table = self.table([group, name])
        found = shares_within(table, [0]).interval(self.confidence).half_width
        rows = slice(None) if self.rare is None else self.rare[1]
        return _median(found.reshape(table.value.shape)[rows], table.value[rows])

    def difference(self, group: str, name: str) -> float:
        """Return the margin of the difference of the shares of an answer in two groups."""
        return self._difference_of(group, name)

    @cached_property
    def _difference_of(self) -> Callable[[str, str], float]:
        def margin(group: str, name: str) -> float:
            return self._margin(self._contrast(self.table([group, name]), group, name))

        return cache(margin)

    def detectable_difference(self, group: str, name: str) -> float:
        """Return the difference of an answer's shares in two groups that is detected with `POWER`.

        The answer has its assumed share in one group and a larger share in the other. The
        detectable difference is the quantile of the level times the standard error under equality,
        plus the quantile of the power times the standard error of the difference.
        """
        return self._detectable_difference(group, name)

    @cached_property
    def _detectable_difference(self) -> Callable[[str, str], float]:
        def detectable(group: str, name: str) -> float:
            difference = self.difference(group, name)
            for _ in range(_STEPS):
                check_deadline()
                found, before = self._differing(group, name, difference), difference
                if found is None:
                    return math.inf
                score = -scipy.special.ndtri(np.asarray(found.p_value)[0] / 2)
                needed = normal_quantile(LEVEL) * difference / score
                needed += scipy.special.ndtri(POWER) * float(found.standard_error[0])
                difference = _finite(needed)
                if abs(difference - before) < _NEAR:
                    break
            return difference

        return cache(detectable)

    def _differing(self, group: str, name: str, difference: float) -> Estimates | None:
        """Compare two groups whose shares of an answer differ so much; None if they cannot."""
        shares = self.shares([group, name])
        (first, _), answer = self._compared(group, name)
        others = np.arange(shares.shape[1]) != answer
        base = shares[first].sum()
        present = shares[first, answer] / base
        if not present + difference < 1:
            return None
        moved = shares.copy()
        moved[first, answer] = (present + difference) * base
        moved[first, others] *= (1 - present - difference) / (1 - present)
        return self._contrast(self._table([group, name], moved), group, name)

    def undone_by(self, quantity: Planned, names: Sequence[str]) -> float:
        """Return how many false reports would undo what is just detectable, one of `UNDONE`.

        The statistic is that of a typical survey with just this effect, infinite where no number of
        false reports would undo it.
        """
        first, second = names
        match quantity:
            case "detectable_difference":
                difference = self.detectable_difference(first, second)
                return self.undone_difference(first, second, difference)
            case "detectable_association":
                return self._undone_association(first, second)
        return self._undone_correlation(first, second)

    def undone_difference(self, group: str, name: str, difference: float) -> float:
        """Return how many false reports would undo a difference of an answer in two groups.

        It is infinite also if the difference is typically not significant.
        """
        found = self._differing(group, name, difference)
        if found is None or (moved := found.moved_by()) is None:
            return math.inf
        return self._to_undo(statistics(np.asarray(found.p_value)), normal_quantile(LEVEL), moved)

    def _to_undo(self, z: Array, critical: float, moved: Array) -> float:
        return _finite(float(to_undo(z, critical, moved, self.respondents)[0]))

    def _contrast(self, table: Table, group: str, name: str) -> Estimates:
        """Compare the middle groups in a table of the group and the question."""
        chosen, answer = self._compared(group, name)
        groups = Groups.of_codes(table, chosen, ("first", "second"))
        return compare_groups(groups, answer, 1, "difference", self.confidence)

    def _compared(self, group: str, name: str) -> tuple[tuple[int, int], int]:
        """Return two groups and an answer, of median sizes."""
        groups = self._by_size(group)
        place = (len(groups) - 1) // 2
        return (groups[place], groups[place + 1]), self._middle_answer(name)

    def _middle_answer(self, name: str) -> int:
        answers = self._by_size(name)
        return answers[len(answers) // 2]

    def _by_size(self, name: str) -> list[int]:
        """Return the codes of the answers to a question, the largest share first."""
        sizes = replace(self, rare=None).shares([name])
        attribute = self.schema.attributes[self.schema.position(name)]
        return sorted(answer_codes(attribute), key=lambda code: -sizes[code])

    def detectable_association(self, first: str, second: str) -> float:
        """Return Cramér's V that the test of independence of two questions detects with `POWER`.

        The noncentrality is the mean over all directions of departure from independence.
        """
        departures, independent, (rows, columns) = self._independent(first, second)
        freedom = (rows - 1) * (columns - 1)
        if not freedom:
            return math.inf
        kept = independent.ravel() > 0
        units = np.sqrt(independent.ravel()[kept])
        spread = departures.covariance[np.ix_(kept, kept)] / np.outer(units, units)
        variances = np.linalg.eigvalsh(spread)
        information = float((1 / variances[-freedom:]).mean())
        v = math.sqrt(_noncentrality(freedom) / information / (min(rows, columns) - 1))
        return v if v <= 1 else math.inf

    def _independent(self, first: str, second: str) -> tuple[Departures, Array, tuple[int, int]]:
        """Return the departures of independent answers, their shares, and the number of answers."""
        return self._independent_of(first, second)

    @cached_property
    def _independent_of(
        self,
    ) -> Callable[[str, str], tuple[Departures, Array, tuple[int, int]]]:
        def independent(first: str, second: str) -> tuple[Departures, Array, tuple[int, int]]:
            shares = self.shares([first, second])
            rows, columns = (shares.sum(axis=axis) for axis in (1, 0))
            people = np.multiply.outer(rows, columns)
            numbers = int((rows > 0).sum()), int((columns > 0).sum())
            return Departures(self._table([first, second], people)), people, numbers

        return cache(independent)

    def _undone_association(self, first: str, second: str) -> float:
        """Return how many false reports would undo a just detectable association.

        A false report moves √χ² as much as on average over the departures by which one cell differs
        most clearly, in both directions.
        """
        if not math.isfinite(self.detectable_association(first, second)):
            return math.inf
        departures, independent, (rows, columns) = self._independent(first, second)
        freedom = (rows - 1) * (columns - 1)
        free = (independent > _ROUNDING).ravel() & (departures.variance.ravel() > 0)
        forms = np.diag(1 / np.sqrt(np.where(free, departures.variance.ravel(), np.inf)))[free]
        moved = departures.largest_falls(np.vstack([forms, -forms])).mean(keepdims=True)
        median = scipy.special.chndtrix(0.5, freedom, _noncentrality(freedom))
        limit = math.sqrt(scipy.special.chdtri(freedom, LEVEL))
        return self._to_undo(np.sqrt([median]), limit, moved)

    def detectable_correlation(self, first: str, second: str) -> float:
        """Return the polychoric correlation of two scales that is detected with `POWER`.

        The test is the score test that it is 0. The answers have their assumed shares.
        """
        return self._correlated(first, second)[0]

    def _undone_correlation(self, first: str, second: str) -> float:
        """Return how many false reports would undo a just detectable correlation."""
        _, expected = self._correlated(first, second)
        if expected is None:
            return math.inf
        score, table = expected.score(0.0), expected.table
        z, moved = np.array([[score.z(table)], [score.moved(table)]])
        return self._to_undo(np.abs(z), normal_quantile(LEVEL), moved)

    @cached_property
    def _correlated(self) -> Callable[[str, str], tuple[float, Polychoric | None]]:
        """Return the detectable correlation, and scales with it; infinite without any."""
        return cache(self._with_correlation)

    def _with_correlation(self, first: str, second: str) -> tuple[float, Polychoric | None]:
        names = [first, second]
        shares, kept = self.shares(names), []
        for axis, name in enumerate(names):
            attribute = self.schema.attributes[self.schema.position(name)]
            margin = shares.sum(axis=1 - axis)
            kept.append([code for code in answer_codes(attribute) if margin[code] > _ROUNDING])
        if min(map(len, kept)) < 2:
            return math.inf, None
        independent = np.multiply.outer(shares.sum(axis=1), shares.sum(axis=0))
        inside, answered = np.ix_(*kept), independent[np.ix_(*kept)]
        thresholds = Binormal.of_margins(
            *(answered.sum(axis=1 - axis) / answered.sum() for axis in range(2))
        )

        def expected(correlation: float) -> Polychoric:
            people = independent.copy()
            people[inside] = answered.sum() * thresholds.shares(correlation)
            return Polychoric(restricted(self._table(names, people), 2, kept))

        null = expected(0.0).score(0.0)

        def excess(correlation: float) -> float:
            check_deadline()
            table = expected(correlation)
            errors = normal_quantile(LEVEL) * math.sqrt(null.variance)
            variance = table.variance_of(null.form, correlation)
            errors += scipy.special.ndtri(POWER) * math.sqrt(max(variance, 0.0))
            return float(table.score(0.0).value - errors)

        if not null.variance > 0 or excess(LARGEST) < 0:
            return math.inf, None
        correlation = float(scipy.optimize.brentq(excess, 0.0, LARGEST, xtol=_NEAR))
        return correlation, expected(correlation)

    def odds_ratio(self, *names: str) -> float:
        """Return the margin, a factor, of odds ratios of the last question on the other ones.

        The estimate is the default one: from the table of these answers, or else from a loglinear
        model with the associations of the people. A numeric predictor is in units of two standard
        deviations, comparable with a yes/no predictor (Gelman 2008).
        """
        *predictors, outcome = names
        if not all(self.identifies([name, outcome]) for name in predictors):
            return math.inf
        attribute = self.schema.attributes[self.schema.position(outcome)]
        present = attribute.categories[self._middle_answer(outcome)]
        query = RegressionQuery(outcome=outcome, predictors=predictors, present={outcome: present})
        model = equation(self.schema, query)
        kept = nothing_missing(self.schema, model.names)
        if self._determines(model):
            fit = fit_table(self.table(model.names), model, kept)
        else:
            answered = self._model(model.names)
            if answered is None:
                return math.inf
            domain = Domain(answered.schema, {}, answered=True)
            fit = fit_table(domain.table(partial(modelled_shares, answered), model.names), model)
        units = [
            2 * _deviation(self.shares([each.name]), each.values) if each.is_scored else 1.0
            for each in model.predictors.each
            for _ in each.factors
        ]
        widths = normal_quantile(1 - self.confidence) * fit.coefficients.standard_error[1:] * units
        with np.errstate(over="ignore"):
            return _finite(float(np.exp(np.median(widths))))

    def _determines(self, model: Equation) -> bool:
        """Return whether a regression is fitted to the table of its answers by default."""
        if not self.identifies(model.names) or model.cells > COVARIANCE_CELLS:
            return False
        return determines_regression(self.schema, self.table(model.names), model)

    def _model(self, names: Sequence[str]) -> LoglinearModel | None:
        """Return the model that a regression is fitted to otherwise; None if not identified."""
        if len(names) - 1 <= FEW_PREDICTORS:
            saturated = self._model_of(tuple(names), (tuple(names),))
            if saturated is not None:
                return saturated
        about = modelled(planned_survey(self.schema, self.perturbation.mechanism), names)
        return self._model_of(tuple(self.schema.names if about is None else about), None)

    @cached_property
    def _model_of(
        self,
    ) -> Callable[[tuple[str, ...], tuple[tuple[str, ...], ...] | None], LoglinearModel | None]:
        """Return the model of some attributes and terms; many regressions share that of all."""

        def fitted(
            names: tuple[str, ...], terms: tuple[tuple[str, ...], ...] | None
        ) -> LoglinearModel | None:
            people, grouped = None, in_detail(self.schema) is not self.schema
            if self.people is not None or self.rare is not None or grouped:
                schema_of(self.schema, names)
                people = self.shares([name for name in self.schema.names if name in names])
            mechanism = self.perturbation.mechanism
            return expected_model(self.schema, mechanism, self.respondents, names, terms, people)

        return cache(fitted)


class _MergedTables:
    """Tables of answers in detail, merged into the groups that the expectation's questions have."""

    def __init__(self, detail: Expectation) -> None:
        assert detail.tables is not None  # noqa: S101 - otherwise the perturbation has groups
        self._detail, self._tables = detail, detail.tables

    @property
    def identified_sets(self) -> IdentifiedSets:
        return self._tables.identified_sets

    def identified(self, attributes: Sequence[str]) -> bool:
        return self._tables.identified(attributes)

    def expected_table(self, attributes: Sequence[str], shares: Array, reports: int) -> Table:
        """Return the merged table; people of a group have the answers that are assumed."""
        every = [
            self._detail.schema.attributes[j] for j in self._detail.schema.positions(attributes)
        ]
        codes = [
            group_codes(each) if each.collapsed else np.arange(len(each.categories))
            for each in every
        ]
        detailed, sums = self._detail.shares(attributes), np.zeros_like(shares)
        np.add.at(sums, np.ix_(*codes), detailed)
        factor = shares / np.where(sums > 0, sums, 1.0)
        table = self._tables.expected_table(attributes, detailed * factor[np.ix_(*codes)], reports)
        parts = {
            each.name: [np.flatnonzero(own == group).tolist() for group in range(own.max() + 1)]
            for each, own in zip(every, codes, strict=True)
            if each.collapsed
        }
        return merged(table, parts)

    def unit_variance(self, attributes: Sequence[str], target: Target) -> UnitVariance:
        """Return that of the answers in detail, by which tables are told apart."""
        return self._tables.unit_variance(attributes, target)


def _noncentrality(freedom: int) -> float:
    """Return the noncentrality of χ² that its test detects with `POWER`."""
    limit = scipy.special.chdtri(freedom, LEVEL)
    return float(scipy.special.chndtrinc(limit, freedom, 1 - POWER))


def _deviation(shares: Array, values: Array) -> float:
    """Return the standard deviation of scores."""
    scores, weights = values.ravel(), shares[: values.size] / shares[: values.size].sum()
    return float(np.sqrt(weights @ (scores - weights @ scores) ** 2))


def _median(margins: Array, shares: Array) -> float:
    """Return the median over the cells that are possible; infinite if undefined."""
    present = margins[shares > _ROUNDING]
    return _finite(float(np.median(np.where(np.isnan(present), np.inf, present))))


def _finite(margin: float) -> float:
    return float(margin) if math.isfinite(margin) else math.inf
