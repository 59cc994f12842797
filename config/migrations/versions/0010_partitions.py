"""On PostgreSQL, entries are partitioned by month, so that old months can be dropped.

SQLite is not changed. The month of an entry is that of its event id, a UUIDv7: such ids sort by
time as text, so `event_id` stays the primary key. Ids of another form, and those of a month without
a partition, are in the partition `entries_default`.

Safe on a ledger in use: the present table becomes the partition of all ids up to the end of next
month, and no row is copied. `prepared` proves first that it has only such ids, without a lock that
posts or reads wait for; the migration itself then takes milliseconds. Grants on the table are
copied. Views, triggers and publications that somebody else has added to it stay with the old rows:
create them again.

Workers of the previous version continue to post and to prune.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError

revision = "0010"
down_revision = "0009"

#: Proves that the present table fits its partition. It exists only during the migration.
PROOF = "entries_fit_their_partition"
INDEXES = {
    "entries_by_account_and_time": ("account_id", "started_at_ms"),
    "entries_by_time": ("started_at_ms",),
}


@contextmanager
def prepared(engine: Engine) -> Iterator[None]:
    """Prove that the entries fit the partition that they become; undo that if the migration fails.

    Runs before the migration, in transactions of its own: adding the proof waits for no row, and
    validating it reads all rows without blocking a post. If an id does not fit, there is no proof,
    and the migration moves such entries, and reads the table while it is locked.
    """
    if engine.dialect.name != "postgresql":
        yield
        return
    bound = _start_of_the_month_after_next()
    try:
        if _largest_id(engine) < bound:
            _prove(engine, bound)
        yield
    except BaseException:
        _drop_proof(engine)
        raise


def upgrade() -> None:
    """Create the partitioned table; the present one becomes its first partition."""
    if op.get_bind().dialect.name != "postgresql":
        return
    bound, is_proved = _proved_bound(op.get_bind())
    op.rename_table("entries", "entries_initial")
    for name in ("entries_pkey", *INDEXES):
        op.execute(f"ALTER INDEX {name} RENAME TO {name.replace('entries', 'entries_initial', 1)}")
    op.execute(
        "CREATE TABLE entries (LIKE entries_initial INCLUDING DEFAULTS)"
        " PARTITION BY RANGE (event_id)"
    )
    op.execute("ALTER TABLE entries ADD PRIMARY KEY (event_id)")
    for name, columns in INDEXES.items():
        op.create_index(name, "entries", list(columns))
    _copy_grants(op.get_bind())
    op.execute("CREATE TABLE entries_default PARTITION OF entries DEFAULT")
    if not is_proved:
        op.execute(
            "WITH moved AS"  # noqa: S608 - a bound of ours
            f" (DELETE FROM entries_initial WHERE event_id >= '{bound}' RETURNING *)"
            " INSERT INTO entries_default SELECT * FROM moved"
        )
    op.execute(
        "ALTER TABLE entries ATTACH PARTITION entries_initial"
        f" FOR VALUES FROM (MINVALUE) TO ('{bound}')"
    )
    op.execute(f"ALTER TABLE entries_initial DROP CONSTRAINT IF EXISTS {PROOF}")


def downgrade() -> None:
    """Copy all entries into one table again; posts and reads wait meanwhile."""
    if op.get_bind().dialect.name != "postgresql":
        return
    op.rename_table("entries", "entries_partitioned")
    op.execute("CREATE TABLE entries (LIKE entries_partitioned INCLUDING DEFAULTS)")
    op.execute("INSERT INTO entries SELECT * FROM entries_partitioned")
    op.drop_table("entries_partitioned")
    op.execute("ALTER TABLE entries ADD PRIMARY KEY (event_id)")
    for name, columns in INDEXES.items():
        op.create_index(name, "entries", list(columns))


def _start_of_the_month_after_next() -> str:
    """Return the text that UUIDv7s of that month and later begin with, or exceed."""
    now = datetime.now(UTC)
    months = now.year * 12 + now.month - 1 + 2
    start = datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)
    digits = f"{int(start.timestamp()) * 1000:012x}"
    return f"{digits[:8]}-{digits[8:]}"


def _largest_id(engine: Engine) -> str:
    with engine.begin() as connection:
        return str(connection.scalar(sa.text("SELECT max(event_id) FROM entries")) or "")


def _prove(engine: Engine, bound: str) -> None:
    with engine.begin() as connection:
        # One of a migration that was killed has an old bound.
        connection.execute(sa.text(f"ALTER TABLE entries DROP CONSTRAINT IF EXISTS {PROOF}"))
        check = f"ADD CONSTRAINT {PROOF} CHECK (event_id < '{bound}') NOT VALID"
        connection.execute(sa.text(f"ALTER TABLE entries {check}"))
    try:
        with engine.begin() as connection:
            connection.execute(sa.text("SET LOCAL statement_timeout = 0"))
            connection.execute(sa.text(f"ALTER TABLE entries VALIDATE CONSTRAINT {PROOF}"))
    except IntegrityError:  # such an id was posted just before
        _drop_proof(engine)


def _drop_proof(engine: Engine) -> None:
    try:
        with engine.begin() as connection:
            connection.execute(sa.text(f"ALTER TABLE entries DROP CONSTRAINT IF EXISTS {PROOF}"))
    except DBAPIError:  # the database is gone; the next attempt drops it
        return


def _proved_bound(connection: Connection) -> tuple[str, bool]:
    """Return the end of the first partition's ids, and whether all entries are known to fit."""
    definition = connection.scalar(
        sa.text(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = :name"
            " AND conrelid = to_regclass('entries') AND convalidated"
        ),
        {"name": PROOF},
    )
    found = re.search(r"'([0-9a-f-]+)'", definition or "")
    return (found[1], True) if found else (_start_of_the_month_after_next(), False)


def _copy_grants(connection: Connection) -> None:
    """Grant on the new table what others may do with the old one."""
    grants = connection.scalars(
        sa.text(
            "SELECT format('GRANT %s ON entries TO %s', privilege_type,"
            " CASE grantee WHEN 0 THEN 'PUBLIC' ELSE CAST(CAST(grantee AS regrole) AS text) END)"
            " FROM pg_class, aclexplode(relacl)"
            " WHERE oid = to_regclass('entries_initial') AND grantee <> relowner"
        )
    )
    for grant in grants.all():
        connection.execute(sa.text(grant))
