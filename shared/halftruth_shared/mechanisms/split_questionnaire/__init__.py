"""Split questionnaire: each report is about a few questions, drawn before they are answered.

``views`` has the groups of questions that are drawn, ``responses`` the reports about one group.
"""

from .mechanism import SplitQuestionnaire
from .views import ViewClass

__all__ = ["SplitQuestionnaire", "ViewClass"]
