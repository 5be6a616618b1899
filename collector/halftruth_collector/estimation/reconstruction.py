"""Unbiased estimation from the reports of a survey."""

from halftruth_shared import ParameterError, Perturbation, Survey

from .channel_tables import RecordReconstruction
from .pooled.reconstruction import PooledReconstruction
from .table import Reconstruction


def reconstruction(survey: Survey) -> Reconstruction:
    """Return the reconstruction of answers from counts of a survey's reports, made once."""
    return of_perturbation(survey.perturbation)


def of_perturbation(perturbation: Perturbation) -> Reconstruction:
    """Return the reconstruction of a perturbation, made once."""
    return perturbation.derive(_reconstruction)


def check_groups(perturbation: Perturbation) -> None:
    """Raise ParameterError if reports have groups of answers, which cannot be estimated yet."""
    for view in perturbation.views:
        for j in view.collapsed:
            name = perturbation.schema.names[j]
            raise ParameterError(
                f"attribute '{name}': collapsed: this collector cannot estimate reports of groups"
                " of answers; expected none, or views of single questions",
                field="collapsed",
            )


def _reconstruction(perturbation: Perturbation) -> Reconstruction:
    check_groups(perturbation)
    if perturbation.reports_records:
        return RecordReconstruction(perturbation)
    return PooledReconstruction(perturbation)
