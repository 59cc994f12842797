"""The pages that describe the API."""

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.api.docs import docs_blueprint, kind, prose


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
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "<script" not in response.text


def test_prose_marks_code_and_escapes_the_rest() -> None:
    assert prose("use `a<b` & <i>") == "use <code>a&lt;b</code> &amp; &lt;i&gt;"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["integer", "null"], "minimum": 0, "maximum": 5}, "integer or null, 0 to 5"),
        ({"type": "integer", "minimum": 0}, "integer, at least 0"),
        ({"type": "array", "items": {"type": "string"}}, "[string]"),
        ({"$ref": "#/components/schemas/Completion"}, "Completion"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"type": "string", "enum": ["json", "csv", None]}, "string: json, csv"),
        ({}, "any"),
    ],
)
def test_a_schema_has_a_short_name(schema: dict[str, object], text: str) -> None:
    assert kind(schema) == text
