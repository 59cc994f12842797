"""Which accounts and models a re-pricing was narrowed to.

Nullable columns only: the previous version neither writes nor reads them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("repricings", sa.Column("account_ids", sa.Text))
    op.add_column("repricings", sa.Column("models", sa.Text))


def downgrade() -> None:
    """Drop them."""
    op.drop_column("repricings", "models")
    op.drop_column("repricings", "account_ids")
