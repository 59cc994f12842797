"""Several credentials in one request: which one counts, and what becomes of the others."""

import hashlib
from dataclasses import replace

import pytest
import requests

from app.settings import Settings
from tests.api.test_request_log import Lines, lines  # noqa: F401 - a fixture
from tests.support.gateway import Gateway, running

ASK = {"model": "sim/m", "prompt": "hi"}
FOREIGN = "sk-somebody-elses"
#: It looks like one of ours.
UNKNOWN = f"tg_{'x' * 43}"


def asked(gateway: Gateway, **headers: str) -> requests.Response:
    """Ask with these headers alone."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return requests.post(f"{gateway.base_url}/completions", json=ASK, headers=named, timeout=60)


def test_a_foreign_key_beside_a_good_one_does_not_lock_the_caller_out(gateway: Gateway) -> None:
    good = gateway.api_key
    for wrong in (FOREIGN, UNKNOWN, "", "Bearer x"):
        assert asked(gateway, x_api_key=wrong, authorization=f"Bearer {good}").status_code == 200
        assert asked(gateway, x_api_key=good, authorization=f"Bearer {wrong}").status_code == 200
        assert asked(gateway, x_api_key=f"{wrong}, {good}").status_code == 200
    assert asked(gateway, authorization=f"Basic dXNlcg==, bearer  {good}").status_code == 200
    assert asked(gateway, x_api_key=UNKNOWN, authorization=f"Bearer {FOREIGN}").status_code == 401


def test_of_two_good_keys_one_authenticates_is_limited_and_pays(gateway: Gateway) -> None:
    other = gateway.add_account("other")
    asked(gateway, x_api_key=gateway.api_key, authorization=f"Bearer {other}")
    asked(gateway, x_api_key=other, authorization=f"Bearer {gateway.api_key}")
    first, second = gateway.events(2)
    assert (first.account_id, first.api_key_id) == ("acme", gateway.key_id)
    assert second.account_id == "other"


def test_of_very_many_credentials_only_a_few_are_looked_up(gateway: Gateway) -> None:
    many = ",".join(f"tg_{at:043}" for at in range(100))
    assert asked(gateway, x_api_key=f"{many},{gateway.api_key}").status_code == 401


@pytest.mark.parametrize("key", [FOREIGN, UNKNOWN])
def test_a_refused_key_leaves_its_digest_and_where_it_came_from(
    gateway: Gateway,
    lines: Lines,  # noqa: F811 - a fixture
    key: str,
) -> None:
    """What a caller says of its own address is not believed."""
    asked(gateway, x_api_key=key, x_forwarded_for="203.0.113.7")
    line = lines.one()
    assert line["client_address"] == "127.0.0.1"
    assert hashlib.sha256(key.encode()).hexdigest().startswith(line["key_digest"])
    assert len(line["key_digest"]) == 12
    assert key not in str(line)


def test_behind_proxies_the_source_is_what_the_outermost_of_them_saw(
    settings: Settings,
    lines: Lines,  # noqa: F811 - a fixture
) -> None:
    seen = {
        "198.51.100.1, 203.0.113.7, 10.0.0.1": "203.0.113.7",
        "203.0.113.7:4711,10.0.0.1": "203.0.113.7",
        "[2001:db8::1]:80, 10.0.0.1": "2001:db8::1",
        "2001:DB8::1, 10.0.0.1": "2001:db8::1",
        "10.0.0.1": "127.0.0.1",
        "<script>, 10.0.0.1": "127.0.0.1",
        "": "127.0.0.1",
    }
    with running(replace(settings, proxies=2)) as gateway:
        for header in seen:
            asked(gateway, x_forwarded_for=header)
    assert [line["client_address"] for line in lines.kept] == list(seen.values())


def test_no_other_answer_tells_where_a_caller_is(
    gateway: Gateway,
    lines: Lines,  # noqa: F811 - a fixture
) -> None:
    gateway.post(ASK)
    assert "client_address" not in lines.one()
