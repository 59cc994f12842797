"""A form that was opened before a change does not set it back."""

import pytest
from werkzeug.datastructures import MultiDict

from app.accounts.accounts import Accounts
from app.accounts.errors import AccountsError
from app.dashboard.admin.action import Problems
from app.dashboard.admin.stale import SEEN, check_seen, opened
from app.vocabulary.limits import Limits
from tests.dashboard.admin.desk import Desk, hidden, problems
from tests.dashboard.admin.test_limit_actions import EMPTY


def test_limits_that_were_changed_meanwhile_are_shown_and_not_set_back(desk: Desk) -> None:
    accounts = desk.site.accounts
    accounts.set_limits("account", "acme", requests_per_minute=10, streams=3)
    form = EMPTY | hidden(desk.get("/set-limits", account="acme").text)
    form |= {"requests_per_minute": "10", "streams": "5"}  # only `streams` is edited
    confirmation = desk.confirmed(desk.review("set-limits", **form))

    accounts.set_limits("account", "acme", requests_per_minute=20, streams=4)  # by another admin
    for refused in (desk.review("set-limits", **form), desk.post("set-limits", confirmation)):
        assert refused.status_code == 400
        said = problems(refused)
        assert "was changed while the form was open" in said[""]
        assert 'aria-current="page">Administration' in refused.text
        assert "from “10” to “20”, which is shown here" in said["requests_per_minute"]
        assert "from “3” to “4”, and you entered “5”" in said["streams"]
    assert accounts.limits("account", "acme").requests_per_minute == 20

    form |= hidden(refused.text) | {"requests_per_minute": "20"}
    desk.do("set-limits", **form)
    changed = accounts.limits("account", "acme")
    assert (changed.requests_per_minute, changed.streams) == (20, 5)


def test_a_name_that_was_changed_meanwhile_is_not_set_back(desk: Desk) -> None:
    form = hidden(desk.get("/change-account", account="acme").text)
    desk.site.accounts.update("acme", name="Acme Ltd")
    edited = {"account": "acme", "name": "The acme team", "description": "Ours"}
    said = problems(desk.review("change-account", **edited | form))
    assert "to “Acme Ltd”" in said["name"]
    assert desk.site.accounts.get("acme").name == "Acme Ltd"


def test_a_change_between_the_check_and_the_write_is_noticed(desk: Desk) -> None:
    accounts: Accounts = desk.site.accounts
    known, before = accounts.get("acme"), Limits(kind="account", subject_id="acme")
    accounts.update("acme", name="Acme Ltd")
    accounts.set_limits("account", "acme", streams=3)
    with pytest.raises(AccountsError, match="changed meanwhile"):
        accounts.update("acme", name="Other", expected=known)
    with pytest.raises(AccountsError, match="changed meanwhile"):
        accounts.set_limits("account", "acme", streams=4, expected=before)


@pytest.mark.parametrize("seen", ["", "{", "[1]", '{"unknown": "1"}'])
def test_a_form_that_carries_no_values_passes(seen: str) -> None:
    values = MultiDict({SEEN.name: seen, "name": "new"})
    check_seen(values, {"name": "old"})
    assert values["name"] == "new"


def test_a_field_that_was_emptied_is_named() -> None:
    values = opened(MultiDict({"name": "mine"}), {"name": "theirs"})
    with pytest.raises(Problems) as refusal:
        check_seen(values, {"name": ""})
    assert refusal.value.by_field["name"] == (
        "Changed meanwhile from “theirs” to empty, and you entered “mine”."
    )
    check_seen(values, {"name": ""})  # what it says now is known
