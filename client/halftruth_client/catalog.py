"""Surveys of one collector, with verification of what it publishes."""

from collections.abc import Collection
from dataclasses import dataclass

from halftruth_shared import ParameterError, SignatureError, Survey
from halftruth_shared.protocol.base import check_hexadecimal, check_operator_keys
from halftruth_shared.protocol.surveys import PublishedSurvey
from halftruth_shared.protocol.terms import Terms

from .errors import RequestRefused, SurveyRefused
from .transport import Transport, survey_path


@dataclass(frozen=True)
class Entry:
    """Survey with its terms for reports, and the pinned key that signed them, if any is pinned."""

    survey: Survey
    terms: Terms
    operator: str = ""


class Catalog:
    """Surveys and terms that one collector publishes, verified.

    Parameters
    ----------
    transport : Transport
    operator_keys : collection of str
        Public keys of trusted operators; without any, no signature is needed.

    Raises
    ------
    ParameterError
        If a key cannot be one.
    """

    def __init__(self, transport: Transport, operator_keys: Collection[str]) -> None:
        self._transport = transport
        self._operator_keys = check_operator_keys(operator_keys)
        self._entries: dict[str, Entry] = {}

    def fetch(self, id: str) -> Entry:
        """Fetch a survey with its current terms.

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
        terms, operator = published.terms, ""
        if self._operator_keys:
            # Imported here: most clients pin no key, and the library takes a while.
            from halftruth_shared.protocol.signing import verify

            try:
                verify(published.signature, survey.digest, terms, self._operator_keys)
            except SignatureError as error:
                raise SurveyRefused(f"survey '{id}': {error}", field="operator_keys") from None
            operator = published.signature.key if published.signature else ""
        try:
            if survey.relay is not None:
                survey.relay.check_terms(terms)
            if terms.sealing_key is not None:
                check_hexadecimal("sealing_key", terms.sealing_key)
        except ParameterError as error:
            raise SurveyRefused(f"survey '{id}': {error}", field=error.field) from None
        return Entry(survey, terms, operator)

    @property
    def operators(self) -> tuple[str, ...]:
        """The pinned keys, of which each has a ledger; without any there is one ledger for all."""
        return tuple(self._operator_keys) or ("",)

    def operator(self, survey: Survey) -> str:
        """Return the one of these that signed a survey.

        Raises
        ------
        SurveyRefused, RequestRefused, CollectorUnavailable
            If several are pinned and the survey cannot be fetched.
        """
        if len(self.operators) == 1:
            return self.operators[0]
        return self.entry(survey.id, survey.digest).operator

    def accept(self, entry: Entry) -> None:
        """Accept the terms of an entry for further reports."""
        self._entries[entry.survey.digest] = entry

    def entry(self, id: str, digest: str, *, refresh: bool = False) -> Entry:
        """Return this version of a survey with the accepted terms.

        A survey whose reports were sealed stays sealed until the caller fetches it again, so that
        an impostor of the collector cannot request unsealed reports.

        Parameters
        ----------
        id, digest : str
        refresh : bool
            Whether to ask the collector even if the terms are known.

        Raises
        ------
        SurveyRefused, RequestRefused, CollectorUnavailable
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
