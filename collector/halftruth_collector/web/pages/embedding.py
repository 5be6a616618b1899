"""Lines for a page of somebody else that embeds the form of a survey."""

from typing import NamedTuple

from flask import url_for
from markupsafe import escape

from ...dry_run import allowed_by_form
from ...store.surveys import StoredSurvey
from ..context import collector


class Embedding(NamedTuple):
    """Elements of a page, its content security policy, and the same form in a frame.

    `framed_by` are the origins whose pages may have the frame.
    """

    html: str
    policy: str
    frame: str
    framed_by: tuple[str, ...]


def embedding_of(survey_id: str) -> Embedding:
    """Return the lines that embed a survey, with the limits of the hosted form."""
    this = collector()
    stored = this.store.surveys.get(survey_id)
    form = url_for("pages.form", survey_id=survey_id, _external=True)
    origin = url_for("pages.front", _external=True).rstrip("/")
    relay = stored.survey().relay
    servers = " ".join([origin, *([] if relay is None else [relay.url])])
    attributes = {"survey": survey_id, "collector": origin, **_limits(stored)}
    element = "\n  ".join(f'{name}="{escape(value)}"' for name, value in attributes.items())
    script = url_for("pages.built", file="halftruth.js", _external=True)
    title = escape(stored.survey().title_in())
    return Embedding(
        f'<script type="module" src="{escape(script)}"></script>\n'
        f"<halftruth-form {element}></halftruth-form>",
        f"Content-Security-Policy: script-src 'self' {origin}; connect-src 'self' {servers}",
        f'<iframe src="{escape(form)}" title="{title}" width="100%" height="700"></iframe>',
        this.config.frame_origins,
    )


def _limits(stored: StoredSurvey) -> dict[str, str]:
    """Return the attributes that say which surveys the form accepts."""
    survey, limits = stored.survey(), collector().config.form_limits
    given = {"max-gamma": limits.max_gamma}
    if limits.max_answer_gamma is not None and survey.promise == "answer":
        given["max-answer-gamma"] = limits.max_answer_gamma
    if limits.max_total_gamma is not None:
        given["max-total-gamma"] = limits.max_total_gamma
    if unprotected := allowed_by_form(survey):
        given["unprotected"] = " ".join(unprotected)
    # The page then asks this survey only, whatever the collector sends.
    if stored.signature is not None:
        return given | {"operator-keys": stored.signature.key}
    return given | {"digests": stored.digest}
