"""Fetch and verify the surveys of one collector."""

from collections.abc import Collection
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from halftruth_shared import ParameterError, SignatureError, Survey
from halftruth_shared.extras import MissingExtra, require_extra
from halftruth_shared.protocol.base import check_hexadecimal, check_operator_keys
from halftruth_shared.protocol.surveys import PublishedSurvey, RelayedSurvey, survey_path
from halftruth_shared.protocol.terms import Terms

from .errors import CollectorUnavailable, RequestRefused, SurveyRefused

if TYPE_CHECKING:
    from .transport import Transport


@dataclass(frozen=True)
class Entry:
    """Survey with its terms, whether it is signed, and whether it opens later."""

    survey: Survey
    terms: Terms
    is_signed: bool = False
    is_planned: bool = False


class Catalog:
    """Verified surveys and terms of one collector; without keys, no signature is required.

    With `has_total`, the caller bounds all reports of a person together.

    Raises
    ------
    MissingExtra
        If there are keys and cryptography, which checks signatures, is not installed.
    """

    def __init__(
        self, transport: "Transport", operator_keys: Collection[str], has_total: bool = False
    ) -> None:
        self.transport = transport
        self._operator_keys = check_operator_keys(operator_keys)
        if self._operator_keys:
            require_extra("cryptography", "checking a signature", field="operator_keys")
        self._has_total = has_total
        self._entries: dict[str, Entry] = {}

    def over(self, transport: "Transport") -> Self:
        """Return this catalog over another connection; both know the same surveys."""
        other = copy(self)
        other.transport = transport
        return other

    def fetch(self, id: str) -> Entry:
        """Fetch a survey with its current terms.

        Raises
        ------
        SurveyRefused
            If the digest does not match the survey, no pinned operator signed it, or its terms
            contradict a relay, a series or a total.
        RequestRefused, CollectorUnavailable
        SurveyError, SchemaError, ParameterError
            If the response is not a valid survey.
        """
        published = self.transport.get(survey_path(id), PublishedSurvey)
        survey = Survey.from_json(published.survey)
        if survey.digest != published.digest or survey.id != id:
            raise SurveyRefused(
                f"survey '{id}': the collector's digest is not that of what it sent",
                field="digest",
            )
        terms = published.terms
        if self._operator_keys:
            # Import here, since most clients pin no key, and cryptography is slow to import.
            from halftruth_shared.protocol.signing import verify

            try:
                verify(published.signature, survey.digest, terms, self._operator_keys)
            except SignatureError as error:
                raise SurveyRefused(f"survey '{id}': {error}", field="operator_keys") from None
        try:
            if survey.relay is not None:
                survey.relay.check_terms(terms)
            if survey.series is not None:
                survey.series.check_terms(terms)
            elif self._has_total and terms.shared_devices:
                raise ParameterError(
                    "shared_devices: several people answer on one device, and max_total_gamma is"
                    " the total of one person; expected false",
                    field="shared_devices",
                )
            if terms.sealing_key is not None:
                check_hexadecimal("sealing_key", terms.sealing_key)
        except ParameterError as error:
            raise SurveyRefused(f"survey '{id}': {error}", field=error.field) from None
        is_signed, is_planned = published.signature is not None, published.status == "planned"
        return Entry(survey, terms, is_signed, is_planned)

    def check_relay(self, survey: Survey) -> None:
        """Ask the relay of a survey whether it takes reports of it, and refuse the survey if not.

        If the relay does not answer, or something else answers in its place, nothing is refused:
        reports would wait for the relay. It is not asked if questions depend on answers, since the
        time from this request to the report can reveal which questions were asked.

        Raises
        ------
        SurveyRefused
        """
        if survey.relay is None or any(each.ask_if for each in survey.schema.attributes):
            return
        relay = self.transport.once().to_relay(survey.relay.url)
        try:
            found = relay.get(survey_path(survey.id), RelayedSurvey)
            refuses = found.status == "closed" or found.digest != survey.digest
        except CollectorUnavailable:
            return
        except RequestRefused as error:
            refuses = (error.status, error.field) == (404, "survey")
        if refuses:
            raise SurveyRefused(
                f"survey '{survey.id}': its relay {relay.url} takes no reports of it",
                field="relay",
            )

    def accept(self, entry: Entry) -> None:
        """Accept the terms of an entry for further reports.

        Raises
        ------
        SurveyRefused
            If the survey is sealed, relayed or signed and cryptography is not installed. A client
            without it could not check a signature, even if no key is pinned yet.
        """
        needs = (
            ("sealing_key", "a sealed report", entry.terms.sealing_key is not None),
            ("relay", "a report through a relay", entry.survey.relay is not None),
            ("signature", "a signed survey", entry.is_signed),
        )
        try:
            for field, what, is_needed in needs:
                if is_needed:
                    require_extra("cryptography", what, field=field)
        except MissingExtra as error:
            id = entry.survey.id
            raise SurveyRefused(f"survey '{id}': {error}", field=error.field) from None
        self._entries[entry.survey.digest] = entry

    def entry(self, id: str, digest: str, *, refresh: bool = False) -> Entry:
        """Return this version of a survey with the accepted terms.

        If reports of a survey were sealed, they stay sealed until the caller fetches the survey
        again, so that an impostor of the collector cannot request unsealed reports.

        With `refresh`, the terms are fetched even if they are known.
        """
        before = self._entries.get(digest)
        if before is not None and not refresh:
            return before
        now = self.fetch(id)
        if now.survey.digest != digest:
            raise RequestRefused(
                f"survey '{id}': the collector has another version of it",
                status=409,
                field="digest",
            )
        if before is not None and before.terms.sealing_key and not now.terms.sealing_key:
            raise SurveyRefused(
                f"survey '{id}': its reports were to be sealed and now are not; expected a"
                " sealing key, or a caller who fetches the survey again",
                field="sealing_key",
            )
        self.accept(now)
        return now
