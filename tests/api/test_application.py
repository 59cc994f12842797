"""The Flask application: which route a request reaches, whatever its host, and its session."""

import pytest
from flask import Flask, redirect, request, session

from app.api.application import Application


@pytest.fixture
def app() -> Flask:
    app = Application("app", static_folder=None)
    app.add_url_rule("/a/<name>", "shown", lambda name: f"{name} {request.host}")
    app.add_url_rule("/session", "session", lambda: str(dict(session)))
    return app


@pytest.mark.parametrize("host", ["v.example", "v.example:8080", "[::1]:8000", "LOCALHOST"])
def test_a_request_reaches_its_route_whatever_its_host(app: Flask, host: str) -> None:
    response = app.test_client().get("/a/b%20c", headers={"host": host})
    assert (response.status_code, response.text) == (200, f"b c {host}")


@pytest.mark.parametrize("host", ["a..b", "x" * 64 + ".example"])
def test_a_host_that_no_one_can_have_is_rejected(app: Flask, host: str) -> None:
    assert app.test_client().get("/a/b", headers={"host": host}).status_code == 400


def test_no_route_takes_a_web_socket(app: Flask) -> None:
    headers = {"connection": "upgrade", "upgrade": "websocket"}
    assert app.test_client().get("/a/b", headers=headers).status_code == 400


def test_repeated_slashes_count_as_one_and_methods_are_checked(app: Flask) -> None:
    client = app.test_client()
    assert client.get("/a///b").status_code == 200
    assert client.post("/a/b").status_code == 405
    assert client.get("/b").status_code == 404


def test_a_browsers_question_about_another_site_is_explained(app: Flask) -> None:
    asking = {"origin": "https://site.example", "access-control-request-method": "GET"}
    response = app.test_client().options("/a/b", headers=asking)
    assert (response.status_code, response.mimetype) == (200, "text/plain")
    assert "Call Tollgate from your server." in response.text
    assert "access-control-allow-origin" not in response.headers
    assert "GET" in response.headers["allow"]
    assert app.test_client().options("/a/b").text == ""


def test_a_redirect_has_no_page_of_a_frameworks(app: Flask) -> None:
    app.add_url_rule("/old", "old", lambda: redirect("/a/b", 303))
    response = app.test_client().get("/old")
    assert (response.status_code, response.location, response.text) == (303, "/a/b", "")


def test_a_path_below_a_mount_point_is_found(app: Flask) -> None:
    response = app.test_client().get("/a/b", environ_overrides={"SCRIPT_NAME": "/mounted"})
    assert response.status_code == 200


def test_a_session_is_empty_and_cannot_be_changed(app: Flask) -> None:
    def change() -> str:
        session["a"] = 1
        return "changed"

    app.add_url_rule("/change", "change", change)
    client = app.test_client()
    assert client.get("/change").status_code == 500
    assert client.get("/session").text == "{}"
