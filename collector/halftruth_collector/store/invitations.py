"""Invitations: single-use tokens, each of which admits one report."""

from __future__ import annotations

import hashlib

from halftruth_shared.protocol.base import Message
from sqlalchemy import exists, select

from .database import Database
from .surveys import SurveyStore, find
from .tables import invitations


class InvitationCount(Message, frozen=True, kw_only=True):
    """Numbers of a survey's invitations that were issued, used, withdrawn, and are unused."""

    issued: int
    used: int
    withdrawn: int
    unused: int


class InvitationStore:
    """Counts invitations.

    Only the hash of an invitation is stored, and its row is deleted in the transaction that counts
    its report. Raises UnknownSurvey.
    """

    def __init__(self, database: Database, surveys: SurveyStore) -> None:
        self._database = database
        self._surveys = surveys

    def count(self, survey_id: str) -> InvitationCount:
        """Return the numbers of a survey's invitations."""
        state = self._surveys.state(survey_id)
        return InvitationCount(
            issued=state.invited,
            used=state.invited - state.withdrawn - state.unused,
            withdrawn=state.withdrawn,
            unused=state.unused,
        )

    def is_unused(self, survey_id: str, hash_: bytes) -> bool:
        """Return whether an invitation is unused, without recording the check."""
        with self._database.reading_reports() as connection:
            number = find(connection, survey_id).number
            where = (invitations.c.survey == number, invitations.c.hash == hash_)
            return connection.execute(select(exists().where(*where))).scalar_one()


def hash_invitation(invitation: bytes) -> bytes:
    """Return the SHA-256 of an invitation; a search among 2¹²⁸ invitations is infeasible."""
    return hashlib.sha256(invitation).digest()
