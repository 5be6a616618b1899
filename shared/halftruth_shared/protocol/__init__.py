"""Messages between client and collector."""

from .base import Message, Request, prepare
from .problems import Problem
from .reports import Receipt, Report, ReportBatch, SealedBatch, SealedReport
from .surveys import PublishedSurvey, SurveyList, SurveySummary
from .terms import Signature, SignedTerms, Terms, TermsChange, TermsPatch

__all__ = [
    "Message",
    "Problem",
    "PublishedSurvey",
    "Receipt",
    "Report",
    "ReportBatch",
    "Request",
    "SealedBatch",
    "SealedReport",
    "Signature",
    "SignedTerms",
    "SurveyList",
    "SurveySummary",
    "Terms",
    "TermsChange",
    "TermsPatch",
]

prepare(Message)
prepare(Request)
