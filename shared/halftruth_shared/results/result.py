"""The result of an analysis, with how it shows itself in notebooks and shells."""

from typing import TYPE_CHECKING, Generic

from .base import draw_chart
from .long_table import LongTable, Q
from .presentation import present

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Result(LongTable[Q], Generic[Q], frozen=True, kw_only=True):
    """Result of an analysis: its query, where it comes from, and a long table of estimates.

    `keys` are the columns that identify a row, and `estimates` the columns of the numbers.
    `covariance` is that of the estimates in the order of the rows, null if it was not asked for.
    """

    def __repr__(self) -> str:
        return present(self).text()

    def _repr_html_(self) -> str:
        return present(self).html()

    def plot(self) -> "Figure":
        """Draw its estimates with their intervals; notebooks show the figure.

        Estimates that are not usable are pale and dashed. Its ``savefig`` writes a file.

        Raises
        ------
        ParameterError
            If it has no chart.
        ImportError
            If Matplotlib is not installed.
        """
        return draw_chart(self, present(self).chart)
