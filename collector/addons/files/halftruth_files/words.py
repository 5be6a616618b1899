"""Encoding of reports as a few unsigned integers (words), which SQL can compare and group.

The values of a report are the mixed-radix digits of its words. A word has as many columns as fit
into 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from halftruth_shared import ReportSpace
from numpy.typing import NDArray

#: SQL integer types, by number of values.
_TYPES = {2**8: "UTINYINT", 2**16: "USMALLINT", 2**32: "UINTEGER", 2**64: "UBIGINT"}


class Word(NamedTuple):
    """Columns of a report that share one word, with the weight of each digit."""

    name: str
    columns: tuple[int, ...]
    weights: tuple[int, ...]
    size: int

    @property
    def sql_type(self) -> str:
        """Narrowest SQL type for the word."""
        return next(kind for size, kind in _TYPES.items() if self.size <= size)

    def sql(self) -> str:
        """Return the SQL expression for the word of a valid list "values"."""
        digits = (
            f'"values"[{column + 1}]::UBIGINT * {weight}::UBIGINT'
            for column, weight in zip(self.columns, self.weights, strict=True)
        )
        return f"({' + '.join(digits)})::{self.sql_type}"


def plan_words(space: ReportSpace) -> list[Word]:
    """Return the words of a report, filling each with as many columns as fit, in order."""
    words: list[Word] = []
    columns: list[int] = []
    weights: list[int] = []
    size = 1
    for column, values in enumerate(space.shape):
        if columns and size * values > 2**64:
            words.append(Word(f"w{len(words)}", tuple(columns), tuple(weights), size))
            columns, weights, size = [], [], 1
        columns.append(column)
        weights.append(size)
        size *= values
    return [*words, Word(f"w{len(words)}", tuple(columns), tuple(weights), size)]


def to_words(space: ReportSpace, values: NDArray[np.integer]) -> list[NDArray[np.uint64]]:
    """Return the words of valid reports; `values` has the shape (reports, columns)."""
    return [
        sum(
            (
                values[:, column].astype(np.uint64) * np.uint64(weight)
                for column, weight in zip(word.columns, word.weights, strict=True)
            ),
            np.zeros(len(values), dtype=np.uint64),
        )
        for word in plan_words(space)
    ]


def to_packed(space: ReportSpace, words: Sequence[NDArray[np.integer]]) -> NDArray[np.void]:
    """Return the packed reports with some words."""
    values = np.empty((len(words[0]), len(space.shape)), dtype=space.dtype)
    for word, numbers in zip(plan_words(space), words, strict=True):
        rest = numbers.astype(np.uint64)
        for column in word.columns:
            rest, values[:, column] = np.divmod(rest, np.uint64(space.shape[column]))
    return values.view(f"V{space.packed_size}").ravel()
