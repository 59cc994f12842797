"""What a browser remembers: the time zone, and whether pages refresh themselves."""

import re

import pytest
from werkzeug.test import TestResponse

from tests.dashboard.site import DashboardSite


def submit(site: DashboardSite, page: str, **form: str) -> TestResponse:
    """Send a form with the session's token."""
    token = re.search(r'name="form_token" value="(\w+)"', site.page())
    assert token
    data = {"form_token": token[1]} | form
    return site.client.post(f"/dashboard{page}", data=data, base_url=site.host)


def test_a_chosen_zone_stays_chosen(site: DashboardSite) -> None:
    site.sign_in("admin")
    assert "Times in UTC" in site.page()
    here = "/dashboard/requests?range=7d&zone=UTC"
    answer = submit(site, "/time-zone", zone="Asia/Kathmandu", next=here)
    assert answer.status_code == 303
    assert answer.location == "/dashboard/requests?range=7d"
    assert "Times in Asia/Kathmandu (UTC+05:45)" in site.page()
    assert "2026-09-02 06:47:00" in site.page("/requests")
    assert "Times in Europe/Berlin" in site.page(zone="Europe/Berlin")


def test_the_list_of_zones_has_the_chosen_one(site: DashboardSite) -> None:
    site.sign_in("admin")
    page = site.page("/time-zone", zone="Europe/Berlin", next="/dashboard/requests")
    assert '<option value="Europe/Berlin" selected>Berlin</option>' in page
    assert 'name="next" value="/dashboard/requests"' in page


def test_refreshing_is_paused_until_it_is_resumed(site: DashboardSite) -> None:
    site.sign_in("admin")
    page = site.page(since="", until="")
    assert 'data-refresh="on"' in page
    assert "http-equiv" not in page
    submit(site, "/refresh", state="off", next="/dashboard?range=7d")
    assert 'data-refresh="off"' in site.page(since="", until="")
    assert "Paused" in site.page("/requests", since="", until="")
    submit(site, "/refresh", state="on", next="/dashboard")
    # Only who asked for it is reloaded without a script, which loses focus and scroll position.
    assert '<noscript><meta http-equiv="refresh"' in site.page(since="", until="")


def test_a_range_that_is_over_does_not_refresh(site: DashboardSite) -> None:
    site.sign_in("admin")
    page = site.page(since="2025-09-01", until="2025-09-30")
    assert "dashboard.js" not in page
    assert "data-refresh" not in page


def test_what_takes_long_does_not_refresh(site: DashboardSite) -> None:
    """Users are counted from entries, of which 30 days may have millions."""
    site.sign_in("admin")
    assert "data-refresh" not in site.page(since="", until="", by="user")
    assert "data-refresh" in site.page(since="", until="", by="user", range="24h")


@pytest.mark.parametrize(
    ("page", "form", "status"),
    [
        ("/time-zone", {"zone": "Mars/Olympus"}, 400),
        ("/refresh", {"state": "sometimes"}, 400),
        ("/refresh", {"state": "off", "form_token": "another's"}, 403),
        ("/time-zone", {"zone": "UTC", "form_token": ""}, 403),
    ],
)
def test_an_invalid_form_changes_nothing(
    site: DashboardSite, page: str, form: dict[str, str], status: int
) -> None:
    site.sign_in("admin")
    answer = submit(site, page, **form)
    assert answer.status_code == status
    assert "set-cookie" not in answer.headers


def test_a_form_leads_to_no_other_site(site: DashboardSite) -> None:
    site.sign_in("admin")
    answer = submit(site, "/refresh", state="off", next="https://elsewhere.example/dashboard")
    assert answer.location == "/dashboard"
