"""Requests, without what waitress takes too long to parse."""

import re

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.utilities import RequestHeaderFieldsTooLarge

#: The name of a header field, and the blanks before its value.
_BLANKS = re.compile(rb"^([^\s:]+:)[ \t]+", re.MULTILINE)


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """Parser of a request that takes a time in proportion to the length of the request.

    waitress removes the blanks before the value of a header field in a time that grows with the
    square of their number: 8 kB would keep a worker from answering anybody for a quarter of a
    second. It also looks again at the whole trailer of a body in chunks, and at the whole line
    before a chunk, whenever more of it arrives. Here these may be as long as a head.
    """

    completed: bool

    def received(self, data: bytes) -> int:
        """Parse what has arrived, and return how many bytes of it are of this request."""
        consumed: int = super().received(data)
        if self.chunked and self.body_rcv is not None and not self.completed:
            most = self.adj.max_request_header_size
            if len(self.body_rcv.trailer) + len(self.body_rcv.control_line) >= most:
                self.error = RequestHeaderFieldsTooLarge(f"a trailer exceeds {most}")
                self.completed = True
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the head of a request."""
        super().parse_header(_BLANKS.sub(rb"\1", header_plus))


class Channel(HTTPChannel):  # type: ignore[misc]
    """Connection of a client."""

    parser_class = Parser
