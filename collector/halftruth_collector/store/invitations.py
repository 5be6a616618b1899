"""Invitations: single-use tokens, each of which lets one report in."""

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
    the report that it let in. UnknownSurvey is raised if there is no such survey.
    """

    def __init__(self, database: Database, surveys: SurveyStore) -> None:
        self._database = database
        self._surveys = surveys

    def count(self, survey_id: str) -> InvitationCount:
        """Numbers of a survey's invitations."""
        state = self._surveys.state(survey_id)
        return InvitationCount(
            issued=state.invited,
            used=state.invited - state.withdrawn - state.unused,
            withdrawn=state.withdrawn,
            unused=state.unused,
        )

    def is_unused(self, survey_id: str, hash_: bytes) -> bool:
        """True if an invitation would let a report in now; nothing is kept of the question."""
        with self._database.reading_reports() as connection:
            number = find(connection, survey_id).number
            where = (invitations.c.survey == number, invitations.c.hash == hash_)
            return connection.execute(select(exists().where(*where))).scalar_one()


def hash_invitation(invitation: bytes) -> bytes:
    """Hash of an invitation, as it is stored; nobody can search 2¹²⁸ of them for a given one."""
    return hashlib.sha256(invitation).digest()
