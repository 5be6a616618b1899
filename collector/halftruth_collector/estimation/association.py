"""Association measures of reconstructed tables, with errors by the delta method.

Their variance is ∇gᵀ Cov(π̂) ∇g (Guo §3.3.1) with exact gradients. That assumes that a measure, or
the logarithm of a ratio, is nearly linear over the error of the table. Measures whose gradient is 0
at independence are corrected to second order.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any, NamedTuple

import msgspec
import numpy as np
from halftruth_shared import Attribute, DomainTooLarge, ParameterError, Schema
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.errors import NotReportedYet
from halftruth_shared.results import EstimateColumns, Quantity, Texts, quantity
from numpy.typing import NDArray

from .answers import answered, answers_of, presence
from .bounds import Array, normal_quantile, significantly_positive
from .derived import merged
from .estimates import Estimates, complex_steps, delta_error, derivatives, normal_sets
from .estimator import Estimator
from .independence import Departures, JointTest
from .intervals import ConfidenceSets
from .measures import (
    CRAMERS_V,
    MEASURE_NAMES,
    OF_MANY,
    ORDERED_NAMES,
    REASONS,
    UNCLEAR,
    UNCLEAR_CELL,
    Cells,
    Factors,
    Measure,
    check_measures,
    find_measure,
)
from .merging import Merging, rare_merged
from .reliability import grades, margin
from .scales import estimate_scales, scales_of
from .selection import adjusted_p_values
from .table import Table

#: Every measure that a table may have.
ALL = (*MEASURE_NAMES, CRAMERS_V.name, *ORDERED_NAMES)

#: A variance of a measure below this fraction of the variances of the cells is rounding error.
_CANCELLED = 1e-12

#: Standard errors above 0 from which a logarithm is nearly linear.
_CLEAR_OF_LOGARITHMS = 3.0

#: Largest number of covariances of the tables of one batch.
_AT_ONCE = 2**18

#: Reason why a pair of a map has no estimate.
UNIDENTIFIED = "no report is about both questions"

#: Largest number of attributes of a map of associations.
MAX_ASSOCIATED = 32


@dataclass(frozen=True, eq=False)
class Batch:
    """R tables of one shape, from which measures are computed.

    Attributes
    ----------
    shares : ndarray, shape (*table, R)
    directions : ndarray, shape (*table, 1, V)
        Gradient of the cells in V variables.
    covariance : ndarray, shape (R, V, V)
        Of the variables.
    reports : int
        N.
    """

    shares: Array
    directions: Array
    covariance: Array
    reports: int

    @classmethod
    def of_tables(cls, shares: Array, covariance: Array, reports: int) -> "Batch":
        """Make a batch of tables with the covariances of their cells, shape (R, cells, cells)."""
        shape = shares.shape[:-1]
        size = math.prod(shape)
        return cls(shares, np.eye(size).reshape(*shape, 1, size), covariance, reports)

    def _named(self, shares: Any) -> Cells:
        return Cells(shares, self.shares.ndim - 1)

    @cached_property
    def cells(self) -> Cells:
        """The shares, under the names of the literature."""
        return self._named(self.shares)

    @cached_property
    def _stepped(self) -> Cells:
        """The shares after complex steps in all variables, which all measures have in common."""
        return self._named(complex_steps(self.shares, self.directions))

    def values(self, function: Callable[[Cells], Any]) -> tuple[Array, Array]:
        """Return a function of each table with its gradient: shapes (…, R) and (…, R, V)."""
        return derivatives(function, self.cells, self._stepped)

    @cached_property
    def cell_covariance(self) -> Array:
        """Covariance of the cells of each table, shape (R, cells, cells)."""
        cells = self.directions.reshape(-1, self.directions.shape[-1])
        return np.asarray(cells @ self.covariance @ cells.T)

    def curvature(self, slopes: Callable[[Cells], Any]) -> Array:
        """Return the product H V of each table, shape (R, cells, cells), from ∇g in the cells."""
        size = self.cell_covariance.shape[-1]
        _, change = derivatives(slopes, self.cells, self._stepped_along_covariance)
        return change.reshape(size, -1, size).swapaxes(0, 1)

    @cached_property
    def _stepped_along_covariance(self) -> Cells:
        """The shares after complex steps along the columns of the covariance of the cells."""
        size = self.cell_covariance.shape[-1]
        along = np.moveaxis(self.cell_covariance, 1, 0).reshape(*self.shares.shape, size)
        return self._named(complex_steps(self.shares, along))

    @cached_property
    def independent(self) -> "Batch":
        """The tables of independent answers with the same margins and covariances."""
        return replace(self, shares=np.asarray(self.cells.expected))

    def clear(
        self, shares: Callable[[Cells], Sequence[Any]], quantile: float = 0.0
    ) -> NDArray[np.bool_]:
        """Return the tables in which all shares are significantly above zero."""
        found = np.ones(self.shares.shape[-1], dtype=bool)
        for number in range(len(shares(self.cells))):
            value, gradient = self.values(partial(_part, shares, number))
            error = np.where(np.isnan(value), np.nan, delta_error(gradient, self.covariance))
            clear = significantly_positive(value, error, quantile)
            found &= clear.all(axis=tuple(range(clear.ndim - 1)))
        return found

    @cached_property
    def with_clear_margins(self) -> NDArray[np.bool_]:
        """The tables in which the shares of all categories are significantly above zero."""
        return self.clear(lambda cells: cells.margins)

    @cached_property
    def with_clear_cells(self) -> NDArray[np.bool_]:
        """The tables in which the logarithms of all cells are nearly linear."""
        return self.clear(lambda cells: [cells.table], _CLEAR_OF_LOGARITHMS)


def evaluate(measure: Measure, tables: Batch, name: str | None = None) -> Estimates:
    """Compute one measure of each of R tables, with standard errors by the delta method."""
    n, cells = float(tables.reports), tables.cells
    of = replace(measure.quantity(cells, n), name=name or measure.name)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        plain, gradient = tables.values(lambda each: measure.of(each, n))
        plain, gradient = plain.reshape(-1), gradient.reshape(-1, gradient.shape[-1])
        if measure.factors is not None:
            found = _ratio(of, measure.factors, tables)
        elif measure.slopes is not None:
            slopes = measure.slopes
            change = tables.curvature(lambda each: slopes(each, n))
            found = _second_order(of, plain, delta_error(gradient, tables.covariance), change)
        else:
            error = np.where(np.isnan(plain), np.nan, delta_error(gradient, tables.covariance))
            found = Estimates(of, plain, error, normal_sets(plain, error))
    if measure.slopes is None:
        cancelled = _cancelled(gradient, tables)
        error = np.where(cancelled, np.nan, found.standard_error)
    else:
        error = found.standard_error
    estimable = _rests_on_clear_shares(measure, tables) & np.isfinite(error)
    reason = np.where(np.isfinite(found.value), -1, cells.reason.reshape(-1))
    if measure.slopes is not None:
        # Without bias correction the measure would show an association under independence.
        unclear = UNCLEAR_CELL if measure.logarithms else UNCLEAR
        reason = np.where(np.isfinite(plain) & ~estimable, unclear, reason)
    known, sets = reason < 0, found.sets
    error = np.where(known & estimable, error, np.nan)
    found = replace(
        found,
        value=np.where(known, found.value, np.nan),
        standard_error=error,
        sets=lambda quantile: sets(quantile).where(~np.isnan(error)),
        undefined=Texts(reason, REASONS),
    )
    return _root(found, _even_error(measure, tables)) if measure.root else found


def _even_error(measure: Measure, tables: Batch) -> Array:
    """Return the error of a root of a quadratic form of the departures from independence, (R,).

    It is that of an association in one direction, the root of the mean square over all directions:
    of the bias of the square at independence, for each degree of freedom. For two answers to both
    questions it is the error of φ. It depends on the margins of a table alone.
    """
    slopes, n = measure.slopes, float(tables.reports)
    assert slopes is not None  # noqa: S101 - roots are of measures that are never negative
    with np.errstate(divide="ignore", invalid="ignore"):
        change = tables.independent.curvature(lambda each: slopes(each, n))
        bias = np.trace(change, axis1=1, axis2=2) / 2
        return np.asarray(np.sqrt(bias / math.prod(size - 1 for size in tables.cells.sizes)))


def _root(squares: Estimates, even: Array) -> Estimates:
    """Return the square roots of estimates; the error of a root is unknown at 0."""
    value, sets = np.sqrt(squares.value), squares.sets

    def of_roots(quantile: float) -> ConfidenceSets:
        found = sets(quantile)
        return ConfidenceSets.intervals(np.sqrt(found.lower), np.sqrt(found.upper))

    with np.errstate(divide="ignore", invalid="ignore"):
        error = squares.standard_error / (2 * value)
    error = np.where(value > 0, error, np.nan)
    even = np.where(np.isnan(squares.standard_error), np.nan, even)
    return replace(squares, value=value, standard_error=error, sets=of_roots, even_error=even)


def _ratio(of: Quantity, factors: Callable[[Cells], Factors], tables: Batch) -> Estimates:
    numerators, denominators = factors(tables.cells)
    signs = [1] * len(numerators) + [-1] * len(denominators)

    def every(cells: Cells) -> Any:
        return np.stack([each for side in factors(cells) for each in side])

    return Estimates.ratio(of, *tables.values(every), signs, tables.covariance)


def _second_order(of: Quantity, plain: Array, error: Array, change: Array) -> Estimates:
    """Return measures corrected to second order, see `measures`.

    Parameters
    ----------
    plain, error : ndarray, shape (R,)
        g of the estimated tables, and its errors by the delta method.
    change : ndarray, shape (R, cells, cells)
        H V.
    """
    bias = np.trace(change, axis1=1, axis2=2) / 2
    least = (change * change.swapaxes(1, 2)).sum(axis=(1, 2)) / 2
    least = np.where(least >= 0, least, np.nan)
    growth = np.where(plain > 0, error**2 / np.where(plain > 0, plain, 1), 0.0)
    value = np.maximum(plain - bias, 0.0)

    def sets(quantile: float) -> ConfidenceSets:
        middle = value + quantile**2 * growth / 2
        with np.errstate(invalid="ignore"):
            half_width = np.sqrt(middle**2 - value**2 + quantile**2 * least)
        return ConfidenceSets.intervals(np.maximum(middle - half_width, 0.0), middle + half_width)

    return Estimates(of, value, np.sqrt(least + growth * value), sets)


def graded(
    measure: Measure, estimates: Estimates, confidence: float, quantile: float | None = None
) -> EstimateColumns:
    """Return columns of a result, whose reliability is that of intervals of the confidence level.

    An interval of a root, such as Cramér's V, is wide just because the estimate is near 0. So its
    margin is that of an association in one direction, which the estimate does not change.
    The intervals of the columns can have another normal quantile, as those of a selection have.
    """
    sets = estimates.interval(confidence)
    margins = margin(sets.lower, sets.upper, ratio=measure.ratio)
    if estimates.even_error is not None:
        margins = normal_quantile(1 - confidence) * estimates.even_error
    elif measure.to_expected:
        # Standard error of the ratio to the expected share, at independence.
        error = estimates.standard_error * estimates.value
        with np.errstate(over="ignore"):
            margins = np.exp(normal_quantile(1 - confidence) * error)
    grade = grades(margins, ratio=measure.ratio)
    return estimates.columns(confidence, quantile=quantile, grade=grade)


def _part(shares: Callable[[Cells], Sequence[Any]], number: int, cells: Cells) -> Any:
    return shares(cells)[number]


def _rests_on_clear_shares(measure: Measure, tables: Batch) -> NDArray[np.bool_]:
    # The interval of a ratio is unbounded if a factor is not significantly above zero.
    if measure.factors is not None:
        return np.ones(len(tables.covariance), dtype=bool)
    if measure.logarithms:
        return tables.with_clear_cells
    # A stricter rule would select the surveys in which a rare answer is frequent by chance.
    if measure.denominators is None:
        return tables.with_clear_margins
    return tables.clear(measure.denominators)


def _cancelled(gradient: Array, tables: Batch) -> NDArray[np.bool_]:
    """Return the tables in which the first-order errors cancel, so that the delta method fails."""
    cells = np.diagonal(tables.covariance, axis1=1, axis2=2)
    behind = (gradient**2).max(axis=1, initial=0.0) * cells.max(axis=1, initial=0.0)
    variance = delta_error(gradient, tables.covariance) ** 2
    return np.asarray((variance <= _CANCELLED * behind) & (cells > 0).any(axis=1))


def estimate_measures(
    schema: Schema,
    table: Table,
    present: Mapping[str, str],
    names: Sequence[str] | None,
) -> list[tuple[Measure, Estimates]]:
    """Estimate measures of one table of two or more attributes.

    Parameters
    ----------
    present : mapping of str to str
        Category that counts as presence, by attribute. By default it is the only item, or the
        second of two categories.
    names : sequence of str or None
        The measures; None for all that apply to the table.

    Raises
    ------
    ParameterError
        If there are fewer than two attributes, a category or a measure is unknown, or a measure
        does not apply to the table.
    DomainTooLarge
        If the table is too large for its covariance.
    """
    if len(table.axes) < 2:
        raise ParameterError("attributes: expected two or more", field="attributes")
    codes = presence(schema, table.axes, present)
    check_measures(names or ())
    chosen = {name: find_measure(name) for name in (ALL if names is None else names)}
    about = [schema.attributes[schema.position(name)] for name in table.axes]
    lacking = {name: _lack(measure, about, codes) for name, measure in chosen.items()}
    if names is None:
        chosen = {name: measure for name, measure in chosen.items() if lacking[name] is None}
    elif first := next(filter(None, lacking.values()), None):
        raise ParameterError(f"measures: {first}", field="measures")

    def single(shares: Array, covariance: Array) -> Batch:
        return Batch.of_tables(shares[..., None], covariance[None], table.reports)

    covariance = table.identified_covariance()
    tables = {"categories": single(table.value, covariance)}
    if None not in codes:
        sides = {
            name: [[other for other in range(size) if other != code], [code]]
            for name, size, code in zip(table.axes, table.value.shape, codes, strict=True)
            if code is not None
        }
        two = merged(table, sides)
        binary = single(two.value, two.identified_covariance())
        tables |= {"pair": binary, "itemset": binary}
    if any(measure.scope == "ordered" for measure in chosen.values()):
        cells, covariance = answered(schema, table.value, covariance, table.axes)
        tables["ordered"] = single(cells, covariance)
    return [
        (measure, evaluate(measure, tables[measure.scope], name))
        for name, measure in chosen.items()
    ]


def estimate_associations(
    estimator: Estimator, names: Sequence[str], confidence: float
) -> EstimateColumns:
    """Estimate the association of every pair of attributes.

    Of two scales it is the polychoric correlation, with its test (see `scales`). Of others it is
    Cramér's V, corrected for bias. Unlike measures with logarithms, it is defined for negative
    estimates of cells. Its p-values are those of `JointTest`, which uses all answers; for V, the
    `rare_answers` are merged.

    Rows are in the order of ``combinations(names, 2)``. Pairs that depend on each other by design
    are not tested. Pairs that the reports do not identify are undefined.
    """
    estimator.schema.positions(names)
    if len(names) > MAX_ASSOCIATED:
        raise DomainTooLarge(
            f"attributes: {len(names)} of them; expected at most {MAX_ASSOCIATED}",
            field="attributes",
        )
    if len(names) < 2:
        raise ParameterError("attributes: expected two or more", field="attributes")
    pairs = list(filter(estimator.identified, combinations(names, 2)))
    test = tests_of_pairs(estimator, pairs)
    merging = Merging(estimator.schema, rare_answers(estimator, names))
    coarse = {pair: merged(each.table, merging.parts) for pair, each in test.departures.items()}
    places = {pair: k for k, pair in enumerate(pairs)}
    # The last place is that of the pairs without a test.
    tests = [places.get(pair, -1) for pair in combinations(names, 2)]
    correlated = {
        place: test.correlations[pairs[k]].columns(confidence)
        for place, k in enumerate(tests)
        if k >= 0 and pairs[k] in test.correlations
    }
    return msgspec.structs.replace(
        _strengths(coarse, names, confidence, correlated),
        p_value=np.append(test.p_values, np.nan)[tests],
        adjusted_p_value=np.append(test.adjusted, np.nan)[tests],
        moved_by=np.append(test.moved, np.nan)[tests],
    )


class PairTests(NamedTuple):
    """Tests of pairs of attributes for association, for the map and for the report of a survey.

    Attributes
    ----------
    correlations : dict
        Polychoric correlation of each pair of scales, with its test.
    departures : dict
        Departures from independence of each other pair.
    p_values : ndarray, shape (pairs,)
        NaN for a pair that depends on each other by design, or has nothing to test.
    moved : ndarray, shape (pairs,)
        By how much one false report can move each significant statistic.
    tested : int
        Number of correlations and of cells from which answers can be selected.
    """

    correlations: dict[tuple[str, str], Estimates]
    departures: dict[tuple[str, str], Departures]
    p_values: Array
    moved: Array
    tested: int

    @property
    def adjusted(self) -> Array:
        """Smallest false discovery rate at which each pair is significant among all pairs."""
        return adjusted_p_values(self.p_values)


def tests_of_pairs(estimator: Estimator, pairs: Sequence[tuple[str, str]]) -> PairTests:
    """Test pairs of attributes that the reports identify: scales by their correlation."""
    scales = scales_of(estimator.survey.schema)
    correlations = {
        pair: estimate_scales(estimator, pair, "polychoric")
        for pair in pairs
        if scales.issuperset(pair)
    }
    departures = {}
    for pair in pairs:
        if pair not in correlations:
            # A pair that no report is about yet is not tested.
            with suppress(NotReportedYet):
                departures[pair] = Departures(estimator.table(pair))
    joint = JointTest([*departures.values()])
    found = dict(zip(departures, zip(joint.p_values, joint.moved, strict=True), strict=True))
    found |= {pair: (_only(each.p_value), _only(each.moved)) for pair, each in correlations.items()}
    unknown = (math.nan, math.nan)
    numbers = np.array([found.get(pair, unknown) for pair in pairs]).reshape(len(pairs), 2)
    numbers[[by_design(estimator.schema, *pair) for pair in pairs]] = np.nan
    p_values, moved = numbers.T
    tested = int(joint.tested.sum()) + len(correlations)
    return PairTests(correlations, departures, p_values, moved, tested)


def _only(column: Array | None) -> float:
    """Return the number of a single estimate; NaN without a column."""
    return math.nan if column is None else float(column[0])


def rare_answers(estimator: Estimator, names: Sequence[str]) -> dict[str, list[list[str]]]:
    """Return the groups of rare answers to merge, by attribute: see `rare_merged`."""
    schema = estimator.schema
    found = {
        name: rare_merged(schema.attributes[schema.position(name)], estimator.table([name]))
        for name in names
    }
    return {name: groups for name, groups in found.items() if groups}


def by_design(schema: Schema, one: str, other: str) -> bool:
    """Return whether one of two questions is asked after certain answers to the other."""
    return other in schema.dependents(one) or one in schema.dependents(other)


def _strengths(
    tables: Mapping[tuple[str, str], Table],
    names: Sequence[str],
    confidence: float,
    others: Mapping[int, EstimateColumns],
) -> EstimateColumns:
    """Return V of every pair, undefined for pairs without a table.

    Some places of ``combinations(names, 2)`` have `others` instead.
    """
    measure = CRAMERS_V
    # Tables of the same shape form a batch.
    batches: dict[tuple[int, ...], list[tuple[int, Table]]] = defaultdict(list)
    unknown = []
    for place, pair in enumerate(combinations(names, 2)):
        check_deadline()
        if place in others:
            continue
        if pair in tables:
            batches[tables[pair].value.shape].append((place, tables[pair]))
        else:
            unknown.append(place)
    order, parts = [], []
    for shape, every in batches.items():
        step = max(1, _AT_ONCE // math.prod(shape) ** 2)
        for start in range(0, len(every), step):
            check_deadline()
            members = every[start : start + step]
            support = [table.value for _, table in members]
            covariance = [table.identified_covariance() for _, table in members]
            batch = Batch.of_tables(
                np.stack(support, axis=-1), np.stack(covariance), members[0][1].reports
            )
            parts.append(graded(measure, evaluate(measure, batch), confidence))
            order += [place for place, _ in members]
    if unknown:
        nothing = np.full(len(unknown), np.nan)
        without = Estimates.numbers(quantity(measure.name), nothing, UNIDENTIFIED)
        parts.append(without.columns())
    parts += others.values()
    return EstimateColumns.concatenate(parts).take(np.argsort([*order, *unknown, *others]))


def _lack(measure: Measure, about: Sequence[Attribute], codes: Sequence[int | None]) -> str | None:
    """Return why a measure does not apply to these attributes; None if it does."""
    names = [attribute.name for attribute in about]
    if measure.scope == "ordered":
        return _lack_of_order(measure.name, about)
    if measure.scope == "categories":
        fits = len(names) == 2 or measure.name in OF_MANY
        return None if fits else f"{measure.name} needs two attributes, not {len(names)}"
    if measure.scope == "pair" and len(names) != 2:
        return f"{measure.name} needs two attributes, not {len(names)}"
    for name, code in zip(names, codes, strict=True):
        if code is None:
            return (
                f"{measure.name} needs binary attributes; expected the category of '{name}' that"
                " counts as presence, in 'present'"
            )
    return None


def in_order(schema: Schema, names: Sequence[str]) -> bool:
    """Return whether the ordinal measures apply to two attributes."""
    about = [schema.attributes[schema.position(name)] for name in names]
    return _lack_of_order(ORDERED_NAMES[0], about) is None


def _lack_of_order(measure: str, about: Sequence[Attribute]) -> str | None:
    """Return why an ordinal measure does not apply: attributes are ordered or have two answers."""
    if len(about) != 2:
        return f"{measure} needs two attributes, not {len(about)}"
    for attribute in sorted(about, key=lambda one: len(answers_of(one)), reverse=True):
        if attribute.ordered:
            continue
        if len(answers_of(attribute)) > 2 or not any(one.ordered for one in about):
            return (
                f"{measure} needs answers in an order, which the survey does not say of"
                f" '{attribute.name}'"
            )
    return None
