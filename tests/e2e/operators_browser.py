"""The dashboard, as a browser without scripts has it."""

import html
import re
from collections.abc import Mapping
from typing import Any

import requests

from tests.e2e.operators_day import Day


class Browser:
    """The dashboard, as a browser without scripts has it; the admin key is signed in."""

    def __init__(self, day: Day) -> None:
        self._root = f"{day.address}/dashboard"
        self._session = requests.Session()
        self._session.headers["connection"] = "close"  # each page may be of another web process
        form = {"api_key": day.admin_key}
        signed_in = self._session.post(f"{self._root}/sign-in", form, timeout=60)
        assert signed_in.ok, signed_in.text

    def page(self, path: str = "", **query: str) -> str:
        """Return a page that must be there, its white space made one."""
        found = self._session.get(f"{self._root}{path}", params=query, timeout=60)
        assert found.ok, plain(found.text)
        return re.sub(r"\s+", " ", found.text)

    def does(self, action: str, fields: Mapping[str, Any], **subject: str) -> str:
        """Fill in an action's form, confirm what it says, and return the page that follows."""
        form = self._hidden(self.page(f"/admin/{action}", **subject)) | dict(fields)
        reviewed = self._send(action, form)
        assert 'id="plan"' in reviewed, plain(reviewed)
        return self._send(action, self._hidden(reviewed) | {"step": "apply"})

    def _send(self, action: str, form: Mapping[str, Any]) -> str:
        sent = self._session.post(f"{self._root}/admin/{action}", data=form, timeout=60)
        assert sent.ok, plain(sent.text)
        return sent.text

    @staticmethod
    def _hidden(page: str) -> dict[str, Any]:
        """Return the hidden fields of the page's own form, not those of the form to sign out."""
        (form,) = re.findall(r'<form class="card admin-form".*?</form>', page, re.DOTALL)
        found: dict[str, list[str]] = {}
        for name, value in re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', form):
            found.setdefault(name, []).append(html.unescape(value))
        return found


def figure(page: str, element_id: str) -> str:
    """Return the text of an element that shows one figure."""
    found = re.search(rf'id="{element_id}"[^>]*>(.*?)</(?:dd|span)>', page)
    assert found, f"no {element_id} in {page}"
    return plain(found[1])


def plain(page: str) -> str:
    """Return the text of a page, or of a part of one."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page))).strip()
