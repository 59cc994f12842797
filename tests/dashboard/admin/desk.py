"""Fills in the forms of the administration, as a browser without scripts does."""

import html
import re
from dataclasses import dataclass
from typing import Any

import pytest
from werkzeug.test import TestResponse

from tests.dashboard.site import DashboardSite, plain


@dataclass
class Desk:
    """The administration, with the key `admin` signed in."""

    site: DashboardSite

    def get(self, path: str = "", **query: str) -> TestResponse:
        """Get a page."""
        return self.site.client.get(
            f"/dashboard/admin{path}", query_string=query, base_url=self.site.host
        )

    def page(self, path: str = "", **query: str) -> str:
        """Return a page that must be there, its white space made one."""
        response = self.get(path, **query)
        assert response.status_code == 200, response.text
        return re.sub(r"\s+", " ", response.text)

    def post(self, path: str, form: dict[str, Any]) -> TestResponse:
        """Send a form."""
        return self.site.client.post(f"/dashboard/admin/{path}", data=form, base_url=self.site.host)

    def token(self) -> dict[str, str]:
        """Return the field that shows that a form is of this session."""
        return {"form_token": hidden(self.page())["form_token"][0]}

    def review(self, path: str, **form: Any) -> TestResponse:
        """Send a form to be reviewed."""
        return self.post(path, self.token() | {"step": "review"} | form)

    def confirmed(self, reviewed: TestResponse) -> dict[str, Any]:
        """Return what the confirmation page sends."""
        assert reviewed.status_code == 200, problems(reviewed)
        return hidden(reviewed.text) | {"step": "apply"}

    def do(self, path: str, **form: Any) -> TestResponse:
        """Review a form, and confirm it."""
        done = self.post(path, self.confirmed(self.review(path, **form)))
        assert done.status_code == 200, done.text
        return done


@pytest.fixture
def desk(site: DashboardSite) -> Desk:
    """The administration over the known ledger."""
    site.sign_in("admin")
    return Desk(site)


def hidden(page: str) -> dict[str, list[str]]:
    """Return the hidden fields of the page's form; not those of the sign-out form alone."""
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page):
        if name != "form_token" or name not in found:
            found.setdefault(name, []).append(html.unescape(value))
    return found


def plan(response: TestResponse) -> list[str]:
    """Return what a confirmation page says that would be done."""
    assert response.status_code == 200, response.text
    listed = re.search(r'<ul id="plan">(.*?)</ul>', response.text, re.DOTALL)
    assert listed, response.text
    return [html.unescape(plain(it)) for it in re.findall(r"<li>(.*?)</li>", listed[1], re.DOTALL)]


def problems(response: TestResponse) -> dict[str, str]:
    """Return the problem at each field, and under "" that of the whole form."""
    found = re.findall(r'<p class="problem" id="([a-z_]+)-problem">(.*?)</p>', response.text)
    by_field = {name: html.unescape(plain(text)) for name, text in found}
    for name in by_field:  # a screen reader reads them with their fields
        assert re.search(rf'aria-describedby="[^"]*{name}-problem"\s+aria-invalid', response.text)
        assert f'href="#{name}"' in response.text
    whole = re.search(r'id="problems".*?<li>(?!<a)(.*?)</li>', response.text, re.DOTALL)
    return by_field | ({"": html.unescape(plain(whole[1]))} if whole else {})


def secret(response: TestResponse) -> str:
    """Return the key that a page shows."""
    found = re.search(r'<code id="secret">(tg_[A-Za-z0-9_-]{43})</code>', response.text)
    assert found, response.text
    return found[1]
