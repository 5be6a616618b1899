"""Invitations as a caller gives them: one for each report, or none for any."""

import re
from collections.abc import Callable, Sequence

from halftruth_shared import ParameterError

_INVITATION = re.compile(r"[0-9a-f]{32}", re.ASCII)


def check_form(invitations: Sequence[str | None]) -> None:
    """Refuse what is no invitation.

    Raises
    ------
    ParameterError
        Naming the first one by its position; it is not quoted.
    """
    _require(invitations, _is_invitation_or_none, "32 lower-case hexadecimal digits")


def fit(invitations: Sequence[str | None], wanted: bool) -> bool:
    """Whether there is one for each report, or none where none is wanted."""
    return all(_is_given(invitation) == wanted for invitation in invitations)


def check_wanted(invitations: Sequence[str | None], survey: str, wanted: bool) -> None:
    """Refuse those that a survey does not ask for, or their absence.

    Raises
    ------
    ParameterError
    """
    if wanted:
        expected = f"32 hexadecimal digits, since survey '{survey}' asks for an invitation"
        _require(invitations, _is_given, expected)
    else:
        expected = f"none, since survey '{survey}' asks for no invitation"
        _require(invitations, _is_not_given, expected)


def _is_given(invitation: str | None) -> bool:
    return invitation is not None


def _is_not_given(invitation: str | None) -> bool:
    return invitation is None


def _is_invitation_or_none(invitation: str | None) -> bool:
    return invitation is None or (
        isinstance(invitation, str) and _INVITATION.fullmatch(invitation) is not None
    )


def _require(
    invitations: Sequence[str | None], fits: Callable[[str | None], bool], expected: str
) -> None:
    """Refuse the first invitation that does not fit, without quoting it."""
    for i, invitation in enumerate(invitations):
        if not fits(invitation):
            name = "invitation" if len(invitations) == 1 else f"invitation {i}"
            raise ParameterError(f"{name}: expected {expected}", field="invitation")
