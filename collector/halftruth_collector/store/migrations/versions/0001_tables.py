"""Create the tables, which are those of the program until the first release."""

from alembic import op
from halftruth_collector.store.tables import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables; fail if one of them exists."""
    metadata.create_all(op.get_bind(), checkfirst=False)
