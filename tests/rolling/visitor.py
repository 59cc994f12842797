"""Somebody who uses web processes of two versions in turn: a session, and an idempotency key."""

from dataclasses import dataclass, field

import requests

from tests.chaos.system import ACCOUNTS
from tests.rolling.rollout import Member

BODY = {
    "model": "sim/m",
    "prompt": "once and for all",
    "max_tokens": 5,
    "top_p": 0.1,
    "user": "once",
}


@dataclass
class Visitor:
    """A browser and a client, which go from one web process to the next."""

    api_key: str
    browser: requests.Session = field(default_factory=requests.Session)

    def sign_in(self, web: Member) -> None:
        """Sign in to the dashboard of a web process."""
        data = {"api_key": self.api_key}
        self.browser.post(f"{_url(web)}/dashboard/sign-in", data=data, timeout=60)
        assert self.is_signed_in(web)

    def is_signed_in(self, web: Member) -> bool:
        """Whether a web process shows the dashboard, and not the form to sign in."""
        page = f"{_url(web)}/dashboard/requests"
        return self.browser.get(page, allow_redirects=False, timeout=60).status_code == 200

    def ask(self, web: Member) -> requests.Response:
        """Ask for a completion: the same one with the same idempotency key each time."""
        headers = {
            "x-api-key": self.api_key,
            "x-selected-account-id": ACCOUNTS[1],
            "idempotency-key": "once",
        }
        url = f"{_url(web)}/v5/completions"
        response = requests.post(url, json=BODY, headers=headers, timeout=60)
        assert response.status_code == 200, response.text
        return response

    def begin(self, web: Member) -> requests.Response:
        """Sign in to a web process, and ask it; return its response."""
        self.sign_in(web)
        return self.ask(web)

    def go_on(self, web: Member, first: requests.Response) -> None:
        """Check that a web process knows the session and the response of another one."""
        assert self.is_signed_in(web)
        again = self.ask(web)
        assert again.content == first.content
        assert again.headers["x-tollgate-replay-of"] == first.headers["x-request-id"]


def _url(web: Member) -> str:
    return f"http://127.0.0.1:{web.port}"
