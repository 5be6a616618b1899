"""Notices about surveys for a program of the operator: closed, quota reached, no reports.

A notice is sent at least once: what was sent is in a file, and is removed from it when it no longer
holds, so that it can happen again. A notice has nothing of a report, neither the number of reports
nor a time of one that is more exact than the day: what is sent to others is stored there.
"""

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Literal
from uuid import NAMESPACE_URL, UUID, uuid5

import msgspec
import requests
from halftruth_shared import ParameterError
from halftruth_shared.protocol.base import Message
from halftruth_shared.protocol.key_files import read_key_file
from msgspec import Meta
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from .store.surveys import SurveyState

Event = Literal["closed", "quota", "silence"]

#: Header with the HMAC of the body, and its beginning.
SIGNATURE, _SIGNED = "X-Halftruth-Signature", "sha256="

#: Shortest key in bytes, that of a random number which nobody can guess.
_LEAST_KEY = 32

#: Attempts of one run, the seconds that one may take, and the factor of the pauses between them.
_ATTEMPTS, _SECONDS, _PAUSE = 4, 10, 1.0


class Notice(Message, frozen=True, kw_only=True):
    """What happened to a survey."""

    id: Annotated[UUID, Meta(description="The same whenever this notice is sent again.")]
    event: Annotated[
        Event,
        Meta(
            description="Closed: by its operator, its deadline or its relay. Quota: it has as many"
            " reports as its terms allow. Silence: it is open, and no report came for some days."
        ),
    ]
    survey: Annotated[str, Meta(description="Id of the survey.")]
    because: Annotated[
        str | None, Meta(description="Why it is closed: operator, deadline or relay.")
    ] = None
    last_day: Annotated[
        date | None, Meta(description="The last day with a report before a silence, if any.")
    ] = None


class Sent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """File of the ids of notices that were sent and still hold."""

    sent: list[UUID]


def find_notices(
    states: Iterable[SurveyState],
    last_days: Mapping[str, date],
    today: date,
    silent_days: int,
) -> list[Notice]:
    """Return the notices that hold now.

    Parameters
    ----------
    states : iterable of SurveyState
    last_days : mapping of str to date
        The last day with a report of each survey that has one.
    today : date
    silent_days : int
        Number of whole days without a report after which an open survey is silent.
    """
    found = []
    for state in states:
        if state.purged_at is not None:
            continue
        why, last = state.closed_because, last_days.get(state.id)
        if why == "quota":
            found.append(_notice(state, "quota"))
        elif why is not None:
            found.append(_notice(state, "closed", because=why))
        elif state.status == "open" and (today - (last or _began(state))).days > silent_days:
            found.append(_notice(state, "silence", last_day=last))
    return found


def _began(state: SurveyState) -> date:
    """Return the day from which reports could come."""
    opens_at = state.terms.opens_at
    began = state.published_at if opens_at is None else max(state.published_at, opens_at)
    return began.date()


def _notice(state: SurveyState, event: Event, **members: object) -> Notice:
    """Return a notice whose id follows from what it says, and from when the survey began."""
    began = f"{state.id} {state.published_at.isoformat()}"
    said = " ".join(map(str, [began, event, *members.values()]))
    return msgspec.convert(
        {"id": uuid5(NAMESPACE_URL, said), "event": event, "survey": state.id, **members}, Notice
    )


def read_sent(file: Path) -> frozenset[UUID] | None:
    """Return the ids of the notices that were sent; None if there is no file yet."""
    try:
        return frozenset(msgspec.json.decode(file.read_bytes(), type=Sent).sent)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise ParameterError(
            f"state: expected a file that this command wrote; '{file}': {error}", field="state"
        ) from None


def write_sent(file: Path, sent: Iterable[UUID]) -> None:
    """Replace the file of the notices that were sent, as a whole."""
    content = msgspec.json.encode(Sent(sorted(sent)))
    beside = file.with_name(f"{file.name}.new")
    try:
        beside.write_bytes(content)
        os.replace(beside, file)
    except OSError as error:
        raise ParameterError(
            f"state: expected a file that can be written; '{file}': {error.strerror}", field="state"
        ) from None


def read_key(file: Path) -> bytes:
    """Read the key of signatures, which only its owner may read."""
    key = read_key_file(file).strip()
    if len(key) < _LEAST_KEY:
        raise ParameterError(
            f"HALFTRUTH_HOOK_KEY: expected a file of at least {_LEAST_KEY} random characters,"
            " as 'openssl rand -hex 32' prints them",
            field="HALFTRUTH_HOOK_KEY",
        )
    return key


def signature_of(key: bytes, body: bytes) -> str:
    """Return the signature of a body, as the header has it."""
    return _SIGNED + hmac.new(key, body, hashlib.sha256).hexdigest()


class _Body(Message, frozen=True, kw_only=True):
    """A notice with the time of sending, so that a receiver can refuse old ones."""

    sent_at: datetime
    notice: Notice


def send(url: str, key: bytes, notice: Notice, now: datetime | None = None) -> None:
    """Post a notice with its signature, and repeat that while the receiver is away.

    Raises
    ------
    ParameterError
        If the receiver did not accept it with a status of 2xx.
    """
    body = msgspec.json.encode(_Body(sent_at=now or datetime.now(UTC), notice=notice))
    headers = {"Content-Type": "application/json", SIGNATURE: signature_of(key, body)}
    again = Retry(
        total=_ATTEMPTS - 1,
        backoff_factor=_PAUSE,
        status_forcelist=(429, 500, 502, 503, 504),
        allowed_methods=("POST",),
        respect_retry_after_header=False,
        raise_on_status=False,
    )
    with requests.Session() as session:
        for scheme in ("http://", "https://"):
            session.mount(scheme, HTTPAdapter(max_retries=again))
        try:
            answer = session.post(
                url, body, headers=headers, timeout=_SECONDS, allow_redirects=False
            )
            refused = None if answer.ok and not answer.is_redirect else f"{answer.status_code}"
        except requests.RequestException as error:
            refused = type(error).__name__
    if refused is not None:
        raise ParameterError(
            f"HALFTRUTH_HOOK_URL: expected a status of 2xx from {url}; got {refused}; the next run"
            " sends the notice again",
            field="HALFTRUTH_HOOK_URL",
        )
