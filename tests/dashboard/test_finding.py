"""Many accounts and keys: a form finds some of them."""

import pytest

from app.dashboard.finding import FEW
from tests.dashboard.site import DashboardSite, table

FORM = 'aria-label="Find"'


def rows(page: str, name: str) -> set[str]:
    """Return the first column of a table; nothing if the page has no such table."""
    return {row[0] for row in table(page, name)} if f'id="{name}"' in page else set()


@pytest.mark.parametrize("path", ["/accounts", "/admin"])
def test_a_page_of_few_has_no_form(site: DashboardSite, path: str) -> None:
    site.sign_in("admin")
    assert FORM not in site.page(path)
    for number in range(FEW):
        site.accounts.create(f"many-{number}", "Many")
    page = site.page(path)
    assert FORM in page
    assert "many-7" in page


@pytest.mark.parametrize("path", ["/accounts", "/admin"])
def test_accounts_and_keys_are_found_by_their_ids_and_names(site: DashboardSite, path: str) -> None:
    site.accounts.create("c-17", "Société <Générale>")
    key, secret = site.accounts.create_key(["c-17"], ["completions"], "nightly")
    site.sign_in("admin")
    for text in ("société <g", "C-1"):
        page = site.page(path, find=text)
        assert rows(page, "accounts") == {"c-17"}
        assert rows(page, "keys") == {key.key_id}
    for text in ("NIGHT", key.key_id, secret[:8], secret):
        page = site.page(path, find=text)
        assert rows(page, "keys") == {key.key_id}
        assert "No account contains this text" in page
        assert secret not in page
    assert "&lt;g" in site.page(path, find="<g")
    page = site.page(path, find="nosuch")
    assert (rows(page, "accounts"), rows(page, "keys")) == (set(), set())
    assert "No key contains this text" in page


def test_nothing_is_found_that_the_user_may_not_see(site: DashboardSite) -> None:
    site.sign_in("usage")
    page = site.page("/accounts", find="beta")
    assert (rows(page, "accounts"), rows(page, "keys")) == (set(), set())
