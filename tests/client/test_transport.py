"""One address, one request, one clear error, and nothing that a collector could recognize."""

import tracemalloc
import zlib
from email.message import Message

import pytest
from halftruth_client import Analyst, Client, CollectorUnavailable, HalftruthError, RequestRefused
from halftruth_client.transport import Transport
from halftruth_shared import ParameterError
from halftruth_shared.protocol.reports import Receipt
from wire import listening

from .conftest import NOWHERE, URL


@pytest.mark.parametrize("url", ["", "collector.test", "ftp://collector.test", "http://"])
def test_an_address_is_a_web_address(url):
    with pytest.raises(ParameterError, match="url: expected"):
        Client(url, max_gamma="19")


def test_an_id_cannot_lead_to_another_address(scripted):
    session, adapter = scripted(404, {})
    with pytest.raises(HalftruthError):
        Client("http://collector.test", max_gamma="19", session=session).survey("../x?y")
    assert adapter.asked[0].url == "http://collector.test/v1/surveys/..%2Fx%3Fy"


def test_a_page_that_is_no_collector_is_named(scripted):
    session, _ = scripted(200, b"<html>Welcome</html>")
    with pytest.raises(RequestRefused, match="check the address"):
        Client("http://collector.test", max_gamma="19", session=session).survey("health")


@pytest.mark.parametrize(
    "status", ["302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
)
def test_a_redirect_is_not_followed(status):
    """A report would go to whomever the address names, with the token of an analyst."""
    asked, report = [], Receipt(accepted=1, duplicates=0)

    def answer(environ, start_response):
        asked.append(environ["PATH_INFO"])
        start_response(status, [("Location", "/elsewhere"), ("Content-Length", "0")])
        return [b""]

    with listening(answer) as url:
        for ask in (
            lambda: Client(url, max_gamma="19").survey("health"),
            lambda: Analyst(url, "token").surveys().surveys,
            lambda: Transport(url).post("/v1/surveys/health/reports", Receipt, report),
        ):
            with pytest.raises(RequestRefused):
                ask()
    assert len(asked) == 3
    assert "/elsewhere" not in asked


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        ("59", ""),
        ("60", ""),
        ("61", "; try again in 2 minutes"),
        ("3600", "; try again in 60 minutes"),
    ],
)
def test_a_pause_that_is_too_long_to_wait_for_is_said_in_minutes(seconds, said):
    def answer(_, start_response):
        start_response("503 Service Unavailable", [("Retry-After", seconds)])
        return [b""]

    with listening(answer) as url, pytest.raises(CollectorUnavailable) as caught:
        Client(url, max_gamma="19", retries=0).survey("health")
    assert str(caught.value).partition("Unavailable")[2].endswith(said)


def test_an_unreachable_collector_is_one_clear_line(survey, record):
    client = Client(NOWHERE, max_gamma="19", retries=0)
    with pytest.raises(CollectorUnavailable) as caught:
        client.submit(survey, record)
    assert str(caught.value) == f"collector {NOWHERE} cannot be reached (ConnectionError)"


def test_no_cookie_is_kept_or_sent(answering, survey):
    def respond(request):
        return 404, b"{}"

    session, adapter = answering(respond)
    session.cookies.set("person", "17", domain="collector.test")
    send = adapter.send

    def setting(request, **options):
        response = send(request, **options)
        response.raw._original_response = type("Answer", (), {})()
        headers = Message()
        headers["Set-Cookie"] = "track=1; Path=/"
        response.raw._original_response.msg = headers
        return response

    adapter.send = setting
    for _ in range(2):
        with pytest.raises(RequestRefused):
            Client(URL, max_gamma="19", session=session).survey("health")
    assert [asked.headers.get("Cookie") for asked in adapter.asked] == [None, None]
    assert "track" not in session.cookies


@pytest.mark.parametrize(
    "spelled", ["HTTP://Collector.TEST", "http://collector.test/", "http://COLLECTOR.test//"]
)
def test_an_address_has_one_spelling(spelled):
    assert Transport(spelled).url == "http://collector.test"
    assert Transport("http://collector.test/Base/").url == "http://collector.test/Base"


def test_an_answer_that_is_far_larger_than_what_was_sent_is_read_no_further():
    size = 200 << 20
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)) + packer.flush()
    assert len(bomb) < 1 << 20

    def answer(_, start_response):
        start_response("200 OK", [("Content-Encoding", "gzip")])
        return [bomb]

    with listening(answer) as url:
        for ask in (
            lambda: Client(url, max_gamma=19).survey("health"),
            lambda: Analyst(url, "token").surveys().surveys,
        ):
            tracemalloc.start()
            try:
                with pytest.raises(RequestRefused, match="too large; expected at most 64 MiB"):
                    ask()
                assert tracemalloc.get_traced_memory()[1] < 160 << 20
            finally:
                tracemalloc.stop()
