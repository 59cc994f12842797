"""OpenAI's cost API over a real ledger."""

import json
from decimal import Decimal
from typing import Any

import pytest
from openai import OpenAI

from app.ledger.posting import Ledger
from app.pricing.price_book import PriceBook
from tests.api.usage_site import COSTS, DAY_S, MIDNIGHT_S, Site, at, results, spans
from tests.support.gateway import Gateway

RANGE: dict[str, Any] = {"start_time": MIDNIGHT_S, "end_time": MIDNIGHT_S + DAY_S}


@pytest.fixture
def costs(each_site: Site, prices: PriceBook) -> Site:
    """A site that is asked for costs."""
    each_site.path, each_site.prices = COSTS, prices
    return each_site


def exact(response: Any) -> list[Decimal | None]:
    """Return the amounts as they are written, not as floats."""
    text = response.get_data(as_text=True)
    body = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    return [result["amount"]["value"] for result in results(body["data"])]


def test_a_day_is_one_bucket_in_openais_shape(costs: Site) -> None:
    costs.post(at(MIDNIGHT_S, model="m", prompt_tokens=3, completion_tokens=2))
    page = costs.page(**RANGE)
    assert page == {
        "object": "page",
        "data": [
            {
                "object": "bucket",
                "start_time": MIDNIGHT_S,
                "end_time": MIDNIGHT_S + DAY_S,
                "results": [
                    {
                        "object": "organization.costs.result",
                        "amount": {"value": 0.00000165, "currency": "usd"},
                        "line_item": None,
                        "project_id": None,
                        "user_id": None,
                        "api_key_id": None,
                        "endpoint": None,
                        "api_source": None,
                        "quantity": None,
                        "quantity_unit": None,
                        "unpriced_requests": 0,
                    }
                ],
            }
        ],
        "has_more": False,
        "next_page": None,
    }


def test_costs_may_be_by_endpoint(costs: Site) -> None:
    chat = at(MIDNIGHT_S, model="m", prompt_tokens=6, endpoint="chat.completions")
    costs.post(at(MIDNIGHT_S, model="m", prompt_tokens=3), chat)
    (bucket, *_) = costs.page(**RANGE, group_by="endpoint")["data"]
    found = {it["endpoint"]: it["amount"]["value"] for it in bucket["results"]}
    assert found == {"chat.completions": 0.0000021, "completions": 0.00000165}
    (bucket, *_) = costs.page(**RANGE, endpoints="chat.completions")["data"]
    assert [it["amount"]["value"] for it in bucket["results"]] == [0.0000021]


def test_ten_thousand_tiny_requests_add_up_exactly(costs: Site) -> None:
    costs.post(
        *(
            at(MIDNIGHT_S, model="m", prompt_tokens=1, completion_tokens=0, total_tokens=1)
            for _ in range(10_000)
        )
    )
    assert exact(costs.get(RANGE)) == [Decimal("0.0015")]


def test_a_large_amount_keeps_its_last_nano_dollar(costs: Site) -> None:
    huge = {"prompt_tokens": 2**43, "completion_tokens": 0, "total_tokens": 2**43}
    costs.post(at(MIDNIGHT_S, model="dear", **huge))
    costs.post(at(MIDNIGHT_S, model="m", prompt_tokens=1, completion_tokens=0, total_tokens=1))
    assert exact(costs.get(RANGE)) == [Decimal(2**43) / 1000 + Decimal("0.00000015")]


def test_an_unknown_price_is_null_and_counted_and_never_nothing(costs: Site) -> None:
    unknown = at(MIDNIGHT_S, model="new")
    costs.post(unknown, at(MIDNIGHT_S, model="m"), at(MIDNIGHT_S, model="free"))
    lines = results(costs.page(**RANGE, group_by="line_item")["data"])
    found = {it["line_item"]: (it["amount"]["value"], it["unpriced_requests"]) for it in lines}
    assert found == {
        "openai/new": (None, 1),
        "openai/m": (0.00000165, 0),
        "openai/free": (0, 0),
    }
    assert {r["quantity"] for r in lines} == {5}
    (whole,) = results(costs.page(**RANGE)["data"])
    assert (whole["amount"]["value"], whole["unpriced_requests"]) == (0.00000165, 1)


def test_a_request_that_used_nothing_costs_nothing_whatever_its_model(costs: Site) -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "source": "none"}
    costs.post(at(MIDNIGHT_S, model="new", status="failed", **nothing))
    (result,) = results(costs.page(**RANGE)["data"])
    assert (result["amount"]["value"], result["unpriced_requests"]) == (0, 0)


def test_a_request_that_used_nothing_makes_no_unknown_sum_known(costs: Site) -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "source": "none"}
    failed = [at(MIDNIGHT_S, model=it, status="failed", **nothing) for it in ("new", "m")]
    costs.post(at(MIDNIGHT_S, model="new"), *failed)
    (whole,) = results(costs.page(**RANGE)["data"])
    assert (whole["amount"]["value"], whole["unpriced_requests"]) == (None, 1)
    lines = results(costs.page(**RANGE, group_by="line_item")["data"])
    found = {it["line_item"]: (it["amount"]["value"], it["unpriced_requests"]) for it in lines}
    assert found == {"openai/new": (None, 1), "openai/m": (0, 0)}


def test_who_served_sets_the_price_and_who_was_asked_the_line(costs: Site) -> None:
    costs.post(at(MIDNIGHT_S, vendor="azure", model="x", vendor_served="openai", model_served="m"))
    (result,) = results(costs.page(**RANGE, group_by=["line_item", "project_id"])["data"])
    assert (result["line_item"], result["amount"]["value"]) == ("azure/x", 0.00000165)
    assert result["project_id"] == "acme"


def test_costs_come_in_days_with_openais_page_sizes(costs: Site) -> None:
    page = costs.page(start_time=0)
    assert spans(page["data"]) == [(i * DAY_S, (i + 1) * DAY_S) for i in range(7)]
    assert len(costs.page(start_time=0, limit=180)["data"]) == 180
    for query, param in (
        ({"limit": 181}, "limit"),
        ({"bucket_width": "1h"}, "bucket_width"),
        ({"group_by": "model"}, "group_by[0]"),
        ({"line_items": "m"}, "line_items[0]"),
        ({"models": "openai/m"}, "models"),
        ({"user_ids": "u"}, "user_ids"),
    ):
        response = costs.get({"start_time": 0, **query})
        assert (response.status_code, response.get_json()["error"]["param"]) == (400, param)


def test_filters_and_scopes_are_those_of_usage(costs: Site) -> None:
    costs.post(
        at(MIDNIGHT_S, model="m"),
        at(MIDNIGHT_S, model="m", api_key_id="key_2"),
        at(MIDNIGHT_S, model="free"),
        at(MIDNIGHT_S, model="m", account_id="beta"),
    )

    def amount(key: str = "admin", **query: Any) -> list[Any]:
        return [r["amount"]["value"] for r in results(costs.page(key, **RANGE, **query)["data"])]

    assert amount() == [0.00000495]
    assert amount(line_items="openai/free") == [0]
    assert amount(api_key_ids="key_2") == [0.00000165]
    assert amount(project_ids=["beta"]) == [0.00000165]
    assert amount("usage") == [0.0000033]
    assert costs.get({**RANGE, "project_ids": "beta"}, "usage").status_code == 403
    assert costs.get(RANGE, "completions").status_code == 403
    assert costs.get(RANGE, "none").status_code == 401


def test_openais_client_reads_costs(gateway: Gateway, prices: PriceBook) -> None:
    Ledger(gateway.engine, prices).post(
        at(MIDNIGHT_S + i * DAY_S, model=model) for i in range(9) for model in ("m", "new")
    )
    _, secret = gateway.accounts.create_key(["acme"], ["usage"])
    client = OpenAI(base_url=gateway.base_url, api_key="-", admin_api_key=secret, max_retries=0)
    query: Any = {
        "start_time": MIDNIGHT_S,
        "end_time": MIDNIGHT_S + 9 * DAY_S,
        "group_by": ["line_item", "project_id", "api_key_id"],
        "line_items": ["openai/m", "openai/new"],
    }
    pages = [client.admin.organization.usage.costs(**query)]
    while pages[-1].has_more:
        cursor = pages[-1].next_page or ""
        pages.append(client.admin.organization.usage.costs(**query, page=cursor))
    found: list[Any] = [r for page in pages for bucket in page.data for r in bucket.results]
    assert len(pages) == 2
    assert {type(r).__name__ for r in found} == {"DataResultOrganizationCostsResult"}
    assert {(r.line_item, r.amount.value, r.amount.currency) for r in found} == {
        ("openai/m", 0.00000165, "usd"),
        ("openai/new", None, "usd"),
    }
    assert len(found) == 18
    assert {(r.project_id, r.api_key_id, r.quantity_unit) for r in found} == {
        ("acme", "key_1", "tokens")
    }
