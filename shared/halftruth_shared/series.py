"""Series: surveys that ask the same people again, with one total amplification for all of them.

The series is part of each survey and of its digest, so the promised total cannot be changed later
without changing the digest.

A browser has a separate memory for each web address (origin), and so a separate ledger. A series
therefore names the one origin whose pages ask it. Browsers refuse it on any other page, so that a
second address of a form does not begin a second total by accident.
"""

import re
from fractions import Fraction

import msgspec

from .addresses import is_origin
from .errors import ParameterError, SurveyError
from .mechanisms import Perturbation
from .protocol.terms import Terms
from .rational import format_approximately, format_rational, parse_rational

_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)
#: Largest number of a wave.
MOST_WAVES = 1_000


class Series(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Membership of a survey in a series, in the format of files and messages.

    Attributes
    ----------
    id : str
        Id of the series: lower-case letters, digits and hyphens, at most 64.
    wave : int
        Number of this survey in the series, from 1.
    total_gamma : str or int
        Largest joint amplification of all reports of one person; exact, above 1.
    origin: str
        Page address of the forms, in all waves: scheme, host and port, such as
        ``https://survey.example.org``. The Python client has no page, and does not check it.
    """

    id: str
    wave: int
    total_gamma: str | int
    origin: str = ""

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise _fault("id", "lower-case letters, digits and hyphens, at most 64")
        if type(self.wave) is not int or not 1 <= self.wave <= MOST_WAVES:
            raise _fault("wave", f"a whole number from 1 to {MOST_WAVES}")
        # A missing origin is refused here, so that the message says what is expected.
        if not is_origin(self.origin):
            raise _fault(
                "origin",
                "the web address of its forms, such as https://survey.example.org (http:// on this"
                " machine), with no slash at its end and no default port",
            )
        field = "series.total_gamma"
        try:
            total = parse_rational(self.total_gamma, field)
            canonical = format_rational(total, field)
        except ParameterError as error:
            raise SurveyError(str(error), field=field) from None
        if total <= 1:
            raise _fault("total_gamma", "an amplification above 1")
        msgspec.structs.force_setattr(self, "total_gamma", canonical)

    def check(self, perturbation: Perturbation) -> None:
        """Raise SurveyError unless the total has room for a report of this wave."""
        gamma = perturbation.spent_amplification
        if gamma > Fraction(self.total_gamma):
            raise _fault(
                "total_gamma",
                f"at least the amplification of this wave, {format_approximately(gamma)}",
            )

    def check_terms(self, terms: Terms) -> None:
        """Raise ParameterError if several people may answer on one device."""
        if terms.shared_devices:
            raise ParameterError(
                "shared_devices: the survey is of a series, whose total a device keeps for one"
                " person; expected false",
                field="shared_devices",
            )


def _fault(name: str, expected: str) -> SurveyError:
    return SurveyError(f"series.{name}: expected {expected}", field=f"series.{name}")
