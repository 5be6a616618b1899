"""Databases that a test is on, beside those of the store's own SQL, which are on both."""

import pytest

#: SQLite, and at night PostgreSQL too: only tests of the store are about differences in SQL.
on_both = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)], indirect=True
)
