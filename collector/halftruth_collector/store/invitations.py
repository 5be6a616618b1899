"""Invitations: single-use tokens, each of which lets one report in."""

import secrets
from dataclasses import dataclass

from halftruth_shared import ParameterError
from sqlalchemy import func, select, text, update

from .audit import AuditLog
from .database import Database
from .slices import POSITIONS, at
from .submissions import INVITATION_SIZE, hash_invitation
from .surveys import find
from .tables import invitations, surveys

#: Most invitations of one call.
_MOST = 1_000_000

_ISSUE = text(
    f"""
    INSERT INTO invitations (survey, hash) {POSITIONS}
    SELECT :survey, {at("hashes", "32")} FROM position
    """
)

_WITHDRAW = text(
    f"""
    DELETE FROM invitations WHERE survey = :survey
    AND hash IN ({POSITIONS} SELECT {at("hashes", "32")} FROM position)
    """
)


@dataclass(frozen=True)
class InvitationCount:
    """How many invitations of a survey were issued, used, withdrawn, and are still good."""

    issued: int
    used: int
    withdrawn: int
    unused: int


class InvitationStore:
    """Issues, counts and withdraws invitations.

    Only the hash of an invitation is stored, and its row is deleted in the transaction that counts
    the report that it let in.
    """

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    def create(self, survey_id: str, count: int) -> list[str]:
        """New invitations, which are not stored and cannot be shown again.

        Raises
        ------
        ParameterError
            If there would be none, or more than a million.
        UnknownSurvey, StoreUnavailable
        """
        if not 1 <= count <= _MOST:
            raise ParameterError(f"count: expected 1 to {_MOST} invitations", field="count")
        made = [secrets.token_bytes(INVITATION_SIZE) for _ in range(count)]
        # In order of their hashes, so that nothing tells which was made first.
        hashes = b"".join(sorted(hash_invitation(invitation) for invitation in made))
        with self._database.writing() as connection:
            number = find(connection, survey_id).number
            connection.execute(_ISSUE, {"survey": number, "hashes": hashes, "size": count})
            connection.execute(
                update(surveys)
                .where(surveys.c.number == number)
                .values(invited=surveys.c.invited + count)
            )
            self._audit.record(connection, "invite create", survey_id, f"{count} invitations")
        return [invitation.hex() for invitation in made]

    def count(self, survey_id: str) -> InvitationCount:
        """How many there are, and what became of them.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """
        with self._database.reading() as connection:
            number = find(connection, survey_id).number
            row = connection.execute(
                select(surveys.c.invited, surveys.c.withdrawn).where(surveys.c.number == number)
            ).one()
            statement = select(func.count()).where(invitations.c.survey == number)
            unused = connection.execute(statement).scalar_one()
        used = row.invited - row.withdrawn - unused
        return InvitationCount(row.invited, used, row.withdrawn, unused)

    def revoke(self, survey_id: str, chosen: list[bytes] | None = None) -> int:
        """Make invitations useless that nobody used; all of them, or those chosen.

        Returns
        -------
        int
            How many there were.

        Raises
        ------
        UnknownSurvey, StoreUnavailable
        """
        with self._database.writing() as connection:
            number = find(connection, survey_id, lock=True).number
            if chosen is None:
                done = connection.execute(
                    invitations.delete().where(invitations.c.survey == number)
                ).rowcount
            elif not chosen:
                done = 0
            else:
                hashes = b"".join(hash_invitation(invitation) for invitation in chosen)
                parameters = {"survey": number, "hashes": hashes, "size": len(chosen)}
                done = connection.execute(_WITHDRAW, parameters).rowcount
            connection.execute(
                update(surveys)
                .where(surveys.c.number == number)
                .values(withdrawn=surveys.c.withdrawn + done)
            )
            self._audit.record(connection, "invite revoke", survey_id, f"{done} invitations")
        return done
