"""What admins do to keys."""

import time

import pytest

from tests.dashboard.admin.desk import Desk, plan, problems, secret

DAY_MS = 86_400_000


def test_a_key_is_created_as_the_form_says(desk: Desk) -> None:
    page = desk.page("/create-key", account="beta")
    assert 'value="beta" checked' in page
    assert 'value="completions" checked' in page
    form = {
        "accounts": ["acme", "beta"],
        "scopes": ["completions", "usage"],
        "name": "the bot",
        "expires": "90d",
    }
    said = plan(desk.review("create-key", **form))
    assert said[0].startswith("Create a key called “the bot” for acme, beta, which works until 20")
    before_ms = int(time.time() * 1000)
    key = desk.site.accounts.find_key(secret(desk.do("create-key", **form)))
    assert key is not None
    assert (key.account_ids, key.name) == (("acme", "beta"), "the bot")
    assert key.scopes == {"completions", "usage"}
    assert key.expires_at_ms is not None
    assert before_ms + 90 * DAY_MS <= key.expires_at_ms <= int(time.time() * 1000) + 90 * DAY_MS


@pytest.mark.parametrize(
    ("form", "field", "said"),
    [
        ({"accounts": "acme"}, "scopes", "Choose what"),
        ({"accounts": "acme", "scopes": "root"}, "scopes", "Unknown scope 'root'"),
        ({"scopes": "completions"}, "accounts", "Choose an account"),
        ({"accounts": "nobody", "scopes": "usage"}, "accounts", "no account 'nobody'"),
        ({"accounts": "acme", "scopes": "usage", "expires": "soon"}, "expires", "90d"),
        ({"accounts": "acme", "scopes": "usage", "expires": "2020-01-01"}, "expires", "passed"),
        ({"accounts": "acme", "scopes": "usage", "name": "a\x9b"}, "name", "printable"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    desk: Desk, form: dict[str, str], field: str, said: str
) -> None:
    before = desk.site.accounts.list_keys()
    response = desk.review("create-key", **form)
    assert response.status_code == 400
    found = problems(response)
    assert list(found) == [field]
    assert said in found[field]
    assert desk.site.accounts.list_keys() == before


def test_an_admin_key_needs_no_account(desk: Desk) -> None:
    key = desk.site.accounts.find_key(secret(desk.do("create-key", scopes="admin")))
    assert key is not None
    assert key.account_ids == ()


def test_a_key_for_a_disabled_account_says_that_it_is_refused(desk: Desk) -> None:
    desk.site.accounts.disable("beta")
    said = plan(desk.review("create-key", accounts=["acme", "beta"], scopes="usage"))
    assert said[2].startswith("The account beta is disabled")


def test_revoking_says_first_when_the_key_was_used_and_how_much(desk: Desk) -> None:
    key_id = desk.site.key_ids["completions"]
    said = plan(desk.get("/revoke-key", key=key_id))
    assert said[0] == f"Revoke the key {key_id} (production) of acme, beta: never used."
    assert "0 requests in the last 24 hours" in said[1]
    desk.do("revoke-key", key=key_id)
    revoked = desk.site.accounts.get_key(key_id)
    assert revoked is not None
    assert revoked.revoked_at_ms is not None
    again = desk.get("/revoke-key", key=key_id)
    assert (again.status_code, "revoked already" in again.text) == (409, True)
    own = desk.get("/revoke-key", key=desk.site.key_ids["admin"])
    assert "signed in with this key" in own.text


def test_a_rotated_key_expires_after_the_overlap(desk: Desk) -> None:
    key_id = desk.site.key_ids["completions"]
    assert 'value="24h"' in desk.page("/rotate-key", key=key_id)
    for wrong in ("soon", "0h"):
        found = problems(desk.review("rotate-key", key=key_id, overlap=wrong))
        assert "not a duration" in found["overlap"]
    assert "works until 20" in plan(desk.review("rotate-key", key=key_id, overlap="7d"))[1]
    new = desk.site.accounts.find_key(secret(desk.do("rotate-key", key=key_id, overlap="7d")))
    old = desk.site.accounts.get_key(key_id)
    assert old is not None
    assert new is not None
    assert old.expires_at_ms is not None
    assert old.expires_at_ms > int(time.time() * 1000) + 6 * DAY_MS
    assert new.account_ids == old.account_ids
    assert "already rotated" in problems(desk.review("rotate-key", key=key_id))[""]


def test_without_an_overlap_the_old_key_works_on(desk: Desk) -> None:
    key_id = desk.site.key_ids["completions"]
    said = plan(desk.review("rotate-key", key=key_id, overlap=""))
    assert said[1].endswith("works until you revoke it.")
    desk.do("rotate-key", key=key_id, overlap="")
    old = desk.site.accounts.get_key(key_id)
    assert old is not None
    assert old.expires_at_ms is None
