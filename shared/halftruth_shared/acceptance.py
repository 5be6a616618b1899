"""The limit of a caller that applies to a survey: of its record, or of its answers."""

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from .survey import Survey


@dataclass(frozen=True)
class Limited:
    """Amplification of a survey, with the limit of a caller that applies to it.

    `name` is that of the limit: ``"max_gamma"`` for the record, or ``"max_answer_gamma"`` for the
    least protected answer, against someone who knows all other answers.
    """

    name: str
    amplification: Fraction | float
    limit: Fraction

    @property
    def is_exceeded(self) -> bool:
        """True if the caller refuses the survey."""
        return self.amplification > self.limit


def apply_limit(
    survey: Survey,
    unprotected: Collection[str],
    max_gamma: Fraction,
    max_answer_gamma: Fraction | None,
) -> Limited:
    """Apply the limits of a caller to a survey, of which some attributes may be unprotected.

    The limit is `max_gamma`, of the amplification of the record; or `max_answer_gamma`, of that of
    each answer, if the survey promises by answer and the caller has such a limit.

    Examples
    --------
    >>> from halftruth_shared import Attribute, RandomizedResponse, Schema, Survey
    >>> schema = Schema([Attribute(name, ["no", "yes"]) for name in ("smoker", "coughs")])
    >>> mechanism = RandomizedResponse({"smoker": "0.75", "coughs": "0.75"})
    >>> survey = Survey("health", "Health", schema, mechanism, promise="answer")
    >>> apply_limit(survey, [], Fraction(5), None)
    Limited(name='max_gamma', amplification=Fraction(9, 1), limit=Fraction(5, 1))
    >>> apply_limit(survey, [], Fraction(5), Fraction(3)).is_exceeded
    False
    """
    accepted = survey.perturbation.accepted_amplification
    if survey.promise == "record" or max_answer_gamma is None:
        return Limited("max_gamma", accepted(unprotected), max_gamma)
    found = accepted(unprotected, by_answer=True)
    return Limited("max_answer_gamma", found, max_answer_gamma)
