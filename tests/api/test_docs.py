"""The pages that describe the API."""

import re

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.api.docs import docs_blueprint


@pytest.fixture
def client() -> FlaskClient:
    """An application that serves only the description."""
    app = Flask("docs")
    app.register_blueprint(docs_blueprint)
    return app.test_client()


def test_the_document_may_be_read_from_any_site(client: FlaskClient) -> None:
    response = client.get("/openapi.json")
    assert response.headers["access-control-allow-origin"] == "*"
    assert "/v5/completions" in response.get_json()["paths"]


def test_the_page_names_every_path_and_loads_nothing(client: FlaskClient) -> None:
    response = client.get("/docs")
    for path in client.get("/openapi.json").get_json()["paths"]:
        assert path in response.text
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "connect-src 'self'" in policy
    assert response.text.count("<script") == 1  # its own, which the policy names by its digest
    assert not re.search(r"<link|<img|<iframe|@import|url\(| style=| on\w+=| src=", response.text)


def test_the_pages_own_address_is_in_its_samples_and_in_the_document(client: FlaskClient) -> None:
    at = "https://gate.example.com"
    page = client.get("/docs", base_url=at)
    assert f"{at}/v5/chat/completions" in page.text
    assert client.get("/openapi.json", base_url=at).get_json()["servers"] == [{"url": at}]
    unknown = client.get("/docs", headers={"host": "a b<script>"})
    assert unknown.status_code != 200 or "a b<script>" not in unknown.text


def test_a_newcomer_is_shown_a_model_that_is_there(client: FlaskClient) -> None:
    assert "sandbox/echo" in client.get("/docs").text


def test_each_route_has_a_request_an_answer_and_its_errors(client: FlaskClient) -> None:
    text = client.get("/docs").text
    section = text.partition('id="createChatCompletion"')[2].partition("</section>")[0]
    for part in ("Sample request", "Sample answer", "Sample stream", "Sample errors"):
        assert part in section
    assert "event: done" in section
    assert "insufficient_quota" in section


def test_the_page_of_errors_has_a_section_for_each_code(client: FlaskClient) -> None:
    page = client.get("/docs/errors")
    assert 'id="model_not_found"' in page.text
