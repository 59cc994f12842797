"""Queries of usage: groups, filters, parameters that are refused, and whose usage a key sees."""

from typing import Any

import pytest

from app.accounts.accounts import Accounts
from tests.api.usage_site import (
    MIDNIGHT_S,
    Site,
    at,
    results,
    tokens,
)


def test_groups_are_told_apart_and_named_only_when_asked_for(each_site: Site) -> None:
    each_site.post(
        at(MIDNIGHT_S, model="m:1", api_key_id="key_a", user="u"),
        at(MIDNIGHT_S, model="M:1", api_key_id="key_a"),
        at(MIDNIGHT_S, vendor="vllm", model="org/m:1", api_key_id="key_b"),
        at(MIDNIGHT_S, account_id="Acme", model="m:1", api_key_id="key_b"),
    )
    named = {
        "project_id": ["Acme", "acme"],
        "api_key_id": ["key_a", "key_b"],
        "user_id": [None, "u"],
        "model": ["openai/M:1", "openai/m:1", "vllm/org/m:1"],
    }
    for name, expected in named.items():
        found = results(each_site.page(start_time=MIDNIGHT_S, group_by=name, limit=1)["data"])
        assert [result[name] for result in found] == expected
        assert sum(result["num_model_requests"] for result in found) == 4
        assert all(result[other] is None for result in found for other in named.keys() - {name})


@pytest.mark.parametrize("spelling", ["group_by", "group_by[]"])
def test_arrays_come_in_both_spellings(site: Site, spelling: str) -> None:
    site.post(at(MIDNIGHT_S), at(MIDNIGHT_S, model="n"))
    query = [("start_time", MIDNIGHT_S), ("limit", 1), (spelling, "model"), (spelling, "user_id")]
    body = site.get(query).get_json()
    assert [r["model"] for r in results(body["data"])] == ["openai/m", "openai/n"]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"project_ids": "acme"}, 3),
        ({"project_ids": ["acme", "beta"]}, 4),
        ({"project_ids": "ACME"}, 0),
        ({"models": "openai/m"}, 2),
        ({"models": ["openai/m", "vllm/a/b"]}, 3),
        ({"models": "openai/M"}, 0),
        ({"api_key_ids": "key_2"}, 1),
        ({"user_ids": ["u", "v"]}, 1),
        ({"user_ids": "u", "models": "vllm/a/b"}, 0),
        ({"batch": "false"}, 4),
        ({"batch": "true"}, 0),
    ],
)
def test_filters_narrow_what_is_summed(each_site: Site, query: dict[str, Any], count: int) -> None:
    each_site.post(
        at(MIDNIGHT_S, user="u"),
        at(MIDNIGHT_S, api_key_id="key_2"),
        at(MIDNIGHT_S, vendor="vllm", model="a/b"),
        at(MIDNIGHT_S, account_id="beta", model="n"),
    )
    data = each_site.page(start_time=MIDNIGHT_S, limit=1, **query)["data"]
    assert sum(result["num_model_requests"] for result in results(data)) == count


def test_what_this_gateway_does_not_tell_apart_groups_as_one(site: Site) -> None:
    site.post(at(MIDNIGHT_S), at(MIDNIGHT_S, model="n"))
    group_by = ["batch", "service_tier", "api_source"]
    (result,) = results(site.page(start_time=MIDNIGHT_S, group_by=group_by, limit=1)["data"])
    assert result["num_model_requests"] == 2
    assert (result["batch"], result["service_tier"]) == (None, None)
    assert result["api_source"] == "unlabeled"


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ("", "start_time", "missing_required_parameter"),
        ("start_time=", "start_time", "invalid_type"),
        ("start_time=1.5", "start_time", "invalid_type"),
        ("start_time=now", "start_time", "invalid_type"),
        ("start_time=%D9%A5", "start_time", "invalid_type"),
        ("start_time=1_0", "start_time", "invalid_type"),
        ("start_time=+5", "start_time", "invalid_type"),
        ("start_time=-1", "start_time", "invalid_value"),
        (f"start_time={'9' * 5000}", "start_time", "invalid_value"),
        ("start_time=5&start_time=6", "start_time", "invalid_value"),
        ("start_time[]=5", "start_time", "missing_required_parameter"),
        ("start_time=5&end_time=5", "end_time", "invalid_value"),
        ("start_time=5&end_time=4", "end_time", "invalid_value"),
        ("start_time=5&end_time=9223372036854775808", "end_time", "invalid_value"),
        ("start_time=5&bucket_width=1s", "bucket_width", "invalid_value"),
        ("start_time=5&bucket_width=1m&limit=1441", "limit", "invalid_value"),
        ("start_time=5&timezone=Mars", "timezone", "invalid_value"),
        ("start_time=5&timezone=", "timezone", "invalid_value"),
        ("start_time=5&timezone=../zoneinfo/UTC", "timezone", "invalid_value"),
        ("start_time=5&format=xml", "format", "invalid_value"),
        ("start_time=5&format=csv&limit=3", "limit", "invalid_value"),
        ("start_time=5&format=csv&page=x", "page", "invalid_value"),
        ("start_time=5&format=csv&bucket_width=1m", "bucket_width", "invalid_value"),
        ("start_time=5&bucket_width=1w", "bucket_width", "invalid_value"),
        ("start_time=5&limit=0", "limit", "invalid_value"),
        ("start_time=5&limit=x", "limit", "invalid_type"),
        ("start_time=5&limit=32", "limit", "invalid_value"),
        ("start_time=5&bucket_width=1h&limit=169", "limit", "invalid_value"),
        ("start_time=5&batch=1", "batch", "invalid_type"),
        ("start_time=5&group_by=model&group_by=colour", "group_by[1]", "invalid_value"),
        ("start_time=5&endpoints=completions&endpoints=images", "endpoints[1]", "invalid_value"),
        ("start_time=5&group_by[]=model&group_by[]=", "group_by[1]", "invalid_value"),
        ("start_time=5&models=gpt-4o", "models[0]", "invalid_value"),
        ("start_time=5&models=openai/a%00", "models[0]", "invalid_value"),
        ("start_time=5&user_ids=a&user_ids=b%00", "user_ids[1]", "invalid_value"),
        ("start_time=5&project_ids=", "project_ids[0]", "invalid_value"),
        ("start_time=5&api_key_ids[]=", "api_key_ids[0]", "invalid_value"),
        ("start_time=5&page=", "page", "invalid_value"),
        ("start_time=5&colour=red", "colour", "unknown_parameter"),
        ("start_time=5&limit[]=3", "limit[]", "unknown_parameter"),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(
    empty_site: Site, query: str, param: str, code: str
) -> None:
    response = empty_site.get(query)
    assert response.status_code == 400
    error = response.get_json()["error"]
    assert (error["param"], error["code"]) == (param, code)
    assert len(error["message"]) < 300


@pytest.mark.parametrize("path", ["%FF%FE", "\N{SNOWMAN}", "a" * 5_000, "'; drop table entries"])
def test_odd_text_in_a_filter_finds_nothing_and_breaks_nothing(each_site: Site, path: str) -> None:
    for name in ("project_ids", "user_ids", "api_key_ids"):
        assert results(each_site.page(start_time=MIDNIGHT_S, limit=1, **{name: path})["data"]) == []


def test_a_usage_key_sees_its_own_accounts_and_an_admin_key_all(site: Site) -> None:
    site.post(*(at(MIDNIGHT_S, account_id=account_id) for account_id in ("acme", "Acme", "beta")))
    query = {"start_time": MIDNIGHT_S, "limit": 1, "group_by": "project_id"}
    own = [result["project_id"] for result in results(site.page("usage", **query)["data"])]
    every = [result["project_id"] for result in results(site.page("admin", **query)["data"])]
    assert (own, every) == (["Acme", "acme"], ["Acme", "acme", "beta"])
    assert tokens(site.page("usage", **query, project_ids=["acme"])["data"]) == 5


@pytest.mark.parametrize("project_ids", [["beta"], ["acme", "beta"], ["ACME"], ["nobody"]])
def test_a_usage_key_may_not_ask_for_other_accounts(
    empty_site: Site, project_ids: list[str]
) -> None:
    response = empty_site.get({"start_time": MIDNIGHT_S, "project_ids": project_ids}, "usage")
    error = response.get_json()["error"]
    assert (response.status_code, error["code"]) == (403, "account_not_allowed")
    assert error["param"] == "project_ids"


@pytest.mark.parametrize(
    ("key", "status", "code"),
    [
        ("none", 401, "invalid_api_key"),
        ("wrong", 401, "invalid_api_key"),
        ("completions", 403, "scope_missing"),
    ],
)
def test_a_key_must_be_good_for_reading_usage(
    empty_site: Site, key: str, status: int, code: str
) -> None:
    response = empty_site.get({"nonsense": 1}, key)
    assert (response.status_code, response.get_json()["error"]["code"]) == (status, code)


def test_the_usage_of_a_disabled_account_is_for_admins(site: Site) -> None:
    site.post(at(MIDNIGHT_S), at(MIDNIGHT_S, event_id="other", account_id="Acme"))
    Accounts(site.engine).disable("acme")
    query = {"start_time": MIDNIGHT_S, "group_by": "project_id"}

    def projects(key: str) -> list[str]:
        return [it["project_id"] for it in results(site.page(key, **query)["data"])]

    assert sorted(projects("admin")) == ["Acme", "acme"]
    assert projects("usage") == ["Acme"]
    asked = site.get(query | {"project_ids": "acme"}, "usage")
    error = asked.get_json()["error"]
    assert (asked.status_code, error["code"], error["param"]) == (
        *(403, "account_disabled", "project_ids"),
    )
