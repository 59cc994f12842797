"""What all pages share: errors as pages, escaped text, and headers."""

import re
from dataclasses import replace
from html import unescape

import pytest
from sqlalchemy import text
from werkzeug.exceptions import default_exceptions

from app.container import EXTENSION
from app.dashboard.site import NO_SUCH_PAGE
from tests.dashboard.site import DashboardSite, at


@pytest.mark.parametrize(
    "query",
    [
        {"since": "yesterday"},
        {"since": "2026-09-31"},
        {"since": "0001-01-01", "until": "0001-01-02"},
        {"since": "9999-12-31", "until": "9999-12-31"},
        {"since": "2026-09-30", "until": "2026-09-01"},
        {"since": "2020-01-01"},
        {"by": "weather"},
        {"zone": "Mars/Olympus"},
        {"status": "good"},
        {"model": "gpt-4o"},
        {"account": "a\0b"},
    ],
)
def test_what_makes_no_sense_is_said_on_a_page(site: DashboardSite, query: dict[str, str]) -> None:
    site.sign_in("admin")
    answer = site.get(**query)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


def test_what_callers_name_is_text_and_never_markup(site: DashboardSite) -> None:
    nasty = "<script>alert(1)</script>\"'&"
    site.post(at(1, model=nasty, request_id=nasty, total_tokens=9999))
    site.sign_in("admin")
    for page in (site.page(model=f"openai/{nasty}"), site.page("/requests")):
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize(
    ("page", "field"),
    [
        ("", "key"),
        ("", "user"),
        ("/requests", "user"),
        ("/requests/{}", ""),
        ("/admin/audit", "actor"),
        ("/admin/revoke-key", "key"),
        ("/admin/create-account", "name"),
    ],
)
def test_a_key_that_was_pasted_is_not_repeated(site: DashboardSite, page: str, field: str) -> None:
    key = site.keys["usage"]
    site.sign_in("admin")
    text = site.get(page.format(key), **({field: key} if field else {})).text
    assert key[:11] in text
    assert key[:12] not in text


def test_without_the_ledger_a_page_says_so(site: DashboardSite) -> None:
    site.sign_in("admin")
    with site.engine.begin() as connection:
        for table in ("entries", "rollups", "daily_rollups"):
            connection.execute(text(f"DROP TABLE {table}"))
    answer = site.get()
    assert answer.status_code == 503
    assert "ledger" in answer.text
    assert answer.mimetype == "text/html"


def test_an_unexpected_error_is_a_page_that_tells_nothing(
    site: DashboardSite, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.sign_in("admin")
    known = site.client.application.extensions
    monkeypatch.setitem(known, EXTENSION, replace(known[EXTENSION], reports=None))
    answer = site.get()
    assert answer.status_code == 500
    assert "NoneType" not in answer.text
    assert "NoneType" in caplog.text
    assert answer.headers["x-request-id"] in answer.text


def test_pages_load_nothing_from_elsewhere_and_are_not_cached(site: DashboardSite) -> None:
    site.sign_in("admin")
    headers = site.get().headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_a_signed_in_user_has_the_pages_and_a_way_out(site: DashboardSite) -> None:
    assert "Sign out" not in site.client.get("/dashboard/sign-in", base_url=site.host).text
    site.sign_in("usage")
    page = site.page()
    assert "report (usage)" in page
    assert "Sign out" in page
    assert re.findall(r'aria-current="page">(\w+)<', page) == ["Usage"]


def test_a_path_that_is_not_a_page_is_an_error_page(site: DashboardSite) -> None:
    answer = site.client.get("/dashboard/static/nothing.js", base_url=site.host)
    assert answer.status_code == 404
    assert answer.mimetype == "text/html"
    assert NO_SUCH_PAGE in answer.text


@pytest.mark.parametrize("path", ["nothing", "requests/a/b/../..%2f", "admin/nothing", "../v5"])
def test_no_page_has_a_sentence_of_the_framework(site: DashboardSite, path: str) -> None:
    site.sign_in("admin")
    answer = site.client.get(f"/dashboard/{path}", base_url=site.host)
    assert answer.status_code == 404
    for kind in default_exceptions.values():
        assert str(kind.description) not in unescape(answer.text)


def test_an_unknown_page_asks_a_stranger_to_sign_in(site: DashboardSite) -> None:
    answer = site.client.get("/dashboard/nothing", base_url=site.host)
    assert (answer.status_code, "sign-in" in answer.headers["location"]) == (303, True)


def test_a_form_that_is_too_large_is_told_so_in_our_words(site: DashboardSite) -> None:
    form = {"api_key": "x" * (20 << 10)}
    answer = site.client.post("/dashboard/sign-in", data=form, base_url=site.host)
    assert answer.status_code == 413
    assert "The body is too large." in answer.text


def test_a_wrong_key_is_named_by_its_form_and_challenged(site: DashboardSite) -> None:
    answer = site.client.post(
        "/dashboard/sign-in", data={"api_key": "sk-proj-secret"}, base_url=site.host
    )
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer ")
    assert "`sk-`" in answer.text
    assert "secret" not in answer.text
