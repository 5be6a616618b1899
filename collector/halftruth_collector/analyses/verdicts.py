"""Verdicts on estimates in words: how precise they are, and what that leaves undecided."""

import math

import numpy as np
from halftruth_shared.results.estimate import Reliability
from halftruth_shared.results.wording import half_width, percent

from ..estimation.bounds import Array
from ..estimation.reliability import ANYTHING, reliability, typical

#: Effective reports for a cell below which the normal intervals are noticeably wrong.
WELL_FILLED = 20


def few_reports(effective: float) -> str | None:
    """Warn of intervals that rest on few reports for a cell."""
    if effective >= WELL_FILLED:
        return None
    return (
        f"with about {effective:.1f} reports for each cell, intervals miss the truth"
        " more often than they say"
    )


def known_to(word: str, width: str) -> str:
    """Say to what margin something of this reliability is known."""
    return f"known {'only ' * (word == 'not usable')}to {width}"


def on_table(margins: Array, effective: Array | float = math.inf) -> tuple[Reliability, str]:
    """Verdict on the median share of a table, in a word and in words.

    Parameters
    ----------
    margins : ndarray
        Of every cell, NaN where undefined, infinite where there is no bound.
    effective : float or ndarray
        Effective reports behind each cell.
    """
    width = typical(margins.ravel())
    word = reliability(width)
    if width is None:
        return word, _verdict(word, "too few reports for an interval of most cells")
    few = few_reports(float(np.median(effective)))
    if width == math.inf:
        nobody = (
            "most groups are not significantly above zero, so that shares of them may be anything"
        )
        return word, _verdict(word, nobody, few)
    said = f"shares are {known_to(word, half_width(width))}{_hidden(width)}"
    return word, _verdict(word, said, few)


def _hidden(width: float) -> str:
    """Say which shares cannot be told from 0 at a margin."""
    if width >= ANYTHING:
        return ""
    return f", and those up to {percent(width, 1)} are not significantly above zero"


def _verdict(word: str, *sentences: str | None) -> str:
    return f"{word}: {'; '.join(filter(None, sentences))}"
