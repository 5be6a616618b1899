"""When a survey takes no more reports: closed by its operator, at its deadline, or by its quota."""

from datetime import datetime
from typing import Literal

from halftruth_shared.protocol.terms import Terms
from sqlalchemy import BigInteger, Column, ColumnElement, Connection, cast, func, select

from .tables import daily_outcomes

Reason = Literal["operator", "deadline", "quota"]

#: The outcome of reports that were counted.
COUNTED = "counted"


def reason(
    status: str,
    closes_at: datetime | None,
    now: datetime,
    quota: int | None = None,
    have: int = 0,
) -> Reason | None:
    """Reason for which a survey takes no reports; None where it does.

    Parameters
    ----------
    status : {"open", "closed"}
    closes_at, now : datetime
        With a time zone.
    quota, have : int, optional
    """
    if status == "closed":
        return "operator"
    if closes_at is not None and now >= closes_at:
        return "deadline"
    return "quota" if quota is not None and have >= quota else None


def counted(connection: Connection, number: int) -> int:
    """Number of a survey's reports."""
    statement = select(total(daily_outcomes.c.count)).where(
        daily_outcomes.c.survey == number, daily_outcomes.c.outcome == COUNTED
    )
    return connection.execute(statement).scalar() or 0


def total(shards: Column[int]) -> ColumnElement[int]:
    """Sum over shards; PostgreSQL would make it a decimal number."""
    return cast(func.sum(shards), BigInteger)


def describe_limits(terms: Terms) -> list[str]:
    """Deadline, quota and shared devices in words; nothing where there are none."""
    return [
        *([] if terms.closes_at is None else [f"until {terms.closes_at:%Y-%m-%d %H:%M:%S} UTC"]),
        *([] if terms.max_reports is None else [f"at most {terms.max_reports} reports"]),
        *(["several people on a device"] if terms.shared_devices else []),
    ]
