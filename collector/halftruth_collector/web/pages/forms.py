"""The front page, the form of each survey, and the files that these pages load.

Answers never reach this module: the script of the form perturbs them in the browser, and sends the
report to the same address as all clients. No page has a form that a browser could submit directly.
"""

from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from flask import Blueprint, Response, g, make_response, render_template, send_from_directory
from halftruth_shared import HalftruthError
from werkzeug.exceptions import HTTPException, NotFound

from ...dry_run import allowed_by_form, why_form_refuses
from ..context import collector, states
from ..errors import problem_page
from ..headers import harden
from .languages import WORDS, chosen, direction_of, primary, wanted

blueprint = Blueprint("pages", __name__, template_folder="templates")
for kind in (HalftruthError, HTTPException):
    blueprint.register_error_handler(kind, problem_page)

_client = find_spec("halftruth_client")
# Locate the package without importing it, since the server does not need the Python client.
_SCRIPTS = Path((_client.origin if _client else None) or "halftruth_client").with_name("js")
_STYLES = str(files(__package__) / "assets")


@blueprint.after_request
def set_security_headers(response: Response) -> Response:
    """Set a policy that forbids the submission of forms."""
    return harden(response, "'none'", g.get("connect", ""))


@blueprint.get("/")
def front() -> str:
    """Show the listed surveys of this collector."""
    this = collector()
    listed = this.store.surveys.listed()
    surveys, shown = [stored.survey() for stored in listed], states(listed)
    terms = {stored.id: stored.terms for stored in listed}
    for survey in surveys:
        limits = this.config.max_gamma, this.config.max_total_gamma
        refused = why_form_refuses(survey, *limits, terms[survey.id])
        if shown[survey.id] == "Open" and refused is not None:
            shown[survey.id] = "Not asked here"
    return render_template("front.html", surveys=surveys, states=shown)


@blueprint.get("/s/<survey_id>")
def form(survey_id: str) -> Response:
    """Show the form of a survey; its script adds the questions."""
    stored = collector().store.surveys.get(survey_id)
    survey = stored.survey()
    language = chosen(survey.languages, *wanted())
    spoken = primary(language) if primary(language) in WORDS else "en"
    page = render_template(
        "form.html",
        survey=survey,
        language=language,
        direction=direction_of(language),
        spoken=spoken,
        words=WORDS[spoken],
        # For surveys closed by deadline or quota, the script shows what applies to the respondent.
        is_open=stored.status == "open",
        max_gamma=collector().config.max_gamma,
        max_total_gamma=collector().config.max_total_gamma,
        unprotected=" ".join(allowed_by_form(survey)),
    )
    if survey.relay is not None:
        # With the final slash, the policy allows all paths below.
        g.connect = f"{survey.relay.url}/"
    response = make_response(page)
    response.vary.add("Accept-Language")
    return response


@blueprint.get("/js/<path:name>")
def script(name: str) -> Response:
    """Serve a module of the JavaScript client, also for pages of other origins."""
    if PurePosixPath(name).suffix != ".js":
        raise NotFound
    response = send_from_directory(_SCRIPTS, name, mimetype="text/javascript")
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


@blueprint.get("/assets/<path:name>")
def asset(name: str) -> Response:
    """Serve styles and scripts of these pages."""
    return send_from_directory(_STYLES, name)
