"""Split questionnaire: each report is about a few questions, drawn before they are answered.

``views`` has the groups of questions that are drawn, ``wanted`` the tables that will be asked of
the results.
"""

from .mechanism import SplitQuestionnaire
from .views import ViewClass
from .wanted import WantedTables, enumerate_tables

__all__ = ["SplitQuestionnaire", "ViewClass", "WantedTables", "enumerate_tables"]
