"""A short request, and what an error says."""

import requests

PROMPT = {"model": "sim/m", "prompt": "one two"}


def error_of(response: requests.Response) -> tuple[int, str, str | None, str | None]:
    """Return an error's status, type, code and param, having checked the body's form."""
    body = response.json()
    assert set(body) == {"error"}
    error = body["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-request-id"].startswith("req_")
    return response.status_code, error["type"], error["code"], error["param"]
