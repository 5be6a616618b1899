"""The parts of a result in the order in which people read them, the same wherever it is shown."""

from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from halftruth_shared.analyses.base import EstimatesResult
from halftruth_shared.results import Result
from halftruth_shared.results import presentation as results
from halftruth_shared.results.presentation import Part

from .base import Analysis, Grid
from .sentences import basis, of_reports

_OUTSIDE = (
    "Estimates are unbiased, so that some lie outside of what is possible; their intervals do not."
)

#: Estimates that are looked at for this, and how far outside is only rounding.
_LOOKED_AT, _ROUNDING = 2_000, 1e-9


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
    headline = analysis.headline(result)
    if isinstance(result, Result):
        shown = results.present(analysis.described(result), analysis.title)
        first, *parts = shown.parts
        return Presentation(*shown[:4], first.grid, shown.notes, parts)
    count, _, time = of_reports(result).partition(", ")
    # An answer that begins with their number needs no title that does.
    about = [time] if headline.startswith(count) else [count, time]
    return Presentation(
        " · ".join(filter(None, [analysis.title, result.survey, *about])),
        headline,
        [sentence for sentence in basis(result) if sentence != headline],
        analysis.warnings(result),
        analysis.grid(result),
        [*analysis.interpretation(result), *_impossible(result)],
    )


def _impossible(result: Any) -> list[str]:
    """Say that estimates outside of what is possible are no mistake; empty without any."""
    if not isinstance(result, EstimatesResult):
        return []
    shown = (estimate for _, estimate, _ in islice(result.estimates(), _LOOKED_AT))
    cut = any(
        estimate.set == "empty"
        or (
            estimate.ends is not None
            and estimate.value is not None
            and not estimate.ends[0] - _ROUNDING <= estimate.value <= estimate.ends[1] + _ROUNDING
        )
        for estimate in shown
    )
    return [_OUTSIDE] if cut else []
