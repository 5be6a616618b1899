"""Privacy requirements of the caller, which every survey must satisfy."""

from collections.abc import Collection
from fractions import Fraction

from halftruth_shared import ParameterError, Survey
from halftruth_shared.acceptance import apply_limit
from halftruth_shared.rational import Rational, format_approximately, parse_rational

from .errors import SurveyRefused, check_survey, check_texts


class PrivacyPolicy:
    """Policy for surveys, by the parameters of :class:`~halftruth_client.Client`.

    If an unprotected attribute has a provable answer, only this answer may be revealed. `is_signed`
    is true if all surveys are signed by a pinned key.
    """

    def __init__(
        self,
        max_gamma: Rational,
        unprotected: Collection[str],
        digests: Collection[str] = (),
        is_signed: bool = False,
        max_total_gamma: Rational | None = None,
        max_answer_gamma: Rational | None = None,
    ) -> None:
        self._max_gamma = _parse_limit(max_gamma, "max_gamma")
        self._max_answer_gamma = _parse_optional(max_answer_gamma, "max_answer_gamma")
        self.max_total_gamma = _parse_optional(max_total_gamma, "max_total_gamma")
        check_texts(unprotected, "unprotected", "names")
        check_texts(digests, "digests", "digests")
        self.unprotected = frozenset(unprotected)
        self._digests, self._is_signed = frozenset(digests), is_signed
        self._approved: set[str] = set()

    def check(self, survey: Survey) -> None:
        """Raise `SurveyRefused` unless a survey satisfies the policy."""
        check_survey(survey)
        if survey.digest in self._approved:
            return
        if survey.mechanism.randomized_by != "device":
            raise SurveyRefused(
                f"survey '{survey.id}': respondents randomized their answers themselves; expected a"
                " survey whose answers are perturbed here",
                field="randomized_by",
            )
        named = [name for name in survey.schema.names if name in self.unprotected]
        # A name does not determine the question, so allowing it requires a pinned digest or key.
        is_pin_needed = bool(self._digests or (named and not self._is_signed))
        if is_pin_needed and survey.digest not in self._digests:
            about = f"'{named[0]}' may be sent unperturbed" if named else "it is not pinned"
            raise SurveyRefused(
                f"survey '{survey.id}': {about}; expected its digest to be pinned by the caller"
                f" (digests=['{survey.digest}'], once its questions were read), or an operator's"
                " key (operator_keys)",
                field="digests",
            )
        applied = apply_limit(survey, self.unprotected, self._max_gamma, self._max_answer_gamma)
        if applied.is_exceeded:
            schema, perturbation = survey.schema, survey.perturbation
            revealed = [
                name
                for name in schema.names
                if name not in self.unprotected and perturbation.reveals(name)
            ]
            if revealed:
                names = ", ".join(f"'{name}'" for name in revealed)
                allowed = ", ".join(f"'{name}'" for name in [*named, *revealed])
                reason = (
                    f"a report can reveal {names}; expected a survey that protects this, or a"
                    f" caller who allows it (unprotected=[{allowed}])"
                )
                # Allowed names need a pin, which would be the next error.
                if not self._is_signed and survey.digest not in self._digests:
                    reason += (
                        f" and, once its questions were read, pins it (digests=['{survey.digest}'])"
                    )
            elif survey.promise == "answer" and self._max_answer_gamma is None:
                reason = (
                    "it promises by answer; expected a survey that protects records more, or a"
                    " caller who accepts that (max_answer_gamma)"
                )
            else:
                reason = "expected a survey that protects more, or a caller who accepts it"
            what = "amplification" if applied.name == "max_gamma" else "amplification of an answer"
            raise SurveyRefused(
                f"survey '{survey.id}': its {what} {format_approximately(applied.amplification)}"
                f" exceeds {applied.name} {format_approximately(applied.limit)}; {reason}",
                field=applied.name,
            )
        self._approved.add(survey.digest)


def _parse_optional(written: Rational | None, field: str) -> Fraction | None:
    return None if written is None else _parse_limit(written, field)


def _parse_limit(written: Rational, field: str) -> Fraction:
    limit = parse_rational(written, field)
    if limit <= 1:
        raise ParameterError(f"{field}: expected an amplification above 1", field=field)
    return limit
