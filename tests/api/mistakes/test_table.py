"""What callers do wrong, and that the answer names the fix: a table of mistakes."""

import json
from typing import Any

import pytest
import requests

from app.api.error_codes import entries
from tests.api.mistakes import table
from tests.api.mistakes.deeper_table import DEEPER
from tests.api.mistakes.table import ASK, CHAT, FIELDS, TEXT, UNKNOWN, Mistake
from tests.support.gateway import Gateway

#: Words of Flask's and werkzeug's, which reach nobody.
THEIRS = (
    "requested URL",
    "spelling and try again",
    "not allowed for the requested",
    "did not attempt to send",
    "could not understand",
    "werkzeug",
    "Traceback",
)

MISTAKES = [*table.MISTAKES, *DEEPER]

HEADINGS = {entry.code for entry in entries()}


def send(site: Gateway, mistake: Mistake) -> requests.Response:
    """Make a mistake."""
    url = site.base_url.removesuffix("/v5") + mistake.path
    headers: dict[str, Any] = {"user-agent": "curl/8.5.0", **mistake.headers}
    if mistake.sends_key:
        headers["authorization"] = f"Bearer {site.api_key}"
    is_raw = isinstance(mistake.body, bytes)
    body = {"data": mistake.body} if is_raw else {"json": mistake.body}
    return requests.request(mistake.method, url, headers=headers, timeout=60, **body)


def test_there_are_enough_of_them() -> None:
    assert len({(it.name, it.code, it.param) for it in MISTAKES}) >= 220
    assert len({str(it) for it in MISTAKES}) == len(MISTAKES)


@pytest.mark.parametrize("mistake", MISTAKES, ids=str)
def test_the_answer_to_a_mistake_names_the_fix(
    site: Gateway, mistake: Mistake, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="app")
    response = send(site, mistake)
    error = response.json()["error"]
    message = error["message"]
    assert (response.status_code, error["code"]) == (mistake.status, mistake.code), message
    assert error["param"] == mistake.param
    root = site.base_url.removesuffix("/v5")
    for words in mistake.says:
        assert words.replace("{root}", root) in message
    for words in (*mistake.never, *THEIRS, site.api_key, "sk-simulated"):
        assert words not in response.text
    ours = "\n".join(it.getMessage() for it in caplog.records if it.name.startswith("app"))
    for secret in (site.api_key, UNKNOWN, *mistake.never):
        assert secret not in ours
    for name, value in mistake.answers.items():
        assert response.headers[name].startswith(value)
    assert len(response.content) < 2500
    page, _, heading = error["doc_url"].partition("#")
    assert (page, heading in HEADINGS) == (f"{root}/docs/errors", True)
    assert error["request_id"] == response.headers["x-request-id"]
    assert (response.headers.get("allow") is not None) == (response.status_code == 405)


@pytest.mark.parametrize("path", ASK)
def test_the_good_request_is_served(site: Gateway, path: str) -> None:
    """The mistakes differ from it in one thing each."""
    good = Mistake("none", 200, None, (), path, {**ASK[path], "model": "sandbox/echo"})
    assert send(site, good).status_code == 200


def test_a_model_is_described_whatever_its_knobs(site: Gateway) -> None:
    card = site.get("/models/sandbox/echo%3Fstatus=429").json()
    assert (card["id"], card["description"]) == ("sandbox/echo", "")


def test_several_faults_are_listed_with_their_codes(site: Gateway) -> None:
    for mistake in (it for it in FIELDS if it.name == "several faults"):
        details = send(site, mistake).json()["error"]["details"]
        assert {(it["param"], it["code"]) for it in details} == {
            ("temperature", "invalid_value"),
            ("top_p", "invalid_type"),
            ("seed", "invalid_type"),
        }


@pytest.mark.parametrize("path", ASK)
def test_a_failure_in_a_stream_has_the_requests_id_and_the_page(site: Gateway, path: str) -> None:
    body = {**ASK[path], "model": "sandbox/echo?words=9&cut_after=3", "stream": True}
    headers = {"authorization": f"Bearer {site.api_key}"}
    url = site.base_url.removesuffix("/v5") + path
    received = b""
    with requests.post(url, json=body, headers=headers, stream=True, timeout=60) as response:
        try:
            for piece in response.iter_content(None):
                received += piece
        except requests.exceptions.ChunkedEncodingError:
            pass
    error = json.loads(received.decode().rpartition("event: error\ndata: ")[2])["error"]
    assert error["request_id"] == response.headers["x-request-id"]
    assert error["doc_url"].endswith("/docs/errors#vendor_failed")
    assert "Tollgate tried once." in error["message"]


@pytest.mark.parametrize("path", [TEXT, CHAT])
def test_the_root_and_the_page_of_errors_need_no_key(site: Gateway, path: str) -> None:
    root = site.base_url.removesuffix("/v5")
    index = requests.get(root, timeout=60)
    assert index.status_code == 200
    assert index.json()["docs"] == f"{root}/docs"
    page = requests.get(root, headers={"accept": "text/html"}, timeout=60)
    assert 'href="/docs"' in page.text
    assert requests.get(index.json()["docs"], timeout=60).status_code == 200
    assert path in requests.get(f"{root}/openapi.json", timeout=60).json()["paths"]
