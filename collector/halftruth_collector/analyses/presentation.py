"""The parts of a result in the order in which people read them, the same wherever it is shown."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from halftruth_shared.results import presentation as results
from halftruth_shared.results.presentation import Part

from .base import Analysis, Grid


class Presentation(NamedTuple):
    """Parts of a result, each sentence in one of them.

    Attributes
    ----------
    title : str
        Analysis, survey, number of reports and their time.
    headline : str
        The answer in one sentence.
    basis : sequence of str
        Whom it is about, and what it assumes.
    warnings : sequence of str
        Sentences to read before drawing conclusions.
    grid : Grid
    parts : sequence of Part
        Further tables.
    notes : sequence of str
        Further sentences.
    """

    title: str
    headline: str
    basis: Sequence[str]
    warnings: Sequence[str]
    grid: Grid
    notes: Sequence[str]
    parts: Sequence[Part] = ()

    @property
    def sentences(self) -> frozenset[str]:
        """Every sentence besides the title."""
        return frozenset([self.headline, *self.basis, *self.warnings, *self.notes])


def present(analysis: Analysis[Any, Any], result: Any) -> Presentation:
    """Return the parts of a result.

    Parameters
    ----------
    analysis : Analysis
    result : Result
        Of this analysis, with names or labels.

    Returns
    -------
    Presentation
    """
    shown = results.present(analysis.described(result), analysis.title)
    first, *parts = shown.parts
    return Presentation(*shown[:4], first.grid, shown.notes, parts)
