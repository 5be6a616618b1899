"""Many short byte strings of one length as one parameter of a statement.

A statement for a thousand ids then has the same text, and as few parameters, as one for a single
id; the database cuts the string up by itself, at a fraction of the cost of a thousand rows of
parameters. The text is the same for SQLite and PostgreSQL.
"""

#: Positions from 0 below `size`; to be followed by what selects from `position`. An INSERT or
#: DELETE has it inside: Python's driver for SQLite only counts rows of statements that begin so.
POSITIONS = """
WITH RECURSIVE position(n) AS (
    SELECT 0 UNION ALL SELECT n + 1 FROM position WHERE n + 1 < :size
)"""


def at(parameter: str, width: str) -> str:
    """The SQL expression for the n-th byte string of a parameter.

    >>> at("ids", "16")
    'substr(:ids, n * 16 + 1, 16)'
    """
    return f"substr(:{parameter}, n * {width} + 1, {width})"
