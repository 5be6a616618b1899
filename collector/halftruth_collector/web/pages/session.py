"""One way to sign in to all pages that need a token, and one guard before them.

A token is kept in a cookie that no script can read, that is sent with no request from another site,
and only to the pages that it is for: never along with a report.
"""

from functools import partial
from urllib.parse import urlsplit

from flask import Blueprint, Response, redirect, render_template, request
from halftruth_shared import HalftruthError
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from ...errors import Forbidden, Unauthorized
from ...store.tokens import Role
from ..context import allow, remember_bearer
from ..errors import problem_page, status_of
from ..headers import harden

COOKIE = "halftruth_token"

#: Where the pages for a role are; an operator is shown results, too.
HOMES: dict[Role, str] = {"operator": "/operate/", "analyst": "/results/"}


def guarded(name: str, prefix: str, role: Role) -> Blueprint:
    """Return a blueprint of pages that only bearers of a role see, and change by its own forms."""
    made = _blueprint(name, prefix)
    made.before_request(partial(_guard, role))
    for error in (Unauthorized, Forbidden):
        made.register_error_handler(error, partial(_ask_for_token, role))
    return made


def _blueprint(name: str, prefix: str | None = None) -> Blueprint:
    made = Blueprint(name, __name__, url_prefix=prefix, template_folder="templates")
    made.before_request(_only_own_forms)
    made.after_request(_set_security_headers)
    for kind in (HalftruthError, HTTPException):
        made.register_error_handler(kind, problem_page)
    return made


def _only_own_forms() -> None:
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


def _guard(role: Role) -> None:
    """Let only whoever signed in with a sufficient token pass.

    Raises
    ------
    Unauthorized, Forbidden
    """
    remember_bearer(allow(role, request.cookies.get(COOKIE, "")))


def _ask_for_token(role: Role, error: HalftruthError) -> tuple[str, int]:
    """Ask whoever may not see a page for a token."""
    address = request.full_path if request.method == "GET" else ""
    tried = request.method == "POST" or COOKIE in request.cookies
    return _sign_in_page(role, address, str(error) if tried else None), status_of(error)


def _set_security_headers(response: Response) -> Response:
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


blueprint = _blueprint("session")


@blueprint.get("/sign-in")
def sign_in() -> str:
    """Ask for a token."""
    address = request.args.get("next", "")
    return _sign_in_page(_role_at(address), address, None)


@blueprint.post("/sign-in")
def signed_in() -> AnyResponse | tuple[str, int]:
    """Keep the token in the browser, if it opens the page that it is asked for."""
    token, address = request.form.get("token", "").strip(), request.form.get("next", "")
    role = _role_at(address)
    try:
        bearer = allow(role, token)
    except (Unauthorized, Forbidden) as error:
        return _sign_in_page(role, address, str(error)), status_of(error)
    homes = [home for known, home in HOMES.items() if bearer.role in (known, "operator")]
    response = redirect(_safe(address) or homes[0], 303)
    for home in homes:
        response.set_cookie(
            COOKIE, token, httponly=True, samesite="Strict", secure=request.is_secure, path=home
        )
    return response


@blueprint.post("/sign-out")
def sign_out() -> AnyResponse:
    """Forget the token of all pages."""
    response = redirect("/", 303)
    for home in HOMES.values():
        response.delete_cookie(COOKIE, path=home, httponly=True, samesite="Strict")
    return response


def _sign_in_page(role: Role, address: str, detail: str | None) -> str:
    return render_template("sign_in.html", role=role, next=_safe(address), detail=detail)


def _role_at(address: str) -> Role:
    """Return the role that the page at an address needs, the least one if there is none."""
    return "operator" if address.startswith(HOMES["operator"]) else "analyst"


def _safe(address: str) -> str:
    """Return an address if it is within the pages, or none."""
    inside = address.startswith(tuple(HOMES.values()))
    return address if inside and not any(c in address for c in "\\\r\n") else ""
