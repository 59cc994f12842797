"""The source `drained` is called `read`.

Safe on a live table: only rows with the former word are locked and written, and no rollup holds a
source. Workers of the version before may still post the former word after this; every reader takes
it as `read`. That version does not know `read`, and takes such entries for estimates when it
rebuilds rollups.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

entries = sa.table("entries", sa.column("source"))


def upgrade() -> None:
    """Replace the former word in all entries."""
    _replace("drained", "read")


def downgrade() -> None:
    """Put the former word back."""
    _replace("read", "drained")


def _replace(old: str, new: str) -> None:
    op.execute(entries.update().where(entries.c.source == old).values(source=new))
