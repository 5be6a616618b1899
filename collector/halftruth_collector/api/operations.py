"""What those ask who keep the collector running."""

from flask import Blueprint, Response
from halftruth_shared.messages import Message

from . import parameters
from .context import answer, collector

blueprint = Blueprint("operations", __name__)


class Health(Message, frozen=True, kw_only=True):
    """The collector is up and its database answers."""

    status: str


@blueprint.get("/healthz")
def healthz() -> Response:
    """200 if the database answers, else 503."""
    parameters.none()
    collector().store.ping()
    return answer(Health(status="ok"))
