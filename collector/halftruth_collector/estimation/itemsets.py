"""Frequent itemsets, mined by attribute subsets (FRAPP §6).

All itemsets of one attribute subset are cells of one table and are estimated together. If the
domain is small, the tables of all subsets are estimated together; otherwise levels go from single
attributes upwards (Apriori). An itemset is pruned if the upper confidence bound of one of its
subsets is below the threshold, since a true support never exceeds that of a subset. A low estimate
alone does not prune, because it may be noise. The bounds hold simultaneously for all subsets of an
itemset (Bonferroni); otherwise long itemsets, which have the most subsets, would be lost too often.

Without `max_length`, mining ends before the length at which the margin of error exceeds the
threshold even for the most precise combination of attributes, and before lengths with too many
combinations. Both limits follow from the survey and the number of reports, not from the estimates.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, reduce
from itertools import combinations, count, islice
from math import comb
from typing import Any, cast

import msgspec
import numpy as np
import scipy
from halftruth_shared import DomainTooLarge, ParameterError, Schema, Survey
from halftruth_shared.analyses.base import MiningQuery, Target, TypicalError
from halftruth_shared.analyses.itemsets import ItemsetsQuery
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import QUANTITIES, AnswerSets, EstimateColumns, Key
from halftruth_shared.results.long_table import Rows
from numpy.typing import NDArray

from .bounds import Array, logits, normal_quantile, reaches
from .estimates import Estimates
from .estimator import Estimator
from .false_reports import moved_by, statistics, to_undo
from .identified import IdentifiedSets
from .intervals import share_interval
from .itemset_departures import itemset_departures, order_of
from .likelihood import supports_within
from .reliability import RELIABILITIES, LengthPrecision, grades, median, typical
from .selection import adjusted_p_values, listed_alpha
from .table import Reconstruction, Table

#: Largest number of attribute subsets that are examined.
MAX_SUBSETS = 100_000

#: Largest number of itemsets that are examined; each takes about two hundred bytes.
MAX_ITEMSETS = 2_000_000

#: Longest itemsets for which the pruning bounds are adjusted; beyond, a level would round to 0.
_MOST_HALVINGS = 1_000

#: Number of attribute subsets of one length, some seconds of work, that are examined even if the
#: longer ones could be too many, since the pruning is known only afterwards.
_FEW = 5_000

#: Largest number of attribute subsets and itemsets that are examined without `max_length`; about a
#: second of work.
_DEFAULT_SUBSETS, _DEFAULT_ITEMSETS = 3_000, 250_000

_SUPPORT = QUANTITIES["support"]

#: Largest number of tables of frequent itemsets for which false reports are examined.
_MOST_TABLES = 40

#: Digits by which supports are sorted; further ones are rounding errors.
_DIGITS = 12

#: Largest number of candidates, so that it fits into a floating-point number.
_MOST_CANDIDATES = 10**250

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Unexamined:
    """Reason why itemsets from some length on were not examined.

    `margin` is the margin of error of the most precise itemsets at the threshold, which it exceeds;
    None if there are too many combinations of attributes.
    """

    length: int
    margin: float | None = None


@dataclass(frozen=True, eq=False)
class Mined:
    """Itemsets or rules that are listed because their estimates reach thresholds.

    Attributes
    ----------
    keys : list of Key
        Keys that identify each estimate.
    estimates : EstimateColumns
    candidates : int
        Number of possible itemsets or rules of the examined lengths, before pruning.
    unexamined : Unexamined or None
    max_length : int
        Number of items of the longest itemsets or rules that were examined.
    """

    keys: list[Key]
    estimates: EstimateColumns
    candidates: int
    unexamined: Unexamined | None = field(default=None, kw_only=True)
    max_length: int = field(default=0, kw_only=True)

    @property
    def rows(self) -> Rows:
        """Rows with the keys and an estimate, created on access."""
        return Rows(self)

    @property
    def codes(self) -> NDArray[np.int64]:
        """Category code of each attribute, −1 for attributes that the first key leaves open."""
        return cast(AnswerSets, self.keys[0].values).codes

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class Itemsets(Mined):
    """Supports of the listed itemsets, by length and then by decreasing support.

    The intervals have a false coverage rate. The adjusted p-values (false discovery rate) are of
    two-sided tests that the support equals the threshold.

    Attributes
    ----------
    frequent : ndarray of bool, shape (R,)
        Whether the adjusted p-value is at most 1 − confidence.
    precision : tuple of LengthPrecision
    supports : Estimates, optional
        The estimates; None for best guesses, which have no errors.
    """

    frequent: Mask
    precision: tuple[LengthPrecision, ...]
    supports: Estimates | None = None

    def largest_bound(self, rows: NDArray[np.int64], confidence: float) -> tuple[int, float] | None:
        """Return which of some rows has the largest lower bound, and this bound.

        It is simultaneous for the best of all candidates (Bonferroni). Only itemsets of two items
        or more are compared; None if there are none, or if they have no bound.
        """
        longer = rows[self.lengths[rows] > 1]
        if self.supports is None or not len(longer):
            return None
        quantile = normal_quantile(listed_alpha(confidence, 1, self.candidates))
        sets = self.supports.take(longer).sets(quantile)
        lower = np.where(np.isnan(sets.lower), -np.inf, sets.lower)
        best = int(np.argmax(lower))
        return (int(longer[best]), float(lower[best])) if lower[best] > -np.inf else None

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of items of each itemset."""
        return np.asarray((self.codes >= 0).sum(axis=1))


def answer_sets(
    schema: Schema, codes: NDArray[np.int64], of_rows: NDArray[np.int64] | None = None
) -> AnswerSets:
    """Return codes of answers, −1 where an attribute is left open, as a column of a result."""
    answers = [attribute.categories for attribute in schema.attributes]
    return AnswerSets(codes, schema.names, answers, of_rows)


def mine_itemsets(estimator: Estimator, query: ItemsetsQuery) -> Itemsets:
    """Return the itemsets whose support reaches a threshold, each with its bounds and a decision.

    Decisions control the false discovery rate at half of 1 − confidence, intervals of the list have
    a false coverage rate of 1 − confidence; see :mod:`.selection`. The best guess ("likelihood")
    has no intervals, but a typical error for each length. Without `max_length`, all lengths are
    examined for which the reports can decide any itemset. Fields of the query that select rows of
    the result are not used.

    Raises
    ------
    ParameterError
        If itemsets are longer than the tables that reports identify, or missing answers are
        excluded.
    DomainTooLarge
        If the query has a `max_length`, and there are too many itemsets.

    Examples
    --------
    >>> from halftruth_shared import Attribute, GammaDiagonal, Schema, Survey
    >>> from halftruth_collector.estimation import Counts
    >>> schema = Schema([Attribute("smoker", ["no", "yes"])])
    >>> survey = Survey("health", "Health", schema, GammaDiagonal("19"))
    >>> counts = Counts.from_cells(survey, [[0], [1]], [680, 320])
    >>> found = mine_itemsets(Estimator(survey, counts), ItemsetsQuery(min_support=0.2))
    >>> [itemset] = found.rows
    >>> itemset["itemset"], round(itemset.value, 3), found.frequent.tolist()
    ({'smoker': 'yes'}, 0.3, [True])
    """
    check_keeping(estimator)
    max_length, unexamined = examined_length(estimator, query)
    examined = examine(estimator, query, max_length)
    support, typical_error = examined.supports.value, None
    if query.estimate == "likelihood":
        support = supports_within(estimator.best_guess.estimate, examined.codes)
        typical_error = estimator.best_guess.typical_error
    found = select_itemsets(
        schema_of_items(estimator.schema, query.all_answers),
        estimator.identified_sets,
        examined,
        support,
        query,
        max_length,
        typical_error,
    )
    return replace(found, unexamined=unexamined, max_length=max_length)


@lru_cache(maxsize=8)
def schema_of_items(schema: Schema, all_answers: bool) -> Schema:
    """Return the schema whose items a query counts: those of the survey, or all answers."""
    if not all_answers:
        return schema
    # The items of options are fixed.
    return Schema(
        tuple(
            each if each.question is not None else replace(each, items=each.answered)
            for each in schema.attributes
        )
    )


def by_departure(found: Itemsets, estimator: Estimator, query: ItemsetsQuery) -> Itemsets:
    """Return the itemsets of two answers or more, the clearest departure from independence first.

    Rows are the supports and then the departures, in the same order of itemsets. The p-values are
    adjusted for all candidates of two answers or more, and the intervals have a false coverage rate
    over these.
    """
    long = np.flatnonzero(found.lengths > 1)
    departures = itemset_departures(estimator, found.codes[long])
    order = order_of(departures)
    departures, rows = departures.take(order), long[order]
    schema = schema_of_items(estimator.schema, query.all_answers)
    family = estimator.identified_sets
    candidates = found.candidates - count_candidates(schema, family, min(1, found.max_length))
    p_values = np.asarray(departures.p_value)
    quantile = normal_quantile(listed_alpha(query.confidence, len(rows), candidates))
    own = departures.sets(normal_quantile(1 - query.confidence))
    columns = departures.columns(
        quantile=quantile,
        grade=grades(own.half_width),
        adjusted=adjusted_p_values(p_values, candidates),
    )
    # False reports are counted for supports alone, which are not what the list is about.
    supports = msgspec.structs.replace(found.estimates.take(rows), moved_by=None, undone_by=None)
    sets = answer_sets(schema, found.codes[rows], np.tile(np.arange(len(rows)), 2))
    return replace(
        found,
        keys=[Key(name="itemset", kind="answers", values=sets)],
        estimates=EstimateColumns.concatenate([supports, columns]),
        candidates=candidates,
        frequent=found.frequent[rows],
        supports=None,
    )


def with_false_reports(found: Itemsets, estimator: Estimator, query: ItemsetsQuery) -> Itemsets:
    """Add how many false reports would undo that itemsets are frequent.

    There are no more tables of them than `_MOST_TABLES`; further itemsets have no number.
    """
    moved, names = np.full(len(found), np.nan), estimator.schema.names
    rows_of: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for row in np.flatnonzero(found.frequent).tolist():
        rows_of[tuple(np.flatnonzero(found.codes[row] >= 0).tolist())].append(row)
    z = statistics(found.estimates.numbers("p_value"))
    for positions, rows in islice(rows_of.items(), _MOST_TABLES):
        check_deadline()
        table = estimator.table([names[j] for j in positions])
        cells = np.ravel_multi_index(tuple(found.codes[rows][:, positions].T), table.value.shape)
        excess = table.value.ravel()[cells] - query.min_support
        moved[rows] = moved_by(table, np.eye(table.value.size)[cells], excess, z[rows])
    rate = (1 - query.confidence) * max(int(found.frequent.sum()), 1) / max(found.candidates, 1)
    critical = float(statistics(np.array(rate)))
    undone_by = to_undo(z, critical, moved, estimator.reports)
    estimates = msgspec.structs.replace(found.estimates, moved_by=moved, undone_by=undone_by)
    return replace(found, estimates=estimates)


def check_keeping(estimator: Estimator) -> None:
    """Raise ParameterError if the estimator excludes missing answers."""
    if estimator.missing == "exclude":
        raise ParameterError(
            "missing: tables of different people do not agree with each other; expected keep",
            field="missing",
        )


#: Returns whether these numbers of combinations of 0, 1, … attributes are too large.
TooMany = Callable[[Sequence[int]], bool]


def examined_length(
    estimator: Estimator, query: MiningQuery[Any], too_many: TooMany = lambda _: False
) -> tuple[int, Unexamined | None]:
    """Return the length of the longest itemsets to examine, and why longer ones are not.

    `too_many` is a further reason to stop if the query has no `max_length`. A `max_length` above
    the length that reports identify raises ParameterError.
    """
    schema = schema_of_items(estimator.schema, query.all_answers)
    family = estimator.identified_sets
    together = family.longest
    if query.max_length is not None:
        max_length = min(query.max_length, len(schema.names))
        if max_length > together:
            raise ParameterError(
                f"max_length: expected at most {together}, since the reports tell of no more"
                " attributes together",
                field="max_length",
            )
        return max_length, None
    itemsets, subsets = [1], [1]
    for length in range(1, together + 1):
        subsets.append(family.number(length))
        itemsets.append(count_itemsets(schema, family, length))
        if length == 1:
            continue
        many = sum(subsets) > _DEFAULT_SUBSETS or sum(itemsets) > _DEFAULT_ITEMSETS
        if (many and not estimator.at_once) or too_many(subsets):
            return length - 1, Unexamined(length)
        least = least_margin(estimator, length, query)
        if least > query.min_support:
            return length - 1, Unexamined(length, least)
    return together, None


def least_margin(estimator: Estimator, length: int, query: MiningQuery[Any]) -> float:
    """Return the margin of the most precise itemsets of a length whose support is the threshold.

    It follows from the survey and the number of reports alone. If attributes are perturbed
    independently, or all alike, the combination of the most precise attributes is the most precise;
    of those that are identified, the one with the most precise attributes is taken.
    """
    source, target, threshold = estimator.reconstruction, estimator.target, query.min_support
    # Queries of the same survey share these variances.
    own = isinstance(source, Reconstruction)
    known = _least_variances(estimator.survey, target, threshold) if own else {}

    def variance(names: tuple[str, ...]) -> float:
        if names not in known:
            known[names] = float(source.unit_variance(names, target).at(threshold).min())
        return max(known[names], 0.0)

    names, family = estimator.schema.names, estimator.identified_sets
    precise = np.argsort([variance((name,)) for name in names], kind="stable").tolist()
    best = sorted(precise[:length])
    if best not in family:
        rank = {place: number for number, place in enumerate(precise)}
        best = list(min(family.of_length(length), key=lambda each: sum(rank[j] for j in each)))
    least = variance(tuple(names[j] for j in best))
    return normal_quantile(1 - query.confidence) * math.sqrt(least / estimator.reports)


@lru_cache(maxsize=64)
def _least_variances(survey: Survey, target: Target, share: float) -> dict[tuple[str, ...], float]:
    """Cache of N times the smallest variance of each table at a share."""
    return {}


def examine(estimator: Estimator, query: MiningQuery[Any], max_length: int) -> "Examined":
    """Estimate the itemsets up to a length that are not pruned by a subset."""
    schema = schema_of_items(estimator.schema, query.all_answers)
    if estimator.at_once:
        return examine_margins(schema, estimator.whole, estimator.reports, query, max_length)
    return examine_levels(schema, estimator.identified_sets, estimator.subsets, query, max_length)


@dataclass(frozen=True, eq=False)
class Examined:
    """Itemsets that are not pruned by a subset, as columns.

    Attributes
    ----------
    codes : ndarray of int, shape (K, M)
        Category code of each attribute, −1 for attributes that the itemset leaves open.
    filled : ndarray
        Approximate number of reports that inform about each support.
    supports : Estimates
    logit : bool
        Whether bounds are on the logit scale.
    tables : mapping of tuple of int to pair of ndarray
        Support and variance of each separately estimated table, by the positions of its attributes.
    """

    codes: NDArray[np.int64]
    filled: Array
    supports: Estimates
    logit: bool = False
    tables: Mapping[tuple[int, ...], tuple[Array, Array]] = field(default_factory=dict)

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
    """Return which upper bounds are below the threshold; false without a bound."""
    # An itemset has fewer than 2^max_length subsets (Bonferroni).
    quantile = normal_quantile((1 - query.confidence) / 2 ** min(max_length, _MOST_HALVINGS))
    upper = share_interval(support, standard_error, quantile, logit=logit)[1]
    return (upper < query.min_support) & ~reaches(upper, query.min_support)


def examine_margins(
    schema: Schema, table: Table, reports: int, query: MiningQuery[Any], max_length: int
) -> Examined:
    """Examine the itemsets of all margins of the table of all attributes together."""
    axes = range(len(schema.attributes))
    support = table.margins
    error = np.sqrt(table.margin_variance())
    kept = ~_ruled_out(support, error, query, max_length, table.logit)
    # The empty itemset has support 1, except for rounding.
    kept[(-1,) * support.ndim] = True
    named = [(slice(None),) * axis + (slice(-1),) for axis in axes]
    opened = [(slice(None),) * axis + (slice(-1, None),) for axis in axes]
    # Combine each cell with its subsets, one axis after the other.
    for axis in axes:
        kept[named[axis]] &= kept[opened[axis]]
    grid, lengths, sizes = _margin_grid(schema)
    candidates = (lengths > 0) & (lengths <= max_length)
    for axis in axes:
        candidates[named[axis]] &= kept[opened[axis]]
    cells = np.flatnonzero(candidates)
    codes = np.take(grid, cells, axis=0)
    # Under a model every report informs about every itemset.
    filled = reports / np.where(table.logit, 1, sizes[cells])
    supports = Estimates.shares(
        _SUPPORT, support.ravel()[cells], error.ravel()[cells], logit=table.logit
    )
    return Examined(codes, filled, supports, table.logit)


@lru_cache(maxsize=4)
def _margin_grid(schema: Schema) -> tuple[NDArray[np.int64], ...]:
    """Return codes, lengths and table sizes of the cells of all margins of a schema.

    Codes, of shape (cells, M), are −1 where an attribute is left open. The number of items of a
    cell, of shape (d_1 + 1, …, d_M + 1), is 0 if a category is not an item.
    """
    shape = tuple(size + 1 for size in schema.shape)
    codes = np.indices(shape).reshape(len(shape), -1).T.copy()
    codes[codes == np.array(schema.shape)] = -1
    masks = [np.append(attribute.is_item, True) for attribute in schema.attributes]
    items = reduce(np.logical_and.outer, masks)
    lengths = (codes >= 0).sum(axis=1).reshape(shape) * items
    return codes, lengths, np.where(codes >= 0, schema.shape, 1).prod(axis=1)


def examine_levels(
    schema: Schema,
    family: IdentifiedSets,
    subsets: Callable[[Iterable[tuple[int, ...]]], Iterable[Table]],
    query: MiningQuery[Any],
    max_length: int,
) -> Examined:
    """Estimate the itemsets of each attribute subset in turn, shortest first (Apriori).

    More than `MAX_SUBSETS` attribute subsets or `MAX_ITEMSETS` itemsets raise DomainTooLarge.
    """
    examined = []
    known: dict[tuple[int, ...], tuple[Array, Array]] = {}
    examined_subsets, itemsets, logit = 0, 0, False
    possible: dict[tuple[int, ...], Mask] = {(): np.array(True)}
    for _ in range(max_length):
        level = _next_level(schema, family, possible, MAX_SUBSETS - examined_subsets)
        examined_subsets += len(level)
        check_end(level, max_length, examined_subsets)
        possible = {}
        for (positions, candidates), table in zip(level.items(), subsets(level), strict=True):
            check_deadline()
            support, variance = table.value, table.variance()
            known[positions], error = (support, variance), np.sqrt(variance)
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
    parts = zip((none, nothing, nothing, nothing), *examined, strict=True)
    codes, filled, support, error = map(np.concatenate, parts)
    supports = Estimates.shares(_SUPPORT, support, error, logit=logit)
    return Examined(codes, filled, supports, logit, known)


def check_end(level: Collection[tuple[int, ...]], max_length: int, examined: int) -> None:
    """Refuse a large level of attribute subsets if the following levels could be too large.

    `examined` is the number of subsets so far, these included.
    """
    if len(level) <= _FEW:
        return
    length = len(next(iter(level)))
    # Kruskal-Katona theorem: the number of longer subsets is at most that of the smallest attribute
    # set with this many subsets of the current length.
    attributes = next(n for n in count(length) if comb(n, length) >= len(level))
    for longer in range(length + 1, max_length + 1):
        examined += comb(attributes, longer)
        if examined > MAX_SUBSETS:
            raise DomainTooLarge(
                f"max_length: there may be more than {MAX_SUBSETS} combinations of attributes to"
                f" examine at length {longer}; expected max_length = {longer - 1} at most, or a"
                " higher min_support",
                field="max_length",
            )


def select_itemsets(
    schema: Schema,
    family: IdentifiedSets,
    examined: Examined,
    estimate: Array,
    query: MiningQuery[Any],
    max_length: int,
    typical_error: Callable[[Sequence[str]], TypicalError] | None = None,
) -> Itemsets:
    """List the itemsets whose estimate reaches the threshold, and decide which are frequent.

    Decisions control the false discovery rate over all candidates, at half of 1 − confidence. The
    intervals of the list have a false coverage rate of 1 − confidence. Therefore the interval of a
    frequent itemset is above the threshold. Best guesses have a `typical_error` for the table of
    some attributes instead of intervals.
    """
    error, alpha = examined.supports.standard_error, 1 - query.confidence
    candidates = count_candidates(schema, family, max_length)
    lengths, ordinary = examined.lengths, normal_quantile(alpha)
    chosen = np.flatnonzero(reaches(estimate, query.min_support))
    # Estimates that are equal but for rounding are in the order of their answers on any machine.
    order = chosen[np.lexsort((-np.round(estimate[chosen], _DIGITS), lengths[chosen]))]
    codes = np.take(examined.codes, order, axis=0)
    keys = [Key(name="itemset", kind="answers", values=answer_sets(schema, codes))]
    precision = []
    examined_lengths = lengths if typical_error is None else lengths[order]
    for length in range(1, examined_lengths.max(initial=0) + 1):
        alike = lengths == length
        half_widths, filled = ordinary * error[alike], median(examined.filled[alike])
        width, guess = typical(half_widths), None
        if typical_error is not None:
            width, guess = None, typical_error(schema.names[:length])
        precision.append(LengthPrecision(length, half_widths.size, width, filled, guess))
    if typical_error is not None:
        grade = np.array([RELIABILITIES.index(each.reliability) for each in precision], np.int64)
        guesses = Estimates.numbers(_SUPPORT, estimate[order]).columns(
            grade=grade[lengths[order] - 1]
        )
        nothing = np.zeros(len(order), np.bool_)
        return Itemsets(keys, guesses, candidates, nothing, tuple(precision))
    # Two-sided tests at 1 − confidence call an itemset frequent at half of it.
    p_values = np.minimum(2 * _one_sided_p_values(examined, query.min_support), 1.0)
    adjusted = adjusted_p_values(p_values, candidates)[order]
    quantile = normal_quantile(listed_alpha(query.confidence, len(order), candidates))
    supports = replace(examined.supports.take(order), p_value=p_values[order])
    # The reliability uses intervals that are not widened for the selection.
    own = supports.sets(ordinary)
    estimates = supports.columns(quantile=quantile, grade=grades(own.half_width), adjusted=adjusted)
    return Itemsets(
        keys, estimates, candidates, adjusted <= alpha, tuple(precision), supports=supports
    )


def _one_sided_p_values(examined: Examined, threshold: float) -> Array:
    """Return p-values of the hypotheses that a support is at most the threshold.

    Few reports inform about a rare itemset, and their weights are skewed: if the estimate is too
    high by chance, so is its estimated error. The Wald test, with the estimated error, is therefore
    conservative. Under a model, the tests of a support and of its logit must both reject.
    """
    support, error = examined.supports.value, examined.supports.standard_error
    with np.errstate(divide="ignore", invalid="ignore"):
        score = (support - threshold) / error
        if examined.logit:
            level, spread = logits(support, error)
            score = np.minimum(score, (level - scipy.special.logit(threshold)) / spread)
    # A support without error is decided exactly.
    score = np.where(error == 0, np.where(reaches(support, threshold), np.inf, -np.inf), score)
    return np.asarray(scipy.special.ndtr(-score))


def count_candidates(schema: Schema, family: IdentifiedSets, max_length: int) -> int:
    """Return the number of possible itemsets with at most this number of items."""
    lengths = range(1, max_length + 1)
    number = sum(count_itemsets(schema, family, length) for length in lengths)
    return min(number, _MOST_CANDIDATES)


def count_itemsets(schema: Schema, family: IdentifiedSets, length: int) -> int:
    """Return the number of possible itemsets of some length whose support is identified."""
    items = tuple(sum(attribute.is_item) for attribute in schema.attributes)
    if length <= family.any_of:
        known = _coefficients(items)
        return known[length] if length < len(known) else 0
    return sum(math.prod(items[j] for j in each) for each in family.of_length(length))


@lru_cache(maxsize=8)
def _coefficients(items: tuple[int, ...]) -> list[int]:
    """Return the coefficients of ∏(1 + d_j t); that of t^k is the number of itemsets of k items."""
    by_length = [1]
    for number in items:
        longer = [number * each for each in by_length]
        by_length = [a + b for a, b in zip([*by_length, 0], [0, *longer], strict=True)]
    return by_length


def _next_level(
    schema: Schema, family: IdentifiedSets, possible: dict[tuple[int, ...], Mask], most: int
) -> dict[tuple[int, ...], Mask]:
    """Return the next longer attribute subsets, with their itemsets that are not pruned."""
    level: dict[tuple[int, ...], Mask] = {}
    for prefix in possible:
        check_deadline()
        for j in range(prefix[-1] + 1 if prefix else 0, len(schema.attributes)):
            positions = (*prefix, j)
            parts = list(combinations(positions, len(prefix)))
            if not all(part in possible for part in parts) or positions not in family:
                continue
            mask: Mask = np.array(schema.attributes[j].is_item)
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
