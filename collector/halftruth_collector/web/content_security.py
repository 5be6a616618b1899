"""Headers that keep pages to themselves."""

from flask import Response


def harden(response: Response, form_action: str) -> Response:
    """Load nothing from elsewhere, run nothing that stands in a page, send forms only there.

    Parameters
    ----------
    response : Response
    form_action : {"'none'", "'self'"}
        Where forms of the page may be sent.
    """
    response.headers["Content-Security-Policy"] = "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            f"form-action {form_action}",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ]
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    return response
