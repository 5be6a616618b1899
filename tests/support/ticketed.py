"""A survey whose reports need tickets, and tickets for it."""

from dataclasses import replace
from typing import Any

from flask.testing import FlaskClient
from halftruth_shared import SplitQuestionnaire, Survey
from halftruth_shared.mechanisms import ViewClass
from halftruth_shared.protocol.tickets import Ticket, commit, draw_view, new_secret
from halftruth_shared.survey import Reporting

TICKETS = "/v1/surveys/health/tickets"


def by_tickets(survey: Survey) -> Survey:
    """Return the small survey with a view of each question and one of both, by tickets."""
    views = [
        ViewClass(attributes=[["smoker"]], weight=3),
        ViewClass(attributes=[["drinks"]], weight=2),
        ViewClass(attributes=[["smoker", "drinks"]], weight=1),
    ]
    mechanism = SplitQuestionnaire("19", views)
    return replace(survey, mechanism=mechanism, reporting=Reporting(tickets="required"))


def asked(survey: Survey, *secrets: bytes) -> dict[str, Any]:
    """Return the body of a request for tickets for these secrets."""
    made = [commit(survey.digest, secret).hex() for secret in secrets]
    return {"digest": survey.digest, "commitments": made}


def take(
    http: FlaskClient, survey: Survey, count: int = 1, url: str = TICKETS, **more: Any
) -> list[Ticket]:
    """Take tickets for new secrets of a collector or a relay."""
    made = [new_secret() for _ in range(count)]
    response = http.post(url, json=asked(survey, *made) | more)
    assert response.status_code == 201, response.text
    issued = response.get_json()["tickets"]
    return [Ticket.of_issued(text, each) for text, each in zip(issued, made, strict=True)]


def view_of(survey: Survey, ticket: Ticket) -> int:
    """Return the number of the view of a ticket."""
    return draw_view(survey.perturbation, survey.digest, ticket.id, ticket.secret)
