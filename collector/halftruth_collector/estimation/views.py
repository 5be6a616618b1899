"""Test of how often each view was reported, against the probabilities of the design.

Without tickets the sender of a report draws its view, and may choose it instead. The test sees that
some view was reported too often, if it was by far: 50 reports of one view among 10 000 of 274 views
usually stay unseen, although they may move a table of two questions by 20 points. It sees nothing
of who draws again until a view suits them and changes nothing else, if all views are wanted alike,
nor of false answers within a view.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from halftruth_shared import Survey

from ..counts import Counts


@dataclass(frozen=True)
class ViewTest:
    """Pearson's test: the number of views, the statistic and the p-value."""

    views: int
    statistic: float
    p_value: float


def compare_views(survey: Survey, counts: Counts) -> ViewTest | None:
    """Compare the reports of each view with those that the design expects.

    The distribution of χ² has its exact mean and variance, since there can be fewer reports than
    views. None without reports, or if there is one view.
    """
    perturbation = survey.perturbation
    views = len(perturbation.views)
    if perturbation.reports_records or views < 2 or not counts.reports:
        return None
    first = np.array([view.first for view in perturbation.views])
    weights = np.array([view.weight for view in perturbation.views], dtype=np.float64)
    shares = weights / weights.sum()
    number = np.searchsorted(first, counts.cells[:, -1], side="right") - 1
    reported = np.bincount(number, counts.counts, views)
    expected = shares * counts.reports
    statistic = float(((reported - expected) ** 2 / expected).sum())
    freedom = views - 1
    rare = float((1 / shares).sum()) - views**2 - 2 * views + 2
    variance = 2 * freedom + rare / counts.reports
    scale = variance / freedom
    p_value = scipy.special.gammaincc(freedom / scale, statistic / scale)
    return ViewTest(views, statistic, float(p_value))
