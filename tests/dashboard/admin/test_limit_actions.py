"""Admins set limits."""

import time

import pytest

from app.vocabulary.limits import Limits
from app.vocabulary.money import NANO
from tests.dashboard.admin.desk import Desk, plan, problems
from tests.dashboard.site import at

EMPTY = {
    "requests_per_minute": "",
    "tokens_per_minute": "",
    "streams": "",
    "budget_nanousd": "",
    "soft_nanousd": "",
    "period": "month",
}


def test_limits_are_set_and_removed(desk: Desk) -> None:
    form = EMPTY | {"account": "acme", "requests_per_minute": "1,000", "budget_nanousd": "$0.50"}
    said = plan(desk.review("set-limits", **form))
    assert said[:3] == [
        "Change the limits of account acme:",
        "Requests per minute: no limit → 1,000.",
        "Budget in dollars: no limit → $0.50.",
    ]
    desk.do("set-limits", **form)
    assert desk.site.accounts.limits("account", "acme") == Limits(
        kind="account",
        subject_id="acme",
        requests_per_minute=1000,
        budget_nanousd=NANO // 2,
    )
    page = desk.page("/set-limits", account="acme")
    assert 'value="1000"' in page
    assert 'value="0.5' in page
    assert "Nothing is changed" in problems(desk.review("set-limits", **form))[""]
    desk.do("set-limits", **EMPTY, account="acme")
    assert not desk.site.accounts.limits("account", "acme").is_any


def test_a_key_has_limits_of_its_own(desk: Desk) -> None:
    key_id = desk.site.key_ids["completions"]
    form = EMPTY | {"key": key_id, "streams": "3", "soft_nanousd": "2", "period": "day"}
    assert plan(desk.review("set-limits", **form))[-1].startswith("Period of the budget")
    desk.do("set-limits", **form)
    limits = desk.site.accounts.limits("key", key_id)
    assert (limits.streams, limits.soft_nanousd, limits.period) == (3, 2 * NANO, "day")


def test_a_budget_that_is_used_up_already_says_what_follows(desk: Desk) -> None:
    now_ms = int(time.time() * 1000)
    mini = {"vendor": "openai", "model": "gpt-4o-mini", "prompt_tokens": 1000}
    desk.site.post(at(0, event_id="now", started_at_ms=now_ms, **mini))
    small, large = EMPTY | {"budget_nanousd": "0.01"}, EMPTY | {"budget_nanousd": "1000"}
    assert (
        "requests will be refused" in plan(desk.review("set-limits", account="acme", **small))[-1]
    )
    assert "refused" not in plan(desk.review("set-limits", account="acme", **large))[-1]


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [
        ({"requests_per_minute": "many"}, "requests_per_minute", "not a whole number"),
        ({"streams": "1.5"}, "streams", "not a whole number"),
        ({"streams": "0"}, "streams", "must be 1 to"),
        ({"tokens_per_minute": "9" * 30}, "tokens_per_minute", "must be 1 to"),
        ({"budget_nanousd": "much"}, "budget_nanousd", "not an amount"),
        ({"budget_nanousd": "1e99"}, "budget_nanousd", "not an amount"),
        ({"budget_nanousd": "1,50"}, "budget_nanousd", "not an amount"),
        ({"soft_nanousd": "1.000,50"}, "soft_nanousd", "not an amount"),
        ({"requests_per_minute": "1,5"}, "requests_per_minute", "not a whole number"),
        ({"budget_nanousd": "9000001"}, "budget_nanousd", "$9,000,000"),
        ({"budget_nanousd": "1", "soft_nanousd": "2"}, "budget_nanousd", "soft bound"),
        ({"period": "year"}, "period", "Choose one of"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    desk: Desk, changed: dict[str, str], field: str, said: str
) -> None:
    response = desk.review("set-limits", **(EMPTY | {"account": "acme"} | changed))
    assert response.status_code == 400
    found = problems(response)
    assert list(found) == [field]
    assert said in found[field]
