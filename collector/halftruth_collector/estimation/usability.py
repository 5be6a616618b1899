"""Whether an estimate is precise enough to be used: one rule for all of them.

The half-width of an estimate's interval is held against its *reference*, the size of what the
estimate is to be told apart from. It is usable where it is at most half the reference, barely
usable where it is at most the reference, and else not usable.

=========================================== ==========================================
estimate                                    reference
=========================================== ==========================================
support of an itemset                       the threshold that was asked for
cell of a table                             share of an average cell, at most 10 points
confidence of a rule, measure on a scale of 20 points: 0.2
1 (such as a correlation or a difference)
ratios, and measures that grow with N       their own size
coefficient of a logistic regression        ln 2: twice or half the odds
coefficient of a linear regression          0.4 standard deviations of the outcome
mean, standard deviation                    0.4 standard deviations of the answers
quantile, by the cumulative share near it   20 points: 0.2
=========================================== ==========================================

Shares within a group are usable, then, where they are known as well as from 100 people who answer
directly, and barely usable as from 25; a usable correlation tells 0.1 from 0.3 and 0.5, which
go for small, medium and large ones.

Twice the odds, and 0.4 standard deviations, are about what a correlation of 0.2 is between two
groups of one size, so that all of these are one convention.

A share is not held against its own estimate: the noisier it is, the larger it can come out, and
the largest errors would look best. Ratios have no other scale; they are no more usable than the
table that they are computed from, and that has one.
"""

import math
from collections.abc import Iterator
from typing import get_args

import numpy as np
from halftruth_shared.analyses.base import Usability
from halftruth_shared.analyses.wording import half_width as written
from halftruth_shared.analyses.wording import number, percent, places
from numpy.typing import NDArray

from .bounds import Array

#: The three verdicts, best first; grades are positions in it.
USABILITY: tuple[Usability, ...] = get_args(Usability)
USABLE, BARELY, NOT = range(3)

#: Largest reference of the share of all people.
_TEN_POINTS = 0.1

#: Reference of shares within a group, and of measures on a scale of 1.
TWENTY_POINTS = 0.2

#: Reference of a difference of two groups in log odds, and in standard deviations.
TWICE_THE_ODDS, IN_DEVIATIONS = math.log(2), 0.4

#: Reports for each cell below which the normal intervals are noticeably wrong.
WELL_FILLED = 20

#: A share that is known no better than this may be anything.
ANYTHING = 0.5

Grades = NDArray[np.int64]


def grades(half_width: Array, reference: Array | float) -> Grades:
    """Grade of each estimate by its half-width; `NOT` where that is NaN.

    >>> grades(np.array([0.01, 0.04, 0.2, np.nan]), 0.05).tolist()
    [0, 1, 2, 2]
    """
    half, whole = half_width <= np.asarray(reference) / 2, half_width <= reference
    return np.where(half, USABLE, np.where(whole, BARELY, NOT))


def capped(grade: Grades, reports_per_cell: Array | float) -> Grades:
    """The same, at best barely usable where intervals rest on too few reports for each cell."""
    return np.maximum(grade, np.where(np.asarray(reports_per_cell) < WELL_FILLED / 2, BARELY, 0))


def cell_reference(cells: int) -> float:
    """Reference of the cells of a table: the share of an average one, at most 10 points."""
    return min(1 / cells, _TEN_POINTS)


def few_reports(reports_per_cell: float, what: str = "cell") -> str:
    """What to add where intervals rest on few reports; else nothing."""
    if reports_per_cell >= WELL_FILLED:
        return ""
    return (
        f"; with about {reports_per_cell:.1f} reports for each {what}, intervals miss the truth"
        " more often than they say"
    )


def median(values: Array) -> float:
    """Median; NumPy's own takes as long as all the rest of mining."""
    middle = [(values.size - 1) // 2, values.size // 2]
    return float(np.partition(values, middle)[middle].mean())


def typical(half_widths: Array) -> float | None:
    """Median of those that are known; None where most are not."""
    known = half_widths[~np.isnan(half_widths)]
    return None if 2 * known.size <= half_widths.size else median(known)


def judge_supports(
    half_widths: Array, min_support: float, reports_per_cell: float
) -> tuple[Usability, str]:
    """Verdict on the supports of itemsets of one length."""
    width = typical(half_widths)
    if width is None:
        return USABILITY[NOT], "not usable: too few reports for an interval of most itemsets"
    grade = int(grades(np.array(width), min_support))
    threshold = percent(min_support)
    if grade == USABLE:
        grade = int(capped(np.array(grade), reports_per_cell))
        said = f"supports are known to {written(width)}"
    elif grade == BARELY:
        said = (
            f"supports are known to {written(width)}, hardly enough to tell {threshold} from zero"
        )
    elif width < ANYTHING:
        said = f"only supports above {percent(width, 1)} can be told from zero, not {threshold}"
    else:
        said = f"supports are known only to {written(width)}"
    return USABILITY[grade], f"{USABILITY[grade]}: {said}{few_reports(reports_per_cell)}"


def judge_table(
    half_widths: Array, reports: int, reference: float | None = None
) -> tuple[list[Usability], Usability, str]:
    """Verdict on each cell of a table, row by row, and on the table.

    Parameters
    ----------
    half_widths : ndarray
        Of every cell, NaN where undefined, infinite where there is no bound.
    reports : int
    reference : float, optional
        That of shares within groups; by default that of shares of everybody.
    """
    per_cell = reports / half_widths.size
    reference = cell_reference(half_widths.size) if reference is None else reference
    each = capped(grades(half_widths.ravel(), reference), per_cell)
    words = [USABILITY[grade] for grade in each.tolist()]
    width = typical(half_widths.ravel())
    if width is None:
        return words, USABILITY[NOT], "not usable: too few reports for an interval of most cells"
    grade = int(capped(grades(np.array(width), reference), per_cell))
    said = f"shares are known {'only ' if grade == NOT else ''}to {written(width)}"
    if width == np.inf:
        said = "most groups cannot be told from nobody, so that shares of them may be anything"
    return words, USABILITY[grade], f"{USABILITY[grade]}: {said}{few_reports(per_cell)}"


def judge_measures(
    half_widths: Array,
    reference: Array | float,
    table_half_widths: Array,
    cells: int,
    reports: int,
) -> Iterator[tuple[Usability, str]]:
    """Verdicts on one measure of R tables, each at best that of its table.

    Parameters
    ----------
    half_widths : ndarray, shape (R,)
    reference : ndarray, shape (R,), or float
    table_half_widths : ndarray, shape (R,)
        Of the typical cell of each table.
    cells : int
        Of one table.
    reports : int
    """
    per_cell = reports / cells
    behind = capped(grades(table_half_widths, cell_reference(cells)), per_cell)
    each = np.maximum(grades(half_widths, reference), behind)
    few = few_reports(per_cell)
    for grade, least, width, table_width in zip(
        each.tolist(),
        behind.tolist(),
        half_widths.tolist(),
        table_half_widths.tolist(),
        strict=True,
    ):
        word = USABILITY[grade]
        if width != width:
            yield word, f"{word}: its error is not known"
        elif grade == NOT and least == NOT:
            known = "unknown" if table_width != table_width else f"known to {written(table_width)}"
            yield word, f"{word}: the shares behind it are {known}"
        else:
            only = "only " if grade == NOT else ""
            exact = number(width, min(places([2 * width], 2), 4))
            yield word, f"{word}: known {only}to ±{exact}{few}"


def judge_coefficients(
    half_widths: Array, deviation: float | None, reports: int
) -> Iterator[tuple[Usability, str]]:
    """Verdicts on coefficients of a regression.

    Parameters
    ----------
    half_widths : ndarray
        Of the difference that a coefficient makes: between two categories, or between the lowest
        and the highest score.
    deviation : float or None
        Standard deviation of the outcome of a linear model, NaN where unknown; None for log odds.
    reports : int
    """
    reference = TWICE_THE_ODDS if deviation is None else IN_DEVIATIONS * deviation
    for_each = reports / half_widths.size
    few = few_reports(for_each, "coefficient")
    found = capped(grades(half_widths, reference), for_each)
    for grade, width in zip(found.tolist(), half_widths.tolist(), strict=True):
        word, only = USABILITY[grade], "only " if grade == NOT else ""
        exact = number(width, min(places([2 * width], 2), 4))
        if deviation is None:
            # Beyond this, a factor is just a long number.
            factor = number(math.exp(width), 2 if width < TWICE_THE_ODDS else 1)
            known = f"to a factor of {factor}" if width < math.log(100) else "to no factor of 100"
        else:
            known = f"to ±{exact}"
        yield word, f"{word}: known {only}{known}{few}"


def judge_number(
    half_width: float, reference: float, reports: float, *, share: bool = False
) -> tuple[Usability, str]:
    """Verdict on a number of a distribution, of so many people.

    Parameters
    ----------
    half_width, reference : float
        NaN where unknown.
    reports : float
    share : bool
        Whether it is judged by a share.
    """
    word = USABILITY[int(capped(grades(np.array(half_width), reference), reports))]
    if math.isnan(half_width):
        return word, f"{word}: its error is not known"
    only = "only " if word == USABILITY[NOT] else ""
    exact = (
        written(half_width)
        if share
        else f"±{number(half_width, min(places([2 * half_width], 2), 4))}"
    )
    of = "the cumulative share there is known" if share else "known"
    return word, f"{word}: {of} {only}to {exact}{few_reports(reports, 'group')}"


def told_from_zero(support: Array, half_width: Array) -> NDArray[np.bool_]:
    """Whether a support is known to be above 0, and its interval is not as wide as all shares."""
    return (support - half_width > 0) & (half_width < ANYTHING)


def grade_rules(
    told: NDArray[np.bool_], confidence_half_width: Array, reports_per_cell: Array
) -> Grades:
    """Grade of each rule, by its confidence where its support can be told from zero."""
    by_confidence = capped(grades(confidence_half_width, TWENTY_POINTS), reports_per_cell)
    return np.where(told, by_confidence, NOT)


def judge_rules(
    each: Grades,
    told: NDArray[np.bool_],
    half_width: Array,
    confidence_half_width: Array,
    reports_per_cell: Array,
) -> Iterator[tuple[Usability, str]]:
    """Verdicts on rules, of their supports and confidences."""
    for grade, is_there, width, confidence, per_cell in zip(
        each.tolist(),
        told.tolist(),
        half_width.tolist(),
        confidence_half_width.tolist(),
        reports_per_cell.tolist(),
        strict=True,
    ):
        word = USABILITY[grade]
        if width != width or confidence != confidence:
            yield word, f"{word}: its errors are not known"
        elif not is_there:
            yield (
                word,
                f"{word}: the support cannot be told from zero, known only to {written(width)}",
            )
        elif not confidence < np.inf:
            yield (
                word,
                f"{word}: the antecedent is not clearly there, the confidence may be anything",
            )
        else:
            only = "only " if grade == NOT else ""
            yield (
                word,
                f"{word}: the confidence is known {only}to {written(confidence)}"
                f"{few_reports(per_cell)}",
            )
