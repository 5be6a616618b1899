"""Reports in independent parts, for the likelihood of models of the answers.

The reports of a part are about one margin of the true table: its true cell alone decides how
likely each report is. A mechanism whose report is a record has one part, a split questionnaire one
for each view. How many reports a part has tells nothing of the answers, so that the likelihood is
a product over the parts, given these numbers.
"""

from dataclasses import dataclass
from typing import Protocol

from ..channels.axes import Array


class Operator(Protocol):
    """Column-stochastic map from the cells of a table, along its last axes, to reports."""

    def forward(self, x: Array, /) -> Array:
        """Return the probabilities of reports, with any batch axes before those of the table."""

    def adjoint(self, y: Array, /) -> Array:
        """Apply the transpose."""


@dataclass(frozen=True, eq=False)
class ReportPart:
    """Reports whose probabilities depend on a few of the attributes.

    Attributes
    ----------
    known : tuple of int
        Positions of attributes that these reports carry unperturbed.
    positions : tuple of int
        Positions of those that they tell perturbed, in the order of the operator's cells.
    operator : Operator
        Of the table of `positions`: a `Channel` with an axis for each, or else one axis for all
        its cells in row-major order.
    counts : ndarray, shape (*sizes of `known`, *reports)
        Number of each report.
    """

    known: tuple[int, ...]
    positions: tuple[int, ...]
    operator: Operator
    counts: Array
