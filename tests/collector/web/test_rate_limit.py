"""The rate limit of reports by address, in a sliding window."""

import json
import sys
import threading
import tracemalloc
from base64 import b64encode
from uuid import UUID

import pytest
import requests
from halftruth_collector import operations
from halftruth_collector.errors import StoreUnavailable
from halftruth_collector.intake.counting import ReportStore
from halftruth_collector.intake.opening import open_reports
from halftruth_collector.web.limits import SlidingWindow
from halftruth_shared.protocol.sealing import create_sealing_key, seal
from halftruth_shared.protocol.terms import Terms
from limits import parse
from serving import run_collector
from wire import PATIENCE

from ..store.conftest import statements

URL = "/v1/surveys/health/reports"

#: A moment at which a window of a minute begins.
MIDNIGHT = 1_800_000_000 // 60 * 60


class Clock:
    """A clock that only tests advance."""

    def __init__(self) -> None:
        self.now = float(MIDNIGHT)

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr("halftruth_collector.web.limits.time", made)
    return made


@pytest.fixture
def limited(make_app, published):
    """Return a function that makes a test client of an application with a limit."""
    return lambda rate_limit="10 per minute", **settings: make_app(
        rate_limit=rate_limit, **settings
    ).test_client()


def send(http, body, address="192.0.2.1", **headers):
    return http.post(URL, json=body, headers=headers, environ_overrides={"REMOTE_ADDR": address})


def refused(response, detail="reports: expected at most 10 per 1 minute from one address"):
    assert response.status_code == 429, response.text
    document = response.get_json()
    assert document["type"] == "urn:halftruth:problem:too-many-reports"
    assert document["field"] == "reports"
    assert document["detail"].startswith(detail)
    assert "192.0.2" not in response.text
    # Scripts of other origins may read Retry-After.
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert response.headers["Access-Control-Expose-Headers"] == "Retry-After"
    return int(response.headers["Retry-After"])


def with_invitations(store, body):
    """Add an invitation to each report of a request's body."""
    made = operations.create_invitations(store, "health", len(body["reports"]))
    for report, invitation in zip(body["reports"], made, strict=True):
        report["invitation"] = invitation
    return body


#: Numbers of reports in successive requests, and the statuses of the responses.
SENT = {
    "reports count, and not requests": ([9, 0, 2, 1, 1, 0], [202, 202, 429, 202, 429, 202]),
    "more than the limit are too large for good": ([11, 10], [413, 202]),
    "a refused request does not count": ([8, 3, 2], [202, 429, 202]),
}


@pytest.mark.parametrize("name", SENT)
def test_reports_are_counted_up_to_the_limit(limited, clock, batch, counted, name):
    http, numbers, statuses = limited(), *SENT[name]
    for number, status in zip(numbers, statuses, strict=True):
        response = send(http, batch(*[[0, 0]] * number))
        assert response.status_code == status
        if status == 429:
            refused(response)
        if status == 413:
            assert response.get_json()["field"] == "reports"
            detail = response.get_json()["detail"]
            assert detail.startswith("reports: expected at most 10 in one request")
            assert "Retry-After" not in response.headers
    assert counted() == 10


@pytest.mark.parametrize("invited", [False, True])
def test_duplicate_reports_use_up_the_limit(limited, clock, batch, store, counted, invited):
    http, body = limited(), batch(*[[0, 0]] * (10 if invited else 5))
    if invited:
        # With invitations, only reports that are not counted use up the limit.
        operations.set_terms(store, "health", Terms(invitations=True))
        body = with_invitations(store, body)
    assert [send(http, body).status_code for _ in range(3)] == [202, 202, 429]
    assert counted() == len(body["reports"])


@pytest.mark.parametrize("size", [1, 4, 10])
@pytest.mark.parametrize(
    ("begin", "first", "pause"), [(0, 10, 0), (29.5, 3, 20), (59.999, 7, 61), (45, 10, 40)]
)
def test_retry_after_is_the_shortest_wait_until_reports_are_accepted(
    limited, clock, batch, begin, first, pause, size
):
    """Send `first` reports, wait for `pause` seconds, and use up the limit."""
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


def test_reports_sent_without_pause_are_accepted_at_the_limit(limited, clock, batch, counted):
    """One address sends a report every second."""
    http = limited()
    for second in range(300):
        clock.now = MIDNIGHT + second
        send(http, batch([0, 0]))
    # Five minutes of 10 reports; a sliding count is off by at most one window.
    assert 40 <= counted() <= 60


def test_reports_refused_while_the_database_is_unavailable_are_not_charged(
    limited, clock, batch, counted, monkeypatch
):
    """The charge is returned only if the transaction is known to be undone."""
    http = limited()
    body, count = batch(*[[0, 0]] * 10), ReportStore.count
    for is_undone, status in ((True, 202), (False, 429)):

        def fail(*_, is_undone=is_undone):
            raise StoreUnavailable("the database does not answer", is_undone=is_undone)

        monkeypatch.setattr(ReportStore, "count", fail)
        assert [send(http, body).status_code for _ in range(2)] == [503, 503 if is_undone else 429]
        monkeypatch.setattr(ReportStore, "count", count)
        assert send(http, body).status_code == status
        # An address that has sent nothing for two windows has its whole limit again.
        clock.now += 120
    assert counted() == 10


def test_addresses_are_forgotten_after_two_windows(clock):
    window = SlidingWindow(parse("10 per minute"))
    gone = "192.0.2.1"
    assert window.take(gone, 10)
    for _ in range(2):
        assert gone in str(vars(window))
        clock.now += 59.9
        window.take("192.0.2.2", 1)
    clock.now += 0.3
    window.take("192.0.2.2", 1)
    assert gone not in str(vars(window))


def test_cost_does_not_depend_on_the_number_of_addresses(clock):
    """No request or thread searches for expired addresses."""
    window = SlidingWindow(parse("10 per minute"))
    threads = threading.active_count()
    numbers, calls = set(), []
    for several in (1, 20_000):
        for number in range(several):
            window.take(str(number), 1)
        clock.now += 60
        sys.setprofile(lambda frame, event, _: calls.append(event))
        try:
            window.take("0", 1)
        finally:
            sys.setprofile(None)
        numbers.add(len(calls))
        calls.clear()
    assert len(numbers) == 1
    # Threads of earlier tests may end meanwhile.
    assert threading.active_count() <= threads


def test_unknown_invitations_are_rate_limited(limited, clock, batch, store, counted):
    """Looking up invitations takes time. Valid ones are accepted from another address."""
    http = limited()
    operations.set_terms(store, "health", Terms(invitations=True))
    made_up, own = batch(*[[0, 0]] * 25), with_invitations(store, batch([0, 0]))
    for n, report in enumerate(made_up["reports"]):
        report["invitation"] = f"{n:032x}"
    for _ in range(3):
        assert send(http, batch([0, 0])).status_code == 403
    assert send(http, made_up).status_code == 403
    for body in (made_up, own, batch([0, 0])):
        assert refused(send(http, body)) == 60
    assert counted() == 0
    assert send(http, own, "192.0.2.2").status_code == 202
    clock.now += 120
    assert send(http, made_up).status_code == 403


def test_the_limit_follows_changes_of_the_terms_at_once(limited, clock, batch, store, counted):
    """Also if another process changes the terms."""
    http = limited()
    assert send(http, batch(*[[0, 0]] * 10)).status_code == 202
    refused(send(http, batch([0, 0])))
    operations.set_terms(store, "health", Terms(invitations=True))
    for reports in (1, 20):
        body = with_invitations(store, batch(*[[0, 0]] * reports))
        assert send(http, body).get_json() == {"accepted": reports, "duplicates": 0}
    operations.set_terms(store, "health", Terms())
    refused(send(http, batch([0, 0])))
    assert send(http, batch([0, 0]), "192.0.2.2").status_code == 202
    assert counted() == 32


def test_forwarded_addresses_count_only_behind_trusted_proxies(limited, clock, batch):
    http = limited()
    for number in range(10):
        told = {"X-Forwarded-For": f"198.51.100.{number}", "Forwarded": f"for=198.51.100.{number}"}
        assert send(http, batch([0, 0]), **told).status_code == 202
    refused(send(http, batch([0, 0]), **{"X-Forwarded-For": "198.51.100.77"}))
    http = limited(proxies=1)
    told = {"X-Forwarded-For": "198.51.100.1"}
    assert send(http, batch(*[[0, 0]] * 10), **told).status_code == 202
    # The proxy appends the address to the sender's own header.
    refused(send(http, batch([0, 0]), **{"X-Forwarded-For": "198.51.100.9, 198.51.100.1"}))
    # Without the header, the address is that of the connection.
    assert send(http, batch(*[[0, 0]] * 10)).status_code == 202
    refused(send(http, batch([0, 0])))


#: Requests that only a program on this machine seems to send, directly to a loopback address. A
#: proxy or a tunnel on this machine sends the same for anybody.
LOCAL = {
    "IPv4": {"SERVER_NAME": "127.0.0.1", "REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "localhost:8000"},
    "IPv6": {"SERVER_NAME": "::1", "REMOTE_ADDR": "::1", "HTTP_HOST": "[::1]:8000"},
    "a socket of the file system": {"SERVER_NAME": "", "REMOTE_ADDR": "", "HTTP_HOST": "localhost"},
}


@pytest.mark.parametrize("proxies", [0, 1])
@pytest.mark.parametrize("name", LOCAL)
def test_no_address_is_exempt(limited, clock, batch, name, proxies):
    """Neither from the limit of reports, nor from that of refused ones."""
    http = limited(proxies=proxies)

    def statuses(body):
        sent = (http.post(URL, data=body(), environ_overrides=LOCAL[name]) for _ in range(12))
        return [response.status_code for response in sent]

    assert statuses(lambda: json.dumps(batch([0, 0]))) == [202] * 10 + [429] * 2
    clock.now += 120
    assert statuses(lambda: "{") == [400] * 10 + [429] * 2


def test_operators_are_exempt(limited, clock, batch, store):
    http = limited()
    roles = {"operator": 202, "analyst": 403, "monitor": 403}
    for number, (role, status) in enumerate(roles.items()):
        token = operations.create_token(store, role)
        bearer = {"Authorization": f"Bearer {token}"}
        assert (
            send(http, batch(*[[0, 0]] * 50), f"192.0.2.{number}", **bearer).status_code == status
        )
    assert send(http, batch([0, 0]), Authorization="Bearer nothing").status_code == 401
    # Basic credentials, as for a proxy, are not a token.
    basic = {"Authorization": "Basic bWU6c2VjcmV0"}
    assert send(http, batch([0, 0]), "192.0.2.10", **basic).status_code == 202
    refused(send(http, batch(*[[0, 0]] * 10), "192.0.2.10", **basic))


def test_a_collector_on_loopback_limits_programs_of_its_machine_without_a_token(
    database, store, survey, batch, tmp_path
):
    operations.publish_survey(store, survey)
    token = operations.create_token(store, "operator")
    many, bearer = batch(*[[0, 0]] * 11), {"Authorization": f"Bearer {token}"}
    with run_collector(database, tmp_path, RATE_LIMIT="10 per hour") as collector:
        url = collector.url + URL
        assert requests.post(url, json=many, timeout=PATIENCE).status_code == 413
        assert requests.post(url, json=many, headers=bearer, timeout=PATIENCE).status_code == 202


def test_ports_do_not_distinguish_addresses(limited, clock, batch, counted):
    """Each IPv4 address and each IPv6 network has one limit."""
    http = limited(proxies=1)
    alike = (
        ("192.0.2.1:1234", "192.0.2.1:4321", "192.0.2.1", "[::ffff:192.0.2.1]:7"),
        ("192.0.2.2", "::ffff:192.0.2.2"),
        ("[2001:db8:1:2::1]:1", "[2001:db8:1:2::9]:2", "[2001:db8:1:2::1]", "2001:db8:1:2::7"),
        ("2001:db8:1:3::1", "2001:db8:1:3:ffff::7"),
        ("unknown", "_hidden", "/run/proxy.sock", "", "192.0.2.1:port"),
    )
    for told, *others in alike:
        sent = send(http, batch(*[[0, 0]] * 10), "", **{"X-Forwarded-For": told})
        assert sent.status_code == 202
        for other in others:
            refused(send(http, batch([0, 0]), "", **{"X-Forwarded-For": other}))
    assert counted() == 10 * len(alike)


def test_refusals_run_fewer_statements_than_reports(limited, clock, batch, survey):
    """Refusals write nothing and read at most the survey; malformed JSON reads nothing."""
    http = limited("30 per minute")
    assert send(http, {"digest": survey.digest}).status_code == 422
    engine = http.application.extensions["halftruth"].store.database.engine
    words: list[str] = []

    def asked(body):
        """Return the status of a request and the first words of its SQL statements."""
        words.clear()
        with statements(engine, lambda text: words.append(text.split()[0])):
            status = http.post(URL, data=body if isinstance(body, bytes) else json.dumps(body))
        return status.status_code, list(words)

    status, report = asked(batch([0, 0]))
    assert status == 202
    for body, refusal in (
        (batch([0, 9]), 422),
        (batch([0, 0], digest="0" * 64), 409),
        (batch(*[[0, 0]] * 30), 429),
        ("{", 422),
    ):
        status, found = asked(body)
        assert status == refusal
        assert {"INSERT", "UPDATE", "DELETE"}.isdisjoint(found)
        assert found.count("SELECT") <= 1
        assert len(found) < len(report)
    assert asked(b"{") == (400, [])


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"digest": 1}', b'{"digest": "", "reports": []}'])
def test_requests_without_reports_are_refused_before_the_body_is_parsed(
    limited, clock, batch, monkeypatch, body
):
    http = limited()
    answers = [http.post(URL, data=body).status_code for _ in range(10)]
    assert set(answers) <= {400, 409, 422}
    monkeypatch.setattr("halftruth_collector.web.routes.surveys.read", None)
    response = http.post(URL, data=body, environ_overrides={"REMOTE_ADDR": "127.0.0.1"})
    assert refused(response) == 60
    clock.now += 120
    monkeypatch.undo()


def test_the_limit_is_checked_before_the_database_even_for_unknown_surveys(
    limited, clock, batch, survey
):
    http = limited("5 per minute")
    store = http.application.extensions["halftruth"].store
    paths = {
        "/v1/surveys/nothing{}/reports": batch([0, 0]),
        "/v1/surveys/nothing{}/invitations/check": {"hash": "0" * 64},
    }
    for number, (path, body) in enumerate(paths.items()):
        asked = []
        address = {"REMOTE_ADDR": f"192.0.2.{number}"}
        with statements(store.database.engine, asked.append):
            codes = []
            for n in range(9):
                asked.clear()
                response = http.post(path.format(n), json=body, environ_overrides=address)
                codes.append((response.status_code, bool(asked)))
        # A body that was not parsed counts as one report for each 500 bytes.
        assert codes[0] == (404, True)
        assert codes[-1] == (429, False)
        assert dict(codes) == {404: True, 429: False}
        # Ids of unknown surveys are not kept.
        assert store.reports._refused.keys() <= {("health", "too-many-reports")}


def test_malformed_bodies_are_charged_by_size(limited, clock, batch):
    http = limited("1000 per hour")
    assert http.post(URL, data=b" " * 600_000).status_code == 400
    response = http.post(URL, json=batch([0, 0]))
    assert response.status_code == 429


@pytest.mark.parametrize("sealed", [False, True])
def test_each_report_of_a_refused_batch_is_charged(
    limited, clock, batch, store, survey, monkeypatch, tmp_path, sealed
):
    """A batch with invitations whose last report is invalid is opened only once."""
    file = tmp_path / "keys"
    key = create_sealing_key(file)
    http = limited("100 per hour", sealing_keys=file)
    operations.set_terms(
        store, "health", Terms(invitations=True, sealing_key=key if sealed else None)
    )
    body = with_invitations(store, batch(*[[0, 0]] * 99, [0, 9]))
    for report in body["reports"] if sealed else ():
        values, invitation = bytes(report.pop("values")), report.pop("invitation")
        message = seal(key, survey.digest, UUID(report["id"]), values, invitation)
        report["sealed"] = b64encode(message).decode()
    opened = []
    monkeypatch.setattr(
        "halftruth_collector.web.routes.surveys.open_reports",
        lambda *given: opened.append(given) or open_reports(*given),
    )
    assert send(http, body).status_code == 422
    for _ in range(3):
        assert send(http, body).status_code == 429
    assert len(opened) == 1
    assert send(http, body, "192.0.2.2").status_code == 422


def test_a_request_holds_at_most_a_thousand_sealed_reports(limited, batch, store, tmp_path):
    file = tmp_path / "keys"
    key = create_sealing_key(file)
    http = limited(None, sealing_keys=file)
    operations.set_terms(store, "health", Terms(sealing_key=key))
    body = batch(*[[0, 0]] * 1_001)
    for report in body["reports"]:
        del report["values"]
        report["sealed"] = "AAAA"
    response = send(http, body)
    assert response.status_code == 413
    assert response.get_json()["detail"] == (
        "reports: expected at most 1000 in one request, got 1001"
    )


@pytest.mark.parametrize("element", ["{}", "[]", "300", '{"id": 1}'])
@pytest.mark.parametrize("member", ["reports", "values"])
def test_bodies_of_many_tiny_elements_are_refused_with_little_memory(
    limited, survey, element, member
):
    http = limited(None)
    many = ",".join([element] * (1_500_000 // (len(element) + 1)))
    inside = f'{{"id": "{UUID(int=0)}", "values": [{many}]}}' if member == "values" else many
    body = f'{{"digest": "{survey.digest}", "reports": [{inside}]}}'.encode()
    tracemalloc.start()
    try:
        response = http.post(URL, data=body)
        assert tracemalloc.get_traced_memory()[1] < 8e6
    finally:
        tracemalloc.stop()
    assert response.status_code == 413, response.text
    detail = "reports: expected at most 10000 in one request"
    assert response.get_json()["detail"].startswith(detail)
