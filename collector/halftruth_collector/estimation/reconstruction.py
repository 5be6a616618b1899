"""Unbiased estimation from the reports of a survey."""

from halftruth_shared import Perturbation, Survey

from .channel_tables import RecordReconstruction
from .pooled.reconstruction import PooledReconstruction
from .table import Reconstruction


def reconstruction(survey: Survey) -> Reconstruction:
    """Return the reconstruction of answers from counts of a survey's reports, made once."""
    return of_perturbation(survey.perturbation)


def of_perturbation(perturbation: Perturbation) -> Reconstruction:
    """Return the reconstruction of a perturbation, made once."""
    return perturbation.derive(_reconstruction)


def _reconstruction(perturbation: Perturbation) -> Reconstruction:
    if perturbation.reports_records:
        return RecordReconstruction(perturbation)
    return PooledReconstruction(perturbation)
