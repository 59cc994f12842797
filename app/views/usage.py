"""OpenAI's usage API over the ledger: accounts stand where that API says projects."""

import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from flask import Blueprint, Response, request

from app.apikey import ApiKey
from app.errors import AccountNotAllowed, StreamUnavailable
from app.services import services
from app.usage.buckets import Bucket, Cursor, buckets, floor_to
from app.usage.query import SLOT_S, UsageQuery, UsageReader, UsageRow
from app.views.auth import authenticate
from app.views.usage_params import GROUPS, UsageParams, load_usage_params
from app.wire import dump

log = logging.getLogger(__name__)
usage_blueprint = Blueprint("usage", __name__)

#: A Redis command may wait three times: for a connection, for the connect, for the answer.
_REDIS_WAITS = 3


@usage_blueprint.get("/v5/organization/usage/completions")
def completions_usage() -> Response:
    """Answer one page of buckets: tokens and requests, grouped and filtered as asked.

    A key with the scope `usage` sees its own accounts, one with `admin` sees all.
    Empty buckets are kept. The header `x-tollgate-complete-until` (Unix seconds) says up to when
    the figures hold every request; it is absent while Redis does not answer.
    """
    key = authenticate("usage", "admin")
    params = load_usage_params(request.args)
    account_ids = _visible_accounts(key, params.project_ids)
    # Before the ledger is read: what is posted meanwhile can only make the answer more complete.
    complete_until_s = _complete_until_s()
    page, cursor = _page(params)
    results = _results(services().usage_reader, params, account_ids, page)
    body = _dump_page(params, page, results, cursor)
    response = Response(dump(body), mimetype="application/json")
    if complete_until_s is not None:
        response.headers["x-tollgate-complete-until"] = str(complete_until_s)
    return response


def _visible_accounts(key: ApiKey, asked: frozenset[str] | None) -> frozenset[str] | None:
    """Return the accounts to sum; None is all of them."""
    if "admin" in key.scopes:
        return asked
    own = frozenset(key.account_ids)
    if asked is None:
        return own
    if asked - own:
        raise AccountNotAllowed(
            "This API key may not read the usage of an account in `project_ids`.",
            param="project_ids",
        )
    return asked


def _page(params: UsageParams) -> tuple[list[Bucket], Cursor | None]:
    """Return the buckets of the page that is asked for, and the cursor to the next one."""
    if params.page is None:
        here = _first(params)
    else:
        here = Cursor.decode(params.page, params.fingerprint())
    page = list(islice(buckets(here.start_s, here.end_s, params.width.seconds), params.limit))
    end_s = page[-1].end_s if page else here.end_s
    return page, Cursor(end_s, here.end_s) if end_s < here.end_s else None


def _first(params: UsageParams) -> Cursor:
    if params.end_s is not None:
        return Cursor(params.start_s, params.end_s)
    # An open end is the end of the ledger's present slot: rollups answer it, and nothing is later.
    return Cursor(params.start_s, floor_to(int(time.time()), SLOT_S) + SLOT_S)


def _results(
    reader: UsageReader,
    params: UsageParams,
    account_ids: frozenset[str] | None,
    page: list[Bucket],
) -> Mapping[int | None, list[UsageRow]]:
    """Return the page's rows by the start of their whole hour or day."""
    if params.batch or not page:  # nothing here is a batch job
        return {}
    query = UsageQuery(
        start_s=page[0].start_s,
        end_s=page[-1].end_s,
        bucket_s=params.width.seconds,
        account_ids=account_ids,
        api_key_ids=params.api_key_ids,
        models=params.models,
        users=params.user_ids,
        group_by=tuple(key for name, key in GROUPS.items() if key and name in params.group_by),
    )
    results = defaultdict(list)
    for row in reader.rows(query):
        results[row.bucket_start_s].append(row)
    return results


def _dump_page(
    params: UsageParams,
    page: Iterable[Bucket],
    results: Mapping[int | None, list[UsageRow]],
    cursor: Cursor | None,
) -> dict[str, Any]:
    return {
        "object": "page",
        "data": [
            {
                "object": "bucket",
                "start_time": bucket.start_s,
                "end_time": bucket.end_s,
                "results": [
                    _dump_row(row, params.group_by)
                    for row in results.get(floor_to(bucket.start_s, params.width.seconds), ())
                ],
            }
            for bucket in page
        ],
        "has_more": cursor is not None,
        "next_page": cursor.encode(params.fingerprint()) if cursor else None,
    }


def _dump_row(row: UsageRow, group_by: frozenset[str]) -> dict[str, Any]:
    usage = row.usage
    return {
        "object": "organization.usage.completions.result",
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "input_cached_tokens": usage.cached_tokens,
        "input_cache_write_tokens": usage.cache_write_tokens,
        "input_uncached_tokens": max(
            0, usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens
        ),
        "input_audio_tokens": usage.audio_prompt_tokens,
        "output_audio_tokens": usage.audio_completion_tokens,
        "num_model_requests": row.requests - row.failed_requests,
        "project_id": row.account_id,
        "user_id": row.user,
        "api_key_id": row.api_key_id,
        "model": f"{row.vendor}/{row.model}" if "model" in group_by else None,
        "batch": None,
        "service_tier": None,
        "api_source": "unlabeled" if "api_source" in group_by else None,
    }


def _complete_until_s() -> int | None:
    """Return the time before which every request's usage is in the ledger, in Unix seconds."""
    # A request that started up to this long ago may still be writing its open record.
    admission_s = _REDIS_WAITS * services().settings.redis_timeout_s
    times_ms: list[float | None] = [(time.time() - admission_s) * 1000]
    try:
        times_ms.append(services().open_records.oldest_started_ms())
    except StreamUnavailable:
        log.warning("Redis does not answer: usage is given without x-tollgate-complete-until")
        return None
    times_ms.append(services().accounting.oldest_spooled_ms)
    return int(min(at_ms for at_ms in times_ms if at_ms is not None) // 1000)
