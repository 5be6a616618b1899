"""The parts of a result in the order in which people read them, the same wherever it is shown."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from .base import Analysis, Grid
from .sentences import basis, of_reports


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
    notes : sequence of str
        Further sentences.
    """

    title: str
    headline: str
    basis: Sequence[str]
    warnings: Sequence[str]
    grid: Grid
    notes: Sequence[str]

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
    headline = analysis.headline(result)
    count, _, time = of_reports(result).partition(", ")
    # An answer that begins with their number needs no title that does.
    about = [time] if headline.startswith(count) else [count, time]
    return Presentation(
        " · ".join(filter(None, [analysis.title, result.survey, *about])),
        headline,
        [sentence for sentence in basis(result) if sentence != headline],
        analysis.warnings(result),
        analysis.grid(result),
        analysis.interpretation(result),
    )
