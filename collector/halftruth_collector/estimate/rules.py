"""Association rules X ⇒ Y with bounds on support and confidence (Guo Results 2, 3)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from numbers import Real

import numpy as np
from halftruth_shared import DomainTooLarge, ParameterError, Schema
from halftruth_shared.messages import Items, RuleEstimate, Target
from numpy.typing import NDArray

from .bounds import Array, chebyshev_factor, normal_quantile, optional
from .fieller import FiellerSets, fieller_sets
from .itemsets import Itemsets
from .table import Table

#: Rules examined before mining asks for fewer.
MAX_RULES = 250_000

#: Standard errors by which an antecedent's support must exceed 0 for its rules to have bounds; the
#: terms that the second-order formulas leave out are then about a twenty-fifth of those they keep.
CLEARLY = 5


@dataclass(frozen=True)
class ConfidenceMoments:
    """Second-order mean and variance of an estimated confidence, elementwise."""

    estimate: Array
    mean: Array
    variance: Array


def confidence_moments(
    both: Array, left: Array, var_both: Array, var_left: Array, cov: Array
) -> ConfidenceMoments:
    """Moments of ĉ = a/(a+b), the confidence of X ⇒ Y (Guo Results 2, 3).

    Parameters
    ----------
    both : ndarray
        a, the estimated support of X and Y together.
    left : ndarray
        a + b, the estimated support of X.
    var_both, var_left, cov : ndarray
        Variances of these two estimates and their covariance.

    Returns
    -------
    ConfidenceMoments
        The estimate is NaN where the support of X is not above 0, so that no confidence is
        defined. Mean and variance are NaN where it is not *clearly* above 0, that is, by at least
        `CLEARLY` standard errors: these series in the relative error of X say nothing then.
    """
    left = np.where(left > 0, left, np.nan)
    # A variance of 0 says that all reports weigh the same, and nothing of its true size.
    clear = (left**2 >= CLEARLY**2 * var_left) & (var_left >= 0) & (var_both > 0)
    a, b = both, left - both
    var_a = var_both
    var_b = var_left + var_both - 2 * cov
    cov_ab = cov - var_both
    mean = a / left + (a * var_b - b * var_a + (a - b) * cov_ab) / left**3
    variance = (b * b * var_a + a * a * var_b - 2 * a * b * cov_ab) / left**4
    return ConfidenceMoments(
        a / left,
        np.where(clear, mean, np.nan),
        np.where(clear & (variance >= 0), variance, np.nan),
    )


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules as columns, those with bounds first, most confident first.

    Iterating gives one `RuleEstimate` after the other.

    Attributes
    ----------
    schema : Schema
    codes : ndarray of int, shape (R, M)
        Category code of each attribute, −1 for attributes that the rule leaves open.
    in_antecedent : ndarray of bool, shape (R, M)
        Which attributes stand in X; the others that have a code stand in Y.
    support, support_error : ndarray, shape (R,)
        Of X and Y together, with its standard error.
    confidence : ConfidenceMoments
        Arrays of shape (R,).
    fieller : FiellerSets
        Of the confidences.
    support_quantile, confidence_factor : float
        Half-widths of the normal and of the Chebyshev interval, in standard errors.
    """

    schema: Schema
    codes: NDArray[np.int64]
    in_antecedent: NDArray[np.bool_]
    support: Array
    support_error: Array
    confidence: ConfidenceMoments
    fieller: FiellerSets
    support_quantile: float
    confidence_factor: float

    def __len__(self) -> int:
        return len(self.support)

    def __iter__(self) -> Iterator[RuleEstimate]:
        rows = zip(
            self.codes.tolist(),
            self.in_antecedent.tolist(),
            self.support.tolist(),
            self.support_error.tolist(),
            self.confidence.estimate.tolist(),
            self.confidence.mean.tolist(),
            np.sqrt(self.confidence.variance).tolist(),
            map(self.fieller.__getitem__, range(len(self))),
            strict=True,
        )
        for codes, in_antecedent, support, error, ratio, mean, ratio_error, fieller in rows:
            sides: tuple[Items, Items] = ({}, {})
            for attribute, code, left in zip(
                self.schema.attributes, codes, in_antecedent, strict=True
            ):
                if code >= 0:
                    sides[0 if left else 1][attribute.name] = attribute.categories[code]
            yield RuleEstimate(
                antecedent=sides[0],
                consequent=sides[1],
                support=support,
                support_standard_error=optional(error),
                support_interval=_around(support, self.support_quantile * error),
                confidence=ratio,
                confidence_mean=optional(mean),
                confidence_standard_error=optional(ratio_error),
                confidence_interval=_around(mean, self.confidence_factor * ratio_error),
                confidence_fieller=fieller,
            )


def mine_rules(
    itemsets: Itemsets,
    table: Callable[[tuple[int, ...]], Table],
    min_confidence: float,
    confidence: float,
    target: Target,
) -> Rules:
    """Every rule X ⇒ Y with X and Y together one of the itemsets.

    Rules whose antecedent has no positive estimated support are left out, since they have no
    confidence. Those without bounds come last: the largest ratios are those of antecedents that
    are hardly there.

    Parameters
    ----------
    itemsets : Itemsets
    table : callable
        Reconstructed table of the attributes at some positions.
    min_confidence : float
        Least estimated confidence, from 0 to 1.
    confidence : float
        Confidence level of each single interval.
    target : {"population", "respondents"}

    Raises
    ------
    ParameterError
        If a parameter is outside its range.
    DomainTooLarge
        If there are more than `MAX_RULES` ways to split the itemsets.
    """
    if not isinstance(min_confidence, Real) or not 0 <= min_confidence <= 1:
        raise ParameterError(
            "min_confidence: expected a number from 0 to 1, such as 0.8", field="min_confidence"
        )
    splits = int((2.0**itemsets.lengths - 2).sum())
    if splits > MAX_RULES:
        raise DomainTooLarge(
            f"max_length: {splits} rules to examine; expected at most {MAX_RULES}, so a lower"
            " max_length or a higher min_support",
            field="max_length",
        )
    parts = []
    present = itemsets.codes >= 0
    for positions in sorted({tuple(np.flatnonzero(row).tolist()) for row in present}):
        if len(positions) < 2:
            continue
        mask = np.zeros(len(itemsets.schema.attributes), dtype=np.bool_)
        mask[list(positions)] = True
        codes = itemsets.codes[(present == mask).all(axis=1)]
        cells = tuple(codes[:, list(positions)].T)
        reconstructed = table(positions)
        both, var_both = reconstructed.support[cells], reconstructed.variance(target)[cells]
        for antecedent in _proper_subsets(len(positions)):
            left, var_left, cov = _antecedent(reconstructed, cells, antecedent, target)
            reached = (left > 0) & (both >= min_confidence * left)
            in_antecedent = np.zeros_like(mask)
            in_antecedent[[positions[axis] for axis in antecedent]] = True
            sides = np.broadcast_to(in_antecedent, (int(reached.sum()), mask.size))
            numbers = np.stack([both, left, var_both, var_left, cov])
            parts.append((codes[reached], sides, numbers[:, reached]))
    return _merge(itemsets, parts, confidence)


#: Codes, antecedent mask, and the five numbers that `confidence_moments` takes, shape (5, R).
_Part = tuple[NDArray[np.int64], NDArray[np.bool_], Array]


def _antecedent(
    table: Table,
    cells: tuple[NDArray[np.int64], ...],
    axes: tuple[int, ...],
    target: Target,
) -> tuple[Array, Array, Array]:
    """Support of the antecedents of some cells, its variance, and its covariance with the cell."""
    others = tuple(axis for axis in range(table.support.ndim) if axis not in axes)
    cov = table.margin_covariance(others, target)
    # A margin is the sum of its cells, and so is its covariance with itself.
    left, var_left = (
        np.broadcast_to(values.sum(axis=others, keepdims=True), values.shape)[cells]
        for values in (table.support, cov)
    )
    return left, var_left, cov[cells]


def _merge(itemsets: Itemsets, parts: list[_Part], confidence: float) -> Rules:
    """All parts as one, those with bounds first and then by confidence."""
    attributes = len(itemsets.schema.attributes)
    empty: _Part = (
        np.zeros((0, attributes), dtype=np.int64),
        np.zeros((0, attributes), dtype=np.bool_),
        np.zeros((5, 0)),
    )
    codes, in_antecedent, columns = zip(empty, *parts, strict=True)
    numbers = np.concatenate(columns, axis=1)
    moments = confidence_moments(*numbers)
    order = np.lexsort((-numbers[0], -moments.estimate, np.isnan(moments.variance)))
    quantile = normal_quantile(1 - confidence)
    return Rules(
        itemsets.schema,
        np.concatenate(codes)[order],
        np.concatenate(in_antecedent)[order],
        numbers[0, order],
        np.sqrt(numbers[2, order]),
        ConfidenceMoments(moments.estimate[order], moments.mean[order], moments.variance[order]),
        fieller_sets(*numbers[:, order], quantile=quantile),
        quantile,
        chebyshev_factor(1 - confidence),
    )


def _proper_subsets(count: int) -> Iterator[tuple[int, ...]]:
    for length in range(1, count):
        yield from combinations(range(count), length)


def _around(centre: float, half_width: float) -> tuple[float, float] | None:
    lower, upper = optional(centre - half_width), optional(centre + half_width)
    return None if lower is None or upper is None else (lower, upper)
