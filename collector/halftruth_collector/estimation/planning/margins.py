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

import numpy as np
import scipy
from halftruth_shared import Mechanism, ParameterError, Perturbation, Schema, Survey
from halftruth_shared.analyses.base import Target
from halftruth_shared.analyses.regression import RegressionQuery
from halftruth_shared.deadlines import check_deadline
from numpy.typing import NDArray

from ..answers import answer_codes, nothing_missing
from ..automatic import modelled
from ..bounds import Array, normal_quantile
from ..contrasts import Contrasts, Groups, compare_groups
from ..counts import Counts
from ..distribution import Distributions, scale_of
from ..domain import Domain
from ..equation import Equation, equation
from ..independence import Departures
from ..intervals import table_intervals
from ..model import LoglinearModel
from ..model import shares as modelled_shares
from ..model.fit import at_independent_answers, feasible, off_the_edge, schema_of
from ..ratios import conditional_shares
from ..reconstruction import of_perturbation
from ..regression import carries, fit_table
from ..table import COVARIANCE_CELLS, Reconstruction, Table
from ..variances import UnitVariance

#: Power and level of the test for which a difference or an association is called detectable.
POWER, LEVEL = 0.8, 0.05

#: Largest number of steps for a detectable difference, and the change at which they end.
_STEPS, _NEAR = 50, 1e-5

#: Number of reports for the expected information; that of one report is in proportion.
_MANY = 10**12

#: Cells that conditions make impossible have a share of 0 but for rounding.
_ROUNDING = 1e-12

#: Returns counts or shares of people by some attributes, an axis for each.
People = Callable[[Sequence[str]], Array]


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
        answers are equally frequent.
    target : {"population", "respondents"}
    """

    perturbation: Perturbation
    respondents: int
    confidence: float = 0.95
    people: People | None = None
    target: Target = "population"

    @property
    def schema(self) -> Schema:
        return self.perturbation.schema

    @property
    def _unbiased(self) -> Reconstruction:
        return of_perturbation(self.perturbation)

    def shares(self, names: Sequence[str]) -> Array:
        """Return the assumed shares of the table of some attributes."""
        if self.people is not None:
            table = self.people(names)
        else:
            part = schema_of(self.schema, names)
            possible = feasible(part)
            even = np.ones(part.shape) if possible is None else possible.astype(np.float64)
            table = even.transpose([part.names.index(name) for name in names])
        return np.asarray(table / table.sum())

    def table(self, names: Sequence[str]) -> Table:
        """Return the expected table of some attributes."""
        return self._table_of(tuple(names))

    @cached_property
    def _table_of(self) -> Callable[[tuple[str, ...]], Table]:
        return cache(lambda names: self._table(names, self.shares(names)))

    def cells(self, names: Sequence[str]) -> int:
        """Return the number of cells of the table of some attributes."""
        return math.prod(self.schema.shape[j] for j in self.schema.positions(names))

    def identifies(self, names: Sequence[str]) -> bool:
        """Return whether the reports identify the table of some attributes."""
        try:
            self._unbiased.check(names)
        except ParameterError:
            return False
        return True

    def likeness(self, names: Sequence[str]) -> tuple[object, ...]:
        """Return a key that is equal only for tables with equal margins of error.

        For even answers, it depends on the numbers of answers and on the perturbation.
        """
        attributes = [self.schema.attributes[j] for j in self.schema.positions(names)]
        uneven = self.people is not None or any(each.ask_if for each in attributes)
        if uneven or len(names) > 2:
            return tuple(names)
        parts = dict.fromkeys((tuple(names), *((name,) for name in names)))
        variances = (self._variance_of(part) for part in parts)
        return (
            *(len(attribute.categories) for attribute in attributes),
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

    def share(self, name: str) -> float:
        """Return the margin of the share of an answer to a question."""
        table = self.table([name])
        lower, upper = table_intervals(table, self.confidence)
        return _median((upper - lower) / 2, table.value)

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
        of_all = Distributions.of_table(self.schema, self.table([name]))
        found = of_all.means(values, normal_quantile(1 - self.confidence))
        return _finite(float(found.upper[0] - found.lower[0]) / 2 / float(np.ptp(values)))

    def share_within(self, group: str, name: str) -> float:
        """Return the margin of the share of an answer within a group."""
        table = self.table([group, name])
        shares = conditional_shares(table.value, table.identified_covariance(), [0])
        sets = shares.sets(normal_quantile(1 - self.confidence))
        return _median(sets.half_width.reshape(table.value.shape), table.value)

    def difference(self, group: str, name: str) -> float:
        """Return the margin of the difference of the shares of an answer in two groups."""
        shares = self.shares([group, name])
        found = self._contrast(shares, group, name)
        return _finite(float(found.upper[0] - found.lower[0]) / 2)

    def detectable_difference(self, group: str, name: str) -> float:
        """Return the difference of an answer's shares in two groups that is detected with `POWER`.

        The answer has its assumed share in one group and a larger share in the other. The
        detectable difference is the quantile of the level times the standard error under equality,
        plus the quantile of the power times the standard error of the difference.
        """
        shares = self.shares([group, name])
        (first, _), answer = self._compared(shares, group, name)
        others = np.arange(shares.shape[1]) != answer
        base = shares[first].sum()
        present = shares[first, answer] / base
        difference = self.difference(group, name)
        for _ in range(_STEPS):
            check_deadline()
            if not present + difference < 1:
                return math.inf
            moved, before = shares.copy(), difference
            moved[first, answer] = (present + difference) * base
            moved[first, others] *= (1 - present - difference) / (1 - present)
            found = self._contrast(moved, group, name)
            score = -scipy.special.ndtri(found.p_value[0] / 2)
            needed = normal_quantile(LEVEL) * difference / score
            needed += scipy.special.ndtri(POWER) * float(found.standard_error[0])
            difference = _finite(needed)
            if abs(difference - before) < _NEAR:
                break
        return difference

    def _contrast(self, shares: Array, group: str, name: str) -> Contrasts:
        """Compare the middle groups in a table of these shares."""
        chosen, answer = self._compared(self.shares([group, name]), group, name)
        table = self._table([group, name], shares)
        groups = Groups.of_table(table, ("first", "second"), chosen, answer)
        return compare_groups(groups, 1, "difference", self.confidence)

    def _compared(self, shares: Array, group: str, name: str) -> tuple[tuple[int, int], int]:
        """Return two groups and an answer, of median sizes."""
        attributes = (self.schema.attributes[j] for j in self.schema.positions([group, name]))
        groups, answers = (
            sorted(answer_codes(attribute), key=lambda code: -sizes[code])
            for attribute, sizes in zip(
                attributes, (shares.sum(axis=1), shares.sum(axis=0)), strict=True
            )
        )
        place = (len(groups) - 1) // 2
        return (groups[place], groups[place + 1]), answers[len(answers) // 2]

    def detectable_association(self, first: str, second: str) -> float:
        """Return Cramér's V that the test of independence of two questions detects with `POWER`.

        The noncentrality is the mean over all directions of departure from independence.
        """
        shares = self.shares([first, second])
        independent = np.multiply.outer(shares.sum(axis=1), shares.sum(axis=0))
        kept = independent.ravel() > 0
        departures = Departures(self._table([first, second], independent))
        units = np.sqrt(independent.ravel()[kept])
        spread = departures.covariance[np.ix_(kept, kept)] / np.outer(units, units)
        variances = np.linalg.eigvalsh(spread)
        rows, columns = ((shares.sum(axis=axis) > 0).sum() for axis in (1, 0))
        freedom = (rows - 1) * (columns - 1)
        if not freedom:
            return math.inf
        information = float((1 / variances[-freedom:]).mean())
        limit = scipy.special.chdtri(freedom, LEVEL)
        needed = float(scipy.special.chndtrinc(limit, freedom, 1 - POWER))
        v = math.sqrt(needed / information / (min(rows, columns) - 1))
        return v if v <= 1 else math.inf

    def odds_ratio(self, *names: str) -> float:
        """Return the margin, a factor, of odds ratios of the last question on the other ones.

        The estimate is the default one: from the table of these answers if the reports are
        expected to suffice, otherwise from the loglinear model at independent answers. A numeric
        predictor is in units of two standard deviations, comparable with a yes/no predictor
        (Gelman 2008).
        """
        *predictors, outcome = names
        sizes = self.shares([outcome])
        attribute = self.schema.attributes[self.schema.position(outcome)]
        answers = sorted(answer_codes(attribute), key=lambda code: -sizes[code])
        present = attribute.categories[answers[len(answers) // 2]]
        query = RegressionQuery(outcome=outcome, predictors=predictors, present={outcome: present})
        model = equation(self.schema, query)
        kept = nothing_missing(self.schema, model.names)
        if self._carries(model, kept):
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
        widths = normal_quantile(1 - self.confidence) * fit.standard_error[1:] * units
        with np.errstate(over="ignore"):
            return _finite(float(np.exp(np.median(widths))))

    def _carries(self, model: Equation, kept: NDArray[np.bool_]) -> bool:
        """Return whether a regression is fitted to the table of its answers by default."""
        if not self.identifies(model.names) or model.cells > COVARIANCE_CELLS:
            return False
        single = [off_the_edge(self.shares([name]), self.respondents) for name in model.names]
        return carries(self.table(model.names), model, single, kept)

    def _model(self, names: Sequence[str]) -> LoglinearModel | None:
        """Return the expected loglinear model of these answers; None if it is not identified."""
        about = modelled(Survey("plan", "Plan", self.schema, self.perturbation.mechanism), names)
        return self._model_of(tuple(self.schema.names if about is None else about))

    @cached_property
    def _model_of(self) -> Callable[[tuple[str, ...]], LoglinearModel | None]:
        """Return the model of some attributes; most regressions share that of all."""

        def fitted(names: tuple[str, ...]) -> LoglinearModel | None:
            single = None
            if self.people is not None:
                asked = [name for name in self.schema.names if name in names]
                single = [off_the_edge(self.shares([name]), self.respondents) for name in asked]
            mechanism = self.perturbation.mechanism
            return expected_model(self.schema, mechanism, self.respondents, names, single)

        return cache(fitted)


def expected_model(
    schema: Schema,
    mechanism: Mechanism,
    respondents: int,
    attributes: Sequence[str] | None = None,
    single: Sequence[Array] | None = None,
) -> LoglinearModel | None:
    """Return the model of all pairs that a survey is expected to give; None if not identified.

    Parameters
    ----------
    attributes : sequence of str, optional
        All by default.
    single : sequence of ndarray, optional
        Positive shares of the answers to each question, in the order of the survey; even by
        default.

    Raises
    ------
    DomainTooLarge
        If the model has too many cells or parameters.
    """
    survey = Survey("plan", "Plan", schema, mechanism)
    views = survey.perturbation.views
    # The expected information depends on the number of reports of each view, not on the reports.
    cells = np.zeros((len(views), len(survey.report_space.shape)), dtype=np.int64)
    if not survey.perturbation.reports_records:
        cells[:, -1] = [view.first for view in views]
    weights = np.array([view.weight for view in views], dtype=np.float64)
    expected = np.rint(weights / weights.sum() * _MANY).astype(np.int64)
    counts = Counts.from_cells(survey, cells, expected)
    model = at_independent_answers(survey, counts, attributes or schema.names, single)
    if model is None:
        return None
    covariance = model.covariance * (counts.reports / respondents)
    return replace(model, covariance=covariance, reports=respondents)


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
