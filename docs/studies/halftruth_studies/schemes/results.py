"""Results of the experiment with schemes, as messages for JSON, CSV and Parquet."""

from collections.abc import Iterator
from typing import Any

from halftruth_shared.analyses.base import Columns
from halftruth_shared.protocol.base import Message


class LengthErrors(Message, frozen=True, kw_only=True):
    """Errors over all itemsets of one length, as means over the simulated surveys.

    `frequent` is the number of truly frequent itemsets, `found` of found ones. `support_error` is
    ρ, null if no frequent itemset was found; `false_negatives` and `false_positives` are σ⁻ and σ⁺,
    null if no itemset is frequent. `root_mean_square` is the error of the supports of all itemsets,
    null if the scheme does not identify supports of this length, so that no itemset is found.
    `condition_number` is the largest of the tables of this length, null if it is infinite or no
    single matrix is inverted.
    """

    length: int
    frequent: int
    found: float
    support_error: float | None
    false_negatives: float | None
    false_positives: float | None
    root_mean_square: float | None
    condition_number: float | None


class SchemeErrors(Message, frozen=True, kw_only=True):
    """Errors of one scheme by length of itemsets."""

    scheme: str
    amplification: float
    lengths: list[LengthErrors]


class RandomizedErrors(Message, frozen=True, kw_only=True):
    """RAN-GD with one α: range of the posterior of a property, and errors.

    `alpha` is the half-range of r as a share of γx. `lower` and `upper` are the posteriors of a
    property with this `prior`, for someone who knows that r is at its lower or upper end (FRAPP
    eq. 31).
    """

    alpha: float
    prior: float
    lower: float
    upper: float
    errors: SchemeErrors


class RivalsResult(Message, frozen=True, kw_only=True):
    """Comparison of schemes on the same records.

    `left_out` lists the schemes that are not suitable for the records, with reasons. `randomized`
    has RAN-GD for several α, and is empty if RAN-GD is not suitable.
    """

    records: int
    gamma: float
    min_support: float
    surveys: int
    schemes: list[SchemeErrors]
    left_out: list[str]
    randomized: list[RandomizedErrors]

    @property
    def columns(self) -> Columns:
        """Name and type of each column of `rows`."""
        counted = ("length", "frequent")
        return [
            ("scheme", str),
            ("amplification", float),
            *((name, int if name in counted else float) for name in _OF_LENGTH),
        ]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over rows of `columns`, one for each scheme and length."""
        for scheme in self.schemes:
            for length in scheme.lengths:
                values = (getattr(length, name) for name in _OF_LENGTH)
                yield (scheme.scheme, scheme.amplification, *values)


_OF_LENGTH = LengthErrors.__struct_fields__
