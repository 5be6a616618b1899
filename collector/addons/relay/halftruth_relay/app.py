"""The Flask application of a relay, and its calls."""

import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from flask import Flask, Response, g
from halftruth_collector.errors import (
    StaleDigest,
    StoreUnavailable,
    SurveyClosed,
    TooLarge,
    TooManyReports,
)
from halftruth_collector.intake.reading import read_batch
from halftruth_collector.ops.metrics import Metrics
from halftruth_collector.ops.settings import Config
from halftruth_collector.store.keys import SealingKeyFile
from halftruth_collector.web import openapi, parameters
from halftruth_collector.web.app import assemble
from halftruth_collector.web.calls import Audience
from halftruth_collector.web.context import Service, service
from halftruth_collector.web.limits import ReportLimit, Visit
from halftruth_collector.web.messages import Health
from halftruth_collector.web.readiness import Readiness
from halftruth_collector.web.routes.operations import describe, expose, get_health, get_readiness
from halftruth_collector.web.turns import Turns
from halftruth_shared import ParameterError, ReportError
from halftruth_shared.protocol.reports import IssuedTickets, Receipt, SealedBatch, TicketRequest
from halftruth_shared.protocol.surveys import RelayedSurvey

from .intake import Envelopes, Intake, open_envelopes
from .passing import Passing
from .store import RelayStore

#: Seconds between two releases of the numbers of requests in the metrics: a day.
_RELEASE_SECONDS = 86_400

RELAY = Audience("relay", "Send sealed reports that are passed on to a collector in a batch.")


@dataclass(frozen=True, kw_only=True)
class RelayService(Service):
    """A relay, with its store, its intake, and the limit of tickets from one address."""

    store: RelayStore
    intake: Intake
    ticket_limit: ReportLimit


def create_app(config: Config | None = None) -> Flask:
    """Create the WSGI application of a relay.

    Parameters
    ----------
    config : Config, optional
        Settings; read from the environment by default.

    Raises
    ------
    ParameterError
        If a setting is invalid.
    KeyFileError
        If the file of the relay's keys cannot be read.
    StoreUnavailable
        If the database cannot be reached.
    """
    config = config or Config.from_environment()
    keys = key_file(config)
    metrics = Metrics(config.metrics_seconds or _RELEASE_SECONDS)
    limit, ticket_limit = ReportLimit(config.rate_limit), ReportLimit(config.rate_limit)
    store = RelayStore(config.database)
    stopping = threading.Event()
    relay = RelayService(
        config=config,
        store=store,
        metrics=metrics,
        limit=limit,
        ticket_limit=ticket_limit,
        key_file=keys,
        readiness=Readiness(store.database.check),
        background=Passing(store, stopping).run,
        stopping=stopping,
        intake=Intake(store.database),
        computations=Turns(1),
    )
    return assemble(relay, [RELAY.blueprint])


def key_file(config: Config) -> SealingKeyFile:
    """Return the private keys of a relay."""
    if config.relay_keys is None:
        raise ParameterError(
            "HALFTRUTH_RELAY_KEYS: expected the file of the relay's private keys, as 'halftruth"
            " relay key create' makes it",
            field="HALFTRUTH_RELAY_KEYS",
        )
    return SealingKeyFile(config.relay_keys, "HALFTRUTH_RELAY_KEYS")


def _relay() -> RelayService:
    return cast(RelayService, service())


@RELAY.call("GET", "/v1/surveys/<survey_id>", answer=RelayedSurvey, shared=True)
def get_survey(survey_id: str) -> RelayedSurvey:
    """Fetch digest and status of a registered survey."""
    survey = _relay().store.get(survey_id)
    is_open = survey.is_open(datetime.now(UTC))
    return RelayedSurvey(id=survey.id, digest=survey.digest, status="open" if is_open else "closed")


@RELAY.call(
    "POST",
    "/v1/surveys/<survey_id>/reports",
    # Parsed by the view, after the rate limit was checked.
    body=(SealedBatch,),
    answer=Receipt,
    status=202,
    shared=True,
    errors=(SurveyClosed, StaleDigest, ReportError, TooManyReports),
)
def add_reports(survey_id: str) -> Receipt:
    """Send reports.

    Stores all reports of the batch or none, each once, and answers once they are durable. The
    request is idempotent: sending the same report again is safe. There is a rate limit by address.
    """
    this = _relay()
    g.may_be_counted = False
    with this.limit.visit() as visit:
        envelopes = _receive(survey_id, visit)
        g.may_be_counted = True
        receipt = this.intake.keep(envelopes)
        visit.accepted = receipt.accepted
    return receipt


@RELAY.call(
    "POST",
    "/v1/surveys/<survey_id>/tickets",
    body=TicketRequest,
    answer=IssuedTickets,
    status=201,
    shared=True,
    errors=(SurveyClosed, StaleDigest, ReportError, TooLarge, TooManyReports, StoreUnavailable),
)
def issue_tickets(asked: TicketRequest, survey_id: str) -> IssuedTickets:
    """Issue tickets.

    The client draws a secret of 32 random bytes for each ticket and sends the commitment to it;
    the ticket has an id, and the signature of this relay. The view of a report follows from id and
    secret, so that neither side can choose it. There is a rate limit by address.
    """
    this = _relay()
    with this.ticket_limit.visit() as visit:
        survey = this.store.get(survey_id)
        visit.charge(len(asked.commitments))
        assert this.sealing_keys is not None  # noqa: S101  a relay has a file of keys
        issued = this.store.tickets.issue(survey, asked, this.sealing_keys)
        visit.accepted = len(issued)
    return IssuedTickets(tickets=issued)


RELAY.call("GET", "/healthz", answer=Health)(get_health)
RELAY.call("GET", "/readyz", answer=Health, errors=(StoreUnavailable,))(get_readiness)


@RELAY.call("GET", "/metrics", role="monitor", answer="text/plain")
def get_metrics() -> Response:
    """Get metrics for Prometheus."""
    relay = _relay()
    relay.metrics.stopped(sum(survey.is_stopped for survey in relay.store.all()))
    return expose(relay.metrics)


@RELAY.call("GET", "/openapi.json", answer="application/json")
def get_description() -> Response:
    """Get this description."""
    return describe(openapi.document((RELAY,), "halftruth relay", openapi.RELAY))


def _receive(survey_id: str, visit: Visit) -> Envelopes:
    """Decode the reports of this request, charge the rate limit, and open the outer seal."""
    this = _relay()
    # The cached survey is sufficient, since the digest of a registered survey never changes.
    survey = this.store.last_read(survey_id) or this.store.get(survey_id)
    data = parameters.read_body()
    batch = read_batch(data, SealedBatch, survey.id, survey.digest, this.config.max_batch)
    visit.charge(len(batch.reports))
    assert this.sealing_keys is not None  # noqa: S101  a relay has a file of keys
    return open_envelopes(survey, batch, this.sealing_keys)
