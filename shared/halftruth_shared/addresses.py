"""Addresses of servers in the one notation that every program writes in the same way."""

import re

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"

#: An origin: scheme, host and port, https or http on this machine. The JavaScript client has the
#: same pattern.
_ORIGIN = (
    rf"(?:https://(?:(?:{_LABEL}\.)*[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?|{_OCTET}(?:\.{_OCTET}){{3}})"
    rf"|http://(?:localhost|127(?:\.{_OCTET}){{3}}|\[::1\]))"
    r"(?P<port>:[1-9][0-9]{0,4})?"
)
_PATH = re.compile(rf"{_ORIGIN}(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
_LAST_PORT = 65_535

_MOST_CHARACTERS = 2_000

#: Default ports of the schemes, which browsers omit.
_OMITTED = {"https": "443", "http": "80"}


def is_address(text: str) -> bool:
    """Return whether a text is an origin, perhaps with a path without a final slash."""
    match = _PATH.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    return match is not None and int((match["port"] or ":0")[1:]) <= _LAST_PORT


def is_origin(text: str) -> bool:
    """Return whether a text is an origin, as browsers write that of a page.

    >>> is_origin("https://survey.example.org"), is_origin("http://localhost:8000")
    (True, True)
    >>> is_origin("https://survey.example.org/"), is_origin("https://survey.example.org:443")
    (False, False)
    """
    scheme, _, rest = text.partition("://")
    return is_address(text) and "/" not in rest and rest.rpartition(":")[2] != _OMITTED[scheme]
