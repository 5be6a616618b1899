"""Analyses, with their computations, tables, charts and sentences.

Each module has an :class:`Analysis`, and the same name as the module of its query in
``halftruth_shared.analyses``. Other packages add such modules by the entry points
``halftruth.analyses``. The HTTP interface with its OpenAPI description, the command line and the
pages are generated from `ANALYSES`.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from halftruth_shared import Survey
from halftruth_shared.addons import added

from ..estimation.groups import survey_in_groups
from ..estimation.reconstruction import reconstruction
from .answering import answer
from .base import Analysis, AnalysisContext, choices

__all__ = ["ANALYSES", "Analysis", "AnalysisContext", "answer", "choices", "identified"]


def _analyses() -> dict[str, Analysis[Any, Any]]:
    modules = [import_module(each.name) for each in iter_modules(__path__, f"{__name__}.")]
    modules += [module for _, module in added("analyses")]
    analyses = [module.ANALYSIS for module in modules if hasattr(module, "ANALYSIS")]
    return {
        analysis.name: analysis
        for analysis in sorted(analyses, key=lambda analysis: (analysis.order, analysis.name))
    }


#: Every analysis by its name, in the order of lists.
ANALYSES = _analyses()


def identified(survey: Survey) -> list[Analysis[Any, Any]]:
    """Return the analyses that the reports of a survey identify, given enough reports."""
    readings = (survey, survey_in_groups(survey))
    most = max(reconstruction(each).identified_sets.longest for each in readings)
    return [each for each in ANALYSES.values() if each.applies(survey) and each.min_order <= most]
