"""The parser of a worker understands requests as that of waitress does, and limits trailers."""

import pytest
from halftruth_collector.server.parsing import Parser
from hypothesis import example, given
from hypothesis import strategies as st
from waitress.adjustments import Adjustments
from waitress.parser import HTTPRequestParser

#: What heads are made of, with all that separates their parts.
PIECES = st.lists(
    st.sampled_from([*" \t:xX_,1", "\r\n", "\n", "\r", "\x0b", "\x00", "é", "Host", "Cookie: a=b"]),
    max_size=30,
).map("".join)


def parsed(kind: type[HTTPRequestParser], head: str) -> tuple[object, ...]:
    parser = kind(Adjustments())
    parser.received(f"GET {head}\r\n\r\n".encode("latin-1"))
    # Some messages quote the line.
    error = parser.error and (parser.error.code, parser.error.body.partition('"')[0])
    known = [getattr(parser, name, None) for name in ("command", "path", "query", "version")]
    return parser.headers, known, error


@given(PIECES)
@example("/ HTTP/1.1\r\nHost:  \t here\r\nX-Blank:   \r\nX-Folded:   a\r\n \t  b\r\nX-Twice:  c: d")
@example("/a:  b HTTP/1.1\r\nX: y")
@example("http://here: /a HTTP/1.1\r\nX :  y")
@example("/ HTTP/1.1\r\nX-Folded:\r\n    Content-Length:   1\r\nContent-Length:   0")
def test_a_head_is_understood_as_by_waitress(text):
    heads = [text, f"/ HTTP/1.1\r\n{text}"]
    for head in heads:
        assert parsed(Parser, head) == parsed(HTTPRequestParser, head)


@pytest.mark.parametrize("blanks", ["", " ", "\t \t", " " * 500])
def test_blanks_before_a_value_are_no_part_of_it(blanks):
    parser = Parser(Adjustments())
    parser.received(f"GET / HTTP/1.1\r\nX-More:{blanks}a  b\r\n\r\n".encode())
    assert parser.headers == {"X_MORE": "a  b"}


@pytest.mark.parametrize("part", ["X-More: x\r\n", "0;a=b"])
@pytest.mark.parametrize(("size", "status"), [(7_000, None), (9_000, 431), (100_000, 431)])
def test_trailers_and_lines_before_chunks_are_as_long_as_a_head_at_most(part, size, status):
    parser = Parser(Adjustments(max_request_header_size=8_192))
    head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"
    line = part.startswith("0")
    body = part + ";a=b" * (size // 4) if line else "0\r\n" + part * (size // len(part))
    sent = head + body.encode() + (b"\r\n\r\n" if line else b"\r\n")
    while sent and not parser.completed:
        sent = sent[parser.received(sent[:1_000]) :]
    assert parser.completed
    assert (parser.error and parser.error.code) == status
