"""Answers to a question within groups of people, as functions of one table."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from halftruth_shared import Schema
from numpy.typing import NDArray

from .answers import answer_codes
from .bounds import NEARLY_LINEAR, Array, significantly_positive
from .estimates import Function, delta_error, differentiate, positive
from .table import SOMEBODY, Table


@dataclass(frozen=True, eq=False)
class Groups:
    """Answers to a question within G groups of people.

    Attributes
    ----------
    table : Table
        Of the groups, if any, and then the answers. Without groups, all people are one.
    kept : tuple of sequence of int
        For each axis of the table, the codes of the G groups and of the k answers that are counted.
    names : sequence of str
        Names of the groups, for the reasons why an estimate is undefined.
    """

    table: Table
    kept: tuple[Sequence[int], ...]
    names: Sequence[str] = ()

    @classmethod
    def answered(cls, schema: Schema, table: Table) -> "Groups":
        """Return the last attribute of a table by the others, without missing answers."""
        attributes = (schema.attributes[schema.position(name)] for name in table.axes)
        return cls(table, tuple(answer_codes(attribute) for attribute in attributes))

    @classmethod
    def of_codes(cls, table: Table, groups: Sequence[int], names: Sequence[str]) -> "Groups":
        """Return some groups of a table, with all answers."""
        return cls(table, (groups, range(table.value.shape[1])), names)

    def cells(self, people: Any) -> Any:
        """Return the shares of the cells among all people, shape (G, k, …)."""
        kept = people[np.ix_(*self.kept)]
        return kept.reshape(-1, len(self.kept[-1]), *people.shape[len(self.kept) :])

    def shares(self, people: Any) -> Any:
        """Return the shares of the answers within each group, shape (G, k, …)."""
        cells = self.cells(people)
        return cells / positive(cells.sum(axis=1, keepdims=True))

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the table; NaN if not identified."""
        return self.table.identified_covariance()

    @cached_property
    def known(self) -> bool:
        """True if the covariance is known."""
        return bool(np.isfinite(self.covariance).all())

    @cached_property
    def base(self) -> Array:
        """Share of the members of each group among all people, shape (G,)."""
        return np.asarray(self.cells(self.table.value).sum(axis=1))

    @cached_property
    def defined(self) -> NDArray[np.bool_]:
        """Whether the base of each group is `NEARLY_LINEAR` standard errors above zero."""
        base, error = self._sizes(self.cells)
        # Without a known error, every positive base is large enough.
        return np.asarray(base > NEARLY_LINEAR * np.nan_to_num(error))

    def undefined(self, cells: Function, names: Sequence[str], quantile: float) -> list[str]:
        """Return for each row of cells why its shares are undefined; empty if they are defined.

        They are if the row is not significantly above zero.
        """
        if not self.known:
            return ["the reports show no error"] * len(names)
        present = significantly_positive(*self._sizes(cells), quantile)
        pairs = zip(names, present.tolist(), strict=True)
        return ["" if there else f"{name} is not significantly above zero" for name, there in pairs]

    def _sizes(self, cells: Function) -> tuple[Array, Array]:
        """Return the sums of rows of cells with their standard errors."""
        base, slopes = differentiate(lambda people: cells(people).sum(axis=1), self.table.value)
        return base, delta_error(slopes, self.covariance)

    def alike(self, groups: Sequence[int], answers: Array) -> Array:
        """Return the table in which some groups have the same answers, as a null hypothesis.

        `answers` are their shares, shape (k,).
        """
        people = np.maximum(self.table.value, SOMEBODY)
        own = np.ix_([self.kept[0][group] for group in groups], self.kept[1])
        people[own] = people[own].sum(axis=1, keepdims=True) * answers
        return np.asarray(people / people.sum())

    def pooled(self, groups: Sequence[int]) -> Array:
        """Return the shares of the answers among the members of some groups, shape (k,)."""
        people = self.cells(np.maximum(self.table.value, SOMEBODY))[groups].sum(axis=0)
        return np.asarray(people / people.sum())

    def __len__(self) -> int:
        return len(self.base)
