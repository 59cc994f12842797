"""The page of accounts and keys: limits, spending, states; no secret."""

import time

from app.vocabulary.money import NANO
from tests.dashboard.site import DashboardSite, table
from tests.support.events import usage_event


def test_accounts_show_what_they_may_use_and_what_they_have(site: DashboardSite) -> None:
    site.accounts.set_limits("account", "acme", requests_per_minute=600, budget_nanousd=4 * NANO)
    site.accounts.set_limits("account", "beta", soft_nanousd=0, period="day", streams=7)
    key_id = site.key_ids["completions"]
    site.accounts.set_limits("key", key_id, tokens_per_minute=1_000_000, budget_nanousd=NANO)
    used = {"vendor": "openai", "model": "gpt-4o-mini", "api_key_id": key_id}
    site.post(usage_event(**used, account_id="acme", started_at_ms=now_ms(), prompt_tokens=1000))
    site.sign_in("admin")
    page = site.page("/accounts")
    accounts = {row[0]: row[2] for row in table(page, "accounts")}
    assert accounts == {
        "acme": "$1.00 of $4.00 this month 600 requests per minute",
        "beta": "$0.00 of $0.00 today (soft) 7 concurrent streams",
    }
    keys = {row[1]: row[-1] for row in table(page, "keys")}
    assert keys["production"] == "$1.00 of $1.00 this month 1,000,000 tokens per minute"
    assert keys["report"] == "none"


def now_ms() -> int:
    return int(time.time() * 1000)


def test_keys_show_their_state_and_no_secret(site: DashboardSite) -> None:
    site.accounts.create_key(["acme"], ["completions"], "short", expires_at_ms=now_ms() + 10**6)
    site.accounts.revoke(site.key_ids["completions"])
    site.sign_in("admin")
    page = site.page("/accounts")
    states = {row[1]: row[2] for row in table(page, "keys")}
    assert states["production"] == "revoked"
    assert states["short"] == "active"
    assert not [secret for secret in site.keys.values() if secret in page]
