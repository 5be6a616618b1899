"""The ledger of a device: what the reports that one person gave tell together.

Amplifications of reports multiply, whatever becomes of the answers in between: a report that is at
most γ₁ times likelier under one record than under another, and one that is at most γ₂ times, are
together at most γ₁γ₂ times. A question that a report is not about, by a view that was drawn before
anything was answered, costs nothing in it.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec
from halftruth_shared import Series, Survey
from halftruth_shared.rational import format_approximately, round_up_rational

from .errors import SurveyRefused

_INFINITE = "infinite"


class LedgerEntry(msgspec.Struct, frozen=True):
    """Largest amplification of one report.

    Attributes
    ----------
    survey, digest : str
    gamma : str
        Amplification that the report spends: exact, rounded up where that takes too many digits,
        or ``"infinite"`` where the report can reveal a sensitive answer.
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
        operator: str,
        values: Sequence[int] | None = None,
    ) -> "LedgerEntry":
        """Return the cost of a report of a survey; without `values`, of all of it."""
        perturbation = survey.perturbation
        reported = None if values is None else perturbation.reported(values)
        questions: dict[str, str] = {}
        for question in survey.schema.questions:
            gamma = perturbation.amplification(question, reported=reported)
            # What is sent unperturbed has no bound, and no ledger can keep one.
            if isinstance(gamma, Fraction) and gamma > 1:
                questions[question.name] = round_up_rational(gamma)
        whole = _written(perturbation.spent_amplification)
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
    def gamma(self) -> Fraction | float:
        """Amplification of all of them together, about whole records; may be infinite."""
        return math.prod([_read(entry.gamma) for entry in self.entries], start=Fraction(1))

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
            _check_total(about, waves.gamma * _read(new.gamma), min(totals), "series.total_gamma")
        if max_total_gamma is not None:
            total = others.gamma * _read(new.gamma)
            _check_total(f"survey '{new.survey}'", total, max_total_gamma, "max_total_gamma")


def _written(gamma: Fraction | float) -> str:
    return round_up_rational(gamma) if isinstance(gamma, Fraction) else _INFINITE


def _read(gamma: str) -> Fraction | float:
    return math.inf if gamma == _INFINITE else Fraction(gamma)


def _check_total(about: str, total: Fraction | float, limit: Fraction, field: str) -> None:
    if total > limit:
        raise SurveyRefused(
            f"{about}: together with what was sent before, its amplification would be"
            f" {format_approximately(total)}; nothing was asked or sent; expected at most {field}"
            f" {format_approximately(limit)}",
            field=field,
        )
