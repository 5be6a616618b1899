"""Runs the migrations inside the transaction that the caller opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
