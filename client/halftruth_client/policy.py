"""What a caller accepts of a survey, whatever the survey says of itself."""

import math
from collections.abc import Collection
from fractions import Fraction

from halftruth_shared import ParameterError, Survey
from halftruth_shared.rational import Rational, approximately, parse_rational

from .errors import SurveyRefused


class PrivacyPolicy:
    """The largest amplification that a survey may have.

    Parameters
    ----------
    max_gamma : Fraction, int or str
    unprotected : collection of str
        Attributes that may be sent as they are. Of an attribute whose design can prove one answer
        alone, it is this one that may be proved; the other still counts.

    Raises
    ------
    ParameterError
        If one of them cannot be used.
    """

    def __init__(self, max_gamma: Rational, unprotected: Collection[str]) -> None:
        self._max_gamma: Fraction = parse_rational(max_gamma, "max_gamma")
        if self._max_gamma <= 1:
            raise ParameterError("max_gamma: expected an amplification above 1", field="max_gamma")
        if isinstance(unprotected, str):
            raise ParameterError("unprotected: expected a list of names", field="unprotected")
        self._unprotected = frozenset(unprotected)
        self._approved: set[str] = set()

    def check(self, survey: Survey) -> None:
        """Refuse a survey that protects less.

        Raises
        ------
        SurveyRefused
        """
        if survey.digest in self._approved:
            return
        amplification = survey.mechanism.amplification(survey.schema, self._unprotected)
        for name, provable in survey.mechanism.provable(survey.schema).items():
            if name in self._unprotected:
                amplification *= provable.amplification
        if amplification > self._max_gamma:
            schema, mechanism = survey.schema, survey.mechanism
            revealed = [
                name
                for name in schema.names
                if name not in self._unprotected
                and mechanism.amplification(schema, set(schema.names) - {name}) == math.inf
            ]
            why = f"; a report can reveal '{revealed[0]}'" if revealed else ""
            raise SurveyRefused(
                f"survey '{survey.id}': its amplification {approximately(amplification)} exceeds"
                f" max_gamma {approximately(self._max_gamma)}{why}",
                field="max_gamma",
            )
        self._approved.add(survey.digest)
