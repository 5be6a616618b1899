"""The estimates of a result as columns and as rows, like ``tidy()`` of R's broom.

A row has the *keys* that identify an estimate, the estimated *quantity*, and the estimate with its
error. The results of all analyses have the same columns, so that the same code creates their files,
data frames, tables, charts and pages.
"""

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np

from ..columns import Column, Numbers, Texts
from ..protocol.base import Message
from .estimate import Estimate
from .keys import Key
from .quantities import Quantity, quantity

#: Decisions about estimates: whether a support is above a threshold, or an effect is significant.
Decision = Literal["frequent", "undecided", "significant", "not significant"]

#: Decisions about supports, and about effects; the first of each rejects the hypothesis.
FREQUENT: tuple[Decision, Decision] = ("frequent", "undecided")
SIGNIFICANT: tuple[Decision, Decision] = ("significant", "not significant")


class EstimateColumns(Message, frozen=True, kw_only=True, omit_defaults=True, eq=False):
    """Columns of the estimates of a result, with null for missing values.

    The fields are those of a `Row`. `lower` and `upper` are the smallest and the largest value of
    the confidence set, null if it is unbounded.
    """

    quantity: Column
    value: Numbers
    standard_error: Numbers | None = None
    standard_error_log: Numbers | None = None
    lower: Numbers | None = None
    upper: Numbers | None = None
    set: Column | None = None
    gap_lower: Numbers | None = None
    gap_upper: Numbers | None = None
    perturbation_error: Numbers | None = None
    sampling_error: Numbers | None = None
    statistic: Numbers | None = None
    p_value: Numbers | None = None
    adjusted_p_value: Numbers | None = None
    threshold: Numbers | None = None
    decision: Column | None = None
    moved_by: Numbers | None = None
    undone_by: Numbers | None = None
    reliability: Column | None = None
    undefined: Column | None = None

    def __len__(self) -> int:
        return len(self.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, EstimateColumns) or len(self) != len(other):
            return False
        same = (
            np.array_equal(self.numbers(name), other.numbers(name), equal_nan=True)
            if name in NUMBERS
            else self.texts(name) == other.texts(name)
            for name in self.__struct_fields__
        )
        return all(same)

    __hash__ = None  # type: ignore[assignment]

    def numbers(self, name: str) -> Numbers:
        """Return a column of numbers, with NaN for missing values."""
        column = getattr(self, name)
        return np.full(len(self), np.nan) if column is None else column

    def texts(self, name: str) -> Texts:
        """Return a column of texts."""
        column = getattr(self, name)
        return Texts.constant(None, len(self)) if column is None else column

    def take(self, rows: Any) -> "EstimateColumns":
        """Return the selected rows; `rows` are indices, a slice or a mask."""
        columns: dict[str, Any] = {
            name: column if column is None else _taken(column, rows)
            for name in self.__struct_fields__
            for column in [getattr(self, name)]
        }
        return EstimateColumns(**columns)

    @classmethod
    def concatenate(cls, parts: Sequence["EstimateColumns"]) -> "EstimateColumns":
        """Concatenate the rows of several tables."""
        columns: dict[str, Any] = {}
        for name in cls.__struct_fields__:
            given = [getattr(part, name) for part in parts]
            if all(column is None for column in given):
                continue
            if name in NUMBERS:
                columns[name] = np.concatenate([part.numbers(name) for part in parts])
            else:
                columns[name] = Texts.concatenate([part.texts(name) for part in parts])
        return cls(**columns)


def _taken(column: Any, rows: Any) -> Any:
    return column.take(rows) if isinstance(column, Column) else column[rows]


#: Columns of estimates that are numbers.
NUMBERS = tuple(
    name
    for name in EstimateColumns.__struct_fields__
    if name not in ("quantity", "set", "decision", "reliability", "undefined")
)


class Row(Estimate, frozen=True, kw_only=True):
    """One estimate of a result, with its keys and its quantity.

    `statistic` and `p_value` are of the same test. `adjusted_p_value` is the smallest false
    discovery rate at which the estimate is significant among all tested estimates. `threshold` is
    the value with which the estimate was compared, and `decision` what was decided. `moved_by` is
    by how many standard errors a single false report can move a significant estimate towards no
    effect, and `undone_by` how many such reports would undo the decision; null where no number of
    them would.
    """

    keys: dict[str, Any]
    quantity: str
    statistic: float | None = None
    adjusted_p_value: float | None = None
    threshold: float | None = None
    decision: Decision | None = None
    moved_by: float | None = None
    undone_by: float | None = None

    def __getitem__(self, key: str) -> Any:
        return self.keys[key]

    @property
    def of(self) -> Quantity:
        """The estimated quantity."""
        return quantity(self.quantity)

    @property
    def is_significant(self) -> bool:
        """Whether the test of the estimate rejects its hypothesis."""
        return self.decision in (FREQUENT[0], SIGNIFICANT[0])

    @property
    def possible(self) -> float | None:
        """The possible value closest to the estimate, which tables and charts show."""
        return self.of.possible(self)


class Selection(Message, frozen=True, kw_only=True):
    """Selection of the listed estimates by their values.

    `listed` of `candidates` possible estimates were selected. The false coverage rate of their
    intervals is `rate`: on average at most this share of them misses the true value.
    """

    candidates: int
    listed: int
    rate: float


class Tidy(Protocol):
    """Estimates as columns, with the keys that identify them."""

    @property
    def keys(self) -> list[Key]: ...

    @property
    def estimates(self) -> EstimateColumns: ...


class Rows(Sequence[Row]):
    """Rows of a long table, created when they are read."""

    def __init__(self, result: Tidy) -> None:
        self._result = result

    def __len__(self) -> int:
        return len(self._result.estimates)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        columns = self._result.estimates
        fields: dict[str, Any] = {}
        for name in columns.__struct_fields__:
            column = getattr(columns, name)
            value = None if column is None else column[place]
            if value is not None and name in NUMBERS:
                value = float(value) if np.isfinite(value) else None
            fields[name] = value
        ends, gap = (
            (fields.pop(f"{prefix}lower"), fields.pop(f"{prefix}upper")) for prefix in ("", "gap_")
        )
        kind = fields.pop("set")
        return Row(
            **{name: value for name, value in fields.items() if value is not None},
            keys={key.name: key.values[place] for key in self._result.keys},
            interval=None if kind is None or kind == "empty" else ends,
            set=kind or "interval",
            gap=None if None in gap else gap,
        )
