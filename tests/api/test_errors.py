"""Every error has OpenAI's shape, a stable code and the request's id."""

import pytest
from flask import Flask, Response
from flask.testing import FlaskClient
from werkzeug.exceptions import HTTPException

from app.api.errors import register_errors
from app.vocabulary.errors import InvalidRequest


class Teapot(HTTPException):
    """An HTTP error without a code of ours, with a header and a cookie's worth of framing."""

    code = 418
    description = "short and stout"

    def get_headers(self, *_: object) -> list[tuple[str, str]]:
        """Return what an error may set, and what it may not."""
        return [("content-type", "text/html"), ("content-length", "9"), ("x-spout", "yes")]


@pytest.fixture
def client() -> FlaskClient:
    """An application whose only routes fail."""
    app = Flask("failing")
    register_errors(app)

    @app.get("/ours")
    def ours() -> Response:
        raise InvalidRequest("No.", param="p", code="c")

    @app.get("/theirs")
    def theirs() -> Response:
        raise Teapot

    @app.get("/bug")
    def bug() -> Response:
        raise RuntimeError("tg_secret")

    return app.test_client()


def test_an_error_of_ours_keeps_its_code_and_parameter(client: FlaskClient) -> None:
    response = client.get("/ours")
    assert response.status_code == 400
    error = response.get_json()["error"]
    assert (error["message"], error["param"], error["code"]) == ("No.", "p", "c")
    assert response.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [("GET", "/nowhere", 404, "not_found"), ("POST", "/ours", 405, "method_not_allowed")],
)
def test_flasks_own_errors_have_codes(
    client: FlaskClient, method: str, path: str, status: int, code: str
) -> None:
    response = client.open(path, method=method)
    assert response.status_code == status
    assert response.get_json()["error"]["code"] == code
    assert "x-request-id" in response.headers


def test_headers_of_an_http_error_stay_but_for_those_of_its_body(client: FlaskClient) -> None:
    response = client.get("/theirs")
    assert response.status_code == 418
    assert response.headers["x-spout"] == "yes"
    assert response.mimetype == "application/json"
    assert "short and stout" not in response.text
    assert "418" in response.get_json()["error"]["message"]


def test_an_unexpected_error_is_logged_and_its_text_is_not_shown(
    client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    response = client.get("/bug")
    assert response.status_code == 500
    assert "tg_secret" not in response.text
    assert "tg_secret" in caplog.text
    assert response.headers["x-request-id"] in caplog.text
