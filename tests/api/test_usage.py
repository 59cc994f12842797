"""OpenAI's usage API over a real ledger."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec import structs
from openai import OpenAI, PermissionDeniedError

from app.ledger.posting import Ledger
from app.settings import Settings
from app.usage.messages.event import UsageEvent
from app.usage.messages.event_id import new_event_id
from app.vocabulary.statuses import FAILED_STATUSES, STATUSES
from tests.api.usage_site import (
    DAY_S,
    HOUR_S,
    MIDNIGHT_S,
    Site,
    at,
    make_site,
    results,
    spans,
    tokens,
)
from tests.support.gateway import Gateway
from tests.support.ports import free_port
from tests.support.services.sqlite import new_ledger


def test_a_day_is_one_bucket_in_openais_shape(each_site: Site) -> None:
    counts: dict[str, Any] = {
        "prompt_tokens": 100,
        "cached_tokens": 60,
        "cache_write_tokens": 10,
        "audio_prompt_tokens": 4,
        "completion_tokens": 7,
        "audio_completion_tokens": 2,
        "total_tokens": 107,
        "image_prompt_tokens": 5,
        "image_completion_tokens": 3,
        "cache_write_1h_tokens": 6,
        "web_search_calls": 1,
    }
    each_site.post(at(MIDNIGHT_S, **counts), at(MIDNIGHT_S + DAY_S - 0.001, **counts))
    assert each_site.page(start_time=MIDNIGHT_S, end_time=MIDNIGHT_S + DAY_S) == {
        "object": "page",
        "data": [
            {
                "object": "bucket",
                "start_time": MIDNIGHT_S,
                "end_time": MIDNIGHT_S + DAY_S,
                "results": [
                    {
                        "object": "organization.usage.completions.result",
                        "input_tokens": 200,
                        "output_tokens": 14,
                        "input_cached_tokens": 120,
                        "input_cache_write_tokens": 20,
                        "input_uncached_tokens": 60,
                        "input_audio_tokens": 8,
                        "output_audio_tokens": 4,
                        "input_image_tokens": 10,
                        "output_image_tokens": 6,
                        "input_cache_write_1h_tokens": 12,
                        "web_search_calls": 2,
                        "num_model_requests": 2,
                        "failed_requests": 0,
                        "project_id": None,
                        "user_id": None,
                        "api_key_id": None,
                        "model": None,
                        "endpoint": None,
                        "batch": None,
                        "service_tier": None,
                        "api_source": None,
                    }
                ],
            }
        ],
        "has_more": False,
        "next_page": None,
    }


def test_both_endpoints_are_summed_and_can_be_told_apart(each_site: Site) -> None:
    chat = "chat.completions"
    each_site.post(at(MIDNIGHT_S), *(at(MIDNIGHT_S + n, endpoint=chat) for n in (1, 2)))
    day: dict[str, Any] = {"start_time": MIDNIGHT_S, "end_time": MIDNIGHT_S + DAY_S}
    (both,) = results(each_site.page(**day)["data"])
    assert (both["endpoint"], both["num_model_requests"]) == (None, 3)
    found = results(each_site.page(**day, group_by=["endpoint", "model"])["data"])
    assert [(it["endpoint"], it["model"], it["num_model_requests"]) for it in found] == [
        (chat, "openai/m", 2),
        ("completions", "openai/m", 1),
    ]
    for endpoint, count in ((chat, 2), ("completions", 1)):
        (one,) = results(each_site.page(**day, endpoints=endpoint)["data"])
        assert one["num_model_requests"] == count
    query = {**day, "endpoints[]": ["completions", chat], "limit": 1}
    assert tokens(each_site.pages(**query, bucket_width="1h")) == 3 * 5


def test_all_requests_are_counted_and_those_that_failed_beside_them(site: Site) -> None:
    site.post(*(at(MIDNIGHT_S, status=status) for status in sorted(STATUSES)))
    (result,) = results(site.page(start_time=MIDNIGHT_S, end_time=MIDNIGHT_S + 1)["data"])
    assert (result["num_model_requests"], result["failed_requests"]) == (5, 2)
    assert result["input_tokens"] == 15


def test_the_start_is_in_the_range_and_the_end_is_not(each_site: Site) -> None:
    start_s, end_s = MIDNIGHT_S + 101, MIDNIGHT_S + DAY_S + 7_007
    each_site.post(at(start_s - 0.001, prompt_tokens=10_000), at(end_s, prompt_tokens=20_000))
    each_site.post(at(start_s), at(end_s - 0.001))
    assert tokens(each_site.pages(start_time=start_s, end_time=end_s)) == 10
    assert (
        tokens(each_site.pages(start_time=start_s, end_time=end_s, bucket_width="1h", limit=3))
        == 10
    )


def test_buckets_are_cut_at_utc_midnight_and_clipped_to_the_range(site: Site) -> None:
    start_s, end_s = MIDNIGHT_S + 5_000, MIDNIGHT_S + 2 * DAY_S + 60
    buckets = site.page(start_time=start_s, end_time=end_s)["data"]
    assert spans(buckets) == [
        (start_s, MIDNIGHT_S + DAY_S),
        (MIDNIGHT_S + DAY_S, MIDNIGHT_S + 2 * DAY_S),
        (MIDNIGHT_S + 2 * DAY_S, end_s),
    ]


def test_buckets_without_usage_are_kept_empty(site: Site) -> None:
    site.post(at(MIDNIGHT_S + 2 * HOUR_S))
    end_s = MIDNIGHT_S + 4 * HOUR_S
    page = site.page(start_time=MIDNIGHT_S, end_time=end_s, bucket_width="1h")
    counts = [len(bucket["results"]) for bucket in page["data"]]
    assert counts == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("width", "width_s", "default", "largest"),
    [("1d", DAY_S, 7, 31), ("1h", HOUR_S, 24, 168), ("1m", 60, 60, 1440)],
)
def test_a_page_has_openais_default_and_largest_size(
    site: Site, width: str, width_s: int, default: int, largest: int
) -> None:
    query: dict[str, Any] = {"start_time": 0, "bucket_width": width}  # some 56 years
    for limit, size in (None, default), (largest, largest), (1, 1):
        page = site.page(**(query | ({"limit": limit} if limit else {})))
        assert spans(page["data"]) == [(i * width_s, (i + 1) * width_s) for i in range(size)]
        assert page["has_more"]
    assert site.get({**query, "limit": largest + 1}).get_json()["error"]["param"] == "limit"


def test_the_pages_of_a_range_join_without_a_gap_and_sum_to_its_total(each_site: Site) -> None:
    start_s, end_s = MIDNIGHT_S + 1_234, MIDNIGHT_S + 3 * DAY_S + 4_321
    each_site.post(*(at(start_s + i * 1_000) for i in range(200)))
    for limit in (1, 5, 168):
        buckets = each_site.pages(
            start_time=start_s, end_time=end_s, bucket_width="1h", limit=limit
        )
        ends = [end for _, end in spans(buckets)]
        assert [start for start, _ in spans(buckets)] == [start_s, *ends[:-1]]
        assert ends[-1] == end_s
        assert tokens(buckets) == 200 * 5


def test_a_range_without_an_end_reaches_to_the_present(site: Site) -> None:
    now_s = int(time.time())
    site.post(at(now_s))
    buckets = site.pages(start_time=now_s - 10 * DAY_S)
    assert tokens(buckets) == 5
    assert now_s < buckets[-1]["end_time"] <= int(time.time()) + 15 * 60


def test_an_open_range_keeps_the_end_it_had_on_its_first_page(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = MIDNIGHT_S + 100 * DAY_S
    query: dict[str, Any] = {"start_time": now_s - 3 * DAY_S, "limit": 1}
    with monkeypatch.context() as clock:
        clock.setattr(time, "time", lambda: now_s)
        page = site.page(**query)
    last_end_s = 0
    while page["has_more"]:
        page = site.page(**query, page=page["next_page"])
        last_end_s = page["data"][-1]["end_time"]
    assert last_end_s == now_s + 15 * 60


def test_a_range_that_begins_in_the_future_is_empty(site: Site) -> None:
    page = site.page(start_time=int(time.time()) + DAY_S)
    assert (page["data"], page["has_more"]) == ([], False)


def test_a_cursor_that_was_changed_anywhere_is_refused(site: Site) -> None:
    query: dict[str, Any] = {"start_time": MIDNIGHT_S, "limit": 1}
    cursor = site.page(**query)["next_page"]
    forms = [
        cursor[:i] + ("A" if c != "A" else "B") + cursor[i + 1 :] for i, c in enumerate(cursor)
    ]
    forms += [cursor[:-1], cursor + "A", cursor + "=", cursor + "\n", f" {cursor}", cursor * 2]
    forms += [cursor.removeprefix("page_"), "x", "\N{SNOWMAN}", "page_", "page_" + "A" * 44]
    for changed in forms:
        error = site.get({**query, "page": changed}).get_json()["error"]
        assert (error["param"], error["code"]) == ("page", "invalid_value"), changed


def test_a_cursor_serves_its_own_query_alone_whatever_the_page_size(site: Site) -> None:
    query: dict[str, Any] = {"start_time": MIDNIGHT_S, "models": ["openai/a", "openai/b"]}
    cursor = site.page(**query, limit=1)["next_page"]
    same = {**query, "models": ["openai/b", "openai/a"], "limit": 3, "page": cursor}
    assert site.page(**same)["data"][0]["start_time"] == MIDNIGHT_S + DAY_S
    for change in (
        {"start_time": MIDNIGHT_S + 1},
        {"end_time": MIDNIGHT_S + 9 * DAY_S},
        {"bucket_width": "1h"},
        {"models": "openai/a"},
        {"user_ids": "u"},
        {"project_ids": "acme"},
        {"api_key_ids": "key_1"},
        {"group_by": "model"},
        {"batch": "false"},
    ):
        response = site.get({**query, **change, "page": cursor})
        assert response.status_code == 400, change
        assert response.get_json()["error"]["param"] == "page"


EVENTS = st.lists(
    st.builds(
        at,
        st.integers(-10 * DAY_S, 10 * DAY_S).map(lambda offset_s: MIDNIGHT_S + offset_s),
        vendor=st.sampled_from(["openai", "vllm"]),
        model=st.sampled_from(["m", "M", "org/m:1"]),
        api_key_id=st.sampled_from(["key_1", "key_2"]),
        user=st.sampled_from([None, "", "u"]),
        status=st.sampled_from(["completed", "failed"]),
        prompt_tokens=st.integers(0, 2**40),
        completion_tokens=st.integers(0, 2**40),
    ),
    max_size=25,
)


@pytest.fixture(scope="module")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site for many examples, each with an account of its own; it has no Redis."""
    url = new_ledger(tmp_path_factory.mktemp("usage") / "ledger.db")
    site = make_site(Settings(redis_url=f"redis://127.0.0.1:{free_port()}/0", database_url=url))
    yield site
    site.close()


@given(
    events=EVENTS,
    start_s=st.integers(-9 * DAY_S, 9 * DAY_S).map(lambda offset_s: MIDNIGHT_S + offset_s),
    length_s=st.integers(1, 9 * DAY_S),
    width=st.sampled_from(["1h", "1d"]),
    limit=st.integers(2, 31),
    timezone=st.sampled_from(["UTC", "Asia/Kathmandu", "America/St_Johns"]),
)
@hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_sums_over_pages_keys_models_and_users_equal_the_range(
    shared_site: Site,
    events: list[UsageEvent],
    start_s: int,
    length_s: int,
    width: str,
    limit: int,
    timezone: str,
) -> None:
    account_id, end_s = new_event_id(), start_s + length_s
    events = [structs.replace(event, account_id=account_id) for event in events]
    shared_site.post(*events)
    within = [e for e in events if start_s * 1000 <= e.started_at_ms < end_s * 1000]
    expected = (
        sum(event.prompt_tokens for event in within),
        sum(event.completion_tokens for event in within),
        len(within),
        sum(event.status in FAILED_STATUSES for event in within),
    )
    query = {
        "start_time": start_s,
        "end_time": end_s,
        "bucket_width": width,
        "limit": limit,
        "timezone": timezone,
    }
    for group_by in ([], ["model"], ["api_key_id"], ["user_id"], ["project_id", "model"]):
        buckets = shared_site.pages(**query, project_ids=account_id, group_by=group_by)
        found = [
            sum(result[name] for result in results(buckets))
            for name in ("input_tokens", "output_tokens", "num_model_requests", "failed_requests")
        ]
        assert tuple(found) == expected


def _openai(gateway: Gateway, *scopes: str) -> OpenAI:
    _, secret = gateway.accounts.create_key(["acme"], scopes)
    return OpenAI(base_url=gateway.base_url, api_key="unused", admin_api_key=secret, max_retries=0)


def test_openais_client_reads_usage_page_by_page(gateway: Gateway) -> None:
    Ledger(gateway.engine).post(
        at(MIDNIGHT_S + i * HOUR_S, model=f"m{i % 3}", user=f"u{i % 2}") for i in range(60)
    )
    usage = _openai(gateway, "usage").admin.organization.usage
    query: Any = {
        "start_time": MIDNIGHT_S,
        "end_time": MIDNIGHT_S + 60 * HOUR_S,
        "bucket_width": "1h",
        "group_by": ["model", "project_id"],
        "project_ids": ["acme"],
        "limit": 7,
    }
    pages = [usage.completions(**query)]
    while pages[-1].has_more:
        pages.append(usage.completions(**query, page=pages[-1].next_page or ""))
    found: list[Any] = [r for page in pages for bucket in page.data for r in bucket.results]
    assert len(pages) == 9
    assert {type(r).__name__ for r in found} == {"DataResultOrganizationUsageCompletionsResult"}
    assert [r.model for r in found] == [f"openai/m{i % 3}" for i in range(60)]
    assert {r.project_id for r in found} == {"acme"}
    assert sum(r.input_tokens + r.output_tokens for r in found) == 60 * 5


def test_openais_client_raises_its_own_errors(gateway: Gateway) -> None:
    with pytest.raises(PermissionDeniedError) as refusal:
        _openai(gateway, "completions").admin.organization.usage.completions(start_time=MIDNIGHT_S)
    assert refusal.value.code == "scope_missing"
