"""Selection of the databases for tests outside the store."""

import pytest

#: SQLite, and at night also PostgreSQL: only tests of the store cover differences in SQL.
on_both = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)], indirect=True
)
