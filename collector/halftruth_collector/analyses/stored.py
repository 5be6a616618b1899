"""Counts of a survey from a store and, if needed, of the other surveys of its series."""

from collections.abc import Callable
from functools import partial

from ..store.reports import CountStore
from ..store.surveys import SurveyStore
from .base import AnalysisContext


def counted_in(
    surveys: SurveyStore,
    reports: CountStore,
    survey_id: str,
    min_reports: int,
    check: Callable[[], None] = lambda: None,
    tickets: Callable[[str], tuple[int, int]] | None = None,
) -> AnalysisContext:
    """Read the counts of a survey; the counts of its series are read when an analysis needs them.

    `tickets` reads how many tickets of a survey were issued and spent. `check` is called before
    other surveys are read, and raises if access is not allowed.
    """
    stored, counts, as_of, days = reports.snapshot(survey_id)
    survey = stored.survey()

    def waves() -> list[AnalysisContext]:
        if survey.series is None:
            return []
        check()
        return [
            counted_in(surveys, reports, wave.id, min_reports)
            for wave in surveys.of_series(survey.series.id)
        ]

    return AnalysisContext(
        survey,
        counts,
        as_of,
        min_reports=min_reports,
        days=days,
        invited=stored.terms.invitations,
        tickets=None if tickets is None else partial(tickets, survey_id),
        waves=waves,
    )
