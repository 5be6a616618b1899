"""Multiple response: means over the options of a question, with standard errors.

The mean number of chosen options is the sum of their shares r = a/x among people who answered, and
so is linear in the tables of single options to first order. The covariance of two of its terms is
cᵀ C c′ with the covariance C of the table of both options and the gradients
c = (1[chosen] − r·1[answered])/x along each. Since tables are consistent with their margins, no
table of all options is needed. The pairs also determine the variance of the number itself, since
E K² = Σ r_j + 2 Σ r_jk.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from halftruth_shared import Attribute
from halftruth_shared.attribute import OPTION

from .bounds import NEARLY_LINEAR, Array
from .estimator import Estimator


def chosen_code(option: Attribute) -> int:
    """Return the code of the category for choosing an option."""
    return option.categories.index(OPTION[-1])


def mean_number(estimator: Estimator, options: Sequence[Attribute]) -> tuple[float, float]:
    """Estimate the mean number of chosen options among people who answered, with its error.

    The estimator has all categories of the options. Both are NaN if the share of people who
    answered is less than `NEARLY_LINEAR` standard errors above zero. The error is NaN if reports
    do not identify the table of two of the options.
    """
    gradients: dict[str, Array] = {}
    mean = 0.0
    for option in options:
        support = estimator.table([option.name]).value
        answered = np.logical_not(option.is_missing)
        chosen = np.arange(len(support)) == chosen_code(option)
        base = float(support @ answered)
        error = _error_of_sum(estimator, {option.name: answered.astype(float)})
        enough = base > NEARLY_LINEAR * error
        share = float(support @ chosen) / base if enough or answered.all() else np.nan
        gradients[option.name] = (chosen - share * answered) / base
        mean += share
    return mean, _error_of_sum(estimator, gradients)


def mean_share(
    estimator: Estimator, options: Sequence[Attribute], category: str
) -> tuple[float, float]:
    """Estimate the share of a category that all options have, as the mean over the options.

    For its error see :func:`mean_number`.
    """
    gradients = {
        option.name: (np.array(option.categories) == category) / len(options) for option in options
    }
    share = sum(float(estimator.table([name]).value @ g) for name, g in gradients.items())
    return share, _error_of_sum(estimator, gradients)


def _error_of_sum(estimator: Estimator, gradients: Mapping[str, Array]) -> float:
    """Return the standard error of a sum of linear forms of the tables of single attributes."""
    if not all(map(estimator.identified, combinations(gradients, 2))):
        return np.nan

    def covariance(*names: str) -> Array:
        return estimator.table(names).identified_covariance()

    variance = sum(float(g @ covariance(name) @ g) for name, g in gradients.items())
    for one, other in combinations(gradients, 2):
        sizes = len(gradients[one]), len(gradients[other])
        first, second = np.repeat(gradients[one], sizes[1]), np.tile(gradients[other], sizes[0])
        variance += 2 * float(first @ covariance(one, other) @ second)
    return float(np.sqrt(variance)) if variance >= 0 else np.nan
