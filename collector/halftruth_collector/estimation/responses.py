"""Log-likelihoods of answers in regressions, with their derivatives by the linear predictor.

The linear predictor η of a person is the log odds of an answer (*logistic*), or the mean of the
answers' scores (*linear*). Both links are canonical: the curvature of the log-likelihood is the
same for every answer, and is the derivative of the mean.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from halftruth_shared.analyses.regression import Model

from .bounds import Array


@dataclass(frozen=True, eq=False)
class Response:
    """Log-likelihood of each answer, of x people.

    Attributes
    ----------
    level, slope : ndarray, shape (x, answers)
        The log-likelihood, and its derivative by the linear predictor.
    mean : ndarray, shape (x,)
        Expected score of the answer; in a logistic model, its probability.
    curvature : ndarray, shape (x,)
        Minus the second derivative, which is the derivative of the mean.
    """

    level: Array
    slope: Array
    mean: Array
    curvature: Array


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of a regression.

    Attributes
    ----------
    model : {"logistic", "linear"}
    scores : ndarray, shape (answers,)
        What each answer counts as: 0 or 1 in a logistic model, its score in a linear one.
    """

    model: Model
    scores: Array

    @property
    def is_distribution(self) -> bool:
        """True if the log-likelihood has the probability of every answer."""
        return self.model == "logistic" and len(self.scores) == 2

    def response(self, predictor: Array) -> Response:
        """Return the log-likelihood of each answer at linear predictors of shape (x,)."""
        mean = scipy.special.expit(predictor)
        return Response(
            level=self.scores * predictor[:, None] - np.logaddexp(0.0, predictor)[:, None],
            slope=self.scores - mean[:, None],
            mean=mean,
            curvature=mean * (1 - mean),
        )
