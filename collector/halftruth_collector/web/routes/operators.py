"""Calls of operators, one for each action that declares one."""

from typing import Any

from halftruth_shared import Survey
from halftruth_shared.protocol.base import Message, Request

from ...operations import ACTIONS, Action, Call
from ..calls import OPERATORS
from ..context import collector
from ..messages import Confirmation


def _serve(action: Action[..., Any], call: Call) -> None:
    """Register the call of an action."""

    def view(*sent: Any, **places: str) -> Message:
        subject: str | Survey | None
        store, [subject] = collector().store, places.values() or [None]
        arguments, confirm = Request(), None
        for each in sent:
            if isinstance(each, Survey):
                subject = each
            elif isinstance(each, Confirmation):
                confirm = each.confirm
            else:
                arguments = each
        result = action.run(store, subject, arguments, confirm)
        return result if call.answered is None else call.answered(store, subject, result)

    view.__name__, view.__doc__ = action.__name__, action.description
    kind = action.arguments
    # The body has the arguments, unless it is a survey, or there is none.
    in_query = call.document or call.method == "GET"
    body = Survey if call.document else () if in_query or kind is Request else kind
    query = Confirmation if action.is_final else kind if in_query else Request
    OPERATORS.call(
        call.method,
        call.rule,
        answer=call.answer,
        body=body,
        query=query,
        status=call.status,
        errors=call.errors,
    )(view)


for _action in ACTIONS:
    if _action.call is not None:
        _serve(_action, _action.call)
