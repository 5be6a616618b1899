"""Confirmation of final actions, which only a back-up could undo.

Each one calls :func:`require` in its transaction, which is rolled back without the confirmation.
Commands, HTTP calls and pages pass on what their user has typed, so none of them can perform the
action without it.
"""

from __future__ import annotations

from .errors import NotConfirmed

#: Confirms an action on several surveys, whichever they are, as a timer has to; it is no id.
EVERY = "*"


def require(
    confirm: str | None, expected: str, *, reason: str, done: str, every: str | None = None
) -> None:
    """Raise NotConfirmed unless an action was confirmed.

    Parameters
    ----------
    confirm : str or None
        What was typed.
    expected : str
        The id of the survey, or the key, that the action is about; several ids with commas.
    reason : str
        What the action would end, as a clause.
    done : str
        The action as a participle, such as "deleted".
    every : str, optional
        Description of all surveys that EVERY stands for, if it confirms the action.
    """
    if confirm == expected or (every is not None and confirm == EVERY):
        return
    other = "" if every is None else f" (or {EVERY} for {every})"
    raise NotConfirmed(
        f"confirm: expected {expected}{other}, since {reason}; nothing was {done}",
        expected=expected,
        reason=reason,
    )
