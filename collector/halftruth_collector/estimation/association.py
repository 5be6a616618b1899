"""Association measures of reconstructed tables, with errors by the delta method.

Their variance is ∇gᵀ Cov(π̂) ∇g (Guo §3.3.1) with exact gradients. That assumes that a measure, or
the logarithm of a ratio, is nearly linear over the error of the table. Measures whose gradient is 0
at independence are corrected to second order.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations

import numpy as np
from halftruth_shared import Attribute, ParameterError, Schema
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import EstimateColumns, Quantity, Texts
from numpy.typing import NDArray

from .answers import answered, answers_of, presence
from .bounds import Array, normal_quantile
from .columns import columns
from .gradients import Jet, SecondOrder
from .measures import (
    MEASURE_NAMES,
    OF_MANY,
    ORDERED_NAMES,
    REASONS,
    UNCLEAR,
    UNCLEAR_CELL,
    Cells,
    Measure,
    check_measures,
    find_measure,
)
from .merging import MergedTable
from .ratios import Linear, Ratios
from .reliability import grades, margin
from .table import Table

#: Every measure that a table may have.
ALL = (*MEASURE_NAMES, *ORDERED_NAMES)

#: A variance of a measure below this fraction of the variances of the cells is rounding error.
_CANCELLED = 1e-12

#: Standard errors above 0 from which a logarithm is nearly linear.
_CLEAR_OF_LOGARITHMS = 3.0

#: Largest number of covariances of the tables of one batch.
_AT_ONCE = 2**18

#: Largest number of attributes of a map of associations.
MAX_ASSOCIATED = 32


@dataclass(frozen=True, eq=False)
class Batch:
    """Batch of R tables with their covariances, from which measures are computed.

    Attributes
    ----------
    cells : Cells
        Cells with gradients in V variables.
    covariance : ndarray, shape (R, V, V)
        Covariance of the variables.
    reports : int
        N.
    """

    cells: Cells
    covariance: Array
    reports: int

    @cached_property
    def clear_margins(self) -> NDArray[np.bool_]:
        """Mask of the tables in which the share of every category is significantly above zero."""
        return self.clear(self.cells.margins)

    @cached_property
    def clear_cells(self) -> NDArray[np.bool_]:
        """Mask of the tables in which every cell is far enough above zero for its logarithm."""
        return self.clear([self.cells.table], _CLEAR_OF_LOGARITHMS)

    def clear(self, shares: Sequence[Jet], quantile: float = 0.0) -> NDArray[np.bool_]:
        """Return the tables in which all shares are significantly above zero."""
        batch = self.cells.table.value.ndim - len(self.cells.margins)
        clear = [jet.clear(self.covariance, quantile) for jet in shares]
        each = [one.all(axis=tuple(range(one.ndim - batch))).reshape(-1) for one in clear]
        return np.asarray(np.all(each, axis=0))

    @cached_property
    def along(self) -> Cells:
        """The cells, with the columns of the covariance of each table as their gradients."""
        table = self.cells.table
        axes = len(self.cells.margins)
        size = math.prod(table.shape[:axes])
        gradient = table.gradient.reshape(size, -1, table.gradient.shape[-1]).swapaxes(0, 1)
        covariance = gradient @ self.covariance @ gradient.swapaxes(1, 2)
        columns = covariance.swapaxes(0, 1).reshape(*table.shape, size)
        return Cells(Jet(table.value, columns), axes)

    @classmethod
    def single(cls, support: Array, covariance: Array, reports: int) -> "Batch":
        """Make a batch of one table with the covariance of its cells."""
        return cls(Cells(Jet.variables(support), support.ndim), covariance[None], reports)


FirstOrSecond = Linear | SecondOrder


@dataclass(frozen=True, eq=False)
class MeasureColumn:
    """One measure of a batch of tables.

    Attributes
    ----------
    value, standard_error : ndarray, shape (R,)
        NaN if undefined. The standard error of a ratio is that of its logarithm.
    reason : ndarray of int, shape (R,)
        Reason why the value is undefined, as a position in `REASONS`; −1 if it is defined.
    """

    name: str
    value: Array
    standard_error: Array
    reason: NDArray[np.int64]
    estimate: FirstOrSecond
    measure: Measure
    quantity: Quantity

    def interval(self, confidence: float) -> tuple[Array, Array]:
        """Return normal intervals; an end is infinite if unbounded, and NaN if undefined."""
        quantile = normal_quantile(1 - confidence)
        known = np.where(np.isnan(self.standard_error), np.nan, 0.0)
        with np.errstate(invalid="ignore"):
            lower, upper = (end.reshape(-1) + known for end in self.estimate.interval(quantile))
        return lower, upper

    def columns(self, confidence: float, *, judged_at: float | None = None) -> EstimateColumns:
        """Return columns of a result; `judged_at` is the confidence level for the reliability."""
        judged_at = judged_at or confidence
        margins = margin(*self.interval(judged_at), ratio=self.measure.ratio)
        if self.measure.to_expected:
            # Standard error of the ratio to the expected share, at independence.
            error = self.standard_error * self.value
            with np.errstate(over="ignore"):
                margins = np.exp(normal_quantile(1 - judged_at) * error)
        return columns(
            replace(self.quantity, name=self.name),
            self.value,
            self.standard_error,
            self.interval(confidence),
            grade=grades(margins, ratio=self.measure.ratio),
            undefined=Texts(self.reason, REASONS),
        )


def evaluate(measure: Measure, tables: Batch, name: str | None = None) -> MeasureColumn:
    """Compute one measure of a batch of R tables, with standard errors by the delta method."""
    cells, n = tables.cells, float(tables.reports)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        plain = measure.of(cells, n)
        if measure.factors is not None:
            estimate: FirstOrSecond = Ratios.of(*measure.factors(cells), tables.covariance)
        elif measure.slopes is not None:
            estimate = SecondOrder.of(plain, measure.slopes(tables.along, n), tables.covariance)
        else:
            estimate = Linear(plain, tables.covariance)
        value = estimate.value.reshape(-1)
        error = estimate.standard_error.reshape(-1)
        if measure.slopes is None:
            error = np.where(_cancelled(plain, tables), np.nan, error)
    estimable = _rests_on_clear_shares(measure, tables) & np.isfinite(error)
    reason = np.where(np.isfinite(value), -1, tables.cells.reason.reshape(-1))
    if measure.slopes is not None:
        # Without bias correction the measure would show an association under independence.
        unclear = UNCLEAR_CELL if measure.logarithms else UNCLEAR
        reason = np.where(np.isfinite(plain.value.reshape(-1)) & ~estimable, unclear, reason)
    known = reason < 0
    return MeasureColumn(
        name or measure.name,
        np.where(known, value, np.nan),
        np.where(known & estimable, error, np.nan),
        reason,
        estimate,
        measure,
        measure.quantity(cells, n),
    )


def _rests_on_clear_shares(measure: Measure, tables: Batch) -> NDArray[np.bool_]:
    # The interval of a ratio is unbounded if a factor is not significantly above zero.
    if measure.factors is not None:
        return np.ones(len(tables.covariance), dtype=bool)
    if measure.logarithms:
        return tables.clear_cells
    # A stricter rule would select the surveys in which a rare answer is frequent by chance.
    if measure.denominators is not None:
        return tables.clear(measure.denominators(tables.cells))
    return tables.clear_margins


def _cancelled(plain: Jet, tables: Batch) -> NDArray[np.bool_]:
    """Return the tables in which the first-order errors cancel, so that the delta method fails."""
    gradient = plain.gradient.reshape(-1, plain.gradient.shape[-1])
    cells = np.diagonal(tables.covariance, axis1=1, axis2=2)
    behind = (gradient**2).max(axis=1, initial=0.0) * cells.max(axis=1, initial=0.0)
    variance = plain.standard_error(tables.covariance).reshape(-1) ** 2
    return np.asarray((variance <= _CANCELLED * behind) & (cells > 0).any(axis=1))


def measure_columns(
    schema: Schema,
    table: Table,
    present: Mapping[str, str],
    names: Sequence[str] | None,
) -> list[MeasureColumn]:
    """Return measures of one table of two or more attributes, with their standard errors.

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
    covariance = table.identified_covariance()
    tables = {"categories": Batch.single(table.value, covariance, table.reports)}
    if None not in codes:
        sides = (
            np.arange(size) == code for size, code in zip(table.value.shape, codes, strict=True)
        )
        two = MergedTable(table, tuple(side.astype(np.int64) for side in sides))
        binary = Batch.single(two.value, two.identified_covariance(), table.reports)
        tables |= {"pair": binary, "itemset": binary}
    if any(measure.scope == "ordered" for measure in chosen.values()):
        cells, covariance = answered(schema, table.value, covariance, table.axes)
        tables["ordered"] = Batch.single(cells, covariance, table.reports)
    return [evaluate(measure, tables[measure.scope], name) for name, measure in chosen.items()]


def estimate_associations(
    tables: Mapping[tuple[str, str], Table], names: Sequence[str], confidence: float
) -> EstimateColumns:
    """Estimate Goodman and Kruskal's τ (concentration) for every ordered pair of attributes.

    It is the proportional reduction of the Gini index of the second attribute if the first is known
    (Guo Table 3.6). Unlike measures with logarithms, it is defined for negative estimates of cells.
    Tables are those of ``combinations(names, 2)``; estimates have the order of
    ``permutations(names, 2)``.
    """
    measure, places = find_measure("concentration"), [*permutations(names, 2)]
    # Tables of the same shape form a batch.
    batches: dict[tuple[int, ...], list[tuple[int, Table, bool]]] = defaultdict(list)
    for place, (one, other) in enumerate(places):
        check_deadline()
        back = (one, other) not in tables
        table = tables[other, one] if back else tables[one, other]
        shape = table.value.shape
        batches[shape[::-1] if back else shape].append((place, table, back))
    order, parts = [], []
    for shape, every in batches.items():
        size = math.prod(shape)
        back_again = np.arange(size).reshape(shape[::-1]).T.ravel()
        step = max(1, _AT_ONCE // size**2)
        for start in range(0, len(every), step):
            check_deadline()
            members = every[start : start + step]
            support = [table.value.T if back else table.value for _, table, back in members]
            covariance = [table.identified_covariance() for _, table, _ in members]
            covariance = [
                each[np.ix_(back_again, back_again)] if back else each
                for each, (_, _, back) in zip(covariance, members, strict=True)
            ]
            value = np.stack(support, axis=-1)
            gradient = np.eye(size).reshape(*shape, 1, size)
            jet = Jet(value, np.broadcast_to(gradient, (*value.shape, size)))
            batch = Batch(Cells(jet, len(shape)), np.stack(covariance), members[0][1].reports)
            parts.append(evaluate(measure, batch).columns(confidence))
            order += [place for place, _, _ in members]
    return EstimateColumns.concatenate(parts).take(np.argsort(order))


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
