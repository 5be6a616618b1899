"""Addresses, requests and errors of the transport, and the absence of identifying headers."""

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
def test_an_address_that_is_not_http_is_refused(url):
    with pytest.raises(ParameterError, match="url: expected"):
        Client(url, max_gamma="19")


def test_ids_are_escaped_in_urls(scripted):
    session, adapter = scripted(404, {})
    with pytest.raises(HalftruthError):
        Client("http://collector.test", max_gamma="19", session=session).survey("../x?y")
    assert adapter.asked[0].url == "http://collector.test/v1/surveys/..%2Fx%3Fy"


def test_a_response_that_is_not_from_a_collector_is_refused(scripted):
    session, _ = scripted(200, b"<html>Welcome</html>")
    with pytest.raises(RequestRefused, match="check the address"):
        Client("http://collector.test", max_gamma="19", session=session).survey("health")


@pytest.mark.parametrize(
    "status", ["302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
)
def test_a_redirect_is_not_followed(status):
    """It would send the report, or an analyst's token, to another host."""
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
def test_a_long_retry_after_is_an_error_that_states_the_delay(seconds, said):
    def answer(_, start_response):
        start_response("503 Service Unavailable", [("Retry-After", seconds)])
        return [b""]

    with listening(answer) as url, pytest.raises(CollectorUnavailable) as caught:
        Client(url, max_gamma="19", retries=0).survey("health")
    assert str(caught.value).partition("Unavailable")[2].endswith(said)


def test_an_unreachable_collector_is_a_one_line_error(survey, record):
    client = Client(NOWHERE, max_gamma="19", retries=0)
    with pytest.raises(CollectorUnavailable) as caught:
        client.submit(survey, record)
    assert str(caught.value) == f"collector {NOWHERE} cannot be reached (ConnectionError)"


def test_no_cookie_is_stored_or_sent(answering, survey):
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
def test_addresses_are_normalized(spelled):
    assert Transport(spelled).url == "http://collector.test"
    assert Transport("http://collector.test/Base/").url == "http://collector.test/Base"


def test_a_decompression_bomb_is_not_read_completely():
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
