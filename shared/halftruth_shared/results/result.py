"""The result of an analysis: a long table of estimates, with its tests, claims and caveats."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import msgspec
import numpy as np
from msgspec import Meta

from ..columns import replace_nonfinite
from ..errors import ParameterError
from ..protocol.base import Message
from .base import Contradiction, Group, ModelFit, data_frame, missing_library
from .blocks import Block
from .caveats import Caveat
from .claims import Claim, Test
from .keys import Key, key_text
from .long_table import NUMBERS, EstimateColumns, Row, Rows, Selection
from .presentation import present
from .showing import name_of_result
from .wording import items

if TYPE_CHECKING:
    import pandas as pd

    from .charts.drawing import ChartFigure

Q = TypeVar("Q")


class Result(Message, Generic[Q], frozen=True, kw_only=True):
    """Result of an analysis: its query, its provenance, and a long table of estimates.

    `keys` are the columns that identify a row, and `estimates` the columns of numbers. `covariance`
    is the covariance matrix of the estimates in the order of the rows, null if not requested.
    """

    survey: Annotated[str, Meta(description="Id of the survey.")]
    digest: Annotated[
        str,
        Meta(description="Digest of the survey.", extra_json_schema={"pattern": "^[0-9a-f]{64}$"}),
    ]
    reports: Annotated[int, Meta(ge=0, description="Number of reports counted at that time.")]
    as_of: Annotated[datetime, Meta(description="Time at which the counts were read.")]
    group: Group | None = None
    model_fit: ModelFit | None = None
    contradictions: Annotated[
        list[Contradiction],
        Meta(
            description="Questions of this result whose reports contradict the mechanism: no"
            " shares of answers explain them."
        ),
    ] = msgspec.field(default_factory=list)
    tests: Annotated[
        list[Test], Meta(description="Tests that support the claims of this result.")
    ] = msgspec.field(default_factory=list)
    claims: Annotated[
        list[Claim], Meta(description="Claims of the headline of this result, in order.")
    ] = msgspec.field(default_factory=list)
    query: Q
    keys: list[Key] = msgspec.field(default_factory=list)
    estimates: EstimateColumns
    selection: Selection | None = None
    caveats: Annotated[
        list[Caveat], Meta(description="Warnings and notes about these estimates.")
    ] = msgspec.field(default_factory=list)
    covariance: list[list[float | None]] | None = None
    headline: Annotated[str, Meta(description="The claims of this result as sentences.")] = ""
    layout: Annotated[
        list[Block], Meta(description="Arrangement of the rows in tables and charts.")
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

    def __repr__(self) -> str:
        return present(self).text()

    def _repr_html_(self) -> str:
        return present(self).html()

    def plot(
        self,
        *,
        size: float | tuple[float, float] | None = None,
        title: bool | str = True,
        caption: bool | str = False,
        theme: str | Mapping[str, Any] = "light",
    ) -> "ChartFigure":
        """Draw the estimates with their intervals; notebooks show the figure.

        Estimates that are not usable are pale and dashed. ``savefig`` of the figure writes a file:
        fonts are embedded in PDF, and pictures have 300 dots per inch. The attribute ``caption`` of
        the figure is a text about it: number of reports, intervals and warnings. Notebooks show it
        below the figure.

        Parameters
        ----------
        size : float or (float, float), optional
            Width in inches, or width and height. By default the width is 4.6 inches, and the height
            is what the rows need. Texts keep their size.
        title : bool or str, optional
            Whether to draw the title, or another title.
        caption : bool or str, optional
            Whether to draw the caption as a part of the picture, or another caption.
        theme : str or mapping, optional
            "light", "dark" or "grey"; or settings of Matplotlib (``rcParams``) by name, such as
            ``{"font.family": "serif", "font.size": 8}``.

        Raises
        ------
        ParameterError
            If the result has no chart, or a parameter is invalid.
        ImportError
            If Matplotlib is not installed.
        """
        chart, name = present(self).chart, name_of_result(self)
        if chart is None:
            raise ParameterError(f"plot: {name} has no estimates with intervals; see to_pandas()")
        try:
            from .charts.drawing import draw
        except ImportError:
            raise missing_library("plot", "Matplotlib", "plot") from None
        return draw(chart, caption=caption, title=title, size=size, theme=theme)
