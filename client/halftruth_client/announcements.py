"""What a collector says of its surveys, and whether it is believed."""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from halftruth_shared import ParameterError, ReportShape, SignatureError, Survey
from halftruth_shared.messages import PublishedSurvey, Terms
from halftruth_shared.rational import Rational, parse_rational

from .errors import RequestRefused, SurveyRefused
from .transport import Transport, survey_path

_SEALING_KEY = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True)
class Announced:
    """What a collector said of a survey: what its reports look like, and how it takes them."""

    shape: ReportShape
    terms: Terms


class Floor:
    """The least protection that a survey must give.

    Parameters
    ----------
    max_gamma : Fraction, int or str
        Largest amplification.
    unprotected : collection of str
        Attributes that may be sent as they are.

    Raises
    ------
    ParameterError
        If one of them is none.
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
                f"survey '{survey.id}': its amplification {float(amplification):.6g} exceeds"
                f" max_gamma {float(self._max_gamma):.6g}{why}",
                field="max_gamma",
            )
        self._approved.add(survey.digest)


class Announcements:
    """What one collector said of its surveys, as their operators want it.

    Parameters
    ----------
    transport : Transport
    operator_keys : collection of str
        Public keys of the operators that are trusted; with none, nothing needs to be signed.

    Raises
    ------
    ParameterError
        If a key is none.
    """

    def __init__(self, transport: Transport, operator_keys: Collection[str]) -> None:
        self._transport = transport
        self._operator_keys = _pins(operator_keys)
        self._known: dict[str, Announced] = {}

    def fetch(self, id: str) -> tuple[Survey, Announced]:
        """A survey with its terms, both as their operator wants them.

        Raises
        ------
        SurveyRefused
            If the digest is not that of the survey, or no pinned operator signed it.
        RequestRefused, CollectorUnavailable
        SurveyError, SchemaError, ParameterError
            If what the collector sent is not a survey.
        """
        published = self._transport.get(survey_path(id), PublishedSurvey)
        survey = Survey.from_json(published.survey)
        if survey.digest != published.digest or survey.id != id:
            raise SurveyRefused(
                f"survey '{id}': the collector's digest is not that of what it sent",
                field="digest",
            )
        terms = published.terms
        if self._operator_keys:
            # Imported here: most clients pin no key, and the library takes a while.
            from halftruth_shared.signing import verify

            try:
                verify(published.signature, survey.digest, terms, self._operator_keys)
            except SignatureError as error:
                raise SurveyRefused(f"survey '{id}': {error}", field="operator_keys") from None
        if terms.sealing_key is not None and not _SEALING_KEY.fullmatch(terms.sealing_key):
            raise SurveyRefused(
                f"survey '{id}': sealing_key: expected 64 lower-case hexadecimal digits",
                field="sealing_key",
            )
        return survey, Announced(survey.mechanism.report_shape(survey.schema), terms)

    def remember(self, survey: Survey, announced: Announced) -> None:
        """Go by this from now on."""
        self._known[survey.digest] = announced

    def of(self, survey: str, digest: str, *, again: bool = False) -> Announced:
        """What the collector said of this version of a survey, or says now.

        A survey whose reports were sealed stays sealed until the caller fetches it again: whoever
        answers in the collector's stead has no way to ask for the reports in the clear.

        Parameters
        ----------
        survey, digest : str
        again : bool
            Whether to ask, even if it is known.

        Raises
        ------
        SurveyRefused, RequestRefused, CollectorUnavailable
        """
        known = self._known.get(digest)
        if known is not None and not again:
            return known
        fetched, announced = self.fetch(survey)
        if fetched.digest != digest:
            raise RequestRefused(
                f"survey '{survey}': the collector has another version of it",
                status=409,
                field="digest",
            )
        if known is not None and known.terms.sealing_key and not announced.terms.sealing_key:
            raise SurveyRefused(
                f"survey '{survey}': its reports were to be sealed and now are not; expected a"
                " sealing key, or a caller who fetches the survey again",
                field="sealing_key",
            )
        self._known[digest] = announced
        return announced


def _pins(operator_keys: Collection[str]) -> frozenset[str]:
    """The keys that a caller pins; a text is none of the lists, even if it is empty."""
    if not isinstance(operator_keys, str):
        operator_keys = tuple(operator_keys)
        if not operator_keys:
            return frozenset()
    # Imported here: most clients pin no key, and the library takes a while.
    from halftruth_shared.signing import check_operator_keys

    return check_operator_keys(operator_keys)
