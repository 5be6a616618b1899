"""Heads of requests: the parser of a worker understands the same as that of waitress."""

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
