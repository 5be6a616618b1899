"""Headers that keep answers to themselves."""

from flask import Response

_SHARING = "Cross-Origin-Resource-Policy"

#: Headers of every answer that says nothing else.
API_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    _SHARING: "same-origin",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def close(response: Response) -> Response:
    """Give an answer every protective header that it has not."""
    known = {name for name, _ in response.headers}
    missing = {name: value for name, value in API_HEADERS.items() if name not in known}
    if "Access-Control-Allow-Origin" in known and _SHARING in missing:
        # Scripts of other origins may read it anyway.
        missing[_SHARING] = "cross-origin"
    response.headers.extend(missing)
    return response
