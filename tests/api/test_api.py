"""The API's routes, registered on an application."""

from flask import Flask

from app.api import register_api


def test_every_route_of_the_api_is_registered_with_error_handlers() -> None:
    app = Flask("api")
    register_api(app)
    rules = {rule.rule for rule in app.url_map.iter_rules()}
    assert {"/v5/completions", "/v5/models", "/livez", "/readyz", "/metrics", "/docs"} <= rules
    assert {"/v5/organization/usage/completions", "/v5/organization/costs"} <= rules
    answer = app.test_client().get("/nowhere")
    assert answer.get_json()["error"]["code"] == "not_found"
    assert "x-request-id" in answer.headers
