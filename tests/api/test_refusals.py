"""Which requests count as refused, and the API that reports them."""

import time
from typing import Any

import pytest
import requests

from app.ledger.refusals import post_refusals
from app.usage.redis.refusal_counts import RefusalCounts
from app.usage.refusal import Refusal
from tests.api.asking import PROMPT
from tests.api.usage_site import DAY_S, HOUR_S, MIDNIGHT_S, Site, results
from tests.support.gateway import Gateway
from tests.support.services.polling import wait_until
from tests.support.vendor import SimulatedVendor, json_reply

PATH = "/v5/organization/usage/refusals"


def refused(
    gateway: Gateway, count: int, endpoint: str = "completions"
) -> dict[tuple[str, ...], int]:
    """Wait until Redis has so many refused requests; return them without hour and endpoint."""
    counts, found = RefusalCounts(gateway.redis), dict[tuple[str, ...], int]()

    def are_there() -> bool:
        batch = counts.take("batch")
        if batch is not None:
            for it, number in batch.counts.items():
                assert it.endpoint == endpoint
                key = (it.reason, it.account_id, "key" if it.api_key_id else "")
                found[key] = found.get(key, 0) + number
            counts.drop("batch")
        return sum(found.values()) >= count

    wait_until(are_there)
    return found


def test_requests_that_never_reach_a_vendor_are_counted_by_reason_account_and_key(
    gateway: Gateway,
) -> None:
    gateway.accounts.set_limits("account", "acme", requests_per_minute=1)
    other = gateway.add_account("readers", "usage")
    for body in (b"{", {**PROMPT, "model": "nope/x"}, {**PROMPT, "stream": "false"}):
        assert gateway.post(body).status_code in (400, 404)
    assert gateway.post(PROMPT, headers={"x-api-key": "tg_wrong"}).status_code == 401
    assert gateway.post(PROMPT, headers={"x-api-key": other}).status_code == 403
    assert gateway.post(PROMPT, headers={"x-selected-account-id": "readers"}).status_code == 403
    coded = {"content-encoding": "br"}
    assert gateway.post(PROMPT, headers=coded).status_code == 415
    assert gateway.post(b'{"model": "' + b"x" * (11 << 20)).status_code == 413
    assert [gateway.post(PROMPT).status_code for _ in range(3)] == [200, 429, 429]
    assert refused(gateway, 10) == {
        ("invalid_json", "acme", "key"): 1,
        ("model_not_found", "acme", "key"): 1,
        ("invalid_type", "acme", "key"): 1,
        ("invalid_api_key", "", ""): 1,
        ("scope_missing", "readers", "key"): 1,
        ("account_not_allowed", "acme", "key"): 1,
        ("unsupported_content_encoding", "acme", "key"): 1,
        ("request_too_large", "acme", "key"): 1,
        ("rate_limit_exceeded/account/requests_per_minute", "acme", "key"): 2,
    }
    text = requests.get(gateway.base_url.removesuffix("/v5") + "/metrics", timeout=60).text
    line = 'tollgate_refused_requests_total{endpoint="completions",reason="invalid_api_key"} 1.0'
    assert line in text


def test_requests_for_a_disabled_account_count_for_it(gateway: Gateway) -> None:
    gateway.add_account("other")
    _, both = gateway.accounts.create_key(["acme", "other"], ["completions"])
    gateway.accounts.disable("acme")
    assert gateway.post(PROMPT).status_code == 403
    header = {"x-api-key": both, "x-selected-account-id": "acme"}
    assert gateway.post(PROMPT, headers=header).status_code == 403
    assert gateway.post(PROMPT, headers={"x-api-key": both}).status_code == 400
    assert refused(gateway, 3) == {
        ("account_disabled", "acme", "key"): 2,
        ("account_required", "", "key"): 1,
    }


def test_a_client_with_another_base_url_is_counted(gateway: Gateway) -> None:
    elsewhere = gateway.base_url.removesuffix("/v5")
    for path in ("/v1/chat/completions", "/v5/responses", "/completions"):
        assert requests.post(elsewhere + path, json=PROMPT, timeout=60).status_code == 404
    assert requests.post(f"{gateway.base_url}/models", json={}, timeout=60).status_code == 405
    assert requests.get(f"{elsewhere}/favicon.ico", timeout=60).status_code == 404
    assert refused(gateway, 4, endpoint="") == {
        ("not_found", "", ""): 3,
        ("method_not_allowed", "", ""): 1,
    }


def test_what_a_vendor_rejects_and_what_is_no_completion_is_not_refused(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(json_reply({"error": {"message": "no"}}, status=400))
    assert gateway.post(PROMPT).status_code == 400
    assert gateway.event().status == "failed"
    url = f"{gateway.base_url}/completions"
    assert requests.get(url, timeout=60).status_code == 405
    assert requests.get(f"{gateway.base_url}/models", timeout=60).status_code == 401
    assert gateway.post(b"{").status_code == 400
    assert refused(gateway, 1) == {("invalid_json", "acme", "key"): 1}


@pytest.fixture
def told(each_site: Site) -> Site:
    """A site with refused requests of two accounts, and of nobody."""
    each_site.path = PATH

    def of(hour: int, account_id: str, reason: str) -> Refusal:
        key_id = f"key_of_{account_id}" if account_id else ""
        return Refusal(MIDNIGHT_S + hour * HOUR_S, account_id, key_id, "completions", reason)

    counts = {
        of(0, "acme", "invalid_json"): 1,
        of(1, "acme", "invalid_value"): 2,
        of(25, "beta", "invalid_json"): 4,
        of(3, "", "invalid_api_key"): 8,
    }
    post_refusals(each_site.engine, "b", counts, int(time.time() * 1000))
    return each_site


def test_the_shape_is_openais(told: Site) -> None:
    page = told.page(start_time=MIDNIGHT_S, end_time=MIDNIGHT_S + DAY_S, group_by="reason")
    assert page["object"] == "page"
    (bucket,) = page["data"]
    assert bucket["results"][0] == {
        "object": "organization.usage.refusals.result",
        "num_refused_requests": 8,
        "project_id": None,
        "api_key_id": None,
        "endpoint": None,
        "reason": "invalid_api_key",
    }
    assert [(it["reason"], it["num_refused_requests"]) for it in bucket["results"][1:]] == [
        ("invalid_json", 1),
        ("invalid_value", 2),
    ]


@pytest.mark.parametrize(
    ("key", "query", "numbers"),
    [
        ("admin", {}, [11, 4]),
        ("usage", {}, [3]),
        ("admin", {"project_ids": ["beta"]}, [4]),
        ("admin", {"api_key_ids": "key_of_acme"}, [3]),
        ("admin", {"bucket_width": "1h", "limit": 48}, [1, 2, 8, 4]),
        ("admin", {"group_by": ["project_id"]}, [8, 3, 4]),
        ("admin", {"timezone": "Asia/Kolkata"}, [11, 4]),
    ],
)
def test_a_key_sees_its_accounts_and_filters_apply(
    told: Site, key: str, query: dict[str, Any], numbers: list[int]
) -> None:
    page = told.page(key, start_time=MIDNIGHT_S, end_time=MIDNIGHT_S + 2 * DAY_S, **query)
    assert [it["num_refused_requests"] for it in results(page["data"])] == numbers


@pytest.mark.parametrize(
    ("query", "status"),
    [({"bucket_width": "1m"}, 400), ({"group_by": "model"}, 400), ({"models": "a/b"}, 400)],
)
def test_what_it_does_not_have_is_an_error(told: Site, query: dict[str, str], status: int) -> None:
    assert told.get({"start_time": MIDNIGHT_S, **query}).status_code == status
    assert told.get({"start_time": MIDNIGHT_S}, "completions").status_code == 403
    own = told.get({"start_time": MIDNIGHT_S, "project_ids": "beta"}, "usage")
    assert own.status_code == 403


def test_a_file_has_the_groups_and_the_numbers(told: Site) -> None:
    query = {"start_time": MIDNIGHT_S, "end_time": MIDNIGHT_S + DAY_S, "format": "csv"}
    lines = told.get({**query, "group_by": "reason"}).text.splitlines()
    assert lines[0] == "start,end,reason,num_refused_requests"
    assert lines[1].endswith(",invalid_api_key,8")
