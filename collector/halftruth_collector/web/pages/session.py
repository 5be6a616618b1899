"""Signing in to pages that need a token, and the guard of these pages.

The token is in a cookie that scripts cannot read. Browsers send it only from our own pages, and
only to the pages of its role: never with a report. Forms of other sites are refused (CSRF
protection).
"""

from functools import partial

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

#: Start pages by role; operators can also see results.
HOMES: dict[Role, str] = {"operator": "/operate/", "analyst": "/results/"}


def guarded(name: str, prefix: str, role: Role) -> Blueprint:
    """Return a blueprint of pages that require a role, and accept only their own forms."""
    made = _blueprint(name, prefix)
    made.before_request(partial(_guard, role))
    for error in (Unauthorized, Forbidden):
        made.register_error_handler(error, partial(_ask_for_token, role))
    return made


def _blueprint(name: str, prefix: str | None = None) -> Blueprint:
    made = Blueprint(name, __name__, url_prefix=prefix, template_folder="templates")
    made.before_request(_refuse_foreign_forms)
    made.after_request(_set_security_headers)
    for kind in (HalftruthError, HTTPException):
        made.register_error_handler(kind, problem_page)
    return made


def _refuse_foreign_forms() -> None:
    """Refuse forms of other sites (cross-site request forgery).

    Browsers send the origin of a form. Other clients do not have the cookie of a browser.

    Raises
    ------
    Forbidden
    """
    if request.method != "POST":
        return
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    here = f"{request.scheme}://{request.host}"
    own = site == "same-origin" if site else origin in (None, here)
    if not own:
        raise Forbidden("origin: expected a form of this collector", field="origin")


def _guard(role: Role) -> None:
    """Require a sign-in with a token of a role."""
    remember_bearer(allow(request.cookies.get(COOKIE, ""), role))


def _ask_for_token(role: Role, error: HalftruthError) -> tuple[str, int]:
    """Show the sign-in page instead of a page that the token does not open."""
    address = request.full_path if request.method == "GET" else ""
    tried = request.method == "POST" or COOKIE in request.cookies
    return _sign_in_page(role, address, str(error) if tried else None), status_of(error)


def _set_security_headers(response: Response) -> Response:
    """Restrict forms to this collector, and forbid caching."""
    response.headers["Cache-Control"] = "no-store"
    response = harden(response, "'self'")
    # With no referrer at all, browsers would send forms without their origin.
    response.headers["Referrer-Policy"] = "same-origin"
    return response


blueprint = _blueprint("session")


@blueprint.get("/sign-in")
def sign_in() -> str:
    """Show the sign-in page."""
    address = request.args.get("next", "")
    return _sign_in_page(_role_at(address), address, None)


@blueprint.post("/sign-in")
def signed_in() -> AnyResponse | tuple[str, int]:
    """Store the token in a cookie, if it opens the requested page."""
    token, address = request.form.get("token", "").strip(), request.form.get("next", "")
    role = _role_at(address)
    try:
        bearer = allow(token, role)
    except (Unauthorized, Forbidden) as error:
        return _sign_in_page(role, address, str(error)), status_of(error)
    homes = [home for known, home in HOMES.items() if bearer.role in (known, "operator")]
    response = redirect(_keep_own_address(address) or homes[0], 303)
    for home in homes:
        response.set_cookie(
            COOKIE, token, httponly=True, samesite="Strict", secure=request.is_secure, path=home
        )
    return response


@blueprint.post("/sign-out")
def sign_out() -> AnyResponse:
    """Delete the token from the browser."""
    response = redirect("/", 303)
    for home in HOMES.values():
        response.delete_cookie(COOKIE, path=home, httponly=True, samesite="Strict")
    return response


def _sign_in_page(role: Role, address: str, detail: str | None) -> str:
    return render_template(
        "sign_in.html", role=role, next=_keep_own_address(address), detail=detail
    )


def _role_at(address: str) -> Role:
    """Return the role that an address requires; "analyst" for unknown addresses."""
    return "operator" if address.startswith(HOMES["operator"]) else "analyst"


def _keep_own_address(address: str) -> str:
    """Return an address if it is one of these pages, or else an empty text."""
    is_ours = address.startswith(tuple(HOMES.values()))
    return address if is_ours and not any(c in address for c in "\\\r\n") else ""
