"""The ledger of a device: what the reports that one person gave tell together.

Amplifications of reports multiply, whatever becomes of the answers in between: a report that is at
most γ₁ times likelier under one record than under another, and one that is at most γ₂ times, are
together at most γ₁γ₂ times. A question that a report is not about, by a view that was drawn before
anything was answered, costs nothing in it.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec
from halftruth_shared import Series, Survey
from halftruth_shared.protection import accepted_amplification
from halftruth_shared.rational import approximately, round_up_rational

from .errors import SurveyRefused


class LedgerEntry(msgspec.Struct, frozen=True):
    """Largest amplification of one report.

    Attributes
    ----------
    survey, digest : str
    gamma : str
        Amplification of all answers that may not be sent unperturbed; exact, or rounded up where
        that takes too many digits.
    questions : dict of str to str
        That of each question that the report is about, all others being known.
    series : Series, optional
    operator : str
        The pinned key that signed the survey; empty where none is pinned.
    """

    survey: str
    digest: str
    gamma: str
    questions: dict[str, str] = {}
    series: Series | None = None
    operator: str = ""

    @classmethod
    def of(
        cls,
        survey: Survey,
        unprotected: Collection[str],
        operator: str,
        values: Sequence[int] | None = None,
    ) -> "LedgerEntry":
        """Return the cost of a report of a survey; without `values`, of all of it."""
        schema, mechanism = survey.schema, survey.mechanism
        names = set(schema.names)
        about = names if values is None else mechanism.reported(schema, values)
        questions: dict[str, str] = {}
        for question in schema.questions:
            # Whether what is asked after it was asked shows in the report on that.
            related = {
                name
                for attribute in question.attributes
                for name in schema.dependents(attribute.name)
            }
            gamma = mechanism.amplification(schema, names - (related & about))
            if isinstance(gamma, Fraction) and gamma > 1:
                questions[question.name] = round_up_rational(gamma)
        # A policy lets no infinite one come here.
        whole = round_up_rational(Fraction(accepted_amplification(survey, unprotected)))
        return cls(survey.id, survey.digest, whole, questions, survey.series, operator)


@dataclass(frozen=True)
class Ledger:
    """Composition of the amplifications of several reports of one person.

    Attributes
    ----------
    entries : tuple of LedgerEntry
    """

    entries: tuple[LedgerEntry, ...] = ()

    @property
    def gamma(self) -> Fraction:
        """Amplification of all of them together, about whole records."""
        return math.prod([Fraction(entry.gamma) for entry in self.entries], start=Fraction(1))

    @property
    def questions(self) -> dict[str, Fraction]:
        """Amplification of all of them together, about each question alone."""
        totals: dict[str, Fraction] = defaultdict(lambda: Fraction(1))
        for entry in self.entries:
            for name, gamma in entry.questions.items():
                totals[name] *= Fraction(gamma)
        return dict(totals)

    def of_series(self, id: str) -> "Ledger":
        """Return the part of one series."""
        return Ledger(tuple([e for e in self.entries if e.series and e.series.id == id]))

    def check(self, new: LedgerEntry, max_total_gamma: Fraction | None = None) -> None:
        """Check that another report stays within what was promised of all of them.

        Of a series, the smallest total holds that any of its waves promised here.

        Raises
        ------
        SurveyRefused
        """
        others = Ledger(tuple([entry for entry in self.entries if entry.digest != new.digest]))
        if new.series is not None:
            waves = others.of_series(new.series.id)
            before = [entry.series for entry in waves.entries if entry.series is not None]
            about = f"survey '{new.survey}': series '{new.series.id}'"
            if new.series.wave in [series.wave for series in before]:
                raise SurveyRefused(
                    f"{about}: wave {new.series.wave} was answered, in another survey; nothing was"
                    " asked or sent; expected another wave",
                    field="series.wave",
                )
            totals = [Fraction(series.total_gamma) for series in (*before, new.series)]
            _check_total(
                about, waves.gamma * Fraction(new.gamma), min(totals), "series.total_gamma"
            )
        if max_total_gamma is not None:
            total = others.gamma * Fraction(new.gamma)
            _check_total(f"survey '{new.survey}'", total, max_total_gamma, "max_total_gamma")


def _check_total(about: str, total: Fraction, limit: Fraction, field: str) -> None:
    if total > limit:
        raise SurveyRefused(
            f"{about}: together with what was sent before, its amplification would be"
            f" {approximately(total)}; nothing was asked or sent; expected at most {field}"
            f" {approximately(limit)}",
            field=field,
        )
