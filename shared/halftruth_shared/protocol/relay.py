"""Relays: third parties that receive reports and pass them on in shuffled batches.

The relay's address and key, the collector's sealing key and the size of a batch are part of the
survey and of its digest, so that a collector cannot change any of them between two visits.
"""

import math
from typing import Literal

import msgspec

from ..addresses import is_address
from ..errors import ParameterError, SurveyError
from ..mechanisms import Perturbation
from .base import check_hexadecimal
from .terms import Terms

#: Sizes of a batch.
_LEAST_BATCH, _MOST_BATCH = 2, 10**9


class Relay(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """The relay of a survey, in the format of files and messages.

    Attributes
    ----------
    url : str
        URL of the relay: https, or http on this machine.
    key : str
        X25519 public key of the relay, 64 hexadecimal digits.
    sealing_key : str
        X25519 public key of the collector, to which the inner reports are sealed.
    tickets_key : str, optional
        Ed25519 public key by which the relay signs tickets, 64 hexadecimal digits; None if reports
        have no tickets.
    batch : int
        Minimum number of reports that the relay passes on together.
    release : {"closing", "batches"}
        Whether it passes on all reports when the survey is closed, or also batches before that.

    Raises
    ------
    SurveyError
    """

    url: str
    key: str
    sealing_key: str
    batch: int
    release: Literal["closing", "batches"] = "closing"
    tickets_key: str | None = None

    def __post_init__(self) -> None:
        if not is_address(self.url):
            raise _fault(
                "url", "an address with https:// (http:// on this machine) and no slash at its end"
            )
        for name in ("key", "sealing_key", "tickets_key"):
            if name == "tickets_key" and self.tickets_key is None:
                continue
            try:
                check_hexadecimal(f"relay.{name}", getattr(self, name))
            except ParameterError as error:
                raise SurveyError(str(error), field=error.field) from None
        if self.key == self.sealing_key:
            raise _fault("key", "another key than sealing_key, held by another party")
        if self.tickets_key in (self.key, self.sealing_key):
            raise _fault("tickets_key", "another key than those that reports are sealed to")
        if type(self.batch) is not int or not _LEAST_BATCH <= self.batch <= _MOST_BATCH:
            raise _fault("batch", f"a whole number from {_LEAST_BATCH} to {_MOST_BATCH}")
        if self.release not in ("closing", "batches"):
            raise _fault("release", '"closing" or "batches"')

    def check(self, perturbation: Perturbation) -> None:
        """Raise SurveyError if the reports of a survey cannot hide among each other.

        Unprotected answers and answers that a report can prove split a batch into groups that the
        collector can distinguish.
        """
        if perturbation.mechanism.randomized_by != "device":
            raise SurveyError(
                "relay: respondents randomize their answers themselves; expected a mechanism of the"
                " device, or no relay",
                field="relay",
            )
        if not perturbation.provable and perturbation.amplification() < math.inf:
            return
        names = perturbation.schema.names
        told = (name in perturbation.provable or perturbation.reveals(name) for name in names)
        name = next((name for name, is_told in zip(names, told, strict=True) if is_told), None)
        what = "rule out a record" if name is None else f"reveal the answer to '{name}'"
        raise SurveyError(
            f"relay: a report can {what}, which tells reports of a batch apart; expected every"
            " question perturbed and none provable, or no relay",
            field="relay",
        )

    def check_terms(self, terms: Terms) -> None:
        """Raise ParameterError if terms distinguish or limit the reports of a batch."""
        if terms.sealing_key is not None:
            raise ParameterError(
                "sealing_key: the survey has a relay and says itself which key its reports are"
                " sealed to; expected none",
                field="sealing_key",
            )
        if terms.invitations:
            raise ParameterError(
                "invitations: the survey has a relay, and an invitation would say who sent a"
                " report; expected false",
                field="invitations",
            )
        if terms.opens_at is not None:
            raise ParameterError(
                "opens_at: the survey has a relay, which would take reports before; expected none,"
                " and a survey that is published when it opens",
                field="opens_at",
            )
        if terms.max_reports is not None:
            raise ParameterError(
                "max_reports: the survey has a relay, which alone knows how many reports there"
                " are; expected none",
                field="max_reports",
            )


def _fault(name: str, expected: str) -> SurveyError:
    return SurveyError(f"relay.{name}: expected {expected}", field=f"relay.{name}")
