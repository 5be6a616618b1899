"""The ledger of a respondent: the total amplification of all their reports, to any survey.

There is one ledger for each respondent, whoever signed the surveys: what different collectors
receive is still about one person, and a collector can use several keys.

Amplifications multiply (composition), even if answers change in between: if the likelihood ratio of
one report is at most γ₁ and that of another at most γ₂, the ratio of both is at most γ₁γ₂. A
question outside the view of a report costs nothing, since the view is drawn before the answers.
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
        Amplification that the report spends: exact, rounded up if it has too many digits, or
        ``"infinite"`` if the report can reveal a sensitive answer.
    questions : dict of str to str
        Amplification of each question of the report, if all other answers are known. All options of
        a question are one question. Questions that are sent unperturbed are left out.
    series : Series, optional
    """

    survey: str
    digest: str
    gamma: str
    questions: dict[str, str] = {}
    series: Series | None = None

    @classmethod
    def of(cls, survey: Survey, values: Sequence[int] | None = None) -> "LedgerEntry":
        """Return the cost of a report; without `values`, of a report about all questions."""
        perturbation = survey.perturbation
        reported = None if values is None else perturbation.reported(values)
        questions = {
            name: round_up_rational(gamma)
            for name, gamma in perturbation.single_amplifications(reported=reported).items()
            if isinstance(gamma, Fraction) and gamma > 1
        }
        whole = _format_gamma(perturbation.spent_amplification)
        return cls(survey.id, survey.digest, whole, questions, survey.series)


@dataclass(frozen=True)
class Ledger:
    """Composition of the amplifications of all reports of one person.

    Attributes
    ----------
    entries : tuple of LedgerEntry
    """

    entries: tuple[LedgerEntry, ...] = ()

    @property
    def gamma(self) -> Fraction | float:
        """Total amplification for whole records; can be infinite."""
        return math.prod([_parse_gamma(entry.gamma) for entry in self.entries], start=Fraction(1))

    @property
    def questions(self) -> dict[str, Fraction]:
        """Total amplification for each single question."""
        totals: dict[str, Fraction] = defaultdict(lambda: Fraction(1))
        for entry in self.entries:
            for name, gamma in entry.questions.items():
                totals[name] *= Fraction(gamma)
        return dict(totals)

    def of_series(self, id: str) -> "Ledger":
        """Return the ledger of one series."""
        return Ledger(tuple([e for e in self.entries if e.series and e.series.id == id]))

    def check(self, new: LedgerEntry, max_total_gamma: Fraction | None = None) -> None:
        """Check that another report keeps the totals within their limits.

        The limit of a series is the smallest total that any of its waves has promised here.

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
                about, waves.gamma * _parse_gamma(new.gamma), min(totals), "series.total_gamma"
            )
        if max_total_gamma is not None:
            total = others.gamma * _parse_gamma(new.gamma)
            _check_total(f"survey '{new.survey}'", total, max_total_gamma, "max_total_gamma")


def _format_gamma(gamma: Fraction | float) -> str:
    return round_up_rational(gamma) if isinstance(gamma, Fraction) else _INFINITE


def _parse_gamma(gamma: str) -> Fraction | float:
    return math.inf if gamma == _INFINITE else Fraction(gamma)


def _check_total(about: str, total: Fraction | float, limit: Fraction, field: str) -> None:
    if total > limit:
        raise SurveyRefused(
            f"{about}: together with what was sent before, its amplification would be"
            f" {format_approximately(total)}; nothing was asked or sent; expected at most {field}"
            f" {format_approximately(limit)}",
            field=field,
        )
