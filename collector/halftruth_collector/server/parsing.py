"""Heads of requests, without what waitress takes too long to parse."""

import re

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser

#: The name of a header field, and the blanks before its value.
_BLANKS = re.compile(rb"^([^\s:]+:)[ \t]+", re.MULTILINE)


class Parser(HTTPRequestParser):  # type: ignore[misc]
    """Parser of a request that takes no longer for blanks before the value of a header field.

    waitress removes them, too, in a time that grows with the square of their number: 8 kB would
    keep a worker from answering anybody for a quarter of a second.
    """

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the head of a request."""
        super().parse_header(_BLANKS.sub(rb"\1", header_plus))


class Channel(HTTPChannel):  # type: ignore[misc]
    """Connection of a client."""

    parser_class = Parser
