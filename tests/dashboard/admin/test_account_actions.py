"""What admins do to accounts."""

import time

import pytest

from app.accounts.apikey import ApiKey
from app.dashboard.admin.account_actions import SHOWN_KEYS
from tests.dashboard.admin.desk import Desk, plan, problems
from tests.dashboard.site import at


def test_an_account_is_created_with_the_id_as_its_name(desk: Desk) -> None:
    desk.do("create-account", account_id=" new ", name="", description="of Ann")
    created = desk.site.accounts.get("new")
    assert (created.name, created.description) == ("new", "of Ann")


@pytest.mark.parametrize(
    ("form", "field", "said"),
    [
        ({"account_id": ""}, "account_id", "Enter an ID"),
        ({"account_id": "a b"}, "account_id", "1 to 64 letters"),
        ({"account_id": "acme"}, "account_id", "already exists"),
        ({"account_id": "new", "name": "x" * 201}, "name", "printable"),
        ({"account_id": "new", "description": "a\x9b"}, "description", "printable"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    desk: Desk, form: dict[str, str], field: str, said: str
) -> None:
    response = desk.review("create-account", **form)
    assert response.status_code == 400
    found = problems(response)
    assert list(found) == [field]
    assert said in found[field]
    assert len(desk.site.accounts.list()) == 2


def test_an_account_is_renamed_and_described(desk: Desk) -> None:
    assert 'value="The acme team"' in desk.page("/change-account", account="acme")
    form = {"account": "acme", "name": "Acme Ltd", "description": "of Ann"}
    said = plan(desk.review("change-account", **form))
    assert said[:2] == [
        "Change the name of acme from “The acme team” to “Acme Ltd”.",
        "Change the description of acme from “” to “of Ann”.",
    ]
    desk.do("change-account", **form)
    changed = desk.site.accounts.get("acme")
    assert (changed.name, changed.description) == ("Acme Ltd", "of Ann")
    assert "Nothing is changed" in problems(desk.review("change-account", **form))[""]
    assert "Enter a name" in problems(desk.review("change-account", account="acme"))["name"]


def test_disabling_says_first_which_keys_and_requests_it_refuses(desk: Desk) -> None:
    ids, now_s = desk.site.key_ids, int(time.time())
    desk.site.post(
        *(at(0, event_id=f"e{n}", started_at_ms=now_s * 1000 - n * 1000) for n in range(1, 4))
    )
    page = desk.get("/disable-account", account="acme")
    said = plan(page)
    assert "3 requests in the last 24 hours" in said[0]
    assert f"The key {ids['usage']} (never used) is refused." in said
    assert f"The key {ids['completions']} (never used) works only for beta." in said
    assert desk.post("disable-account", desk.confirmed(page)).status_code == 200
    assert desk.site.accounts.get("acme").disabled_at_ms is not None
    assert "disabled already" in desk.get("/disable-account", account="acme").text
    enable = desk.get("/enable-account", account="acme")
    assert ids["usage"] in plan(enable)[1]
    desk.post("enable-account", desk.confirmed(enable))
    assert desk.site.accounts.get("acme").disabled_at_ms is None
    assert "not disabled" in desk.get("/enable-account", account="acme").text


def test_an_account_of_many_keys_has_a_page_that_is_read(desk: Desk) -> None:
    for _ in range(SHOWN_KEYS):
        desk.site.accounts.create_key(["beta"], ["usage"])
    said = plan(desk.get("/disable-account", account="beta"))
    assert len(said) == SHOWN_KEYS + 3
    assert said[-2] == "And 2 more keys."


def test_an_admin_does_not_lock_itself_out(desk: Desk) -> None:
    own, secret = desk.site.accounts.create_key(["acme"], ["admin"])
    assert isinstance(own, ApiKey)
    desk.site.keys["own"] = secret
    desk.site.sign_in("own")
    response = desk.get("/disable-account", account="acme")
    assert response.status_code == 409
    assert "signed in with a key of this account" in response.text
