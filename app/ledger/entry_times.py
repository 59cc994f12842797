"""How entries ended and how long they took, counted by the database: rows of `latencies`."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Select, func, select

from app.ledger import histogram
from app.storage.sql.tables import entries

#: The values that were grouped by.
Key = tuple[Any, ...]
#: Requests, and the histograms of the time to the first token and of the duration.
Sums = list[int]

#: What can be grouped by: the columns of `latencies` that are not times.
GROUPS: dict[str, ColumnElement[Any]] = {
    "account_id": entries.c.account_id,
    "api_key_id": entries.c.api_key_id,
    "vendor": entries.c.vendor,
    "model": entries.c.model,
    "vendor_served": func.coalesce(entries.c.vendor_served, entries.c.vendor),
    "status": entries.c.status,
    "http_status": func.coalesce(entries.c.http_status, sa.literal_column("0")),
}


def count_entries(
    connection: Connection, names: Sequence[str], where: Iterable[ColumnElement[bool]]
) -> dict[Key, Sums]:
    """Return the sums of the entries that match, by the columns `names` of GROUPS.

    Only completed requests are in the histograms: the others do not show how fast a vendor is.
    """
    counted: defaultdict[Key, Sums] = defaultdict(lambda: [0, 0, 0])
    keys, where = [GROUPS[name].label(name) for name in names], tuple(where)
    for *key, requests in connection.execute(_grouped(keys, where)):
        counted[tuple(key)][0] = requests
    completed = (*where, entries.c.status == "completed")
    for index, name in ((1, "first_token_ms"), (2, "duration_ms")):
        column = entries.c[name]
        bucket = _bucket(name).label("bucket")
        for *key, number, times in connection.execute(
            _grouped([*keys, bucket], (*completed, column.is_not(None)))
        ):
            counted[tuple(key)][index] += times * histogram.of_bucket(number)
    return counted


def _grouped(
    keys: Sequence[ColumnElement[Any]], where: Sequence[ColumnElement[bool]]
) -> Select[Any]:
    # By position, because PostgreSQL treats expressions with different parameters as different.
    by: Iterable[ColumnElement[Any]] = (
        sa.literal_column(str(at)) for at in range(1, len(keys) + 1)
    )
    return select(*keys, func.count()).select_from(entries).where(*where).group_by(*by)


@cache
def _bucket(name: str) -> ColumnElement[int]:
    """Return the number of a time's bucket, as `histogram.bucket_of` computes it."""
    text = f"CASE WHEN {name} < 32 THEN {name}"
    for doublings in range(1, histogram.DOUBLINGS + 1):
        text += f" WHEN {name} < {32 << doublings} THEN {doublings * 16} + ({name} >> {doublings})"
    return sa.literal_column(f"{text} ELSE {histogram.LAST_BUCKET} END", sa.BigInteger)
