"""Import of questionnaires of LimeSurvey, SurveyJS and XLSForm, with notes on what is lost."""

from .draft import ConvertedQuestion, LeftOut, SurveyDraft
from .readers import Reader

__all__ = ["ConvertedQuestion", "LeftOut", "Reader", "SurveyDraft"]
