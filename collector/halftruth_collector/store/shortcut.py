"""What most groups come to, as one statement of PostgreSQL.

Nearly every group holds new reports to one open survey that asks for no invitations. Its
transaction takes six round trips: begin, read the survey, record ids, count cells, count arrivals,
commit. Here one statement does the same, and is its own transaction. Where anything is out of the
ordinary (a repeated id, another digest, a closed survey) the statement fails as a whole, nothing of
it is kept, and the group takes the long way.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import Date, bindparam, text

from ..errors import StoreRefused
from .database import Database
from .slices import POSITIONS, at
from .submissions import Submission

#: Fails by a division by zero unless every id was new to a survey that takes it.
_STATEMENT = f"""{POSITIONS},
survey AS (
    SELECT number FROM surveys
    WHERE id = :id AND digest = :digest AND status = 'open' AND NOT invitations
    AND (sealing_key IS NOT NULL) = :sealed
    FOR SHARE
),
own AS MATERIALIZED (SELECT coalesce({{free_shard}}, 0) AS shard),
inserted AS (
    INSERT INTO report_ids (survey, report_id, cell)
    SELECT number, {at("ids", "16")}, {at("cells", ":width")} FROM survey, position
    ON CONFLICT DO NOTHING RETURNING survey, cell
),
counted AS (
    INSERT INTO cells (survey, cell, shard, count)
    SELECT survey, cell, shard, count(*) FROM inserted, own GROUP BY survey, cell, shard
    ORDER BY cell
    ON CONFLICT (survey, cell, shard) DO UPDATE SET count = cells.count + excluded.count
),
arrived AS (
    INSERT INTO arrivals (survey, day, outcome, shard, count)
    SELECT survey, :day, :outcome, shard, count(*) FROM inserted, own GROUP BY survey, shard
    ON CONFLICT (survey, day, outcome, shard) DO UPDATE SET count = arrivals.count + excluded.count
)
SELECT 1 / (CASE WHEN count(*) = :size THEN 1 ELSE 0 END) FROM inserted
"""


class Shortcut:
    """Counts groups of new reports to one survey in one round trip.

    Parameters
    ----------
    database : Database
        PostgreSQL.
    free_shard : str
        SQL expression for a shard that no other transaction counts in, or NULL.
    outcome : str
        What the reports of a group are in `arrivals`.
    """

    def __init__(self, database: Database, free_shard: str, outcome: str) -> None:
        self._database = database
        self._outcome = outcome
        self._statement = text(_STATEMENT.format(free_shard=free_shard)).bindparams(
            bindparam("day", type_=Date)
        )

    def count(self, group: Sequence[Submission]) -> bool:
        """Count the reports of a group durably, all of them or none.

        Returns
        -------
        bool
            Whether they were counted.

        Raises
        ------
        StoreUnavailable
            Whether they were counted is then unknown.
        """
        first = group[0]
        packed = {id_: cell for each in group for id_, cell in each.packed.items()}
        if any(
            each.invitations
            or (each.survey_id, each.digest, each.sealed)
            != (first.survey_id, first.digest, first.sealed)
            for each in group
        ) or not 0 < len(packed) == sum(len(each.ids) for each in group):
            return False
        # In order, so that two transactions with common ids cannot wait for each other.
        ids = sorted(packed)
        parameters = {
            "id": first.survey_id,
            "digest": first.digest,
            "sealed": first.sealed,
            "ids": b"".join(ids),
            "cells": b"".join([packed[id_] for id_ in ids]),
            "width": len(packed[ids[0]]),
            "size": len(ids),
            "day": datetime.now(UTC).date(),
            "outcome": self._outcome,
        }
        try:
            with self._database.statements() as connection:
                connection.execute(self._statement, parameters)
        except StoreRefused:
            return False
        return True
