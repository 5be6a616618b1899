"""Designer: a page on which a survey is written, with a preview of its form and its precision.

The file's text is all that there is of a draft: every button posts it, the controls write into it,
and nothing is stored until it is published. Where text and controls were both changed, the text
counts. Everything works without scripts; with them, what is shown follows what is typed.
"""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from flask import Response, g, redirect, render_template, request, url_for
from halftruth_shared import HalftruthError, ParameterError, Survey
from halftruth_shared.analyses.plan import PlanQuery, PlanResult
from halftruth_shared.analyses.reading import read
from halftruth_shared.analyses.wording import half_width, number, percent
from halftruth_shared.mechanisms import MECHANISMS
from halftruth_shared.mechanisms.designs import DESIGNS
from halftruth_shared.protocol.terms import Terms
from werkzeug.wrappers import Response as AnyResponse

from ...designing import edits, mechanism, questions, text
from ...designing.origin import Origin
from ...designing.text import Data
from ...dry_run import SurveyCheck, allowed_by_form, check_survey
from ...estimation.planning.planner import plan
from ...estimation.reliability import reliability
from .. import errors, parameters
from ..context import collector
from .session import guarded

blueprint = guarded("design", "/operate/design", "operator")

#: The steps, the file itself, and what phones show in their place.
_STEPS = {
    "questions": "Questions",
    "protection": "Protection",
    "around": "Around the questions",
    "publish": "Publish",
    "file": "File",
    "preview": "Preview",
}

#: Pairs and triples that are looked at and listed.
_SETS = 20

#: The chances of designs, as a form asks for them.
_DESIGN_PARTS = (
    ("design-p", "Chance that the answer itself is reported"),
    ("design-yes", "Chance that yes is reported whatever the answer is"),
    ("design-no", "Chance that no is reported whatever the answer is"),
    ("design-prevalence", "Prevalence of yes to the harmless question"),
    ("design-theta1", "Share of red cards in the deck for yes"),
    ("design-theta2", "Share of red cards in the deck for no"),
)

#: What precision is foretold for, as it is typed: people, and percentage points either way.
_RESPONDENTS, _WANTED = "1000", "5"


@dataclass
class Draft:
    """A survey file as it is being written, and what of it is open.

    Attributes
    ----------
    written : str
        The file.
    place : int or None
        Of the question that is open, counted from 0.
    language : str
        In which texts are shown; where there is no such one, the first one is.
    problem : str or None
        What is wrong with what was asked for; what is wrong with the file shows by itself.
    origin : Origin
        The questionnaire that it was made of.
    """

    written: str
    place: int | None = None
    language: str = ""
    problem: str | None = None
    origin: Origin = field(default_factory=Origin)

    @property
    def data(self) -> Data | None:
        """The parsed file; None where it is not TOML."""
        try:
            return text.read(self.written)
        except HalftruthError:
            return None


@blueprint.get("")
def begin() -> str | tuple[str, int]:
    """A draft to begin with, or a published survey."""
    survey_id = request.args.get("survey", "")
    written = text.STARTER
    if survey_id:
        written = text.of_survey(collector().store.surveys.get(survey_id).survey())
    return _page(Draft(written, 0))


@blueprint.post("")
def work() -> AnyResponse | str | tuple[str, int]:
    """Do to a draft what its form asks for."""
    draft = _posted()
    do, _, which = request.form.get("do", "check").partition(":")
    try:
        if do == "load":
            draft = _loaded()
        elif do == "save":
            return _saved(draft.written)
        elif do == "publish":
            return _published(draft.written)
        else:
            _edit(draft, do, which)
    except HalftruthError as error:
        draft.problem = str(error)
        return _page(draft, errors.status_of(error))
    return _page(draft)


def _posted() -> Draft:
    """The draft of the form, with what its controls say, unless the text was changed since."""
    draft = Draft(request.form.get("survey", "").replace("\r\n", "\n"))
    draft.language = request.form.get("language", "")
    draft.origin = Origin.read(request.form.get("origin", ""))
    opened = request.form.get("open", "")
    data = draft.data
    if data is None:
        return draft
    posted = questions.questions(data)
    draft.place = _place(opened, len(posted))
    if request.form.get("seen") != _fingerprint(draft.written):
        return draft
    before, data = data, edits.update_settings(data, _given("survey", edits.settings_of(data)))
    if draft.place is not None:
        fields = edits.fields_of(data, draft.place)
        data = edits.edit(data, draft.place, _given("question", fields))
        renamed = questions.names(data)[draft.place]
        draft.origin = draft.origin.renamed(questions.names(before)[draft.place], renamed)
    draft.written = text.change(draft.written, data)
    return draft


def _given(about: str, fields: questions.Fields) -> questions.Fields:
    """Return the values of the controls of fields; a box that is not ticked is not sent."""
    given = {name: request.form.getlist(f"{about}.{name}") for name in fields}
    boxes = (*questions.FLAGS, *questions.TICKED, mechanism.MAY_PROVE)
    is_open = "name" in fields and given["name"]
    return {name: texts for name, texts in given.items() if texts or (is_open and name in boxes)}


def _edit(draft: Draft, do: str, which: str) -> None:
    """Do something to the questions of a draft.

    Raises
    ------
    ParameterError
        If that is nothing that can be done.
    """
    if do == "check":
        return
    data = draft.data
    if data is None:
        return
    count = len(questions.questions(data))
    if do == "add":
        data, draft.place = edits.add(data, which), count
    elif do == "language":
        draft.language = which
    elif do == "forget":
        draft.origin = Origin()
    elif do == "close":
        draft.place = None
    elif (place := _place(which, count)) is None:
        raise ParameterError("do: expected one of this page's buttons", field="do")
    elif do == "open":
        draft.place = place
    elif do == "remove":
        data, draft.place = edits.remove(data, place), None
    elif do == "duplicate":
        data, draft.place = edits.duplicate(data, place), place + 1
    elif do in ("up", "down"):
        to = place + (1 if do == "down" else -1)
        data = edits.move(data, place, to)
        to = min(max(to, 0), count - 1)
        # The open question goes with its place.
        exchanged: dict[int | None, int] = {place: to, to: place}
        draft.place = exchanged.get(draft.place, draft.place)
    else:
        raise ParameterError("do: expected one of this page's buttons", field="do")
    draft.written = text.change(draft.written, data)


def _place(written: str, count: int) -> int | None:
    """A place among so many questions; None where it is none."""
    place = text.whole_number(written)
    return place if isinstance(place, int) and 0 <= place < count else None


def _loaded() -> Draft:
    """The file that was chosen, or what its questionnaire comes to.

    Raises
    ------
    HalftruthError
        If it is neither.
    """
    file = request.files.get("file")
    content = file.read() if file else b""
    # Imported here: few need it.
    from ...importing import is_questionnaire, read_questionnaire

    name = (file.filename if file else None) or "questionnaire"
    if is_questionnaire(content, name):
        made = read_questionnaire(content, name)
        return Draft(made.text, origin=made.origin)
    try:
        written = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        written = ""
    if not written:
        raise ParameterError("file: expected a survey file, in UTF-8", field="file")
    return Draft(written.replace("\r\n", "\n"), 0)


def _saved(written: str) -> Response:
    """The draft as a file to keep, whether or not it is a survey yet."""
    data = Draft(written).data or {}
    name = str(data.get("id", ""))
    kept = name if name.replace("-", "").isalnum() and name.isascii() else "survey"
    return Response(
        written,
        mimetype="application/toml",
        headers={"Content-Disposition": f'attachment; filename="{kept}.toml"'},
    )


def _published(written: str) -> AnyResponse:
    """Publish the draft, and show what can be done with it from then on."""
    survey = Survey.from_toml(written)
    listed = False if "unlisted" in request.form else None
    given = parameters.filled(Terms)
    filled = read(Terms, given)
    terms = {name: getattr(filled, name) for name in given}
    collector().store.surveys.publish(survey, terms, listed=listed, actor=g.actor)
    return redirect(url_for("operate.survey", survey_id=survey.id), 303)


def _page(draft: Draft, status: int = 200) -> tuple[str, int]:
    data, problem = draft.data, draft.problem
    check: SurveyCheck | None = None
    survey: Survey | None = None
    try:
        survey = Survey.from_toml(draft.written)
        check = check_survey(survey, collector().config.max_gamma)
    except HalftruthError as error:
        problem = problem or str(error)
    step = request.form.get("step")
    shown = render_template(
        "design.html",
        steps=_STEPS,
        step=step if step in _STEPS and request.form.get("do") != "load" else "questions",
        written=draft.written,
        seen=_fingerprint(draft.written),
        problem=problem,
        problem_below=True,
        origin=draft.origin,
        check=check,
        survey=survey,
        document=None if survey is None else survey.canonical_json.decode(),
        unprotected="" if survey is None else " ".join(allowed_by_form(survey)),
        max_gamma=collector().config.max_gamma,
        half_width=half_width,
        number=number,
        unlisted="unlisted" in request.form,
        terms=_terms(),
        slider=(mechanism.LEAST_CHANCE, mechanism.MOST_CHANCE),
        **_controls(data, draft),
        **_precision(survey),
    )
    return shown, status


def _terms() -> Terms | None:
    """Return the terms that were typed, as far as they are any."""
    try:
        return read(Terms, parameters.filled(Terms))
    except HalftruthError:
        return None


def _controls(data: Data | None, draft: Draft) -> dict[str, Any]:
    """Return the values of the form's controls; none of a text that is not TOML."""
    if data is None:
        return {"settings": None, "spoken": [], "place": None, "language": ""}
    written, spoken = questions.questions(data), questions.languages(data)
    language = draft.language if draft.language in spoken else spoken[0]
    *before, after = draft.origin.left_out(questions.names(data))
    outline = [
        {
            "name": str(one.get("name", "")),
            "kind": questions.kind_of(one),
            "label": questions.by_language(one.get("label", ""), spoken)[spoken.index(language)],
            "count": questions.count(one),
            "fate": draft.origin.of(str(one.get("name", ""))),
            "left_out": gone,
        }
        for one, gone in zip(written, before, strict=True)
    ]
    place = draft.place if draft.place is not None and draft.place < len(written) else None
    return {
        "settings": edits.settings_of(data),
        "spoken": spoken,
        "language": language,
        "mechanisms": [known.kind for known in MECHANISMS],
        "kinds": questions.KINDS,
        "outline": outline,
        "left_out": after,
        "place": place,
        "question": None if place is None else edits.fields_of(data, place),
        "conditions": {} if place is None else questions.conditions(data, place),
        "answers": () if place is None else _answers(written[place]),
        "designs": DESIGNS,
        "design_parts": _DESIGN_PARTS,
        "by_question": mechanism.BY_QUESTION,
    }


def _answers(question: Data) -> tuple[str, ...]:
    """The answers to a question, of all options the same."""
    return next(iter(questions.attributes(question).values()), ())


def _precision(survey: Survey | None) -> dict[str, Any]:
    """Return the precision by number of questions together and of each set, in numbers."""
    page: dict[str, Any] = {
        "respondents": request.form.get("respondents", _RESPONDENTS).strip(),
        "wanted": request.form.get("wanted", _WANTED).strip(),
        "plan": None,
        "plan_problem": None,
        "shows": None,
    }
    if survey is None:
        return page
    least, most = (percent(float(f"{fit:.2g}")) for fit in survey.mechanism.fit(survey.schema))
    page["shows"] = most if least == most else f"{least} to {most}"
    try:
        result = _plan(survey, page["respondents"], page["wanted"])
    except HalftruthError as error:
        return page | {"plan_problem": str(error)}
    [own] = result.mechanisms
    best = {bound.length: bound.by_itself for bound in result.bound}
    lengths = [(planned.length, planned, best.get(planned.length)) for planned in own.lengths]
    labels = {attribute.name: attribute.label_in() for attribute in survey.schema.attributes}
    return page | {"plan": result, "labels": labels, "lengths": lengths, "reliability": reliability}


def _plan(survey: Survey, respondents: str, wanted: str) -> PlanResult:
    asked = {"respondents": [respondents], "sets": [str(_SETS)], "alone": ["true"]}
    if wanted:
        try:
            asked["half_width"] = [str(float(wanted) / 100)]
        except ValueError:
            raise ParameterError(
                "wanted: expected percentage points, such as 5", field="wanted"
            ) from None
    return plan(survey, read(PlanQuery, asked))


def _fingerprint(written: str) -> str:
    """Return a hash by which the text that controls were made from is recognized."""
    return sha256(written.encode()).hexdigest()
