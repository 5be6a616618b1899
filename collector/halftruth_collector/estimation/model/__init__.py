"""Loglinear model of the true table, fitted to perturbed reports by penalized likelihood.

``design`` defines the interactions, ``information`` computes score and Fisher information, ``fit``
maximizes the likelihood, ``tables`` provides model-based tables in place of unbiased ones, and
``adequacy`` tests omitted interactions. ``perturbed_outcome`` fits regressions in which only the
outcome is perturbed, and ``records`` makes weighted records with replicate weights.
"""

from .adequacy import LackOfFit, adequacy
from .cached import cached_model, completed, described
from .fit import LoglinearModel, at_independence, fit_model, off_the_edge
from .perturbed_outcome import Reported, channel_of_outcome, perturbed_outcome_regression
from .tables import ModelTable, ModelTables, shares

__all__ = [
    "LackOfFit",
    "LoglinearModel",
    "ModelTable",
    "ModelTables",
    "Reported",
    "adequacy",
    "at_independence",
    "cached_model",
    "channel_of_outcome",
    "completed",
    "described",
    "fit_model",
    "off_the_edge",
    "perturbed_outcome_regression",
    "shares",
]
