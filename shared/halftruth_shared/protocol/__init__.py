"""Messages between client and collector."""

from . import reports, surveys, terms  # noqa: F401 (which `prepare` looks for)
from .base import Message, Request, prepare

prepare(Message)
prepare(Request)
