"""Frequent itemsets, mined by attribute subsets (FRAPP §6).

All itemsets of one attribute subset are cells of one table, so one vectorized reconstruction
serves them all. Levels go from single attributes upwards. An itemset is examined while no subset
of it is ruled out by an upper bound below the threshold, since a true support never exceeds that
of a subset. A low estimate alone rules nothing out, which would lose itemsets to mere noise; and
the bounds that rule out hold for all subsets of an itemset at once (Bonferroni), or the longest
itemsets, with the most subsets, would be lost too often.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import get_args

import numpy as np
from halftruth_shared import DomainTooLarge, ParameterError, Schema
from halftruth_shared.messages import Decision, ItemsetEstimate, Precision, Selection, Target
from numpy.typing import NDArray

from .bounds import Array, check_target, normal_quantile, optional, variance
from .table import Table

#: Attribute subsets examined before mining asks for a lower max_length.
MAX_SUBSETS = 100_000

#: Items up to which the bounds that rule out are widened; floating point reaches no further.
_MOST_HALVINGS = 32

#: Names of the decision codes.
DECISIONS: tuple[Decision, ...] = ("infrequent", "undecided", "frequent")

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Itemsets:
    """Selected itemsets as columns, shortest first and most frequent first within a length.

    Iterating gives one `ItemsetEstimate` after the other.

    Attributes
    ----------
    schema : Schema
    codes : ndarray of int, shape (R, M)
        Category code of each attribute, −1 for attributes that the itemset leaves open.
    support, standard_error : ndarray, shape (R,)
        The standard error is NaN where the reports do not determine one.
    quantile : float
        Half-width of an interval in standard errors.
    decision : ndarray of int, shape (R,)
        Position in `DECISIONS`.
    precision : tuple of Precision
        What each length can be told apart by.
    """

    schema: Schema
    codes: NDArray[np.int64]
    support: Array
    standard_error: Array
    quantile: float
    decision: NDArray[np.int64]
    precision: tuple[Precision, ...]

    @cached_property
    def lower(self) -> Array:
        """Lower ends of the intervals."""
        return self.support - self.quantile * self.standard_error

    @cached_property
    def upper(self) -> Array:
        """Upper ends of the intervals."""
        return self.support + self.quantile * self.standard_error

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Number of items of each itemset."""
        return np.asarray((self.codes >= 0).sum(axis=1))

    def __len__(self) -> int:
        return len(self.support)

    def __iter__(self) -> Iterator[ItemsetEstimate]:
        items = [
            [(attribute.name, category) for category in attribute.categories]
            for attribute in self.schema.attributes
        ]
        rows = zip(
            self.codes.tolist(),
            self.support.tolist(),
            self.standard_error.tolist(),
            self.lower.tolist(),
            self.upper.tolist(),
            self.decision.tolist(),
            strict=True,
        )
        for codes, support, error, lower, upper, decision in rows:
            yield ItemsetEstimate(
                items=dict(items[j][code] for j, code in enumerate(codes) if code >= 0),
                support=support,
                standard_error=optional(error),
                interval=(lower, upper) if error == error else None,
                decision=DECISIONS[decision],
            )


def mine_itemsets(
    schema: Schema,
    table: Callable[[tuple[int, ...]], Table],
    min_support: float,
    max_length: int | None,
    confidence: float,
    select: Selection,
    target: Target,
) -> Itemsets:
    """Examine every itemset that can still be frequent, and select.

    Parameters
    ----------
    schema : Schema
    table : callable
        Reconstructed table of the attributes at some positions.
    min_support : float
        Threshold, above 0 and at most 1.
    max_length : int or None
        Longest itemsets; None for as many items as there are attributes.
    confidence : float
        Of each single interval, not of all together.
    select : {"estimate", "lower", "upper"}
        What must reach the threshold: the lower bound suppresses false positives, the upper one
        false negatives (Guo Table 3.3b).
    target : {"population", "respondents"}

    Raises
    ------
    ParameterError
        If a parameter is outside its range.
    DomainTooLarge
        If more than `MAX_SUBSETS` attribute subsets would have to be examined.
    """
    if not 0 < min_support <= 1:
        raise ParameterError(
            "min_support: expected a number above 0 and at most 1, such as 0.02",
            field="min_support",
        )
    if max_length is not None and max_length < 1:
        raise ParameterError("max_length: expected an integer of at least 1", field="max_length")
    if select not in get_args(Selection):
        raise ParameterError("select: expected estimate, lower or upper", field="select")
    check_target(target)
    quantile = normal_quantile(confidence)
    longest = min(max_length or len(schema.attributes), len(schema.attributes))
    ruling_out = normal_quantile(1 - (1 - confidence) / 2 ** min(longest, _MOST_HALVINGS))

    levels = []
    precision = []
    possible: dict[tuple[int, ...], Mask] = {(): np.array(True)}
    examined = 0
    for length in range(1, longest + 1):
        subsets = _next_level(schema, possible, MAX_SUBSETS - examined)
        if not subsets:
            break
        examined += len(subsets)
        level = _reconstruct(subsets, table, target)
        lower = level.support - quantile * level.standard_error
        upper = level.support + quantile * level.standard_error
        infrequent = upper < min_support
        decision = np.where(infrequent, 0, np.where(lower >= min_support, 2, 1))
        # An itemset without bounds is never ruled out.
        reached = {
            "estimate": level.support >= min_support,
            "lower": lower >= min_support,
            "upper": ~infrequent,
        }[select]
        chosen = np.flatnonzero(level.candidates & reached)
        levels.append(
            (
                level.codes(chosen, len(schema.attributes)),
                level.support[chosen],
                level.standard_error[chosen],
                decision[chosen],
            )
        )
        half_widths = quantile * level.standard_error[level.candidates]
        precision.append(_precision(length, half_widths, min_support))
        ruled_out = level.support + ruling_out * level.standard_error < min_support
        possible = level.split(level.candidates & ~ruled_out)
    codes, support, error, decision = map(np.concatenate, zip(*levels, strict=True))
    order = np.lexsort((-support, (codes >= 0).sum(axis=1)))
    return Itemsets(
        schema,
        codes[order],
        support[order],
        error[order],
        quantile,
        decision[order],
        tuple(precision),
    )


@dataclass(frozen=True, eq=False)
class _Level:
    """All cells of the attribute subsets of one length, one table after the other."""

    positions: tuple[tuple[int, ...], ...]
    shapes: tuple[tuple[int, ...], ...]
    starts: NDArray[np.int64]
    candidates: Mask
    support: Array
    standard_error: Array

    def split(self, mask: Mask) -> dict[tuple[int, ...], Mask]:
        """A mask over all cells, table by table."""
        ends = [*self.starts[1:].tolist(), len(mask)]
        return {
            positions: mask[start:end].reshape(shape)
            for positions, shape, start, end in zip(
                self.positions, self.shapes, self.starts.tolist(), ends, strict=True
            )
        }

    def codes(self, chosen: NDArray[np.int64], attributes: int) -> NDArray[np.int64]:
        """Category codes of some cells, −1 for the attributes that their subset leaves open."""
        codes = np.full((len(chosen), attributes), -1, dtype=np.int64)
        firsts = np.searchsorted(chosen, self.starts).tolist()
        for positions, shape, start, first, end in zip(
            self.positions,
            self.shapes,
            self.starts.tolist(),
            firsts,
            [*firsts[1:], len(chosen)],
            strict=True,
        ):
            if first < end:
                cells = np.unravel_index(chosen[first:end] - start, shape)
                for position, column in zip(positions, cells, strict=True):
                    codes[first:end, position] = column
        return codes


def _reconstruct(
    subsets: dict[tuple[int, ...], Mask],
    table: Callable[[tuple[int, ...]], Table],
    target: Target,
) -> _Level:
    """Reconstruct the table of each subset, and bound all of their cells at once."""
    tables = [table(positions) for positions in subsets]
    shapes = tuple(reconstructed.support.shape for reconstructed in tables)
    support = np.concatenate([reconstructed.support.ravel() for reconstructed in tables])
    moment = np.concatenate([reconstructed.second_moment.ravel() for reconstructed in tables])
    sizes = [reconstructed.support.size for reconstructed in tables]
    return _Level(
        tuple(subsets),
        shapes,
        np.cumsum([0, *sizes[:-1]]),
        np.concatenate([mask.ravel() for mask in subsets.values()]),
        support,
        np.sqrt(variance(moment, support, tables[0].reports, target)),
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
            if prefix:
                mask: Mask = np.array(True)
                # combinations() leaves out the last position first.
                for axis, part in zip(reversed(range(len(positions))), parts, strict=True):
                    other = possible[part]
                    mask = mask & other.reshape(*other.shape[:axis], 1, *other.shape[axis:])
            else:
                mask = schema.attributes[j].item_mask
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


def _precision(length: int, half_widths: Array, min_support: float) -> Precision:
    """Say what itemsets of one length can be told apart by, from their half-widths."""
    known = half_widths[~np.isnan(half_widths)]
    if known.size == 0:
        return Precision(
            length=length,
            examined=half_widths.size,
            half_width=None,
            usable=False,
            verdict="not usable: too few reports for any interval",
        )
    typical = float(np.median(known))
    if typical <= min_support:
        verdict = f"usable: supports are known to ±{typical:.2%}"
    elif typical < 0.5:
        verdict = (
            f"not usable at {min_support:.2%}: only supports above {typical:.1%}"
            " can be told from zero"
        )
    else:
        verdict = f"not usable: supports are known only to ±{typical:.0%}"
    return Precision(
        length=length,
        examined=half_widths.size,
        half_width=typical,
        usable=typical <= min_support,
        verdict=verdict,
    )
