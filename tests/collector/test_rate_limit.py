"""How many reports one address may send: counted as reports, told apart by address, in a window."""

from unittest.mock import Mock

import pytest
from halftruth_collector.api import create_app
from halftruth_collector.config import Config
from halftruth_shared.messages import Terms
from limits.errors import StorageError

#: The same tests on both kinds of store.
pytestmark = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)

URL = "/v1/surveys/health/reports"

#: Any moment at which a window of a minute begins.
MIDNIGHT = 1_800_000_000 // 60 * 60


class Clock:
    """The time of the storage of the limit, which stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = float(MIDNIGHT)

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr("limits.storage.memory.time", made)
    return made


@pytest.fixture
def limited(database, store, survey):
    """Make an application with a limit; the value is a test client."""
    store.surveys.publish(survey)
    made = []

    def make(rate_limit="10 per minute", **settings):
        made.append(create_app(Config(database=database, rate_limit=rate_limit, **settings)))
        return made[-1].test_client()

    yield make
    for app in made:
        app.extensions["halftruth"].store.close()


def send(http, body, address="192.0.2.1", **headers):
    return http.post(URL, json=body, headers=headers, environ_overrides={"REMOTE_ADDR": address})


def refused(response, detail="reports: expected at most 10 per 1 minute from one address"):
    assert response.status_code == 429, response.text
    document = response.get_json()
    assert document["type"] == "urn:halftruth:problem:too-many-reports"
    assert document["field"] == "reports"
    assert document["detail"].startswith(detail)
    assert "192.0.2" not in response.text
    return int(response.headers["Retry-After"])


def test_reports_count_and_not_requests(limited, clock, batch, counted):
    http = limited()
    assert send(http, batch(*[[0, 0]] * 9)).status_code == 202
    assert send(http, batch()).status_code == 202
    refused(send(http, batch([0, 0], [0, 1])))
    assert send(http, batch([0, 0])).status_code == 202
    refused(send(http, batch([0, 0])))
    assert send(http, batch()).status_code == 202
    assert counted() == 10


def test_every_address_has_a_limit_of_its_own(limited, clock, batch, counted):
    http = limited()
    for address in ("192.0.2.1", "192.0.2.2", "2001:db8::1"):
        assert send(http, batch(*[[0, 0]] * 10), address).status_code == 202
        refused(send(http, batch([0, 0]), address))
    assert counted() == 30


def test_more_reports_than_the_limit_are_too_large_for_good(limited, clock, batch, counted):
    http = limited()
    response = send(http, batch(*[[0, 0]] * 11))
    assert response.status_code == 413
    document = response.get_json()
    assert document["field"] == "reports"
    assert document["detail"].startswith("reports: expected at most 10 in one request")
    assert "Retry-After" not in response.headers
    assert send(http, batch(*[[0, 0]] * 10)).status_code == 202
    assert counted() == 10


def test_retries_count_too_but_a_refused_request_does_not(limited, clock, batch):
    http = limited()
    body = batch(*[[0, 0]] * 4)
    assert send(http, body).get_json() == {"accepted": 4, "duplicates": 0}
    assert send(http, body).get_json() == {"accepted": 0, "duplicates": 4}
    refused(send(http, body))
    assert send(http, batch([0, 0], [0, 1])).status_code == 202


@pytest.mark.parametrize("size", [1, 4, 10])
@pytest.mark.parametrize(
    ("begin", "first", "pause"), [(0, 10, 0), (29.5, 3, 20), (59.999, 7, 61), (45, 10, 40)]
)
def test_who_waits_as_told_is_let_in_and_nobody_a_second_earlier(
    limited, clock, batch, begin, first, pause, size
):
    """Whatever was sent before: `first` reports, and all that is still allowed `pause` later."""
    http = limited()
    clock.now += begin
    assert send(http, batch(*[[0, 0]] * first)).status_code == 202
    clock.now += pause
    while send(http, batch([0, 0])).status_code == 202:
        pass
    body = batch(*[[0, 0]] * size)
    wait = refused(send(http, body))
    assert 1 <= wait <= 120
    if wait > 1:
        clock.now += wait - 1.001
        assert refused(send(http, body)) in (1, 2)
        clock.now -= wait - 1.001
    clock.now += wait
    assert send(http, body).status_code == 202


def test_never_more_than_the_limit_is_counted_in_a_window_of_its_own(
    limited, clock, batch, counted
):
    """An address that never rests: as many reports as the rate allows, and no more."""
    http = limited()
    for second in range(300):
        clock.now = MIDNIGHT + second
        send(http, batch([0, 0]))
    # Five minutes of 10; a sliding count may be ahead by one window at the most.
    assert 40 <= counted() <= 60


def test_surveys_with_invitations_have_no_limit(limited, clock, batch, store, counted):
    http = limited()
    store.surveys.set_terms("health", Terms(invitations=True))
    body = batch(*[[0, 0]] * 25)
    for report, invitation in zip(
        body["reports"], store.invitations.create("health", 25), strict=True
    ):
        report["invitation"] = invitation
    assert send(http, body).get_json() == {"accepted": 25, "duplicates": 0}
    for _ in range(15):
        assert send(http, batch([0, 0])).status_code == 403
    assert counted() == 25


def test_a_limit_begins_and_ends_with_the_terms_whoever_changed_them(
    limited, clock, batch, store, counted
):
    """Also in a process that read the survey before the terms were changed elsewhere."""
    http = limited()
    assert send(http, batch(*[[0, 0]] * 10)).status_code == 202
    refused(send(http, batch([0, 0])))
    store.surveys.set_terms("health", Terms(invitations=True))
    body = batch([0, 0])
    body["reports"][0]["invitation"] = store.invitations.create("health", 1)[0]
    assert send(http, body).status_code == 202
    body = batch(*[[0, 0]] * 20)
    for report, invitation in zip(
        body["reports"], store.invitations.create("health", 20), strict=True
    ):
        report["invitation"] = invitation
    assert send(http, body).status_code == 202
    store.surveys.set_terms("health", Terms())
    refused(send(http, batch([0, 0])))
    assert send(http, batch([0, 0]), "192.0.2.2").status_code == 202
    assert counted() == 32


def test_an_address_that_no_proxy_was_trusted_to_tell_is_not_believed(limited, clock, batch):
    http = limited()
    for number in range(10):
        told = {"X-Forwarded-For": f"198.51.100.{number}", "Forwarded": f"for=198.51.100.{number}"}
        assert send(http, batch([0, 0]), **told).status_code == 202
    refused(send(http, batch([0, 0]), **{"X-Forwarded-For": "198.51.100.77"}))


def test_a_trusted_proxy_tells_the_address_and_nobody_before_it_does(limited, clock, batch):
    http = limited(proxies=1)
    told = {"X-Forwarded-For": "198.51.100.1"}
    assert send(http, batch(*[[0, 0]] * 10), **told).status_code == 202
    refused(send(http, batch([0, 0]), **told))
    # What the sender wrote itself stands before what the proxy appended.
    refused(send(http, batch([0, 0]), **{"X-Forwarded-For": "198.51.100.9, 198.51.100.1"}))
    assert send(http, batch([0, 0]), **{"X-Forwarded-For": "198.51.100.2"}).status_code == 202
    # Beside the proxy, the address is that of the connection.
    assert send(http, batch(*[[0, 0]] * 10)).status_code == 202
    refused(send(http, batch([0, 0])))


def test_refused_requests_are_written_down(limited, clock, batch, store):
    http = limited()
    send(http, batch(*[[0, 0]] * 10))
    refused(send(http, batch([0, 0])))
    refused(send(http, batch([0, 0])))
    assert send(http, batch(*[[0, 0]] * 11)).status_code == 413
    [day] = store.reports.arrivals("health")
    assert (day.counted, day.repeated) == (10, 0)
    assert day.refused == {"too-many-reports": 2, "too-large": 1}


def test_the_limit_can_be_off(limited, batch, counted):
    assert Config.from_environment({"HALFTRUTH_RATE_LIMIT": "off"}).rate_limit is None
    http = limited(None)
    for _ in range(3):
        assert send(http, batch(*[[0, 0]] * 1_000)).status_code == 202
    assert counted() == 3_000


def test_a_refusal_can_be_read_from_other_origins(limited, clock, batch):
    """With the time to wait, which scripts of other origins see only where they are told so."""
    http = limited()
    send(http, batch(*[[0, 0]] * 10))
    response = send(http, batch([0, 0]), Origin="https://elsewhere.example")
    refused(response)
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert response.headers["Access-Control-Expose-Headers"] == "Retry-After"


def test_a_storage_that_is_away_is_said_to_be(limited, batch, counted, monkeypatch):
    """As the package of the limit says it for every kind of storage."""
    http = limited()
    gone = Mock(side_effect=StorageError(ConnectionError("redis://secret@host")))
    monkeypatch.setattr("limits.strategies.SlidingWindowCounterRateLimiter.hit", gone)
    response = send(http, batch([0, 0]))
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "5"
    assert response.get_json()["detail"] == "the storage of the rate limit does not answer"
    assert counted() == 0


def test_a_network_of_version_6_has_one_limit_and_mapped_addresses_are_their_own(
    limited, clock, batch
):
    http = limited(proxies=1)
    told = {"X-Forwarded-For": "2001:db8:1:2::1"}
    assert send(http, batch(*[[0, 0]] * 10), **told).status_code == 202
    refused(send(http, batch([0, 0]), **{"X-Forwarded-For": "2001:db8:1:2:ffff::7"}))
    assert send(http, batch([0, 0]), **{"X-Forwarded-For": "2001:db8:1:3::1"}).status_code == 202
    assert send(http, batch(*[[0, 0]] * 10), **{"X-Forwarded-For": "192.0.2.1"}).status_code == 202
    refused(send(http, batch([0, 0]), **{"X-Forwarded-For": "::ffff:192.0.2.1"}))
