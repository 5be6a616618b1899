"""Who is signed in to pages, and where their forms may come from.

A token is kept in a cookie that no script can read, that is sent with no request from another site,
and only to the pages that it is for: never along with a report.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

from flask import Response, g, redirect, render_template, request
from halftruth_shared import HalftruthError
from werkzeug.wrappers import Response as AnyResponse

from ...access.tokens import Role, StoredToken
from ...errors import Forbidden
from ..content_security import harden
from ..context import allow
from ..errors import status_of

COOKIE = "halftruth_token"

#: Where pages for a role are; an operator is shown results, too.
HOMES: dict[Role, Sequence[str]] = {
    "analyst": ("/results/",),
    "operator": ("/operate/", "/results/"),
}


def only_own_forms() -> None:
    """No other site's form may do anything here.

    Browsers say where a form was sent from; who says nothing is no browser, and keeps no cookie.

    Raises
    ------
    Forbidden
    """
    if request.method != "POST":
        return
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    own = site == "same-origin" if site else origin is None or _host(origin) == request.host
    if not own:
        raise Forbidden("origin: expected a form of this collector", field="origin")


def bearer(role: Role) -> StoredToken:
    """Whose token the browser keeps, if that is enough.

    Raises
    ------
    Unauthorized, Forbidden
    """
    found = allow(role, request.cookies.get(COOKIE, ""))
    g.actor = f"token {found.id}"
    return found


def signed_in(role: Role) -> AnyResponse:
    """Keep the token of the form in the browser, if it is enough.

    Raises
    ------
    Unauthorized, Forbidden
    """
    token = request.form.get("token", "").strip()
    allow(role, token)
    response = redirect(_safe(request.form.get("next", ""), role) or HOMES[role][0], 303)
    for home in HOMES[role]:
        response.set_cookie(
            COOKIE, token, httponly=True, samesite="Strict", secure=request.is_secure, path=home
        )
    return response


def signed_out() -> AnyResponse:
    """Forget the tokens of all pages."""
    response = redirect("/", 303)
    for home in sorted({home for homes in HOMES.values() for home in homes}):
        response.delete_cookie(COOKIE, path=home, httponly=True, samesite="Strict")
    return response


def sign_in_page(role: Role, address: str, detail: str | None) -> str:
    """Ask for a token, to go on to an address."""
    return render_template(
        "sign_in.html",
        role=role,
        action=f"{HOMES[role][0]}sign-in",
        next=_safe(address, role),
        detail=detail,
    )


def ask_for_token(role: Role, error: HalftruthError) -> tuple[str, int]:
    """Whoever may not see a page is asked for a token."""
    signing_in = request.path == f"{HOMES[role][0]}sign-in"
    tried = request.method == "POST" or COOKIE in request.cookies
    # The form was read, and with it whatever is wrong with it, only where somebody signs in.
    if signing_in and request.method == "POST":
        address = request.form.get("next", "")
    else:
        address = request.full_path if request.method == "GET" else ""
    return sign_in_page(role, address, str(error) if tried else None), status_of(error)


def closed(response: Response) -> Response:
    """Forms of these pages go to this collector alone, and no cache keeps what they show."""
    response.headers["Cache-Control"] = "no-store"
    response = harden(response, "'self'")
    # Where nothing is said of the page, browsers send forms without saying where they come from.
    response.headers["Referrer-Policy"] = "same-origin"
    return response


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _safe(address: str, role: Role) -> str:
    """An address within the pages for a role, or none."""
    inside = address.startswith(HOMES[role][0]) and not any(c in address for c in "\\\r\n")
    return address if inside else ""
