"""Pages for operators: surveys, invitations and tokens.

Every page works without scripts. An operator signs in with a token; see :mod:`~.session`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
from flask import Response, redirect, render_template, request, url_for
from halftruth_shared import HalftruthError, ParameterError
from halftruth_shared.analyses.reading import fields, read
from halftruth_shared.protocol.base import Request
from halftruth_shared.protocol.terms import Signature, SignedTerms, Terms
from msgspec import UNSET, UnsetType
from werkzeug.wrappers import Response as AnyResponse

from ... import operations
from ...collector_store import Store
from ...dry_run import check_survey
from ...operations import ACTIONS, Action, Form, Offer
from ...operations.invitations import InvitationRequest
from ...operations.tokens import TokenRequest
from ...store.retention import Deleted
from ...store.surveys import SurveyState, describe_limits
from .. import invitations as invited
from .. import parameters
from ..context import collector
from ..errors import status_of
from .controls import Control, Option
from .session import guarded

blueprint = guarded("operate", "/operate", "operator")

T = TypeVar("T")
R = TypeVar("R", bound=Request)
Answer = str | AnyResponse | tuple[str, int]


def _set_terms(store: Store, survey_id: str) -> None:
    """Set the terms that were changed in the form, or all terms from a signed document."""
    signed = request.form.get("signed", "").strip()
    signature: Signature | UnsetType | None = None if "unsigned" in request.form else UNSET
    if signed:
        new = _decode_field("signed", signed, SignedTerms, "what 'halftruth survey sign' prints")
        terms, before, signature = new.terms, None, new.signature
    else:
        # Keep changes that others have made since the form was shown.
        shown = request.form.get("before", "{}")
        before = _decode_field("before", shown, Terms, "the form of this page")
        terms = _read_form(Terms)
    changes = {
        name: value
        for name, value in msgspec.structs.asdict(terms).items()
        if before is None or value != getattr(before, name)
    }
    operations.set_terms(store, survey_id, changes, signature)


def _decode_field(field: str, text: str, kind: type[T], accepted: str) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError, ValueError):
        raise ParameterError(f"{field}: expected {accepted}", field=field) from None


def _read_form(kind: type[R], given: Mapping[str, Any] = MappingProxyType({})) -> R:
    """Parse the values of the form of a page, besides those that it fixes."""
    fixed = {name: [str(value).lower()] for name, value in given.items()}
    return read(kind, parameters.from_form(kind) | fixed)


#: Actions with their forms, by the last part of the address of a form.
_FORMS = {form.path: (action, form) for action in ACTIONS for form in action.forms}


def _offered(state: SurveyState) -> dict[str, list[tuple[Form, Offer, list[Control]]]]:
    """Return the forms that are offered in a state of a survey, by section."""
    sections: dict[str, list[tuple[Form, Offer, list[Control]]]] = {}
    for action, form in _FORMS.values():
        offers = sections.setdefault(form.section, [])
        if (offer := form.offer(state)) is not None:
            offers.append((form, offer, _controls(action, form)))
    return sections


def _controls(action: Action[..., Any], form: Form) -> list[Control]:
    """Return the controls of the arguments that a form does not fix."""
    found = []
    for field in fields(action.arguments).values():
        if field.name in form.given:
            continue
        value = "" if field.default is None else str(field.default).lower()
        label = field.name.replace("_", " ").capitalize()
        choices = ("false", "true") if field.kind == "flag" else field.choices
        options = tuple(Option(each, each, each == value) for each in choices)
        kind = "select" if options else "input"
        found.append(Control(field.name, label, field.description, kind, value, (options,)))
    return found


@blueprint.get("/")
def surveys() -> str:
    """List all surveys with their state."""
    states = collector().store.surveys.states()
    return render_template("operate_surveys.html", states=states, describe_limits=describe_limits)


@blueprint.get("/surveys/<survey_id>")
def survey(survey_id: str, problem: HalftruthError | None = None) -> Answer:
    """Show a survey with all actions on it."""
    surveys, config = collector().store.surveys, collector().config
    state, stored = surveys.state(survey_id), surveys.get(survey_id)
    return _page(
        "operate_survey.html",
        problem,
        state=state,
        limits=describe_limits(state.terms),
        offered=_offered(state),
        before=msgspec.json.encode(state.terms).decode(),
        check=check_survey(stored.survey(), config.form_limits, state.terms),
        sealing_keys=collector().known_keys(),
        most_cards=invited.MOST_CARDS,
    )


@blueprint.get("/tokens")
def tokens(made: str | None = None, problem: HalftruthError | None = None) -> Answer:
    """List all tokens, with a form for a new one."""
    return _page(
        "operate_tokens.html",
        problem,
        tokens=collector().store.tokens.all(),
        surveys=collector().store.surveys.all(),
        now=datetime.now(UTC),
        made=made,
        given=request.form if problem else {},
    )


@blueprint.post(f"/surveys/<survey_id>/<any({', '.join(map(repr, _FORMS))}):path>")
def act(survey_id: str, path: str) -> Answer:
    """Perform an action on a survey."""
    action, form = _FORMS[path]
    try:
        arguments = _read_form(action.arguments, form.given)
        confirm = request.form.get("confirm", "").strip()
        done = action.run(collector().store, survey_id, arguments, confirm)
    except HalftruthError as error:
        return survey(survey_id, error)
    if isinstance(done, Deleted):
        return render_template("operate_deleted.html", done=done)
    return redirect(url_for("operate.survey", survey_id=survey_id), 303)


@blueprint.post("/surveys/<survey_id>/terms")
def set_terms(survey_id: str) -> Answer:
    """Set the terms of a survey."""
    try:
        _set_terms(collector().store, survey_id)
    except HalftruthError as error:
        return survey(survey_id, error)
    return redirect(url_for("operate.survey", survey_id=survey_id), 303)


@blueprint.post("/surveys/<survey_id>/invitations")
def invite(survey_id: str) -> Answer:
    """Create invitations, as a table of links or as cards for printing."""
    as_cards = request.form.get("as") == "cards"
    try:
        asked = _read_form(InvitationRequest)
        if as_cards:
            invited.check_cards(asked.count)
        store = collector().store
        made = operations.create_invitations(store, survey_id, asked.count)
    except HalftruthError as error:
        return survey(survey_id, error)
    form = url_for("pages.form", survey_id=survey_id, _external=True)
    if not as_cards:
        return Response(
            invited.as_csv(form, made),
            mimetype="text/csv",
            headers={"Content-Disposition": f'attachment; filename="{survey_id}-invitations.csv"'},
        )
    return render_template(
        "cards.html",
        title=collector().store.surveys.get(survey_id).survey().title_in(),
        cards=invited.cards(form, made),
        style=None,
        again=url_for("operate.survey", survey_id=survey_id),
    )


@blueprint.post("/tokens")
def create_token() -> Answer:
    """Create a token, and show it once."""
    try:
        asked = msgspec.structs.asdict(_read_form(TokenRequest))
        token = operations.create_token(collector().store, **asked)
    except HalftruthError as error:
        return tokens(problem=error)
    return tokens(made=token)


@blueprint.post("/tokens/<token_id>/revoke")
def revoke_token(token_id: str) -> Answer:
    """Revoke a token."""
    operations.revoke_token(collector().store, token_id)
    return redirect(url_for("operate.tokens"), 303)


def _page(template: str, problem: HalftruthError | None, **values: Any) -> Answer:
    """Render a page, with an error if there is one."""
    if problem is None:
        return render_template(template, problem=None, **values)
    return render_template(template, problem=str(problem), **values), status_of(problem)
