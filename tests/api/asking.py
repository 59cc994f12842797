"""A short request, and what an error says."""

import requests

PROMPT = {"model": "sim/m", "prompt": "one two"}


def error_of(response: requests.Response) -> tuple[int, str, str | None, str | None]:
    """Return an error's status, type, code and param, having checked the body's form."""
    body = response.json()
    assert set(body) == {"error"}
    error = body["error"]
    assert set(error) - {"details"} == {"message", "type", "param", "code", "request_id", "doc_url"}
    assert error["request_id"] == response.headers["x-request-id"]
    assert error["doc_url"].partition("#")[0].endswith("/docs/errors")
    assert error["message"]
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-request-id"].startswith("req_")
    return response.status_code, error["type"], error["code"], error["param"]
