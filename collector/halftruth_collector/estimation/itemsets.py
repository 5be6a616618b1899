"""Frequent itemsets, mined by attribute subsets (FRAPP §6).

All itemsets of one attribute subset are cells of one table, so one vectorized reconstruction
serves them all; where the domain is small, those of all subsets are reconstructed together, else
levels go from single attributes upwards. Either way, an itemset is examined while no subset
of it is ruled out by an upper bound below the threshold, since a true support never exceeds that
of a subset. A low estimate alone rules nothing out, which would lose itemsets to mere noise; and
the bounds that rule out hold for all subsets of an itemset at once (Bonferroni), or the longest
itemsets, with the most subsets, would be lost too often.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from itertools import combinations
from typing import Any

import numpy as np
import scipy
from halftruth_shared import DomainTooLarge, ParameterError, Schema
from halftruth_shared.analyses.base import Decision, Method, MiningQuery, TypicalError
from halftruth_shared.analyses.itemsets import ItemsetEstimate
from halftruth_shared.mechanisms import Margins, TableEstimate
from halftruth_shared.mechanisms.variances import share_interval
from numpy.typing import NDArray

from .bounds import Array, logits, normal_quantile
from .estimates import estimates
from .likelihood import WholeTable, supports_within
from .multiplicity import (
    bonferroni_bounds,
    check_candidates,
    check_end,
    count_candidates,
    holm_decisions,
    one_sided_quantile,
)
from .reliability import RELIABILITIES, LengthPrecision, grades, margin, median, typical
from .tables import Tables

#: Attribute subsets examined before mining asks for a lower max_length.
MAX_SUBSETS = 100_000

#: Itemsets examined before that; each takes some two hundred bytes.
MAX_ITEMSETS = 2_000_000

#: Items up to which the bounds that rule out are widened; beyond, a level would round to 0.
_MOST_HALVINGS = 1_000

#: Names of the decision codes.
DECISIONS: tuple[Decision, ...] = ("infrequent", "undecided", "frequent")

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Itemsets:
    """Selected itemsets as columns, shortest first and most frequent first within a length.

    Iterating gives one `ItemsetEstimate` after the other.

    Attributes
    ----------
    codes : ndarray of int, shape (R, M)
        Category code of each attribute, −1 for attributes that the itemset leaves open.
    support, standard_error : ndarray, shape (R,)
        The standard error is NaN where the reports do not determine one.
    lower, upper : ndarray, shape (R,)
        Ends of the intervals, of the moment estimate whatever `support` is; NaN where unknown.
    decision : ndarray of int, shape (R,)
        Position in `DECISIONS`.
    grade : ndarray of int, shape (R,)
        Position in `RELIABILITIES`.
    candidates : int
        Number of itemsets that could have been examined, before any was ruled out.
    precision : tuple of LengthPrecision
    """

    schema: Schema
    codes: NDArray[np.int64]
    support: Array
    standard_error: Array
    lower: Array
    upper: Array
    decision: NDArray[np.int64]
    grade: NDArray[np.int64]
    candidates: int
    precision: tuple[LengthPrecision, ...]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of items of each itemset."""
        return np.asarray((self.codes >= 0).sum(axis=1))

    def guessed(self, typical: Sequence[TypicalError]) -> "Itemsets":
        """The same with supports of the best guess: no bounds, but a typical error by length."""
        precision = [
            replace(unbiased, half_width=None, guess=guess)
            for unbiased, guess in zip(self.precision, typical, strict=False)
        ]
        grade = np.array(
            [RELIABILITIES.index(each.reliability) for each in precision], dtype=np.int64
        )
        none = np.full(len(self), np.nan)
        return replace(
            self,
            standard_error=none,
            lower=none,
            upper=none,
            decision=np.full(len(self), DECISIONS.index("undecided")),
            grade=grade[self.lengths - 1],
            precision=tuple(precision),
        )

    def __len__(self) -> int:
        return len(self.support)

    def __iter__(self) -> Iterator[ItemsetEstimate]:
        items = [
            [(attribute.name, category) for category in attribute.categories]
            for attribute in self.schema.attributes
        ]
        return estimates(
            ItemsetEstimate,
            self.support,
            self.standard_error,
            (self.lower, self.upper),
            grade=self.grade,
            items=[
                dict(items[j][code] for j, code in enumerate(codes) if code >= 0)
                for codes in self.codes.tolist()
            ],
            decision=[DECISIONS[place] for place in self.decision.tolist()],
        )


def mine_itemsets(
    tables: Tables, whole: WholeTable, query: MiningQuery[Any], estimate: Method = "moment"
) -> Itemsets:
    """Itemsets whose support, or a bound of it, reaches the threshold of a query.

    Parameters
    ----------
    estimate : {"moment", "projected", "likelihood"}
        What the supports are.

    Raises
    ------
    ParameterError
        If itemsets longer than reports tell of are asked for, or bounds of best guesses.
    DomainTooLarge
        If there are too many itemsets.
    """
    if estimate == "likelihood" and query.select != "estimate":
        raise ParameterError(
            "select: expected estimate, since best guesses have no bounds", field="select"
        )
    schema, together = tables.schema, query.select in ("bonferroni", "holm")
    max_length = _longest(query, schema, tables.max_order)
    if together:
        check_candidates(schema, max_length)
    if tables.at_once:
        examined = examine_margins(schema, tables.whole, tables.reports, query, max_length)
    else:
        examined = examine_levels(schema, tables.subsets, query, max_length)
    supports = examined.support
    if estimate in ("projected", "likelihood"):
        supports = supports_within(whole.estimate(estimate), examined.codes)
    slope: Array | float = 0.0
    if together:
        slope = tables.slopes(examined.codes, examined.support, query.min_support, query.target)
    itemsets = select_itemsets(schema, examined, supports, query, max_length, slope)
    if estimate != "likelihood":
        return itemsets
    lengths = range(1, itemsets.lengths.max(initial=0) + 1)
    return itemsets.guessed([whole.typical_error(schema.names[:k]) for k in lengths])


def _longest(query: MiningQuery[Any], schema: Schema, together: int) -> int:
    """Number of items of the longest itemsets to examine, of as many as reports tell of."""
    if query.max_length is None:
        return together
    max_length = min(query.max_length, len(schema.names))
    if max_length > together:
        raise ParameterError(
            f"max_length: expected at most {together}, since the reports tell of no more"
            " attributes together",
            field="max_length",
        )
    return max_length


@dataclass(frozen=True, eq=False)
class Examined:
    """Every itemset that no subset rules out, as columns.

    Attributes
    ----------
    codes, support, standard_error : ndarray
        As in `Itemsets`.
    filled : ndarray
        About how many reports each support rests on.
    logit : bool
        Whether bounds are on the logit scale.
    """

    codes: NDArray[np.int64]
    filled: Array
    support: Array
    standard_error: Array
    logit: bool = False

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of items of each itemset."""
        return np.asarray((self.codes >= 0).sum(axis=1))


def _ruled_out(
    support: Array,
    standard_error: Array,
    query: MiningQuery[Any],
    max_length: int,
    logit: bool,
) -> Mask:
    """Return which upper bounds are below the threshold; none where there is no bound."""
    # An itemset has fewer than 2^max_length subsets, and none may rule it out by mistake.
    quantile = normal_quantile((1 - query.confidence) / 2 ** min(max_length, _MOST_HALVINGS))
    return share_interval(support, standard_error, quantile, logit=logit)[1] < query.min_support


def examine_margins(
    schema: Schema, margins: Margins, reports: int, query: MiningQuery[Any], max_length: int
) -> Examined:
    """Examine the itemsets of all margins together.

    Parameters
    ----------
    margins : Margins
        Of all attributes.
    max_length : int
        Most items.
    """
    axes = range(len(schema.attributes))
    support = margins.support
    error = np.sqrt(margins.variance(query.target))
    kept = ~_ruled_out(support, error, query, max_length, margins.logit)
    # Everybody has no item; rounding may say otherwise.
    kept[(-1,) * support.ndim] = True
    named = [(slice(None),) * axis + (slice(-1),) for axis in axes]
    opened = [(slice(None),) * axis + (slice(-1, None),) for axis in axes]
    # One axis after the other, a cell comes to stand for itself and all of its subsets.
    for axis in axes:
        kept[named[axis]] &= kept[opened[axis]]
    grid, lengths, sizes = _margin_grid(schema)
    candidates = (lengths > 0) & (lengths <= max_length)
    for axis in axes:
        candidates[named[axis]] &= kept[opened[axis]]
    cells = np.flatnonzero(candidates)
    codes = np.take(grid, cells, axis=0)
    # By a model every report tells of every itemset.
    filled = reports / np.where(margins.logit, 1, sizes[cells])
    return Examined(codes, filled, support.ravel()[cells], error.ravel()[cells], margins.logit)


@lru_cache(maxsize=4)
def _margin_grid(schema: Schema) -> tuple[NDArray[np.int64], ...]:
    """The cells of all margins of a schema.

    Returns
    -------
    codes : ndarray, shape (cells, M)
        −1 where an attribute is left open.
    lengths : ndarray, shape (d_1 + 1, …, d_M + 1)
        Number of items; 0 where a category is none.
    sizes : ndarray, shape (cells,)
        Cells of the table of the attributes that are not left open.
    """
    shape = tuple(size + 1 for size in schema.shape)
    codes = np.indices(shape).reshape(len(shape), -1).T.copy()
    codes[codes == np.array(schema.shape)] = -1
    masks = [np.append(attribute.item_mask, True) for attribute in schema.attributes]
    items = reduce(np.logical_and.outer, masks)
    lengths = (codes >= 0).sum(axis=1).reshape(shape) * items
    return codes, lengths, np.where(codes >= 0, schema.shape, 1).prod(axis=1)


def examine_levels(
    schema: Schema,
    subsets: Callable[[Iterable[tuple[int, ...]]], Iterable[TableEstimate]],
    query: MiningQuery[Any],
    max_length: int,
) -> Examined:
    """Examine the itemsets of one attribute subset after the other, shortest first.

    Parameters
    ----------
    subsets : callable
        Estimated tables of the attributes at some positions.
    max_length : int
        Most items.

    Raises
    ------
    DomainTooLarge
        If more than `MAX_SUBSETS` attribute subsets or `MAX_ITEMSETS` itemsets would have to be
        examined.
    """
    examined = []
    examined_subsets, itemsets, logit = 0, 0, False
    possible: dict[tuple[int, ...], Mask] = {(): np.array(True)}
    for _ in range(max_length):
        level = _next_level(schema, possible, MAX_SUBSETS - examined_subsets)
        examined_subsets += len(level)
        check_end(level, max_length, examined_subsets, MAX_SUBSETS)
        possible = {}
        for (positions, candidates), table in zip(level.items(), subsets(level), strict=True):
            support, error = table.support, np.sqrt(table.variance(query.target))
            left = candidates & ~_ruled_out(support, error, query, max_length, table.logit)
            if left.any():
                possible[positions] = left
            cells = np.nonzero(candidates)
            itemsets += len(cells[0])
            if itemsets > MAX_ITEMSETS:
                raise DomainTooLarge(
                    f"max_length: more than {MAX_ITEMSETS} itemsets to examine at length"
                    f" {len(positions)}; expected a lower max_length or a higher min_support",
                    field="max_length",
                )
            codes = np.full((len(cells[0]), len(schema.attributes)), -1, dtype=np.int64)
            codes[:, positions] = np.stack(cells, axis=1)
            filled, logit = table.effective_reports[cells], table.logit
            examined.append((codes, filled, support[cells], error[cells]))
    nothing = np.zeros(0)
    none = np.zeros((0, len(schema.attributes)), dtype=np.int64)
    columns = zip((none, nothing, nothing, nothing), *examined, strict=True)
    codes, filled, support, error = map(np.concatenate, columns)
    return Examined(codes, filled, support, error, logit)


def select_itemsets(
    schema: Schema,
    examined: Examined,
    estimate: Array,
    query: MiningQuery[Any],
    max_length: int,
    slope: Array | float = 0.0,
) -> Itemsets:
    """Decide on every itemset examined, and keep those that were asked for.

    Parameters
    ----------
    estimate : ndarray
        Support of each itemset by the method asked for.
    max_length : int
        Most items.
    slope : ndarray or float
        By how much the variance of each grows with it, for decisions on all at once.
    """
    error, alpha = examined.standard_error, 1 - query.confidence
    candidates = count_candidates(schema, max_length)
    quantile = normal_quantile(alpha)
    if query.select == "bonferroni":
        quantile = one_sided_quantile(alpha, candidates)

    def decide(level: Array, spread: Array, threshold: float) -> tuple[Array, Array, Mask, Mask]:
        if query.select == "bonferroni":
            lower, upper = bonferroni_bounds(examined.codes, level, spread, quantile, slope)
        else:
            lower, upper = level - quantile * spread, level + quantile * spread
        if query.select == "holm":
            least = (threshold, alpha, candidates, slope)
            return lower, upper, *holm_decisions(examined.codes, level, spread, *least)
        # Bounds that contradict each other, as those of all itemsets together can, decide nothing.
        known = ~(lower > upper)
        return lower, upper, (lower >= threshold) & known, (upper < threshold) & known

    lower, upper, frequent, infrequent = decide(examined.support, error, query.min_support)
    if examined.logit:
        # What holds of the supports and of their logits, as in `share_interval`.
        level, spread = logits(examined.support, error)
        decided = decide(level, spread, float(scipy.special.logit(query.min_support)))
        lower = np.clip(np.minimum(lower, scipy.special.expit(decided[0])), 0.0, 1.0)
        upper = np.clip(np.maximum(upper, scipy.special.expit(decided[1])), 0.0, 1.0)
        frequent, infrequent = frequent & decided[2], infrequent & decided[3]
    decision = np.where(infrequent, 0, np.where(frequent, 2, 1))
    # An itemset without bounds is not ruled out by the upper one.
    reached = {"estimate": estimate >= query.min_support, "upper": ~infrequent}
    lengths = examined.lengths
    precision = []
    for length in range(1, lengths.max(initial=0) + 1):
        alike = lengths == length
        half_widths, filled = quantile * error[alike], median(examined.filled[alike])
        width = typical(half_widths)
        precision.append(LengthPrecision(length, half_widths.size, width, filled))
    chosen = np.flatnonzero(reached.get(query.select, frequent))
    order = chosen[np.lexsort((-estimate[chosen], lengths[chosen]))]
    return Itemsets(
        schema,
        np.take(examined.codes, order, axis=0),
        estimate[order],
        error[order],
        lower[order],
        upper[order],
        decision[order],
        grades(np.where(lower > upper, np.nan, margin(lower, upper)))[order],
        candidates,
        tuple(precision),
    )


def _next_level(
    schema: Schema, possible: dict[tuple[int, ...], Mask], most: int
) -> dict[tuple[int, ...], Mask]:
    """Attribute subsets one longer, each with the itemsets of which no subset is ruled out."""
    level: dict[tuple[int, ...], Mask] = {}
    for prefix in possible:
        for j in range(prefix[-1] + 1 if prefix else 0, len(schema.attributes)):
            positions = (*prefix, j)
            parts = list(combinations(positions, len(prefix)))
            if not all(part in possible for part in parts):
                continue
            mask: Mask = schema.attributes[j].item_mask
            if prefix:
                # combinations() leaves out the last position first.
                for axis, part in zip(reversed(range(len(positions))), parts, strict=True):
                    mask = mask & np.expand_dims(possible[part], axis)
            if mask.any():
                level[positions] = mask
            if len(level) > most:
                raise DomainTooLarge(
                    f"max_length: more than {MAX_SUBSETS} combinations of attributes to examine"
                    f" at length {len(positions)}; expected a lower max_length or a higher"
                    " min_support",
                    field="max_length",
                )
    return level
