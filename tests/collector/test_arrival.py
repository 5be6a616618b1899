"""Where a request ends, told from its bytes as they arrive."""

import pytest
from gunicorn.config import Config
from gunicorn.http.parser import RequestParser
from halftruth_collector.serving.arrival import Arrival, Limits, Refusal

CHUNKED = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"

LIMITS = Limits(head=200, body=100, seconds=1)

REQUESTS = [
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET /s/health?a=b HTTP/1.1\r\nHost: here\r\n\r\n",
    b"\r\nGET / HTTP/1.1\r\nHost: here\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n{\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: here\r\ncontent-length:\t 3 \r\nAccept: */*\r\n\r\n[1]",
    b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
    CHUNKED + b"0\r\n\r\n",
    CHUNKED + b"5\r\n0\r\n\r\n\r\n0\r\n\r\n",
    CHUNKED.replace(b": c", b": C") + b"A;x=y\r\n0123456789\r\n1\r\n!\r\n0\r\n\r\n",
    CHUNKED + b"1\r\n!\r\n0\r\nSum: 7\r\nMore: 8\r\n\r\n",
]


def is_whole(data: bytes) -> bool:
    return Arrival(LIMITS, data).is_whole()


def read_by_gunicorn(data: bytes) -> tuple[bytes, bytes]:
    """The body that gunicorn's parser finds, and what it leaves for the next request."""
    parser = RequestParser(Config(), iter([data]), ("127.0.0.1", 1))
    body = next(parser).body.read()
    return body, parser.unreader.take_buffered()


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_request_is_whole_with_its_last_byte_and_not_before(request_):
    assert [is_whole(request_[:end]) for end in range(len(request_) + 1)] == [
        *[False] * len(request_),
        True,
    ]
    # gunicorn's parser needs exactly these bytes too.
    assert read_by_gunicorn(request_ + b"GET")[1] == b"GET"


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("request_", REQUESTS)
def test_pieces_make_the_same_request(request_, size):
    arrival = Arrival(LIMITS)
    for start in range(0, len(request_), size):
        assert not arrival.is_whole()
        arrival.add(request_[start : start + size])
    assert arrival.is_whole()
    assert arrival.take() == request_


def test_what_follows_a_request_stays_with_it():
    arrival = Arrival(LIMITS, REQUESTS[3] + REQUESTS[0])
    assert arrival.is_whole()
    assert arrival.take() == REQUESTS[3] + REQUESTS[0]


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: -5\r\n",
        b"Content-Length: five\r\n",
        b"Content-Length: \r\n",
        b"Content-Length: " + b"9" * 20 + b"\r\n",
        b"Content-Length: 101\r\n",
    ],
)
def test_what_is_malformed_or_too_large_is_not_waited_for(headers):
    assert is_whole(b"POST / HTTP/1.1\r\n" + headers + b"\r\n")


@pytest.mark.parametrize("chunks", [b"x\r\n", b"-1\r\n", b"0x5\r\n", b"\r\n", b"5" * 300])
def test_malformed_chunks_are_not_waited_for(chunks):
    assert is_whole(CHUNKED + chunks)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /" + b"a" * 200, 431),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * 200 + b"\r\n\r\n", 431),
        (CHUNKED + b"fffff\r\n", 413),
        (CHUNKED + b"1\r\n!\r\n" * 60, 413),
        (CHUNKED + b"0\r\nA: " + b"a" * 300, 413),
    ],
)
def test_what_never_ends_is_refused(data, status):
    with pytest.raises(Refusal) as refused:
        is_whole(data)
    assert refused.value.status == status


def test_a_sender_that_waits_for_leave_is_noticed():
    head = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n%s\r\n"
    waiting = Arrival(LIMITS, head % b"Expect: 100-Continue\r\n")
    assert not waiting.is_whole()
    assert waiting.waits
    other = Arrival(LIMITS, head % b"")
    assert not other.is_whole()
    assert not other.waits
