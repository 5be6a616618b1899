"""Unbiased estimation from the reports of a survey."""

from collections.abc import Collection

from halftruth_shared import Perturbation, Survey

from .channel_tables import RecordReconstruction
from .groups import reading_of
from .pooled.reconstruction import PooledReconstruction
from .sets.reconstruction import SetReconstruction
from .table import Reconstruction


def reconstruction(survey: Survey) -> Reconstruction:
    """Return the reconstruction of answers from counts of a survey's reports, made once."""
    return of_perturbation(survey.perturbation)


def of_table(survey: Survey, names: Collection[str]) -> Reconstruction:
    """Return the reconstruction of a table of some attributes, of groups if it is read so."""
    return reconstruction(reading_of(survey, names))


def of_perturbation(perturbation: Perturbation) -> Reconstruction:
    """Return the reconstruction of a perturbation, made once."""
    return perturbation.derive(_reconstruction)


def _reconstruction(perturbation: Perturbation) -> Reconstruction:
    if perturbation.reports_records:
        return RecordReconstruction(perturbation)
    if perturbation.schema.sets:
        return SetReconstruction(perturbation)
    return PooledReconstruction(perturbation)
