"""Security headers of responses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from flask import Response

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_SHARING = "Cross-Origin-Resource-Policy"

#: Default headers of every response.
API_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    _SHARING: "same-origin",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class SecurityHeaders:
    """WSGI middleware that adds missing security headers to every response."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            present = {name for name, _ in headers}
            missing = {name: API_HEADERS[name] for name in API_HEADERS if name not in present}
            if "Access-Control-Allow-Origin" in present and _SHARING in missing:
                # Scripts of other origins may read this response anyway.
                missing[_SHARING] = "cross-origin"
            return start_response(status, [*headers, *missing.items()], *error)

        return self._app(environ, start)


def harden(
    page: Response, form_action: str, connect: str = "", framed_by: Sequence[str] = ()
) -> Response:
    """Set a content security policy without inline code and without other origins.

    Forms may be sent to `form_action`, and requests of scripts also to the server `connect`, a
    relay. Pages of the origins `framed_by` may show the page in a frame.
    """
    targets = " ".join(["'self'", *filter(None, [connect])])
    framing = " ".join(framed_by or ["'none'"])
    own = f"script-src 'self'; style-src 'self'; img-src 'self'; connect-src {targets}"
    page.headers["Content-Security-Policy"] = (
        f"default-src 'none'; {own}; form-action {form_action}; base-uri 'none';"
        f" frame-ancestors {framing}"
    )
    page.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    return page
