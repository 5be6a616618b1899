"""The result of an analysis as one long (tidy) table of estimates, like ``tidy()`` of R's broom.

A row has the *keys* that identify an estimate, the estimated *quantity*, and the estimate with its
error. The results of all analyses have the same columns, so that the same code creates their files,
data frames, tables, charts and pages.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Generic, Protocol, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

from ..columns import Column, Numbers, Texts, replace_nonfinite
from ..errors import ParameterError
from ..protocol.base import Message
from .base import Contradiction, Group, ModelFit, data_frame
from .blocks import Block
from .caveats import Caveat
from .claims import Claim, Test
from .estimate import Estimate
from .keys import Key, key_text
from .wording import items

if TYPE_CHECKING:
    import pandas as pd

Q = TypeVar("Q")


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
    if name not in ("quantity", "set", "reliability", "undefined")
)


class Row(Estimate, frozen=True, kw_only=True):
    """One estimate of a result, with its keys and its quantity.

    `statistic` and `p_value` are of the same test. `adjusted_p_value` is the smallest false
    discovery rate at which the estimate is significant among all tested estimates.
    """

    keys: dict[str, Any]
    quantity: str
    statistic: float | None = None
    adjusted_p_value: float | None = None

    def __getitem__(self, key: str) -> Any:
        return self.keys[key]


#: Decisions about estimates that were compared with a threshold.
DECISIONS = ("frequent", "undecided")


def is_significant(row: Row, confidence: float) -> bool:
    """Return true if an estimate is significant by its adjusted p-value."""
    p = row.adjusted_p_value
    return p is not None and p <= 1 - confidence + 1e-12


def decision(row: Row, confidence: float) -> str:
    """Return the decision about an estimate."""
    return DECISIONS[0] if is_significant(row, confidence) else DECISIONS[1]


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


class LongTable(Message, Generic[Q], frozen=True, kw_only=True):
    """Fields of a `Result`, and access to its rows."""

    survey: Annotated[str, Meta(description="Id of the survey.")]
    digest: Annotated[
        str,
        Meta(description="Digest of the survey.", extra_json_schema={"pattern": "^[0-9a-f]{64}$"}),
    ]
    reports: Annotated[int, Meta(ge=0, description="Reports counted by then.")]
    as_of: Annotated[datetime, Meta(description="When the counts were read.")]
    group: Group | None = None
    model_fit: ModelFit | None = None
    contradictions: Annotated[
        list[Contradiction],
        Meta(description="Questions of this result whose reports no shares of answers explain."),
    ] = msgspec.field(default_factory=list)
    tests: Annotated[
        list[Test], Meta(description="Tests that the claims of this result rest on.")
    ] = msgspec.field(default_factory=list)
    claims: Annotated[
        list[Claim], Meta(description="What the headline of this result states, in its order.")
    ] = msgspec.field(default_factory=list)
    query: Q
    keys: list[Key] = msgspec.field(default_factory=list)
    estimates: EstimateColumns
    selection: Selection | None = None
    caveats: Annotated[
        list[Caveat], Meta(description="What has to be known of these estimates.")
    ] = msgspec.field(default_factory=list)
    covariance: list[list[float | None]] | None = None
    headline: Annotated[str, Meta(description="The claims of this result as sentences.")] = ""
    layout: Annotated[
        list[Block], Meta(description="How its rows are arranged in tables and charts for people.")
    ] = msgspec.field(default_factory=list)

    @property
    def rows(self) -> Rows:
        """The rows, created when they are read."""
        return Rows(self)

    def key(self, name: str) -> Key:
        """Return a key by name."""
        return next(key for key in self.keys if key.name == name)

    def find(self, quantity: str, /, **keys: Any) -> Row:
        """Return the first row of a quantity with these keys.

        Raises
        ------
        LookupError
            If there is no such row.
        """
        row: Row = self.rows[int(self.places(quantity, **keys)[0])]
        return row

    def places(self, quantity: str, /, **keys: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the indices of the rows of a quantity with these keys."""
        matches = self.estimates.texts("quantity").equals(quantity)
        for name, value in keys.items():
            column = self.key(name).values
            matches &= np.fromiter((each == value for each in column), bool, len(column))
        return np.flatnonzero(matches)

    @property
    def columns(self) -> list[tuple[str, type]]:
        """Name and type of each column of the table."""
        return [
            *((key.name, str) for key in self.keys),
            *(
                (name, float if name in NUMBERS else str)
                for name in EstimateColumns.__struct_fields__
            ),
        ]

    @property
    def index(self) -> int:
        """Number of leading columns that identify a row: the keys, and perhaps the quantity."""
        return len(self.keys) + (len(self.estimates.texts("quantity").levels) > 1)

    def column_lists(self) -> list[Sequence[Any]]:
        """Return columns as lists, with None for missing values and texts for sets of answers."""
        table = self.estimates
        return [
            *([key_text(each) for each in key.values] for key in self.keys),
            *(
                replace_nonfinite(table.numbers(name))
                if name in NUMBERS
                else list(table.texts(name))
                for name in EstimateColumns.__struct_fields__
            ),
        ]

    def to_pandas(self) -> "pd.DataFrame":
        """Return the table as a data frame, indexed by the columns that identify a row.

        The ``attrs`` of the frame have the provenance: `survey`, `reports`, `as_of`, `filter`.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        frame = data_frame(self, self.index)
        frame.attrs = {
            "survey": self.survey,
            "reports": self.reports,
            "as_of": self.as_of.isoformat(),
            "filter": "" if self.group is None else items(self.group.items),
        }
        return frame

    def covariance_to_pandas(self) -> "pd.DataFrame":
        """Return the covariance matrix of the estimates as a data frame.

        Raises
        ------
        ParameterError
            If the query did not request it, or the result has no covariance matrix.
        ImportError
            If pandas is not installed.
        """
        if self.covariance is None:
            raise ParameterError("covariance: there is none; expected a query with covariance=True")
        frame = self.to_pandas()
        return type(frame)(self.covariance, index=frame.index, columns=frame.index, dtype=float)
