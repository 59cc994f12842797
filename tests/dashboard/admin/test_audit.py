"""The audit trail's page."""

import pytest

from app.dashboard.admin.audit import PAGE
from app.storage.sql.audit import Actor
from tests.dashboard.admin.desk import Desk
from tests.dashboard.site import table


def actions(page: str) -> list[str]:
    return [row[3] for row in table(page, "audit")]


def test_changes_are_listed_newest_first_and_filtered(desk: Desk) -> None:
    ann = desk.site.accounts.acting(Actor("ann@desk", "cli"))
    ann.update("acme", name="<Acme>")
    ann.revoke(desk.site.key_ids["beta"])
    newest, older, *_ = table(desk.page("/audit"), "audit")
    assert newest[1:6] == ["ann@desk", "cli", "key.revoke", "beta", desk.site.key_ids["beta"]]
    assert older[6] == "name: The acme team → &lt;Acme&gt;"
    assert actions(desk.page("/audit", actor="ann@desk")) == ["key.revoke", "account.update"]
    assert actions(desk.page("/audit", actor="ann@desk", account="acme")) == ["account.update"]
    of_key = desk.page("/audit", key=desk.site.key_ids["beta"])
    assert actions(of_key) == ["key.revoke", "key.create"]
    assert "No changes" in desk.page("/audit", account="nobody")


def test_older_changes_are_a_page_further(desk: Desk) -> None:
    for n in range(PAGE):
        desk.site.accounts.update("acme", name=str(n))
    first = desk.page("/audit", account="acme")
    assert len(actions(first)) == PAGE
    before = first.partition("before=")[2].partition("&")[0]
    second = actions(desk.page("/audit", account="acme", before=before))
    assert second[-1] == "account.create"
    assert "Older" not in desk.page("/audit", account="acme", before=before)


@pytest.mark.parametrize("before", ["x", "-1", "9" * 30, "²"])
def test_a_position_of_no_use_is_refused(desk: Desk, before: str) -> None:
    assert desk.get("/audit", before=before).status_code == 400
