"""Design page: the text of a survey file, with its protection, precision and form.

Every button posts the whole text, and nothing is stored before publication. The page works without
scripts; with scripts, the text is checked while it is typed.
"""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from textwrap import shorten
from typing import Any

from flask import Response, redirect, render_template, request, url_for
from halftruth_shared import HalftruthError, ParameterError, Protection, Survey
from halftruth_shared.analyses.plan import PlanQuery
from halftruth_shared.analyses.reading import read
from halftruth_shared.protocol.terms import Terms
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.wrappers import Response as AnyResponse

from ... import operations
from ...dry_run import allowed_by_form, check_survey
from ...errors import TooLarge
from ...estimation.planning.planner import plan
from ...estimation.planning.proposals import best_design
from ...estimation.planning.wording import (
    design_notes,
    design_table,
    footnotes,
    headline,
    lines_for,
    mechanism_notes,
    mechanism_table,
    planned_table,
    promise_notes,
    promise_table,
)
from ...importers import is_questionnaire, read_questionnaire
from ...survey_file import of_survey
from .. import errors, parameters
from ..budget import within_budget
from ..context import collector
from .session import guarded

blueprint = guarded("design", "/operate/design", "operator")

#: Largest size of a survey file on this page, in bytes. Checking such a file takes seconds.
_MOST_BYTES = 1_000_000

#: Largest number of characters of an error, which can quote the text.
_LINE = 1_000

#: Fields for the expected precision, with their initial values.
_PLANNING = {
    "respondents": "1000",
    "half_width": "",
    "detect": "",
    "groups": "",
    "questions": "",
    "outcome": "",
    "predictors": "",
    "relay": "",
}

#: Initial survey file of the page.
STARTER = """\
# Lines that begin with # are comments.
# The id is part of the address.
id = "my-survey"
title = "My survey"

[mechanism]
kind = "split-questionnaire"
# Amplification: a smaller one protects more, with wider margins.
gamma = "19"
# Most questions in one table: fewer have narrower margins.
max_length = 2

[reports]
# Nobody chooses which questions a report is about, so a made-up one weighs little.
tickets = "required"

[[attributes]]
name = "smoker"
label = "Have you smoked in the last month?"
categories = ["no", "yes"]

[[attributes]]
name = "sleep"
label = "How often do you sleep badly?"
categories = ["never", "sometimes", "often"]

# Other kinds of questions, and a condition:
#
# [[attributes]]
# name = "content"
# label = "How content are you with your work?"
# kind = "scale"
# categories = ["1", "2", "3", "4", "5"]
#
# [[attributes]]
# name = "age"
# label = "How old are you?"
# kind = "number"
# minimum = 15
# maximum = 74
# step = 15
#
# [[attributes]]
# name = "helps"
# label = "What do you use to stop smoking?"
# kind = "several"
# options = [{name = "gum", label = "Chewing gum"}, {name = "patch", label = "A patch"}]
# ask_if = {smoker = ["yes"]}
"""


@dataclass(frozen=True)
class _Opened:
    """Text of an opened file; for a questionnaire, also the changed and omitted parts."""

    text: str
    counts: str = ""
    summary: tuple[str, ...] = ()


@blueprint.get("")
def begin() -> str | tuple[str, int]:
    """Show the initial survey file, or the file of a published survey."""
    survey_id = request.args.get("survey", "")
    if not survey_id:
        return _page(STARTER)
    return _page(of_survey(collector().store.surveys.get(survey_id).survey()))


@blueprint.post("")
def work() -> AnyResponse | str | tuple[str, int]:
    """Check, open, save or publish a survey file, depending on the button."""
    text = _posted()
    do = request.form.get("do", "check")
    try:
        if do == "publish":
            return _publish(text)
        if do == "save":
            return _as_file(text)
        if do == "open":
            opened = _open()
            return _page(opened.text, opened=opened)
        if do != "check":
            raise ParameterError("do: expected one of this page's buttons", field="do")
    except HalftruthError as error:
        return _page(text, error)
    return _page(text)


def _posted() -> str:
    """Return the text of the form; a text of more than `_MOST_BYTES` is refused."""
    request.max_form_memory_size = _MOST_BYTES
    try:
        return request.form.get("survey", "").replace("\r\n", "\n")
    except RequestEntityTooLarge:
        most = collector().config.max_body
        raise TooLarge(
            f"survey: expected a text of at most {_MOST_BYTES} bytes, and a file of at most {most}",
            field="survey",
        ) from None


def _open() -> _Opened:
    """Return the uploaded survey file, or the one converted from an uploaded questionnaire."""
    file = request.files.get("file")
    content, name = (file.read(), file.filename or "") if file else (b"", "")
    if is_questionnaire(content, name):
        made = read_questionnaire(content, name or "questionnaire")
        opened = _Opened(made.text, made.counts, made.summary)
    else:
        try:
            opened = _Opened(content.decode("utf-8-sig").replace("\r\n", "\n"))
        except UnicodeDecodeError:
            opened = _Opened("")
        if not opened.text:
            raise ParameterError("file: expected a survey file, in UTF-8", field="file")
    if len(opened.text.encode()) > _MOST_BYTES:
        raise TooLarge(
            f"file: expected a survey file of at most {_MOST_BYTES} bytes on this page; larger"
            " ones are for 'halftruth survey import' and 'publish'",
            field="file",
        )
    return opened


def _as_file(text: str) -> Response:
    """Return the text as a file for download, even if it is not a valid survey."""
    try:
        name = Survey.from_toml(text).id
    except HalftruthError:
        name = "survey"
    return Response(
        text,
        mimetype="application/toml",
        headers={"Content-Disposition": f'attachment; filename="{name}.toml"'},
    )


def _publish(text: str) -> AnyResponse:
    """Publish the survey, and go to its page."""
    survey = Survey.from_toml(text)
    given = parameters.from_form(Terms)
    filled = read(Terms, given)
    terms = {name: getattr(filled, name) for name in given}
    this = collector()
    operations.publish_survey(this.store, survey, terms, unlisted="unlisted" in request.form)
    return redirect(url_for("operate.survey", survey_id=survey.id), 303)


def _page(
    text: str, error: HalftruthError | None = None, opened: _Opened | None = None
) -> tuple[str, int]:
    survey: Survey | None = None
    try:
        survey = Survey.from_toml(text)
    except HalftruthError as invalid:
        error = error or invalid
    shown = render_template(
        "design.html",
        text=text,
        opened=opened,
        problem=None if error is None else shorten(str(error), _LINE, placeholder=" …"),
        problem_below=True,
        asked={name: _planning(name) for name in _PLANNING},
        unlisted="unlisted" in request.form,
        terms=_terms(),
        **_results(survey),
    )
    return shown, 200 if error is None else errors.status_of(error)


def _terms() -> Terms | None:
    """Return the terms of the form; None if they are invalid."""
    try:
        return read(Terms, parameters.from_form(Terms))
    except HalftruthError:
        return None


def _results(survey: Survey | None) -> dict[str, Any]:
    """Return the results for a survey: its check, its preview and its precision."""
    if survey is None:
        return {"survey": None}
    config = collector().config
    results = {
        "survey": survey,
        "learning": Protection.of(survey).learning(),
        "check": check_survey(survey, config.form_limits),
        "document": survey.canonical_json.decode(),
        "unprotected": " ".join(allowed_by_form(survey)),
        "limits": config.form_limits,
    }
    try:
        with within_budget():
            planned = plan(survey, _plan_query())
    except HalftruthError as error:
        return results | {"plan_problem": str(error)}
    if planned.designs:
        best = best_design(planned.goals, planned.designs)
        results |= {"best": best, "lines_for": lines_for(best)}
    return results | {
        "planned": planned,
        "designs": design_table(planned) if planned.designs else None,
        "design_notes": list(design_notes(planned)),
        "headline": headline(planned),
        "margins": planned_table(planned),
        "footnotes": list(footnotes(planned)),
        "mechanisms": mechanism_table(planned),
        "mechanism_notes": list(mechanism_notes(planned)),
        "promises": promise_table(planned),
        "promise_notes": list(promise_notes()),
    }


def _plan_query() -> PlanQuery:
    """Return the query for the survey's precision; blank fields are ignored."""
    given = {name: _planning(name) for name in _PLANNING}
    # Margins are entered in percentage points.
    if given["half_width"]:
        try:
            given["half_width"] = str(Decimal(given["half_width"].removeprefix("±")) / 100)
        except InvalidOperation:
            raise ParameterError(
                "half_width: expected a number of points, such as 3", field="half_width"
            ) from None
    several = ("groups", "questions", "predictors", "detect")
    return read(
        PlanQuery,
        {
            name: [each.strip() for each in text.split(",")] if name in several else [text]
            for name, text in given.items()
            if text or name == "respondents"
        },
    )


def _planning(name: str) -> str:
    return request.form.get(name, _PLANNING[name]).strip()
