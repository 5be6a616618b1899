"""The result of an analysis, with its representation in notebooks and shells."""

from typing import TYPE_CHECKING, Generic

from ..errors import ParameterError
from .base import missing_library
from .long_table import LongTable, Q
from .presentation import present
from .showing import name_of_result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Result(LongTable[Q], Generic[Q], frozen=True, kw_only=True):
    """Result of an analysis: its query, its provenance, and a long table of estimates.

    `keys` are the columns that identify a row, and `estimates` the columns of numbers. `covariance`
    is the covariance matrix of the estimates in the order of the rows, null if not requested.
    """

    def __repr__(self) -> str:
        return present(self).text()

    def _repr_html_(self) -> str:
        return present(self).html()

    def plot(self) -> "Figure":
        """Draw the estimates with their intervals; notebooks show the figure.

        Estimates that are not usable are pale and dashed. ``savefig`` of the figure writes a file.

        Raises
        ------
        ParameterError
            If the result has no chart.
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
        return draw(chart)
