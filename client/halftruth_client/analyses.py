"""The methods of `Analyst` and `SurveyAnalyst`, one for each analysis.

They follow from the queries. Their types are in ``analyses.pyi``, for editors and type checkers;
``client/stub.py`` writes it.
"""

from halftruth_shared.analyses import QUERIES

from .methods import AnalysisMethod


class Analyses:
    """A method for each analysis, with the id of a survey."""


class SurveyAnalyses:
    """A method for each analysis, of one survey."""


for _query in QUERIES.values():
    for _class, _made in (
        (Analyses, AnalysisMethod(_query, "survey")),
        (SurveyAnalyses, AnalysisMethod(_query)),
    ):
        setattr(_class, _made.name, _made)
