"""One model of all answers: a loglinear model of the true table, fitted to perturbed reports.

``design`` says which interactions it has, ``information`` what reports tell of them, ``fit``
estimates them, and ``predict`` reads shares and ratios of any number of attributes from it.
"""

from .fit import LoglinearModel, Penalty, fit_model
from .predict import Prediction, Shares, odds_ratio, risk_ratio, share, shares

__all__ = [
    "LoglinearModel",
    "Penalty",
    "Prediction",
    "Shares",
    "fit_model",
    "odds_ratio",
    "risk_ratio",
    "share",
    "shares",
]
