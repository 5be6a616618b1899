"""Pages for operators: surveys, invitations and tokens.

Every page works without scripts. An operator signs in with a token; see :mod:`~.session`.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import msgspec
from flask import Response, redirect, render_template, request, url_for
from halftruth_shared import HalftruthError, ParameterError
from halftruth_shared.analyses.reading import read
from halftruth_shared.protocol.base import Request
from halftruth_shared.protocol.terms import Signature, SignedTerms, Terms
from msgspec import UNSET, UnsetType
from werkzeug.wrappers import Response as AnyResponse

from ... import operations
from ...collector_store import Store
from ...dry_run import check_survey
from ...store.surveys import describe_limits
from .. import invitations as invited
from .. import parameters
from ..context import collector
from ..errors import status_of
from ..messages import InvitationRequest, TokenRequest
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


def _read_form(kind: type[R]) -> R:
    """Parse the values of the form of a page."""
    return read(kind, parameters.from_form(kind))


def _confirmed(action: Callable[..., T]) -> Callable[[Store, str], T]:
    """Return a final action that is confirmed by the field `confirm` of its form."""

    def run(store: Store, survey_id: str) -> T:
        return action(store, survey_id, confirm=request.form.get("confirm", "").strip())

    return run


#: Actions on a survey, by the last part of the address.
_ACTIONS: dict[str, Callable[[Store, str], object]] = {
    "close": _confirmed(operations.close_survey),
    "reopen": operations.reopen_survey,
    "list": partial(operations.set_listing, listed=True),
    "unlist": partial(operations.set_listing, listed=False),
    "terms": _set_terms,
    "withdraw": _confirmed(operations.revoke_invitations),
}


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


@blueprint.post(f"/surveys/<survey_id>/<any({', '.join(map(repr, _ACTIONS))}):action>")
def act(survey_id: str, action: str) -> Answer:
    """Run an action on a survey."""
    try:
        _ACTIONS[action](collector().store, survey_id)
    except HalftruthError as error:
        return survey(survey_id, error)
    return redirect(url_for("operate.survey", survey_id=survey_id), 303)


@blueprint.post("/surveys/<survey_id>/delete")
def delete(survey_id: str) -> Answer:
    """Delete a survey after the operator has typed its id."""
    try:
        done = _confirmed(operations.delete_survey)(collector().store, survey_id)
    except HalftruthError as error:
        return survey(survey_id, error)
    return render_template("operate_deleted.html", done=done)


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
