"""Association rules X ⇒ Y with bounds on support, confidence and measures (Guo Results 2, 3).

The table of presence and absence of X and Y has three free cells, so a rule is determined by the
supports of X and Y together, of X and of Y, and by their covariance. All of them are margins, whose
weights are known, so that rules need no further reconstruction.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import compress, product

import msgspec
import numpy as np
from halftruth_shared import DomainTooLarge, EstimateError, ParameterError, Schema
from halftruth_shared.analyses.base import Items
from halftruth_shared.analyses.rules import RulesQuery
from halftruth_shared.deadlines import check_deadline
from halftruth_shared.results import QUANTITIES, EstimateColumns, Key
from numpy.typing import NDArray

from .answers import category_code
from .association import Batch, evaluate, graded
from .bounds import Array, check_field, normal_quantile, reaches, significantly_positive
from .estimates import Estimates
from .estimator import Estimator
from .identified import IdentifiedSets
from .intervals import SHARE
from .itemsets import (
    Examined,
    Itemsets,
    Mined,
    TooMany,
    answer_sets,
    check_keeping,
    count_itemsets,
    examine,
    examined_length,
    schema_of_items,
    select_itemsets,
)
from .measures import MEASURE_NAMES, NAMES, check_measures, find_measure
from .reliability import grades
from .selection import listed_alpha
from .table import Table

#: Largest number of rules that are examined.
MAX_RULES = 250_000

#: Largest number of examined splits of the attributes of tables without a `max_length`; each split
#: needs another covariance.
_FEW_SPLITS = 5_000

#: Sort orders of rules, besides the measures.
ORDERS = ("confidence", "support")

Codes = NDArray[np.int64]
Sides = NDArray[np.bool_]


def check_order(query: RulesQuery) -> None:
    """Raise ParameterError unless a query names known measures and a known sort order."""
    check_measures(query.measures or ())
    if query.sort not in ORDERS and query.sort not in NAMES:
        raise ParameterError(
            "sort: expected confidence, support or the name of a measure, such as lift",
            field="sort",
        )


@dataclass(frozen=True, eq=False)
class RuleSupports:
    """Supports of R rules: of X and Y together, of X, and of Y, shape (3, R), with covariance.

    The covariance, of shape (3, 3, R), is NaN if the reports do not identify a variance.
    """

    support: Array
    covariance: Array
    logit: bool = False

    def __getitem__(self, rows: NDArray[np.int64]) -> "RuleSupports":
        """Return some of the rules."""
        return RuleSupports(self.support[:, rows], self.covariance[:, :, rows], self.logit)

    @cached_property
    def together(self) -> Estimates:
        """Supports of X and Y together."""
        error = np.sqrt(self.covariance[0, 0])
        return Estimates.shares(QUANTITIES["support"], self.support[0], error, logit=self.logit)

    @cached_property
    def confidence(self) -> Estimates:
        """Confidences ĉ = a/(a+b), of the supports of X and Y together and of X."""
        (both, left, _), cov = self.support, self.covariance
        variances = cov[0, 0], cov[1, 1]
        of = QUANTITIES["confidence"]
        return Estimates.quotient(of, both, left, variances, cov[0, 1], logit=self.logit)

    def tables(self, reports: int) -> Batch:
        """Return the tables of presence and absence of X and Y, from which measures follow."""
        cells = np.tensordot(_COEFFICIENTS, self.support, axes=1)
        cells[0, 0] += 1
        covariance = np.moveaxis(self.covariance, -1, 0)
        return Batch(cells, _COEFFICIENTS[:, :, None], covariance, reports)


#: Coefficients of (π_XY, π_X, π_Y) in the cells of the table of X (rows) and Y, absence first.
_COEFFICIENTS = np.array([[[1.0, -1, -1], [-1, 0, 1]], [[-1, 1, 0], [1, 0, 0]]])


@dataclass(frozen=True, eq=False)
class Rules(Mined):
    """Confidences of rules, then their supports, then each measure.

    Rules are sorted by reliability, then bounded ones first, then as requested.

    Attributes
    ----------
    measures : sequence of str
        Names of the requested measures.
    alpha : float
        Level α of each interval.
    left_out : int
        Number of rules that are not listed because their support is not significantly above zero.
    listed : int
        Number of rules that fulfil the query.
    surest : int or None
        Row of the rule with the largest lower bound.
    at_least : float or None
        This bound, simultaneous for all candidates.
    """

    measures: Sequence[str]
    alpha: float
    left_out: int
    listed: int
    surest: int | None
    at_least: float | None


@dataclass(frozen=True, eq=False)
class RuleMargins:
    """Margins of the attributes at some positions of a schema, from which rules are estimated.

    The last place along each axis of `support` and `variance` is the sum over it. `table` returns
    the table with these margins, for covariances; most margins need none.
    """

    positions: tuple[int, ...]
    support: Array
    variance: Array
    table: Callable[[], Table]

    @classmethod
    def of(cls, positions: tuple[int, ...], table: Table) -> "RuleMargins":
        """Return the margins of a table."""
        return cls(positions, table.margins, table.margin_variance(), lambda: table)

    @classmethod
    def of_tables(
        cls, positions: tuple[int, ...], examined: Examined, estimator: Estimator
    ) -> "RuleMargins":
        """Return the margins of a table from the earlier tables of fewer attributes."""
        sizes = [estimator.schema.shape[j] for j in positions]
        support, variance = np.full((2, *(size + 1 for size in sizes)), np.nan)
        for inside in product((False, True), repeat=len(positions)):
            known = examined.tables.get(tuple(compress(positions, inside)))
            if known is not None:
                place = tuple(slice(-1) if within else -1 for within in inside)
                support[place], variance[place] = known
        return cls(
            positions, support, variance, cache(lambda: estimator.with_margins(positions)[1])
        )

    def places(self, codes: Codes, in_antecedent: Sides) -> Codes:
        """Return the places of X and Y together, of X, and of Y in the flat margins, (3, R)."""
        positions, shape = list(self.positions), self.support.shape
        strides = np.cumprod([1, *shape[:0:-1]])[::-1]
        chosen = codes[:, positions]
        # Steps from the sum over an attribute to one of its answers.
        steps = np.where(chosen < 0, 0, (chosen - np.array(shape) + 1) * strides)
        both = steps.sum(axis=1)
        left = np.where(in_antecedent[:, positions], steps, 0).sum(axis=1)
        return np.asarray(self.support.size - 1 + np.stack([both, left, both - left]))

    def supports(self, places: Codes) -> RuleSupports:
        """Return the supports of rules with these places.

        Confidences need no covariances with Y, which are NaN.
        """
        number = places.shape[1]
        cov = np.full((3, 3, number), np.nan)
        cov[range(3), range(3)] = self.variance.take(places)
        if number:
            cov[0, 1] = cov[1, 0] = self._covariance(places[0], places[1])
        return RuleSupports(self.only_supports(places), cov, bool(number) and self.table().logit)

    def with_consequent(self, places: Codes, supports: RuleSupports) -> RuleSupports:
        """Add the covariances with Y, which measures need."""
        cov = supports.covariance.copy()
        for i in (0, 1):
            cov[i, 2] = cov[2, i] = self._covariance(places[i], places[2])
        return replace(supports, covariance=cov)

    def only_supports(self, places: Codes) -> Array:
        """Supports of X and Y together, of X and of Y, shape (3, R)."""
        return np.asarray(self.support.take(places))

    def estimable(self, places: Codes, quantile: float) -> NDArray[np.bool_]:
        """Return a mask of the rules whose support is significantly above zero."""
        support, variance = self.support.take(places[0]), self.variance.take(places[0])
        return significantly_positive(support, np.sqrt(variance), quantile)

    def _covariance(self, *places: Codes) -> Array:
        shape = self.support.shape
        first, second = (np.stack(np.unravel_index(each, shape), axis=-1) for each in places)
        return self.table().margin_covariance(first, second)


def mine_rules(estimator: Estimator, query: RulesQuery) -> Rules:
    """Return all rules X ⇒ Y for which X and Y together are one of the itemsets.

    Rules whose antecedent has no positive estimated support are left out, because their confidence
    is undefined. In any order, rules that are not usable or have no bounds come last, because the
    largest ratios occur for antecedents with the smallest supports. More than `MAX_RULES` ways to
    split the itemsets raise DomainTooLarge.
    """
    check_order(query)
    check_keeping(estimator)
    schema = schema_of_items(estimator.schema, query.all_answers)
    max_length, unexamined = examined_length(estimator, query, _too_many_rules(estimator, query))
    examined = examine(estimator, query, max_length)
    itemsets = select_itemsets(
        schema, estimator.identified_sets, examined, examined.supports.value, query, max_length
    )
    splits = int((2.0**itemsets.lengths - 2).sum())
    if splits > MAX_RULES:
        raise DomainTooLarge(
            f"max_length: {splits} rules to examine; expected at most {MAX_RULES}, so a lower"
            " max_length or a higher min_support",
            field="max_length",
        )
    attributes, left_out = len(schema.attributes), 0
    quantile = normal_quantile(1 - query.confidence)
    none = np.zeros((0, attributes), np.int64), np.zeros((0, attributes), np.bool_)
    rules, groups = [none], [np.zeros(0, np.int64)]
    estimates = [RuleSupports(np.zeros((3, 0)), np.zeros((3, 3, 0)))]
    every: list[RuleMargins] = []
    for positions, itemset_codes in _groups(itemsets, estimator.at_once):
        check_deadline()
        if estimator.at_once:
            margins = RuleMargins.of(positions, estimator.whole)
        else:
            margins = RuleMargins.of_tables(positions, examined, estimator)
        codes, sides = _splits(itemset_codes)
        places = margins.places(codes, sides)
        both, left, right = margins.only_supports(places)
        reached = (left > 0) & reaches(both, query.min_confidence * left)
        if query.min_lift is not None:
            reached &= (right > 0) & reaches(both, query.min_lift * left * right)
        # Covariances take the most time, and there are many more rules than listed ones.
        estimable = margins.estimable(places, quantile) | query.include_uncertain
        left_out += int((reached & ~estimable).sum())
        reached &= estimable
        rules.append((codes[reached], sides[reached]))
        estimates.append(margins.supports(places[:, reached]))
        groups.append(np.full(int(reached.sum()), len(every)))
        every.append(margins)
    codes, sides = (np.concatenate(arrays) for arrays in zip(*rules, strict=True))
    group = np.concatenate(groups)
    supports = RuleSupports(
        np.concatenate([part.support for part in estimates], axis=-1),
        np.concatenate([part.covariance for part in estimates], axis=-1),
        any(part.logit for part in estimates),
    )

    def completed(rows: NDArray[np.int64]) -> RuleSupports:
        chosen = supports[rows]
        for number in np.unique(group[rows]).tolist():
            check_deadline()
            inside = np.flatnonzero(group[rows] == number)
            margins = every[number]
            places = margins.places(codes[rows[inside]], sides[rows[inside]])
            whole = margins.with_consequent(places, chosen[inside])
            chosen.covariance[:, :, inside] = whole.covariance
        return chosen

    candidates = count_rules(schema, estimator.identified_sets, min(max_length, attributes))
    found = arrange(
        schema,
        codes,
        sides,
        supports,
        estimator.reports,
        query,
        completed,
        candidates=candidates,
        left_out=left_out,
    )
    return replace(found, unexamined=unexamined, max_length=max_length)


def estimate_rule(estimator: Estimator, query: RulesQuery) -> Rules:
    """Estimate the rule X ⇒ Y that a query names, whatever its support; by default all measures.

    If the estimated support of X is not positive, its confidence is undefined: EstimateError.
    """
    check_order(query)
    codes, sides = sides_of_rule(estimator.schema, query.antecedent, query.consequent)
    positions = tuple(np.flatnonzero(codes[0] >= 0).tolist())
    margins = RuleMargins.of(*estimator.with_margins(positions))
    places = margins.places(codes, sides)
    supports = margins.supports(places)
    if not supports.support[1, 0] > 0:
        raise EstimateError(
            "antecedent: its estimated share is not above 0, so the rule has no confidence",
            field="antecedent",
        )
    measures = list(MEASURE_NAMES) if query.measures is None else query.measures
    return arrange(
        estimator.schema,
        codes,
        sides,
        supports,
        estimator.reports,
        msgspec.structs.replace(query, measures=measures),
        lambda rows: margins.with_consequent(places[:, rows], supports[rows]),
    )


def _too_many_rules(estimator: Estimator, query: RulesQuery) -> TooMany:
    """Return the test for too many rules, for queries without a `max_length`."""
    schema = schema_of_items(estimator.schema, query.all_answers)
    itemsets = cache(partial(count_itemsets, schema, estimator.identified_sets))

    def too_many(subsets: Sequence[int]) -> bool:
        # At most this number of shares of one table can reach the threshold.
        reached = [min(itemsets(k), n / query.min_support) for k, n in enumerate(subsets)]
        ways = [max(2**k - 2, 0) for k in range(len(subsets))]
        of_tables = 0 if estimator.at_once else np.dot(ways, subsets)
        return bool(np.dot(ways, reached) > MAX_RULES or of_tables > _FEW_SPLITS)

    return too_many


def count_rules(schema: Schema, family: IdentifiedSets, max_length: int) -> int:
    """Return the number of rules with at most this number of items on both sides together."""
    lengths = range(2, max_length + 1)
    return sum((2**k - 2) * count_itemsets(schema, family, k) for k in lengths)


def arrange(
    schema: Schema,
    codes: Codes,
    in_antecedent: Sides,
    supports: RuleSupports,
    reports: int,
    query: RulesQuery,
    completed: Callable[[NDArray[np.int64]], RuleSupports],
    *,
    candidates: int | None = None,
    left_out: int = 0,
) -> Rules:
    """Return rules in the requested order, with their intervals and measures.

    Parameters
    ----------
    completed : callable
        Returns the supports of some of the rules with all covariances.
    candidates : int, optional
        Number of possible rules from which these were selected, for the false coverage rate of
        their intervals; by default, the query names the rule.
    """
    listed, alpha = len(codes), 1 - query.confidence
    quantile = normal_quantile(alpha)
    if candidates is not None:
        alpha = listed_alpha(query.confidence, listed, candidates)
    half_width = quantile * np.sqrt(supports.covariance[0, 0])
    sets = supports.confidence.sets(quantile)
    # The reliability follows from the wider margin of support and confidence.
    margins = np.maximum(half_width, sets.half_width)
    if query.sort == "confidence":
        by = supports.confidence.value
    elif query.sort == "support":
        by = supports.support[0]
    else:
        tables = completed(np.arange(listed)).tables(reports)
        by = evaluate(find_measure(query.sort), tables, query.sort).value
    # In any order, rules without bounds come late; the last key is the primary one.
    unknown = np.isnan(supports.confidence.standard_error)
    order = np.lexsort((-supports.support[0], -by, unknown, grades(margins)))[: query.limit]
    chosen = completed(order) if query.measures else supports[order]
    measures, confidence = query.measures or (), chosen.confidence
    ordinary, selected = chosen.together.sets(quantile).half_width, normal_quantile(alpha)
    level, tables = query.confidence, chosen.tables(reports)
    estimates = [
        confidence.columns(level, quantile=selected, grade=grades(margins[order])),
        chosen.together.columns(level, quantile=selected, grade=grades(ordinary)),
        *(
            graded(measure, evaluate(measure, tables, name), level, selected)
            for name, measure in zip(measures, map(find_measure, measures), strict=True)
        ),
    ]
    of_rows = np.tile(np.arange(len(order)), len(estimates))
    left = in_antecedent[order]
    sides = {"antecedent": left, "consequent": ~left}
    keys = [
        Key(
            name=name,
            kind="answers",
            values=answer_sets(schema, np.where(side, codes[order], -1), of_rows),
        )
        for name, side in sides.items()
    ]
    return Rules(
        keys,
        EstimateColumns.concatenate(estimates),
        candidates or 1,
        measures,
        alpha,
        left_out,
        listed,
        *_surest(chosen, listed_alpha(query.confidence, 1, candidates or 1)),
    )


def _surest(supports: RuleSupports, alpha: float) -> tuple[int | None, float | None]:
    """Return the place of the rule with the largest lower bound at a level, and that bound."""
    sets = supports.confidence.sets(normal_quantile(alpha))
    lower = np.where(np.isfinite(sets.half_width), sets.lower, -np.inf)
    if not (lower > 0).any():
        return None, None
    place = int(np.argmax(lower))
    return place, min(float(lower[place]), SHARE.upper)


def sides_of_rule(schema: Schema, antecedent: Items, consequent: Items) -> tuple[Codes, Sides]:
    """Return a rule X ⇒ Y as codes and antecedent, arrays of shape (1, M).

    A side that is empty, names an unknown category or an attribute of the other side raises
    ParameterError.
    """
    codes = np.full((1, len(schema.attributes)), -1, dtype=np.int64)
    in_antecedent = np.zeros_like(codes, dtype=np.bool_)
    for side, items in (("antecedent", antecedent), ("consequent", consequent)):
        check_field(RulesQuery, side, items)
        if not items:
            raise ParameterError(f"{side}: expected one or more attribute=category", field=side)
        for name, category in items.items():
            j = schema.position(name, side)
            if codes[0, j] >= 0:
                raise ParameterError(
                    f"consequent: '{name}' is in the antecedent too; expected other attributes",
                    field="consequent",
                )
            codes[0, j] = category_code(schema.attributes[j], category, side)
            in_antecedent[0, j] = side == "antecedent"
    return codes, in_antecedent


def _groups(itemsets: Itemsets, at_once: bool) -> Iterator[tuple[tuple[int, ...], Codes]]:
    """Group the itemsets of two items or more by the attributes that are reconstructed together."""
    named = itemsets.codes >= 0
    if at_once:
        yield tuple(range(named.shape[1])), itemsets.codes[itemsets.lengths > 1]
        return
    patterns, group = np.unique(named, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        if pattern.sum() > 1:
            rows = group.reshape(-1) == number
            yield tuple(np.flatnonzero(pattern).tolist()), itemsets.codes[rows]


def _splits(codes: Codes) -> tuple[Codes, Sides]:
    """Return all splits of itemsets into X and Y: codes and antecedents, shape (R, M)."""
    named = codes >= 0
    lengths = named.sum(axis=1)
    attributes = codes.shape[1]
    rules, sides = [np.zeros((0, attributes), np.int64)], [np.zeros((0, attributes), np.bool_)]
    for length in np.unique(lengths).tolist():
        chosen = codes[lengths == length]
        positions = np.nonzero(chosen >= 0)[1].reshape(-1, 1, length)
        # The bits of 1 … 2^k − 2 are the proper subsets.
        subsets = (np.arange(1, 2**length - 1)[:, None] >> np.arange(length)) & 1 == 1
        shape = (len(chosen), len(subsets))
        left = np.zeros((*shape, attributes), np.bool_)
        np.put_along_axis(left, np.broadcast_to(positions, (*shape, length)), subsets[None], axis=2)
        rules.append(np.repeat(chosen, len(subsets), axis=0))
        sides.append(left.reshape(-1, attributes))
    return np.concatenate(rules), np.concatenate(sides)
