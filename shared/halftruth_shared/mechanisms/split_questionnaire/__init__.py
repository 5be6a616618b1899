"""Split questionnaire: each report is about a few of the questions, drawn before the answers.

``views`` says which groups of questions are drawn, ``responses`` how the answers to one group are
reported.
"""

from .mechanism import SplitQuestionnaire
from .responses import Response
from .views import ViewClass

__all__ = ["Response", "SplitQuestionnaire", "ViewClass"]
