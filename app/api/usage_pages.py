"""What the usage API and the cost API share: access, pages, CSV files, and completeness.

Does not depend on the fields of either.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Any, Generic

from flask import Response

from app.accounts.access import disabled_account
from app.accounts.apikey import ApiKey
from app.api.schemas.usage_params import FILE_BUCKETS, UsageParams
from app.container import services
from app.formats.strict_json import dump
from app.ledger.reports.buckets import Bucket, Cursor, buckets
from app.ledger.reports.csv_cells import csv_headings, csv_line
from app.ledger.reports.pages import RowReader, RowT, fill
from app.ledger.reports.query import GroupKey, UsageQuery
from app.ledger.reports.source import ReportSource
from app.ledger.slots import SLOT_S, floor_to
from app.usage.completeness import complete_until_ms
from app.vocabulary.errors import AccountNotAllowed, InvalidRequest, StreamUnavailable

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class UsageReport(Generic[RowT]):
    """One kind of report: its groups (OpenAI's name -> ours), and a row in JSON and in CSV.

    `reader` selects what reads its rows; the fields of `nothing`, a row, give the headings of a
    file. `is_usage`: the report has every request up to a time that it names.
    """

    name: str
    groups: Mapping[str, GroupKey | None]
    result: Callable[[RowT, frozenset[str]], dict[str, Any]]
    cells: Callable[[RowT, frozenset[str]], dict[str, Any]]
    reader: Callable[[ReportSource], RowReader[RowT]]
    nothing: RowT
    is_usage: bool = True

    def query(self, params: UsageParams, account_ids: frozenset[str] | None) -> UsageQuery:
        """Return the query of the ledger, without its range."""
        return UsageQuery(
            start_s=0,
            end_s=0,
            account_ids=account_ids,
            api_key_ids=params.api_key_ids,
            # Tollgate has no batch jobs.
            models=frozenset() if params.batch else params.models,
            users=params.user_ids,
            endpoints=params.endpoints,
            group_by=tuple(k for name, k in self.groups.items() if k and name in params.group_by),
        )


def respond(report: UsageReport[RowT], params: UsageParams, key: ApiKey) -> Response:
    """Return one page of buckets, including empty ones, or a CSV file of the whole range.

    A key with the scope `usage` sees its own accounts; a key with `admin` sees all. The header
    `x-tollgate-complete-until` (Unix seconds) is the time up to which every request is counted. It
    is absent while Redis is unavailable.
    Raises: AccountNotAllowed, AccountDisabled, InvalidRequest, LedgerUnavailable.
    """
    query = report.query(params, _visible_accounts(key, params.project_ids))
    # Read before the ledger: requests posted in between only make the result more complete.
    source = services().reports.open()
    until_s = complete_until_s(source) if report.is_usage else None
    if params.as_csv:
        response = _file(report, params, query, report.reader(source))
    else:
        page = _page(report, params, query, report.reader(source))
        response = Response(dump(page), mimetype="application/json")
    if until_s is not None:
        response.headers["x-tollgate-complete-until"] = str(until_s)
    return response


def _visible_accounts(key: ApiKey, asked: frozenset[str] | None) -> frozenset[str] | None:
    """Return the accounts whose usage to return; None for all."""
    if "admin" in key.scopes:
        return asked
    own = frozenset(key.enabled_account_ids)
    if asked is None:
        return own
    if disabled := asked & key.disabled_account_ids:
        raise disabled_account(min(disabled), "project_ids")
    if asked - own:
        raise AccountNotAllowed(
            "This API key may not read the usage of an account in `project_ids`.",
            param="project_ids",
        )
    return asked


def _page(
    report: UsageReport[RowT], params: UsageParams, query: UsageQuery, reader: RowReader[RowT]
) -> dict[str, Any]:
    here = (
        _range(params) if params.page is None else Cursor.decode(params.page, params.fingerprint())
    )
    page = list(islice(_cut(here, params), params.limit))
    end_s = page[-1].end_s if page else here.end_s
    cursor = Cursor(end_s, here.end_s) if end_s < here.end_s else None
    rows = fill(reader, query, page, params.width.seconds)
    return {
        "object": "page",
        "data": [
            {
                "object": "bucket",
                "start_time": bucket.start_s,
                "end_time": bucket.end_s,
                "results": [
                    report.result(r, params.group_by) for r in rows.get(bucket.start_s, ())
                ],
            }
            for bucket in page
        ],
        "has_more": cursor is not None,
        "next_page": cursor.encode(params.fingerprint()) if cursor else None,
    }


def _range(params: UsageParams) -> Cursor:
    if params.end_s is not None:
        return Cursor(params.start_s, params.end_s)
    # Without an end: the end of the ledger's current slot, which rollups cover; nothing is later.
    return Cursor(params.start_s, floor_to(int(time.time()), SLOT_S) + SLOT_S)


def _cut(span: Cursor, params: UsageParams) -> Iterator[Bucket]:
    return buckets(span.start_s, span.end_s, params.width.seconds, params.zone)


def _file(
    report: UsageReport[RowT], params: UsageParams, query: UsageQuery, reader: RowReader[RowT]
) -> Response:
    """Return a CSV file of the range. A bucket without usage has no line."""
    cuts = list(islice(_cut(_range(params), params), FILE_BUCKETS + 1))
    if len(cuts) > FILE_BUCKETS:
        raise InvalidRequest(
            f"The range has more than {FILE_BUCKETS:,} buckets, the limit of one file. Shorten the"
            " range or choose a wider bucket.",
            param="bucket_width",
        )
    lines = _lines(report, params, query, cuts, reader)
    # The first query runs before the status is sent. If a later one fails, the file is truncated.
    head = list(islice(lines, 1))
    response = Response(chain(head, lines), mimetype="text/csv")
    response.headers["content-disposition"] = f'attachment; filename="{report.name}.csv"'
    return response


def _lines(
    report: UsageReport[RowT],
    params: UsageParams,
    query: UsageQuery,
    cuts: list[Bucket],
    reader: RowReader[RowT],
) -> Iterator[str]:
    """Yield the lines of one page at a time, to bound memory; the first page has the headings."""
    at_once, width_s = params.width.largest_limit, params.width.seconds
    names = ["start", "end", *report.cells(report.nothing, params.group_by)]
    headings = csv_headings(names, bom=params.bom)
    for start in range(0, len(cuts), at_once) or (0,):
        page = cuts[start : start + at_once]
        rows = fill(reader, query, page, width_s)
        lines = [
            csv_line([*_times(bucket, params), *report.cells(row, params.group_by).values()])
            for bucket in page
            for row in rows.get(bucket.start_s, ())
        ]
        yield "".join([headings, *lines] if start == 0 else lines)


def _times(bucket: Bucket, params: UsageParams) -> list[str]:
    times = (bucket.start_s, bucket.end_s)
    return [datetime.fromtimestamp(time_s, params.zone).isoformat() for time_s in times]


def group_cells(result: dict[str, Any], group_by: frozenset[str]) -> dict[str, Any]:
    """Return the cells of a result that name its group."""
    return {name: value for name, value in result.items() if name in group_by}


def complete_until_s(source: ReportSource) -> int | None:
    """Return the time before which `source` has every request's usage, in Unix seconds.

    Queries of `source` must come after this call. None while Redis is unavailable, after it lost
    its data until a worker has searched for what is missing, and if a replica does not say how far
    this cell is.
    """
    it = services()
    try:
        own_ms = complete_until_ms(it.stores.records, it.stores.processes)
    except StreamUnavailable:
        log.warning("Redis is unavailable: usage is returned without x-tollgate-complete-until")
        return None
    if own_ms is None or (until_ms := source.complete_until_ms(it.settings.cell, own_ms)) is None:
        return None
    spooled_ms = it.recorder.oldest_spooled_ms
    return int(until_ms if spooled_ms is None else min(until_ms, spooled_ms)) // 1000
