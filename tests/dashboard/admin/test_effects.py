"""What refusing a key would affect, in words."""

from dataclasses import replace

from app.accounts.apikey import ApiKey
from app.dashboard.admin.effects import count_of_requests, described, last_use

KEY = ApiKey("key_1", "ci", ("acme",), frozenset({"usage"}), 0, None, None)


def test_a_key_is_described_by_its_name_and_accounts() -> None:
    assert described(KEY) == "key_1 (ci) of acme"
    assert described(replace(KEY, name=None, account_ids=())) == "key_1, which has no account"


def test_the_last_use_is_a_time_ago() -> None:
    assert last_use(KEY, 5) == "never used"
    assert last_use(replace(KEY, last_used_at_ms=1000), 201_000) == "last used 3 min 20 s ago"
    assert last_use(replace(KEY, last_used_at_ms=9000), 8000) == "last used 0 ms ago"


def test_requests_are_counted_in_words() -> None:
    assert count_of_requests(1) == "1 request in the last 24 hours"
    assert count_of_requests(1204) == "1,204 requests in the last 24 hours"
