"""One model of all answers: a loglinear model of the true table, fitted to perturbed reports.

``design`` says which interactions it has, ``information`` what reports tell of them, ``fit``
estimates them, ``tables`` reads shares of any number of attributes from it, in the place of
unbiased ones; ``adequacy`` tests what it leaves out. ``perturbed_outcome`` is for regressions in a
survey that perturbs one answer alone.
"""

from .adequacy import LackOfFit, adequacy
from .cached import cached_model, described
from .fit import LoglinearModel, Penalty, at_independence, fit_model, off_the_edge
from .perturbed_outcome import Reported, channel_of_outcome, perturbed_outcome_regression
from .tables import ModelTable, shares

__all__ = [
    "LackOfFit",
    "LoglinearModel",
    "ModelTable",
    "Penalty",
    "Reported",
    "adequacy",
    "at_independence",
    "cached_model",
    "channel_of_outcome",
    "described",
    "fit_model",
    "off_the_edge",
    "perturbed_outcome_regression",
    "shares",
]
