"""Who gets in, for how long, and what a browser is told to keep others out."""

import re
import time

import pytest
from sqlalchemy import update
from werkzeug.test import TestResponse

from app.dashboard.sign_in import FORM_LIMIT_BYTES
from app.storage.sql.tables import api_keys, sessions
from app.storage.sql.transactions import write
from tests.dashboard.site import DashboardSite

PAGES = ["", "/requests", "/accounts"]


def cookie(response: TestResponse) -> str:
    return response.headers.get("set-cookie", "")


def form_token(site: DashboardSite) -> str:
    found = re.search(r'name="form_token" value="([0-9a-f]{64})"', site.page())
    assert found
    return found[1]


def sign_out(site: DashboardSite, token: str) -> TestResponse:
    form = {"form_token": token}
    return site.client.post("/dashboard/sign-out", data=form, base_url=site.host)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_leads_to_the_form_and_the_form_back_to_the_page(
    site: DashboardSite, page: str
) -> None:
    answer = site.get(page, account="acme")
    assert answer.status_code == 303
    form = site.client.get(answer.location)
    assert form.status_code == 200
    asked = f"/dashboard{page}?since=2026-09-01&amp;until=2026-09-30&amp;account=acme"
    assert f'name="next" value="{asked}"' in form.text
    back = site.sign_in("usage", next=asked.replace("&amp;", "&"))
    assert back.status_code == 303
    assert back.location == asked.replace("&amp;", "&")


@pytest.mark.parametrize("kind", ["admin", "usage"])
def test_keys_that_may_read_usage_open_the_dashboard(site: DashboardSite, kind: str) -> None:
    assert site.sign_in(kind).status_code == 303
    assert site.get().status_code == 200


@pytest.mark.parametrize(("kind", "status"), [("wrong", 401), ("completions", 403)])
def test_other_keys_do_not_and_are_not_repeated(
    site: DashboardSite, kind: str, status: int
) -> None:
    answer = site.sign_in(kind)
    assert answer.status_code == status
    assert 'role="alert"' in answer.text
    assert site.keys[kind] not in answer.text
    assert cookie(answer) == ""
    assert site.get().status_code == 303


def test_the_cookie_is_for_this_site_and_no_script_and_holds_no_key(site: DashboardSite) -> None:
    sent = cookie(site.sign_in("admin"))
    assert sent.startswith("tollgate=")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(sent.split("; "))
    assert "Secure" not in sent
    assert site.keys["admin"] not in sent
    assert site.key_ids["admin"] not in sent


def test_behind_https_the_cookie_is_kept_to_it(site: DashboardSite) -> None:
    https = {"x-forwarded-proto": "https"}
    form = {"api_key": site.keys["admin"]}
    sent = cookie(site.client.post("/dashboard/sign-in", data=form, headers=https))
    assert sent.startswith("__Host-tollgate=")
    assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/"} <= set(sent.split("; "))
    assert "Domain" not in sent


def test_signing_out_ends_the_session_for_whoever_kept_the_cookie(site: DashboardSite) -> None:
    kept = cookie(site.sign_in("admin")).partition(";")[0].partition("=")[2]
    assert sign_out(site, form_token(site)).status_code == 303
    assert site.get().status_code == 303
    site.client.set_cookie("tollgate", kept)
    assert site.get().status_code == 303


@pytest.mark.parametrize("token", ["", "0" * 64, "ü"])
def test_signing_out_takes_the_sessions_own_form(site: DashboardSite, token: str) -> None:
    site.sign_in("admin")
    assert sign_out(site, token).status_code == 403
    assert site.get().status_code == 200


def test_a_body_that_is_too_large_is_refused_on_a_page(site: DashboardSite) -> None:
    answer = site.sign_in("admin", filler="x" * FORM_LIMIT_BYTES)
    assert answer.status_code == 413
    assert answer.mimetype == "text/html"


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "http://localhost"},
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
    ],
)
def test_forms_of_other_sites_do_nothing(site: DashboardSite, headers: dict[str, str]) -> None:
    form = {"api_key": site.keys["admin"]}
    answer = site.client.post("/dashboard/sign-in", data=form, headers=headers)
    assert answer.status_code == 403
    assert cookie(answer) == ""


@pytest.mark.parametrize(
    "headers", [{"sec-fetch-site": "same-origin"}, {"origin": "http://localhost"}]
)
def test_forms_of_ours_are_taken(site: DashboardSite, headers: dict[str, str]) -> None:
    form = {"api_key": site.keys["admin"]}
    assert site.client.post("/dashboard/sign-in", data=form, headers=headers).status_code == 303


def test_a_session_ends_with_its_time(site: DashboardSite) -> None:
    site.sign_in("admin")
    now_ms = int(time.time() * 1000)
    write(site.engine, lambda c: c.execute(update(sessions).values(expires_at_ms=now_ms)))
    assert site.get().status_code == 303


def test_a_session_ends_with_its_key(site: DashboardSite) -> None:
    site.sign_in("admin")
    site.accounts.revoke(site.key_ids["admin"])
    assert site.get().status_code == 303


def test_a_session_ends_at_once_when_its_account_is_disabled(site: DashboardSite) -> None:
    site.sign_in("usage")
    site.accounts.disable("acme")
    assert site.get().status_code == 303
    refused = site.sign_in("usage")
    assert refused.status_code == 403
    assert "disabled every account" in refused.text
    site.accounts.enable("acme")
    assert site.sign_in("usage").status_code == 303


def test_a_session_ends_when_its_key_expires(site: DashboardSite) -> None:
    site.sign_in("usage")
    now_ms = int(time.time() * 1000)
    write(site.engine, lambda c: c.execute(update(api_keys).values(expires_at_ms=now_ms)))
    assert site.get().status_code == 303


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://elsewhere.example/dashboard",
        "//elsewhere.example",
        "/\\elsewhere.example",
        "/dashboard//elsewhere.example",
        "/v5/models",
        "/dashboard\r\nx: y",
        "javascript:alert(1)",
    ],
)
def test_signing_in_leads_nowhere_else(site: DashboardSite, elsewhere: str) -> None:
    assert site.sign_in("admin", next=elsewhere).location == "/dashboard"


@pytest.mark.parametrize("token", ["", "x", "ü", "a" * 3000])
def test_a_wrong_cookie_is_nobodys(site: DashboardSite, token: str) -> None:
    site.client.set_cookie("tollgate", token)
    assert site.get().status_code == 303


@pytest.mark.parametrize("page", [*PAGES, "/sign-in", "/static/charts.js"])
def test_nothing_comes_from_elsewhere_and_nothing_runs_in_a_page(
    site: DashboardSite, page: str
) -> None:
    site.sign_in("admin")
    answer = site.get(page)
    text = answer.text
    answer.close()
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    if answer.mimetype == "text/html":
        assert answer.headers["cache-control"] == "no-store"
        assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=", text)
        assert not re.search(r"(?:src|href)=\"(?:[a-z]+:)?//", text)


@pytest.mark.parametrize(
    "page",
    [
        "?account=%00",
        "/requests?key=a%00",
        "/requests/req_1?event=%00",
        "/accounts?%00=1",
        "/admin/audit?actor=%00",
        "/admin/revoke-key?key=%00",
        "/admin/disable-account?account=%00",
        "/time-zone?zone=%00",
    ],
)
def test_a_nul_in_any_text_is_an_invalid_request(site: DashboardSite, page: str) -> None:
    site.sign_in("admin")
    response = site.client.get(f"/dashboard{page}", base_url=site.host)
    assert response.status_code == 400
    assert "NUL" in response.text
