"""The pages of the administration: who may see them, and that each form acts once."""

import re

import pytest

from app.storage.sql.audit import AuditQuery, audit_entries
from tests.dashboard.admin.desk import Desk, plan, problems, secret
from tests.dashboard.site import DashboardSite, table

PAGES = ["", "/audit", "/create-account", "/create-key", "/set-limits"]


@pytest.mark.parametrize("page", PAGES)
def test_only_admins_see_the_pages_and_the_link_to_them(site: DashboardSite, page: str) -> None:
    desk = Desk(site)
    assert desk.get(page, account="acme").status_code == 303
    site.sign_in("usage")
    assert desk.get(page, account="acme").status_code == 403
    assert "Administration" not in site.page()
    site.sign_in("admin")
    response = desk.get(page, account="acme")
    assert (response.status_code, response.headers["cache-control"]) == (200, "no-store")
    assert "Administration" in site.page()


def test_signing_in_leads_back_to_the_administration(site: DashboardSite) -> None:
    asked = "/dashboard/admin/revoke-key?key=key_1"
    assert site.sign_in("admin", next=asked).location == asked


def test_nobody_but_an_admin_can_send_a_form(site: DashboardSite) -> None:
    site.sign_in("admin")
    admin = Desk(site)
    form = admin.confirmed(admin.review("create-account", account_id="new"))
    site.sign_in("usage")
    assert admin.post("create-account", form).status_code == 403
    assert not site.accounts.exists("new")


def test_a_form_of_another_session_or_site_does_nothing(desk: Desk) -> None:
    form = desk.confirmed(desk.review("create-account", account_id="new"))
    for token in ("", "0" * 64):
        assert desk.post("create-account", form | {"form_token": token}).status_code == 403
    elsewhere = desk.site.client.post(
        "/dashboard/admin/create-account", data=form, headers={"sec-fetch-site": "cross-site"}
    )
    assert elsewhere.status_code == 403
    assert not desk.site.accounts.exists("new")


def test_nothing_is_done_before_it_is_confirmed(desk: Desk) -> None:
    reviewed = desk.review("create-account", account_id="new", name="N")
    assert plan(reviewed)[0] == "Create the account new (N)."
    assert not desk.site.accounts.exists("new")
    form = desk.confirmed(reviewed)
    back = desk.post("create-account", form | {"step": "edit"})
    assert 'value="new"' in back.text
    assert not desk.site.accounts.exists("new")
    for wrong in ("", "short", "!" * 32):
        sent = desk.post("create-account", form | {"operation_id": wrong})
        assert sent.status_code == 400
    assert not desk.site.accounts.exists("new")
    assert desk.post("create-account", form).status_code == 200
    assert desk.site.accounts.exists("new")


def test_a_form_that_is_sent_twice_acts_once_and_says_so(desk: Desk) -> None:
    form = desk.confirmed(desk.review("create-key", accounts="acme", scopes="usage"))
    first, second = desk.post("create-key", form), desk.post("create-key", form)
    made = secret(first)
    assert second.status_code == 409
    (key,) = [it for it in desk.site.accounts.list_keys() if it.secret_prefix == made[:11]]
    assert key.key_id in second.text
    assert made not in second.text
    revoke = desk.confirmed(desk.get("/revoke-key", key=key.key_id))
    assert [desk.post("revoke-key", revoke).status_code for _ in range(2)] == [200, 409]


def test_a_new_key_is_shown_once_and_stored_nowhere(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    done = desk.do("create-key", accounts="acme", scopes="completions")
    made = secret(done)
    assert done.headers["cache-control"] == "no-store"
    assert desk.site.accounts.find_key(made) is not None
    assert made not in desk.page() + desk.page("/audit") + caplog.text
    assert made not in str(audit_entries(desk.site.engine, AuditQuery()))


def test_what_is_done_is_recorded_with_the_admins_key(desk: Desk) -> None:
    desk.do("create-account", account_id="new")
    newest = audit_entries(desk.site.engine, AuditQuery())[0]
    assert (newest.actor, newest.channel) == (desk.site.key_ids["admin"], "dashboard")
    assert newest.change.action == "account.create"


@pytest.mark.parametrize("path", ["/nothing", "/revoke-key", "/change-account", "/set-limits"])
def test_what_does_not_exist_is_a_page_that_says_so(desk: Desk, path: str) -> None:
    response = desk.get(path, account="nobody", key="key_nowhere")
    assert response.status_code in {404, 409}
    assert re.search(r"no (such page|key|account)", response.text)


def test_an_account_that_goes_while_its_form_is_filled_in_is_named(desk: Desk) -> None:
    sent = desk.review("change-account", account="nobody", name="n")
    assert sent.status_code == 400
    assert "no account" in problems(sent)[""]


def test_the_list_names_what_can_be_done(desk: Desk) -> None:
    desk.site.accounts.disable("beta")
    desk.site.accounts.revoke(desk.site.key_ids["usage"])
    page = desk.page()
    assert [row[:3] for row in table(page, "accounts")] == [
        ["acme", "The acme team", "active"],
        ["beta", "The beta team", "disabled"],
    ]
    keys = {row[0]: row for row in table(page, "keys")}
    assert keys[desk.site.key_ids["beta"]][3] == "disabled"
    assert keys[desk.site.key_ids["usage"]][3:5] == ["revoked", "never"]
    assert keys[desk.site.key_ids["usage"]][-1] == ""
    assert table(page, "keys")[-1][3] == "revoked"
    assert "enable-account?account=beta" in page
    assert f"revoke-key?key={desk.site.key_ids['completions']}" in page
