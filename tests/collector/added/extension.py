"""Extending the deadline of a survey, as an action that is added by one file."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from halftruth_shared import ParameterError
from halftruth_shared.protocol.base import Request
from msgspec import UNSET, Meta

from ..collector_store import Store
from ..store.surveys import SurveyState, find, update_survey, write_terms
from .base import SURVEY, Call, Command, Form, Offer, action
from .terms import change_terms


class Extension(Request, frozen=True, kw_only=True):
    """Extension of a deadline."""

    days: Annotated[int, Meta(ge=1, le=366, description="Days after the present deadline.")] = 7


def _offer(state: SurveyState) -> Offer | None:
    if state.terms.closes_at is None:
        return None
    return Offer("Reports are accepted for some more days.", "Extend the deadline")


@action(
    "survey extend",
    about=SURVEY,
    arguments=Extension,
    call=Call(
        "POST",
        "/v1/surveys/<survey_id>/extend",
        SurveyState,
        answered=lambda store, id, _: store.surveys.state(id),
    ),
    command=Command("survey extend", "extended {subject} by {arguments.days} days"),
    form=Form("extend", "Deadline", _offer),
    undone="the deadline can be set again",
)
def extend_survey(store: Store, id: str, days: int) -> None:
    """Extend the deadline of a survey.

    The survey must have one.
    """
    with store.database.writing() as connection:
        stored = find(connection, id, lock=True)
        terms = stored.terms
        if terms.closes_at is None:
            raise ParameterError(f"survey '{id}': expected one with a deadline", field="survey")
        later = {"closes_at": terms.closes_at + timedelta(days=days)}
        signed, _ = change_terms(connection, stored.survey(), stored.signed, later, UNSET)
        update_survey(connection, stored, terms=write_terms(signed))
        extend_survey.log(store, connection, id, f"{days} days")
