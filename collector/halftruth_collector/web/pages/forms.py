"""The front page, the form of each survey, and the files that these pages load.

Answers never reach this module: the script of the form perturbs them in the browser, and sends the
report to the same address as all clients. No page has a form that a browser could submit directly.
"""

from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from flask import Blueprint, Response, g, render_template, request
from halftruth_shared import HalftruthError
from halftruth_shared.columns import encode
from markupsafe import Markup
from werkzeug.exceptions import HTTPException, NotFound

from ...dry_run import allowed_by_form, why_form_refuses
from ...ops.settings import FormLimits
from ...store.surveys import StoredSurvey
from ..bundle import MODULES, built_form
from ..context import collector, states
from ..errors import problem_page
from ..headers import harden
from ..static import IMMUTABLE, REVALIDATED, StaticFile, read
from .embedding import embedding_of
from .languages import WORDS, chosen, direction_of, primary, wanted

blueprint = Blueprint("pages", __name__, template_folder="templates")
for kind in (HalftruthError, HTTPException):
    blueprint.register_error_handler(kind, problem_page)
blueprint.add_app_template_global(embedding_of)

_ASSETS = Path(__file__).with_name("assets")

#: Lifetime of the form under its stable name: other pages that embed it get a new version after ten
#: minutes, or at the visit after that.
_STABLE = "public, max-age=600, stale-while-revalidate=86400"

#: The form without a built file, for pages that embed it by its stable name.
_FORM_OF_MODULES = StaticFile.compress(b'export * from "../js/bundle.js";\n', "text/javascript")


@blueprint.app_url_defaults
def name_version(endpoint: str, values: dict[str, Any]) -> None:
    """Add the hash of its contents to the address of an asset, so that browsers keep the file."""
    if endpoint == "pages.asset":
        values["v"] = read(_ASSETS, values["name"]).hash


@blueprint.after_request
def set_security_headers(response: Response) -> Response:
    """Set a policy that forbids the submission of forms."""
    return harden(response, "'none'", g.get("connect", ""), g.get("framed_by", ()))


@blueprint.get("/")
def front() -> str:
    """Show the listed surveys of this collector."""
    this = collector()
    listed = this.store.surveys.listed()
    surveys, shown = [stored.survey() for stored in listed], states(listed)
    terms = {stored.id: stored.terms for stored in listed}
    for survey in surveys:
        refused = why_form_refuses(survey, this.config.form_limits, terms[survey.id])
        if shown[survey.id] == "Open" and refused is not None:
            shown[survey.id] = "Not asked here"
    return render_template("front.html", surveys=surveys, states=shown)


@blueprint.get("/s/<survey_id>")
def form(survey_id: str) -> Response:
    """Show the form of a survey; its script adds the questions."""
    this = collector()
    stored = this.store.surveys.get(survey_id)
    survey = stored.survey()
    page = _render_form(
        stored,
        encode(collector().store.surveys.published(stored)),
        chosen(survey.languages, *wanted()),
        this.config.form_limits,
    )
    if survey.relay is not None:
        # With the final slash, the policy allows all paths below.
        g.connect = f"{survey.relay.url}/"
    g.framed_by = this.config.frame_origins
    response = page.response()
    response.vary.add("Accept-Language")
    return response


@lru_cache(maxsize=64)
def _render_form(
    stored: StoredSurvey,
    published: bytes,
    language: str,
    limits: FormLimits,
) -> StaticFile:
    """Render the page of a form, with the survey in it as `/v1/surveys/{id}` returns it.

    The page has nothing that is secret or about a person.
    """
    survey = stored.survey()
    spoken = primary(language) if primary(language) in WORDS else "en"
    page = render_template(
        "form.html",
        survey=survey,
        # JSON has this character in strings only. Escaped, no text ends or opens an element.
        published=Markup(published.decode().replace("<", "\\u003c")),  # noqa: S704
        language=language,
        direction=direction_of(language),
        spoken=spoken,
        words=WORDS[spoken],
        built=built_form(),
        # For surveys closed by deadline or quota, the script shows what applies to the respondent.
        is_open=stored.status == "open",
        limits=limits,
        unprotected=" ".join(allowed_by_form(survey)),
    )
    return StaticFile.compress(page.encode(), "text/html")


@blueprint.get("/form/<file>")
def built(file: str) -> Response:
    """Serve the built form, also for pages of other origins: under its stable name, or by hash."""
    bundle = built_form()
    if bundle is not None:
        found = bundle.find(file)
        kept = IMMUTABLE if file in bundle.files else REVALIDATED
    else:
        found = _FORM_OF_MODULES if file.startswith("halftruth.") else None
        kept = REVALIDATED
    if found is None or not file.endswith(".js"):
        raise NotFound
    return _share(found.response(_STABLE if file == "halftruth.js" else kept))


@blueprint.get("/js/<path:name>")
def script(name: str) -> Response:
    """Serve a module of the JavaScript client, also for pages of other origins."""
    if PurePosixPath(name).suffix != ".js":
        raise NotFound
    return _share(read(MODULES, name).response())


def _share(response: Response) -> Response:
    """Allow pages of all origins to load a script."""
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


@blueprint.get("/assets/<path:name>")
def asset(name: str) -> Response:
    """Serve styles and scripts of these pages; addresses with their hash can be kept."""
    file = read(_ASSETS, name)
    return file.response(IMMUTABLE if request.args.get("v") == file.hash else REVALIDATED)
